"""Notes that people leave while no engine runs; the next start takes them into its journal."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_all
from ralph_ls.store.layout import StateFolder


def leave_note(state: StateFolder, text: str, *, by: str) -> None:
    """Keep a note for the next start."""
    make_private_folder(state.folder)
    line = json.dumps({"text": text, "by": by}, ensure_ascii=False).encode() + b"\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    descriptor = os.open(_left(state), flags, PRIVATE_FILE)
    try:
        write_all(descriptor, line)
    finally:
        os.close(descriptor)


def take_notes(state: StateFolder) -> list[tuple[str, str]]:
    """Every note that was left, as text and author; ``forget_taken`` once they are journalled."""
    taken = _taken(state)
    earlier = _read(taken)
    try:
        _left(state).replace(taken.with_suffix(".new"))
    except FileNotFoundError:
        return earlier
    newer = _read(taken.with_suffix(".new"))
    with taken.open("ab") as file:
        file.write(read_if_there(taken.with_suffix(".new")) or b"")
    taken.with_suffix(".new").unlink()
    return earlier + newer


def forget_taken(state: StateFolder) -> None:
    """The notes taken stand in the journal now."""
    _taken(state).unlink(missing_ok=True)


def _read(path: Path) -> list[tuple[str, str]]:
    notes = []
    for line in (read_if_there(path) or b"").splitlines():
        try:
            note = json.loads(line)
            notes.append((str(note["text"]), str(note["by"])))
        except (ValueError, KeyError, TypeError):
            continue
    return notes


def _left(state: StateFolder) -> Path:
    return state.folder / "notes.jsonl"


def _taken(state: StateFolder) -> Path:
    return state.folder / "notes.taken"
