"""Flow of a parallel run: open lanes, merge what they finish, park what fails, and end.

``advance`` is called after every input and does all that has become possible. It is idempotent:
what was ordered is in the state, so nothing is ordered twice, and an engine that resumes the run
calls it and orders again what the journal has and the engine before did not finish.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.parallel.effects import (
    CloseLane,
    LaneLimits,
    OpenLane,
    RebaseLane,
    SteerLane,
)
from ralph_ls.core.loop.parallel.schedule import ready_tasks
from ralph_ls.core.loop.rules.budget import limit_reached, tokens_of
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.setup.documents import branch_slug
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.run.events import (
    LaneDropped,
    LaneParked,
    LaneStarted,
    PhaseChanged,
)
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason, LaneState, MergeProblem, Phase, TaskRef

MOST_CRASHES = 2
"""How often the run of a lane is continued after its engine died."""

MOST_REPAIRS = 1
"""How many iterations a lane gets to bring its work onto a branch that has moved on."""

SHOWN_LANES = 3

BREAKER = "the breaker"
"""Who stops the run of a lane that is stuck."""

ANSWERED_LATER = frozenset({EndReason.DECIDE, EndReason.BLOCKED, EndReason.STOPPED})
"""Ends after which a lane's run is continued, rather than a new one started."""

ACTIVE = frozenset({LaneState.WORKING, LaneState.QUEUED, LaneState.MERGING})
"""States of a lane about which something is still to be done without its user."""


def branch_of_run(run: RunState) -> str:
    """The branch on which a parallel run merges."""
    lane = run.config.lane
    if lane.direct and run.branch is not None:
        return run.branch
    return lane.onto or f"ralph/session-{run.run}"


def lane_of(run: RunState, task: str) -> LaneView | None:
    """The lane of the task with this id."""
    return next((one for one in run.lanes if one.task.id == task), None)


def advance(draft: StepDraft) -> None:
    """Do all that has become possible."""
    if draft.run.phase is Phase.ENDED:
        return
    _merge_next(draft)
    if _may_open(draft):
        _share_usage_limit(draft)
        _continue_lanes(draft)
        _open_new_lanes(draft)
    _settle(draft)


def _may_open(draft: StepDraft) -> bool:
    facts, phase = draft.state.branch, draft.run.phase
    is_held = phase in {Phase.STOPPING, Phase.PAUSED}
    return not is_held and facts.tasks is not None and not facts.fatal


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
        draft.hold_branch(replace(facts, merging=due[0].task.id))
        repair = repairing(draft)
        is_other = repair is not None and repair.task.id != due[0].task.id
        paths = repair.paths if repair is not None and is_other else ()
        draft.order(RebaseLane(task=due[0].task.id, in_repair=paths))


def repairing(draft: StepDraft) -> LaneView | None:
    """The lane that resolves conflicts, until it is merged: one at a time, as the next one may
    have to resolve its own on top of that.
    """
    opening = draft.state.branch.opening
    lanes = [
        one
        for one in draft.run.lanes
        if one.state in ACTIVE and one.problem is MergeProblem.CONFLICT
    ]
    begun = (
        one
        for one in lanes
        if one.state is not LaneState.WORKING or one.end is None or one.task.id in opening
    )
    return next(begun, None)


def _share_usage_limit(draft: StepDraft) -> None:
    """Pause the other lanes while one waits for the usage limit of the account.

    They continue one after the other: each once the one before it works again.
    """
    run, facts = draft.run, draft.state.branch
    lanes = [one for one in run.lanes if one.state is LaneState.WORKING and one.end is None]
    if any(_waits_for_account(one) for one in lanes):
        for one in lanes:
            if one.phase is Phase.RUNNING and one.task.id not in facts.told and one.run:
                draft.order(SteerLane(task=one.task.id, verb="pause", by="ralph run"))
                facts = replace(facts, told=facts.told | {one.task.id})
        draft.hold_branch(facts)
        return
    held = [one for one in lanes if one.task.id in facts.told]
    # A lane that was told to pause and has not yet paused is told that it need not.
    if held and not any(one.phase is Phase.WAITING for one in lanes):
        first = held[0].task.id
        draft.order(SteerLane(task=first, verb="resume", by="ralph run"))
        draft.hold_branch(replace(facts, told=facts.told - {first}))


def _waits_for_account(lane: LaneView) -> bool:
    return lane.phase is Phase.WAITING and lane.phase_reason == "limit"


