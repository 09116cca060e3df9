"""User edits: orders about one task from a viewer's row, and reopening of tasks in progress.

Blocking, unblocking, moving and retrying are edits of text like those in ``task_edits``, and raise
RalphError where they cannot be made.

Before a plan iteration (docs/rules.md#plan-mode) tasks in progress are reopened, because no agent
of an earlier iteration is left that could be working on them. Each change is a minimal edit, kept
only if every other task is parsed as before; tasks that cannot be reopened are reported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import assert_never

from ralph_ls.core.plan.edit import task_edits
from ralph_ls.core.plan.edit.proposals import (
    apply_changes,
    find_task,
    first_valid_proposal,
    indent_below,
    item_text,
    lines_in,
)
from ralph_ls.core.plan.edit.task_edits import reopen_proposals
from ralph_ls.core.plan.edit.task_order import move_task
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.task_words import TaskState

RESET_NOTE = "Reset for replanning"
"""The note of a task that was opened again (docs/rules.md#attempts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplanReset:
    """A plan in which nothing is in progress, as far as tasks could be reopened."""

    text: str
    opened: tuple[str, ...]
    """Titles of the tasks that were in progress and are open now."""
    left: tuple[str, ...]
    """Titles of those whose state no minimal edit could change."""


def reset_in_progress(text: str) -> ReplanReset:
    """Open each task that is in progress, and note that below it; every other byte stays."""
    opened: list[str] = []
    left: list[str] = []
    plan = parse_markdown(text).plan
    for task_id in [task.id for task in plan.tasks if task.state is TaskState.IN_PROGRESS]:
        task = plan.by_id()[task_id]
        changed = next(_fitting(text, plan, task), None)
        if changed is None:
            left.append(task.title)
            continue
        opened.append(task.title)
        text = changed
        plan = parse_markdown(text).plan
    return ReplanReset(text=text, opened=tuple(opened), left=tuple(left))


_FORMS = (
    (re.compile(r"(?<=\[)~(?=\])"), " "),
    (re.compile(r"(?:\*\*)?\[(?:IN[ -]PROGRESS|WIP)\](?:\*\*)?:?[ \t]*", re.IGNORECASE), ""),
    (re.compile("(?:\U0001f7e1|\U0001f7e0|\U0001f504|\U0001f6a7|\u23f3)\ufe0f?"), "\u26aa"),
    (re.compile(r"(?<=status:)(\W*)(?:in[ -]progress|wip)\b", re.IGNORECASE), r"\1todo"),
    (re.compile(r"(?<=status:\*\*)(\W*)(?:in[ -]progress|wip)\b", re.IGNORECASE), r"\1todo"),
)
"""The markup of a state in progress, and of an open one."""


def open_proposals(text: str, task: Task) -> Iterator[str]:
    """Texts in which the task may be open instead of in progress; each is to be read again."""
    for begin, until, item in _open_forms(text, task, list(lines_of(text))):
        yield text[:begin] + item + text[until:]


def _fitting(text: str, plan: Plan, task: Task) -> Iterator[str]:
    """The edits that only open this task, those with the note first."""
    lines = list(lines_of(text))
    end = lines[task.end_line][0] + len(lines[task.end_line][1])
    for begin, until, item in _open_forms(text, task, lines):
        changed = text[:begin] + item + text[until:]
        shift = len(changed) - len(text)
        noted = _with_note(changed, task, lines, end + shift)
        yield from (one for one in (noted, changed) if _opens_only(plan, task, one))


def _open_forms(
    text: str, task: Task, lines: list[tuple[int, str]]
) -> Iterator[tuple[int, int, str]]:
    """The places where the task's lines say that it is in progress, with the open form."""
    end = lines[task.end_line][0] + len(lines[task.end_line][1])
    for begin, until in ((task.start, task.end), (task.start, end)):
        for pattern, open_form in _FORMS:
            item, n_changed = pattern.subn(open_form, text[begin:until], count=1)
            if n_changed:
                yield begin, until, item


def _with_note(text: str, task: Task, lines: list[tuple[int, str]], at: int) -> str:
    """The text with the note as the item's last line; below a heading it is separate."""
    indent = indent_below(lines[task.line][1])
    ending = next((sign for sign in ("\r\n", "\n", "\r") if text.startswith(sign, at)), "\n")
    return f"{text[:at]}{ending}{indent}- {RESET_NOTE}{text[at:]}"


def _opens_only(before: Plan, task: Task, text: str) -> bool:
    after = parse_markdown(text).plan
    wanted = [
        (one.id, one.title, TaskState.TODO if one.id == task.id else one.state)
        for one in before.tasks
    ]
    return [(one.id, one.title, one.state) for one in after.tasks] == wanted


RETRY_NOTE = "Reset for retry"
"""The note of a task that the user wants to retry (docs/rules.md#attempts)."""

DEFAULT_BLOCK_REASON = "the user"

MarkdownEdit = Callable[[str], str]


def user_edit(
    edit: TaskEdit, task_id: str, *, reason: str = "", before: str | None = None
) -> MarkdownEdit:
    """The text of the plan after an edit."""
    match edit:
        case TaskEdit.BLOCK:
            return partial(_block, task_id=task_id, reason=reason)
        case TaskEdit.UNBLOCK:
            return partial(_unblock, task_id=task_id)
        case TaskEdit.MOVE:
            return partial(_move, task_id=task_id, before=before)
        case _:  # pragma: no cover
            assert_never(edit)


def describe_user_edit(edit: TaskEdit) -> str:
    """The result for the task, in words that follow its name."""
    return {
        TaskEdit.BLOCK: "is blocked",
        TaskEdit.UNBLOCK: "is no longer blocked",
        TaskEdit.MOVE: "was moved",
    }[edit]


def retry_task(text: str, task_id: str) -> str:
    """Open a task again, whatever its state, and note that below it once (docs/rules.md#attempts).

    A row of a table without a column for notes is opened without one.
    """
    _, task = find_task(text, task_id)
    for _ in range(_STATES_ON_EACH_OTHER):
        if task.state is not TaskState.TODO:
            text = _opened(text, task)
            _, task = find_task(text, task_id)
    if _has_note(text, task):
        return text
    with suppress(RalphError):
        text = task_edits.add_task_note(text, task_id, RETRY_NOTE)
    return text


_STATES_ON_EACH_OTHER = 3
"""A task may be done and, below that, blocked and in progress."""


def byte_exact(change: Callable[[str], MarkdownEdit], task_id: str) -> MarkdownEdit:
    """An edit of a text that may have lone surrogates for bytes that are not UTF-8.

    Viewers know the task by the text in which these were replaced, so its id may differ.
    """
    return byte_exact_by(lambda text: parse_markdown(text).plan, change, task_id)


def byte_exact_by(
    read: Callable[[str], Plan], change: Callable[[str], MarkdownEdit], task_id: str
) -> MarkdownEdit:
    """As ``byte_exact``, of a plan that is read in another way."""

    def changed(text: str) -> str:
        shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if shown == text:
            return change(task_id)(text)
        ids = [task.id for task in read(shown).tasks]
        tasks = read(text).tasks
        known = tasks[ids.index(task_id)].id if task_id in ids else task_id
        return change(known)(text)

    return changed


def _block(text: str, *, task_id: str, reason: str) -> str:
    _, task = find_task(text, task_id)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        raise RalphError(
            f"the task {task_id} on line {task.line + 1} of the plan is {task.state.value}, so it "
            "cannot be blocked; reopen it first"
        )
    return task_edits.block_task(text, task_id, reason.strip() or DEFAULT_BLOCK_REASON)


def _unblock(text: str, *, task_id: str) -> str:
    _, task = find_task(text, task_id)
    if task.state is not TaskState.BLOCKED:
        raise RalphError(
            f"the task {task_id} on line {task.line + 1} of the plan is not blocked; check the plan"
        )
    return task_edits.unblock_task(text, task_id)


def _move(text: str, *, task_id: str, before: str | None) -> str:
    if before is not None:
        return move_task(text, task_id, before=before)
    plan, task = find_task(text, task_id)
    last = _list_of(plan, task)[-1]
    return text if last == task else move_task(text, task_id, after=last.id)


def _list_of(plan: Plan, task: Task) -> list[Task]:
    """The tasks in the same list, in order."""
    return [
        one
        for one in plan.tasks
        if one.parent == task.parent
        and one.kind is task.kind
        and (one.kind is TaskKind.HEADING or one.section == task.section)
    ]


def _opened(text: str, task: Task) -> str:
    """The text with the task one state nearer to open."""
    match task.state:
        case TaskState.DONE:
            return task_edits.untick_task(text, task.id)
        case TaskState.BLOCKED:
            return task_edits.unblock_task(text, task.id)
        case _:
            plan, task = find_task(text, task.id)
            return first_valid_proposal(
                text,
                plan,
                task,
                _all_open_proposals(text, task),
                lambda now: now.state is TaskState.TODO,
                doing="opened",
            )


def _all_open_proposals(text: str, task: Task) -> Iterator[str]:
    proposals = (apply_changes(text, changes) for changes in reopen_proposals(text, task))
    return chain(open_proposals(text, task), proposals)


def _has_note(text: str, task: Task) -> bool:
    lines = lines_in(text)[task.line + 1 : task.end_line + 1]
    return any(item_text(line) == RETRY_NOTE for _, line in lines)
