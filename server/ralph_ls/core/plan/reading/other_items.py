"""Headings and rows of tables as items that may be tasks; whether they are is for ``rules``."""

from __future__ import annotations

import re

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.reading.headings import Section
from ralph_ls.core.plan.reading.items import Item
from ralph_ls.core.plan.reading.line_kinds import Line
from ralph_ls.core.plan.reading.states import find_remark, find_sign, read_state
from ralph_ls.core.plan.reading.tables import Columns, read_row


def make_heading(line: Line, title: str, section: Section) -> Item:
    """Take a box or an emoji for a state out of a heading; one without may get a state later."""
    begin = line.text.find(title)
    found = _BOX.match(title)
    box, mark, said = None, None, None
    if found is not None:
        box, mark = found[2].strip(), found.span(2)
        title = f"{found[1]}{title[found.end() :]}"
    elif (mark := find_sign(title)) is not None:
        begins, ends = find_remark(title) or mark
        said = read_state(title[begins:ends])
        title = f"{title[:begins].rstrip()} {title[ends:].lstrip()}"
    return Item(
        line=line.number,
        start=line.start,
        end=line.start + len(line.text),
        column=line.column,
        content=line.column,
        is_numbered=False,
        box=box,
        text=title,
        section=section,
        parent=None,
        kind=TaskKind.HEADING,
        mark=None if mark is None else (begin + mark[0], begin + mark[1]),
        said=said,
    )


def has_state(heading: Item) -> bool:
    """Say whether a heading has a state by its own line."""
    if heading.box is not None or heading.said is not None:
        return True
    return _TAG.search(heading.text) is not None


def make_row(line: Line, columns: Columns, section: Section) -> Item | None:
    """Read a line of a table; None where it has no state or no name."""
    row = read_row(line.text, columns)
    if row is None:
        return None
    return Item(
        line=line.number,
        start=line.start,
        end=line.start + len(line.text),
        column=line.column,
        content=line.column,
        is_numbered=False,
        box=row.box,
        text=row.text,
        section=section,
        parent=None,
        kind=TaskKind.ROW,
        mark=row.mark,
        said=row.said,
        severity=row.priority,
        end_line=line.number,
    )


_BOX = re.compile(r"((?:[0-9.]+\s+)?)\[([ xX~!-]?)\]\s+(?=\S)")
_TAG = re.compile(
    r"~~\S.*~~|\[\s*(?:done|completed?|wip|in[ -]progress|blocked\b[^\[\]]*)\s*\]", re.IGNORECASE
)
