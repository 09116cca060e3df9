"""Checklist continuation: what a new line below a task begins with while somebody types.

A line behind a task begins another one of the same indentation and mark, with an open box and the
next number. A task without a title ends the list. Nothing is continued outside of tasks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ralph_ls.core.views.document.page import Page

_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|\d{1,9}[.)])(?P<gap>[ \t]+)\[.\](?P<rest>.*)")
_NEW = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])?[ \t]*")
"""What an editor may have put on the new line: an indentation, or the mark of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """New text for a part of one line."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    text: str


def continued(page: Page, line: int) -> LineEdit | None:
    """The edit after Enter has begun ``line``, from 0; None where nothing is to be done. Total."""
    lines = page.outline.lines
    if not 0 < line < len(lines):
        return None
    item = _ITEM.fullmatch(lines[line - 1])
    if item is None or page.outline.is_verbatim(line - 1):
        return None
    if not item["rest"].strip():
        is_empty = _NEW.fullmatch(lines[line]) is not None
        whole = LineEdit(line=line - 1, start=0, end=len(lines[line - 1]), text="")
        return whole if is_empty else None
    if all(task.line != line - 1 for task in page.plan.tasks):
        return None
    begun = _NEW.match(lines[line])
    end = 0 if begun is None else begun.end()
    if lines[line][end:].startswith("["):
        return None
    start = f"{item['indent']}{_next(item['mark'])}{item['gap']}[ ] "
    return LineEdit(line=line, start=0, end=end, text=start)


def _next(mark: str) -> str:
    return f"{int(mark[:-1]) + 1}{mark[-1]}" if mark[:-1].isdecimal() else mark
