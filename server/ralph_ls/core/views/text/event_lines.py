"""Event lines: one line of plain text for each event, for terminals and logs, without colours."""

from __future__ import annotations

from datetime import UTC, tzinfo

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.machine.run_flow import BY_CTRL_C
from ralph_ls.core.loop.rules.agent_choice import worker_words
from ralph_ls.core.loop.rules.validation import is_in_script_folder
from ralph_ls.core.loop.rules.waits import REVIEW
from ralph_ls.core.plurals import count_of, numbered_iteration
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.tasks import aside_words, failed_output_tail, verification_words
from ralph_ls.core.views.model.words import (
    change_lines,
    claim_words,
    claims_words,
    committed_words,
    judging_words,
    outcome_words,
    reported_words,
    reverted_words,
    verdict_words,
    with_mode,
)
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.core.views.text.lanes import lane_event_line
from ralph_ls.core.views.text.status import wait_words
from ralph_ls.core.views.text.summary import dollar_words, format_duration
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.lane_events import LaneEvent
from ralph_ls.protocol.run.report import AgentFailure, JudgeVerdict
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import (
    EndReason,
    Mode,
    Outcome,
    Phase,
)

MAX_VALIDATION_LINES = 5
"""Shown last lines of a failed validation's output."""

INFORMATION = frozenset(
    {
        "excluded",
        "left-running",
        "logs-removed",
        "on-pr-ready",
        "notified",
        "notify-held",
        "orphans-ended",
        "plan-written",
        "progress-archived",
        "pruned",
    }
)
"""Codes of what is reported like a warning and asks nothing of anybody."""

BREAKER_WEIGHTS = {"CLOSED": Weight.GOOD, "HALF_OPEN": Weight.WARNING, "OPEN": Weight.BAD}


def event_line(
    event: e.EventBase, *, zone: tzinfo | None = UTC, before: RunState | None = None
) -> EventLine | None:
    """The line for an event; None for events that are not shown.

    ``zone`` is the reader's time zone. With ``before``, the state before the event, the line of an
    iteration's start includes its mode and the time of the run so far
    (docs/rules.md#review-points).
    """
    match event:
        case e.IterationStarted():
            return EventLine(text=_iteration_started(event, before))
        case e.AgentStarted() | e.AgentExited():
            return _about_agent(event, before)
        case e.RalphStatusUpdate(report=report):
            text = f"Report: {claim_words(report)}"
            return EventLine(
                text=text + (f". {report.recommendation}" if report.recommendation else "")
            )
        case e.AgentReported() | e.LessonRemembered():
            return EventLine(text=reported_words(event), weight=Weight.QUIET)
        case e.EvidenceGathered(evidence=evidence):
            weight = Weight.GOOD if evidence.progress else Weight.WARNING
            return EventLine(text=f"Evidence: {evidence.why}", weight=weight)
        case e.CircuitBreakerStateChange(from_state=old, to_state=new, reason=reason):
            text = f"Breaker: {old.value} → {new.value}: {reason}"
            return EventLine(text=text, weight=BREAKER_WEIGHTS[new.value])
        case e.CompletionRefused(why=why):
            return EventLine(text=f"Completion refused: {why}", weight=Weight.WARNING)
        case e.AttemptCounted(attempt=attempt, limit=limit) if attempt > 1:
            return EventLine(text=f"Attempt {attempt} of {limit}", weight=Weight.QUIET)
        case e.TaskSetAside(task=task):
            text = f"{task.title}: {aside_words(event)}"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.GuardReverted():
            text = f"Restored: {reverted_words(event)}{committed_words(event)}"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.CriteriaVerified() | e.Validated() | e.RolledBack() | e.Committed() | e.Pushed():
            return _after_agent(event)
        case e.IterationEnded():
            return _iteration_ended(event)
        case e.RunEnded(reason=reason, message=message, survivors=survivors):
            weight = Weight.GOOD if reason is EndReason.COMPLETE else Weight.BAD
            return EventLine(
                text=f"Ended: {reason.value}: {message}{_left(survivors)}", weight=weight
            )
        case _:
            return _about_waits_and_lanes(event, zone) or _about_user(event, before)


