"""Lanes of a parallel run: which are live or due, how they are parked or retried, their shares.

A share is the part of the run's limits that a lane may use. What is left of a limit is divided
among the lanes that may need it. Of iterations, a part for each lane stays in reserve: a lane that
waits for its user keeps its share, and another takes its place. What the run of a lane was given
counts as used until that run ends and reports what it has used, so all shares together never exceed
the limits of the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, floor
from typing import TypeVar

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.lanes import CloseLane, LaneLimits, active_lanes, has_open_run
from ralph_ls.core.loop.rules.budget import limit_reached, tokens_of
from ralph_ls.core.loop.rules.waits import hours_over
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


# ------------------------------------------------------------------------------------------- shares


Number = TypeVar("Number", int, float)

COST_STEPS = 10_000
"""Costs are divided in parts of a hundredth of a cent."""


def share_of_limits(draft: StepDraft, own: LaneView | None = None) -> LaneLimits | None:
    """What another run may use; None where nothing is left, or others have what is left.

    ``own`` is the lane that the share is for. Where its run has not ended, it keeps what it was
    given: it may be alive, and may have used it.
    """
    run, config = draft.run, draft.config
    seconds = active_seconds(run, draft.now)
    if hours_over(run, draft.now) is not None:
        return None
    if limit_reached(config, counted=run.counted, seconds=seconds, usage=run.usage) is not None:
        return None
    lent = _lent_shares(draft, own)
    lanes, others = config.parallel or 1, len(running_besides(draft, own))
    parts = max(1, lanes - others)
    cost = 0.0 if run.usage is None else run.usage.cost_usd or 0.0
    iterations = _left(config.max_iterations, run.counted, (one.iterations for one in lent))
    tokens = _left(config.max_tokens, tokens_of(run.usage) or 0, (one.tokens for one in lent))
    costs = _left(config.max_cost_usd, cost, (one.cost_usd for one in lent))
    if any(left is not None and left <= 0 for left in (iterations, tokens, costs)):
        return None
    limit = config.max_duration
    kept = _kept_share(own)
    return LaneLimits(
        iterations=None
        if iterations is None
        else kept.iterations or ceil(iterations / (parts + lanes)),
        tokens=None if tokens is None else kept.tokens or max(1, tokens // parts),
        cost_usd=None if costs is None else kept.cost_usd or _part_of_cost(costs, parts),
        seconds=None if limit is None else max(1.0, limit - seconds),
    )


def running_besides(draft: StepDraft, own: LaneView | None) -> list[LaneView]:
    """The other lanes with a run that has not ended: what it does not use is free again then."""
    opening = draft.state.branch.opening
    return [
        one
        for one in draft.run.lanes
        if (own is None or one.task.id != own.task.id)
        and (one.task.id in opening or has_open_run(one))
    ]


def _lent_shares(draft: StepDraft, own: LaneView | None) -> list[LaneLimits]:
    """What the runs of the other lanes were given, and have not yet reported as used.

    A lane that is parked because its engine died has not reported anything, and may have used it.
    """
    opening = draft.state.branch.opening
    others = (one for one in draft.run.lanes if own is None or one.task.id != own.task.id)
    return [opening.get(one.task.id) or _kept_share(one) for one in others]


def _kept_share(lane: LaneView | None) -> LaneLimits:
    """What the lane was given for a run that has not ended."""
    if lane is None or lane.run is None or lane.end is not None:
        return LaneLimits()
    return LaneLimits(iterations=lane.limit, tokens=lane.max_tokens, cost_usd=lane.max_cost_usd)


def _left(limit: Number | None, used: Number, lent: Iterable[Number | None]) -> Number | None:
    """What is left of a limit; None where there is none."""
    return None if limit is None else limit - sum((one for one in lent if one is not None), used)


def _part_of_cost(left: float, parts: int) -> float:
    part = floor(left / parts * COST_STEPS) / COST_STEPS
    return part or left / parts
