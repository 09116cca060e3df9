"""Run status in words: waits and deadlines, the status summary, and progress in one line.

Times are in UTC and marked so, unless the caller passes the reader's time zone. Remaining times
are only shown where the caller passes ``now``.

The status summary answers six questions in this order: is it running; what is it doing; what
changed last, with evidence; does it need me; why did it stop; what is the next action.

Progress has no percentage, as the number of iterations that a run will need is unknown.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from ralph_ls.core.loop.rules.judge import is_stuck_by_judge
from ralph_ls.core.loop.rules.waits import (
    BY_REVIEW_POINT,
    REVIEW,
    WAIT_SUBJECTS,
    asking_lanes,
    lanes_need_user,
    parked_words,
)
from ralph_ls.core.views.model.tasks import attempt_words
from ralph_ls.core.views.model.words import (
    SHOWN_REASON,
    claim_words,
    claims_words,
    iteration_words,
    one_line,
    outcome_words,
    request_words,
    verdict_words,
    with_mode,
)
from ralph_ls.core.views.text.lane_summary import lanes_at_work
from ralph_ls.core.views.text.run_end import next_step, task_words
from ralph_ls.core.views.text.summary import (
    budget_words,
    cost_of,
    format_duration,
    is_estimated,
    not_done,
)
from ralph_ls.protocol.run.events import IterationStarted
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase

if TYPE_CHECKING:
    from ralph_ls.protocol.json_output import RunAnywhere

USAGE_LIMIT = "limit"
"""The reason of a wait for the agent's usage limit (docs/rules.md#usage-limits)."""

CALL_LIMIT = "calls"
"""The reason of a wait for ``max_calls_per_minute`` (docs/rules.md#budgets)."""

OVERLOAD = "retry"
"""The reason of a wait for a model that is overloaded or out of order."""

UNREACHABLE = "unreachable"
"""The reason of a wait for an API that cannot be reached."""

WAIT_NAMES = {reason: f" for {what}" for reason, what in WAIT_SUBJECTS.items()}
"""Words of the waits, by reason."""


def wait_words(
    reason: str | None,
    until: datetime | None,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = UTC,
) -> str:
    """The words after "waits": `` for the usage limit until 14:05 UTC``, or ``: cooldown``."""
    if reason == CALL_LIMIT:
        # It lasts a minute at most, and the time is shown in hours and minutes.
        return WAIT_NAMES[CALL_LIMIT]
    if reason not in {USAGE_LIMIT, OVERLOAD, UNREACHABLE}:
        return f": {one_line(reason or 'for a moment', limit=SHOWN_REASON)}"
    end = "" if until is None else f" until {clock_words(until, since=since, zone=zone)}"
    return f"{WAIT_NAMES[reason]}{end}"


def deadline(state: RunState) -> datetime | None:
    """When the current agent is ended at the latest; None without an agent or a limit."""
    current, timeout = state.current, state.config.timeouts.iteration
    if current is None or current.agent is None or current.exit is not None or not timeout:
        return None
    works = state.phase in {Phase.RUNNING, Phase.STOPPING}
    return current.agent.at + timedelta(seconds=timeout) if works else None


def left_words(until: datetime, now: datetime) -> str:
    """``4m 10s``: the time until ``until``; ``0s`` if it has passed."""
    return format_duration(max(0.0, (until - now).total_seconds()))


def clock_words(
    moment: datetime, *, since: datetime | None = None, zone: tzinfo | None = UTC
) -> str:
    """``14:05`` on the day of ``since``, else with the date; UTC is marked."""
    at = moment.astimezone(zone)
    is_same_day = since is not None and at.date() == since.astimezone(zone).date()
    words = f"{at:%H:%M}" if is_same_day else f"{at:%Y-%m-%d %H:%M}"
    return f"{words} UTC" if zone is UTC else words


CONFIRMING = "confirming that nothing is left to do"
PLANNING = "making the plan"


def status_answers(
    state: RunState,
    phase: Phase,
    *,
    pid: int | None,
    zone: tzinfo | None = UTC,
    now: datetime | None = None,
) -> list[tuple[str, str]]:
    """Headings and answers of the status summary; ``phase`` is the one that viewers show.

    A heading without an answer is left out: while a run continues, there is no "Stopped".

    ``zone`` is the reader's time zone. With ``now`` the answers include how much longer a wait or
    the agent's time lasts at most.
    """
    answers = [
        ("Running", _running(state, phase, pid, zone, now)),
        ("Doing", _with_mode(activity_words(state, phase), state, phase)),
        ("Last change", _last_change(state)),
        ("Needs you", _needs_you(state, phase)),
        ("Stopped", _stopped(state, phase)),
        ("Not done", "\n".join(not_done(state))),
        ("Notified", _notified(state, zone)),
        ("Next", _next(state, phase)),
    ]
    return [(heading, text) for heading, text in answers if text]


