"""From events to the state of a run: the only way in which that state ever changes.

The engine folds each event it tells, a viewer folds the same events out of the journal, and a
resumed run folds them once more, so all three always agree. Counters move only with
``iterationEnded``: an engine that dies while it settles leaves nothing half counted. Attempts alone
move at the start of an iteration too: with ``iterationStarted``, where others than this run have
changed those kept beyond it, and with ``attemptCounted``, so that an engine that dies keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.evidence import repetition
from ralph_ls.core.loop.evidence.repetition import EndStates
from ralph_ls.core.loop.fold_user_events import flag_changes, halt_changes, task_changes
from ralph_ls.core.loop.rules import attempts, budget, failure_policy
from ralph_ls.core.loop.rules.agent_choice import session_after_iteration
from ralph_ls.core.loop.rules.commits import next_commit_base
from ralph_ls.core.loop.rules.gate import failing_tests_after
from ralph_ls.core.plan.specs import UNPLANNED
from ralph_ls.protocol.config.config import Committer, OnValidateFail
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    AttemptCounted,
    BlockedRaised,
    BlockedResolved,
    CircuitBreakerStateChange,
    CommandAccepted,
    CommandRejected,
    Committed,
    CriteriaVerified,
    Event,
    EventBase,
    EvidenceGathered,
    GuardReverted,
    IterationEnded,
    IterationStarted,
    NoteAdded,
    PhaseChanged,
    PlanChanged,
    PromiseRead,
    Pushed,
    QuestionAnswered,
    QuestionAsked,
    RalphStatusUpdate,
    RolledBack,
    RunEnded,
    RunResumed,
    RunStarted,
    UnknownEvent,
    Validated,
    WaitStarted,
    Warned,
)
from ralph_ls.protocol.run.state import (
    CurrentIteration,
    End,
    FailedValidation,
    IterationFacts,
    LastIteration,
    NoteView,
    RunState,
)
from ralph_ls.protocol.run.values import EndReason, Evidence, Mode, Outcome, Phase, TaskRef

IDLE_PHASES = frozenset({Phase.PAUSED, Phase.PARKED, Phase.ENDED})
"""Phases whose time counts for no budget (docs/rules.md#budgets)."""

OUTCOMES_WITHOUT_RESULT = frozenset({Outcome.LOST, Outcome.LIMITED, Outcome.STOPPED})
"""Iterations that did not come to their end: what their agent was told is told again."""

KEPT_COMMANDS = 100
KEPT_WARNINGS = 10
KEPT_HISTORY = 5
"""A, Architecture: the loop history keeps the last five."""

BUDGET_WARNING = "budget-"
"""What the code of a warning begins with that most of a budget is used up."""


def fold(events: Iterable[Event | UnknownEvent], state: RunState | None = None) -> RunState:
    """The state after ``events``, beginning from ``state`` or from nothing."""
    folded, seen = RunState() if state is None else state, EndStates()
    is_ours = False
    for event in events:
        changes = _after(folded, event, seen)
        if is_ours:
            # Nobody has seen this copy yet, and a long run is too long for one at each event.
            vars(folded).update(changes)
            folded.__pydantic_fields_set__.update(changes)
        else:
            folded, is_ours = folded.model_copy(update=changes), True
    return folded


def apply(state: RunState, event: EventBase) -> RunState:
    """The state after one event; an unknown event only moves ``seq`` and ``at``."""
    return state.model_copy(update=_after(state, event, EndStates()))


def _after(state: RunState, event: EventBase, seen: EndStates) -> dict[str, Any]:
    """What one event changes; ``seen`` is kept for all of a fold, and saves time alone."""
    changes: dict[str, Any] = {"seq": event.seq, "at": event.at, "run": event.run}
    # As an attribute it would be looked for in all of pydantic where an event has none.
    counts = event.__dict__.get("counts")
    if counts is not None and not counts.marker:
        changes["stale_marker"] = False
    if counts is not None and counts.total:
        changes["had_tasks"] = True
    # Time without an engine counts for no budget.
    if not isinstance(event, RunStarted | RunResumed):
        changes["active_seconds"] = active_seconds(state, event.at)
    changes.update(_changes(state, event))
    if isinstance(event, IterationEnded):
        changes["seen"] = seen.plus(state.seen, event.fingerprint)
    return changes


def active_seconds(state: RunState, at: datetime) -> float:
    """Engine time until ``at``, if the run stays in its phase until then."""
    if state.at is None or state.phase in IDLE_PHASES:
        return state.active_seconds
    # A clock that was set back must not take time away.
    return state.active_seconds + max(0.0, (at - state.at).total_seconds())


def _changes(state: RunState, event: EventBase) -> dict[str, Any]:
    match event:
        case RunResumed():
            back = {
                "agents_out": failure_policy.unavailable_after_resume(state.agents_out),
                "overloads": 0,
            }
            taken_up = {**_reset_counters(state), **_taken_up(state, event), **back}
            return {**_run_moved(state, event), **taken_up}
        case RunStarted() | PhaseChanged() | WaitStarted() | RunEnded():
            return _run_moved(state, event)
        case IterationStarted() | AgentStarted() | AgentExited() | IterationEnded():
            return _iteration_moved(state, event)
        case QuestionAsked() | QuestionAnswered() | BlockedRaised() | BlockedResolved():
            return {**_emitted_in_iteration(state, event), **halt_changes(state, event)}
        case CommandAccepted(command=command) | CommandRejected(command=command):
            answered = (*state.commands, command)[-KEPT_COMMANDS:]
            return {"commands": answered, **flag_changes(event), **task_changes(state, event)}
        case AttemptCounted(task=task, attempt=attempt):
            counted = {**state.attempts, task.id: attempt}
            return {**_emitted_in_iteration(state, event), "attempts": counted}
        case NoteAdded(text=text, by=by, seq=seq):
            return {"notes": (*state.notes, NoteView(text=text, by=by, seq=seq))}
        case CircuitBreakerStateChange(breaker=breaker, start=None):
            return {"breaker": breaker, "stuck_count": 0, **repetition.REPETITION_RESET}
        case _:
            return {**_emitted_in_iteration(state, event), **_viewed(state, event)}


def _run_moved(
    state: RunState,
    event: RunStarted | RunResumed | PhaseChanged | WaitStarted | RunEnded,
) -> dict[str, Any]:
    match event:
        case RunStarted() | RunResumed():
            return _engine_started(event)
        case PhaseChanged():
            return _phase_changed(event)
        case WaitStarted(until=until):
            return {"until": until}
        case _:
            return _run_ended(state, event)


def _engine_started(event: RunStarted | RunResumed) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "pid": event.pid,
        "branch": event.branch,
        "config": event.config,
        "overrides": event.overrides,
        "choices": event.choices,
        "counts": event.counts,
        "stop_requested": None,
        "pause_requested": False,
        "end": None,
        "phase": Phase.STARTING,
        "phase_reason": None,
        "phase_since": event.at,
    }
    if isinstance(event, RunStarted):
        changes |= {
            "workspace": event.workspace,
            "state_dir": event.state_dir,
            "plan": event.plan,
            "request": event.request,
            "started_at": event.at,
            "stale_marker": event.counts.marker,
        }
    return changes


