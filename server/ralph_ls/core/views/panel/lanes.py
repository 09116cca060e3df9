"""Lanes of a parallel run as viewers list them, and what of them waits for the user."""

from __future__ import annotations

from datetime import UTC, tzinfo

from ralph_ls.core.loop.lanes import ACTIVE, branch_of_run
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.loop.rules.waits import question_of_lane
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.words import one_line, some_lines
from ralph_ls.core.views.panel.question import listed_choices
from ralph_ls.core.views.text.lane_summary import MAX_MESSAGE, lanes_at_work
from ralph_ls.core.views.text.lanes import lane_state_words
from ralph_ls.core.views.text.summary import cost_of, is_estimated
from ralph_ls.protocol.json_output import LaneRow, LaneTable
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import LaneState, Phase, TaskRef

AFTER_WORK = (LaneState.PARKED, LaneState.DROPPED, LaneState.MERGED)
"""The states of lanes that are not at work, in the order in which they are listed."""


def lane_table(state: RunState, phase: Phase, *, zone: tzinfo | None = UTC) -> LaneTable | None:
    """The lanes of a parallel run; None for any other run. ``phase`` is the one that is shown."""
    if not is_parallel(state.config):
        return None
    merged = sum(one.state is LaneState.MERGED for one in state.lanes)
    of = merged + max(0, state.counts.required - state.counts.required_done)
    return LaneTable(
        run=state.run,
        branch=escape_control_chars(branch_of_run(state)),
        most=state.config.parallel or 1,
        merged=merged,
        of=of,
        words=_words(state, phase, f"{merged} of {of} merged"),
        rows=tuple(_row(one, zone) for one in sorted(state.lanes, key=_place)),
    )


def lane_task_words(state: RunState, lane: LaneView, phase: Phase) -> str:
    """What became of the task of a lane: ``in lane 2: works``, ``merged into …``."""
    if lane.state is LaneState.MERGED:
        return f"merged into {escape_control_chars(branch_of_run(state))}"
    words = lane_state_words(lane)
    if lane.state not in ACTIVE:
        return words
    # Without an engine of the run, nothing is known of what its lanes do.
    return "" if phase in {Phase.ENDED, Phase.CRASHED} else f"in lane {lane.lane}: {words}"


def _words(state: RunState, phase: Phase, merged: str) -> str:
    n_parked = sum(one.state is LaneState.PARKED for one in state.lanes)
    n_aside = sum(one.state is LaneState.DROPPED for one in state.lanes)
    parts = (
        "" if phase in {Phase.ENDED, Phase.CRASHED} else lanes_at_work(state),
        f"{n_parked} parked" if n_parked else "",
        f"{n_aside} set aside" if n_aside else "",
        merged,
    )
    return " · ".join(filter(None, parts))


def _place(lane: LaneView) -> tuple[int, int]:
    """Lanes at work by their numbers; the others as they came, within their states."""
    return (0, lane.lane) if lane.state in ACTIVE else (1 + AFTER_WORK.index(lane.state), 0)


def _row(lane: LaneView, zone: tzinfo | None) -> LaneRow:
    question = question_of_lane(lane)
    return LaneRow(
        lane=lane.lane,
        task=TaskRef(id=lane.task.id, title=one_line(lane.task.title, limit=MAX_MESSAGE)),
        state=lane.state,
        words=lane_state_words(lane, zone=zone),
        branch=escape_control_chars(lane.branch),
        worktree=lane.worktree,
        run=lane.run,
        question=None if question is None else some_lines(question),
        options=() if question is None else listed_choices(question),
        problem=lane.problem,
        conflicts=lane.paths,
        commits=lane.commits,
        iterations=lane.iterations,
        cost_usd=cost_of(lane.usage),
        estimated=is_estimated(lane.usage),
        kept=None if lane.kept is None else one_line(lane.kept, limit=MAX_MESSAGE),
    )
