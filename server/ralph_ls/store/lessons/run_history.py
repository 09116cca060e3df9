"""History that lessons come from and are judged by: records and figures of runs.

Records are read from the journals of the newest runs of one work tree; figures of all work trees
show whether a lesson helped.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from ralph_ls.core.lessons.history import KINDS, RunRecord, read_record
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.json_output import IterationMetrics
from ralph_ls.store.figures import read_runs
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import every_worktree

MOST_RUNS = 50
"""Newest runs that are read where the caller names no number."""


def read_records(
    worktree: Worktree, state: StateFolder, *, most: int = MOST_RUNS
) -> tuple[RunRecord, ...]:
    """The newest runs of a work tree and of the lanes in it, oldest first; blocks."""
    found = find_run(worktree, state)
    if found is not None:
        state = StateFolder(folder=found.files.folder.parent.parent)
    records = (
        read_record(each_event(state.run(run).journal, kinds=KINDS))
        for run in state.run_ids()[-most:]
    )
    return tuple(record for record in records if record is not None)


def iterations_everywhere(root: Path) -> list[list[IterationMetrics]]:
    """The figures of all iterations of each work tree with state below ``root``; blocks."""
    return [list(iterations_here(*place)) for place in every_worktree(root)]


def iterations_here(worktree: Worktree, state: StateFolder) -> Iterator[IterationMetrics]:
    """The figures of all iterations of one work tree; blocks. What cannot be read is left out."""
    with contextlib.suppress(RalphError, OSError):
        yield from (one for run in read_runs(worktree, state) for one in run.iterations)


def hits_of(projects: Iterable[Iterable[IterationMetrics]]) -> dict[str, int]:
    """How many iterations had each lesson, by id."""
    return Counter(
        lesson for iterations in projects for one in iterations for lesson in one.lessons
    )
