"""Notes, and tasks that people reset, while no engine runs; the next start takes them over.

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


def leave_reset(state: StateFolder, task: str, *, by: str) -> None:
    """Keep for a run that goes on that a task was reset; raises as ``leave_note``."""
    folder = make_private_folder(_folder(state))
    name = secrets.token_hex(8)
    line = json.dumps({"task": task, "by": by, "command": name}, ensure_ascii=False)
    data = line.encode("utf-8", errors="replace") + b"\n"
    write_atomic(folder / f"{name}.{_RESET}.json", data, mode=PRIVATE_FILE)


def take_resets(state: StateFolder) -> list[tuple[str, str, str]]:
    """Every reset that was left, as task, author and id, oldest first; call ``take_notes`` first.

    They stay as long as notes do.
    """
    found = (_entry(path) for path in _notes(state, "*.taken"))
    return [
        (str(one["task"]), str(one["by"]), str(one["command"]))
        for one in found
        if {"task", "by", "command"} <= one.keys()
    ]


def take_notes(state: StateFolder) -> list[tuple[str, str]]:
    """Every note that was left, as text and author, oldest first.

    They stay until ``forget_taken``, so that an engine which is killed before its journal has them
    leaves them to the next one.
    """
    left = _notes(state, "*.json")
    for path in left:
        path.rename(path.with_suffix(".taken"))
    return [note for path in _notes(state, "*.taken") if (note := _read(path)) is not None]


def look_at_notes(state: StateFolder) -> list[tuple[str, str]]:
    """What ``take_notes`` would give, all left where it is."""
    left = [*_notes(state, "*.taken"), *_notes(state, "*.json")]
    return [note for path in left if (note := _read(path)) is not None]


def forget_taken(state: StateFolder) -> None:
    """The notes taken stand in the journal now."""
    for path in _notes(state, "*.taken"):
        path.unlink(missing_ok=True)


def _notes(state: StateFolder, pattern: str) -> list[Path]:
    found = [path for path in _folder(state).glob(pattern) if not path.name.startswith(".")]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


_RESET = "reset"


def _read(path: Path) -> tuple[str, str] | None:
    """The note in a file; None for one that nobody here wrote, and for what is none."""
    note = _entry(path)
    return (str(note["text"]), str(note["by"])) if {"text", "by"} <= note.keys() else None


def _entry(path: Path) -> dict[str, object]:
    try:
        found = json.loads(read_if_there(path) or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _folder(state: StateFolder) -> Path:
    return state.folder / "notes"
