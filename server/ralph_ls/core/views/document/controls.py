"""Controls at a line: every command that makes sense there, for editors that show code actions.

The loop's controls are on the first line and on the plan's title, a task's on every line of it, and
what waits for the user is wherever its diagnostic is. All of it follows from the run and the plan;
what a client believes to be there is not asked. Edits of the text are not made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import assert_never

from ralph_ls.core.plan.model import PlanKind, Task
from ralph_ls.core.plan.parse.front_matter import read_front_matter
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.views.document.answers import AnswerCode, answer_lenses
from ralph_ls.core.views.model import actions
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    FileKind,
    document_positions,
    open_question,
)
from ralph_ls.core.views.model.tasks import is_skipped, set_aside
from ralph_ls.core.views.model.words import SHOWN_REASON, one_line
from ralph_ls.core.views.panel.question import listed_choices
from ralph_ls.protocol.lsp.panel import Action, Verb
from ralph_ls.protocol.run.values import Phase
from ralph_ls.protocol.task_words import TaskState

MAX_TITLE_LINE = 200
"""Lines in which a plan's title is looked for."""

_TITLE = re.compile(r" {0,3}#[ \t]+\S")


class ControlGroup(StrEnum):
    """What a control is about."""

    REMEDY = "remedy"
    """It settles what waits for the user."""
    RUN = "run"
    TASK = "task"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A command that can be given at a line."""

    title: str
    command: str
    """A verb of the panel, or the last word of a command of the server's own."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    group: ControlGroup
    codes: frozenset[str] = frozenset()
    """Codes of the diagnostics that it settles."""


_ANSWERS = frozenset({"question-waiting"})
_RESOLVES = frozenset({"run-blocked"})
_RESETS = frozenset({"breaker-open", "breaker-half-open"})
_TAKES_OVER = frozenset({"engine-gone", str(AnswerCode.PENDING), str(AnswerCode.TAKEN)})


def controls(context: DocumentContext, first: int, last: int) -> tuple[Control, ...]:
    """The controls of these lines, from 0 and inclusive, what waits for the user first. Total."""
    match context.file:
        case FileKind.DECIDE:
            return (*_answer(context), *_continue_with_answer(context))
        case FileKind.BLOCKED:
            return tuple(_one(actions.resolve_action(context), _RESOLVES))
        case FileKind.PLAN:
            return (*_remedies(context, first, last), *_on_lines(context, first, last))
        case _:  # pragma: no cover
            assert_never(context.file)


def is_about_run(context: DocumentContext, first: int, last: int) -> bool:
    """Whether the controls of the whole loop are on one of these lines."""
    if context.file is not FileKind.PLAN:
        return False
    return first == 0 or first <= _title_line(context) <= last


def _on_lines(context: DocumentContext, first: int, last: int) -> Iterator[Control]:
    task = context.plan.at_line(first)
    if task is not None and context.plan.at_line(last) == task:
        yield from _on_task(context, task)
    if is_about_run(context, first, last):
        yield from _on_run(context)


def _title_line(context: DocumentContext) -> int:
    """The line of a Markdown plan's title; 0 where it has none."""
    if context.kind is not PlanKind.MARKDOWN:
        return 0
    matter = read_front_matter(context.text)
    after = matter.end_line if matter.is_there else -1
    for number, (_, line) in enumerate(lines_of(context.text)):
        if number > MAX_TITLE_LINE:
            break
        if number > after and _TITLE.match(line):
            return number
    return 0


# ------------------------------------------------------------------------------------- remedies


def _remedies(context: DocumentContext, first: int, last: int) -> Iterator[Control]:
    """What only the user can settle: on the first line, and at the task that it is about."""
    at, on_run = document_positions(context), is_about_run(context, first, last)
    asked, blocked = at.question_task(), at.blocked_task()
    if on_run or (asked is not None and first <= asked.line <= last):
        yield from _answer(context)
    if on_run or (blocked is not None and first <= blocked.line <= last):
        yield from _one(actions.resolve_action(context), _RESOLVES)
    if on_run:
        yield from _one(actions.approve_action(context))
        yield from _one(actions.overrule_action(context), _RESETS)
        yield from _one(actions.reset_action(context), _RESETS)


