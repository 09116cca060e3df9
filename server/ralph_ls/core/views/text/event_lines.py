"""One line of plain words for each event, for terminals and logs; no colours, no decoration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo
from enum import StrEnum

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.machine.run_flow import BY_CTRL_C
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.loop.rules.agent_choice import worker_words
from ralph_ls.core.loop.rules.gate import gate_words
from ralph_ls.core.loop.rules.validation import is_in_script_folder
from ralph_ls.core.loop.rules.waits import REVIEW
from ralph_ls.core.plan.formats.stories.tasks import mode_word
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.tasks import aside_words, failed_output_tail, verification_words
from ralph_ls.core.views.model.words import (
    committed_words,
    numbered_iteration,
    outcome_words,
    request_words,
    reverted_words,
    with_mode,
)
from ralph_ls.core.views.text.status import wait_words
from ralph_ls.core.views.text.summary import dollar_words, format_duration, limit_words, token_words
from ralph_ls.protocol.config.agent import SandboxKind
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.run import events as e
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import (
    INFERRED,
    EndReason,
    Mode,
    Origin,
    Outcome,
    Phase,
    RunChoices,
)


class Weight(StrEnum):
    """How much a line matters."""

    QUIET = "quiet"
    NORMAL = "normal"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLine:
    """What is shown of one event."""

    text: str
    weight: Weight = Weight.NORMAL


MAX_VALIDATION_LINES = 5
"""Lines of a failed validation's output, the last ones."""

BREAKER_WEIGHTS = {"CLOSED": Weight.GOOD, "HALF_OPEN": Weight.WARNING, "OPEN": Weight.BAD}


def header_lines(state: RunState, *, project: str | None = None) -> list[str]:
    """What stands above a run: who runs what, where, and how far.

    ``project`` is the folder that all clones of its project share, where the run keeps one.
    """
    profile, branch, pushes, *rest = run_lines(state)
    return [
        f"Run: {state.run}",
        *(profile, branch, pushes),
        f"State: {state.state_dir}",
        *([] if project is None else [f"Project state: {project}"]),
        *rest,
    ]


def run_lines(state: RunState) -> list[str]:
    """What is known of a run before it begins: by whom it was chosen, and what bounds it."""
    config, choices = state.config, state.choices
    profile, agent = config.profile.value, config.agent
    if choices is not None:
        profile += f" ({_profile_by(choices)})"
        agent += _agent_by(choices.agent)
    return [
        f"Profile: {profile}   Agent: {agent}   {_works_on(state)}",
        f"Branch: {state.branch or '(detached HEAD)'}",
        f"Pushes: {_pushes(state)}",
        *_sandbox(state),
        f"Limits: {', '.join(_limits(state))}",
        *_careful(state),
        f"Complete: {_completing(config)}",
        *_reviews(config),
    ]


def _profile_by(choices: RunChoices) -> str:
    match choices.profile:
        case Origin.ENVIRONMENT:
            return "RALPH_PROFILE"
        case Origin.FILE:
            return CONFIG_FILE
        case Origin.FOUND:
            return f"found by {choices.sign}" if choices.sign else "found"
        case Origin.DEFAULT:
            return "the default"
        case _:
            return "chosen for this run"


def _agent_by(origin: Origin) -> str:
    """How the agent was chosen, where no setting names it."""
    words = {
        Origin.PROFILE: "the profile's own",
        Origin.FOUND: "the only one on PATH",
        Origin.RUN: "as before",
    }
    return f" ({words[origin]})" if origin in words else ""


def _pushes(state: RunState) -> str:
    choices = state.choices
    if not state.config.push:
        return "no"
    if choices is None:
        return "yes"
    if choices.remote is None:
        return "no, since there is no remote"
    return f"{choices.remote}/{state.branch}"


