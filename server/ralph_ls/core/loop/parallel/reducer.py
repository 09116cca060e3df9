"""Reducer of a parallel run: one state, one input, one step, as ``machine.reducer`` for a run.

The same invariants hold: state changes only by events, which are recorded before effects are
performed; an engine that dies between the two leaves an event without its effect, and ``Resumed``
orders it again. A lane is identified by its task, so a task is merged at most once: the journal
names the commit before the branch is moved to it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from ralph_ls.core.loop.inputs import (
    AnnouncementDone,
    CommandArrived,
    CommandUnreadable,
    EffectFailed,
    Input,
    Interrupted,
    Resumed,
    Started,
)
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.machine.reducer import report_start
from ralph_ls.core.loop.machine.steering import reject_unreadable
from ralph_ls.core.loop.parallel.effects import AdvanceBranch, CloseLane, ReadBranchPlan, SteerLane
from ralph_ls.core.loop.parallel.flow import (
    ACTIVE,
    BREAKER,
    MOST_CRASHES,
    MOST_REPAIRS,
    advance,
    drop,
    lane_of,
    open_lane,
    outcome,
    park,
    repairing,
    retry_lane,
    share_of_limits,
)
from ralph_ls.core.loop.parallel.inputs import (
    BranchPlanRead,
    LaneAdvanced,
    LaneDeferred,
    LaneEngineGone,
    LaneFailed,
    LaneInput,
    LaneObserved,
    LaneOpened,
    LaneRebased,
    LaneRefused,
    LaneRunFinished,
)
from ralph_ls.core.loop.parallel.steering import handle_command, handle_signal
from ralph_ls.core.loop.state import Awaits, BranchFacts, LoopState, Step, StepDraft
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.run.events import (
    LaneMerged,
    LaneRunEnded,
    LaneRunStarted,
    LaneWaiting,
    MergeRefused,
    MergeStarted,
    PhaseChanged,
    Warned,
)
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.protocol.run.values import EndReason, LaneState, MergeProblem, Phase


def step_parallel(state: LoopState, given: Input | LaneInput, now: datetime) -> Step:
    """The result of ``given`` at ``now``; pure and total."""
    draft = StepDraft(state, now)
    if state.awaits is Awaits.START:
        _take_up(draft, given)
    elif isinstance(given, Started | Resumed):
        draft.ignore("the run already has an engine")
    elif state.run.phase is Phase.ENDED:
        _after_the_end(draft, given)
    else:
        _dispatch(draft, given)
        if draft.run.phase is not Phase.ENDED:
            _end_deferral(draft)
            advance(draft)
    if draft.run.phase is Phase.ENDED:
        draft.expect(Awaits.NOTHING)
    return draft.finish()


def _end_deferral(draft: StepDraft) -> None:
    """Once no lane resolves conflicts, the merges that waited for it are due."""
    facts = draft.state.branch
    if facts.deferred and repairing(draft) is None:
        draft.hold_branch(replace(facts, deferred=frozenset()))


def _take_up(draft: StepDraft, given: Input | LaneInput) -> None:
    if not isinstance(given, Started | Resumed):
        draft.ignore("the engine has not started this run yet")
        return
    if not report_start(draft, given):
        return
    draft.expect(Awaits.PREPARED)
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PREPARING))
    if isinstance(given, Resumed):
        _retry_failed(draft)
    for lane in draft.run.lanes:
        if lane.state is LaneState.MERGED:
            # Its engine may have died before it had removed everything.
            draft.order(CloseLane(task=lane.task.id))
        elif lane.state is LaneState.WORKING and lane.end is None:
            limits = share_of_limits(draft, lane)
            if limits is None:
                park(draft, lane, "the limits of the run are used up")
            else:
                open_lane(draft, lane.task.id, limits)
    draft.order(ReadBranchPlan())


def _retry_failed(draft: StepDraft) -> None:
    """A user who resumes the run wants what is parked or set aside tried again."""
    for lane in draft.run.lanes:
        if lane.state in {LaneState.PARKED, LaneState.DROPPED}:
            retry_lane(draft, lane)


def _after_the_end(draft: StepDraft, given: Input | LaneInput) -> None:
    match given:
        case CommandArrived(command=command):
            handle_command(draft, command)
        case CommandUnreadable():
            reject_unreadable(draft, given)
        case AnnouncementDone():
            _announced(draft, given)
        case _:
            draft.ignore("the run has ended")


def _announced(draft: StepDraft, given: AnnouncementDone) -> None:
    draft.emit(Warned(**draft.stamp, code=given.code, message=given.message, outside=given.outside))


def _dispatch(draft: StepDraft, given: Input | LaneInput) -> None:
    match given:
        case CommandArrived(command=command):
            handle_command(draft, command)
        case CommandUnreadable():
            reject_unreadable(draft, given)
        case Interrupted(by=by):
            handle_signal(draft, by)
        case AnnouncementDone():
            _announced(draft, given)
        case EffectFailed(message=message):
            _effect_failed(draft, message)
        case BranchPlanRead():
            _plan_read(draft, given)
        case _:
            _dispatch_to_lane(draft, given)


def _dispatch_to_lane(draft: StepDraft, given: Input | LaneInput) -> None:
    task = getattr(given, "task", None)
    lane = lane_of(draft.run, task) if isinstance(task, str) else None
    if lane is None or lane.state not in ACTIVE:
        draft.ignore("no lane works on that")
        return
    match given:
        case LaneOpened():
            _opened(draft, lane, given)
        case LaneFailed():
            _failed(draft, lane, given)
        case LaneObserved():
            _observed(draft, lane, given)
        case LaneRunFinished():
            _run_finished(draft, lane, given)
        case LaneEngineGone():
            _engine_gone(draft, lane)
        case LaneRebased():
            _rebased(draft, lane, given)
        case LaneRefused():
            _refused(draft, lane, given)
        case LaneDeferred():
            facts = draft.state.branch
            deferred = facts.deferred | {lane.task.id}
            draft.hold_branch(replace(facts, merging=None, deferred=deferred))
        case LaneAdvanced():
            _advanced(draft, lane, given)
        case _:
            draft.ignore("a parallel run has no iterations")


def _plan_read(draft: StepDraft, given: BranchPlanRead) -> None:
    facts = draft.state.branch
    draft.hold_branch(replace(facts, tasks=given.tasks, counts=given.counts))
    if draft.run.phase is Phase.PREPARING:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))


def _no_longer_opening(draft: StepDraft, lane: LaneView) -> BranchFacts:
    facts = draft.state.branch
    opening = {task: limit for task, limit in facts.opening.items() if task != lane.task.id}
    facts = replace(facts, opening=opening)
    draft.hold_branch(facts)
    return facts


def _opened(draft: StepDraft, lane: LaneView, given: LaneOpened) -> None:
    _no_longer_opening(draft, lane)
    if not given.is_new and lane.run == given.run and lane.end is None:
        return
    draft.emit(
        LaneRunStarted(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            lane_run=given.run,
            base=given.base,
            limit=given.limit,
        )
    )
    if draft.run.phase is Phase.STOPPING:
        verb = "stopNow" if draft.state.stopping_agent else "stop"
        draft.order(SteerLane(task=lane.task.id, verb=verb, by=draft.run.stop_requested or ""))


def _failed(draft: StepDraft, lane: LaneView, given: LaneFailed) -> None:
    """What keeps one lane from starting, such as an agent that is missing, may keep all."""
    _no_longer_opening(draft, lane)
    park_or_drop(draft, lane, given.message, is_empty=given.is_empty)


def park_or_drop(draft: StepDraft, lane: LaneView, message: str, *, is_empty: bool) -> None:
    """Keep the lane for its user where something is in it."""
    if is_empty:
        drop(draft, lane, message)
    else:
        park(draft, lane, message)


def _observed(draft: StepDraft, lane: LaneView, given: LaneObserved) -> None:
    now = (lane.phase, lane.phase_reason, lane.question)
    if now == (given.phase, given.reason, given.question):
        draft.ignore("nothing has changed")
        return
    draft.emit(
        LaneWaiting(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            phase=given.phase,
            reason=given.reason,
            until=given.until,
            question=given.question,
        )
    )
    is_stuck = given.phase is Phase.PARKED and given.reason == EndReason.STUCK.value
    if is_stuck and draft.run.phase is not Phase.STOPPING:
        # Its breaker is open: the lane is parked for the user, and makes room for another task.
        draft.order(SteerLane(task=lane.task.id, verb="stop", by=BREAKER))


def _run_finished(draft: StepDraft, lane: LaneView, given: LaneRunFinished) -> None:
    if lane.end is not None and lane.run == given.run:
        draft.ignore("the lane's run has already ended")
        return
    facts = _no_longer_opening(draft, lane)
    draft.hold_branch(replace(facts, told=facts.told - {lane.task.id}))
    draft.emit(
        LaneRunEnded(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            lane_run=given.run,
            reason=given.reason,
            message=given.message,
            iterations=given.iterations,
            usage=given.usage,
            seconds=given.seconds,
        )
    )
    match given.reason:
        case EndReason.COMPLETE:
            pass
        case EndReason.LIMIT if share_of_limits(draft) is not None and given.iterations:
            pass  # It continues with a part of what the others have not used.
        case EndReason.STOPPED if draft.run.phase is Phase.STOPPING:
            pass  # It continues when the run is resumed.
        case EndReason.DECIDE | EndReason.BLOCKED:
            park(draft, lane, given.message)  # The question is in the lane, and its answer will be.
        case EndReason.STOPPED:
            by = given.by or "somebody"
            park_or_drop(draft, lane, f"stopped by {by}", is_empty=given.is_empty)
        case _:
            park_or_drop(draft, lane, given.message, is_empty=given.is_empty)


def _engine_gone(draft: StepDraft, lane: LaneView) -> None:
    if lane.task.id in draft.state.branch.opening:
        draft.ignore("its run is being started again")
        return
    limits = share_of_limits(draft, lane)
    if lane.crashes >= MOST_CRASHES or limits is None:
        park(
            draft,
            lane,
            f"the engine of its run died {count_of(lane.crashes + 1, 'time')}; see engine.err of "
            f"run {lane.run}, then continue with: ralph run --resume",
        )
        return
    open_lane(draft, lane.task.id, limits, resume=True)


def _rebased(draft: StepDraft, lane: LaneView, given: LaneRebased) -> None:
    if lane.state is not LaneState.MERGING or lane.head != given.head:
        draft.emit(
            MergeStarted(
                **draft.stamp, lane=lane.lane, task=lane.task, onto=given.onto, head=given.head
            )
        )
    draft.order(
        AdvanceBranch(task=lane.task.id, onto=given.onto, head=given.head, commits=given.commits)
    )


def _refused(draft: StepDraft, lane: LaneView, given: LaneRefused) -> None:
    draft.hold_branch(replace(draft.state.branch, merging=None))
    draft.emit(
        MergeRefused(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            problem=given.problem,
            message=given.message,
            paths=given.paths,
        )
    )
    can_repair = given.problem in {MergeProblem.CONFLICT, MergeProblem.VALIDATION}
    if not can_repair or lane.refusals >= MOST_REPAIRS:
        park(draft, lane, given.message)


def _advanced(draft: StepDraft, lane: LaneView, given: LaneAdvanced) -> None:
    facts = draft.state.branch
    draft.emit(
        LaneMerged(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            head=given.head,
            commits=given.commits,
            counts=given.counts,
            kept=given.kept,
        )
    )
    # The tasks that were added or released by it are known once the plan is read again.
    draft.hold_branch(replace(facts, merging=None, tasks=None))
    draft.order(CloseLane(task=lane.task.id))
    draft.order(ReadBranchPlan())


def _effect_failed(draft: StepDraft, message: str) -> None:
    for lane in draft.run.lanes:
        if lane.state is LaneState.WORKING and lane.run is not None and lane.end is None:
            draft.order(SteerLane(task=lane.task.id, verb="stop", by="ralph run"))
    run_flow.end_run(draft, EndReason.FATAL, f"{message}; {outcome(draft.run)}")
