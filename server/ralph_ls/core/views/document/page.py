"""Page: a Markdown file of the loop (plan, progress, specification) with its outline and its tasks.

Symbols, folds, links, completions and task ids start from this one value, so that they agree about
headings and tasks. Columns are characters of the line.

The outline finds headings, fences, comments and front matter in one pass, by the rules of the plan
parser, which itself keeps no headings. The lines of tasks show where an unclosed fence ends, since
a fence contains no task.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.markdown_fences import CODE_INDENT, COMMENT, is_closing, opening_mark
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.front_matter import FrontMatter, read_front_matter
from ralph_ls.core.plan.parse.lines import (
    ListMarks,
    advance_column,
    find_marks,
    is_thematic_break,
    lines_of,
    without_wrapping,
)
from ralph_ls.core.plan.parse.titles import fold_whitespace, strip_comments
from ralph_ls.core.plan.specs import FOLDER, INDEX, is_spec


class PageBlockKind(StrEnum):
    """Kind of a block that is not prose."""

    FRONT_MATTER = "frontMatter"
    FENCE = "fence"
    COMMENT = "comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading and its section."""

    line: int
    """From 0."""
    level: int
    """1 to 6."""
    title: str
    """Text without the marks; may be empty."""
    start: int
    """Start of its text, in characters of the line."""
    end: int
    last_line: int
    """Last line of its section, from 0, including subsections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageBlock:
    """A block of lines that is not prose."""

    kind: PageBlockKind
    line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Headings and blocks of one text, in order."""

    lines: tuple[str, ...]
    """Lines without their ends."""
    headings: tuple[Heading, ...]
    blocks: tuple[PageBlock, ...]
    front_matter: FrontMatter

    def is_verbatim(self, line: int) -> bool:
        """Whether a line is part of a fence or a comment, including their first and last line."""
        block = self.block_at(line)
        return block is not None and block.kind is not PageBlockKind.FRONT_MATTER

    def block_at(self, line: int) -> PageBlock | None:
        """The block that contains a line, if there is one."""
        index = bisect_right(self.blocks, line, key=lambda block: block.line) - 1
        block = self.blocks[index] if index >= 0 else None
        return block if block is not None and line <= block.end_line else None

    def last_text_line(self, first: int, last: int) -> int:
        """The last line from ``first`` to ``last`` that is not blank."""
        while last > first and not self.lines[last].strip():
            last -= 1
        return last


def read_outline(text: str, task_lines: Collection[int]) -> Outline:
    """Outline of a Markdown text. Total and linear.

    ``task_lines`` are the lines on which a task begins, from 0.
    """
    lines = tuple(line for _, line in lines_of(text))
    matter = read_front_matter(text)
    if any(line <= matter.end_line for line in task_lines):
        # With tasks in it, it is a part of the plan between two horizontal rules.
        matter = FrontMatter()
    scan = _Scan(task_lines)
    if matter.is_there:
        scan.blocks.append(
            PageBlock(kind=PageBlockKind.FRONT_MATTER, line=0, end_line=matter.end_line)
        )
    bare = without_wrapping(text)
    shown = lines if bare is text else [line for _, line in lines_of(bare)]
    for number in range(matter.end_line + 1, len(lines)):
        scan.take(number, shown[number])
    scan.finish(len(lines) - 1)
    return Outline(
        lines=lines,
        headings=_with_last_lines(scan.headings, len(lines) - 1),
        blocks=tuple(scan.blocks),
        front_matter=matter,
    )


def headings_of_tasks(text: str, tasks: Sequence[Task]) -> Mapping[str, tuple[int, str]]:
    """The line and the title of the heading of each task by its id; of those that have one.

    A title that several headings have comes behind that of the heading around: ``Phase 1 > Tasks``.
    """
    headings = read_outline(text, [task.line for task in tasks]).headings
    repeated = Counter(heading.title for heading in headings)
    found: dict[str, tuple[int, str]] = {}
    path: list[Heading] = []
    coming = iter(headings)
    following = next(coming, None)
    for task in tasks:
        while following is not None and following.line < task.line:
            path = [one for one in path if one.level < following.level] + [following]
            following = next(coming, None)
        own = next((n for n, one in enumerate(path) if one.title == task.section), None)
        if own is not None:
            is_clear = own == 0 or path[own - 1].level == 1 or repeated[task.section] < _SEVERAL
            title = task.section if is_clear else f"{path[own - 1].title} > {task.section}"
            found[task.id] = (path[own].line, title)
    return found


