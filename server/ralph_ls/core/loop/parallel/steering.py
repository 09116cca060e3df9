"""Steering of a parallel run: commands and signals, which it passes on to its lanes."""

from __future__ import annotations

from typing import assert_never

from ralph_ls.core.loop.effects import TakeApprovals
from ralph_ls.core.loop.machine import run_flow
from ralph_ls.core.loop.machine.steering import accept, reject
from ralph_ls.core.loop.parallel.effects import SteerLane
from ralph_ls.core.loop.parallel.flow import ACTIVE, lane_of, retry_lane
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.protocol.run.commands import (
    Allow,
    Answer,
    Command,
    Note,
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
    run = draft.run
    if command.id in run.commands:
        draft.ignore("this command was already answered")
    elif command.run != run.run:
        reject(draft, command, "other-run", f"this is run {run.run}, not {command.run}")
    elif run.phase is Phase.ENDED:
        reject(draft, command, "ended", f"the run has ended: {run.phase_reason}")
    else:
        _obey(draft, command)


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
        case Note(text=text):
            _steer_all(draft, "note", text=text, by=command.by)
            accept(draft, command, "every lane gets it in its next iteration")
        case Skip():
            _skip(draft, command)
        case ResetTask():
            _reset_task(draft, command)
        case Allow(approvals=approvals):
            draft.order(TakeApprovals(approvals=approvals))
            for lane in _live_lanes(draft):
                task = lane.task.id
                draft.order(SteerLane(task=task, verb="allow", by=command.by, approvals=approvals))
            accept(draft, command, "the run may use what you have approved")
        case _:  # pragma: no cover
            assert_never(command)


def _live_lanes(draft: StepDraft) -> list[LaneView]:
    return [
        one
        for one in draft.run.lanes
        if one.state is LaneState.WORKING and one.run is not None and one.end is None
    ]


def _steer_all(draft: StepDraft, verb: str, *, text: str = "", by: str) -> None:
    for lane in _live_lanes(draft):
        draft.order(SteerLane(task=lane.task.id, verb=verb, text=text, by=by))


def _stop_lanes(draft: StepDraft, by: str, *, now: bool) -> None:
    if draft.run.phase is not Phase.STOPPING or draft.run.stop_requested != by:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.STOPPING, reason=by))
    if now:
        draft.mark_agent(stopping=True)
    _steer_all(draft, "stopNow" if now else "stop", by=by)


def _pause(draft: StepDraft, command: Pause) -> None:
    if draft.run.phase in {Phase.PAUSED, Phase.STOPPING}:
        reject(draft, command, "phase", f"the run is {draft.run.phase.value}")
        return
    accept(draft, command, "each lane pauses after its iteration")
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PAUSED))
    _steer_all(draft, "pause", by=command.by)


def _resume(draft: StepDraft, command: Resume | Reset) -> None:
    """Continue after a pause, and try again what is parked."""
    run = draft.run
    parked = [one for one in run.lanes if one.state is LaneState.PARKED]
    waiting = [one for one in _live_lanes(draft) if one.phase in {Phase.PARKED, Phase.PAUSED}]
    if run.phase is not Phase.PAUSED and not parked and not waiting:
        reject(draft, command, "not-paused", "the run is not paused, and no lane is parked")
        return
    accept(draft, command, "the run continues")
    if run.phase is not Phase.RUNNING:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))
    for lane in parked:
        retry_lane(draft, lane)
    for lane in waiting:
        verb = "reset" if isinstance(command, Reset) else "resume"
        draft.order(SteerLane(task=lane.task.id, verb=verb, by=command.by))


def _answer(draft: StepDraft, command: Answer) -> None:
    """The answer belongs to the one lane that asks."""
    asking = [one for one in _live_lanes(draft) if one.question]
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
        draft.order(SteerLane(task=lane.task.id, verb="answer", text=command.text, by=command.by))
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
