"""Operations on a story of BMAD: the boxes of its section ``Tasks / Subtasks``.

The section is read and edited as any list of tasks in Markdown. Boxes elsewhere, such as the
suggestions of a review, are no tasks; open ones are reported while the story is not done. A story
whose status is Done is finished whatever its boxes. A document without that section is read as a
whole.

A task that is labelled with a number, ``Task 1``, ``1.2``, is known by that number, so that an
agent that rewords it is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ralph_ls.core.plan.edit.task_edits import (
    add_task_note,
    block_task,
    tick_task,
    unblock_task,
    untick_task,
)
from ralph_ls.core.plan.formats.task_lines import (
    copy_task_lines,
    find_task,
    lines_outside_fences,
    own_span,
    unique_id,
)
from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.lint.remarks import (
    UNFINISHED,
    CheckCode,
    LineSpan,
    LintRemark,
    first_names,
    title_span,
)
from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.core.plan.parse.words.state_words import read_state
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState

_HEADING = re.compile(r"\ufeff?(?P<level>#{1,6})[ \t]+(?P<title>.*\S)[ \t]*")
_TASKS = re.compile(
    r"(?:\W|[0-9])*(?:(?:dev(?:elopment)?|implementation|story)[ \t]+)?tasks"
    r"(?:[ \t]*(?:/|&|and)[ \t]*sub-?tasks)?\W*(?:\(.*\)\W*)?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r"\ufeff?[ \t]*(?:#{1,6}[ \t]+|[-*+>][ \t]+)?(?:\*\*)?(?:story[ \t]+)?status"
    r"(?:\*\*)?[ \t]*(?P<colon>:)?(?:\*\*)?[ \t]*(?P<value>.*?)[ \t]*",
    re.IGNORECASE,
)
_STORY = re.compile(r".*\bstory\b(?P<numbered>[ \t:#-]*[0-9]+[.-][0-9]+)?.*", re.IGNORECASE)
_BOX = re.compile(r"[ \t]*(?:[-*+]|[0-9]+[.)])[ \t]+\[(?P<mark>[ xX])\][ \t]+\S.*")
_CRITERIA = re.compile(r".*(?:criteria|definition of (?:done|ready)|\bdod\b).*", re.IGNORECASE)
"""Sections whose boxes say when a story is done."""
_LABEL = re.compile(
    r"(?:sub-?)?task[ \t]*#?(?P<nth>[0-9]+(?:\.[0-9]+)*)\b"
    r"|(?P<part>[0-9]+(?:\.[0-9]+)+)[.:)]?[ \t]",
    re.IGNORECASE,
)
_EARLY = re.compile(r"(?i:draft|approved|ready(?:[ -]for[ -]dev\w*)?|to[ -]?do|in[ -]?progress)\W*")
"""Statuses from before the tasks were done."""
_IN_PROGRESS = "InProgress"
_MARKS = {TaskState.IN_PROGRESS: "~", TaskState.SKIPPED: "-"}


class _OtherBox(NamedTuple):
    """An open box outside of the tasks."""

    line: int
    span: tuple[int, int]
    section: str


class _Story(NamedTuple):
    """Where the parts of a story are, in characters of its text."""

    start: int
    end: int
    """The section of its tasks; the whole text where there is none."""
    status: tuple[int, int] | None
    """The words of its status."""
    is_done: bool
    others: tuple[_OtherBox, ...]
    has_section: bool
    has_box: bool
    has_number: bool
    """Whether its title is ``Story 1.2: …``."""
    has_story: bool
    """Whether a heading names a story."""


def parse_text(text: str) -> ParsedPlan:
    """Read the tasks of a story; never raises."""
    story = _read(text)
    read = parse_markdown(_masked(text, story))
    plan = Plan(tasks=_tasks_of(story, read))
    return ParsedPlan(plan=plan, problems=tuple(read.problems), spans=tuple(read.spans))


def why_broken(text: str) -> str:
    """Why a text is no story; empty where it is one."""
    story = _read(text)
    if story.has_section or story.has_box:
        return ""
    return "it has no section Tasks / Subtasks; write it in BMAD with: *draft"


def why_foreign(text: str) -> str:
    """Why a document among the stories of BMAD is none; empty where it is one."""
    story = _read(text)
    if story.has_box and (story.has_section or story.has_story):
        return ""
    return "no heading names a story, or it has no boxes"


def is_surely_story(text: str) -> bool:
    """Whether a document is a story of BMAD by its title and its section of tasks."""
    story = _read(text)
    return story.has_number and story.has_section


def needs_of(text: str) -> Mapping[str, tuple[str, ...]]:
    """The order of the text is that of the work: nothing depends on anything else."""
    del text
    return {}


def protected_fields(text: str) -> Mapping[str, Mapping[Forbidden, str]]:
    """What an agent may not change of each task: its title and its criteria."""
    return {
        task.id: {Forbidden.CRITERIA: "\n".join([task.title, *task.criteria])}
        for task in _tasks_in(text)
    }


def with_state(text: str, task_id: str, state: TaskState, reason: str = "", day: str = "") -> str:
    """The text with one task in a state; the others of a finished story keep theirs."""
    del day
    tasks = _tasks_in(text)
    task = find_task(tasks, task_id)
    if task.state is state and not reason:
        return text
    index = tasks.index(task)
    if _read(text).is_done:
        text = _with_status(text)
        for nth, one in enumerate(_tasks_in(text)):
            if nth != index and one.state is not tasks[nth].state:
                text = _with_nth(text, nth, TaskState.DONE)
    return _with_nth(text, index, state, reason)


def with_note(text: str, task_id: str, note: str) -> str:
    """The text with one more item below a task, unless it has it."""
    tasks = _tasks_in(text)
    index = tasks.index(find_task(tasks, task_id))
    return _edited(text, index, lambda part, one: add_task_note(part, one, note))


def with_task_of(text: str, other: str, task_id: str) -> str:
    """The text in which one task's lines are as in ``other``.

    They take the place of a task that only this text has there: the same one, reworded.
    """
    here, there = _tasks_in(text), _tasks_in(other)
    ids = [one.id for one in there]
    if task_id not in ids or task_id in {one.id for one in here}:
        return copy_task_lines(_tasks_in, text, other, task_id)
    known = [one.id for one in here]
    before = [one for one in ids[: ids.index(task_id)] if one in known]
    at = known.index(before[-1]) + 1 if before else 0
    if at < len(here) and here[at].id not in ids:
        start, end = own_span(text, here, here[at])
        text = text[:start] + text[end:]
    return copy_task_lines(_tasks_in, text, other, task_id)


def check_story(text: str, marker: str) -> tuple[LintRemark, ...]:
    """The remarks on the tasks, on boxes that are none, and on a status that disagrees."""
    story = _read(text)
    masked = _masked(text, story)
    read = parse_markdown(masked)
    if story.is_done:
        left = [one for one in read.plan.tasks if one.state in UNFINISHED and not one.optional]
        return (_open_in_done(left, text),) if left else ()
    ids = {
        known.id: one.id for known, one in zip(read.plan.tasks, _tasks_of(story, read), strict=True)
    }
    found = tuple(
        replace(one, task=ids.get(one.task or ""))
        for one in check_markdown(read, masked, marker=marker)
    )
    others = (_not_read(story.others),) if story.others else ()
    is_open = any(one.state in UNFINISHED and not one.optional for one in read.plan.tasks)
    return (*found, *others, *(() if is_open or not ids else _older_status(story, text)))


def _older_status(story: _Story, text: str) -> Iterator[LintRemark]:
    """The status of a story whose tasks are all done, if it is from before."""
    status = "" if story.status is None else text[slice(*story.status)]
    if story.status is None or _EARLY.fullmatch(status) is None:
        return
    at = story.status[0]
    line, start = text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1
    yield LintRemark(
        code=CheckCode.TICKED_UNDER_OPEN,
        message=(
            f"the status of the story is {escape_surrogates(status)}, and all its tasks are done; "
            "set it to Ready for Review or Done, or add what is missing"
        ),
        place=LineSpan(line=line, start=start, end=start + len(status)),
    )


def _open_in_done(tasks: list[Task], text: str) -> LintRemark:
    one = len(tasks) == 1
    return LintRemark(
        code=CheckCode.OPEN_UNDER_COMPLETED,
        message=(
            f"{len(tasks)} open task{'' if one else 's'} of a story that is done "
            f"{'is' if one else 'are'} read as done ({first_names([t.title for t in tasks])}); "
            f"tick {'it' if one else 'them'}, or change the status of the story"
        ),
        place=title_span(tasks[0], text),
    )


def _not_read(boxes: tuple[_OtherBox, ...]) -> LintRemark:
    one = len(boxes) == 1
    names = first_names(list(dict.fromkeys(box.section for box in boxes)))
    return LintRemark(
        code=CheckCode.BOX_NOT_READ,
        message=(
            f"{len(boxes)} open box{'' if one else 'es'} outside Tasks / Subtasks "
            f"{'is no task' if one else 'are no tasks'} (section {names}); "
            f"write {'it' if one else 'each that is one'} below Tasks / Subtasks to have it done"
        ),
        place=LineSpan(line=boxes[0].line, start=boxes[0].span[0], end=boxes[0].span[1]),
    )


def _tasks_in(text: str) -> tuple[Task, ...]:
    return tuple(parse_text(text).plan.tasks)


def _tasks_of(story: _Story, read: ParsedPlan) -> tuple[Task, ...]:
    """The tasks with their own ids, and done where the story is."""
    ids: dict[str, str] = {}
    used: set[str] = set()
    for task in read.plan.tasks:
        label = _LABEL.match(task.title)
        ids[task.id] = unique_id((label["nth"] or label["part"]) if label else task.id, used)
    return tuple(
        task._replace(
            id=ids[task.id],
            parent=None if task.parent is None else ids[task.parent],
            state=TaskState.DONE if story.is_done and task.state in UNFINISHED else task.state,
            blocked_by=None if story.is_done else task.blocked_by,
        )
        for task in read.plan.tasks
    )


def _masked(text: str, story: _Story) -> str:
    """The text with blanks for everything but the section of the tasks: places stay the same."""
    blank = _SHOWN.sub(" ", text[: story.start])
    return blank + text[story.start : story.end] + _SHOWN.sub(" ", text[story.end :])


_SHOWN = re.compile(r"[^\r\n]")


def _with_nth(text: str, index: int, state: TaskState, reason: str = "") -> str:
    """The text with the nth task in a state, by way of being open."""
    task = _tasks_in(text)[index]
    if task.state is TaskState.BLOCKED:
        text = _edited(text, index, unblock_task)
    elif task.state is TaskState.DONE:
        text = _edited(text, index, untick_task)
    elif task.state is not TaskState.TODO:
        text = _with_box(text, task.id, " ")
    if state is TaskState.DONE:
        return _edited(text, index, tick_task)
    if state is TaskState.BLOCKED:
        return _edited(text, index, lambda part, one: block_task(part, one, reason or "?"))
    return _with_box(text, task.id, _MARKS[state]) if state in _MARKS else text


def _edited(text: str, index: int, edit: Callable[[str, str], str]) -> str:
    """The text with its section of tasks changed: by an edit of the nth task in Markdown."""
    story = _read(text)
    part = text[story.start : story.end]
    task = parse_markdown(part).plan.tasks[index]
    return text[: story.start] + edit(part, task.id) + text[story.end :]


def _with_box(text: str, task_id: str, mark: str) -> str:
    """The text with another mark in a task's box; raises RalphError where it has none."""
    task = find_task(_tasks_in(text), task_id)
    if task.mark is None:
        raise RalphError(f"the task {task_id} has no box; write one before its title: [ ]")
    return text[: task.mark[0]] + mark + text[task.mark[1] :]


