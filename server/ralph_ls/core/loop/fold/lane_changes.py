"""Changes of a parallel run's state with the events of its lanes (docs/rules.md#parallel-runs)."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.changes import LaneChanges, RunChanges
from ralph_ls.protocol.run.events import (
    LaneDropped,
    LaneMerged,
    LaneParked,
    LaneRunEnded,
    LaneRunStarted,
    LaneStarted,
    LaneWaiting,
    MergeRefused,
    MergeStarted,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason, LaneState, MergeProblem, Phase

LaneUpdate = (
    LaneRunStarted
    | LaneWaiting
    | LaneRunEnded
    | MergeStarted
    | MergeRefused
    | LaneMerged
    | LaneParked
    | LaneDropped
)
LaneChange = LaneStarted | LaneUpdate

_WORKS: LaneChanges = {
    "end": None,
    "message": "",
    "phase": Phase.RUNNING,
    "phase_reason": None,
    "until": None,
    "question": None,
}


def changes_of_lane(state: RunState, event: LaneChange) -> RunChanges:
    """The changes of one event of a lane; one for a task that no lane has changes nothing else."""
    if isinstance(event, LaneStarted):
        return {"lanes": _with_new(state.lanes, event)}
    known = next((one for one in state.lanes if one.task.id == event.task.id), None)
    if known is None:
        return {}
    changed = known.model_copy(update=_changes(known, event))
    changes: RunChanges = {"lanes": tuple(changed if one is known else one for one in state.lanes)}
    if isinstance(event, LaneMerged):
        changes["counts"] = event.counts
    if isinstance(event, LaneRunEnded):
        # The limits of a parallel run are for all of its lanes together.
        lanes = changes["lanes"]
        changes["counted"] = changes["iteration"] = sum(one.iterations for one in lanes)
        changes["usage"] = reduce(add_usage, (one.usage for one in lanes), None)
    return changes


def _with_new(lanes: tuple[LaneView, ...], event: LaneStarted) -> tuple[LaneView, ...]:
    """The lanes with one that begins; a task that had one before continues in it."""
    known = next((one for one in lanes if one.task.id == event.task.id), None)
    if known is not None:
        was_dropped = known.state is LaneState.DROPPED
        is_done = known.end is EndReason.COMPLETE and not was_dropped
        again: LaneChanges = {
            "lane": event.lane,
            "state": LaneState.QUEUED if is_done else LaneState.WORKING,
            # The work tree and the branch of a dropped one are made again.
            "base": None if was_dropped else known.base,
            "message": "",
            "problem": None,
            "refusals": 0,
            "crashes": 0,
            "paths": (),
            "ended_at": None,
        }
        changed = known.model_copy(update=again)
        return tuple(changed if one is known else one for one in lanes)
    new = LaneView(
        lane=event.lane,
        task=event.task,
        branch=event.branch,
        worktree=event.worktree,
        started_at=event.at,
    )
    return (*lanes, new)


def _changes(lane: LaneView, event: LaneUpdate) -> LaneChanges:
    match event:
        case LaneRunStarted(lane_run=run, base=base):
            new_run = run != lane.run
            return {
                **_WORKS,
                **_earlier(lane, run),
                # A run that continues without having ended had lost its engine.
                "crashes": lane.crashes + (not new_run and lane.end is None),
                "state": LaneState.WORKING,
                "run": run,
                "runs": lane.runs + new_run,
                "base": lane.base or base,
                "limit": event.limit,
                "max_tokens": event.max_tokens,
                "max_cost_usd": event.max_cost_usd,
            }
        case LaneWaiting(phase=phase, reason=reason, until=until, question=question):
            return {"phase": phase, "phase_reason": reason, "until": until, "question": question}
        case LaneRunEnded():
            return _run_ended(lane, event)
        case MergeStarted(onto=onto, head=head):
            return {"state": LaneState.MERGING, "onto": onto, "head": head}
        case MergeRefused(problem=problem, message=message, paths=paths):
            return {
                "state": LaneState.WORKING,
                "problem": problem,
                "message": message,
                "paths": paths,
                "refusals": lane.refusals + 1,
                "conflicts": lane.conflicts + (problem is MergeProblem.CONFLICT),
                "onto": None,
                "head": None,
            }
        case LaneMerged(head=head, commits=commits, kept=kept):
            return {
                "state": LaneState.MERGED,
                "head": head,
                "commits": commits,
                "kept": kept,
                "message": "",
                "problem": None,
                "paths": (),
                "ended_at": event.at,
            }
        case LaneParked(message=message):
            return {"state": LaneState.PARKED, "message": message, "ended_at": event.at}
        case _:
            return {"state": LaneState.DROPPED, "message": event.message, "ended_at": event.at}


def _run_ended(lane: LaneView, event: LaneRunEnded) -> LaneChanges:
    is_done = event.reason is EndReason.COMPLETE
    earlier = _used_earlier(lane, event.lane_run)
    return {
        **_earlier(lane, event.lane_run),
        "state": LaneState.QUEUED if is_done else LaneState.WORKING,
        "run": event.lane_run,
        # One that began and ended while the parallel run had no engine.
        "runs": lane.runs + (event.lane_run != lane.run),
        "end": event.reason,
        "message": "" if is_done else event.message,
        "phase": Phase.ENDED,
        "phase_reason": event.reason.value,
        "until": None,
        # An answer is possible until the lane's next run begins.
        "question": lane.question if event.reason is EndReason.DECIDE else None,
        "iterations": earlier.iterations + event.iterations,
        "usage": add_usage(earlier.usage, event.usage),
        "seconds": round(earlier.seconds + event.seconds, 3),
    }


def _earlier(lane: LaneView, run: str) -> LaneChanges:
    earlier = _used_earlier(lane, run)
    return {
        "earlier_iterations": earlier.iterations,
        "earlier_usage": earlier.usage,
        "earlier_seconds": earlier.seconds,
    }


class _Used(NamedTuple):
    iterations: int
    usage: Usage | None
    seconds: float


def _used_earlier(lane: LaneView, run: str) -> _Used:
    """What the lane's runs before this one have used; a run that is resumed reports its totals."""
    if run == lane.run:
        return _Used(lane.earlier_iterations, lane.earlier_usage, lane.earlier_seconds)
    return _Used(lane.iterations, lane.usage, lane.seconds)
