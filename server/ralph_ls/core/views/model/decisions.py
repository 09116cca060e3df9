"""Decisions: what the loop decided about an iteration, in one sentence with its reasons.

``no progress (2 of 3): 1 file changed, app.log, which also changed before; not complete: …``: the
outcome with the breaker's count, the evidence, other counters, the exit gate, and what follows.
Everything comes from the journal; a journal of an earlier engine only has less to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ralph_ls.core.loop.evidence.progress import FILES_AGAIN, OUTPUT_AGAIN
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.views.model.words import one_line, outcome_words
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    CompletionRefused,
    EventBase,
    EvidenceGathered,
    GuardReverted,
    IterationEnded,
    IterationStarted,
    RolledBack,
    RunResumed,
    RunStarted,
    TaskSetAside,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.values import EndReason, Evidence, Outcome

MAX_DECISION_CHARS = 600
SHOWN_PATHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One settled iteration and the sentence about it."""

    iteration: int
    start: int
    text: str


Reason = (
    CircuitBreakerStateChange
    | CompletionRefused
    | EvidenceGathered
    | GuardReverted
    | RolledBack
    | TaskSetAside
    | Validated
    | Warned
)
"""The events that explain a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenIteration:
    """The events of the open iteration that its decision is explained by."""

    config: Config = Config()
    # Not of the base of events, as which a snapshot would keep them.
    events: tuple[IterationStarted | Reason, ...] = ()


def decisions(events: Iterable[EventBase]) -> Iterator[Decision]:
    """The decision about each settled iteration of a journal, in order."""
    known = OpenIteration()
    for event in events:
        if isinstance(event, IterationEnded):
            text = decision_words(event, known)
            yield Decision(iteration=event.iteration, start=event.start, text=text)
        known = follow(known, event)


def follow(known: OpenIteration, event: EventBase) -> OpenIteration:
    """The open iteration after one more event."""
    match event:
        case RunStarted() | RunResumed():
            return replace(known, config=event.config)
        case IterationStarted():
            return replace(known, events=(event,))
        case IterationEnded():
            return replace(known, events=())
        case _ if isinstance(event, Reason):
            return replace(known, events=(*known.events, event))
        case _:
            return known


def decision_words(ended: IterationEnded, known: OpenIteration) -> str:
    """The decision about one iteration, on one line."""
    parts = [f"{_outcome(ended, known.config)}: {_evidence(known)}"]
    for event in known.events:
        parts += _consequence(event)
    parts += [*_counters(ended, known), *_gate(ended)]
    return one_line("; ".join(parts), limit=MAX_DECISION_CHARS)


def _outcome(ended: IterationEnded, config: Config) -> str:
    words = outcome_words(ended.outcome, ended.failure, confirmed=bool(ended.confirmed))
    count, limit = ended.breaker.consecutive_no_progress, config.breaker.no_progress_open
    if ended.outcome is not Outcome.NO_PROGRESS or not count:
        return words
    is_limited = limit > 0 and config.breaker.enabled
    return f"{words} ({count} of {limit})" if is_limited else f"{words} ({count} in a row)"


def _evidence(known: OpenIteration) -> str:
    gathered = [event for event in known.events if isinstance(event, EvidenceGathered)]
    if not gathered:
        return "no evidence was gathered"
    evidence = gathered[-1].evidence
    seen = _observed(evidence)
    if evidence.progress:
        return seen or evidence.why
    if evidence.why.startswith((OUTPUT_AGAIN, FILES_AGAIN)):
        return f"{seen}, which had changed before"
    return f"{seen}, but {evidence.why}" if seen else evidence.why


def _observed(evidence: Evidence) -> str:
    """``1 commit, 2 files changed, a.py, b.py, 1 task done``: without what there was none of."""
    n_commits = sum(not (commit.by_person or commit.undone) for commit in evidence.commits)
    parts = [count_of(n_commits, "commit")] if n_commits else []
    if evidence.files:
        parts.append(f"{count_of(evidence.files, 'file')} changed")
        parts += [some_of(evidence.paths, SHOWN_PATHS)] if evidence.paths else []
    if evidence.tasks_done:
        parts.append(f"{count_of(len(evidence.tasks_done), 'task')} done")
    return ", ".join(parts)


def _consequence(event: EventBase) -> list[str]:
    match event:
        case Warned(code="claim-without-evidence", message=message):
            return [message]
        case GuardReverted(path=path):
            return [f"the forbidden change of {path} was restored"]
        case Validated(ok=False):
            return ["validation failed"]
        case RolledBack(ok=True):
            return ["its work was rolled back"]
        case TaskSetAside(task=task, reason=reason):
            return [f"{task.title} was set aside: {reason}"]
        case CircuitBreakerStateChange(from_state=old, to_state=new, reason=reason):
            return [f"the breaker moved from {old.value} to {new.value}: {reason}"]
        case _:
            return []


def _counters(ended: IterationEnded, known: OpenIteration) -> Iterator[str]:
    """The counters that are above zero, each with its limit."""
    breaker, config = ended.breaker, known.config
    rules = config.breaker
    started = next((one for one in known.events if isinstance(one, IterationStarted)), None)
    task = None if started is None or started.task is None else started.task.id
    counts = (
        ("attempt", ended.attempts.get(task or "", 0), config.attempts.limit),
        ("without a commit", ended.stuck_count, config.max_stuck or 0),
        ("the same error", breaker.consecutive_same_error, rules.same_error_open),
        ("failing tests", breaker.consecutive_failing_tests, rules.failing_tests_open),
        ("refused completions", breaker.consecutive_refusals, rules.refused_completions_open),
        ("denied tools", breaker.consecutive_denials, rules.denials_open),
        ("tasks set aside", breaker.consecutive_set_asides, rules.set_aside_open),
    )
    for name, count, limit in counts:
        if count and limit:
            yield f"{name} {count} of {limit}"


def _gate(ended: IterationEnded) -> Iterator[str]:
    verdict = ended.verdict
    if verdict is not None and verdict.reason is EndReason.COMPLETE:
        yield f"complete: {verdict.message}"
        return
    if ended.gate:
        yield f"not complete: {ended.gate}"
    if verdict is not None:
        yield f"the run ends or waits ({verdict.reason.value}): {verdict.message}"