def _about_waits_and_lanes(event: e.EventBase, zone: tzinfo | None) -> EventLine | None:
    match event:
        case e.PhaseChanged(phase=Phase.WAITING, reason=reason, until=until):
            words = wait_words(reason, until, since=event.at, zone=zone)
            return EventLine(text=f"Waiting{words}", weight=Weight.WARNING)
        case LaneEvent():
            return lane_event_line(event, zone=zone)
        case e.JudgeStarted() | e.Judged() | e.JudgeOverruled():
            return _about_judge(event)
        case _:
            return None


def _about_judge(event: e.JudgeStarted | e.Judged | e.JudgeOverruled) -> EventLine:
    match event:
        case e.JudgeStarted():
            return EventLine(text=f"Judge: {judging_words(event)}", weight=Weight.QUIET)
        case e.JudgeOverruled(by=by, iteration=iteration):
            text = f"The judge of iteration {iteration} is overruled by {by}"
            return EventLine(text=text, weight=Weight.WARNING)
        case _:
            return _verdict(event)


def _verdict(event: e.Judged) -> EventLine:
    cost = None if event.usage is None else event.usage.cost_usd
    took = f" ({format_duration(event.seconds)}{'' if cost is None else f', {dollar_words(cost)}'})"
    if event.verdict is JudgeVerdict.CHANGES_REQUESTED:
        lines = [f"Judge: changes requested{took}", *change_lines(event)]
        return EventLine(text="\n  ".join(lines), weight=Weight.WARNING)
    is_good = event.verdict is JudgeVerdict.PASSED
    weight = Weight.GOOD if is_good else Weight.WARNING
    return EventLine(text=f"Judge: {verdict_words(event)}{took}", weight=weight)


def log_lines(text: str, clock: str) -> str:
    """A line of the loop in a log for people, ``clock`` before it; further lines are set back."""
    first, *more = escape_control_chars(text).split("\n")
    return "\n".join([f"▸ {clock} {first}", *(f"    {line.strip()}" for line in more), ""])


def _about_user(event: e.EventBase, before: RunState | None) -> EventLine | None:
    match event:
        case e.RunResumed(run=run, by=by, orphans_ended=n_orphans):
            text = f"Run {run} continues, resumed by {by}"
            text += (
                f"; ended {count_of(n_orphans, 'process')} of its dead engine" if n_orphans else ""
            )
            return EventLine(text=text, weight=Weight.QUIET)
        case e.QuestionAsked(question=question, path=path):
            text = f"Decision needed: {question}\n  ralph answer …, or write it into {path}"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.QuestionAnswered(answer=answer, by=by):
            return EventLine(text=f"Answered by {by}: {answer}", weight=Weight.GOOD)
        case e.BlockedRaised(reason=reason, path=path):
            text = f"Blocked: {reason}\n  once it is resolved: ralph resume, or remove {path}"
            return EventLine(text=text, weight=Weight.BAD)
        case e.BlockedResolved(by=by):
            return EventLine(text=f"Blocker resolved by {by}", weight=Weight.GOOD)
        case e.CommandAccepted(command_kind=kind, by=by, text=text):
            return EventLine(text=f"{by}: {kind}: {text}", weight=Weight.QUIET)
        case e.CommandRejected(by=by, reason=reason):
            return EventLine(text=f"{by or 'A command'}: rejected: {reason}", weight=Weight.QUIET)
        case e.NoteAdded(by=by):
            return EventLine(text=f"Note by {by}", weight=Weight.QUIET)
        case e.Warned(code=code, message=message) if code in INFORMATION:
            return EventLine(text=message[:1].upper() + message[1:], weight=Weight.QUIET)
        case e.Warned(code=code, message=message):
            return EventLine(text=f"Warning ({code}): {message}", weight=Weight.WARNING)
        case e.PhaseChanged(phase=Phase.PARKED, reason=reason) if reason == REVIEW:
            text = "Waiting for your review: look at the work, then: ralph resume"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.PhaseChanged(phase=Phase.STOPPING, reason=reason):
            return EventLine(text=_stopping(reason, before), weight=Weight.WARNING)
        case e.PhaseChanged(phase=phase, reason=reason) if phase in _SHOWN_PHASES:
            text = phase.value.capitalize() + (f": {reason}" if reason else "")
            return EventLine(text=text, weight=Weight.WARNING)
        case _:
            return None