def run_anywhere(
    state: RunState, phase: Phase, *, workspace: str, pid: int | None, zone: tzinfo | None
) -> RunAnywhere:
    """A run among those of other work trees; ``pid`` is that of its engine, None without one."""
    from ralph_ls.protocol.json_output import RunAnywhere

    answers = dict(status_answers(state, phase, pid=pid, zone=zone))
    needs = answers["Needs you"].removeprefix("yes").lstrip(":, ")
    return RunAnywhere(
        workspace=workspace,
        run=state.run,
        plan=state.plan,
        branch=state.branch,
        live=pid is not None,
        phase=phase,
        activity=activity_words(state, phase),
        iteration=state.iteration,
        max_iterations=state.config.max_iterations,
        task=state.current.started.task if state.current is not None and pid is not None else None,
        done=state.counts.required_done,
        required=state.counts.required,
        cost_usd=cost_of(state.usage),
        estimated=is_estimated(state.usage),
        started_at=state.started_at,
        needs=needs if needs_user(state, phase) else None,
        next=answers["Next"],
    )


def needs_user(state: RunState, phase: Phase) -> bool:
    """Whether the run, or a lane of a parallel one, cannot continue without the user."""
    if phase in {Phase.PARKED, Phase.PAUSED, Phase.CRASHED}:
        return True
    if phase is not Phase.ENDED and lanes_need_user(state):
        return True
    if state.end is None:
        return False
    needing = {EndReason.BLOCKED, EndReason.DECIDE, EndReason.STUCK, EndReason.FATAL}
    return state.end.reason in needing or state.end.by == BY_REVIEW_POINT


def activity_words(state: RunState, phase: Phase) -> str:
    """The present activity, or the progress of the plan."""
    if phase is not Phase.ENDED and (lanes := lanes_at_work(state)):
        return f"{lanes}; {progress_of_plan(state)}"
    if state.current is None or phase in {Phase.ENDED, Phase.CRASHED}:
        if state.request is not None:
            return f"nothing now; the request is {request_words(state.request)}"
        return f"nothing now; {progress_of_plan(state)}"
    task, attempt = state.current.started.task, attempt_words(state)
    if task is None and state.request is not None:
        return request_words(state.request)
    if task is None:
        return taskless_words(state.current.started)
    return f"{task.title} ({attempt})" if attempt else task.title


def progress_of_plan(state: RunState) -> str:
    """``2 of 3 tasks are done``; else, where the plan keeps none, what the run did."""
    counts = state.counts
    if not counts.required and state.receipts:
        return task_words(state)
    return f"{counts.required_done} of {counts.required} tasks are done"


def taskless_words(started: IterationStarted) -> str:
    """The activity of an iteration without a task."""
    return PLANNING if started.mode is Mode.PLAN else CONFIRMING


def _with_mode(what: str, state: RunState, phase: Phase) -> str:
    if state.current is None or phase in {Phase.ENDED, Phase.CRASHED}:
        return what
    return with_mode(what, state.current.started.mode)


def phase_words(state: RunState, phase: Phase, zone: tzinfo | None = UTC) -> str:
    """``running``, ``waiting for the usage limit until 14:05 UTC``."""
    if phase is Phase.WAITING and state.phase_reason in WAIT_NAMES:
        reason, since = state.phase_reason, state.phase_since
        return f"waiting{wait_words(reason, state.until, since=since, zone=zone)}"
    return phase.value


def countdown(state: RunState, phase: Phase, now: datetime) -> str:
    """Time left of a wait or of the agent's limit; empty where neither has one."""
    if phase is Phase.WAITING:
        return "" if state.until is None else f"{left_words(state.until, now)} left"
    until = deadline(state) if phase in {Phase.RUNNING, Phase.STOPPING} else None
    return "" if until is None else f"the agent ends in {left_words(until, now)} at the latest"


HOLD_WORDS = {Phase.PARKED: "it waits for you", Phase.PAUSED: "it is paused"}
"""Why a run with a live engine does nothing until the user acts."""


def _running(
    state: RunState, phase: Phase, pid: int | None, zone: tzinfo | None, now: datetime | None
) -> str:
    if phase is Phase.ENDED:
        return f"no, run {state.run} has ended"
    if phase is Phase.CRASHED:
        return f"no, the engine of run {state.run} is gone"
    if pid is None:
        return f"no, the system stopped the loop while run {state.run} was {phase.value}"
    left = "" if now is None else countdown(state, phase, now)
    how = " · ".join(filter(None, (phase_words(state, phase, zone), left)))
    parts = [
        *(["no", HOLD_WORDS[phase]] if phase in HOLD_WORDS else ["yes", how]),
        iteration_words(state),
        *budget_words(state),
        f"run {state.run}",
        f"pid {pid}",
    ]
    return ", ".join(parts)


