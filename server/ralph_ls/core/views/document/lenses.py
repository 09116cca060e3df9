"""Code lenses and inlay hints: what can be done at a line of the plan, and how a task became done.

The loop's actions are on the first line, a task's on its own; what needs the user comes first
(docs/rules.md#panel). A lens has a title that says what will happen, a verb and its arguments; the
engine that receives it may still refuse. The commands of an editor are not known here.

A hint follows the text of a line and only shows what is final (docs/rules.md#diagnostics).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.views.model import actions
from ralph_ls.core.views.model.actions import is_pausing, log_arguments
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    DocumentPositions,
    FileKind,
    TextSpan,
    document_positions,
)
from ralph_ls.core.views.model.history import TaskCompletion
from ralph_ls.core.views.model.tasks import (
    SKIPPED_WORDS,
    TaskReviews,
    aside_words,
    attempt_count_words,
    blocked_words,
    finished_words,
    is_skipped,
    set_aside,
    task_reviews,
)
from ralph_ls.core.views.model.words import (
    SHORT_HASH,
    SHOWN_REASON,
    iteration_words,
    minutes_words,
    one_line,
)
from ralph_ls.core.views.panel.lanes import lane_task_words
from ralph_ls.core.views.text.status import wait_words
from ralph_ls.core.views.text.summary import cost_words, is_estimated, limit_words, tokens_words
from ralph_ls.protocol.lsp.options import TaskLenses
from ralph_ls.protocol.lsp.panel import Action, Verb
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """A code lens above one line: a title, mostly with a command."""

    line: int
    """From 0."""
    title: str
    """One line of text."""
    command: Verb
    arguments: Mapping[str, object] = field(default_factory=dict)
    """JSON values: ``run``, ``task`` and ``iteration`` identify the target; ``now`` ends the agent
    at once; ``continue`` resumes a run that has no engine."""


def lenses(
    context: DocumentContext, *, tasks: TaskLenses = TaskLenses.TOUCHED, now: datetime | None = None
) -> tuple[Lens, ...]:
    """All lenses of one file, by line, from left to right. Total.

    ``now`` extends the running time; without it the time is that of the last event.
    """
    match context.file:
        case FileKind.DECIDE:
            return tuple(_answer(context, 0))
        case FileKind.BLOCKED:
            return tuple(_resolve(context, 0))
        case FileKind.PLAN:
            found = [*_first_line(context, now), *_on_tasks(context, tasks)]
            return tuple(sorted(found, key=lambda lens: lens.line))
        case _:  # pragma: no cover
            assert_never(context.file)


def _first_line(context: DocumentContext, now: datetime | None) -> Iterator[Lens]:
    yield from _answer(context, 0)
    settling = (
        actions.resolve_action(context),
        actions.approve_action(context),
        actions.overrule_action(context),
        actions.reset_action(context),
    )
    for action in (*settling, *actions.run_actions(context)):
        if action is not None:
            yield _lens(0, action)
    if context.state is not None:
        yield from _run_lenses(context, context.state, now)


def _answer(context: DocumentContext, line: int) -> Iterator[Lens]:
    if (action := actions.answer_action(context)) is not None:
        title = f"Ralph asks: {action.title.lower()}"
        yield Lens(line=line, title=title, command=action.verb, arguments=action.arguments)


def _resolve(context: DocumentContext, line: int) -> Iterator[Lens]:
    if (action := actions.resolve_action(context)) is not None:
        yield _lens(line, action)


def _run_lenses(context: DocumentContext, state: RunState, now: datetime | None) -> Iterator[Lens]:
    """Status of the run: its phase unless it simply works, progress, time and cost."""
    parts = [*_phase_words(context, state)]
    if state.iteration:
        parts.append(iteration_words(state))
    seconds = state.active_seconds
    if context.live and now is not None:
        seconds = active_seconds(state, now)
    parts.extend(_used(context, state, seconds))
    arguments = log_arguments(context, state.start) if state.start else {}
    command = Verb.SHOW_LOG if state.start else Verb.NONE
    yield Lens(line=0, title=" · ".join(parts), command=command, arguments=arguments)


def _used(context: DocumentContext, state: RunState, seconds: float) -> Iterator[str]:
    """Known time, cost and limited tokens, each with its limit."""
    config, known = state.config, context.history
    limit = config.max_duration
    yield minutes_words(seconds) + ("" if limit is None else f" of {limit_words(limit)}")
    if config.max_tokens is not None and known.tokens is not None:
        yield f"{tokens_words(known.tokens, config.max_tokens)} tokens"
    if known.cost_usd is not None:
        yield cost_words(known.cost_usd, config.max_cost_usd, estimated=is_estimated(state.usage))


def _phase_words(context: DocumentContext, state: RunState) -> Iterator[str]:
    match context.phase:
        case Phase.ENDED if state.end is not None:
            yield f"{state.end.reason.value}: {one_line(state.end.message, limit=SHOWN_REASON)}"
        case Phase.CRASHED:
            yield "engine gone"
        case Phase.PARKED if not context.live:
            yield "waits for you; the system stopped its engine"
        case Phase.PARKED:
            yield "waits for you"
        case Phase.PAUSED:
            yield "paused"
        case Phase.STOPPING:
            yield "stops after this iteration"
        case Phase.WAITING:
            since = state.phase_since
            yield f"waits{wait_words(state.phase_reason, state.until, since=since)}"
        case _ if is_pausing(context):
            yield "pauses after this iteration"
        case _:
            pass


def _on_tasks(context: DocumentContext, wanted: TaskLenses) -> Iterator[Lens]:
    at = document_positions(context)
    asked, blocked, current = at.question_task(), at.blocked_task(), at.task_in_work()
    waiting = {task.id for task in (asked, blocked, current) if task is not None}
    known = task_reviews(context)
    for task in _wanted(context, wanted, waiting):
        # The first line has these lenses already.
        if task == asked and task.line > 0:
            yield from _answer(context, task.line)
        if task == blocked and task.line > 0:
            yield from _resolve(context, task.line)
        yield from _on_task(context, known, task, in_work=task == current)


def _wanted(context: DocumentContext, wanted: TaskLenses, waiting: set[str]) -> Sequence[Task]:
    """The tasks that may have lenses: few of the thousands that a plan can have."""
    skipped = () if context.state is None else context.state.skipped
    touched = {*waiting, *context.history.attempts, *skipped}
    match wanted:
        case TaskLenses.CURRENT:
            return context.plan.some(ids=waiting)
        case TaskLenses.TOUCHED:
            # A story in progress is in review.
            reviewed = {TaskState.IN_PROGRESS} if format_of(context.kind).has_reviews else set()
            found = context.plan.some(ids=touched, states={TaskState.BLOCKED, *reviewed})
            # A hint covers tasks that are done.
            return [one for one in found if one.state is not TaskState.DONE or one.id in waiting]
        case TaskLenses.ALL:
            return context.plan.tasks
        case _:  # pragma: no cover
            assert_never(wanted)


def _on_task(
    context: DocumentContext, known: TaskReviews, task: Task, *, in_work: bool
) -> Iterator[Lens]:
    line, numbers = task.line, context.history.attempts.get(task.id, ())
    if task.state in {TaskState.TODO, TaskState.IN_PROGRESS}:
        only = {"task": task.id}
        yield Lens(line=line, title="Run only this task", command=Verb.RUN_TASK, arguments=only)
    if is_skipped(context, task) and task.state is not TaskState.DONE:
        yield Lens(line=line, title=SKIPPED_WORDS, command=Verb.NONE)
    for words in filter(None, (known.review(task), known.waiting(task))):
        yield Lens(line=line, title=words, command=Verb.NONE)
    if (aside := set_aside(context, task)) is not None:
        log = log_arguments(context, aside.start)
        yield Lens(line=line, title=aside_words(aside), command=Verb.SHOW_LOG, arguments=log)
        return
    if task.state is TaskState.BLOCKED:
        yield Lens(line=line, title=blocked_words(task), command=Verb.NONE)
    if task.state is TaskState.DONE:
        yield from _done(context, task)
    elif numbers:
        title, log = (
            attempt_count_words(context, task, in_work=in_work),
            log_arguments(context, numbers[-1]),
        )
        yield Lens(line=line, title=title, command=Verb.SHOW_LOG, arguments=log)


def _done(context: DocumentContext, task: Task) -> Iterator[Lens]:
    done = context.history.completions.get(task.id)
    if done is None:
        return
    log = log_arguments(context, done.start)
    if done.commit is not None:
        log = {**log, "commit": done.commit}
    yield Lens(line=task.line, title=finished_words(done), command=Verb.SHOW_LOG, arguments=log)


def _lens(line: int, action: Action) -> Lens:
    return Lens(line=line, title=action.title, command=action.verb, arguments=action.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """An inlay hint at the end of a line."""

    line: int
    """From 0."""
    column: int
    """After the line's last word, in characters of the line."""
    text: str
    """``done in #2 · a1b2c3d``."""
    tooltip: str
    """The same with the full hash, for copying."""
    commit: str | None = None
    """Full hash of the commit that finished the task."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """JSON values: the ``run`` and ``iteration`` that finished it, and its ``commit``."""


def hints(context: DocumentContext) -> tuple[Hint, ...]:
    """All hints of one file, by line. Total.

    Only the newest run is known: a task that was done before, or ticked by the user, has none.
    Of a parallel run, tasks in lanes have one while they are open in this text.
    """
    known = context.history.completions
    at = document_positions(context)
    tasks = context.plan.some(ids=set(known)) if known else ()
    finished = [
        _hint(context, known[task.id], _place(at, task))
        for task in tasks
        if task.state is TaskState.DONE
    ]
    return tuple(sorted((*finished, *_lane_hints(context, at)), key=lambda hint: hint.line))


def _lane_hints(context: DocumentContext, at: DocumentPositions) -> Iterator[Hint]:
    """What the lanes of a parallel run have made of the open tasks.

    Its branch has the ticks, and the plan of the work tree gets them once that is merged.
    """
    state = context.state
    if state is None or not state.lanes:
        return
    tasks = at.tasks({lane.task.id for lane in state.lanes})
    for lane in state.lanes:
        task = tasks.get(lane.task.id)
        words = lane_task_words(state, lane, context.phase)
        if task is None or task.state is TaskState.DONE or not words:
            continue
        span = _place(at, task)
        text = one_line(words, limit=SHOWN_REASON)
        yield Hint(line=span.line, column=span.end, text=text, tooltip=words)


def _place(at: DocumentPositions, task: Task) -> TextSpan:
    """The end of a task's title; of a story outside its quotes."""
    if task.kind is not TaskKind.STORY:
        return at.span_of_task(task)
    return TextSpan(line=task.line, start=0, end=task.end - task.start)


def _hint(context: DocumentContext, done: TaskCompletion, words: TextSpan) -> Hint:
    text, tooltip = f"done in #{done.iteration}", f"Done in iteration {done.iteration}"
    arguments = log_arguments(context, done.start)
    if done.commit is not None:
        text = f"{text} · {done.commit[:SHORT_HASH]}"
        tooltip = f"{tooltip}, commit {done.commit}"
        arguments = {**arguments, "commit": done.commit}
    return Hint(
        line=words.line,
        column=words.end,
        text=text,
        tooltip=tooltip,
        commit=done.commit,
        arguments=arguments,
    )
