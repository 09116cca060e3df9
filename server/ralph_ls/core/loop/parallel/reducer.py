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
from ralph_ls.core.loop.lanes import (
    ACTIVE,
    AdvanceBranch,
    BranchPlanRead,
    CloseLane,
    LaneAdvanced,
    LaneAnswer,
    LaneDeferred,
    LaneEngineGone,
    LaneFailed,
    LaneInput,
    LaneObserved,
    LaneOpened,
    LaneRebased,
    LaneRefused,
    LaneRunFinished,
    ReadBranchPlan,
    SteerLane,
    has_open_run,
    lane_of,
)
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.machine.reducer import report_start
from ralph_ls.core.loop.machine.steering import reject_unreadable
from ralph_ls.core.loop.parallel.flow import BREAKER, advance, continue_lane, open_lane, outcome
from ralph_ls.core.loop.parallel.lanes import (
    forget,
    live_lanes,
    park,
    park_or_drop,
    retry_lane,
    running_besides,
    share_of_limits,
)
from ralph_ls.core.loop.parallel.steering import handle_command, handle_signal
from ralph_ls.core.loop.state import Awaits, LoopState, Step, StepDraft
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

MOST_CRASHES = 2
"""How often the run of a lane is continued after its engine died."""

MOST_REPAIRS = 1
"""How many iterations a lane gets to bring its work onto a branch that has moved on."""

WAITS_FOR_USER = frozenset({EndReason.DECIDE, EndReason.BLOCKED})
"""Ends of a lane that is never empty: what it waits for would be lost."""


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
        if not draft.is_ignored:
            advance(draft)
    if draft.run.phase is Phase.ENDED and not draft.is_ignored:
        draft.expect(Awaits.NOTHING)
    return draft.finish()


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
        if lane.state in {LaneState.MERGED, LaneState.DROPPED}:
            # Its engine may have died before it had removed everything.
            draft.order(CloseLane(task=lane.task.id))
        elif lane.state is LaneState.WORKING:
            _find_run(draft, lane)
    draft.order(ReadBranchPlan())


def _retry_failed(draft: StepDraft) -> None:
    """A user who resumes the run wants what is parked or set aside tried again."""
    for lane in draft.run.lanes:
        is_skipped = lane.task.id in draft.run.skipped
        if lane.state in {LaneState.PARKED, LaneState.DROPPED} and not is_skipped:
            retry_lane(draft, lane)


def _find_run(draft: StepDraft, lane: LaneView) -> None:
    """Follow the run of a lane again, or continue it where its engine died, too."""
    if lane.run is not None and lane.end is not None:
        # It may have been continued, which was not recorded any more.
        continue_lane(draft, lane)
        return
    limits, task = share_of_limits(draft, lane), lane.task.id
    if limits is None:
        # Where it is alive, it ends after its iteration.
        draft.order(SteerLane(task=task, verb="stop", by="ralph run"))
        park(draft, lane, "the limits of the run are reached")
        return
    open_lane(draft, task, limits, resume=lane.run is not None)


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
        case _ if isinstance(given, LaneAnswer):
            _dispatch_to_lane(draft, given)
        case _:
            draft.ignore("a parallel run has no iterations")


def _dispatch_to_lane(draft: StepDraft, given: LaneAnswer) -> None:
    lane, facts = lane_of(draft.run, given.task), draft.state.branch
    if lane is None or lane.state not in ACTIVE:
        draft.ignore("no lane works on that")
        return
    match given:
        case LaneOpened() if given.task in facts.opening:
            _opened(draft, lane, given)
        case LaneFailed() if given.task in facts.opening:
            # What keeps one lane from starting, such as an agent that is missing, may keep all.
            forget(draft, given.task)
            park_or_drop(draft, lane, given.message, is_empty=given.is_empty)
        case LaneObserved() if has_open_run(lane):
            _observed(draft, lane, given)
        case LaneRunFinished() if has_open_run(lane) or lane.run != given.run:
            _run_finished(draft, lane, given)
        case LaneEngineGone() if lane in live_lanes(draft):
            _engine_gone(draft, lane)
        case LaneRebased() | LaneRefused() | LaneDeferred() | LaneAdvanced() if (
            given.task == facts.merging
        ):
            _dispatch_merge(draft, lane, given)
        case _:
            draft.ignore("the lane does not wait for that")


def _dispatch_merge(
    draft: StepDraft,
    lane: LaneView,
    given: LaneRebased | LaneRefused | LaneDeferred | LaneAdvanced,
) -> None:
    match given:
        case LaneRebased():
            _rebased(draft, lane, given)
        case LaneRefused():
            _refused(draft, lane, given)
        case LaneDeferred():
            facts = draft.state.branch
            deferred = facts.deferred | {lane.task.id}
            draft.hold_branch(replace(facts, merging=None, deferred=deferred))
        case _ if lane.state is LaneState.MERGING:
            _advanced(draft, lane, given)
        case _:
            draft.ignore("the branch has not been moved for it")


