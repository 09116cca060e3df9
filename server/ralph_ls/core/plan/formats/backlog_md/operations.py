"""Operations on the tasks of Backlog.md: the plan in a folder, and edits of one task's document.

The text is that of a plan folder. An edit changes the status, boxes or notes of one document; all
other bytes stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from typing import NamedTuple

from ralph_ls.core.plan.formats.backlog_md.document_edits import (
    with_boxes_ticked,
    with_notes_line,
    with_status,
    without_reason,
)
from ralph_ls.core.plan.formats.backlog_md.task_document import (
    BLOCKED_BY,
    DEFAULT_STATUS,
    TaskDocument,
    is_named_like_task,
    is_status_of,
    read_task_document,
    state_of_status,
)
from ralph_ls.core.plan.formats.plan_folder import FolderFile, join_files, split_files
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState


class FolderTask(NamedTuple):
    """One task with the file that it is in."""

    id: str
    """As its document has it; with ``-2`` where an earlier file has it too."""
    file: FolderFile
    known: TaskDocument


def parse_text(text: str) -> ParsedPlan:
    """Read the tasks of a folder; never raises. Their order is that of the board, then of ids."""
    tasks = _tasks_in(text)
    parents = _parents(tasks)
    ordered = _in_order(tasks, parents)
    titles = {task.id: task.known.title for task in tasks}
    problems = tuple(sorted(_problems(text, tasks), key=attrgetter("line")))
    return ParsedPlan(
        plan=Plan(tasks=tuple(_to_task(task, parents, titles) for task in ordered)),
        problems=problems,
        spans=tuple((0, 3) for _ in problems),
    )


def _problems(text: str, tasks: Iterable[FolderTask]) -> Iterator[PlanProblem]:
    """Files with an id that an earlier one has, and files named like tasks that are none."""
    files = {task.id: task.file.path for task in tasks}
    for task in tasks:
        if task.id != task.known.id:
            message = (
                f"{task.file.path} has the id {task.known.id} of {files[task.known.id]}; give one "
                "of them another"
            )
            yield PlanProblem(code="task-id-duplicate", message=message, line=task.file.line + 1)
    read = {task.file.path for task in tasks}
    for file in split_files(text):
        if file.path not in read and is_named_like_task(file.path):
            message = (
                f"{file.path} is not read: it does not begin with front matter that has an id, a "
                "title and a status"
            )
            yield PlanProblem(code="task-unreadable", message=message, line=file.line + 1)


def why_broken(text: str) -> str:
    """Why a text has no task of Backlog.md; empty where it has one."""
    if _tasks_in(text):
        return ""
    return "no file in it is a task; write one with: backlog task create TITLE"


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The ids of the tasks that each depends on; a task waits for its subtasks too."""
    tasks = _tasks_in(text)
    ids, parents = _ids_by_name(tasks), _parents(tasks)
    found: dict[str, dict[str, None]] = {}
    for task in tasks:
        needed = (ids.get(_normal(name), task.id) for name in task.known.needs)
        # To depend on the task around it means to belong to it.
        own = {task.id, parents.get(task.id)}
        found[task.id] = dict.fromkeys(task_id for task_id in needed if task_id not in own)
    for child, parent in parents.items():
        found[parent][child] = None
    return {task_id: tuple(needs) for task_id, needs in found.items() if needs}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task, as comparable text."""
    return {
        task.id: {
            Forbidden.CRITERIA: "\n".join([known.title, *(box.text for box in known.boxes)]),
            Forbidden.PRIORITY: known.written_priority,
            Forbidden.DEPENDENCY: ", ".join(known.needs),
        }
        for task in _tasks_in(text)
        for known in [task.known]
    }


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state; a finished one has all its boxes ticked.

    A blocked one has the project's status for that, or keeps its own and a reason in its notes.
    """
    del day
    task = _find(text, task_id)
    if state is TaskState.BLOCKED and task.known.state is TaskState.BLOCKED and not reason:
        return text
    document = without_reason(task.file.text)
    status = _status_for(text, state)
    if state is TaskState.BLOCKED:
        document = _blocked(document, task.known.status, status, reason)
    elif status is None:
        raise RalphError(
            f"Backlog.md has no status for a skipped task; archive it instead: "
            f"backlog task archive {task.known.id}"
        )
    elif state_of_status(task.known.status) is not state:
        document = with_status(document, status)
    if state is TaskState.DONE:
        document = with_boxes_ticked(document)
    return _with_file(text, task.file, document)


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more line of implementation notes, unless they end with it."""
    task = _find(text, task_id)
    return _with_file(text, task.file, with_notes_line(task.file.text, note))


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task's file is as in ``other``; removed where that has none."""
    here = {task.id: task.file for task in _tasks_in(text)}.get(task_id)
    there = {task.id: task.file for task in _tasks_in(other)}.get(task_id)
    if here is not None and there is not None and here.path == there.path:
        return _with_file(text, here, there.text)
    files = {file.path: file.text for file in split_files(text)}
    if here is not None:
        del files[here.path]
    if there is not None:
        files[there.path] = there.text
    return join_files(files)


