"""Plain text as the readers want it: escape codes gone, newlines alike.

It exists so that the readers agree on what a line and a span is. It must never know what
any reader looks for. Everything runs in time linear in the text: patterns are anchored at line or
token starts and never give back what they took.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""Offsets of the first character of a stretch and of the one after its last."""


def clean_text(raw: str) -> str:
    """Give what a terminal would show: no escape codes, no byte order mark, only line feeds.

    A run of carriage returns is one line end, with or without a newline after it: terminals in
    raw mode print two of them before a line feed, progress bars one and nothing else.
    """
    text = raw
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPE_CODE.sub("", text)
    if "\r" in text:
        text = _CARRIAGE_RETURNS.sub("\n", text)
    return text.removeprefix("\ufeff")


def lower(text: str) -> str:
    """Give the text in lower case, every character in its place.

    One letter, the dotted capital I, would become two of them.
    """
    return text.replace("\u0130", "I").lower()


class LiteralHits:
    """Where any of some literals stands in a text, found forwards and each literal once.

    Looking for a literal is many times faster than any pattern, so readers look at nothing but
    the surroundings of what must be in every match.
    """

    def __init__(self, text: str, literals: Iterable[str]) -> None:
        self._text = text
        # One character is found in a tenth of the time, and a log may have no such mark at all.
        self._next = {
            literal: -1
            for literal in literals
            if all(mark.isalnum() or mark in text for mark in literal)
        }

    def next_from(self, position: int) -> int | None:
        """Give the first hit at or behind a position, which never goes back; None at the end."""
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
    """Say whether an offset lies in one of the spans, which are sorted and do not overlap."""
    index = bisect_right(spans, offset, key=_start_of) - 1
    return index >= 0 and offset < spans[index][1]


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Give the same stretches sorted, those that touch or overlap as one."""
    together: list[Span] = []
    for start, end in sorted(spans):
        if together and start <= together[-1][1]:
            together[-1] = (together[-1][0], max(end, together[-1][1]))
        else:
            together.append((start, end))
    return tuple(together)


def without_spans(text: str, spans: Iterable[Span]) -> str:
    """Leave stretches out, an empty line in the place of each; spans may overlap."""
    kept: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start > position:
            kept.append(text[position:start])
        position = max(position, end)
    kept.append(text[position:])
    return "\n\n".join(kept)


def line_around(text: str, offset: int) -> Span:
    """Give the line that holds an offset, without its newline; reads only that line."""
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