def _with_status(text: str) -> str:
    """The text of a finished story that is taken up again."""
    start, end = _read(text).status or (0, 0)
    return text[:start] + _IN_PROGRESS + text[end:]


def _read(text: str) -> _Story:
    """The parts of a story; total."""
    reader = _Reader()
    for number, start, line in lines_outside_fences(text):
        if line is not None:
            reader.take(number, start, line)
    return reader.story(text)


class _Reader:
    """What the lines so far are about."""

    def __init__(self) -> None:
        self._section = ""
        self._tasks: tuple[int, int] | None = None
        """Where the section of the tasks begins, and the level of its heading."""
        self._end: int | None = None
        self._status: tuple[int, int] | None = None
        self._value = ""
        self._is_status_next = False
        self._others: list[_OtherBox] = []
        self._has_box = self._has_number = self._has_story = False

    def take(self, number: int, start: int, line: str) -> None:
        """Take one line outside of fences."""
        heading = _HEADING.fullmatch(line)
        if self._status is None:
            self._take_status(start, line, is_heading=heading is not None)
        if heading is not None:
            self._take_heading(start, heading)
        elif box := _BOX.fullmatch(line):
            self._has_box = True
            is_aside = self._tasks is None or self._end is not None
            if is_aside and box["mark"] == " " and not _CRITERIA.fullmatch(self._section):
                span = (len(line) - len(line.lstrip()), len(line.rstrip()))
                self._others.append(_OtherBox(number, span, self._section))

    def _take_heading(self, start: int, heading: re.Match[str]) -> None:
        level, title = len(heading["level"]), heading["title"]
        if self._tasks is not None and self._end is None and level <= self._tasks[1]:
            self._end = start
        if self._tasks is None and _TASKS.fullmatch(title):
            self._tasks = start, level
        self._section = escape_surrogates(fold_whitespace(title))
        if story := _STORY.fullmatch(title):
            self._has_story = True
            self._has_number |= story["numbered"] is not None

    def _take_status(self, start: int, line: str, *, is_heading: bool) -> None:
        words = line.strip()
        if self._is_status_next and words:
            self._is_status_next = False
            if not is_heading:
                at = start + line.index(words)
                self._status, self._value = (at, at + len(words)), words
                return
        found = _STATUS.fullmatch(line)
        if found is None:
            return
        if found["value"].strip("*_ "):
            if found["colon"]:
                at = start + found.start("value")
                self._status, self._value = (at, at + len(found["value"])), found["value"]
        elif is_heading:
            self._is_status_next = True

    def story(self, text: str) -> _Story:
        """The parts, when every line is taken."""
        start, _ = self._tasks or (0, 0)
        end = len(text) if self._end is None else self._end
        return _Story(
            start=start,
            end=end,
            status=self._status,
            is_done=self._status is not None and read_state(self._value) is TaskState.DONE,
            others=tuple(self._others) if self._tasks is not None else (),
            has_section=self._tasks is not None,
            has_box=self._has_box,
            has_number=self._has_number,
            has_story=self._has_story,
        )
