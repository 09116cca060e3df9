"""Rows of tables that may be tasks, read line by line according to the table's header.

A row has a box in any column, or a state in the state column; where there is none, a sign beside
its number or in front of its title. Whether it is a task is decided by ``task_rules``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.headings import HeadingSection
from ralph_ls.core.plan.parse.items import PlanItemDraft
from ralph_ls.core.plan.parse.lines import MarkdownLine
from ralph_ls.core.plan.parse.titles import is_explicit_id
from ralph_ls.core.plan.parse.words.section_words import (
    DETAIL_COLUMNS,
    NUMBER_COLUMNS,
    PART_COLUMNS,
    PRIORITY_COLUMNS,
    STATE_COLUMN,
    STATE_COLUMNS,
    TITLE_COLUMNS,
    TOTALS,
    WORK_COLUMNS,
)
from ralph_ls.core.plan.parse.words.state_words import read_state
from ralph_ls.core.plan.parse.words.status_values import read_status
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumns:
    """The meaning of the columns of a table; None for those that the header does not name."""

    title: int | None
    detail: int | None = None
    """What the title is about; a part of the work is named by both."""
    state: int | None
    priority: int | None
    part: int | None = None
    has_parts: bool = False
    """Whether each row is a part of the work: a phase, a milestone."""
    number: int | None = None
    """``#``, ``ID`` and the like."""
    is_of_work: bool = False
    """Whether the name of the title's column says that each row is work."""


_PlacedState: TypeAlias = tuple[tuple[int, int] | None, TaskState | None]
"""Where a state is or would be, None where the row has no such place; and what it is."""


class TableRow(NamedTuple):
    """A row that may be a task."""

    text: str
    """As the text of a list item is written, with the id in front."""
    box: str | None
    written_state: TaskState | None
    """Only where there is no box; None for a word that is unknown."""
    mark: tuple[int, int]
    """Inside the box, or the cell with the state; positions in the line."""
    priority: str | None
    """The cell of the column for priorities, in lower case."""


def read_columns(head: str, rule: str) -> TableColumns | None:
    """Read the head of a table from its two lines; None where the second is no such rule."""
    if "|" not in head or _RULE.fullmatch(rule) is None:
        return None
    names = [head[begin:end].strip(" \t*_`?.\ufe0f").lower() for begin, end in cells_of(head)]
    title, detail = _first(names, TITLE_COLUMNS), _first(names, DETAIL_COLUMNS)
    part = _first(names, PART_COLUMNS)
    has_parts = title is None and part is not None
    if has_parts:
        title = part
    elif title is None:
        title, detail = detail, None
    else:
        detail = None
    return TableColumns(
        title=title,
        detail=detail,
        state=_state_column(names),
        priority=_first(names, PRIORITY_COLUMNS),
        part=part,
        has_parts=has_parts,
        number=_first(names, NUMBER_COLUMNS),
        is_of_work=title is not None and names[title] in WORK_COLUMNS,
    )


def read_row(line: str, columns: TableColumns, section: HeadingSection) -> TableRow | None:
    """Parse one row of a table; None for a sum, and without a cell for a state or a text."""
    cells = list(cells_of(line))
    texts = [line[begin:end].strip().replace("\\|", "|") for begin, end in cells]
    if any(text.strip("*_`: ").lower() in TOTALS for text in texts[:2]):
        return None
    mark, box = _take_box(line, cells, texts)
    written_state = None
    if mark is None:
        mark, written_state = _read_state_of_row(line, cells, texts, columns, section)
    if mark is None:
        return None
    priority = _cell_in(texts, columns.priority).lower() or None
    text = _text_of(texts, columns)
    if not text:
        return None
    return TableRow(text=text, box=box, written_state=written_state, mark=mark, priority=priority)


def _take_box(
    line: str, cells: Sequence[tuple[int, int]], texts: list[str]
) -> tuple[tuple[int, int] | None, str | None]:
    """The first cell that is a box, which is emptied in the texts: its place, and its content."""
    for index, (begin, end) in enumerate(cells):
        found = _CELL_BOX.fullmatch(line, begin, end)
        if found is not None:
            texts[index] = ""
            return found.span(1), found[1].strip()
    return None, None


def _read_state_of_row(
    line: str,
    cells: Sequence[tuple[int, int]],
    texts: list[str],
    columns: TableColumns,
    section: HeadingSection,
) -> _PlacedState:
    """The state in its column; without one, beside the number or in front of the title."""
    if columns.state is None:
        mark, state = _read_number(line, cells, texts, _sign_column(columns, section))
        if mark is not None and state is None:
            return _read_opening_sign(line, cells, texts, columns.title) or (mark, None)
        return mark, state
    if columns.state >= len(cells):
        return None, None
    begin, end = cells[columns.state]
    cell = texts[columns.state]
    state = TaskState.DONE if cell in _CROSSES else read_status(cell)
    if state is None and len(cell) > _LONGEST_STATE:
        return None, None
    return (end - len(line[begin:end].lstrip()), begin + len(line[begin:end].rstrip())), state


def _read_number(
    line: str, cells: Sequence[tuple[int, int]], texts: list[str], part: int | None
) -> _PlacedState:
    """The sign beside the number of a part of the work, and its state: ``| 0 ✅ | Parser |``.

    The sign is cut out of the text; without one its place is the end of the cell.
    """
    if part is None or part >= len(cells):
        return None, None
    begin, end = cells[part]
    content = line[begin:end].rstrip()
    sign = _SIGN_BEHIND.search(content)
    if sign is None:
        return (begin + len(content), begin + len(content)), None
    texts[part] = content[: sign.start()].strip()
    return (begin + sign.start(1), begin + sign.end(1)), read_state(sign[1])