def _continue_lanes(draft: StepDraft) -> None:
    """Start the runs that lanes need: a first one, or another one after one that has ended."""
    for lane in draft.run.lanes:
        facts = draft.state.branch
        needs_run = lane.state is LaneState.WORKING and (lane.run is None or lane.end is not None)
        if not needs_run or lane.task.id in facts.opening:
            continue
        limits = share_of_limits(draft, lane)
        if limits is None:
            park(draft, lane, f"the limits of the run are used up: {lane.message}")
            continue
        is_repair = lane.problem is not None and lane.end is EndReason.COMPLETE
        if is_repair and lane.problem is MergeProblem.CONFLICT and repairing(draft) is not None:
            continue
        open_lane(
            draft,
            lane.task.id,
            limits,
            resume=lane.end in ANSWERED_LATER,
            repair=lane.problem if is_repair else None,
            message=lane.message if is_repair else "",
        )


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
    opening = {**facts.opening, task: limits.iterations or 0}
    draft.hold_branch(replace(facts, opening=opening))
    draft.order(OpenLane(task=task, limits=limits, resume=resume, repair=repair, message=message))


def _open_new_lanes(draft: StepDraft) -> None:
    """Give the ready tasks to free lanes."""
    run, facts = draft.run, draft.state.branch
    if any(_waits_for_account(one) for one in run.lanes if one.state is LaneState.WORKING):
        return
    if draft.state.branch.tasks is None or failures_in_a_row(run) >= failures_allowed(run):
        return
    working = [one for one in run.lanes if one.state in ACTIVE]
    # A lane whose run waits for its user needs no agent, so it holds no other task up.
    busy = sum(1 for one in working if one.phase is not Phase.PARKED)
    taken = {one.lane for one in working}
    excluded = {one.task.id for one in run.lanes if one.state not in ACTIVE} | set(run.skipped)
    ready = ready_tasks(
        facts.tasks or (), in_work={one.task.id for one in working}, excluded=excluded
    )
    for one in ready[: max(0, (run.config.parallel or 1) - busy)]:
        limits = share_of_limits(draft)
        if limits is None:
            return
        number = next(n for n in range(1, len(taken) + 2) if n not in taken)
        taken.add(number)
        start_lane(draft, number, one.task, limits)


def start_lane(draft: StepDraft, number: int, task: TaskRef, limits: LaneLimits) -> None:
    """Give a task to a lane."""
    run = draft.run
    slug = f"{branch_slug(task.id)}-{len(run.lanes) + 1}"
    draft.emit(
        LaneStarted(
            **draft.stamp,
            lane=number,
            task=task,
            branch=f"ralph/{run.run}/{slug}",
            worktree=f"{run.state_dir}/lanes/{run.run}/{slug}",
        )
    )
    open_lane(draft, task.id, limits)


