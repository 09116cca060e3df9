"""Notes that people leave while no engine runs; the next start takes them into its journal.

Each is a file of its own, put there by an atomic rename like a command: a note that is written
while an engine starts is taken by this one or by the next, and never by none.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.layout import StateFolder


def leave_note(state: StateFolder, text: str, *, by: str) -> None:
    """Keep a note for the next start; raises ``StateUnusable`` where that cannot be."""
    folder = make_private_folder(_folder(state))
    line = json.dumps({"text": text, "by": by}, ensure_ascii=False)
    data = line.encode("utf-8", errors="replace") + b"\n"
    write_atomic(folder / f"{secrets.token_hex(8)}.json", data, mode=PRIVATE_FILE)


def take_notes(state: StateFolder) -> list[tuple[str, str]]:
    """Every note that was left, as text and author, oldest first.

    They stay until ``forget_taken``, so that an engine which is killed before its journal has them
    leaves them to the next one.
    """
    left = _notes(state, "*.json")
    for path in left:
        path.rename(path.with_suffix(".taken"))
    return [note for path in _notes(state, "*.taken") if (note := _read(path)) is not None]


def forget_taken(state: StateFolder) -> None:
    """The notes taken stand in the journal now."""
    for path in _notes(state, "*.taken"):
        path.unlink(missing_ok=True)


def _notes(state: StateFolder, pattern: str) -> list[Path]:
    found = [path for path in _folder(state).glob(pattern) if not path.name.startswith(".")]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def _read(path: Path) -> tuple[str, str] | None:
    """The note in a file; None for one that nobody here wrote."""
    try:
        note = json.loads(read_if_there(path) or b"")
        return str(note["text"]), str(note["by"])
    except (ValueError, KeyError, TypeError):
        return None


def _folder(state: StateFolder) -> Path:
    return state.folder / "notes"
