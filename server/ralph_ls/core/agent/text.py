"""Plain text as the readers want it: escape codes gone, newlines alike, code fences known.

It exists so that the readers agree on what a line, a fence and a span is. It must never know what
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


def fence_spans(text: str) -> tuple[Span, ...]:
    """Find the fenced code blocks, fence lines included, in text order and never overlapping.

    The rules are CommonMark's (4.5), but for list items, in which a fence may open behind the
    mark, and for indentation, which is free. A fence that is never closed runs to the end. If
    that happens, a fence with a language inside another one is tried as a nested block, because
    agents quote whole Markdown files that way; the nested view is taken if it closes everything.
    """
    hits = LiteralHits(text, ("```", "~~~"))
    fences: list[re.Match[str]] = []
    position = 0
    while (hit := hits.next_from(position)) is not None:
        start, end = line_around(text, hit)
        fence = _FENCE_LINE.match(text, start)
        if fence is not None and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            fences.append(fence)
        position = end + 1
    spans, is_closed = _pair_fences(fences, len(text), nested=False)
    if is_closed:
        return spans
    nested_spans, is_closed = _pair_fences(fences, len(text), nested=True)
    return nested_spans if is_closed else spans


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

_FENCE_LINE = re.compile(
    r"^[^\S\n]*+(?:(?:[-*+]|\d{1,9}[.)])[^\S\n]++)?(?P<mark>`{3,}+|~{3,}+)(?P<info>[^\n]*)$",
    re.MULTILINE,
)


def _start_of(span: Span) -> int:
    return span[0]


def _pair_fences(
    fences: Sequence[re.Match[str]], length: int, *, nested: bool
) -> tuple[tuple[Span, ...], bool]:
    """Pair opening and closing fences; the second value says whether all were closed."""
    spans: list[Span] = []
    open_marks: list[str] = []
    start = 0
    for fence in fences:
        mark, is_bare = fence["mark"], not fence["info"].strip()
        if open_marks and is_bare and mark.startswith(open_marks[-1]):
            open_marks.pop()
            if not open_marks:
                spans.append((start, fence.end()))
        elif not open_marks:
            open_marks.append(mark)
            start = fence.start()
        elif nested and not is_bare:
            open_marks.append(mark)
    if open_marks:
        spans.append((start, length))
    return tuple(spans), not open_marks
