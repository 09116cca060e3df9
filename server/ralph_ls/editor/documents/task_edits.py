"""Task edits as code actions: state, review, notes, place, priority, log of finished tasks.

One that is impossible says why. In a long plan each edit takes long, since the plan is read again
as it would be (docs/adr/0077): there a client that can resolve actions gets them without edits, and
asks for the edit of the one that was chosen. How a task or a story is written is the plan's format
to know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from ralph_ls.editor.documents.loop_documents import SMALL_TEXT
from ralph_ls.editor.documents.workspace_edits import EditCapabilities, EditTarget, workspace_edit
from ralph_ls.editor.lsp.conversion import PositionMapper

if TYPE_CHECKING:
    from ralph_ls.core.plan.model import Plan, Task

TEXT_PLACEHOLDER = "\N{HORIZONTAL ELLIPSIS}"
"""The placeholder for what the user writes."""


class PlanEditOption(NamedTuple):
    """One edit of a plan's text, and what it is called."""

    title: str
    edit: Callable[[str], str]


def story_edit_options(plan: Plan, task: Task, *, all_of_them: bool) -> Iterator[PlanEditOption]:
    """What can be made of a story; only what sets its state, unless all are asked for."""
    from ralph_ls.core.plan.formats.stories import edits
    from ralph_ls.core.plan.formats.stories import edits as persons
    from ralph_ls.protocol.task_words import TaskState

    if task.state is TaskState.DONE:
        yield PlanEditOption("Reopen task", partial(edits.reopen_story, story_id=task.id))
    else:
        yield PlanEditOption("Mark task as done", partial(edits.pass_story, story_id=task.id))
    if task.state is TaskState.IN_PROGRESS:
        yield PlanEditOption("Reset for retry", partial(persons.retry_story, story_id=task.id))
    if not all_of_them:
        return
    if task.state is not TaskState.TODO:
        ask = partial(persons.request_changes, story_id=task.id, feedback=TEXT_PLACEHOLDER)
        yield PlanEditOption("Request changes", ask)
    yield PlanEditOption(
        "Add a note", partial(persons.note_on_story, story_id=task.id, words=TEXT_PLACEHOLDER)
    )
    block = partial(persons.refuse_hold, story_id=task.id)
    yield PlanEditOption("Block task", block)
    ids = [one.id for one in plan.tasks]
    at = ids.index(task.id)
    if at > 0:
        before = ids[at - 1]
        yield PlanEditOption(
            "Move task up", partial(persons.move_story, story_id=task.id, before=before)
        )
    if at + 1 < len(ids):
        behind = ids[at + 2] if at + 2 < len(ids) else None
        yield PlanEditOption(
            "Move task down", partial(persons.move_story, story_id=task.id, before=behind)
        )


if TYPE_CHECKING:
    from ralph_ls.core.plan.formats.plan_format import TextOperations
    from ralph_ls.core.plan.model import Plan, Task
    from ralph_ls.editor.documents.snapshot import DocumentSnapshot

KIND = types.CodeActionKind.RefactorRewrite