def flat_outline(text: str) -> Outline:
    """Outline of a text that is not Markdown: neither headings nor fences."""
    lines = tuple(line for _, line in lines_of(text))
    return Outline(lines=lines, headings=(), blocks=(), front_matter=FrontMatter())


_SEVERAL = 2
_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*))?\Z", re.DOTALL)
_ITEM_FIRST = frozenset("-*+0123456789")
_MARKS = str.maketrans("", "", "*`~")


class _Scan:
    """State of the pass: the open list items and the open block."""

    def __init__(self, task_lines: Collection[int]) -> None:
        self.headings: list[Heading] = []
        self.blocks: list[PageBlock] = []
        self._task_lines = frozenset(task_lines)
        self._items: list[int] = []
        """Least column of the content of each open item, outermost first."""
        self._fence = ""
        """Opening of the block: a run of marks, or ``<!--``; empty where none is open."""
        self._fence_line = 0
        self._fence_column = 0
        self._last_line = -1
        """The last line that was not blank."""
        self._paragraph_line = -2
        self._lone: tuple[int, str] | None = None
        """The last paragraph, while it is one line outside items."""

    def take(self, number: int, line: str) -> None:
        bom = 1 if number == 0 and line.startswith("\ufeff") else 0
        stripped = line[bom:].lstrip(" \t")
        if not stripped:
            return
        column = advance_column(0, line[bom : len(line) - len(stripped)])
        if not self._continues_block(number, column, stripped):
            self._take_text(number, line, column, stripped)
        self._last_line = number

    def finish(self, last_line: int) -> None:
        if self._fence:
            self._close_block(last_line)

    def _continues_block(self, number: int, column: int, stripped: str) -> bool:
        """Whether the line belongs to the open block."""
        if not self._fence:
            return False
        is_outside = bool(self._items) and column < self._items[-1]
        if number not in self._task_lines and self._is_end(column, stripped):
            self._close_block(number)
            return True
        if number in self._task_lines or is_outside:
            self._close_block(self._last_line)
            return False
        return True

    def _is_end(self, column: int, stripped: str) -> bool:
        is_too_deep = self._fence != COMMENT and column >= self._fence_column + CODE_INDENT
        return not is_too_deep and is_closing(self._fence, stripped.rstrip(" \t"))

    def _close_block(self, end_line: int) -> None:
        kind = PageBlockKind.COMMENT if self._fence == COMMENT else PageBlockKind.FENCE
        self.blocks.append(PageBlock(kind=kind, line=self._fence_line, end_line=end_line))
        self._fence = ""

    def _take_text(self, number: int, line: str, column: int, stripped: str) -> None:
        continues = self._paragraph_line == number - 1
        marks = find_marks(line) if stripped[0] in _ITEM_FIRST else None
        heading = _HEADING.match(stripped)
        if not self._items and column >= CODE_INDENT and number not in self._task_lines:
            self._take_paragraph(number, line, column, continues=continues)
        elif marks is not None:
            self._close_items(column)
            self._take_item(number, line, marks)
        elif heading is not None:
            self._close_items(column)
            self._take_heading(number, line, heading, len(line) - len(stripped))
        elif stripped[0] in "`~<" and opening_mark(stripped):
            self._close_items(column)
            self._open_block(number, column, stripped)
        elif stripped[0] in "=-" and continues and self._turns_heading(stripped):
            pass
        elif stripped[0] == ">" or is_thematic_break(stripped):
            self._close_items(column)
        else:
            self._take_paragraph(number, line, column, continues=continues)

    def _take_item(self, number: int, line: str, marks: ListMarks) -> None:
        for start in marks.starts:
            self._items.append(_column_of(line, start) + 2)
        self._paragraph_line = number
        if marks.box is None:
            self._open_block(number, _column_of(line, marks.text), line[marks.text :])

    def _take_heading(self, number: int, line: str, heading: re.Match[str], indent: int) -> None:
        title = (heading[2] or "").strip(" \t")
        bare = title.rstrip("#")
        has_closing = not bare or bare.endswith((" ", "\t"))
        words = bare.rstrip(" \t") if has_closing else title
        start = indent + (heading.start(2) if heading[2] else 0)
        self._add_heading(number, len(heading[1]), words, start, len(line.rstrip()))

    def _take_paragraph(self, number: int, line: str, column: int, *, continues: bool) -> None:
        if not continues:
            self._close_items(column)
        self._paragraph_line = number
        self._lone = None if continues or self._items else (number, line)

    def _turns_heading(self, stripped: str) -> bool:
        """Turn a paragraph of one line above a line of ``=`` or ``-`` into a heading."""
        bare = stripped.rstrip(" \t")
        if bare.strip(bare[0]) or self._items or self._lone is None:
            return False
        number, line = self._lone
        words = line.removeprefix("\ufeff").strip()
        level = 1 if bare[0] == "=" else 2
        self._add_heading(number, level, words, line.index(words), len(line.rstrip()))
        return True

    def _add_heading(self, number: int, level: int, words: str, start: int, end: int) -> None:
        self._lone = None
        if self._items:
            # Indented into an item, it is a part of that item.
            return
        title = fold_whitespace(strip_comments(words).translate(_MARKS))
        end = max(start, end)
        self.headings.append(
            Heading(line=number, level=level, title=title, start=start, end=end, last_line=number)
        )

    def _open_block(self, number: int, column: int, stripped: str) -> None:
        self._fence = opening_mark(stripped)
        self._fence_line, self._fence_column = number, column

    def _close_items(self, column: int) -> None:
        while self._items and self._items[-1] > column:
            self._items.pop()


