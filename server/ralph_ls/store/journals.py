"""All runs of a work tree in numbers, read from their journals one after the other.

Nothing but numbers is kept of a run, however long its journal is. This module must never write.
"""

from __future__ import annotations

from ralph_ls.core.views.statistics import measure_run, total_of
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.statistics import RunMetrics, Statistics
from ralph_ls.store.journal import each_event
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.runs import find_run


def read_statistics(
    worktree: Worktree, state: StateFolder, *, run: str | None = None
) -> Statistics:
    """What the runs here came to, or one of them; raises ``UsageError`` where it is not there."""
    runs = read_runs(worktree, state, run=run)
    return Statistics(workspace=str(worktree.root), runs=tuple(runs), totals=total_of(runs))


def read_runs(
    worktree: Worktree, state: StateFolder, *, run: str | None = None
) -> list[RunMetrics]:
    """The runs, oldest first; raises as ``read_statistics`` does."""
    found = find_run(worktree, state)
    if found is not None:
        # The newest run knows where the state really lies.
        state = StateFolder(folder=found.files.folder.parent.parent)
    live = found.state.run if found is not None and found.live else None
    wanted = [one for one in state.run_ids() if run is None or one == run]
    if run is not None and not wanted:
        raise UsageError(
            f"there is no run {run} in {worktree.root}; see which there are with: ralph stats"
        )
    measured = (
        measure_run(each_event(state.run(one).journal), is_live=one == live) for one in wanted
    )
    # Ids of runs that began in the same second do not tell which was first.
    return sorted((one for one in measured if one is not None), key=_start_of)


def _start_of(run: RunMetrics) -> str:
    return run.run if run.started_at is None else f"{run.started_at:%Y%m%dT%H%M%S.%f}"
