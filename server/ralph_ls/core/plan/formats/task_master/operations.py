"""Operations on a task file of Task Master: the plan in it, and edits of one task each.

An edit changes one value in place; all other bytes stay. It raises RalphError where the text is no
JSON or has no such task.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.plan.formats.json_edit import (
    require_json,
    to_json,
    with_item,
    with_member,
    without_item,
)
from ralph_ls.core.plan.formats.json_text import JsonNode, LineIndex, value_of
from ralph_ls.core.plan.formats.task_master.task_file import (
    BLOCKED_BY,
    FIRST_TAG,
    STATUS_OF,
    MasterTask,
    TaskFile,
    read_task_file,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task, TaskKind
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState

FATAL = frozenset({"json-syntax", "tasks-shape"})


def parse_text(text: str, tag: str | None = None) -> ParsedPlan:
    """Read the plan and its problems from a task file: of one tag, or of all; never raises."""
    known = read_task_file(text, tag)
    lines = LineIndex(text)
    problems: list[PlanProblem] = []
    spans: list[tuple[int, int]] = []
    for one in known.findings:
        number, span = lines.place(one.start, one.end)
        message = escape_surrogates(one.message)
        problems.append(PlanProblem(code=one.code, message=message, line=number + 1))
        spans.append(span)
    titles = {task.id: task.title for task in known.tasks}
    tasks = tuple(_to_task(task, titles, lines) for task in known.tasks)
    return ParsedPlan(plan=Plan(tasks=tasks), problems=tuple(problems), spans=tuple(spans))


def why_broken(text: str) -> str:
    """Why a text is no task file that a run could work on; empty where it is one."""
    fatal = (one for one in read_task_file(text).findings if one.code in FATAL)
    first = next(fatal, None)
    if first is None:
        return ""
    return f"line {text.count(chr(10), 0, first.start) + 1}: {first.message}"


def why_foreign(text: str) -> str:
    """Why a ``tasks.json`` is another program's: its entries lack what Task Master writes in each.

    One with broken JSON is Task Master's where it has the names of both fields, so that the error
    is reported.
    """
    known = read_task_file(text)
    if not known.lists and '"title"' in text and '"status"' in text:
        return ""
    if any({"title", "status"} <= task.fields.keys() for task in known.tasks):
        return ""
    return why_broken(text) or "no task has a title and a status, as in Task Master"


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The ids of the tasks that each depends on.

    A task waits for its subtasks, and they for what it waits for.
    """
    known = read_task_file(text).by_id()
    found: dict[str, tuple[str, ...]] = {}
    for task in known.values():
        above = () if task.parent is None else known[task.parent].needs
        needs = dict.fromkeys([*task.needs, *above, *task.parts])
        found[task.id] = tuple(name for name in needs if name in known and name != task.id)
    return {task_id: needs for task_id, needs in found.items() if needs}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task, as comparable text."""
    found = {}
    for task in read_task_file(text).tasks:
        words = [_value(task, key) for key in ("title", "description", "testStrategy")]
        found[task.id] = {
            Forbidden.CRITERIA: to_json(words),
            Forbidden.PRIORITY: to_json(_value(task, "priority")),
            Forbidden.DEPENDENCY: ", ".join(task.needs),
        }
    return found


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state; where it is blocked its details name the reason.

    A subtask that is open again opens its task, for nothing below a finished one is open.
    """
    del day
    task = _find(text, task_id)
    if task.state is not TaskState.BLOCKED or state is not TaskState.BLOCKED:
        text = _without_reason(text, task)
    parent = None if task.parent is None else _find(text, task.parent)
    if parent is not None and parent.state in SETTLED_STATES and state not in SETTLED_STATES:
        text = _with_value(text, parent.id, "status", STATUS_OF[TaskState.IN_PROGRESS])
    if _find(text, task_id).state is not state:
        text = _with_value(text, task_id, "status", STATUS_OF[state])
    if state is TaskState.BLOCKED and reason:
        text = with_note(_without_reason(text, _find(text, task_id)), task_id, BLOCKED_BY + reason)
    return text


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more line in a task's details, unless they end with it."""
    details = _value(_find(text, task_id), "details")
    lines = details.split("\n") if isinstance(details, str) and details else []
    if lines[-1:] == [note]:
        return text
    return _with_value(text, task_id, "details", "\n".join([*lines, note]))


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task is written as in ``other``; its subtasks stay as they are here.

    It is inserted behind its nearest earlier neighbour, or removed where ``other`` has none.
    """
    require_json(text)
    here, there = read_task_file(text), read_task_file(other)
    mine, theirs = here.by_id().get(task_id), there.by_id().get(task_id)
    if theirs is None:
        return text if mine is None else _without(here, mine)
    if mine is not None:
        raw = _raw_with_subtasks(there, theirs, here, mine)
        return text[: mine.node.start] + raw + text[mine.node.end :]
    return _with_inserted(here, there, theirs)


def _to_task(task: MasterTask, titles: Mapping[str, str], lines: LineIndex) -> Task:
    line = lines.number(task.node.start)
    start, end = lines.bounds(line)
    status, title = task.fields.get("status"), task.fields.get("title")
    return Task(
        id=task.id,
        title=task.title,
        state=task.state,
        priority=task.priority,
        section=_section(task, titles),
        optional=False,
        line=line,
        start=start,
        end=end,
        end_line=lines.number(task.node.end),
        depth=0 if task.parent is None else 1,
        parent=task.parent,
        blocked_by=task.reason,
        criteria=(task.test,) if task.test else (),
        kind=TaskKind.STORY,
        mark=None if status is None else (status.node.start, status.node.end),
        words=None if title is None else lines.words(title.node),
    )


def _section(task: MasterTask, titles: Mapping[str, str]) -> str:
    """Its task of a subtask; of a task its tag, unless that is the one that every file has."""
    if task.parent is not None:
        return titles[task.parent]
    return "" if task.tag == FIRST_TAG else task.tag


def _find(text: str, task_id: str) -> MasterTask:
    require_json(text)
    task = read_task_file(text).by_id().get(task_id)
    if task is None:
        raise RalphError(f"the plan has no task {task_id}; see the ids in: ralph plan")
    return task


def _value(task: MasterTask, key: str) -> object:
    member = task.fields.get(key)
    return None if member is None else value_of(member.node)


def _with_value(text: str, task_id: str, key: str, value: str) -> str:
    return with_member(text, _find(text, task_id).node, key, to_json(value))


def _without_reason(text: str, task: MasterTask) -> str:
    """The text without the reason at the end of a task's details."""
    details = _value(task, "details")
    lines = details.split("\n") if isinstance(details, str) else []
    if not lines or not lines[-1].startswith(BLOCKED_BY):
        return text
    return _with_value(text, task.id, "details", "\n".join(lines[:-1]))


