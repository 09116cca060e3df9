"""Flow of a parallel run: open lanes, merge what they finish, park what fails, and end.

``advance`` is called after every input and does all that has become possible. It is idempotent:
what was ordered is in the state, so nothing is ordered twice, and an engine that resumes the run
calls it and orders again what the journal has and the engine before did not finish.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ralph_ls.core.loop.lane_effects import LaneLimits, OpenLane, RebaseLane, SteerLane
from ralph_ls.core.loop.parallel.ending import (
    failures_allowed,
    failures_in_a_row,
    settle,
    stop_waiting,
)
from ralph_ls.core.loop.parallel.lanes import free_number, live_lanes, park, repairing, resolving
from ralph_ls.core.loop.parallel.schedule import ready_tasks
from ralph_ls.core.loop.parallel.shares import running_besides, share_of_limits
from ralph_ls.core.loop.rules.lanes import active_lanes
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.protocol.run.events import LaneStarted
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.protocol.run.values import EndReason, LaneState, MergeProblem, Phase, TaskRef

CONTINUED = frozenset(
    {
        EndReason.DECIDE,
        EndReason.BLOCKED,
        EndReason.STUCK,
        EndReason.STOPPED,
        EndReason.LIMIT,
    }
)
"""Ends after which a lane's run is continued, rather than a new one started."""

LONGEST_NAME = 40
"""Characters of a task's id in the name of its branch."""

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9]+")


def advance(draft: StepDraft) -> None:
    """Do all that has become possible."""
    if draft.run.phase is Phase.ENDED:
        return
    if draft.run.phase is not Phase.STOPPING:
        _stop_stuck(draft)
    if _may_open(draft):
        _share_usage_limit(draft)
        _continue_lanes(draft)
        _open_new_lanes(draft)
    _end_deferral(draft)
    _merge_next(draft)
    settle(draft)


def _end_deferral(draft: StepDraft) -> None:
    """Once no lane resolves conflicts, the merges that waited for it are due."""
    facts = draft.state.branch
    if facts.deferred and resolving(draft) is None:
        draft.hold_branch(replace(facts, deferred=frozenset()))


def _may_open(draft: StepDraft) -> bool:
    is_held = draft.run.phase in {Phase.STOPPING, Phase.PAUSED}
    return not is_held and draft.state.branch.tasks is not None


def _merge_next(draft: StepDraft) -> None:
    """Begin with the next merge of the queue, where none is under way."""
    facts = draft.state.branch
    if facts.merging is not None or draft.state.stopping_agent:
        return
    due = [
        one
        for one in draft.run.lanes
        if one.state in {LaneState.QUEUED, LaneState.MERGING} and one.task.id not in facts.deferred
    ]
    # One whose branch was about to move when its engine died comes first, then repaired ones:
    # what they resolved must not conflict again.
    due.sort(key=lambda one: (one.state is not LaneState.MERGING, one.problem is None))
    if due:
        task, repair = due[0].task.id, resolving(draft)
        is_other = repair is not None and repair.task.id != task
        draft.hold_branch(replace(facts, merging=task))
        paths = repair.paths if repair is not None and is_other else ()
        draft.order(RebaseLane(task=task, in_repair=paths))


def _stop_stuck(draft: StepDraft) -> None:
    """Stop the runs whose breaker is open: their lanes are parked, which makes room for others."""
    for lane in live_lanes(draft):
        is_stuck = lane.phase is Phase.PARKED and lane.phase_reason == EndReason.STUCK.value
        if is_stuck and lane.task.id not in draft.state.branch.stopping:
            stop_waiting(draft, lane)


def _share_usage_limit(draft: StepDraft) -> None:
    """Pause the other lanes while one waits for the usage limit of the account.

    They continue one after the other: each once the one before it works again.
    """
    facts, lanes = draft.state.branch, live_lanes(draft)
    if any(_waits_for_account(one) for one in lanes):
        for one in lanes:
            if one.phase is Phase.RUNNING and one.task.id not in facts.paused:
                draft.order(SteerLane(task=one.task.id, verb="pause", by="ralph run"))
                facts = replace(facts, paused=facts.paused | {one.task.id})
        draft.hold_branch(facts)
        return
    if any(one.phase is Phase.WAITING for one in lanes):
        return
    for one in lanes:
        task = one.task.id
        if task in facts.paused and facts.resuming is None:
            # One that was ordered to pause and has not yet paused does not do it then.
            draft.order(SteerLane(task=task, verb="resume", by="ralph run"))
            is_paused = one.phase is Phase.PAUSED
            facts = replace(
                facts, paused=facts.paused - {task}, resuming=task if is_paused else None
            )
    draft.hold_branch(facts)


