"""End of a parallel run: it follows its lanes with its phase, and ends where nothing is left."""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.lane_effects import SteerLane
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.parallel.lanes import live_lanes
from ralph_ls.core.loop.parallel.shares import share_of_limits
from ralph_ls.core.loop.rules.budget import limit_reached
from ralph_ls.core.loop.rules.lanes import active_lanes, branch_of_run
from ralph_ls.core.loop.rules.waits import hours_over
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.run.events import PhaseChanged
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason, LaneState, Phase

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
