"""The six questions of a person who looks at a loop, answered in words, in their order.

Is it running; what is it doing; what changed last, with evidence; does it need me; why did it
stop; what is the next action.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from ralph_ls.core.loop.rules.waits import BY_REVIEW_POINT, REVIEW, parked_words
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.budgets import budget_words
from ralph_ls.core.views.summary import next_step
from ralph_ls.core.views.tasks import attempt_words
from ralph_ls.core.views.waits import NAMED, deadline, left_words, wait_words
from ralph_ls.core.views.words import iteration_words, request_words, with_mode
from ralph_ls.protocol.run.events import IterationStarted
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase

CONFIRMING = "confirming that nothing is left to do"
PLANNING = "making the plan"


def answer_six(
    state: RunState,
    phase: Phase,
    *,
    pid: int | None,
    zone: tzinfo | None = UTC,
    now: datetime | None = None,
) -> list[tuple[str, str]]:
    """Each question's heading and its answer; ``phase`` is the one that viewers show.

    ``zone`` is that of whoever looks; with ``now`` it is told how long a wait, or the agent's time,
    lasts at most from then.
    """
    return [
        ("Running", _running(state, phase, pid, zone, now)),
        ("Doing", _with_mode(doing(state, phase), state, phase)),
        ("Last change", _last_change(state)),
        ("Needs you", _needs_you(state, phase)),
        ("Stopped", _stopped(state, phase)),
        ("Next", _next(state, phase)),
    ]


def needs_person(state: RunState, phase: Phase) -> bool:
    """Whether nothing goes on until somebody does something."""
    if phase in {Phase.PARKED, Phase.PAUSED, Phase.CRASHED}:
        return True
    if state.end is None:
        return False
    needing = {EndReason.BLOCKED, EndReason.DECIDE, EndReason.STUCK, EndReason.FATAL}
    return state.end.reason in needing or state.end.by == BY_REVIEW_POINT


def doing(state: RunState, phase: Phase) -> str:
    """What is worked on now, or how far the plan is."""
    if state.current is None or phase in {Phase.ENDED, Phase.CRASHED}:
        if state.request is not None:
            return f"nothing now; the request is {request_words(state.request)}"
        done = f"{state.counts.required_done} of {state.counts.required} tasks are done"
        return f"nothing now; {done}"
    task, attempt = state.current.started.task, attempt_words(state)
    if task is None and state.request is not None:
        return request_words(state.request)
    if task is None:
        return without_task(state.current.started)
    return f"{task.title} ({attempt})" if attempt else task.title


def without_task(started: IterationStarted) -> str:
    """What an iteration without a task does."""
    return PLANNING if started.mode is Mode.PLAN else CONFIRMING


def _with_mode(what: str, state: RunState, phase: Phase) -> str:
    if state.current is None or phase in {Phase.ENDED, Phase.CRASHED}:
        return what
    return with_mode(what, state.current.started.mode)


def phase_words(state: RunState, phase: Phase, zone: tzinfo | None = UTC) -> str:
    """``running``, ``waiting for the usage limit until 14:05 UTC``."""
    if phase is Phase.WAITING and state.phase_reason in NAMED:
        reason, since = state.phase_reason, state.phase_since
        return f"waiting{wait_words(reason, state.until, since=since, zone=zone)}"
    return phase.value


def countdown(state: RunState, phase: Phase, now: datetime) -> str:
    """How long it waits, or its agent may work, from ``now``; empty where neither ends by time."""
    if phase is Phase.WAITING:
        return "" if state.until is None else f"{left_words(state.until, now)} left"
    until = deadline(state) if phase in {Phase.RUNNING, Phase.STOPPING} else None
    return "" if until is None else f"the agent ends in {left_words(until, now)} at the latest"


def _running(
    state: RunState, phase: Phase, pid: int | None, zone: tzinfo | None, now: datetime | None
) -> str:
    if phase is Phase.ENDED:
        return f"no, run {state.run} has ended"
    if phase is Phase.CRASHED:
        return f"no, the engine of run {state.run} is gone"
    if pid is None:
        return f"no, the loop was stopped by the system while run {state.run} was {phase.value}"
    left = "" if now is None else countdown(state, phase, now)
    how = " · ".join(filter(None, (phase_words(state, phase, zone), left)))
    parts = [
        "yes",
        how,
        iteration_words(state),
        *budget_words(state),
        f"run {state.run}",
        f"pid {pid}",
    ]
    return ", ".join(parts)


def _last_change(state: RunState) -> str:
    if state.last is None or state.evidence is None:
        return "nothing yet"
    parts = [f"iteration {state.last.iteration}: {state.evidence.why}"]
    if state.last.commit:
        parts.append(f"commit {state.last.commit[:7]}")
    if state.report is not None and state.report_start == state.last.start:
        files = count_of(state.report.files_modified, "file")
        parts.append(f"report: {state.report.status}, {files}")
    parts.append(f"breaker {state.breaker.state.value}")
    return "; ".join(parts)


def _needs_you(state: RunState, phase: Phase) -> str:
    if phase is Phase.PARKED:
        return f"yes, it waits for {parked_words(state)}"
    if phase is Phase.PAUSED:
        return "yes, it is paused"
    if phase is Phase.CRASHED:
        return "yes, the run can be resumed"
    if state.end is not None and needs_person(state, phase):
        return f"yes: {state.end.message}"
    return "no"


def _stopped(state: RunState, phase: Phase) -> str:
    if state.end is not None:
        by = f", by {state.end.by}" if state.end.by else ""
        return f"{state.end.reason.value} (code {state.end.exit_code}): {state.end.message}{by}"
    if phase is Phase.CRASHED:
        return "the engine ended without saying why"
    return "it has not"


def _next(state: RunState, phase: Phase) -> str:
    if phase is Phase.CRASHED:
        return "ralph run --resume"
    if phase is Phase.PAUSED:
        return "ralph resume"
    if phase is Phase.PARKED:
        return {
            EndReason.DECIDE.value: 'ralph answer "…"',
            EndReason.BLOCKED.value: "ralph resume, once the blocker is solved",
            REVIEW: "ralph resume, once you have looked; or ralph note, or ralph stop",
        }.get(state.phase_reason or "", "ralph reset")
    if state.end is not None:
        of_request = "nothing: the request is fulfilled"
        complete = "nothing: the plan is done" if state.request is None else of_request
        return next_step(state) or complete
    return "ralph watch, or ralph stop"