def _waits_for_account(lane: LaneView) -> bool:
    return lane.phase is Phase.WAITING and lane.phase_reason == "limit"


def _continue_lanes(draft: StepDraft) -> None:
    """Start the runs that lanes need: a first one, or another one after one that has ended."""
    active = active_lanes(draft.run)
    for lane in active:
        is_opening = lane.task.id in draft.state.branch.opening
        if lane.state is LaneState.WORKING and not is_opening and lane not in live_lanes(draft):
            continue_lane(draft, lane)
    if len(active_lanes(draft.run)) < len(active):
        # One that was parked had a share, and another one may wait for it.
        _continue_lanes(draft)


def continue_lane(draft: StepDraft, lane: LaneView) -> None:
    """Start the next run of a lane, where the limits and the other lanes leave room for it."""
    if _lanes_with_agent(draft) >= _number_of_lanes(draft):
        return
    limits = share_of_limits(draft, lane)
    if limits is None:
        # What other lanes were given and do not use is free when their runs end.
        if not running_besides(draft, lane):
            why = f": {lane.message}" if lane.message else ""
            park(draft, lane, f"the limits of the run are reached{why}")
        return
    other = repairing(draft)
    is_other = other is not None and other.task.id != lane.task.id
    if lane.problem is MergeProblem.CONFLICT and is_other:
        return
    is_repair = lane.problem is not None and lane.end is EndReason.COMPLETE
    open_lane(
        draft,
        lane.task.id,
        limits,
        resume=lane.end in CONTINUED or lane.task.id in draft.state.branch.gone,
        repair=lane.problem if is_repair else None,
        message=lane.message if is_repair else "",
    )


def _number_of_lanes(draft: StepDraft) -> int:
    return draft.run.config.parallel or 1


def _lanes_with_agent(draft: StepDraft) -> int:
    """How many lanes have a run that needs an agent, or get one."""
    working = [one for one in live_lanes(draft) if one.phase is not Phase.PARKED]
    return len(draft.state.branch.opening) + len(working)


def open_lane(
    draft: StepDraft,
    task: str,
    limits: LaneLimits,
    *,
    resume: bool = False,
    repair: MergeProblem | None = None,
    message: str = "",
) -> None:
    """Order a run for the task of a lane."""
    facts = draft.state.branch
    draft.hold_branch(
        replace(facts, opening={**facts.opening, task: limits}, gone=facts.gone - {task})
    )
    draft.order(OpenLane(task=task, limits=limits, resume=resume, repair=repair, message=message))


def _open_new_lanes(draft: StepDraft) -> None:
    """Give the ready tasks to free lanes."""
    run, facts = draft.run, draft.state.branch
    if any(_waits_for_account(one) for one in live_lanes(draft)):
        return
    if failures_in_a_row(run) >= failures_allowed(run):
        return
    active = active_lanes(run)
    in_work = {one.task.id for one in active}
    # A lane whose run waits for its user needs no agent, so it holds no other task up.
    busy = sum(1 for one in active if one.phase is not Phase.PARKED)
    excluded = ({one.task.id for one in run.lanes} - in_work) | set(run.skipped)
    ready = ready_tasks(facts.tasks or (), in_work=in_work, excluded=excluded - in_work)
    for one in ready[: max(0, _number_of_lanes(draft) - busy)]:
        limits = share_of_limits(draft)
        if limits is None:
            return
        start_lane(draft, one.task, limits)


def start_lane(draft: StepDraft, task: TaskRef, limits: LaneLimits) -> None:
    """Give a task to a lane."""
    run = draft.run
    # A part of a branch and of a path, whatever the id has in it; the number makes it unique.
    words = _NOT_A_NAME.sub("-", task.id).strip("-")[:LONGEST_NAME]
    slug = f"{words or 'task'}-{len(run.lanes) + 1}".lower()
    draft.emit(
        LaneStarted(
            **draft.stamp,
            lane=free_number(run),
            task=task,
            branch=f"ralph/{run.run}/{slug}",
            worktree=f"{run.state_dir}/lanes/{run.run}/{slug}",
        )
    )
    open_lane(draft, task.id, limits)
