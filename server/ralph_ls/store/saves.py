"""What people saved: their plan and their settings as an editor wrote them, no work of an agent.

An append-only file beside the inbox, for its owner alone: the editor adds a line for each save and
the engine reads them when it compares the plan before and after (SPEC §8, people's edits). It keeps
the newest ones only; what is lost of it makes a person's edit look like the agent's, nothing more.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    read_regular,
    write_all,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder

LARGEST_TEXT = 16_384
"""Characters of a text that is kept whole."""

LARGEST = 262_144
"""Bytes from which on only the newer half is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One save of a person."""

    at: datetime
    path: str
    """In the work tree, without symbolic links."""
    before: str
    """``text_hash`` of what the editor and the file had in common before."""
    sha256: str
    """``text_hash`` of what was written."""
    ticked: tuple[str, ...] = ()
    """Ids of the tasks that became done with it."""
    decided: tuple[tuple[str, str], ...] = ()
    """What it did that an agent may not: the kind (``Forbidden``) and the task's id."""
    text: str | None = None
    """What was written, where that is no plan and not too long."""


def text_hash(text: str) -> str:
    """SHA-256 of a text as UTF-8, without the mark that some editors put before it."""
    return hashlib.sha256(text.removeprefix("\ufeff").encode("utf-8", "replace")).hexdigest()


def record_save(state: StateFolder, saved: Saved) -> None:
    """Add one save; raises ``StateUnusable`` where that cannot be."""
    make_private_folder(state.folder)
    values = {
        "at": to_wire_time(saved.at),
        "path": saved.path,
        "before": saved.before,
        "sha256": saved.sha256,
        "ticked": list(saved.ticked),
        "decided": [list(one) for one in saved.decided],
        "text": saved.text,
    }
    line = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    try:
        descriptor = os.open(state.saves, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            write_all(descriptor, line)
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StateUnusable(
            f"{state.saves} cannot be written: {error.strerror or error}; "
            "free some space or mend the permissions, then save again"
        ) from error
    if size > LARGEST:
        _keep_newer(state)


def read_saves(state: StateFolder, path: str, *, since: datetime) -> Sequence[Saved]:
    """The saves of one file from a time on, oldest first; what cannot be read is none."""
    try:
        data = read_regular(state.saves, 4 * LARGEST) or b""
    except StateUnusable:
        return ()
    found = (_read(line) for line in data.splitlines())
    return [saved for saved in found if saved and saved.path == path and saved.at >= since]


def _keep_newer(state: StateFolder) -> None:
    data = read_regular(state.saves, 4 * LARGEST) or b""
    newer = data[-LARGEST // 2 :]
    write_atomic(state.saves, newer[newer.find(b"\n") + 1 :], mode=PRIVATE_FILE)


def _read(line: bytes) -> Saved | None:
    try:
        values = json.loads(line)
        at = datetime.fromisoformat(values["at"])
        if at.tzinfo is None:
            return None
        return Saved(
            at=at,
            path=str(values["path"]),
            before=str(values["before"]),
            sha256=str(values["sha256"]),
            ticked=tuple(map(str, values["ticked"])),
            decided=tuple((str(what), str(task)) for what, task in values.get("decided", ())),
            text=values.get("text"),
        )
    except (ValueError, KeyError, TypeError):
        return None
