"""Snapshots of a fold over a journal, each with a mark that says what it was folded from.

A snapshot holds only for the very journal, the very place in it and the very version of the fold
that it was made of. The journal is on the disk before it is, so one that is ahead of its journal
belongs to a tail that was lost. This module must never believe a snapshot that does not fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ralph_ls import __version__
from ralph_ls.core.views.history import History, Told
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.panel import IterationRow
from ralph_ls.protocol.state import CurrentIteration, IterationFacts, RunState
from ralph_ls.protocol.version import SCHEMA_VERSION
from ralph_ls.store.files import (
    PRIVATE_FILE,
    open_regular_unbuffered,
    read_if_there,
    write_atomic,
)

FOLD_VERSION = 1
"""Raise it where the same journal folds to another state, history or rows than before."""

WINDOW = 4096
"""Bytes before a snapshot's place in the journal that tell one journal from another: the last
lines, with their times and numbers."""


class Marked(WireModel):
    """A snapshot: what it was folded from, and in a subclass what came of it."""

    made_by: str
    """The version of the fold."""
    offset: int
    """How many bytes of the journal were folded."""
    digest: str
    """Of the last of those bytes, and of the number of the last event in them."""


Snapshot = TypeVar("Snapshot", bound=Marked)


@cache
def fold_version() -> str:
    """What tells one fold from another: this package's version, and the names of what it fills.

    The names make sure that no snapshot lacks a field that was added without a new version.
    """
    models: tuple[type[BaseModel], ...] = (RunState, CurrentIteration, IterationFacts, IterationRow)
    names = [name for model in models for name in model.model_fields]
    names += [name for value in (History, Told) for name in value.__dataclass_fields__]
    digest = hashlib.blake2b(" ".join(names).encode(), digest_size=6).hexdigest()
    return f"{__version__} {SCHEMA_VERSION}.{FOLD_VERSION} {digest}"


def mark(journal: Path, *, offset: int, seq: int) -> dict[str, Any]:
    """What a snapshot of the first ``offset`` bytes is marked with, as the journal stands now.

    ``seq`` is the number of the last event in them. Raises ``StateUnusable`` where the journal is
    not as long, or cannot be read.
    """
    try:
        digest = _digest(journal, offset, seq)
    except OSError as error:
        raise StateUnusable(f"the journal {journal} cannot be read: {error}") from error
    return {"made_by": fold_version(), "offset": offset, "digest": digest}


def save_snapshot(path: Path, snapshot: Marked) -> None:
    """Write it whole, for its owner alone; raises ``StateUnusable``."""
    data = snapshot.model_dump_json(by_alias=True, exclude_none=True)
    write_atomic(path, data.encode(), mode=PRIVATE_FILE)


def load_snapshot(
    path: Path, journal: Path, kind: type[Snapshot], seq_of: Callable[[Snapshot], int]
) -> Snapshot | None:
    """The snapshot, where it was made by this version of this journal's beginning; else None.

    ``seq_of`` gives the number of the last event that it was folded from.
    """
    try:
        data = read_if_there(path)
        if data is None:
            return None
        found = kind.model_validate_json(data)
        if found.made_by != fold_version():
            return None
        digest = _digest(journal, found.offset, seq_of(found))
    except (OSError, ValidationError):
        # The journal says all that it could have said.
        return None
    return found if found.digest == digest else None


def _digest(journal: Path, offset: int, seq: int) -> str:
    """Raises OSError where the journal is not as long, or has no whole line there."""
    if offset < 0:
        raise OSError(f"{journal} has no byte {offset}")
    n_bytes = min(WINDOW, offset)
    with open_regular_unbuffered(journal) as file:
        file.seek(offset - n_bytes)
        data = file.read(n_bytes)
    if len(data) < n_bytes or not data.endswith(b"\n"):
        raise OSError(f"{journal} does not end a line at byte {offset}")
    return hashlib.blake2b(data + str(seq).encode(), digest_size=16).hexdigest()