def _column_of(line: str, at: int) -> int:
    return advance_column(0, line[:at].removeprefix("\ufeff"))


def _with_last_lines(headings: list[Heading], last_line: int) -> tuple[Heading, ...]:
    """End each section before the next heading of its level or a higher one."""
    ended: list[Heading] = []
    begins_next = [last_line + 1] * 7
    """By level: the line of the next heading that ends a section."""
    for heading in reversed(headings):
        ended.append(
            Heading(
                line=heading.line,
                level=heading.level,
                title=heading.title,
                start=heading.start,
                end=heading.end,
                last_line=begins_next[heading.level] - 1,
            )
        )
        for level in range(heading.level, 7):
            begins_next[level] = heading.line
    return tuple(reversed(ended))


class PageKind(StrEnum):
    """Kind of a page."""

    PLAN = "plan"
    PROGRESS = "progress"
    """The progress file, such as ``PROGRESS.md``."""
    SPEC = "spec"
    INDEX = "index"
    """``specs/README.md``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One file with its outline and tasks."""

    kind: PageKind
    name: str
    """Relative to the work tree, with ``/``."""
    text: str
    plan: Plan
    """Its tasks; of a specification only those with a box."""
    outline: Outline

    @property
    def spec_name(self) -> str:
        """Its name within ``specs/``."""
        return self.name.removeprefix(f"{FOLDER}/")


def page_kind(name: str, progress: str) -> PageKind | None:
    """Kind of a file by its path in the work tree; ``progress`` is the path of the progress file.

    Plans are found by the settings, so none is recognised here.
    """
    if name == progress:
        return PageKind.PROGRESS
    below = f"{FOLDER}/"
    if not name.startswith(below):
        return None
    within = name.removeprefix(below)
    if within == INDEX:
        return PageKind.INDEX
    is_hidden = any(part.startswith(".") for part in within.split("/")[:-1])
    return PageKind.SPEC if is_spec(within) and not is_hidden else None


def read_page(
    kind: PageKind, name: str, text: str, plan: Plan, *, is_markdown: bool = True
) -> Page:
    """Page of a text; ``plan`` was parsed from it. Total."""
    if not is_markdown:
        return Page(kind=kind, name=name, text=text, plan=plan, outline=flat_outline(text))
    if kind in {PageKind.SPEC, PageKind.INDEX}:
        plan = Plan(tasks=tuple(task for task in plan.tasks if _has_box(task, text)))
    outline = read_outline(text, {task.line for task in plan.tasks})
    return Page(kind=kind, name=name, text=text, plan=plan, outline=outline)


def _has_box(task: Task, text: str) -> bool:
    """Whether the task's item has a box; a numbered list of prose has no tasks."""
    marks = find_marks(text[task.start : task.end])
    return marks is not None and marks.box is not None
