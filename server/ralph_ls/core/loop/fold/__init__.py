"""Fold: the function from events to the state of a run, the only way in which that state changes.

The engine folds each event it emits, viewers fold the same events out of the journal, and a resumed
run folds them again, so all three agree. Counters move only with ``iterationEnded``: an engine that
dies while it closes an iteration leaves nothing half counted. Attempts alone also move when an
iteration starts: with ``iterationStarted``, where others than this run have changed those kept
beyond it, and with ``attemptCounted``, so that they survive an engine that dies.

``run_changes`` has the events of the run and its users, ``iteration_changes`` those of an
iteration, ``lane_changes`` those of a parallel run's lanes. No module here reads anything but
events and state.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ralph_ls.core.loop.changes import RunChanges
from ralph_ls.core.loop.evidence.repetition import REPETITION_RESET
from ralph_ls.core.loop.fold.iteration_changes import (
    changes_of_iteration,
    current_changes,
    shown_changes,
)
from ralph_ls.core.loop.fold.lane_changes import LaneChange, changes_of_lane
from ralph_ls.core.loop.fold.run_changes import (
    changes_of_command,
    changes_of_halt,
    changes_of_overruling,
    changes_of_run,
    resumed_changes,
)
from ralph_ls.core.loop.rules.judge import requests_after_reset
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    AttemptCounted,
    BlockedRaised,
    BlockedResolved,
    CircuitBreakerStateChange,
    CommandAccepted,
    CommandRejected,
    Event,
    EventBase,
    IterationEnded,
    IterationStarted,
    JudgeOverruled,
    NoteAdded,
    PhaseChanged,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunResumed,
    RunStarted,
    UnknownEvent,
    WaitEnded,
    WaitStarted,
)
from ralph_ls.protocol.run.state import NoteView, RunState
from ralph_ls.protocol.run.values import Phase

IDLE_PHASES = frozenset({Phase.PAUSED, Phase.PARKED, Phase.ENDED})
"""Phases whose time counts for no budget (docs/rules.md#budgets)."""


def fold(events: Iterable[Event | UnknownEvent], state: RunState | None = None) -> RunState:
    """The state after ``events``, beginning from ``state`` or from nothing."""
    folded, is_ours = RunState() if state is None else state, False
    for event in events:
        changes = _changes_with(folded, event)
        if is_ours:
            # This copy is not shared yet, and a long run is too long for one at each event.
            vars(folded).update(changes)
            folded.__pydantic_fields_set__.update(changes)
        else:
            folded, is_ours = folded.model_copy(update=changes), True
    return folded


def apply(state: RunState, event: EventBase) -> RunState:
    """The state after one event; an unknown event only moves ``seq`` and ``at``."""
    return state.model_copy(update=_changes_with(state, event))


def active_seconds(state: RunState, at: datetime) -> float:
    """Engine time until ``at``, if the run stays in its phase until then."""
    if state.at is None or state.phase in IDLE_PHASES:
        return state.active_seconds
    # A clock that was set back must not take time away.
    return state.active_seconds + max(0.0, (at - state.at).total_seconds())


def _changes_with(state: RunState, event: EventBase) -> RunChanges:
    """The changes of one event, with those that every event makes."""
    changes: RunChanges = {"seq": event.seq, "at": event.at, "run": event.run}
    # As an attribute, pydantic would search for it at length where an event has none.
    counts = event.__dict__.get("counts")
    if counts is not None and not counts.marker:
        changes["stale_marker"] = False
    if counts is not None and counts.total:
        changes["had_tasks"] = True
    # Time without an engine counts for no budget.
    if not isinstance(event, RunStarted | RunResumed):
        changes["active_seconds"] = active_seconds(state, event.at)
    changes.update(_changes(state, event))
    return changes


def _changes(state: RunState, event: EventBase) -> RunChanges:
    match event:
        case RunResumed():
            return {**changes_of_run(state, event), **resumed_changes(state, event)}
        case RunStarted() | PhaseChanged() | WaitStarted() | WaitEnded() | RunEnded():
            return changes_of_run(state, event)
        case IterationStarted() | AgentStarted() | AgentExited() | IterationEnded():
            return changes_of_iteration(state, event)
        case QuestionAsked() | QuestionAnswered() | BlockedRaised() | BlockedResolved():
            return {**current_changes(state, event), **changes_of_halt(state, event)}
        case CommandAccepted() | CommandRejected():
            return changes_of_command(state, event)
        case AttemptCounted(task=task, attempt=attempt):
            counted = {**state.attempts, task.id: attempt}
            return {**current_changes(state, event), "attempts": counted}
        case NoteAdded(text=text, by=by, seq=seq):
            return {"notes": (*state.notes, NoteView(text=text, by=by, seq=seq))}
        case event if isinstance(event, LaneChange):
            return changes_of_lane(state, event)
        case CircuitBreakerStateChange(breaker=breaker, start=None):
            requests = requests_after_reset(state)
            reset: RunChanges = {"breaker": breaker, "judge_requests": requests, "stuck_count": 0}
            return {**reset, **REPETITION_RESET}
        case JudgeOverruled(tasks=tasks):
            return changes_of_overruling(state, tasks)
        case _:
            return {**current_changes(state, event), **shown_changes(state, event)}