def _sandbox(state: RunState) -> Iterator[str]:
    """What keeps the agent to its work tree; nothing of a run that does not say."""
    choices = state.choices
    if choices is None or choices.sandbox is None:
        return
    words = _SANDBOXES.get(choices.sandbox, choices.sandbox)
    if choices.sandbox == SandboxKind.BWRAP and not state.config.sandbox.network:
        words += ", no network"
    if choices.sandbox_problem is not None:
        words += f" ({choices.sandbox_problem})"
    yield f"Sandbox: {words}"


_SANDBOXES = {
    "bwrap": "bubblewrap",
    "docker": "docker sandbox",
    "sbx": "sbx",
    "command": "the prefix of its settings",
}


def _careful(state: RunState) -> Iterator[str]:
    """How to keep a profile that nobody chose, and how to undo what it committed."""
    if state.choices is not None and state.choices.profile in INFERRED:
        yield (
            "Nobody chose this profile, so by itself it does not push and ends after 20 iterations"
        )
        yield (
            f"  keep it: ralph init --profile {state.config.profile.value}   "
            "undo the last iteration's commits: ralph rollback 1"
        )


def _limits(state: RunState) -> Iterator[str]:
    """The limits of the run, or that it has none, then those of an iteration."""
    config = state.config
    yield from _limits_of_run(state) or ["no limit"]
    if config.timeout:
        yield f"{limit_words(config.timeout)} an iteration"
    if config.max_tokens_per_iteration is not None:
        yield f"{token_words(config.max_tokens_per_iteration)} tokens an iteration"
    if config.max_cost_per_iteration_usd is not None:
        yield f"{dollar_words(config.max_cost_per_iteration_usd)} an iteration"
    if config.max_calls_per_minute is not None:
        yield f"{count_of(config.max_calls_per_minute, 'call')} a minute"


def _limits_of_run(state: RunState) -> list[str]:
    config, choices = state.config, state.choices
    limits = []
    if config.max_iterations is not None:
        limits.append(f"at most {count_of(config.max_iterations, 'iteration')}")
    if config.max_duration is not None:
        limits.append(f"{limit_words(config.max_duration)} in all")
    used = []
    if config.max_tokens is not None:
        used.append(f"{token_words(config.max_tokens)} tokens")
    if config.max_cost_usd is not None:
        used.append(dollar_words(config.max_cost_usd))
    if used and choices is not None and choices.unmetered:
        used[-1] += " (as far as the agent tells; not every one does)"
    elif used and choices is not None and choices.overshoots:
        used[-1] += " (known after an iteration, so one may overshoot)"
    return [*limits, *used]


def _reviews(config: Config) -> Iterator[str]:
    """Where the run holds for a person's look; nothing where it does not.

    See docs/rules.md#review-points.
    """
    points = config.review_points
    every = [f"after every {count_of(points.every, 'iteration')}"] if points.every else []
    tasks = [f"after the task {escape_control_chars(name)}" for name in points.after_tasks]
    if every or tasks:
        yield f"Review: {', '.join([*every, *tasks])}"


def _works_on(state: RunState) -> str:
    request = state.request
    return f"Plan: {state.plan}" if request is None else f"Request: {request_words(request)}"


def _completing(config: Config) -> str:
    """What this run ends with 0 for (docs/rules.md#exit-gate)."""
    gate = gate_words(config.gate, config.promise.complete)
    return gate if config.task is None else f"the task {config.task} done, or {gate}"


def event_line(
    event: e.EventBase, *, zone: tzinfo | None = UTC, before: RunState | None = None
) -> EventLine | None:
    """The line for an event; None for those that say nothing on their own.

    ``zone`` is that of whoever looks, ``before`` the run until then, where it is known: the line
    before an iteration then tells its mode and how long the run has taken
    (docs/rules.md#review-points).
    """
    match event:
        case e.IterationStarted():
            return EventLine(text=_iteration_started(event, before))
        case e.AgentStarted() | e.AgentExited():
            return _about_agent(event, before)
        case e.RalphStatusUpdate(report=report):
            text = f"Report: {report.status}, {count_of(report.files_modified, 'file')}, tests "
            text += report.tests_status.lower().replace("_", " ")
            return EventLine(
                text=text + (f". {report.recommendation}" if report.recommendation else "")
            )
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
            text = f"Put back: {reverted_words(event)}{committed_words(event)}"
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
        case e.PhaseChanged(phase=Phase.WAITING, reason=reason, until=until):
            words = wait_words(reason, until, since=event.at, zone=zone)
            return EventLine(text=f"Waiting{words}", weight=Weight.WARNING)
        case _:
            return _about_user(event, before)