def _answer(context: DocumentContext) -> Iterator[Control]:
    """One control for each option of the open question, and one to write an answer."""
    waits, write = open_question(context), actions.answer_action(context)
    if waits is None or write is None:
        return
    for choice in listed_choices(waits.text):
        title = f"Answer: {one_line(choice, limit=SHOWN_REASON)}"
        yield from _one(actions.choice_action(context, title, choice), _ANSWERS)
    yield from _one(write, _ANSWERS)


def _continue_with_answer(context: DocumentContext) -> Iterator[Control]:
    for lens in answer_lenses(context):
        if lens.command is Verb.RESUME:
            yield Control(
                title=lens.title,
                command=lens.command.value,
                arguments=lens.arguments,
                group=ControlGroup.REMEDY,
                codes=_TAKES_OVER,
            )


def _one(action: Action | None, codes: frozenset[str] = frozenset()) -> Iterator[Control]:
    if action is not None:
        yield _control(action, ControlGroup.REMEDY, codes)


def _control(action: Action, group: ControlGroup, codes: frozenset[str] = frozenset()) -> Control:
    return Control(
        title=action.title,
        command=action.verb.value,
        arguments=action.arguments,
        group=group,
        codes=codes,
    )


# -------------------------------------------------------------------------------------- the run


def _on_run(context: DocumentContext) -> Iterator[Control]:
    for action in actions.run_actions(context):
        is_remedy = action.verb is Verb.RESUME and context.phase is Phase.CRASHED
        group = ControlGroup.REMEDY if is_remedy else ControlGroup.RUN
        yield _control(action, group, _TAKES_OVER if is_remedy else frozenset())
    if context.live and context.phase is not Phase.STOPPING:
        yield _control(actions.stop_now_action(context), ControlGroup.RUN)
    if not context.live and context.kind is not PlanKind.REQUEST:
        yield Control(
            title="Start a run that rewrites the plan first",
            command="replan",
            group=ControlGroup.RUN,
        )
    if context.state is not None and context.state.start:
        yield from _on_iteration(context, context.state.start, ControlGroup.RUN)


def _on_iteration(context: DocumentContext, start: int, group: ControlGroup) -> Iterator[Control]:
    """What can be looked at, and undone, of one iteration."""
    arguments = actions.log_arguments(context, start)
    which = f"iteration {context.history.iterations.get(start, start)}"
    for title, command in (
        (f"Show the log of {which}", "showLog"),
        (f"Show the changes of {which}", "showChanges"),
    ):
        yield Control(title=title, command=command, arguments=arguments, group=group)
    if not context.live:
        yield Control(
            title=f"Show what a rollback to before {which} would undo",
            command="showRollback",
            arguments=arguments,
            group=group,
        )


# -------------------------------------------------------------------------------------- the task


def _on_task(context: DocumentContext, task: Task) -> Iterator[Control]:
    only = {"task": task.id}
    is_open = task.state in {TaskState.TODO, TaskState.IN_PROGRESS}
    skipped = is_skipped(context, task)

    def on_task(title: str, command: str) -> Control:
        return Control(title=title, command=command, arguments=only, group=ControlGroup.TASK)

    if is_open:
        yield on_task("Run only this task", Verb.RUN_TASK.value)
    if context.state is None:
        return
    if is_open and context.live and not skipped:
        yield on_task("Skip task for this run", "skip")
    tried = context.history.attempts.get(task.id, ())
    stuck = skipped or set_aside(context, task) is not None
    if stuck or (tried and task.state is not TaskState.DONE):
        yield on_task("Reset task: open it and forget its attempts", "resetTask")
    done = context.history.completions.get(task.id)
    start = done.start if done is not None else (tried[-1] if tried else None)
    if start is not None:
        yield from _on_iteration(context, start, ControlGroup.TASK)