def _reset_counters(state: RunState) -> dict[str, Any]:
    """Whoever resumes a run wants work that is not valid mended once more, from the first try."""
    failed = state.failed_validation
    if failed is None:
        return dict(repetition.REPETITION_RESET)
    again = failed.model_copy(update={"in_a_row": 0})
    return {"failed_validation": again, **repetition.REPETITION_RESET}


def _taken_up(state: RunState, event: RunResumed) -> dict[str, Any]:
    """What was done while no engine ran is the user's, and remains so."""
    changes: dict[str, Any] = {}
    if event.held:
        changes["held"] = tuple(dict.fromkeys((*(state.held or ()), *event.held)))
    if state.current is not None:
        users = tuple(dict.fromkeys((*(state.current.users or ()), *(event.users or ()))))
        since = state.current.taken_up_at or event.at
        known = {"users": users or None, "taken_up_at": since}
        changes["current"] = state.current.model_copy(update=known)
    return changes


def _phase_changed(event: PhaseChanged) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "phase": event.phase,
        "phase_reason": event.reason,
        "phase_since": event.at,
        "until": event.until,
    }
    if event.phase is Phase.STOPPING:
        changes["stop_requested"] = event.reason or "somebody"
    if event.phase is Phase.PAUSED:
        changes["pause_requested"] = False
    if event.phase is Phase.PARKED:
        changes["verdict"] = None
    return changes


