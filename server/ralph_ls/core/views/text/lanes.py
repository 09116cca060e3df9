"""Lanes in words: the events and the state of a parallel run, for terminals, logs and editors."""

from __future__ import annotations

from datetime import UTC, tzinfo

from ralph_ls.core.loop.lanes import ACTIVE
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import one_line
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.core.views.text.status import wait_words
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason, LaneState, MergeProblem, Phase

MAX_TITLE = 60
MAX_MESSAGE = 300

PROBLEMS = {
    MergeProblem.CONFLICT: "conflicts with what was merged",
    MergeProblem.VALIDATION: "is not valid together with what was merged",
    MergeProblem.UNRESOLVED: "has conflict markers",
    MergeProblem.UNCOMMITTED: "has work that is not committed",
    MergeProblem.BRANCH: "cannot be merged now",
}


def lane_event_line(event: e.EventBase, *, zone: tzinfo | None = UTC) -> EventLine | None:
    """The line for an event of a lane; None for one that is not shown."""
    match event:
        case e.LaneStarted(lane=lane, task=task):
            return EventLine(text=f"Lane {lane}: {one_line(task.title, limit=MAX_TITLE)}")
        case e.LaneWaiting(lane=lane, question=str(question)):
            text = f"Lane {lane} asks: {question}\n  ralph answer …, or: ralph inbox"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.LaneWaiting(lane=lane, phase=Phase.WAITING, reason=reason, until=until):
            words = wait_words(reason, until, since=event.at, zone=zone)
            return EventLine(text=f"Lane {lane} waits{words}", weight=Weight.WARNING)
        case e.LaneWaiting(lane=lane, phase=Phase.PARKED | Phase.PAUSED as phase, reason=reason):
            why = f": {reason}" if reason else ""
            return EventLine(text=f"Lane {lane} is {phase.value}{why}", weight=Weight.WARNING)
        case e.LaneWaiting(lane=lane):
            return EventLine(text=f"Lane {lane} continues", weight=Weight.QUIET)
        case e.LaneRunEnded(lane=lane, reason=EndReason.COMPLETE, task=task):
            text = f"Lane {lane} is done: {one_line(task.title, limit=MAX_TITLE)}"
            return EventLine(text=text, weight=Weight.QUIET)
        case e.LaneRunEnded(lane=lane, reason=reason, message=message):
            text = f"Lane {lane}: {reason.value}: {message}"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.MergeRefused(lane=lane, problem=problem, message=message):
            text = f"Lane {lane} {PROBLEMS[problem]}: {one_line(message, limit=MAX_MESSAGE)}"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.LaneMerged(lane=lane, task=task, commits=commits, counts=counts, kept=kept):
            title = one_line(task.title, limit=MAX_TITLE)
            done = f"{counts.required_done}/{counts.required} tasks done"
            text = f"Merged lane {lane}: {title} ({count_of(commits, 'commit')}, {done})"
            return EventLine(text=f"{text}\n  {kept}" if kept else text, weight=Weight.GOOD)
        case e.LaneParked(lane=lane, message=message):
            text = f"Lane {lane} is parked for you: {one_line(message, limit=MAX_MESSAGE)}"
            return EventLine(text=text, weight=Weight.BAD)
        case e.LaneDropped(lane=lane, message=message):
            text = f"Lane {lane} is set aside: {one_line(message, limit=MAX_MESSAGE)}"
            return EventLine(text=text, weight=Weight.WARNING)
        case _:
            return None


def lane_state_words(lane: LaneView, *, zone: tzinfo | None = UTC) -> str:
    """What a lane does, in a few words."""
    match lane.state:
        case LaneState.WORKING if lane.question is not None:
            return f"asks: {one_line(lane.question, limit=MAX_MESSAGE)}"
        case LaneState.WORKING if lane.phase is Phase.WAITING:
            return f"waits{wait_words(lane.phase_reason, lane.until, zone=zone)}"
        case LaneState.WORKING if lane.phase in {Phase.PARKED, Phase.PAUSED}:
            return lane.phase.value + (f": {lane.phase_reason}" if lane.phase_reason else "")
        case LaneState.WORKING if lane.run is None:
            return "starts"
        case LaneState.WORKING if lane.problem is MergeProblem.CONFLICT:
            return "resolves conflicts"
        case LaneState.WORKING if lane.problem is MergeProblem.VALIDATION:
            return "repairs what validation found"
        case LaneState.WORKING:
            return "works"
        case LaneState.QUEUED:
            return "done, waits for its merge"
        case LaneState.MERGING:
            return "is merged"
        case LaneState.MERGED:
            return f"merged, {count_of(lane.commits, 'commit')}"
        case LaneState.PARKED:
            return f"parked: {one_line(lane.message, limit=MAX_MESSAGE)}"
        case _:
            return f"set aside: {one_line(lane.message, limit=MAX_MESSAGE)}"


def lane_rows(state: RunState, *, zone: tzinfo | None = UTC) -> list[tuple[str, str, str]]:
    """Number, task and state of the lanes that are open, those that work first."""
    lanes = [one for one in state.lanes if one.state in ACTIVE]
    lanes += [one for one in state.lanes if one.state is LaneState.PARKED]
    return [
        (
            str(one.lane) if one.state in ACTIVE else "-",
            one_line(one.task.title, limit=MAX_TITLE),
            lane_state_words(one, zone=zone),
        )
        for one in sorted(lanes, key=lambda lane: (lane.state not in ACTIVE, lane.lane))
    ]
