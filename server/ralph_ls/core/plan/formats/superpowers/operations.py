"""Operations on a plan of superpowers: ``### Task 1: Title`` with its steps as boxes.

A task is done when all its steps are ticked, and begun when one is. One without boxes is done when
its heading says so. In a plan without such headings each box is a task, and those nested in it are
its steps. The last line of a blocked task has the reason. A box in a fence is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ralph_ls.core.plan.formats.task_lines import (
    BLOCKED_BY,
    copy_task_lines,
    find_task,
    lines_outside_fences,
    unique_id,
    with_last_line,
    without_reason,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task, TaskKind
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace, title_id
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState

_TASK = re.compile(
    r"\ufeff?(?P<level>#{2,4})[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(?P<kind>Task|Chunk)[ \t]+"
    r"(?P<nth>[0-9]+(?:\.[0-9]+)*[a-z]?)(?:[ \t]*[:.\u2014\u2013-][ \t]*|[ \t]+)(?P<title>.*?)"
    r"(?P<done>[ \t]*(?:✅|\((?:done|completed?)\)|\[(?:done|completed?)\]))?[ \t]*",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"[ \t]*(?:✅|\((?:done|completed?)\)|\[(?:done|completed?)\])[ \t]*$", re.IGNORECASE
)
_MARKED = re.compile(r"^(\ufeff?#+[ \t]+)\[[xX]\]")
_HEADING = re.compile(r"\ufeff?(?P<level>#{1,6})[ \t]+(?P<title>.*\S)[ \t]*")
_BOX = re.compile(r"[ \t]*(?:[-*+]|[0-9]+[.)])[ \t]+\[(?P<mark>[ xX])\][ \t]+(?P<title>.*\S.*)")


_BELOW_HEADINGS = 7
"""The level of a box: any heading ends its task."""


@dataclass(slots=True, kw_only=True)
class _PlanTask:
    id: str
    title: str
    section: str
    line: int
    start: int
    end: int
    level: int
    words: tuple[int, int]
    is_marked: bool
    end_line: int = 0
    steps: list[tuple[str, int, bool]] = field(default_factory=list)
    """Title, place of the mark, and whether it is ticked."""
    reason: str | None = None
    is_box: bool = False
    """True for a box outside tasks, which is its own first step."""

    @property
    def state(self) -> TaskState:
        n_done = sum(is_done for _, _, is_done in self.steps)
        if self.is_marked or (self.steps and n_done == len(self.steps)):
            return TaskState.DONE
        if self.reason is not None:
            return TaskState.BLOCKED
        return TaskState.IN_PROGRESS if n_done else TaskState.TODO


def parse_text(text: str) -> ParsedPlan:
    """Read the tasks of a plan; never raises."""
    return ParsedPlan(plan=Plan(tasks=_tasks_in(text)))


def why_broken(text: str) -> str:
    """Why a text is no plan of superpowers; empty where it is one."""
    if _read(text):
        return ""
    return "it has no task; begin each with a heading such as: ### Task 1: Pay by card"


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The order of the text is that of the work: nothing depends on anything else."""
    del text
    return {}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task: its title and its steps."""
    return {
        task.id: {Forbidden.CRITERIA: "\n".join([task.title, *(step[0] for step in task.steps)])}
        for task in _read(text)
    }


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state: all its steps ticked, or none."""
    del day
    found = {task.id: task for task in _read(text)}.get(task_id)
    if found is None or state is TaskState.SKIPPED:
        find_task(_tasks_in(text), task_id)
        raise RalphError(
            f"this plan has no form for a skipped task; skip {task_id} for this run: ralph skip ID"
        )
    if found.state is state and not reason:
        return text
    if state is TaskState.BLOCKED:
        text = without_reason(_tasks_in, text, task_id)
        if found.state is TaskState.DONE:
            text = with_state(text, task_id, TaskState.TODO)
        return with_last_line(_tasks_in, text, task_id, BLOCKED_BY + (reason or "?"))
    text = without_reason(_tasks_in, text, task_id)
    task = next(task for task in _read(text) if task.id == task_id)
    if state is TaskState.IN_PROGRESS and (task.state is state or len(task.steps) < 2):
        return text
    return _with_steps(text, task, state)


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more line at the end of a task, unless it ends with it."""
    return with_last_line(_tasks_in, text, task_id, note)


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task, with its steps, is as in ``other``."""
    return copy_task_lines(_tasks_in, text, other, task_id)