NEW_TITLE = "New task"
"""What an added task is called until somebody has written what it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressLogText:
    """The log of finished tasks, as it is now."""

    name: str
    target: EditTarget
    text: str


def task_edit_actions(
    sight: DocumentSnapshot,
    first: int,
    last: int,
    abilities: EditCapabilities,
    *,
    today: str,
    log: ProgressLogText | None = None,
) -> Iterator[types.CodeAction]:
    """The edits of the task that these lines are in, if they are in just one.

    Without ``log`` nobody has asked but the cursor, which moves all the time: then it is those
    alone that set the state, and none in a long plan that would have to be edited for that.
    ``today`` is such as ``2026-01-31``.
    """
    is_long = len(sight.seen.text) > SMALL_TEXT
    if log is None and is_long and not abilities.resolves:
        return
    plan = sight.seen.plan
    task = plan.at_line(first)
    if task is None or plan.at_line(last) != task:
        return
    for title, make in _edits_of(sight, task, abilities, today=today, log=log):
        if is_long and abilities.resolves:
            data = {"uri": sight.uri, "task": task.id}
            yield types.CodeAction(title=title, kind=KIND, data=data)
        else:
            yield _action(title, make)


def resolve_task_edit(
    sight: DocumentSnapshot,
    task_id: str,
    title: str,
    abilities: EditCapabilities,
    *,
    today: str,
    log: ProgressLogText,
) -> types.WorkspaceEdit:
    """The edit of an action that came without it, for the text as it is now.

    Raises ``RalphError`` where it is impossible, or the task has gone.
    """
    from ralph_ls.protocol.errors import RalphError

    task = sight.seen.plan.find(task_id)
    if task is not None:
        for name, make in _edits_of(sight, task, abilities, today=today, log=log):
            if name == title:
                return make()
    raise RalphError("the plan has changed; ask for the actions of the task again")


def _edits_of(
    sight: DocumentSnapshot,
    task: Task,
    abilities: EditCapabilities,
    *,
    today: str,
    log: ProgressLogText | None,
) -> Iterator[tuple[str, Callable[[], types.WorkspaceEdit]]]:
    """Every edit by its title, not made yet; only those of the state without ``log``."""
    from ralph_ls.core.plan.formats.dispatch import operations_of
    from ralph_ls.core.plan.model import PlanKind

    plan = sight.seen.plan
    target = EditTarget(uri=sight.uri, version=sight.version)
    ways: Iterable[PlanEditOption]
    structured = operations_of(sight.seen.kind).text
    if structured is not None:
        ways, log = _structured_edits(structured, task, today, all_of_them=log is not None), None
    elif sight.seen.kind is PlanKind.STORIES:
        ways, log = story_edit_options(plan, task, all_of_them=log is not None), None
    else:
        ways = _states(task) if log is None else (*_states(task), *_others(sight, plan, task))
    for way in ways:
        yield way.title, partial(_edit, sight, target, way, abilities)
    if log is not None and _is_done(task):
        title = f"Move finished tasks to {log.name}"
        yield title, partial(_move_done, sight, target, log, title, abilities, today=today)


def _structured_edits(
    operations: TextOperations, task: Task, today: str, *, all_of_them: bool
) -> Iterator[PlanEditOption]:
    """What a plan in another form than Markdown allows: states and notes, in its own form."""
    from ralph_ls.protocol.task_words import TaskState

    def to_state(state: TaskState, reason: str = "") -> Callable[[str], str]:
        return lambda text: operations.with_state(text, task.id, state, reason, today)

    if task.state is TaskState.DONE:
        yield PlanEditOption("Reopen task", to_state(TaskState.TODO))
        return
    if task.state is TaskState.BLOCKED:
        yield PlanEditOption("Unblock task", to_state(TaskState.TODO))
    yield PlanEditOption("Mark task as done", to_state(TaskState.DONE))
    if task.state in {TaskState.TODO, TaskState.IN_PROGRESS}:
        yield PlanEditOption("Block task", to_state(TaskState.BLOCKED, TEXT_PLACEHOLDER))
    if not all_of_them:
        return
    if task.state in {TaskState.IN_PROGRESS, TaskState.SKIPPED}:
        yield PlanEditOption("Reset task", to_state(TaskState.TODO))
    if task.state is not TaskState.SKIPPED:
        yield PlanEditOption("Skip task", to_state(TaskState.SKIPPED))
    yield PlanEditOption(
        "Add a note", lambda text: operations.with_note(text, task.id, TEXT_PLACEHOLDER)
    )


def _states(task: Task) -> Iterator[PlanEditOption]:
    from ralph_ls.core.plan.edit.task_edits import block_task, tick_task, unblock_task, untick_task
    from ralph_ls.protocol.task_words import TaskState

    done = PlanEditOption("Mark task as done", lambda text: tick_task(text, task.id))
    match task.state:
        case TaskState.DONE:
            yield PlanEditOption("Reopen task", lambda text: untick_task(text, task.id))
        case TaskState.BLOCKED:
            yield PlanEditOption("Unblock task", lambda text: unblock_task(text, task.id))
            yield done
        case TaskState.SKIPPED:
            yield done
        case TaskState.TODO | TaskState.IN_PROGRESS:
            yield done
            yield PlanEditOption("Block task", lambda text: _with_blank(block_task, text, task.id))


def _others(sight: DocumentSnapshot, plan: Plan, task: Task) -> Iterator[PlanEditOption]:
    from ralph_ls.core.plan.edit.task_edits import add_task_note, attach_commit
    from ralph_ls.core.plan.edit.task_order import add_task, move_task, set_priority
    from ralph_ls.protocol.task_words import Priority

    yield PlanEditOption("Add a note", lambda text: _with_blank(add_task_note, text, task.id))
    yield PlanEditOption("Add a task below", lambda text: add_task(text, NEW_TITLE, after=task.id))
    above, below = _neighbours(plan, task)
    if above is not None:
        yield PlanEditOption("Move task up", lambda text: move_task(text, task.id, before=above.id))
    if below is not None:
        yield PlanEditOption(
            "Move task down", lambda text: move_task(text, task.id, after=below.id)
        )
    for priority in Priority:
        if task.priority is not priority:
            edit = partial(set_priority, task_id=task.id, priority=priority)
            yield PlanEditOption(f"Set priority {priority.value}", edit)
    done = sight.seen.history.completions.get(task.id)
    if done is not None and done.commit is not None:
        commit = done.commit[:_SHORT]
        yield PlanEditOption(
            f"Attach commit {commit}", lambda text: attach_commit(text, task.id, commit)
        )


_PRIVATE = range(0xE000, 0xF8FF)
"""Characters that mean nothing: placeholders for what is to be written."""
_SHORT = 7
"""Characters of a commit's hash."""