def share_of_limits(draft: StepDraft, own: LaneView | None = None) -> LaneLimits | None:
    """What another run may use; None where nothing is left.

    What is left is divided among the lanes that may need it, after what live runs were given;
    ``own`` is the lane that the share is for, where it has one already.
    """
    run, config = draft.run, draft.config
    seconds = active_seconds(run, draft.now)
    if limit_reached(config, counted=run.counted, seconds=seconds, usage=run.usage) is not None:
        return None
    opening = draft.state.branch.opening
    live = [
        one
        for one in run.lanes
        if one.task.id != (own and own.task.id)
        and one.state is LaneState.WORKING
        and (one.end is None or one.task.id in opening)
    ]
    lanes = max(1, (config.parallel or 1) - len(live))
    iterations = None
    if config.max_iterations is not None:
        lent = sum(opening.get(one.task.id, one.limit or 0) for one in live)
        left = config.max_iterations - run.counted - lent
        if left <= 0:
            return None
        iterations = max(1, ceil(left / lanes))
    tokens = cost = None
    parts = max(1, config.parallel or 1)
    if config.max_tokens is not None:
        tokens = max(1, (config.max_tokens - (tokens_of(run.usage) or 0)) // parts)
    if config.max_cost_usd is not None:
        used = 0.0 if run.usage is None else run.usage.cost_usd or 0.0
        cost = max(0.01, round((config.max_cost_usd - used) / parts, 4))
    left_seconds = None
    if config.max_duration is not None:
        left_seconds = max(1.0, config.max_duration - seconds)
    return LaneLimits(iterations=iterations, tokens=tokens, cost_usd=cost, seconds=left_seconds)


def failures_in_a_row(run: RunState) -> int:
    """How many lanes were parked or dropped since the last one was merged."""
    ended = [one for one in run.lanes if one.ended_at is not None]
    merged = [one.ended_at for one in ended if one.state is LaneState.MERGED]
    last = max((at for at in merged if at is not None), default=None)
    failed = [one for one in ended if one.state in {LaneState.PARKED, LaneState.DROPPED}]
    return sum(1 for one in failed if last is None or (one.ended_at or last) > last)


def failures_allowed(run: RunState) -> int:
    """So many lanes in a row may fail: the breaker of a parallel run."""
    return max(2, run.config.parallel or 1, run.config.breaker.set_aside_open)


def park(draft: StepDraft, lane: LaneView, message: str) -> None:
    """Keep a lane with everything in it for its user."""
    draft.emit(LaneParked(**draft.stamp, lane=lane.lane, task=lane.task, message=message))


def drop(draft: StepDraft, lane: LaneView, message: str) -> None:
    """Close a lane in which nothing is."""
    draft.emit(LaneDropped(**draft.stamp, lane=lane.lane, task=lane.task, message=message))
    draft.order(CloseLane(task=lane.task.id))


def retry_lane(draft: StepDraft, lane: LaneView) -> None:
    """Take up a parked or dropped lane again: to merge it, or to work on its task."""
    draft.emit(
        LaneStarted(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            branch=lane.branch,
            worktree=lane.worktree,
        )
    )


def _settle(draft: StepDraft) -> None:
    """Follow the lanes with the run's phase, and end where nothing is left to do."""
    run, facts = draft.run, draft.state.branch
    active = [one for one in run.lanes if one.state in ACTIVE]
    if run.phase is Phase.STOPPING:
        # What a stop leaves unfinished continues when the run is resumed.
        busy = [one for one in active if one.end is None and one.run is not None]
        if not busy and not facts.opening and facts.merging is None:
            by = run.stop_requested or ""
            run_flow.end_run(draft, EndReason.STOPPED, f"stopped by {by}; {outcome(run)}", by=by)
        return
    if active or facts.opening or facts.merging is not None or facts.tasks is None:
        _follow_lanes(draft, active)
        return
    if run.phase is not Phase.PAUSED:
        _end(draft)


def _follow_lanes(draft: StepDraft, active: list[LaneView]) -> None:
    """Parked while all lanes wait for the user, running while one works."""
    run = draft.run
    if run.phase is Phase.PAUSED:
        return
    waiting = [one for one in active if one.phase is Phase.PARKED]
    is_parked = bool(waiting) and len(waiting) == len(active)
    if is_parked:
        if draft.config.on_halt is not OnHalt.WAIT:
            _stop_waiting(draft, waiting)
            return
        asks = any(one.question for one in waiting)
        reason = EndReason.DECIDE.value if asks else EndReason.BLOCKED.value
        if run.phase is not Phase.PARKED or run.phase_reason != reason:
            draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PARKED, reason=reason))
    elif run.phase is not Phase.RUNNING:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))


def _stop_waiting(draft: StepDraft, waiting: list[LaneView]) -> None:
    """End the runs that wait, since nobody is there to settle it: their lanes are parked."""
    facts = draft.state.branch
    for lane in waiting:
        if lane.task.id not in facts.told:
            draft.order(SteerLane(task=lane.task.id, verb="stop", by=BREAKER))
            facts = replace(facts, told=facts.told | {lane.task.id})
    draft.hold_branch(facts)


def _end(draft: StepDraft) -> None:
    """Nothing works and nothing can be started: end, or wait for the user."""
    run, facts = draft.run, draft.state.branch
    if facts.fatal:
        run_flow.end_run(draft, EndReason.FATAL, f"{facts.fatal}; {outcome(run)}")
        return
    if not facts.counts.open_required and facts.counts.total:
        run_flow.end_run(draft, EndReason.COMPLETE, outcome(run))
        return
    used_up = limit_reached(
        draft.config,
        counted=run.counted,
        seconds=active_seconds(run, draft.now),
        usage=run.usage,
    )
    parked = [one for one in run.lanes if one.state is LaneState.PARKED]
    if used_up is not None:
        run_flow.end_run(draft, EndReason.LIMIT, f"{used_up}; {outcome(run)}")
    elif failures_in_a_row(run) >= failures_allowed(run):
        message = f"{count_of(failures_in_a_row(run), 'lane')} in a row failed; {outcome(run)}"
        run_flow.end_run(draft, EndReason.STUCK, message)
    elif parked and draft.config.on_halt is OnHalt.WAIT:
        if run.phase is not Phase.PARKED or run.phase_reason != EndReason.BLOCKED.value:
            phase = Phase.PARKED
            draft.emit(PhaseChanged(**draft.stamp, phase=phase, reason=EndReason.BLOCKED.value))
    elif parked:
        asks = any(one.end is EndReason.DECIDE for one in parked)
        reason = EndReason.DECIDE if asks else EndReason.BLOCKED
        run_flow.end_run(draft, reason, outcome(run))
    else:
        left = count_of(facts.counts.open_required, "task")
        message = f"{left} left, and none of them can be taken; {outcome(run)}"
        run_flow.end_run(draft, EndReason.STUCK, message)


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
