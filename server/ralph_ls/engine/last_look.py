"""The work tree as it was when an engine and its agent were both gone, as a file of the run."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic

NAME = "last-look.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLook:
    """One look, taken by the keeper (``engine.keeper``)."""

    start: int | None
    """The start whose agent that engine had started last; None: it had started none."""
    ended_at: float | None
    """When the agent ended, in seconds since the epoch; None: the engine had heard of its end."""
    died_at: float
    """When the engine died."""
    looked_at: float
    """When it was taken."""
    tree: Baseline


def load_last_look(folder: Path) -> LastLook | None:
    """The look in a run's folder; None where there is none that can be read."""
    data = read_if_there(folder / NAME)
    if data is None:
        return None
    try:
        found = json.loads(data)
        return LastLook(
            start=found["start"],
            ended_at=found["endedAt"],
            died_at=found["diedAt"],
            looked_at=found["lookedAt"],
            tree=Baseline.model_validate(found["tree"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def save_last_look(folder: Path, look: LastLook) -> None:
    """Keep a look for the next engine."""
    seen = {
        "start": look.start,
        "endedAt": look.ended_at,
        "diedAt": look.died_at,
        "lookedAt": look.looked_at,
        "tree": look.tree.model_dump(mode="json", by_alias=True),
    }
    write_atomic(folder / NAME, json.dumps(seen).encode(), mode=PRIVATE_FILE)


def forget_last_look(folder: Path) -> None:
    """Remove it, once the journal has what came of it."""
    with contextlib.suppress(OSError):
        (folder / NAME).unlink(missing_ok=True)
