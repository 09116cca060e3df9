"""An agent's earlier commits: on branches, in linked work trees, of other iterations and runs.

An agent that merges, rebases, cherry-picks, pulls or fast-forwards to what it has made before
brings commits along that are older than the iteration, or that no traced git made. They are its own
where the traced git of an earlier iteration was making commits when they were written, or when what
they hold was: a rebase and a cherry-pick keep the author's time. A merge of such commits is its own
too. This module must never take a commit away from the agent.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from ralph_ls.engine.descent import Descent, Span
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_all

NAME = "git-spans.jsonl"

MOST_RUNS = 50
"""The newest ones, in which an agent's earlier commits are looked for."""

LARGEST = 4 << 20
"""Bytes of one run's file; a larger one is none of ours."""


class _Time(NamedTuple):
    """When a traced git was there to make commits, in whole seconds since the epoch."""

    run: str
    start: int
    begun: int
    ended: int


class OwnCommits:
    """When the agents of one work tree made commits, as far as their git was traced."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._remembered: set[int] = set()
        self._times: list[_Time] | None = None

    def remember(self, start: int, descent: Descent) -> None:
        """Keep when the agent of an iteration made commits."""
        times = [
            _Time(self._workspace.run, start, *_seconds_of(span, descent.read_at))
            for span in descent.spans
            if span.makes
        ]
        if start in self._remembered or not times:
            return
        self._remembered.add(start)
        if self._times is not None:
            self._times += times
        # Without it a commit is only told as somebody else's.
        with contextlib.suppress(OSError):
            path = self._workspace.files.folder / NAME
            line = (
                json.dumps(
                    {"start": start, "times": [(one.begun, one.ended) for one in times]}
                ).encode()
                + b"\n"
            )
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
            try:
                write_all(descriptor, line)
            finally:
                os.close(descriptor)

    def among(self, commits: Sequence[str], *, start: int, began: datetime) -> frozenset[str]:
        """Those of the commits, oldest first, that an agent has made before this start began.

        What was made since, the trace of that iteration knows better.
        """
        if not commits:
            return frozenset()
        here, latest = (self._workspace.run, start), began.timestamp()
        times = [one for one in self._known_times() if (one.run, one.start) != here]
        own: set[str] = set()
        for commit, *moments, parents in self._read(commits):
            is_merge_of_own = len(parents) > 1 and own.issuperset(parents[1:])
            if is_merge_of_own or any(_is_in(times, one, latest) for one in moments):
                own.add(commit)
        return frozenset(own)

    def _known_times(self) -> Sequence[_Time]:
        if self._times is None:
            state = self._workspace.state
            runs = state.run_ids()[-MOST_RUNS:]
            self._times = [
                time for run in runs for time in _times_in(run, state.run(run).folder / NAME)
            ]
        return self._times

    def _read(self, commits: Sequence[str]) -> Iterator[tuple[str, int, int, list[str]]]:
        options = ("--no-walk=unsorted", "-z", "--format=%H %ct %at %P", "--no-show-signature")
        try:
            printed = run_git(self._workspace.root, "log", *options, *commits, "--")
        except RalphError:
            # Gone since.
            return
        for line in printed.decode("ascii", "replace").split("\0"):
            match line.split():
                case [commit, made_at, written_at, *parents]:
                    yield commit, int(made_at), int(written_at), parents
                case _:
                    pass


def _is_in(times: Collection[_Time], moment: int, latest: float) -> bool:
    return moment <= latest and any(one.begun <= moment <= one.ended for one in times)


def _seconds_of(span: Span, read_at: int) -> tuple[int, int]:
    """A commit's time is cut to seconds."""
    return int(span.start), read_at if span.end is None else int(span.end)


def _times_in(run: str, path: Path) -> Iterator[_Time]:
    try:
        data = read_regular(path, LARGEST) or b""
    except StateUnusable:
        return
    lines = data.decode("utf-8", errors="replace").splitlines()
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            found = json.loads(line)
            start = int(found["start"])
            yield from [_Time(run, start, int(one), int(end)) for one, end in found["times"]]
