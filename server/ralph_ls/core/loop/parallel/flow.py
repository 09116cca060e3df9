"""Flow of a parallel run: open lanes, merge what they finish, park what fails, and end.

``advance`` is called after every input and does all that has become possible. It is idempotent:
what was ordered is in the state, so nothing is ordered twice, and an engine that resumes the run
calls it and orders again what the journal has and the engine before did not finish. At last it
settles: the run's phase follows the lanes, and the run ends where nothing is left to do.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.lanes import (
    LaneLimits,
    OpenLane,
    RebaseLane,
    SteerLane,
    active_lanes,
    branch_of_run,
)
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.parallel.lanes import (
    free_number,
    live_lanes,
    park,
    repairing,
    resolving,
    running_besides,
    share_of_limits,
)
from ralph_ls.core.loop.parallel.schedule import ready_tasks
from ralph_ls.core.loop.rules.budget import limit_reached
from ralph_ls.core.loop.rules.waits import hours_over
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.run.events import LaneStarted, PhaseChanged
from ralph_ls.protocol.run.state import LaneView, RunState
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


# ------------------------------------------------------------------------------------------ the end


BREAKER = "the breaker"
"""Who stops the run of a lane that is stuck, or whose question nobody is there to answer."""

SHOWN_LANES = 3


def settle(draft: StepDraft) -> None:
    """Follow the lanes with the run's phase, and end where nothing is left to do."""
    run, facts = draft.run, draft.state.branch
    is_busy = bool(facts.opening) or facts.merging is not None
    if run.phase is Phase.STOPPING:
        # What a stop leaves unfinished continues when the run is resumed.
        if not is_busy and not live_lanes(draft):
            by = run.stop_requested or ""
            run_flow.end_run(draft, EndReason.STOPPED, f"stopped by {by}; {outcome(run)}", by=by)
    elif run.phase is not Phase.PAUSED:
        if is_busy or facts.tasks is None or active_lanes(run):
            _follow_lanes(draft, is_busy=is_busy or facts.tasks is None)
        else:
            _end(draft)


def _follow_lanes(draft: StepDraft, *, is_busy: bool) -> None:
    """Parked while all that is left waits for the user, running otherwise."""
    run, facts = draft.run, draft.state.branch
    live = live_lanes(draft)
    waiting = [
        one for one in live if one.phase is Phase.PARKED and one.task.id not in facts.stopping
    ]
    # Lanes without a live run wait for one that has: for a merge, for their turn, or for a share.
    if waiting and not is_busy and len(waiting) == len(live):
        _wait_for_user(draft, waiting)
    elif run.phase not in {Phase.RUNNING, Phase.PREPARING}:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))


def _wait_for_user(draft: StepDraft, waiting: list[LaneView]) -> None:
    """Park the run; where nobody is there to settle what its lanes wait for, end their runs."""
    if draft.config.on_halt is OnHalt.WAIT:
        asks = any(one.question is not None for one in waiting)
        _park_run(draft, EndReason.DECIDE if asks else EndReason.BLOCKED)
        return
    for lane in waiting:
        stop_waiting(draft, lane)


def stop_waiting(draft: StepDraft, lane: LaneView) -> None:
    """End the run of a lane that waits, since nobody is there to settle it: it is parked then."""
    facts = draft.state.branch
    draft.order(SteerLane(task=lane.task.id, verb="stop", by=BREAKER))
    draft.hold_branch(replace(facts, stopping=facts.stopping | {lane.task.id}))


def _park_run(draft: StepDraft, reason: EndReason) -> None:
    if draft.run.phase is not Phase.PARKED or draft.run.phase_reason != reason.value:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PARKED, reason=reason.value))


def _end(draft: StepDraft) -> None:
    """Nothing works and nothing can be started: end, or wait for the user."""
    run, facts = draft.run, draft.state.branch
    if not facts.counts.open_required and facts.counts.total:
        run_flow.end_run(draft, EndReason.COMPLETE, outcome(run))
        return
    used_up = hours_over(run, draft.now) or limit_reached(
        draft.config,
        counted=run.counted,
        seconds=active_seconds(run, draft.now),
        usage=run.usage,
    )
    parked = [one for one in run.lanes if one.state is LaneState.PARKED]
    asks = any(one.end is EndReason.DECIDE for one in parked)
    failures, is_waiting = failures_in_a_row(run), draft.config.on_halt is OnHalt.WAIT
    if used_up is not None:
        run_flow.end_run(draft, EndReason.LIMIT, f"{used_up}; {outcome(run)}")
    elif share_of_limits(draft) is None:
        why = "a lane whose engine died may have used what is left of the limits"
        run_flow.end_run(draft, EndReason.LIMIT, f"{why}; {outcome(run)}")
    elif asks and not is_waiting:
        run_flow.end_run(draft, EndReason.DECIDE, outcome(run))
    elif failures >= failures_allowed(run):
        message = f"{count_of(failures, 'lane')} in a row failed; {outcome(run)}"
        run_flow.end_run(draft, EndReason.STUCK, message)
    elif parked and is_waiting:
        _park_run(draft, EndReason.BLOCKED)
    elif parked:
        run_flow.end_run(draft, EndReason.BLOCKED, outcome(run))
    else:
        left = count_of(facts.counts.open_required, "task")
        message = f"{left} left, and none of them can be taken; {outcome(run)}"
        run_flow.end_run(draft, EndReason.STUCK, message)


def failures_in_a_row(run: RunState) -> int:
    """How many lanes were parked or dropped since the last one was merged."""
    merged = [one.ended_at for one in run.lanes if one.state is LaneState.MERGED]
    failed = [
        one.ended_at for one in run.lanes if one.state in {LaneState.PARKED, LaneState.DROPPED}
    ]
    last = max((at for at in merged if at is not None), default=None)
    return sum(1 for at in failed if last is None or (at is not None and at > last))


def failures_allowed(run: RunState) -> int:
    """So many lanes in a row may fail: the breaker of a parallel run."""
    return max(2, run.config.parallel or 1, run.config.breaker.set_aside_open)


def outcome(run: RunState) -> str:
    """What became of the lanes, in words."""
    merged = [one for one in run.lanes if one.state is LaneState.MERGED]
    parked = [one for one in run.lanes if one.state is LaneState.PARKED]
    dropped = [one for one in run.lanes if one.state is LaneState.DROPPED]
    words = [f"{count_of(len(merged), 'task')} merged into {branch_of_run(run)}"]
    if parked:
        names = some_of([one.task.title for one in parked], SHOWN_LANES)
        words.append(f"{len(parked)} parked for you ({names})")
    if dropped:
        names = some_of([one.task.title for one in dropped], SHOWN_LANES)
        words.append(f"{len(dropped)} set aside ({names})")
    return ", ".join(words)
