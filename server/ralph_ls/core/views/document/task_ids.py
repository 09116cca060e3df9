"""Task ids: their occurrences in the plan, the progress file and the specifications.

In a line that names dependencies (``Needs:``, ``Blocked by:``, ``Depends on:`` and the like) any id
of the plan counts, in any case. Elsewhere only an explicit id does, with the same case; in a
specification only in the front matter, since its text may contain ids of other kinds. Fences,
comments, paths and addresses are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.parse.titles import read_title
from ralph_ls.core.views.document.page import Page, PageKind
from ralph_ls.core.views.model.words import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdUse:
    """One occurrence of an id."""

    id: str
    """Id of the task, as the plan spells it."""
    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    is_own: bool
    """It is the task's own id, not a reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTaskIds:
    """The ids that can be referred to; of tasks with the same id the first one counts."""

    tasks: Mapping[str, Task]
    """By id, from the plan and the progress file."""
    folded: Mapping[str, str]
    """Case-folded id to id."""


def known_task_ids(*plans: Plan) -> KnownTaskIds:
    """The ids of all tasks; earlier plans take precedence."""
    tasks: dict[str, Task] = {}
    for plan in plans:
        for task in plan.tasks:
            tasks.setdefault(task.id, task)
    folded: dict[str, str] = {}
    for task_id in tasks:
        folded.setdefault(task_id.casefold(), task_id)
    return KnownTaskIds(tasks=tasks, folded=folded)


def is_written_id(task_id: str) -> bool:
    """Whether the id is explicit; generated ones are derived from titles, in lower case."""
    return task_id[:1].isupper()


def task_id_uses(page: Page, known: KnownTaskIds) -> tuple[TaskIdUse, ...]:
    """All occurrences of ids in a page, in order of the text. Total and linear."""
    own = {task.line: task for task in page.plan.tasks}
    return tuple(
        use
        for number in range(_n_lines(page))
        for use in _uses_in(page, number, known, own.get(number))
    )


def task_id_at(page: Page, known: KnownTaskIds, line: int, column: int) -> TaskIdUse | None:
    """The occurrence at a cursor or directly before it; scans only that line."""
    if not 0 <= line < _n_lines(page):
        return None
    own = next((task for task in page.plan.tasks if task.line == line), None)
    found = _uses_in(page, line, known, own)
    return next((use for use in found if use.start <= column <= use.end), None)


def rename_refusal(old: str, new: str, known: KnownTaskIds) -> str | None:
    """Why a task cannot be renamed to ``new``, for the user; None where it can."""
    if not is_written_id(old):
        return "this id comes from the task's title; write one before the title, as in US-001: …"
    if read_title(f"{new}: x").explicit_id != new:
        shown = one_line(new, limit=_SHOWN)
        return (
            f"{shown!r} cannot be a task id; use capital letters, a hyphen and a number, as in "
            "US-001"
        )
    if new != old and new in known.tasks:
        title = one_line(known.tasks[new].title, limit=_SHOWN)
        return f"{new} is already the id of another task ({title}); choose a different one"
    return None


def naming_spans(line: str, *, is_task: bool) -> Iterator[tuple[int, int]]:
    """The parts of a line that name dependencies, in characters of the line.

    ``is_task``: a task begins in the line, so that only text in brackets counts.
    """
    if not _MAY_NAME.search(line):
        return
    if is_task:
        for bracket in _IN_BRACKETS.finditer(line):
            yield bracket.span(1)
        return
    marks = find_marks(line)
    begin = len(line) - len(line.lstrip()) if marks is None else marks.text
    field = _FIELD.match(line, begin)
    if field is not None:
        yield field.end(), len(line)


_SHOWN = 60
_NAMES = r"(?:blocked[ \t]+by|needs|depends[ \t_-]?on|depends|dependenc(?:y|ies)|after)"
_FIELD = re.compile(rf"[*_]{{0,3}}{_NAMES}[*_]{{0,3}}[ \t]*:[*_]{{0,3}}", re.IGNORECASE)
_MAY_NAME = re.compile(r"needs|blocked|depend|after", re.IGNORECASE)
_IN_BRACKETS = re.compile(
    rf"[(\[][*_]{{0,3}}(?:{_NAMES}|blocked)(?:[ \t]*:|[ \t])([^()\[\]]*)", re.IGNORECASE
)
_BEFORE = r"(?<![\w./\\-])"
_BEHIND = r"(?![\w/\\]|[.-]\w)"
_ID = re.compile(rf"{_BEFORE}[A-Z][A-Z0-9]*-[0-9]+(?:-[0-9]+)?{_BEHIND}")
_ANY_ID = re.compile(rf"{_BEFORE}[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*{_BEHIND}")
_REPEAT = re.compile(r"([A-Z][A-Z0-9]*-[0-9]+)-[0-9]+")


def _n_lines(page: Page) -> int:
    """Number of lines of a page that are scanned."""
    match page.kind:
        case PageKind.INDEX:
            return 0
        case PageKind.SPEC:
            return page.outline.front_matter.end_line + 1
        case _:
            return len(page.outline.lines)


def _uses_in(
    page: Page, number: int, known: KnownTaskIds, task: Task | None
) -> tuple[TaskIdUse, ...]:
    """The occurrences in one line; ``task`` is the one that begins in it."""
    if page.outline.is_verbatim(number):
        return ()
    line = page.outline.lines[number]
    own = None if task is None else _own_place(page, line, task)
    places: dict[int, TaskIdUse] = {}
    for found in _ID.finditer(line):
        start, end = found.span()
        if task is not None and start == own:
            places[start] = TaskIdUse(id=task.id, line=number, start=start, end=end, is_own=True)
        elif found[0] in known.tasks:
            places[start] = TaskIdUse(id=found[0], line=number, start=start, end=end, is_own=False)
    for begin, upto in naming_spans(line, is_task=task is not None):
        for found in _ANY_ID.finditer(line, begin, upto):
            meant = known.folded.get(found[0].casefold())
            start, end = found.span()
            if meant is not None and start not in places:
                places[start] = TaskIdUse(id=meant, line=number, start=start, end=end, is_own=False)
    return tuple(places[start] for start in sorted(places))


def _own_place(page: Page, line: str, task: Task) -> int | None:
    """Column of a task's own id, at the beginning of its title.

    A second task with the same id gets the id ``US-001-2`` and is a separate task, except in the
    progress file, which may list a task twice.
    """
    repeated = _REPEAT.fullmatch(task.id)
    if repeated is not None and page.kind is not PageKind.PLAN:
        return None
    written = task.id if repeated is None else repeated[1]
    own = (found.start() for found in _ID.finditer(line) if found[0] == written)
    return next(own, None)
