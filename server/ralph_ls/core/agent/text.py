"""Plain text for the signal readers: no escape codes, uniform line ends, spans.

All functions run in time linear in the text: patterns are anchored at line or token starts and do
not backtrack. Knows no signals.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""Offsets of the first character and of the one after the last."""


def clean_text(raw: str) -> str:
    """The text as a terminal shows it: no escape codes or byte order mark, only line feeds.

    A run of carriage returns is one line end, with or without a following newline: terminals in raw
    mode print two of them before a line feed, progress bars one alone.
    """
    text = raw
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPE_CODE.sub("", text)
    if "\r" in text:
        text = _CARRIAGE_RETURNS.sub("\n", text)
    return text.removeprefix("\ufeff")


def lower(text: str) -> str:
    """Lower-case the text without changing any offset.

    The dotted capital I would become two characters, so it is handled separately.
    """
    return text.replace("\u0130", "I").lower()


class LiteralHits:
    """Positions of some literals in a text, searched forwards, each literal once.

    Searching for a literal is many times faster than any pattern, so readers examine only the
    surroundings of a literal that every match must contain.
    """

    def __init__(self, text: str, literals: Iterable[str]) -> None:
        self._text = text
        # A single character is found in a tenth of the time, and a log may not contain it at all.
        self._next = {
            literal: -1
            for literal in literals
            if all(mark.isalnum() or mark in text for mark in literal)
        }

    def next_from(self, position: int) -> int | None:
        """The first hit at or after a position, which never decreases; None at the end."""
        nearest: int | None = None
        gone: list[str] = []
        for literal, known in self._next.items():
            hit = known
            if hit < position:
                hit = self._next[literal] = self._text.find(literal, position)
                if hit < 0:
                    gone.append(literal)
                    continue
            if nearest is None or hit < nearest:
                nearest = hit
        for literal in gone:
            del self._next[literal]
        return nearest


def is_inside(spans: Sequence[Span], offset: int) -> bool:
    """Whether an offset is in one of the spans, which are sorted and do not overlap."""
    index = bisect_right(spans, offset, key=_start_of) - 1
    return index >= 0 and offset < spans[index][1]


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort spans and merge those that touch or overlap."""
    together: list[Span] = []
    for start, end in sorted(spans):
        if together and start <= together[-1][1]:
            together[-1] = (together[-1][0], max(end, together[-1][1]))
        else:
            together.append((start, end))
    return tuple(together)


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """Remove spans, leaving an empty line for each; they may overlap."""
    kept: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start > position:
            kept.append(text[position:start])
        position = max(position, end)
    kept.append(text[position:])
    return "\n\n".join(kept)


def line_around(text: str, offset: int) -> Span:
    """The line that contains an offset, without its newline; reads only that line."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    return start, len(text) if end < 0 else end


_ESCAPE_CODE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*+[0-~]?"
)
"""ECMA-48: control sequences, then strings with their terminator, then any other escape."""

_CARRIAGE_RETURNS = re.compile(r"\r+\n?")


def _start_of(span: Span) -> int:
    return span[0]