def _left(survivors: tuple[int, ...]) -> str:
    """The processes that a run could not end, by pid."""
    pids = ", ".join(map(str, survivors))
    return f" (still running after being killed: pid {pids})" if survivors else ""


_SHOWN_PHASES = frozenset({Phase.PAUSED, Phase.PARKED})

STOPS_LATER = "Stopping after this iteration; press Ctrl-C again to stop now"
"""The line after the first Ctrl-C in an iteration."""


def _stopping(by: str | None, before: RunState | None) -> str:
    """When a stopping run ends, and who requested it."""
    if by == BY_CTRL_C:
        is_first = before is None or before.phase is not Phase.STOPPING
        return STOPS_LATER if is_first else f"Stopping now: {by}"
    return f"Stopping: {by}" if by else "Stopping"


def _is_of_request(event: e.IterationStarted) -> bool:
    """Whether the iteration works on a request: it has no task and confirms nothing."""
    return event.task is None and not event.confirming and not event.counts.total


def _iteration_started(event: e.IterationStarted, before: RunState | None) -> str:
    which = numbered_iteration(event.iteration, event.max_iterations, event.tries)
    which = which[0].upper() + which[1:]
    known = [] if before is None else _mode_and_time(event, before)
    if event.mode is Mode.BUILD and _is_of_request(event):
        text = f"{which}: work on the request"
        return f"{text} ({', '.join(known)})" if known else text
    without = "make the plan" if event.mode is Mode.PLAN else "confirm that nothing is left to do"
    what = without if event.task is None else event.task.title
    done = f"{event.counts.required_done}/{event.counts.required} tasks done"
    lessons = [count_of(len(event.lessons), "lesson")] if event.lessons else []
    details = ", ".join([done, *known, *lessons])
    return f"{which}: {with_mode(what, event.mode)} ({details})"


def _mode_and_time(event: e.IterationStarted, before: RunState) -> list[str]:
    """The mode by the name that this plan's files use, and the active time so far."""
    mode = mode_word(before.config.profile, event.mode)
    return [f"mode {mode}", f"{format_duration(active_seconds(before, event.at))} so far"]


def _about_agent(
    event: e.AgentStarted | e.AgentExited, before: RunState | None
) -> EventLine | None:
    if isinstance(event, e.AgentStarted):
        return _agent_started(event, before)
    return _agent_exited(event)


def _agent_started(event: e.AgentStarted, before: RunState | None) -> EventLine | None:
    """The agent, where it is not the configured one or has another model."""
    config = Config(agent=event.agent) if before is None else before.config
    words = worker_words(config, event.agent, event.model)
    return EventLine(text=f"Agent: {words}", weight=Weight.QUIET) if words else None


def _agent_exited(event: e.AgentExited) -> EventLine | None:
    if event.timed_out:
        text = f"The agent timed out after {format_duration(event.seconds)} and was ended"
    elif event.idle:
        text = "The agent printed nothing for too long and was ended"
    elif event.overspent:
        text = "The agent reached a limit and was ended after that turn"
    elif event.stopped:
        text = "The agent was ended"
    elif event.exit_code != 0:
        how = f"signal {event.signal}" if event.signal is not None else f"code {event.exit_code}"
        text = f"The agent ended with {how}"
    elif event.leftovers:
        text = f"The agent left {count_of(event.leftovers, 'process')} running; ralph ended them"
    else:
        return None
    return EventLine(text=text, weight=Weight.WARNING)


