"""Lanes of a parallel run: which are live or due, and how they are parked or retried."""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.loop.lane_effects import CloseLane
from ralph_ls.core.loop.rules.lanes import active_lanes, has_open_run
from ralph_ls.core.loop.state import BranchFacts, StepDraft
from ralph_ls.protocol.run.events import LaneDropped, LaneParked, LaneStarted
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import LaneState, MergeProblem


def live_lanes(draft: StepDraft) -> list[LaneView]:
    """The lanes with a run whose engine is known to be alive, so that it takes orders."""
    facts = draft.state.branch
    unknown = facts.gone | facts.opening.keys()
    return [one for one in draft.run.lanes if has_open_run(one) and one.task.id not in unknown]


def repairing(draft: StepDraft) -> LaneView | None:
    """The lane that resolves conflicts, until it is merged: one at a time, as the next one may
    have to resolve its own on top of that.
    """
    opening = draft.state.branch.opening
    lanes = (one for one in active_lanes(draft.run) if one.problem is MergeProblem.CONFLICT)
    begun = (
        one
        for one in lanes
        if one.state is not LaneState.WORKING or one.end is None or one.task.id in opening
    )
    return next(begun, None)


def resolving(draft: StepDraft) -> LaneView | None:
    """The lane that resolves conflicts, or the one that is to do it next."""
    pending = (
        one
        for one in draft.run.lanes
        if one.state is LaneState.WORKING and one.problem is MergeProblem.CONFLICT
    )
    return repairing(draft) or next(pending, None)


def free_number(run: RunState) -> int:
    """The lowest number that no active lane has."""
    taken = {one.lane for one in active_lanes(run)}
    return next(number for number in range(1, len(taken) + 2) if number not in taken)


def park(draft: StepDraft, lane: LaneView, message: str) -> None:
    """Keep a lane with everything in it for its user."""
    draft.emit(LaneParked(**draft.stamp, lane=lane.lane, task=lane.task, message=message))
    forget(draft, lane.task.id)


def drop(draft: StepDraft, lane: LaneView, message: str) -> None:
    """Close a lane in which nothing is."""
    draft.emit(LaneDropped(**draft.stamp, lane=lane.lane, task=lane.task, message=message))
    draft.order(CloseLane(task=lane.task.id))
    forget(draft, lane.task.id)


def park_or_drop(draft: StepDraft, lane: LaneView, message: str, *, is_empty: bool) -> None:
    """Keep the lane for its user where something is in it."""
    if is_empty:
        drop(draft, lane, message)
    else:
        park(draft, lane, message)


def retry_lane(draft: StepDraft, lane: LaneView) -> None:
    """Take up a parked or dropped lane again: to merge it, or to work on its task."""
    draft.emit(
        LaneStarted(
            **draft.stamp,
            lane=free_number(draft.run),
            task=lane.task,
            branch=lane.branch,
            worktree=lane.worktree,
        )
    )
    if lane.run is not None and lane.end is None:
        # It was parked with a run that had not ended, which is to be found or continued.
        facts = draft.state.branch
        draft.hold_branch(replace(facts, gone=facts.gone | {lane.task.id}))


def forget(draft: StepDraft, task: str) -> BranchFacts:
    """Forget what was ordered about the run of a lane, as that is over.

    An order to pause is kept: it may still be under way, and meet the next run in the lane.
    """
    facts = draft.state.branch
    facts = replace(
        facts,
        opening={one: limits for one, limits in facts.opening.items() if one != task},
        gone=facts.gone - {task},
        resuming=None if facts.resuming == task else facts.resuming,
        stopping=facts.stopping - {task},
    )
    draft.hold_branch(facts)
    return facts
