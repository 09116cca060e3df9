"""Changes of a run's state with events of the run itself and of its users.

Engine, phase and end; questions, blockers and commands.
"""

from __future__ import annotations

from ralph_ls.core.loop.changes import (
    FailedValidationChanges,
    JudgeTotalsChanges,
    LaneChanges,
    RunChanges,
    replace_iteration,
)
from ralph_ls.core.loop.evidence.repetition import REPETITION_RESET
from ralph_ls.core.loop.rules import attempts, failure_policy, judge
from ralph_ls.core.loop.rules.waits import AGENT_WAITS
from ralph_ls.protocol.run.events import (
    BlockedRaised,
    BlockedResolved,
    CommandAccepted,
    CommandRejected,
    PhaseChanged,
    QuestionAnswered,
    QuestionAsked,
    RunEnded,
    RunResumed,
    RunStarted,
    WaitEnded,
    WaitStarted,
)
from ralph_ls.protocol.run.state import Blocker, End, Question, RunState
from ralph_ls.protocol.run.values import Breaker, EndReason, Phase, TaskRef

KEPT_COMMANDS = 100

SKIP = "skip"
RESET_TASK = "resetTask"
"""Kinds of commands whose acceptance changes a task."""


def changes_of_run(
    state: RunState,
    event: RunStarted | RunResumed | PhaseChanged | WaitStarted | WaitEnded | RunEnded,
) -> RunChanges:
    """The changes of an event that starts, moves or ends the run."""
    match event:
        case RunStarted() | RunResumed():
            return _engine_started(event)
        case PhaseChanged():
            return _phase_changed(event)
        case WaitStarted(until=until):
            return {"until": until}
        case WaitEnded(reason=reason):
            return _wait_ended(state, event) if reason in AGENT_WAITS else {}
        case _:
            return _run_ended(state, event)


def _engine_started(event: RunStarted | RunResumed) -> RunChanges:
    changes: RunChanges = {
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
        "ends_at": event.ends_at,
        "waited_seconds": 0.0,
    }
    if isinstance(event, RunStarted):
        changes |= {
            "workspace": event.workspace,
            "state_dir": event.state_dir,
            "plan": event.plan,
            "request": event.request,
            "started_at": event.at,
            "breaker": Breaker(last_change_at=event.at),
            "stale_marker": event.counts.marker,
        }
    return changes


def resumed_changes(state: RunState, event: RunResumed) -> RunChanges:
    """The further changes of a resumption: counters begin again, held work stays the user's."""
    changes: RunChanges = {**_reset_counters(state), **_taken_up(state, event)}
    changes["agents_out"] = failure_policy.unavailable_after_resume(state.agents_out)
    changes["overloads"] = 0
    if state.lanes:
        again: LaneChanges = {"crashes": 0}
        changes["lanes"] = tuple(one.model_copy(update=again) for one in state.lanes)
    return changes


def _reset_counters(state: RunState) -> RunChanges:
    """A user who resumes a run wants invalid work fixed again, from the first try."""
    failed = state.failed_validation
    if failed is None:
        return {**REPETITION_RESET}
    changes: FailedValidationChanges = {"in_a_row": 0}
    return {"failed_validation": failed.model_copy(update=changes), **REPETITION_RESET}


def _taken_up(state: RunState, event: RunResumed) -> RunChanges:
    """Work that was done while no engine ran is the user's, and remains so."""
    changes: RunChanges = {}
    if event.held:
        changes["held"] = tuple(dict.fromkeys((*(state.held or ()), *event.held)))
    if state.current is not None:
        users = tuple(dict.fromkeys((*(state.current.users or ()), *(event.users or ()))))
        since = state.current.taken_up_at or event.at
        changes["current"] = replace_iteration(
            state.current, users=users or None, taken_up_at=since
        )
    return changes


def _phase_changed(event: PhaseChanged) -> RunChanges:
    changes: RunChanges = {
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


def _wait_ended(state: RunState, event: WaitEnded) -> RunChanges:
    since = state.phase_since
    waited = 0.0 if since is None else max(0.0, (event.at - since).total_seconds())
    return {"waited_seconds": round(state.waited_seconds + waited, 3)}


def _run_ended(state: RunState, event: RunEnded) -> RunChanges:
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


def changes_of_halt(
    state: RunState,
    event: QuestionAsked | QuestionAnswered | BlockedRaised | BlockedResolved,
) -> RunChanges:
    """The changes of a question or a blocker that is raised or settled."""
    match event:
        case QuestionAsked():
            question = Question(
                question=event.question,
                iteration=event.iteration,
                start=event.start,
                asked_at=event.asked_at,
            )
            return {"question": question, "settled_question": None}
        case QuestionAnswered():
            asked_at = state.question.asked_at if state.question is not None else event.at
            iteration = state.question.iteration if state.question is not None else None
            start = state.question.start if state.question is not None else None
            answered = Question(
                question=event.question,
                iteration=iteration,
                start=start,
                asked_at=asked_at,
                answer=event.answer,
                answered_by=event.by,
                untrusted=event.untrusted,
                answered_seq=event.seq,
                delivered=event.delivered,
            )
            if event.delivered and state.current is not None:
                current = replace_iteration(state.current, answered_seq=event.seq)
                return {"question": answered, "current": current}
            return {"question": answered}
        case BlockedRaised(reason=reason, iteration=iteration, start=start):
            blocker = Blocker(reason=reason, iteration=iteration, start=start)
            return {"blocked": blocker, "resolved_blocker": None}
        case _:
            known = state.blocked.reason if state.blocked is not None else None
            return {"blocked": None, "resolved_blocker": known}


def changes_of_overruling(state: RunState, tasks: tuple[TaskRef, ...]) -> RunChanges:
    """The changes of a judge's verdict that the user overrules."""
    totals: JudgeTotalsChanges = {"overruled": state.judge_totals.overruled + 1}
    return {
        "judge_requests": judge.requests_after_overruling(state, tasks),
        "judge_totals": state.judge_totals.model_copy(update=totals),
    }


def changes_of_command(state: RunState, event: CommandAccepted | CommandRejected) -> RunChanges:
    """The changes of a command that was answered."""
    answered = (*state.commands, event.command)[-KEPT_COMMANDS:]
    return {"commands": answered, **_flag_changes(event), **_task_changes(state, event)}


def _flag_changes(event: CommandAccepted | CommandRejected) -> RunChanges:
    if isinstance(event, CommandAccepted) and event.command_kind == "pause":
        return {"pause_requested": True}
    if isinstance(event, CommandAccepted) and event.command_kind == "resume":
        return {"pause_requested": False}
    return {}


def _task_changes(state: RunState, event: CommandAccepted | CommandRejected) -> RunChanges:
    """The changes of an order about one task (docs/rules.md#attempts)."""
    match event:
        case CommandAccepted(command_kind=kind, task=str(task)) if kind == SKIP:
            return {"skipped": (*state.skipped, task)}
        case CommandAccepted(command_kind=kind, task=str(task)) if kind == RESET_TASK:
            return {
                "skipped": tuple(one for one in state.skipped if one != task),
                "attempts": {one: n for one, n in state.attempts.items() if one != task},
                "set_aside": tuple(one for one in state.set_aside if one.task.id != task),
            }
        case _:
            return {}