def _after_agent(
    event: e.CriteriaVerified | e.Validated | e.RolledBack | e.Committed | e.Pushed,
) -> EventLine:
    if isinstance(event, e.Committed | e.Pushed):
        return _handed_over(event)
    if isinstance(event, e.RolledBack):
        return _rolled_back(event)
    return _checked(event)


def _checked(event: e.CriteriaVerified | e.Validated) -> EventLine:
    if isinstance(event, e.CriteriaVerified):
        text = "\n  ".join([verification_words(event), *failed_output_tail(event)])
        return EventLine(text=text, weight=Weight.GOOD if event.ok else Weight.WARNING)
    if event.ok:
        n_scripts = len(event.scripts)
        text = "Validation passed" + (f" ({n_scripts} scripts)" if n_scripts > 1 else "")
        return EventLine(text=text, weight=Weight.GOOD)
    where = f" in {event.script}" if is_in_script_folder(event.script) else ""
    if event.timed_out:
        text = f"Validation timed out after {format_duration(event.seconds)}{where}"
    elif event.exit_code is None:
        text = "Validation was ended"
    else:
        text = f"Validation failed with code {event.exit_code}{where}"
    tail = event.tail.strip().splitlines()[-MAX_VALIDATION_LINES:]
    return EventLine(text="\n  ".join([text, *tail]), weight=Weight.BAD)


def _rolled_back(event: e.RolledBack) -> EventLine:
    if not event.ok:
        return EventLine(text=f"Not rolled back: {event.refused}", weight=Weight.BAD)
    if event.backup is None:
        text = "Nothing to roll back: the iteration changed nothing"
        return EventLine(text=text, weight=Weight.WARNING)
    what = [count_of(event.files, "file")]
    if event.commits:
        what.insert(0, count_of(event.commits, "commit"))
    text = f"Rolled back {', '.join(what)}; a copy is on {event.backup}"
    if event.kept:
        text += f"\n  kept as you saved it: {', '.join(event.kept)}"
    return EventLine(text=text, weight=Weight.WARNING)


def _handed_over(event: e.Committed | e.Pushed) -> EventLine:
    if isinstance(event, e.Committed):
        return EventLine(text=f"Committed {event.commit[:7]}: {event.subject}", weight=Weight.QUIET)
    where = f"{event.branch} to {event.remote}"
    if event.ok:
        made = ", which had no such branch" if event.created else ""
        again = f" on try {event.tries}" if event.tries > 1 else ""
        return EventLine(text=f"Pushed {where}{made}{again}", weight=Weight.GOOD)
    how = "was rejected" if event.rejected else f"failed {count_of(event.tries, 'time')}"
    tail = event.tail.strip().splitlines()[-MAX_VALIDATION_LINES:]
    return EventLine(text="\n  ".join([f"Pushing {where} {how}", *tail]), weight=Weight.BAD)


def _iteration_ended(event: e.IterationEnded) -> EventLine:
    commit = f", commit {event.commit[:7]}" if event.commit else ", no commit"
    limited = event.outcome is Outcome.LIMITED
    at_limit = limited and event.failure in {None, AgentFailure.LIMIT}
    confirmed = bool(event.confirmed)
    how = outcome_words(event.outcome, event.failure, confirmed=confirmed)
    how = "at the usage limit" if at_limit else how.removesuffix(", not counted")
    text = f"Iteration {event.iteration}: {how} in {format_duration(event.seconds)}{commit}"
    text += "" if event.counted else "; not counted"
    text += f"\n  the agent claims: {claims}" if (claims := claims_words(event.claims)) else ""
    good = confirmed or event.outcome is Outcome.PROGRESS
    return EventLine(text=text, weight=Weight.QUIET if good else Weight.WARNING)
