"""Lint remarks: the findings of a plan check and their places, as values for any viewer.

Severity is decided by the views.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.protocol.task_words import TaskState

if TYPE_CHECKING:
    from ralph_ls.protocol.plan import PlanProblem

UNFINISHED = frozenset({TaskState.TODO, TaskState.IN_PROGRESS, TaskState.BLOCKED})
"""Of these tasks something is still to be done or decided; the rest is not checked."""

LONGEST_NAME = 60
"""Characters of a title that a message repeats."""


class CheckCode(StrEnum):
    """The codes of the checks; they are stable, because users filter and search by them."""

    DUPLICATE_TASK = "duplicate-task"
    CRITERIA_VAGUE = "criteria-vague"
    CRITERIA_MISSING = "criteria-missing"
    CLOSE_WITHOUT_EVIDENCE = "close-without-evidence"
    MARKER_WITH_OPEN_TASKS = "marker-with-open-tasks"
    UNKNOWN_DEPENDENCY = "unknown-dependency"
    DEPENDENCY_CYCLE = "dependency-cycle"
    BLOCKED_WITHOUT_REASON = "blocked-without-reason"
    OPEN_UNDER_COMPLETED = "open-under-completed"
    CRITERIA_READ_AS_TASKS = "criteria-read-as-tasks"
    STATUS_NOT_READ = "status-not-read"
    TICKED_UNDER_OPEN = "ticked-under-open"
    STATUS_AGAINST_BOX = "status-against-box"
    DONE_WITHOUT_TICK = "done-without-tick"
    LINES_READ_AS_TASKS = "lines-read-as-tasks"
    LINES_READ_AS_DONE = "lines-read-as-done"
    HEADINGS_READ_AS_TASKS = "headings-read-as-tasks"
    HEADINGS_NOT_READ = "headings-not-read"
    LINES_NOT_READ = "lines-not-read"
    ROWS_NOT_READ = "rows-not-read"
    BOX_NOT_READ = "box-not-read"
    LINES_READ_AS_PROSE = "lines-read-as-prose"
    TABLE_READ_BY_COLUMN = "table-read-by-column"


class QuickFix(StrEnum):
    """The kinds of quick fixes of a remark."""

    REMOVE_LINE = "remove-line"
    """Remove the remark's own line."""
    ADD_REASON = "add-reason"
    """Add a line in which the user writes what blocks the task."""
    TICK = "tick"
    ADD_BOXES = "add-boxes"
    """Write a box wherever the reading is a guess."""
    REPLACE = "replace"
    """Replace the marked text."""
    INSERT = "insert"
    """Insert a text in front of the marked text, and of the related places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSpan:
    """A part of one line: ``line`` from 0, ``start`` and ``end`` in characters of that line."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedSpan:
    """Another place that a remark is about."""

    place: LineSpan
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRemark:
    """One finding in a plan that parses."""

    code: CheckCode
    message: str
    """For the user: what it is, and what to do."""
    place: LineSpan
    related: tuple[RelatedSpan, ...] = ()
    task: str | None = None
    """The id of the task that it is about, where it is about one."""
    repair: QuickFix | None = None
    """None where only the user can know the intention."""
    replacement: str = ""
    """The new text of ``QuickFix.REPLACE`` and ``QuickFix.INSERT``."""


def title_span(task: Task, text: str) -> LineSpan:
    """The span of a task's title: its first line without marker and box."""
    if task.words is not None:
        number, first, last = task.words
        return LineSpan(line=number, start=first, end=last)
    line = text[task.start : task.end]
    marks = find_marks(line)
    end = len(line.rstrip())
    start = len(line) - len(line.lstrip()) if marks is None else marks.text
    return LineSpan(line=task.line, start=min(start, end), end=end)


def display_title(title: str) -> str:
    """A title as messages name it: short, and fit for any output."""
    shown = title if len(title) <= LONGEST_NAME else f"{title[: LONGEST_NAME - 1]}…"
    return f"“{escape_surrogates(shown)}”"


def group_problems(problems: Sequence[PlanProblem]) -> tuple[tuple[int, PlanProblem], ...]:
    """The problems with their indices, by line; of more than three with one code only the first.

    Its message then has their number and lines, so that one cause is one problem.
    """
    alike: dict[str, list[int]] = {}
    for problem in problems:
        alike.setdefault(problem.code, []).append(problem.line)
    found: list[tuple[int, PlanProblem]] = []
    for index, problem in enumerate(problems):
        lines = alike[problem.code]
        if len(lines) <= _MOST_ALIKE:
            found.append((index, problem))
        elif problem.code not in {one.code for _, one in found}:
            message = f"{problem.message} ({len(lines)} like this{_places(lines)})"
            found.append((index, problem.model_copy(update={"message": message})))
    return tuple(found)


def _places(lines: Sequence[int]) -> str:
    """Where several problems are; nothing where they have no lines, as in a tracker."""
    if len(set(lines)) == 1:
        return ""
    shown = ", ".join(map(str, lines[:_MOST_LINES]))
    more = len(lines) - _MOST_LINES
    return f", on lines {shown}" + (f" and {more} more" if more > 0 else "")


_MOST_ALIKE = 3
_MOST_LINES = 8
_MOST_NAMES = 3


def first_names(names: Sequence[str]) -> str:
    """The first few of several titles, as messages name them: ``a, b, c and 2 more``."""
    shown = ", ".join(escape_surrogates(name[:LONGEST_NAME]) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
