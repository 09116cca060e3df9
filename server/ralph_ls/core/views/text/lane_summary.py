"""Parallel run in words: what its lanes do, what came of them, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.lanes import ACTIVE, branch_of_run
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import one_line
from ralph_ls.core.views.text.summary import format_duration
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, LaneState

MAX_TITLE = 60
MAX_MESSAGE = 300


def lanes_at_work(state: RunState) -> str:
    """``3 lanes: 2 work, 1 asks``; what is left to say where none is open is the plan."""
    lanes = [one for one in state.lanes if one.state in ACTIVE]
    if not lanes:
        return ""
    n_asking = sum(one.question is not None for one in lanes)
    n_queued = sum(one.state is not LaneState.WORKING for one in lanes)
    n_working = len(lanes) - n_asking - n_queued
    parts = [
        *([f"{n_working} working"] if n_working else []),
        *([f"{n_queued} to be merged"] if n_queued else []),
        *([f"{n_asking} asking you"] if n_asking else []),
    ]
    return f"{count_of(len(lanes), 'lane')}: {', '.join(parts)}"


def merged_lines(state: RunState) -> Iterator[str]:
    """The lines of the summary about lanes."""
    if not is_parallel(state.config):
        return
    merged = [one for one in state.lanes if one.state is LaneState.MERGED]
    commits = sum(one.commits for one in merged)
    yield (
        f"Merged:      {count_of(len(merged), 'task')}, {count_of(commits, 'commit')}, "
        f"into {branch_of_run(state)}"
    )
    work = sum(one.seconds for one in state.lanes)
    conflicts = sum(one.conflicts for one in state.lanes)
    if merged and state.active_seconds:
        yield (
            f"Speed-up:    {work / state.active_seconds:.1f} ({format_duration(work)} of work in "
            f"{format_duration(state.active_seconds)}), {count_of(conflicts, 'conflict')}"
        )
    for one in state.lanes:
        title = one_line(one.task.title, limit=MAX_TITLE)
        if one.state is LaneState.PARKED:
            yield f"Parked:      {title}: {one_line(one.message, limit=MAX_MESSAGE)}"
            yield f"             in {one.worktree}"
        elif one.state is LaneState.DROPPED:
            yield f"Set aside:   {title}: {one_line(one.message, limit=MAX_MESSAGE)}"
        elif one.kept is not None:
            yield f"Kept:        {title}: {one.kept}"


def next_of_parallel(state: RunState) -> str:
    """The command after a parallel run: what brings the work home, or continues; else empty."""
    if state.end is None:
        return ""
    branch = branch_of_run(state)
    merged = any(one.state is LaneState.MERGED for one in state.lanes)
    merge = "" if state.config.lane.direct else f"git merge --ff-only {branch}"
    if state.end.reason is EndReason.COMPLETE:
        return f"{merge}, or: ralph pr" if merge and merged else ""
    resume = "ralph run --resume"
    if state.end.reason is EndReason.LIMIT:
        resume += f" --max-iterations {2 * (state.config.max_iterations or 20)}"
    parked = [one for one in state.lanes if one.state is LaneState.PARKED]
    first = "settle what is parked, then: " if parked else ""
    home = f"; what is merged: {merge}" if merge and merged else ""
    return f"{first}{resume}{home}"
