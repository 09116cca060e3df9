"""What a person does to one task from a viewer's row: block it, unblock it, move it, try it again.

Each is an edit of text like those in ``edits``, which raises RalphError where it cannot be made. It
must never know who asks, nor where the plan lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import assert_never

from ralph_ls.core.plan.editing import edits
from ralph_ls.core.plan.editing.arranging import move
from ralph_ls.core.plan.editing.nesting import text_of
from ralph_ls.core.plan.editing.replanning import ways_to_open
from ralph_ls.core.plan.editing.rewriting import apply, find, lines_in, reword
from ralph_ls.core.plan.editing.wordings import opens
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.plan import TaskState

RETRY_NOTE = "Reset for retry"
"""What a task says that a person wants tried again (SPEC §9)."""

DEFAULT_REASON = "a person"

Change = Callable[[str], str]


def change_of(
    edit: TaskEdit, task_id: str, *, reason: str = "", before: str | None = None
) -> Change:
    """The change of a plan's text that an edit means."""
    match edit:
        case TaskEdit.BLOCK:
            return partial(_block, task_id=task_id, reason=reason)
        case TaskEdit.UNBLOCK:
            return partial(_unblock, task_id=task_id)
        case TaskEdit.MOVE:
            return partial(_move, task_id=task_id, before=before)
        case _:  # pragma: no cover
            assert_never(edit)


def words_of(edit: TaskEdit) -> str:
    """What has become of the task then, to follow its name."""
    return {
        TaskEdit.BLOCK: "is blocked",
        TaskEdit.UNBLOCK: "is not blocked any more",
        TaskEdit.MOVE: "was moved",
    }[edit]


def reset_for_retry(text: str, task_id: str) -> str:
    """Open a task again, whatever its state, and note that below it once (SPEC §9).

    A row of a table without a column for notes is opened without one.
    """
    _, task = find(text, task_id)
    for _ in range(_STATES_ON_EACH_OTHER):
        if task.state is not TaskState.TODO:
            text = _opened(text, task)
            _, task = find(text, task_id)
    if _has_note(text, task):
        return text
    with suppress(RalphError):
        text = edits.note(text, task_id, RETRY_NOTE)
    return text


_STATES_ON_EACH_OTHER = 3
"""A task may be done and, below that, blocked and in progress."""


def exact(change: Callable[[str], Change], task_id: str) -> Change:
    """A change of a text in which what is no UTF-8 stands as half characters.

    Viewers know the task by the text in which that was replaced, so its id may be another one.
    """

    def changed(text: str) -> str:
        shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if shown == text:
            return change(task_id)(text)
        ids = [task.id for task in parse(shown).plan.tasks]
        tasks = parse(text).plan.tasks
        known = tasks[ids.index(task_id)].id if task_id in ids else task_id
        return change(known)(text)

    return changed


def _block(text: str, *, task_id: str, reason: str) -> str:
    _, task = find(text, task_id)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        raise RalphError(
            f"the task {task_id} on line {task.line + 1} of the plan is {task.state.value}, "
            "so there is nothing to block; open it first"
        )
    return edits.block(text, task_id, reason.strip() or DEFAULT_REASON)


def _unblock(text: str, *, task_id: str) -> str:
    _, task = find(text, task_id)
    if task.state is not TaskState.BLOCKED:
        raise RalphError(
            f"the task {task_id} on line {task.line + 1} of the plan is not blocked; "
            "look at the plan again"
        )
    return edits.unblock(text, task_id)


def _move(text: str, *, task_id: str, before: str | None) -> str:
    if before is not None:
        return move(text, task_id, before=before)
    plan, task = find(text, task_id)
    last = _list_of(plan, task)[-1]
    return text if last == task else move(text, task_id, after=last.id)


def _list_of(plan: Plan, task: Task) -> list[Task]:
    """The tasks that stand in one list with it, in their order."""
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
            return edits.untick(text, task.id)
        case TaskState.BLOCKED:
            return edits.unblock(text, task.id)
        case _:
            plan, task = find(text, task.id)
            return reword(
                text,
                plan,
                task,
                _ways_to_open(text, task),
                lambda now: now.state is TaskState.TODO,
                doing="opened",
            )


def _ways_to_open(text: str, task: Task) -> Iterator[str]:
    proposals = (apply(text, changes) for changes in opens(text, task))
    return chain(ways_to_open(text, task), proposals)


def _has_note(text: str, task: Task) -> bool:
    lines = lines_in(text)[task.line + 1 : task.end_line + 1]
    return any(text_of(line) == RETRY_NOTE for _, line in lines)
