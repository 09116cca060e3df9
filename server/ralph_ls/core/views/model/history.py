"""Which iteration did what, by task: what the snapshot of a run does not keep.

``RunState`` knows the last report and the last evidence, but no longer which task they belonged
to, nor which iteration finished a task. Both stand in the journal, so they are folded out of it
beside the state, always from the run's first event on. What grows with a run stays small: of each
task a few short texts and numbers are kept. It must never decide anything, and it must never know
where the journal lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ralph_ls.core.loop.evidence.progress import new_head
from ralph_ls.core.loop.fold_user_events import RESET_TASK
from ralph_ls.core.loop.rules.validation import verification_of
from ralph_ls.core.views.model.words import claim_words, evidence_words, one_line
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    CommandAccepted,
    Committed,
    CompletionRefused,
    CriteriaVerified,
    EventBase,
    EvidenceGathered,
    GuardReverted,
    IterationEnded,
    IterationStarted,
    RalphStatusUpdate,
    RolledBack,
    RunStarted,
    TaskSetAside,
    Validated,
)
from ralph_ls.protocol.run.iteration_events import IterationEvent
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import TaskRef

MAX_STARTS = 200
"""Starts whose task is known: questions, blockers and reports are of the newest ones."""

MAX_RECAP_CHARS = 300
"""Characters of what an iteration said, or of what was seen of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompletion:
    """How a task became done in this run."""

    iteration: int
    start: int
    commit: str | None = None
    """The iteration's last commit in the workspace, whole; None where it made none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRecap:
    """What one iteration said, and what was seen of it."""

    iteration: int
    start: int
    claims: str | None = None
    """Its report in words; None where it made none."""
    recommendation: str = ""
    """What its report says that should come next."""
    facts: str | None = None
    """What the engine saw of it, in words; None where it did not come to that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One run, looked at by task. Task ids are stable by title (docs/rules.md#plans)."""

    tasks: Mapping[int, TaskRef] = field(default_factory=dict)
    """By start, the task that it was assigned, of the newest ones; a confirming one has none."""
    iterations: Mapping[int, int] = field(default_factory=dict)
    """By start, the iteration as people read it."""
    attempts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Task id to the starts that were assigned it, in their order, since it was last reset."""
    completions: Mapping[str, TaskCompletion] = field(default_factory=dict)
    """Task id to the iteration in which it last became done, whichever task that one was for."""
    recaps: Mapping[str, IterationRecap] = field(default_factory=dict)
    """Task id to what the newest iteration that was assigned it said and did."""
    set_aside: Mapping[str, TaskSetAside] = field(default_factory=dict)
    """Task id to how it was set aside; one that is tried again is none any more."""
    denied: tuple[str, ...] = ()
    """Tools that were not permitted, in the iterations that the breaker counts for that."""
    refused: CompletionRefused | None = None
    """The last completion that was refused."""
    verified: Mapping[str, CriteriaVerified] = field(default_factory=dict)
    """Task id to the checks that failed when it was last closed; none where they did not."""
    validated: Validated | None = None
    """The last validation."""
    reverted: tuple[GuardReverted, ...] = ()
    """What was put back in the newest iteration."""
    cost_usd: float | None = None
    """What the iterations cost so far; None while no agent has told a cost."""
    tokens: int | None = None
    """What they read and wrote so far; None while no agent has told any."""
    usage: Usage | None = None
    """What the newest iteration that told any consumed."""


def history(events: Iterable[EventBase], earlier: History | None = None) -> History:
    """The history after ``events``, going on from ``earlier`` or from nothing.

    Copies ``earlier`` once for a call, so a whole journal is one call and a follower's batch is
    another. A ``runStarted`` begins anew: iteration numbers of two runs must not be mixed.
    """
    draft = _open(History() if earlier is None else earlier)
    for event in events:
        if isinstance(event, RunStarted):
            draft = _open(History())
        else:
            _enter(draft, event)
    return History(
        tasks=draft.tasks,
        iterations=draft.iterations,
        attempts=draft.attempts,
        completions=draft.completions,
        recaps=draft.recaps,
        set_aside=draft.set_aside,
        denied=draft.denied,
        refused=draft.refused,
        verified=draft.verified,
        validated=draft.validated,
        reverted=draft.reverted,
        cost_usd=draft.cost_usd,
        tokens=draft.tokens,
        usage=draft.usage,
    )


@dataclass(slots=True, kw_only=True)
class _HistoryDraft:
    """A history while it is being written, so that a long journal is not copied at each event."""

    tasks: dict[int, TaskRef]
    iterations: dict[int, int]
    attempts: dict[str, tuple[int, ...]]
    completions: dict[str, TaskCompletion]
    recaps: dict[str, IterationRecap]
    set_aside: dict[str, TaskSetAside]
    denied: tuple[str, ...]
    refused: CompletionRefused | None
    verified: dict[str, CriteriaVerified]
    validated: Validated | None
    reverted: tuple[GuardReverted, ...]
    cost_usd: float | None
    tokens: int | None
    usage: Usage | None


def _open(known: History) -> _HistoryDraft:
    return _HistoryDraft(
        tasks=dict(known.tasks),
        iterations=dict(known.iterations),
        attempts=dict(known.attempts),
        completions=dict(known.completions),
        recaps=dict(known.recaps),
        set_aside=dict(known.set_aside),
        denied=known.denied,
        refused=known.refused,
        verified=dict(known.verified),
        validated=known.validated,
        reverted=known.reverted,
        cost_usd=known.cost_usd,
        tokens=known.tokens,
        usage=known.usage,
    )


def _enter(draft: _HistoryDraft, event: EventBase) -> None:
    if isinstance(event, IterationStarted):
        draft.reverted = ()
        draft.iterations[event.start] = event.iteration
    match event:
        case IterationStarted(task=TaskRef() as task, start=start):
            draft.tasks[start] = task
            while len(draft.tasks) > MAX_STARTS:
                del draft.tasks[next(iter(draft.tasks))]
            draft.attempts[task.id] = (*draft.attempts.get(task.id, ()), start)
            draft.set_aside.pop(task.id, None)
        case RalphStatusUpdate():
            _report(draft, event)
        case EvidenceGathered():
            _show(draft, event)
            _finish(draft, event)
        case Committed():
            _commit(draft, event)
        case TaskSetAside(task=task):
            draft.set_aside[task.id] = event
        case CommandAccepted(command_kind=kind, task=str(task)) if kind == RESET_TASK:
            draft.attempts.pop(task, None)
            draft.verified.pop(task, None)
            draft.set_aside.pop(task, None)
        case CircuitBreakerStateChange(start=None):
            draft.denied = ()
        case IterationEnded():
            _deny(draft, event)
            if event.usage is not None:
                _consume(draft, event.usage)
        case _:
            _check(draft, event)


def _check(draft: _HistoryDraft, event: EventBase) -> None:
    """What the loop found by itself in an iteration."""
    match event:
        case CompletionRefused():
            draft.refused = event
        case CriteriaVerified(task=task):
            draft.verified.pop(task.id, None)
            if verification_of(event).failed:
                draft.verified[task.id] = event
        case Validated():
            draft.validated = event
        case RolledBack(ok=True, start=start):
            for task_id in _finished_in(draft, start):
                del draft.completions[task_id]
        case GuardReverted():
            draft.reverted = (*draft.reverted, event)
        case _:
            pass


def _report(draft: _HistoryDraft, event: RalphStatusUpdate) -> None:
    if (known := _recap_of(draft, event)) is not None:
        task_id, recap = known
        claims = one_line(claim_words(event.report), limit=MAX_RECAP_CHARS)
        recommendation = one_line(event.report.recommendation, limit=MAX_RECAP_CHARS)
        draft.recaps[task_id] = replace(recap, claims=claims, recommendation=recommendation)


def _show(draft: _HistoryDraft, event: EvidenceGathered) -> None:
    if (known := _recap_of(draft, event)) is not None:
        task_id, recap = known
        draft.recaps[task_id] = replace(
            recap, facts=one_line(evidence_words(event.evidence), limit=MAX_RECAP_CHARS)
        )


def _recap_of(draft: _HistoryDraft, event: IterationEvent) -> tuple[str, IterationRecap] | None:
    """The id of the iteration's task, and what is known of that iteration so far."""
    task = draft.tasks.get(event.start)
    if task is None:
        return None
    known = draft.recaps.get(task.id)
    if known is None or known.start != event.start:
        known = IterationRecap(iteration=event.iteration, start=event.start)
    return task.id, known


def _finish(draft: _HistoryDraft, gathered: EvidenceGathered) -> None:
    commit = new_head(gathered.evidence)
    for task_id in gathered.evidence.tasks_done:
        # The newest stand last, so that they are found without looking at all.
        draft.completions.pop(task_id, None)
        draft.completions[task_id] = TaskCompletion(
            iteration=gathered.iteration, start=gathered.start, commit=commit
        )


def _finished_in(draft: _HistoryDraft, start: int) -> list[str]:
    """The tasks that became done in the newest start."""
    newest = takewhile(lambda each: each[1].start >= start, reversed(draft.completions.items()))
    return [task_id for task_id, completion in newest if completion.start == start]


def _commit(draft: _HistoryDraft, committed: Committed) -> None:
    """The loop's own commit is the one that holds what the iteration finished."""
    for task_id in _finished_in(draft, committed.start):
        draft.completions[task_id] = replace(draft.completions[task_id], commit=committed.commit)


def _deny(draft: _HistoryDraft, ended: IterationEnded) -> None:
    """An agent that cannot tell leaves what is known, as it leaves the breaker's count."""
    if ended.denied_tools:
        draft.denied = tuple(dict.fromkeys((*draft.denied, *ended.denied_tools)))
    elif ended.permission_denials == 0:
        draft.denied = ()


def _consume(draft: _HistoryDraft, usage: Usage) -> None:
    draft.usage = usage
    if usage.cost_usd is not None:
        draft.cost_usd = (draft.cost_usd or 0.0) + usage.cost_usd
    counts = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    if counts:
        draft.tokens = (draft.tokens or 0) + sum(counts)
