"""Text diff: the changed places between two texts, and which lines they have in common.

Changes are found by comparing, not taken from an editor's change events: a text also changes on
the disk, by an undo, or several times between two reads. Edits produce a whole new text, while
editors and merges need the places.

Lines that both texts have exactly once are paired first and the rest between them, so a long plan
costs little more than reading it. Lines are compared by keys; nothing here knows what a plan is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import NamedTuple

from ralph_ls.core.plan.parse.lines import lines_of


class TextChange(NamedTuple):
    """A part of the old text and its replacement; places are characters."""

    start: int
    end: int
    text: str


def find_text_change(before: str, after: str) -> TextChange:
    """The part between the common beginning and end of both texts; quick in long texts."""
    n_before, n_after = len(before), len(after)

    def begin_alike(at: int, end: int) -> bool:
        return before[at:end] == after[at:end]

    def end_alike(at: int, end: int) -> bool:
        ours = before[n_before - end : n_before - at]
        return ours == after[n_after - end : n_after - at]

    start = _count_same(min(n_before, n_after), begin_alike)
    n_last = _count_same(min(n_before, n_after) - start, end_alike)
    return TextChange(start, n_before - n_last, after[start : n_after - n_last])


def text_changes(before: str, after: str) -> tuple[TextChange, ...]:
    """The replacements that turn ``before`` into ``after``, in text order.

    Equal lines are untouched, and so are common beginnings and ends of changed lines.
    """
    if before == after:
        return ()
    old, new = _lines_with_endings(before), _lines_with_endings(after)
    n_first = _n_equal(old, new)
    most = min(len(old), len(new)) - n_first
    n_last = min(most, _n_equal(old[::-1], new[::-1]))
    starts = list(accumulate(map(len, old), initial=0))
    middle, new_middle = old[n_first : len(old) - n_last], new[n_first : len(new) - n_last]
    matcher = SequenceMatcher(None, middle, new_middle, autojunk=False)
    found: list[TextChange] = []
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        if kind == "equal":
            continue
        # Line by line as far as both go, and what one of them has more at once.
        n_paired = min(last - first, new_last - new_first)
        for nth in range(n_paired):
            start, one, other = starts[n_first + first + nth], middle[first + nth], new_first + nth
            found.append(_trim(start, one, new_middle[other]))
        gone = "".join(middle[first + n_paired : last])
        came = "".join(new_middle[new_first + n_paired : new_last])
        if gone or came:
            start = starts[n_first + first + n_paired]
            found.append(TextChange(start, start + len(gone), came))
    return tuple(found)


def _lines_with_endings(text: str) -> list[str]:
    starts = [start for start, _ in lines_of(text)]
    return [text[begin:end] for begin, end in pairwise([*starts, len(text)])]


def _n_equal(old: Sequence[str], new: Sequence[str]) -> int:
    """Count what both begin with."""
    pairs = zip(old, new, strict=False)
    return next(
        (n for n, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new))
    )


def _trim(start: int, old: str, new: str) -> TextChange:
    """Leave out what both begin and end with, but part no CR from its LF."""
    n_first = _n_equal(old, new)
    most = min(len(old), len(new)) - n_first
    n_last = min(most, _n_equal(old[::-1], new[::-1]))
    if "\r" in old or "\r" in new:
        n_first -= old[:n_first].endswith("\r")
        n_last -= old[len(old) - n_last :].startswith("\n")
    return TextChange(start + n_first, start + len(old) - n_last, new[n_first : len(new) - n_last])


_STEP = 1 << 15
"""Characters that are compared at once."""


def _count_same(length: int, are_same: Callable[[int, int], bool]) -> int:
    """How many characters are the same: parts are compared, and the one that differs halved."""
    low = 0
    while low < length and are_same(low, min(low + _STEP, length)):
        low += _STEP
    high = min(low + _STEP, length)
    while high - low > 1:
        middle = (low + high) // 2
        if are_same(low, middle):
            low = middle
        else:
            high = middle
    return min(low, length)


SMALL_GAP = 250_000
"""Pairs of lines up to which a stretch without any unique line is compared line by line."""

Window = tuple[int, int, int, int]
"""A stretch of the one, from and up to, and one of the other."""


def lines_with_endings(text: str) -> list[str]:
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
            found.extend(_matching_pairs(one[begin:end], other[from_:to], begin, from_))
    return sorted(found)


def changed_stretches(
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
    """The longest sequence of keys that each range has once, in the same order."""
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


def _matching_pairs(
    one: Sequence[Hashable], other: Sequence[Hashable], begin: int, from_: int
) -> Iterator[tuple[int, int]]:
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    for block in blocks:
        for step in range(block.size):
            yield begin + block.a + step, from_ + block.b + step
