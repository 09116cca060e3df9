"""History: one run by task, folded from its journal.

Holds, for each task, its attempts, its completion and the recap of its newest iteration. Fold it
from the first event of the run; where a journal is stored is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import takewhile

from ralph_ls.core.loop.evidence.progress import new_head
from ralph_ls.core.loop.fold.run_changes import RESET_TASK
from ralph_ls.core.plan.verification.criterion_checks import verification_of
from ralph_ls.core.views.model.words import (
    claim_words,
    claims_words,
    evidence_words,
    one_line,
    verdict_words,
)
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
    Judged,
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
"""Starts whose task is kept: questions, blockers and reports refer to the newest ones."""

NO_STATUS_BLOCK = "no status block"
"""The claims of an iteration whose agent reported nothing."""

MAX_RECAP_CHARS = 300
"""Characters of the claims or the facts of an iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCompletion:
    """The iteration of this run in which a task became done."""

    iteration: int
    start: int
    commit: str | None = None
    """Full hash of the iteration's last commit in the workspace; None where it made none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRecap:
    """Recap of one iteration: the claims of its report beside the evidence."""

    iteration: int
    start: int
    claims: str | None = None
    """Its report in words; None without a report."""
    recommendation: str = ""
    """The next step that its report recommends."""
    facts: str | None = None
    """Its evidence in words; None where none was gathered."""
    verdict: str | None = None
    """The judge's verdict in words; None where nothing was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """One run by task. Task ids are stable by title (docs/rules.md#plans)."""

    tasks: Mapping[int, TaskRef] = field(default_factory=dict)
    """Start to its task, for the newest starts; a confirming iteration has none."""
    iterations: Mapping[int, int] = field(default_factory=dict)
    """Start to the iteration number that users read."""
    attempts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Task id to its starts since the last reset, in order."""
    completions: Mapping[str, TaskCompletion] = field(default_factory=dict)
    """Task id to the iteration in which it last became done, whatever that iteration's task was."""
    recaps: Mapping[str, IterationRecap] = field(default_factory=dict)
    """Task id to the recap of its newest iteration."""
    set_aside: Mapping[str, TaskSetAside] = field(default_factory=dict)
    """Task id to the event that set it aside; removed when the task is tried again."""
    denied: tuple[str, ...] = ()
    """Tools that were denied in the iterations that the breaker counts."""
    refused: CompletionRefused | None = None
    """The last refused completion."""
    verified: Mapping[str, CriteriaVerified] = field(default_factory=dict)
    """Task id to the checks that failed when it was last closed; absent where none failed."""
    validated: Validated | None = None
    """The last validation."""
    reverted: tuple[GuardReverted, ...] = ()
    """What the guard reverted in the newest iteration."""
    cost_usd: float | None = None
    """Cost of all iterations so far; None while no agent has reported one."""
    tokens: int | None = None
    """Input and output tokens so far; None while no agent has reported any."""
    usage: Usage | None = None
    """Usage of the newest iteration that reported any."""


def start_link(known: History, start: int, iteration: int | None = None) -> str:
    """Link to the output of a start: ``start:3:2``, and ``start:4:2:2`` at its second attempt."""
    number = known.iterations.get(start, iteration or start)
    tries = sum(one <= start and of == number for one, of in known.iterations.items())
    return f"start:{start}:{number}{f':{tries}' if tries > 1 else ''}"


def history(events: Iterable[EventBase], earlier: History | None = None) -> History:
    """The history after ``events``, continued from ``earlier`` or from an empty one.

    Copies ``earlier`` once per call, so pass a whole journal or a whole batch at once. A
    ``runStarted`` begins a new history: iteration numbers of two runs must not be mixed.
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
    """Mutable history, so that a long journal is not copied at each event."""

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
            _claim(draft, event)
            if event.usage is not None:
                _consume(draft, event.usage)
        case _:
            _check(draft, event)


def _check(draft: _HistoryDraft, event: EventBase) -> None:
    """Take up what the loop checked in an iteration."""
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
        case Judged():
            _judge(draft, event)
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


def _claim(draft: _HistoryDraft, ended: IterationEnded) -> None:
    """Add the claims beside its report; the recap keeps those of its newest iteration."""
    words = claims_words(ended.claims)
    if words and (known := _recap_of(draft, ended)) is not None:
        task_id, recap = known
        claims = ", ".join((recap.claims or NO_STATUS_BLOCK, words))
        draft.recaps[task_id] = replace(recap, claims=one_line(claims, limit=MAX_RECAP_CHARS))


def _judge(draft: _HistoryDraft, event: Judged) -> None:
    """Add the verdict to the recap; a task that the judge opened is not done."""
    if (known := _recap_of(draft, event)) is not None:
        task_id, recap = known
        words = one_line(verdict_words(event), limit=MAX_RECAP_CHARS)
        draft.recaps[task_id] = replace(recap, verdict=words)
    for task_id in event.reopened:
        draft.completions.pop(task_id, None)


def _show(draft: _HistoryDraft, event: EvidenceGathered) -> None:
    if (known := _recap_of(draft, event)) is not None:
        task_id, recap = known
        draft.recaps[task_id] = replace(
            recap, facts=one_line(evidence_words(event.evidence), limit=MAX_RECAP_CHARS)
        )


def _recap_of(draft: _HistoryDraft, event: IterationEvent) -> tuple[str, IterationRecap] | None:
    """Id of the iteration's task, and the recap of that iteration so far."""
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
        # The newest are last, so that `_finished_in` needs no full scan.
        draft.completions.pop(task_id, None)
        draft.completions[task_id] = TaskCompletion(
            iteration=gathered.iteration, start=gathered.start, commit=commit
        )


def _finished_in(draft: _HistoryDraft, start: int) -> list[str]:
    """Ids of the tasks that became done in the newest start."""
    newest = takewhile(lambda each: each[1].start >= start, reversed(draft.completions.items()))
    return [task_id for task_id, completion in newest if completion.start == start]


def _commit(draft: _HistoryDraft, committed: Committed) -> None:
    """The loop's own commit replaces the agent's, as it holds what the iteration finished."""
    for task_id in _finished_in(draft, committed.start):
        draft.completions[task_id] = replace(draft.completions[task_id], commit=committed.commit)


def _deny(draft: _HistoryDraft, ended: IterationEnded) -> None:
    """An agent that does not report denials leaves the list, like the breaker's count."""
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
