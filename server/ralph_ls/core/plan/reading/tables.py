"""Rows of a table as what may be tasks: a box in any column, or a state in the one for states.

A table is read a line at a time, by what its head says of the columns. Where in a plan the table
stands is not known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from ralph_ls.core.plan.reading.states import read_state
from ralph_ls.core.plan.titles import is_explicit_id
from ralph_ls.protocol.plan import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which column of a table holds what; None where the head does not say so."""

    title: int | None
    state: int | None
    priority: int | None


class Row(NamedTuple):
    """A row that may be a task."""

    text: str
    """As the text of a list item is written, with the id in front."""
    box: str | None
    said: TaskState | None
    """Only where there is no box."""
    mark: tuple[int, int]
    """Inside the box, or the cell that says the state; positions in the line."""
    priority: str | None
    """The cell of the column for priorities, in lower case."""


def read_columns(head: str, rule: str) -> Columns | None:
    """Read the head of a table from its two lines; None where the second is no such rule."""
    if "|" not in head or _RULE.fullmatch(rule) is None:
        return None
    names = [head[begin:end].strip(" \t*_`").lower() for begin, end in cells_of(head)]
    return Columns(
        title=_first(names, _TITLE_NAMES),
        state=_first(names, _STATE_NAMES),
        priority=_first(names, _PRIORITY_NAMES),
    )


def read_row(line: str, columns: Columns) -> Row | None:
    """Read one line of a table; None where it has no state or nothing to be named by."""
    cells = list(cells_of(line))
    texts = [line[begin:end].strip().replace("\\|", "|") for begin, end in cells]
    box, mark, said = None, None, None
    for index, (begin, end) in enumerate(cells):
        found = _BOX.fullmatch(line, begin, end)
        if found is not None:
            box, mark = found[1].strip(), found.span(1)
            texts[index] = ""
            break
    if mark is None and columns.state is not None and columns.state < len(cells):
        begin, end = cells[columns.state]
        said = read_state(texts[columns.state])
        mark = (end - len(line[begin:end].lstrip()), begin + len(line[begin:end].rstrip()))
    if mark is None or (box is None and said is None):
        return None
    priority = None
    if columns.priority is not None and columns.priority < len(texts):
        priority = texts[columns.priority].lower() or None
    text = _text_of(texts, columns)
    if not text:
        return None
    return Row(text=text, box=box, said=said, mark=mark, priority=priority)


_RULE = re.compile(r"\s*\|?[\s:]*-[-\s:|]*")
_BOX = re.compile(r"\s*(?:[-*+]\s+)?\[([ xX~!\-]?)\]\s*")
_EDGE = re.compile(r"(?<!\\)\|")
_TITLE_NAMES = frozenset(
    {"task", "title", "name", "description", "story", "item", "feature", "what", "step", "work"}
)
_STATE_NAMES = frozenset({"status", "state", "done", "done?", "complete", "completed", "progress"})
_PRIORITY_NAMES = frozenset({"priority", "prio", "severity"})


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


def _text_of(texts: list[str], columns: Columns) -> str:
    """Name the row: by the column for it, else by the longest cell that says no state."""
    named = columns.title
    title = texts[named] if named is not None and named < len(texts) else ""
    if not title:
        others = (
            text
            for index, text in enumerate(texts)
            if index not in (columns.state, columns.priority) and not text.isdecimal()
        )
        title = max(others, key=len, default="")
    given = next((text for text in texts if is_explicit_id(text.strip("*`"))), "").strip("*`")
    if title.strip("*`") == given:
        return given
    return f"{given}: {title}" if given else title