def _with_steps(text: str, task: _PlanTask, state: TaskState) -> str:
    """The text with the boxes as a state has them: all ticked, the first one, or none."""
    n_ticked = {TaskState.DONE: len(task.steps), TaskState.IN_PROGRESS: 1}.get(state, 0)
    for nth, (_, mark, _) in enumerate(task.steps):
        text = f"{text[:mark]}{'x' if nth < n_ticked else ' '}{text[mark + 1 :]}"
    heading = text[task.start : task.end]
    if task.is_marked:
        heading = _MARKED.sub(r"\1[ ]", _DONE.sub("", heading))
    elif state is TaskState.DONE and not task.steps:
        heading = f"{heading.rstrip()} ✅"
    return text[: task.start] + heading + text[task.end :]


def _tasks_in(text: str) -> tuple[Task, ...]:
    return tuple(
        Task(
            id=task.id,
            title=task.title,
            state=task.state,
            priority=None,
            section=task.section,
            optional=False,
            line=task.line,
            start=task.start,
            end=task.end,
            end_line=task.end_line,
            depth=0,
            parent=None,
            blocked_by=task.reason if task.state is TaskState.BLOCKED else None,
            criteria=tuple(step[0] for step in task.steps[task.is_box :]),
            kind=TaskKind.ITEM if task.is_box else TaskKind.HEADING,
            words=(task.line, *task.words),
        )
        for task in _read(text)
    )


def _read(text: str) -> tuple[_PlanTask, ...]:
    """The tasks, each with the lines up to the next heading of its level or above."""
    for takes_boxes in (False, True):
        reader = _Reader(takes_boxes=takes_boxes)
        for number, start, line in lines_outside_fences(text):
            reader.take(number, start, line)
        if reader.tasks:
            return tuple(reader.tasks)
    return ()


class _Reader:
    """The tasks of the lines so far."""

    def __init__(self, *, takes_boxes: bool) -> None:
        self._takes_boxes = takes_boxes
        self.tasks: list[_PlanTask] = []
        self._task: _PlanTask | None = None
        self._section = ""
        self._ids: set[str] = set()

    def take(self, number: int, start: int, line: str | None) -> None:
        if line is None:
            if self._task is not None:
                self._task.end_line = number
            return
        if heading := _HEADING.fullmatch(line):
            self._take_heading(heading, (number, start, line))
        if self._takes_boxes and (own := _BOX.fullmatch(line)) and line[0] not in " \t":
            self._task = _box_task(own, self._ids, self._section, (number, start, line))
            self.tasks.append(self._task)
        task = self._task
        if task is None:
            return
        if box := _BOX.fullmatch(line):
            title = escape_surrogates(fold_whitespace(box["title"].replace("**", "")))
            task.steps.append((title, start + box.start("mark"), box["mark"] != " "))
        if words := line.strip():
            task.end_line = number
            is_reason = words.startswith(BLOCKED_BY)
            task.reason = fold_whitespace(words.removeprefix(BLOCKED_BY)) if is_reason else None

    def _take_heading(self, heading: re.Match[str], place: tuple[int, int, str]) -> None:
        found = _TASK.fullmatch(place[2])
        if self._task is not None and len(heading["level"]) <= self._task.level:
            self._task = None
        if found is not None:
            self._task = _begun(found, self._ids, self._section, place)
            self.tasks.append(self._task)
        elif self._task is None:
            self._section = escape_surrogates(fold_whitespace(heading["title"]))


def _begun(
    found: re.Match[str], ids: set[str], section: str, place: tuple[int, int, str]
) -> _PlanTask:
    number, start, line = place
    task_id = unique_id(found["nth"], ids)
    title = escape_surrogates(fold_whitespace(found["title"]))
    return _PlanTask(
        id=task_id,
        title=title or f"Task {task_id}",
        section=section,
        line=number,
        start=start,
        end=start + len(line),
        level=len(found["level"]),
        words=found.span("title"),
        is_marked=bool(found["done"]) or (found["box"] or " ") in "xX",
    )


def _box_task(
    found: re.Match[str], ids: set[str], section: str, place: tuple[int, int, str]
) -> _PlanTask:
    number, start, line = place
    title = escape_surrogates(fold_whitespace(found["title"].replace("**", "")))
    return _PlanTask(
        id=unique_id(title_id(title), ids),
        title=title,
        section=section,
        line=number,
        start=start,
        end=start + len(line),
        level=_BELOW_HEADINGS,
        words=found.span("title"),
        is_marked=False,
        is_box=True,
    )
