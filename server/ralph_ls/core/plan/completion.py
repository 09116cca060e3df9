"""Completion markers, progress logs and steps: what the texts of a loop say about being complete.

The marker counts only alone on a line (docs/rules.md#exit-gate), so a sentence such as "the
marker PROJECT_COMPLETE should only be added when …" ends no run. The marks of a heading, of bold or
italic text, of a list, a ticked box and those of an HTML comment may surround it. Markers in a
fence, in a quote, struck out or behind an open box do not count. Whether a marker was written in
this run is decided by the caller.

A progress log decides whether a plan without tasks is one whose tasks are all done, so the check is
generous: one list item or the entry of one day is enough, outside code fences and comments. A log
with only a title and an introduction records nothing.

Steps are all boxes of a text. They are compared without numbers and marks, so a box that counts
iterations is one step, and a step that was done once counts as done for good: ticking back and
forth is no progress.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from ralph_ls.core.markdown_fences import CODE_INDENT, is_closing, leading_run, opening_run
from ralph_ls.core.plan.parse.lines import ListMarks, advance_column, find_marks


def has_completion_marker(text: str, word: str) -> bool:
    """Whether ``word`` is alone on a line outside fences; linear in the text."""
    return next(_marker_lines(text, word), None) is not None


def find_completion_marker(text: str, word: str) -> int | None:
    """The first line, from 0, that is the marker; None where there is none."""
    return next(_marker_lines(text, word), None)


def _marker_lines(text: str, word: str) -> Iterator[int]:
    if not word or word not in text:
        return
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Fences are scanned only where the answer depends on them: a plan whose notes merely
    # name the marker is read in every iteration.
    candidates = set(_candidates(text, word))
    if not candidates or ("```" not in text and "~~~" not in text):
        yield from sorted(candidates)
        return
    n_lines = max(candidates) + 1
    lines = text.split("\n", n_lines)[:n_lines]
    yield from (number for number in _outside_fences(lines) if number in candidates)


def _candidates(text: str, word: str) -> Iterator[int]:
    """The numbers, from 0, of all lines that are the marker."""
    shape = _shape_of(word)
    number = counted = 0
    at = text.find(word)
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if shape.fullmatch(text, start, end):
            number += text.count("\n", counted, start)
            counted = start
            yield number
        at = text.find(word, end)


@lru_cache(maxsize=8)
def _shape_of(word: str) -> re.Pattern[str]:
    """A line that is the marker: list marks, a ticked box, heading, comment, bold; each once."""
    space = r"[^\S\n]"
    return re.compile(
        rf"{space}*+(?:(?:[-*+]|[0-9]{{1,9}}[.)]){space}++)*+"
        rf"(?:\[[xX]\]{space}++)?+"
        rf"(?P<heading>\#{{1,6}}{space}++)?+"
        rf"(?P<comment><!--+{space}*+)?+"
        rf"(?P<bold>[*_]{{0,3}}){re.escape(word)}(?P=bold)"
        rf"(?(comment){space}*+--+>)"
        rf"(?(heading)(?:{space}++\#++)?+){space}*+"
    )


class _Fence(NamedTuple):
    """A fence that is open."""

    run: str
    """The run of characters that opened it."""
    column: int
    threshold: int = 0
    """A line left of this column ends the list item around the fence, and so the fence."""


_ITEM_FIRST = frozenset("-*+0123456789")


def _outside_fences(lines: list[str]) -> Iterator[int]:
    """The numbers of the lines that are in no fence, however the fences are read.

    A fence that is not closed in its list item, or is indented like code, can be read in two ways:
    as CommonMark does, or up to the next line like an end. Where one reading ends a fence too
    early, it mistakes the inside of the next fence for its outside; so a line has to be outside in
    both.
    """
    strict: _Fence | None = None
    loose: _Fence | None = None
    thresholds: list[int] = []
    for number, line in enumerate(lines):
        stripped = line.lstrip(" \t")
        if not stripped:
            continue
        column = advance_column(0, line[: len(line) - len(stripped)])
        strict, in_strict = _advance(strict, column, stripped)
        loose, in_loose = _advance(loose, column, stripped)
        if in_strict and in_loose:
            continue
        marks = find_marks(line) if stripped[0] in _ITEM_FIRST else None
        if not in_strict:
            _enter_items(thresholds, line, column, marks)
        opening = _opening_of(line, marks)
        if opening is None and not in_strict and not in_loose:
            yield number
        elif opening is not None:
            threshold = thresholds[-1] if thresholds else 0
            if not in_strict and opening.column < threshold + CODE_INDENT:
                strict = _Fence(run=opening.run, column=threshold, threshold=threshold)
            if not in_loose:
                loose = opening


def _advance(fence: _Fence | None, column: int, stripped: str) -> tuple[_Fence | None, bool]:
    """The fence after a line, and whether the line belongs to it; its end does."""
    if fence is None or column < fence.threshold:
        return None, False
    is_too_deep = column >= fence.column + CODE_INDENT
    ends = not is_too_deep and is_closing(fence.run, stripped.rstrip(" \t"))
    return None if ends else fence, True


def _enter_items(thresholds: list[int], line: str, column: int, marks: ListMarks | None) -> None:
    """Leave the list items that the line is left of, and enter those that it begins.

    Of items that begin inside items on one line the outermost and the innermost are kept. One
    between that is missed makes a fence longer, which can never add a marker.
    """
    while thresholds and thresholds[-1] > column:
        thresholds.pop()
    if marks is not None:
        thresholds += dict.fromkeys(
            _content_column(line, marks.contents[index]) for index in (0, -1)
        )


def _content_column(line: str, content: int) -> int:
    """The column from which lines belong to the item (CommonMark 5.2)."""
    marker_end = advance_column(0, line[:content].rstrip(" \t"))
    column = advance_column(0, line[:content])
    return column if marker_end < column <= marker_end + CODE_INDENT else marker_end + 1


def _opening_of(line: str, marks: ListMarks | None) -> _Fence | None:
    """The fence that a line opens, also behind list marks; backticks after it make it none."""
    start = len(line) - len(line.lstrip(" \t"))
    if marks is not None and marks.box is None:
        start = marks.text
    run = opening_run(line, start)
    return _Fence(run=run, column=advance_column(0, line[:start])) if run else None


def records_finished(log: str) -> bool:
    """Whether the log has a finished task; an open box is none."""
    text = _COMMENT.sub("", log)
    fence = ""
    for line in text.splitlines():
        run = leading_run(line)
        if run and run.startswith(fence):
            fence = "" if fence else run
        elif not fence and _FINISHED.match(line) is not None:
            return True
    return False


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FINISHED = re.compile(
    r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?!\[[ ]?\])\S"
    r"|\ufeff?#{1,6}\s+\[?\d{4}-\d{2}-\d{2}(?!\d)"
)
"""An item of a list that is no open box, or the heading of a day."""


_BOX = re.compile(r"^[ \t>|]*(?:[-*+]|\d+[.)])?[ \t|]*\[([ xX~!/-])\][ \t]+(.*)$", re.MULTILINE)
_VARIABLE = re.compile(r"[\d\W_]+")


def steps_of(text: str) -> dict[str, bool]:
    """Every box of a text by its words, and whether it is ticked."""
    steps: dict[str, bool] = {}
    for mark, words in _BOX.findall(text):
        name = _VARIABLE.sub(" ", words).strip().lower()
        steps[name] = steps.get(name, False) or mark in "xX"
    return steps


def merge_steps(known: Mapping[str, bool], now: Mapping[str, bool]) -> dict[str, bool]:
    """All steps of both texts; a step that was done once stays done."""
    names = dict.fromkeys((*known, *now))
    return {name: known.get(name, False) or now.get(name, False) for name in names}


def has_progress(known: Mapping[str, bool], now: Mapping[str, bool]) -> bool:
    """Whether a step became done for the first time, or is there for the first time."""
    return any(name not in known or (done and not known[name]) for name, done in now.items())