def _action(title: str, make: Callable[[], types.WorkspaceEdit]) -> types.CodeAction:
    from ralph_ls.protocol.errors import RalphError

    try:
        return types.CodeAction(title=title, kind=KIND, edit=make())
    except RalphError as error:
        reason = types.CodeActionDisabled(reason=error.message)
        return types.CodeAction(title=title, kind=KIND, disabled=reason)


def _edit(
    sight: DocumentSnapshot, target: EditTarget, way: PlanEditOption, abilities: EditCapabilities
) -> types.WorkspaceEdit:
    text = sight.seen.text
    edits = text_edits(text, way.edit(text), sight.columns())
    return workspace_edit([(target, edits)], abilities)


def text_edits(before: str, after: str, columns: PositionMapper) -> list[types.TextEdit]:
    """The smallest edits that make one text of the other."""
    from ralph_ls.core.plan.diff.text_diff import text_changes

    return [
        types.TextEdit(range=columns.between(change.start, change.end), new_text=change.text)
        for change in text_changes(before, after)
    ]


def _move_done(
    sight: DocumentSnapshot,
    target: EditTarget,
    log: ProgressLogText,
    title: str,
    abilities: EditCapabilities,
    *,
    today: str,
) -> types.WorkspaceEdit:
    from ralph_ls.core.plan.edit.progress_log import move_finished
    from ralph_ls.protocol.errors import RalphError

    if log.target.is_new and not abilities.new_files:
        raise RalphError(
            f"there is no {log.name}, and this editor cannot create files for ralph; create "
            "an empty one"
        )
    done = sight.seen.history.completions
    commits = {task: one.commit[:_SHORT] for task, one in done.items() if one.commit is not None}
    text = sight.seen.text
    moved = move_finished(text, log.text, day=today, commits=commits)
    if not moved.ids:
        raise RalphError(
            "no finished task can be moved on its own: a nested task goes with its parent, and a "
            "heading stays with the headings below it; finish those first"
        )
    changes = [
        (log.target, text_edits(log.text, moved.log, PositionMapper(log.text, sight.encoding))),
        (target, text_edits(text, moved.plan, sight.columns())),
    ]
    return workspace_edit(changes, abilities, ask=title)


def _with_blank(edit: Callable[[str, str, str], str], text: str, task_id: str) -> str:
    """Make an edit that needs words, and leave the place empty where they are to be written."""
    from ralph_ls.core.plan.edit.proposals import read_cached

    blank = next(mark for mark in map(chr, _PRIVATE) if mark not in text)
    after = edit(text, task_id, blank)
    filled, left = (after.replace(blank, words) for words in (TEXT_PLACEHOLDER, ""))
    return left if _states_in(read_cached(left)) == _states_in(read_cached(filled)) else filled


def _states_in(plan: Plan) -> list[tuple[str, str]]:
    return [(task.id, task.state) for task in plan.tasks]


def _neighbours(plan: Plan, task: Task) -> tuple[Task | None, Task | None]:
    """The tasks before and after it in the same list."""
    from ralph_ls.core.plan.model import TaskKind

    like = [
        one
        for one in plan.tasks
        if one.parent == task.parent
        and one.kind is task.kind
        and (one.kind is TaskKind.HEADING or one.section == task.section)
    ]
    at = next(nth for nth, one in enumerate(like) if one == task)
    return like[at - 1] if at else None, like[at + 1] if at + 1 < len(like) else None


def _is_done(task: Task) -> bool:
    from ralph_ls.protocol.task_words import TaskState

    return task.state is TaskState.DONE
