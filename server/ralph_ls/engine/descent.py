"""Telling an agent's commits from a person's by descent (SPEC §6).

Git writes down what it does where ``GIT_TRACE2_EVENT`` names a file, and every process that the
agent starts inherits that variable. So a commit that was made when none of those processes ran is
not the agent's. It is held to be a person's only where the trace is known to reach the agent's own
git: a sandbox or a changed environment may keep it out, and work that is taken for somebody else's
would end a run as stuck. Whatever cannot be told is the agent's. This module must never ask git
anything, nor know what a commit is worth.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_regular

TARGET = "GIT_TRACE2_EVENT"

LARGEST_TRACE = 16 << 20
"""Bytes; some five thousand calls of git. A larger trace is not read."""

_ONE_FILE = "events.jsonl"

_SHORT = {"GIT_TRACE2_EVENT_BRIEF": "1", "GIT_TRACE2_EVENT_NESTING": "1"}
"""Leave out what is not read here: half of the bytes."""

WRITES = frozenset(
    {
        *("add", "am", "apply", "checkout", "cherry-pick", "commit", "commit-tree", "fast-import"),
        *("merge", "mv", "pull", "read-tree", "rebase", "reset", "restore", "revert", "rm"),
        *("switch", "update-index", "update-ref", "write-tree"),
    }
)
"""Commands that are there to change something, as the work of an agent does.

Others prove nothing: an agent's program looks at the tree by itself, while its tools may work in a
sandbox that the trace cannot be written from.
"""

MOVES_NO_BRANCH = frozenset(
    {
        *("add", "apply", "blame", "cat-file", "check-attr", "check-ignore", "config"),
        *("count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree"),
        *("for-each-ref", "fsmonitor--daemon", "gc", "grep", "hash-object", "help", "log"),
        *("ls-files", "ls-remote", "ls-tree", "maintenance", "merge-base", "mv", "name-rev"),
        *("pack-objects", "restore", "rev-list", "rev-parse", "rm", "shortlog", "show"),
        *("show-ref", "status", "update-index", "var", "version", "whatchanged", "write-tree"),
    }
)
"""Commands that neither make a commit nor bring one to a branch, however long they run."""


MAKES_COMMITS = frozenset({"am", "cherry-pick", "commit", "commit-tree", "rebase", "revert"})
"""Commands that make commits here, and bring none from elsewhere."""


@dataclass(frozen=True, slots=True)
class Span:
    """When a process ran that may have moved a branch, in seconds since the epoch."""

    start: float
    end: float | None
    """None: to the end."""
    makes: bool
    """It is there to make commits."""

    def holds(self, moment: float) -> bool:
        """Whether it ran then."""
        return self.start <= moment and (self.end is None or moment <= self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """What the agent's own git did in an iteration. Times are whole seconds since the epoch."""

    began: int
    """When the iteration did; older commits were brought along by something newer."""
    read_at: int
    """When this was read; a commit of later has a time that somebody made up."""
    windows: tuple[tuple[int, int | None], ...] = ()
    """From when until when each process ran that may have moved a branch; None: to the end."""
    spans: tuple[Span, ...] = ()
    """The same, to the microsecond."""
    writes: bool = False
    """One process was there to change something, so the trace reaches the agent's own git."""

    def is_persons(self, made_at: int) -> bool:
        """Whether a commit with this committer's time was made, or brought, by a person."""
        if not self.began <= made_at <= self.read_at:
            return not self.windows
        return not any(
            start <= made_at and (end is None or made_at <= end) for start, end in self.windows
        )


def traced(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with a trace into a new file in ``folder``, which is made for it.

    Where the caller has git traced already, that stays as it is, and nothing can be told.
    """
    if TARGET in environment:
        return dict(environment)
    make_private_folder(folder)
    path = folder / _ONE_FILE
    # Git appends to it, and would make it readable for everybody.
    path.touch(PRIVATE_FILE)
    return {**_SHORT, **environment, TARGET: str(path)}


def read_descent(folder: Path, *, began: datetime, read_at: datetime) -> Descent | None:
    """What was traced in ``folder``; None where nothing was, or more than can be read."""
    path = folder / _ONE_FILE
    try:
        data = read_regular(path, LARGEST_TRACE)
    except StateUnusable:
        return None
    if data is None:
        return None
    starts: dict[str, float] = {}
    ends: dict[str, float] = {}
    names: dict[str, str] = {}
    for event in _events(data):
        match event:
            case {"event": "version", "sid": str(process), "time": str(time)}:
                starts[process] = _seconds(time, lag=_CLOCK_LAG)
            case {"event": "atexit", "sid": str(process), "time": str(time)}:
                ends[process] = _seconds(time)
            case {"event": "cmd_name", "sid": str(process), "name": str(name)}:
                names[process] = name
            case _:
                pass
    if not starts:
        return None
    spans = tuple(
        Span(start, ends.get(process), names.get(process) in MAKES_COMMITS)
        for process, start in starts.items()
        if names.get(process) not in MOVES_NO_BRANCH
    )
    return Descent(
        began=int(began.timestamp()),
        read_at=int(read_at.timestamp()),
        windows=tuple(
            (int(span.start), None if span.end is None else int(span.end)) for span in spans
        ),
        spans=spans,
        writes=any(name in WRITES for name in names.values()),
    )


def forget_trace(folder: Path) -> None:
    """Remove what was traced: it holds the command lines of whatever the agent did."""
    shutil.rmtree(folder, ignore_errors=True)


def _events(data: bytes) -> Iterator[Any]:
    """The few events that count; a line that several processes wrote into each other is none."""
    for line in data.splitlines():
        if line.startswith(_COUNTED):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


_COUNTED = (b'{"event":"version"', b'{"event":"atexit"', b'{"event":"cmd_name"')


_CLOCK_LAG = 0.02
"""Seconds: a commit's time comes from a clock that is behind the trace's by up to a tick."""


def _seconds(time: str, *, lag: float = 0.0) -> float:
    """Seconds of git's ``2026-11-22T04:02:43.357074Z``; 0, long ago, for what is no time."""
    try:
        return datetime.fromisoformat(time).timestamp() - lag
    except ValueError:
        return 0