def _about_user(event: e.EventBase, before: RunState | None) -> EventLine | None:
    match event:
        case e.RunResumed(run=run, by=by, orphans_ended=n_orphans):
            text = f"Run {run} goes on, resumed by {by}"
            text += (
                f"; {count_of(n_orphans, 'process')} of its killed engine ended"
                if n_orphans
                else ""
            )
            return EventLine(text=text, weight=Weight.QUIET)
        case e.QuestionAsked(question=question, path=path):
            text = f"Decision needed: {question}\n  ralph answer …, or write it into {path}"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.QuestionAnswered(answer=answer, by=by):
            return EventLine(text=f"Answered by {by}: {answer}", weight=Weight.GOOD)
        case e.BlockedRaised(reason=reason, path=path):
            text = f"Blocked: {reason}\n  ralph resume, or remove {path}, once it is solved"
            return EventLine(text=text, weight=Weight.BAD)
        case e.BlockedResolved(by=by):
            return EventLine(text=f"Blocker resolved by {by}", weight=Weight.GOOD)
        case e.CommandAccepted(command_kind=kind, by=by, text=text):
            return EventLine(text=f"{by}: {kind}: {text}", weight=Weight.QUIET)
        case e.CommandRejected(by=by, reason=reason):
            return EventLine(text=f"{by or 'A command'}: rejected: {reason}", weight=Weight.QUIET)
        case e.NoteAdded(by=by):
            return EventLine(text=f"Note by {by}", weight=Weight.QUIET)
        case e.Warned(code=code, message=message):
            return EventLine(text=f"Warning ({code}): {message}", weight=Weight.WARNING)
        case e.PhaseChanged(phase=Phase.PARKED, reason=reason) if reason == REVIEW:
            text = "Parked for your review: look at what was done, then: ralph resume"
            return EventLine(text=text, weight=Weight.WARNING)
        case e.PhaseChanged(phase=Phase.STOPPING, reason=reason):
            return EventLine(text=_stopping(reason, before), weight=Weight.WARNING)
        case e.PhaseChanged(phase=phase, reason=reason) if phase in _SHOWN_PHASES:
            text = phase.value.capitalize() + (f": {reason}" if reason else "")
            return EventLine(text=text, weight=Weight.WARNING)
        case _:
            return None


def _left(survivors: tuple[int, ...]) -> str:
    """What a run could not end, by pid."""
    pids = ", ".join(map(str, survivors))
    return f" (still there although killed: pid {pids})" if survivors else ""


_SHOWN_PHASES = frozenset({Phase.PAUSED, Phase.PARKED})

STOPS_LATER = "Stopping after this iteration; Ctrl-C again stops now"
"""What the first Ctrl-C leads to while an iteration is open."""


def _stopping(by: str | None, before: RunState | None) -> str:
    """When a run stops that is being stopped, and who asked for it."""
    if by == BY_CTRL_C:
        is_first = before is None or before.phase is not Phase.STOPPING
        return STOPS_LATER if is_first else f"Stopping now: {by}"
    return f"Stopping: {by}" if by else "Stopping"


def _is_of_request(event: e.IterationStarted) -> bool:
    """Where there is no task at all and nothing is confirmed, what is asked for is worked on."""
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
    told = ", ".join([done, *known])
    return f"{which}: {with_mode(what, event.mode)} ({told})"


def _mode_and_time(event: e.IterationStarted, before: RunState) -> list[str]:
    """The mode as this plan's files call it, and the engine time so far."""
    has_stories = profile_of(before.config.profile).plan_kind is PlanKind.STORIES
    mode = mode_word(event.mode) if has_stories else event.mode.value
    return [f"mode {mode}", f"{format_duration(active_seconds(before, event.at))} so far"]