def _plan_read(draft: StepDraft, given: BranchPlanRead) -> None:
    facts = draft.state.branch
    if facts.has_moved:
        draft.hold_branch(replace(facts, has_moved=False))
        draft.order(ReadBranchPlan())
        return
    draft.hold_branch(replace(facts, tasks=given.tasks, counts=given.counts))
    if draft.run.phase is Phase.PREPARING:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))


def _opened(draft: StepDraft, lane: LaneView, given: LaneOpened) -> None:
    facts = forget(draft, lane.task.id)
    if not given.is_new and lane.run == given.run and lane.end is None:
        if lane.phase is Phase.PAUSED:
            # An order to pause ends with the engine that passed it on.
            draft.hold_branch(replace(facts, paused=facts.paused | {lane.task.id}))
    else:
        draft.emit(
            LaneRunStarted(
                **draft.stamp,
                lane=lane.lane,
                task=lane.task,
                lane_run=given.run,
                base=given.base,
                limit=given.limits.iterations,
                max_tokens=given.limits.tokens,
                max_cost_usd=given.limits.cost_usd,
            )
        )
    run, verb = draft.run, ""
    if run.phase is Phase.STOPPING:
        verb = "stopNow" if draft.state.stopping_agent else "stop"
    elif run.phase is Phase.PAUSED:
        verb = "pause"
    if verb:
        by = run.stop_requested or "ralph run"
        draft.order(SteerLane(task=lane.task.id, verb=verb, by=by))


def _observed(draft: StepDraft, lane: LaneView, given: LaneObserved) -> None:
    now = (lane.phase, lane.phase_reason, lane.until, lane.question)
    if now == (given.phase, given.reason, given.until, given.question):
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
    facts = draft.state.branch
    if facts.resuming == lane.task.id and given.phase is not Phase.PAUSED:
        draft.hold_branch(replace(facts, resuming=None))


def _run_finished(draft: StepDraft, lane: LaneView, given: LaneRunFinished) -> None:
    forget(draft, lane.task.id)
    reason, message = _end_of_run(lane, given)
    counted = draft.run.counted
    draft.emit(
        LaneRunEnded(
            **draft.stamp,
            lane=lane.lane,
            task=lane.task,
            lane_run=given.run,
            reason=reason,
            message=message,
            iterations=given.iterations,
            usage=given.usage,
            seconds=given.seconds,
        )
    )
    match reason:
        case EndReason.COMPLETE:
            pass
        case EndReason.LIMIT if draft.run.counted > counted and _may_get_more(draft, lane):
            pass  # It continues with a part of what the others have not used.
        case EndReason.STOPPED if draft.run.phase is Phase.STOPPING:
            pass  # It continues when the run is resumed.
        case _:
            is_empty = given.is_empty and reason not in WAITS_FOR_USER
            park_or_drop(draft, lane, message, is_empty=is_empty)


def _may_get_more(draft: StepDraft, lane: LaneView) -> bool:
    """Whether something is left of the limits, or may be when others end."""
    is_left = share_of_limits(draft, lane) is not None
    return is_left or bool(running_besides(draft, lane))


def _end_of_run(lane: LaneView, given: LaneRunFinished) -> tuple[EndReason, str]:
    """Why the run of a lane ended; where this run had it stopped since it waited, for what."""
    if given.reason is not EndReason.STOPPED:
        return given.reason, given.message
    if given.by != BREAKER:
        return given.reason, f"stopped by {given.by or 'somebody'}"
    if lane.question is not None:
        return EndReason.DECIDE, lane.question
    if lane.phase_reason == EndReason.STUCK.value:
        return EndReason.STUCK, "it made no progress, so its breaker opened"
    return EndReason.BLOCKED, f"it waits for you: {lane.phase_reason or 'it is blocked'}"


def _engine_gone(draft: StepDraft, lane: LaneView) -> None:
    if lane.crashes >= MOST_CRASHES:
        park(
            draft,
            lane,
            f"the engine of its run died {count_of(lane.crashes + 1, 'time')}; see engine.err of "
            f"run {lane.run}, then continue with: ralph run --resume",
        )
        return
    # It is continued as soon as lanes may be opened.
    facts = forget(draft, lane.task.id)
    draft.hold_branch(replace(facts, gone=facts.gone | {lane.task.id}))


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
    is_reading = facts.tasks is None
    draft.hold_branch(replace(facts, merging=None, tasks=None, has_moved=is_reading))
    draft.order(CloseLane(task=lane.task.id))
    if not is_reading:
        draft.order(ReadBranchPlan())


def _effect_failed(draft: StepDraft, message: str) -> None:
    for lane in live_lanes(draft):
        draft.order(SteerLane(task=lane.task.id, verb="stop", by="ralph run"))
    run_flow.end_run(draft, EndReason.FATAL, f"{message}; {outcome(draft.run)}")