def _tasks_in(text: str) -> tuple[FolderTask, ...]:
    found: dict[str, FolderTask] = {}
    for file in split_files(text):
        known = read_task_document(file.text, file.path)
        if known is None:
            continue
        task_id, number = known.id, 2
        while task_id in found:
            task_id, number = f"{known.id}-{number}", number + 1
        found[task_id] = FolderTask(task_id, file, known)
    return tuple(found.values())


def _find(text: str, task_id: str) -> FolderTask:
    task = next((one for one in _tasks_in(text) if one.id == task_id), None)
    if task is None:
        raise RalphError(f"the plan has no task {task_id}; see the ids in: ralph plan")
    return task


def _with_file(text: str, file: FolderFile, document: str) -> str:
    if not file.path:
        return document
    files = {one.path: one.text for one in split_files(text)}
    return join_files({**files, file.path: document})


def _status_for(text: str, state: TaskState) -> str | None:
    """The status that means a state: one that this project uses, else that of a new project."""
    used = (task.known.status for task in _tasks_in(text))
    words = (word for word in used if is_status_of(word, state))
    return next(words, DEFAULT_STATUS.get(state))


def _blocked(document: str, now: str, status: str | None, reason: str) -> str:
    is_open = state_of_status(now) in {TaskState.TODO, TaskState.IN_PROGRESS}
    if status is not None or not is_open:
        document = with_status(document, status or DEFAULT_STATUS[TaskState.TODO])
    if reason or status is None:
        document = with_notes_line(document, BLOCKED_BY + (reason or "see the notes"))
    return document


def _ids_by_name(tasks: tuple[FolderTask, ...]) -> dict[str, str]:
    """The ids by what may name them: in small letters, and by their number alone."""
    found: dict[str, str] = {}
    for task in reversed(tasks):
        found[_normal(task.id)] = task.id
        found[_normal(task.id).rpartition("-")[2]] = task.id
    return found


def _parents(tasks: tuple[FolderTask, ...]) -> dict[str, str]:
    """The parent of each subtask, named by it or by its number: ``task-4`` of ``task-4.1``."""
    ids = _ids_by_name(tasks)
    found: dict[str, str] = {}
    for task in tasks:
        parent = ids.get(_normal(task.known.parent) or _normal(task.id).rpartition(".")[0])
        if parent is not None and parent != task.id and task.id not in _above(parent, found):
            found[task.id] = parent
    return found


def _above(task_id: str, parents: Mapping[str, str]) -> Iterator[str]:
    while task_id in parents:
        task_id = parents[task_id]
        yield task_id


def _in_order(tasks: tuple[FolderTask, ...], parents: Mapping[str, str]) -> Iterator[FolderTask]:
    """Each task once, its subtasks right behind it."""
    below: dict[str | None, list[FolderTask]] = {}
    for task in sorted(tasks, key=_rank):
        below.setdefault(parents.get(task.id), []).append(task)
    left = list(reversed(below.get(None, ())))
    while left:
        task = left.pop()
        yield task
        left += reversed(below.get(task.id, ()))


def _rank(task: FolderTask) -> tuple[bool, float, tuple[int, ...], str]:
    ordinal = task.known.ordinal
    number = _normal(task.id).rpartition("-")[2].split(".")
    places = tuple(int(part) for part in number if part.isascii() and part.isdigit())
    return ordinal is None, ordinal or 0.0, places, task.id


def _normal(name: str) -> str:
    return name.casefold()


def _to_task(task: FolderTask, parents: Mapping[str, str], titles: Mapping[str, str]) -> Task:
    file, known, parent = task.file, task.known, parents.get(task.id)
    lines = [line for _, line in lines_of(file.text)]
    n_lines = len(lines) - (not lines[-1])
    mark, words = known.mark, known.words
    return Task(
        id=task.id,
        title=known.title,
        state=known.state,
        priority=known.priority,
        section=known.milestone if parent is None else titles[parent],
        optional=False,
        line=file.line,
        start=file.start,
        end=file.start + len(lines[0]),
        end_line=file.line + n_lines - 1,
        depth=sum(1 for _ in _above(task.id, parents)),
        parent=parent,
        blocked_by=known.reason,
        criteria=tuple(box.text for box in known.boxes),
        kind=TaskKind.STORY,
        mark=None if mark is None else (file.start + mark[0], file.start + mark[1]),
        words=None if words is None else (file.line + words[0], words[1], words[2]),
    )