def _about_agent(
    event: e.AgentStarted | e.AgentExited, before: RunState | None
) -> EventLine | None:
    if isinstance(event, e.AgentStarted):
        return _agent_started(event, before)
    return _agent_exited(event)


def _agent_started(event: e.AgentStarted, before: RunState | None) -> EventLine | None:
    """Who works, where it is not simply the run's agent as it is."""
    config = Config(agent=event.agent) if before is None else before.config
    words = worker_words(config, event.agent, event.model)
    return EventLine(text=f"Agent: {words}", weight=Weight.QUIET) if words else None


def _agent_exited(event: e.AgentExited) -> EventLine | None:
    if event.timed_out:
        text = f"The agent ran out of time after {format_duration(event.seconds)} and was ended"
    elif event.idle:
        text = "The agent said nothing for too long and was ended"
    elif event.overspent:
        text = "The agent used up a limit and was ended after that turn"
    elif event.stopped:
        text = "The agent was ended"
    elif event.exit_code != 0:
        how = f"signal {event.signal}" if event.signal is not None else f"code {event.exit_code}"
        text = f"The agent ended with {how}"
    elif event.leftovers:
        text = (
            f"The agent left {count_of(event.leftovers, 'process')} behind, which had to be ended"
        )
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
        text = f"Validation ran out of time after {format_duration(event.seconds)}{where}"
    elif event.exit_code is None:
        text = "Validation was ended"
    else:
        text = f"Validation failed with code {event.exit_code}{where}"
    said = event.tail.strip().splitlines()[-MAX_VALIDATION_LINES:]
    return EventLine(text="\n  ".join([text, *said]), weight=Weight.BAD)


def _rolled_back(event: e.RolledBack) -> EventLine:
    if not event.ok:
        return EventLine(text=f"Not rolled back: {event.refused}", weight=Weight.BAD)
    if event.backup is None:
        text = "Nothing to roll back: the iteration had changed nothing"
        return EventLine(text=text, weight=Weight.WARNING)
    what = [count_of(event.files, "file")]
    if event.commits:
        what.insert(0, count_of(event.commits, "commit"))
    text = f"Rolled back {', '.join(what)}; all of it is kept on {event.backup}"
    if event.kept:
        text += f"\n  left as a person saved it: {', '.join(event.kept)}"
    return EventLine(text=text, weight=Weight.WARNING)


def _handed_over(event: e.Committed | e.Pushed) -> EventLine:
    if isinstance(event, e.Committed):
        return EventLine(text=f"Committed {event.commit[:7]}: {event.subject}", weight=Weight.QUIET)
    where = f"{event.branch} to {event.remote}"
    if event.ok:
        made = ", which had no such branch" if event.created else ""
        again = f" at try {event.tries}" if event.tries > 1 else ""
        return EventLine(text=f"Pushed {where}{made}{again}", weight=Weight.GOOD)
    how = "was rejected" if event.rejected else f"failed {count_of(event.tries, 'time')}"
    said = event.tail.strip().splitlines()[-MAX_VALIDATION_LINES:]
    return EventLine(text="\n  ".join([f"Pushing {where} {how}", *said]), weight=Weight.BAD)


def _iteration_ended(event: e.IterationEnded) -> EventLine:
    commit = f", commit {event.commit[:7]}" if event.commit else ", no commit"
    limited = event.outcome is Outcome.LIMITED
    at_limit = limited and event.failure in {None, AgentFailure.LIMIT}
    how = "at the usage limit" if at_limit else outcome_words(event.outcome, event.failure)
    how = how.removesuffix(", does not count")
    text = f"Iteration {event.iteration}: {how} in {format_duration(event.seconds)}{commit}"
    text += "" if event.counted else "; it does not count"
    good = event.outcome is Outcome.PROGRESS
    return EventLine(text=text, weight=Weight.QUIET if good else Weight.WARNING)
