"""Which lines of two texts are the same lines: the ground that merges and minimal edits stand on.

Lines that both texts have only once are found first and the rest is looked at between them, so a
long plan costs little more than reading it. It compares keys, and must never know what they mean.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher

from ralph_ls.core.plan.lines import lines_of

SMALL_GAP = 250_000
"""Pairs of lines up to which a stretch without any unique line is compared line by line."""

Window = tuple[int, int, int, int]
"""A stretch of the one, from and up to, and one of the other."""


def whole_lines(text: str) -> list[str]:
    """Every line with its ending; a text that ends with one has no empty line behind it."""
    starts = [start for start, _ in lines_of(text)]
    ends = [*starts[1:], len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True) if start < end]


def same_lines(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of positions that hold the same key, both growing."""
    found: list[tuple[int, int]] = []
    waiting: list[Window] = [(0, len(one), 0, len(other))]
    while waiting:
        begin, end, from_, to = waiting.pop()
        while begin < end and from_ < to and one[begin] == other[from_]:
            found.append((begin, from_))
            begin, from_ = begin + 1, from_ + 1
        while begin < end and from_ < to and one[end - 1] == other[to - 1]:
            end, to = end - 1, to - 1
            found.append((end, to))
        if begin == end or from_ == to:
            continue
        anchors = _anchors(one, other, (begin, end, from_, to))
        if anchors:
            found.extend(anchors)
            waiting.extend(_between(anchors, (begin, end, from_, to)))
        elif (end - begin) * (to - from_) <= SMALL_GAP:
            found.extend(_by_hand(one[begin:end], other[from_:to], begin, from_))
    return sorted(found)


def changes(
    one: Sequence[Hashable], other: Sequence[Hashable]
) -> Iterator[tuple[int, int, int, int]]:
    """Stretches that differ: those of ``one`` are to be replaced by those of ``other``."""
    pairs = same_lines(one, other)
    for begin, end, from_, to in _between(pairs, (0, len(one), 0, len(other))):
        if begin < end or from_ < to:
            yield begin, end, from_, to


def _between(pairs: Sequence[tuple[int, int]], window: Window) -> Iterator[Window]:
    """The stretches before, between and after the pairs."""
    begin, end, from_, to = window
    for here, there in pairs:
        yield begin, here, from_, there
        begin, from_ = here + 1, there + 1
    yield begin, end, from_, to


def _anchors(
    one: Sequence[Hashable], other: Sequence[Hashable], window: Window
) -> list[tuple[int, int]]:
    """The most keys that each stretch has once and that stand in the same order in both."""
    begin, end, from_, to = window
    counts = Counter(one[begin:end])
    others = Counter(other[from_:to])
    places = {other[at]: at for at in range(from_, to)}
    unique = [
        (at, places[one[at]])
        for at in range(begin, end)
        if counts[one[at]] == 1 and others[one[at]] == 1
    ]
    return _longest_growing(unique)


def _longest_growing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs, which grow in the first value, that grows in both."""
    lasts: list[int] = []
    """By length less one: the least second value that such a part ends with."""
    ends: list[int] = []
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        length = bisect_left(lasts, value)
        before.append(ends[length - 1] if length else -1)
        lasts[length : length + 1] = [value]
        ends[length : length + 1] = [number]
    found: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _by_hand(
    one: Sequence[Hashable], other: Sequence[Hashable], begin: int, from_: int
) -> Iterator[tuple[int, int]]:
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    for block in blocks:
        for step in range(block.size):
            yield begin + block.a + step, from_ + block.b + step