def _read_opening_sign(
    line: str, cells: Sequence[tuple[int, int]], texts: list[str], title: int | None
) -> _PlacedState | None:
    """The sign that a title begins with, and its state: ``| 1 | ✅ Parser |``; it is cut out."""
    if title is None or title >= len(cells):
        return None
    found = _SIGN_BEFORE.match(line, *cells[title])
    if found is None:
        return None
    texts[title] = texts[title].removeprefix(found[1]).lstrip()
    return found.span(1), read_state(found[1])


def _sign_column(columns: TableColumns, section: HeadingSection) -> int | None:
    """Where a table without states gets them: behind a phase or number, else behind a task."""
    if columns.part is not None or columns.title is None:
        return columns.part
    if columns.number is not None:
        return columns.number
    return columns.title if section.is_for_tasks or columns.is_of_work else None


def _is_planned(line: str, columns: TableColumns, section: HeadingSection) -> bool:
    """Whether a row of a table without states is work.

    By the section, which is named for tasks, or by a column such as ``Step`` with numbered rows.
    """
    if columns.state is not None or columns.title is None:
        return False
    cells = cells_of(line)
    places = (columns.number, columns.part, columns.title)
    at = next(one for one in places if one is not None)
    is_numbered = at < len(cells) and _NUMBERED_CELL.match(line, *cells[at]) is not None
    is_of_work = columns.is_of_work or columns.part is not None
    return section.is_for_tasks or (is_of_work and is_numbered)


_NUMBERED_CELL = re.compile(r"\W*(?:\[[^\[\]]*\])?[\W_]*(?:[^\W\d_]{1,12}[ -]?)?[0-9]")
_RULE = re.compile(r"\s*\|?[\s:]*-[-\s:|]*")
_CELL_BOX = re.compile(r"\s*(?:[-*+]\s+)?\[([ xX~!\-]?)\]\s*")
_SIGN = r"([✅✔☑✓🟢🟡🔄🚧⏳⬜☐🔲]\ufe0f?)"
_SIGN_BEHIND = re.compile(rf"\s*{_SIGN}\Z")
_SIGN_BEFORE = re.compile(rf"\s*{_SIGN}\s*(?=[\w*_`])")
EMPTY_CELLS = frozenset({"", "-", "\u2013", "\u2014"})
"""What a state column has for a task that was not begun."""
_CROSSES = frozenset("xX")
_LONGEST_STATE = 24
"""Characters of a cell; longer ones without a known word are prose."""
_LONG_TITLE = 10
_EDGE = re.compile(r"(?<!\\)\|")


def cells_of(line: str) -> list[tuple[int, int]]:
    """Where the cells of a line begin and end; an edge at the very ends opens no cell."""
    edges = [found.start() for found in _EDGE.finditer(line)]
    begins = [0, *(edge + 1 for edge in edges)]
    ends = [*edges, len(line)]
    cells = list(zip(begins, ends, strict=True))
    if not line[slice(*cells[0])].strip(" \t\ufeff"):
        cells = cells[1:]
    if cells and not line[slice(*cells[-1])].strip():
        cells = cells[:-1]
    return cells


def _first(names: list[str], wanted: frozenset[str]) -> int | None:
    return next((index for index, name in enumerate(names) if name in wanted), None)


def _state_column(names: list[str]) -> int | None:
    by_name = _first(names, STATE_COLUMNS)
    if by_name is not None:
        return by_name
    return next((nth for nth, name in enumerate(names) if STATE_COLUMN.fullmatch(name)), None)


def _cell_in(texts: list[str], index: int | None) -> str:
    return texts[index] if index is not None and index < len(texts) else ""


def _text_of(texts: list[str], columns: TableColumns) -> str:
    """The title of the row: its title column, else its first long cell, else its longest one."""
    title, detail = _cell_in(texts, columns.title), _cell_in(texts, columns.detail)
    if not title.strip("*_` ") or title.strip("*_` ").isdecimal():
        others = [
            text
            for index, text in enumerate(texts)
            if index not in (columns.state, columns.priority) and not text.strip("*_` ").isdecimal()
        ]
        longest = max(others, key=_width, default="")
        title = detail or next((text for text in others if _width(text) >= _LONG_TITLE), longest)
    elif detail:
        title = f"{title}: {detail}"
    before = texts if columns.title is None else texts[: columns.title + 1]
    given = next((text for text in before if is_explicit_id(text.strip("*`"))), "").strip("*`")
    if title.strip("*`") == given:
        return given
    return f"{given}: {title}" if given else title


def _width(text: str) -> int:
    """The length of a text, in which a character of Chinese and the like counts twice."""
    return len(text) + sum(mark > "\u2e80" for mark in text)


def row_item(
    line: MarkdownLine, columns: TableColumns, section: HeadingSection
) -> PlanItemDraft | None:
    """Read a line of a table; None where it has no cell for a state, or no name."""
    row = read_row(section.with_signs(line.text), columns, section)
    if row is None:
        return None
    is_without_state = row.box is None and row.written_state is None
    status = line.text[slice(*row.mark)].strip(" *_`")
    is_odd = is_without_state and columns.state is not None and status not in EMPTY_CELLS
    item = PlanItemDraft.of_line(line, TaskKind.ROW, section, box=row.box, text=row.text)
    item.mark, item.written_state = row.mark, row.written_state
    item.odd_status, item.severity = (status if is_odd else None), row.priority
    item.is_part, item.end_line = columns.has_parts, line.number
    item.is_planned = is_without_state and _is_planned(line.text, columns, section)
    return item