def _last_change(state: RunState) -> str:
    if state.last is None or state.evidence is None:
        return ""
    failure = state.history[-1].failure if state.history else None
    how = "" if failure is None else f"{outcome_words(state.last.outcome, failure)}; "
    parts = [f"iteration {state.last.iteration}: {how}{state.evidence.why}"]
    if state.last.commit:
        parts.append(f"commit {state.last.commit[:7]}")
    if state.report is not None and state.report_start == state.last.start:
        parts.append(f"report: {claim_words(state.report)}")
    if claims := claims_words(state.last.claims):
        parts.append(f"the agent claims: {claims}")
    judged = state.judgement
    if judged is not None and judged.start == state.last.start:
        parts.append(f"judge: {verdict_words(judged)}")
    parts.append(f"breaker {state.breaker.state.value}")
    return "; ".join(parts)


def _needs_you(state: RunState, phase: Phase) -> str:
    if phase is Phase.PARKED:
        return f"yes, it waits for {parked_words(state)}"
    if phase is Phase.PAUSED:
        return "yes, it is paused"
    if phase is Phase.CRASHED:
        return "yes, you can resume the run"
    if phase is not Phase.ENDED and lanes_need_user(state):
        return f"yes, {parked_words(state)}; the other lanes continue"
    if state.end is not None and needs_user(state, phase):
        return f"yes: {state.end.message}"
    return "no"


def _stopped(state: RunState, phase: Phase) -> str:
    if state.end is not None:
        end = state.end
        by = f", by {end.by}" if end.by not in end.message else ""
        return f"{end.reason.value} (code {end.exit_code}): {end.message}{by}"
    if phase is Phase.CRASHED:
        return "the engine ended without giving a reason"
    return ""


def _next(state: RunState, phase: Phase) -> str:
    if phase is Phase.CRASHED:
        return "ralph run --resume"
    if phase is Phase.PAUSED:
        return "ralph resume"
    if state.end is None and lanes_need_user(state):
        if asking_lanes(state):
            return 'ralph answer "…", or with several questions: ralph inbox'
        return "ralph resume, once what is parked is settled; or ralph stop"
    if phase is Phase.PARKED and is_stuck_by_judge(state):
        return "ralph overrule, to accept the work; or ralph reset, for more rounds"
    if phase is Phase.PARKED:
        return {
            EndReason.DECIDE.value: 'ralph answer "…"',
            EndReason.BLOCKED.value: "ralph resume, once the blocker is resolved",
            REVIEW: "ralph resume, once you have looked at the work; or ralph note, or ralph stop",
        }.get(state.phase_reason or "", "ralph reset")
    if state.end is not None:
        of_request = "nothing: the request is fulfilled"
        complete = "nothing: the plan is done" if state.request is None else of_request
        return next_step(state) or complete
    return "ralph watch, or ralph stop"


NOTIFIED = "notified"
"""The code of the report that a notification was sent."""


def _notified(state: RunState, zone: tzinfo | None) -> str:
    """What was sent last, where that is known; what failed is among what was not done."""
    sent = [one for one in state.warnings if one.code == NOTIFIED]
    if not sent:
        return ""
    last = sent[-1]
    at = clock_words(last.at, since=state.at, zone=zone)
    return f"{last.message.removeprefix('notified ')} ({at})"


MAX_PROGRESS_CHARS = 120
"""Characters of a title or a reason."""


def progress_title(state: RunState) -> str:
    """Title of the progress of a run."""
    return f"Ralph: run {state.run}"


def progress_words(state: RunState, phase: Phase) -> str:
    """Progress and activity of a live run, or what it waits for."""
    parts = [iteration_words(state)] if state.iteration else []
    parts.append(_progress_activity(state, phase))
    return " · ".join(part for part in parts if part)


def progress_percentage(state: RunState) -> int | None:
    """How much of the required work is done; None where the plan has none."""
    counts = state.counts
    if not counts.required:
        return None
    return min(100, 100 * counts.required_done // counts.required)


def end_words(state: RunState, phase: Phase) -> str:
    """Why the run has ended or its engine is gone."""
    if state.end is not None:
        return f"{state.end.reason.value}: {one_line(state.end.message, limit=MAX_PROGRESS_CHARS)}"
    if phase is Phase.PARKED:
        return f"the system stopped its engine; it waits for {_awaited(state)}"
    return "its engine is gone"


def _progress_activity(state: RunState, phase: Phase) -> str:
    match phase:
        case Phase.PARKED:
            return f"waits for {_awaited(state)}"
        case Phase.PAUSED:
            return "paused"
        case Phase.WAITING:
            since = state.phase_since
            return f"waits{wait_words(state.phase_reason, state.until, since=since)}"
        case Phase.STOPPING:
            return "stops after this iteration"
        case _ if lanes := lanes_at_work(state):
            return lanes
        case _ if state.current is None:
            return "" if state.iteration else "starting"
        case _:
            started = state.current.started
            without = (
                "makes the plan"
                if started.mode is Mode.PLAN
                else "confirms that nothing is left to do"
            )
            title = without if started.task is None else started.task.title
            attempt = attempt_words(state)
            title = with_mode(title, started.mode)
            return one_line(title, limit=MAX_PROGRESS_CHARS) + (f" · {attempt}" if attempt else "")


def _awaited(state: RunState) -> str:
    return one_line(parked_words(state), limit=MAX_PROGRESS_CHARS)
