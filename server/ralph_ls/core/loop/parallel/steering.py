"""Steering of a parallel run: commands and signals, which it passes on to its lanes."""

from __future__ import annotations

from typing import assert_never

from ralph_ls.core.loop.effects import TakeApprovals
from ralph_ls.core.loop.lanes import ACTIVE, SteerLane, lane_of
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.machine.steering import accept, handle_command_with, reject
from ralph_ls.core.loop.parallel.lanes import live_lanes, retry_lane
from ralph_ls.core.loop.rules.waits import parked_words
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.run.commands import (
    Allow,
    Answer,
    Command,
    Note,
    Overrule,
    Pause,
    Reset,
    ResetTask,
    Resume,
    Skip,
    Stop,
)
from ralph_ls.protocol.run.events import PhaseChanged
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.protocol.run.values import LaneState, Phase


def handle_command(draft: StepDraft, command: Command) -> None:
    """Accept or reject one command; the same id a second time changes nothing."""
    handle_command_with(_obey, draft, command)


def handle_signal(draft: StepDraft, by: str) -> None:
    """The first Ctrl-C stops each lane after its iteration; TERM, or a second one, at once."""
    is_pending = draft.run.phase is Phase.STOPPING
    _stop_lanes(draft, by, now=is_pending or by != run_flow.BY_CTRL_C)


def _obey(draft: StepDraft, command: Command) -> None:
    match command:
        case Stop(now=now, by=by):
            text = "ended the agents" if now else "each lane ends after its iteration"
            accept(draft, command, text)
            _stop_lanes(draft, by, now=now)
        case Pause():
            _pause(draft, command)
        case Resume() | Reset():
            _resume(draft, command)
        case Answer():
            _answer(draft, command)
        case Note():
            _note(draft, command)
        case Skip():
            _skip(draft, command)
        case ResetTask():
            _reset_task(draft, command)
        case Overrule():
            reason = "a lane's judge is overruled in the lane's work tree, and then: ralph resume"
            reject(draft, command, "lane", reason)
        case Allow(approvals=approvals):
            draft.order(TakeApprovals(approvals=approvals))
            for lane in live_lanes(draft):
                task = lane.task.id
                draft.order(SteerLane(task=task, verb="allow", by=command.by, approvals=approvals))
            accept(draft, command, "the run may use what you have approved")
        case _:  # pragma: no cover
            assert_never(command)


def _steer_all(draft: StepDraft, verb: str, *, text: str = "", by: str) -> None:
    for lane in live_lanes(draft):
        draft.order(SteerLane(task=lane.task.id, verb=verb, text=text, by=by))


def _stop_lanes(draft: StepDraft, by: str, *, now: bool) -> None:
    if draft.run.phase is not Phase.STOPPING or draft.run.stop_requested != by:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.STOPPING, reason=by))
    if now:
        draft.mark_agent(stopping=True)
    _steer_all(draft, "stopNow" if now else "stop", by=by)


def _pause(draft: StepDraft, command: Pause) -> None:
    if draft.run.phase is Phase.STOPPING:
        reject(draft, command, "stopping", "the run is about to end")
        return
    if draft.run.phase is Phase.PAUSED:
        reject(draft, command, "paused", "the run is already paused")
        return
    accept(draft, command, "each lane pauses after its iteration")
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PAUSED))
    _steer_all(draft, "pause", by=command.by)


def _resume(draft: StepDraft, command: Resume | Reset) -> None:
    """Continue after a pause, and try again what is parked."""
    run = draft.run
    if run.phase is Phase.STOPPING:
        reject(draft, command, "stopping", "the run is about to end")
        return
    was_paused = run.phase is Phase.PAUSED
    parked = [one for one in run.lanes if one.state is LaneState.PARKED]
    waiting = [one for one in live_lanes(draft) if was_paused or _can_resume(one)]
    if not was_paused and not parked and not waiting:
        if run.phase is Phase.PARKED:
            reason = f"the run is waiting for something else: {parked_words(run)}"
            reject(draft, command, "parked", reason)
        else:
            reason = "the run is not paused, and no lane is parked"
            reject(draft, command, "not-paused", reason)
        return
    accept(draft, command, "the run continues")
    if run.phase is not Phase.RUNNING:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))
    for lane in parked:
        retry_lane(draft, lane)
    for lane in waiting:
        draft.order(SteerLane(task=lane.task.id, verb="resume", by=command.by))


def _can_resume(lane: LaneView) -> bool:
    """Whether the lane's run waits for an order to continue, rather than for an answer."""
    return lane.phase in {Phase.PARKED, Phase.PAUSED} and lane.question is None


def _note(draft: StepDraft, command: Note) -> None:
    lanes = live_lanes(draft)
    if lanes:
        _steer_all(draft, "note", text=command.text, by=command.by)
        accept(draft, command, f"{count_of(len(lanes), 'lane')} will get it in the next iteration")
    else:
        reject(draft, command, "no-lane", "no lane works that could get the note")


def _answer(draft: StepDraft, command: Answer) -> None:
    """The answer belongs to the one lane that asks."""
    asking = [one for one in live_lanes(draft) if one.question]
    if not asking:
        reject(draft, command, "no-question", "no lane asks anything")
    elif len(asking) > 1:
        reject(
            draft,
            command,
            "several-questions",
            f"{len(asking)} lanes ask something; answer one of them with: ralph inbox",
        )
    else:
        lane = asking[0]
        draft.order(
            SteerLane(
                task=lane.task.id,
                verb="answer",
                text=command.text,
                untrusted=command.untrusted,
                by=command.by,
            )
        )
        accept(draft, command, f"lane {lane.lane} gets the answer")


def _skip(draft: StepDraft, command: Skip) -> None:
    lane = lane_of(draft.run, command.task)
    if command.task in draft.run.skipped:
        reject(draft, command, "skipped", "the task is already skipped")
    elif lane is not None and lane.state in ACTIVE:
        reject(
            draft, command, "in-work", f"lane {lane.lane} works on it; stop that lane's run first"
        )
    else:
        text = "the task is skipped for the rest of the run"
        accept(draft, command, text, task=command.task)


def _reset_task(draft: StepDraft, command: ResetTask) -> None:
    lane = lane_of(draft.run, command.task)
    accept(draft, command, "its attempts are reset and it is not skipped", task=command.task)
    if lane is not None and lane.state in {LaneState.PARKED, LaneState.DROPPED}:
        retry_lane(draft, lane)