def _iteration_moved(
    state: RunState, event: IterationStarted | AgentStarted | AgentExited | IterationEnded
) -> dict[str, Any]:
    match event:
        case IterationStarted():
            seen = state.seen or (event.baseline.fingerprint,)
            is_ours = state.config.commits is Committer.LOOP
            return {
                "start": event.start,
                "iteration": event.iteration,
                "tries": event.tries,
                "current": CurrentIteration(started=event),
                "commit_base": next_commit_base(state.commit_base, state.owed, event.baseline)
                if is_ours
                else None,
                "counts": event.counts,
                "seen": seen,
                "verdict": None,
                "specs_unplanned": False,
                "attempts": state.attempts if event.attempts is None else event.attempts,
            }
        case AgentStarted() if state.current is not None:
            return {"current": state.current.model_copy(update={"agent": event, "exit": None})}
        case AgentExited() if state.current is not None:
            return {"current": state.current.model_copy(update={"exit": event})}
        case IterationEnded():
            return _iteration_ended(state, event)
        case _:
            return {}


def _iteration_ended(state: RunState, event: IterationEnded) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "current": None,
        "commit_base": state.commit_base if event.uncommitted else None,
        "owed": event.left if event.uncommitted else None,
        "counts": event.counts,
        "breaker": event.breaker,
        "stuck_count": event.stuck_count,
        "indicators": event.indicators,
        "missing_reports": event.missing_reports,
        "attempts": event.attempts,
        "skipped": event.skipped,
        "failed_validation": _failed_validation(state, event),
        "session": session_after_iteration(
            state.session,
            event,
            task=_task_of(state),
            now=event.at,
            agent=None if state.current is None else state.current.agent,
        ),
        "history": (*state.history, _facts_of(state, event))[-KEPT_HISTORY:],
        "usage": add_usage(state.usage, event.usage),
        "calls": budget.calls_after_iteration(state, event),
        "crashes": event.crashes,
        "overloads": failure_policy.overloads_after(state, event),
        "agents_out": failure_policy.unavailable_after_iteration(state.agents_out, event.agent_out),
        "recommendation": event.recommendation,
        "verdict": event.verdict,
        "last": LastIteration(
            iteration=event.iteration,
            start=event.start,
            outcome=event.outcome,
            counted=event.counted,
            seconds=event.seconds,
            commit=event.commit,
        ),
    }
    reverted = () if state.current is None else state.current.reverted
    # What an agent that was cut off was told is told once more.
    changes["reverted"] = (
        (*state.reverted, *reverted) if event.outcome in OUTCOMES_WITHOUT_RESULT else reverted
    )
    if event.counted:
        changes["counted"] = state.counted + 1
    if event.confirmed:
        changes["confirmations"] = state.confirmations + 1
    # What the agent was told is used up only by an iteration that came to its end.
    if event.outcome in OUTCOMES_WITHOUT_RESULT:
        return changes
    changes["failing_tests"] = failing_tests_after(state, event)
    is_own = state.evidence_start == event.start
    if is_own and state.evidence is not None:
        changes |= repetition.repetition_after_iteration(state, state.evidence)
    if event.mode is Mode.PLAN:
        changes["has_planned"] = True
    elif event.outcome is Outcome.PROGRESS:
        changes["has_planned"] = False
    began = state.current.started.seq if state.current is not None else event.seq
    changes["stuck_iterations"] = state.stuck_iterations + (1 if event.commit is None else 0)
    changes["notes"] = tuple(note for note in state.notes if note.seq > began)
    question = state.question
    if question is not None and question.answer is not None and question.answered_seq < began:
        changes["question"] = None
        changes["settled_question"] = question.question
    return changes


def _failed_validation(state: RunState, event: IterationEnded) -> FailedValidation | None:
    """The failed validation that the next iteration has to know of (docs/rules.md#validation)."""
    known, current, policy = state.failed_validation, state.current, state.config.on_validate_fail
    if current is None or current.validated is None:
        # Work that is still there is still invalid; what was taken back is told once.
        is_told = policy is OnValidateFail.ROLLBACK and event.outcome not in OUTCOMES_WITHOUT_RESULT
        return None if is_told else known
    if current.validated.ok or policy is OnValidateFail.STOP:
        return None
    undone = current.rolled_back
    return FailedValidation(
        validated=current.validated,
        task=None if "taskSetAside" in current.told else current.started.task,
        mode=current.started.mode,
        in_a_row=1 if known is None else known.in_a_row + 1,
        undone=undone is not None and undone.ok,
        backup=None if undone is None else undone.backup,
    )