def _list_with(known: TaskFile, task: MasterTask) -> tuple[JsonNode, int]:
    """The list that a task is in, and its place there."""
    parent = None if task.parent is None else known.by_id()[task.parent]
    array = known.lists[task.tag] if parent is None else parent.fields["subtasks"].node
    return array, array.elements.index(task.node)


def _without(known: TaskFile, task: MasterTask) -> str:
    return without_item(known.text, *_list_with(known, task))


def _raw_with_subtasks(
    there: TaskFile, theirs: MasterTask, here: TaskFile, mine: MasterTask
) -> str:
    """A task as it is there, with the subtasks that it has here."""
    start = theirs.node.start
    raw = there.text[start : theirs.node.end]
    own, known = mine.fields.get("subtasks"), theirs.fields.get("subtasks")
    if own is None:
        return raw
    written = here.text[own.node.start : own.node.end]
    if known is not None:
        return raw[: known.node.start - start] + written + raw[known.node.end - start :]
    inner = require_json(raw)
    return with_member(raw, inner, "subtasks", written)


def _with_inserted(here: TaskFile, there: TaskFile, theirs: MasterTask) -> str:
    """The text here with a task from there, behind the nearest earlier one that both have."""
    raw = there.text[theirs.node.start : theirs.node.end]
    old, nth = _list_with(there, theirs)
    array = here.lists.get(theirs.tag)
    if theirs.parent is not None:
        parent = here.by_id().get(theirs.parent)
        if parent is None:
            return with_task_of(here.text, there.text, theirs.parent)
        member = parent.fields.get("subtasks")
        if member is None or member.node.items is None:
            return with_member(here.text, parent.node, "subtasks", f"[{raw}]")
        array = member.node
    if array is None:
        return here.text
    if not array.elements:
        around = (
            there.text[old.start : old.elements[0].start],
            there.text[old.elements[-1].end : old.end],
        )
        return here.text[: array.start] + raw.join(around) + here.text[array.end :]
    earlier = {node.start for node in old.elements[:nth]}
    known = {task.id for task in there.tasks if task.node.start in earlier}
    at = {node.start: place for place, node in enumerate(array.elements)}
    places = [
        at[task.node.start] for task in here.tasks if task.id in known and task.node.start in at
    ]
    return with_item(here.text, array, max(places, default=None), raw)