def _task_of(state: RunState) -> TaskRef | None:
    return None if state.current is None else state.current.started.task


def _facts_of(state: RunState, event: IterationEnded) -> IterationFacts:
    """One entry of the loop history, out of what was told of the iteration.

    See docs/rules.md#breaker.
    """
    is_own = state.evidence_start == event.start
    evidence = state.evidence if is_own and state.evidence is not None else Evidence()
    return IterationFacts(
        iteration=event.iteration,
        start=event.start,
        outcome=event.outcome,
        failure=event.failure,
        files=evidence.files,
        commits=len(evidence.commits),
        tasks_done=len(evidence.tasks_done),
        errors=event.errors,
        report=state.report if state.report_start == event.start else None,
    )


def _viewed(state: RunState, event: EventBase) -> dict[str, Any]:
    """What a viewer shows of an event that moves nothing by itself."""
    match event:
        case RalphStatusUpdate(report=report):
            return {
                "report": report,
                "report_iteration": event.iteration,
                "report_start": event.start,
            }
        case PromiseRead(promise=promise):
            return {"promise": promise}
        case EvidenceGathered(evidence=evidence):
            return {
                "evidence": evidence,
                "evidence_iteration": event.iteration,
                "evidence_start": event.start,
            }
        case RolledBack(ok=True):
            return {"evidence": _without_effect(event)}
        case PlanChanged(counts=counts):
            return {"counts": counts}
        case Warned(code=code):
            changes: dict[str, Any] = {"warnings": (*state.warnings, event)[-KEPT_WARNINGS:]}
            if code == UNPLANNED:
                changes["specs_unplanned"] = True
            if code.startswith(BUDGET_WARNING):
                name = code.removeprefix(BUDGET_WARNING)
                changes["budgets_warned"] = (*state.budgets_warned, name)
            return changes
        case _:
            return {}


def _without_effect(undone: RolledBack) -> Evidence:
    """What is left of what was seen, once it was taken back: nothing, and so no progress.

    Its end state counts as none that was seen before: what is done again and is valid then is done.
    """
    where = f", and is kept on {undone.backup}" if undone.backup else ""
    why = f"what was done did not validate; it was rolled back{where}"
    return Evidence(why=why)


def _run_ended(state: RunState, event: RunEnded) -> dict[str, Any]:
    end = End(
        reason=event.reason,
        exit_code=event.exit_code,
        message=event.message,
        by=event.by,
        at=event.at,
    )
    return {
        "phase": Phase.ENDED,
        "phase_reason": event.reason.value,
        "phase_since": event.at,
        "until": None,
        "end": end,
        "verdict": None,
        **attempts.attempts_after_run_end(state, stopped=event.reason is EndReason.STOPPED),
    }


def _emitted_in_iteration(state: RunState, event: EventBase) -> dict[str, Any]:
    """Remember that the open iteration has had this event."""
    current = state.current
    if current is None or event.__dict__.get("start") != current.started.start:
        return {}
    changes: dict[str, Any] = {"told": (*current.told, event_name(event))}
    if isinstance(event, CriteriaVerified):
        changes["verified"] = (*current.verified, event)
    if isinstance(event, Validated):
        changes["validated"] = event
    if isinstance(event, RolledBack):
        changes["rolled_back"] = event
    if isinstance(event, GuardReverted):
        # The agent's version is for people to look at, and would be kept at every boundary.
        changes["reverted"] = (*current.reverted, event.model_copy(update={"text": ""}))
    if isinstance(event, Committed):
        changes["committed"] = event
    if isinstance(event, Pushed):
        changes["pushed"] = event
    return {"current": current.model_copy(update=changes)}


def event_name(event: EventBase) -> str:
    """The name under which an open iteration remembers an event."""
    return (
        warning_name(event.code) if isinstance(event, Warned) else str(getattr(event, "kind", ""))
    )


def warning_name(code: str) -> str:
    """The name of a warning: one of each code is enough for an iteration."""
    return f"warned:{code}"
