"""Where one text differs from another, found by comparing, not by trusting who changed it.

An editor says which part of a document it changed, but a text also changes on the disk, by an
undo, or several times between two looks; and an edit gives a whole new text, while an editor, and
who merges, want the places. Nothing here knows what a plan is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise
from typing import NamedTuple

from ralph_ls.core.plan.lines import lines_of


class Change(NamedTuple):
    """A part of the old text and what stands there now; places are characters."""

    start: int
    end: int
    text: str


def find_change(before: str, after: str) -> Change:
    """The part between what both texts begin with and what they end with; quick in long texts."""
    n_before, n_after = len(before), len(after)

    def begin_alike(at: int, end: int) -> bool:
        return before[at:end] == after[at:end]

    def end_alike(at: int, end: int) -> bool:
        ours = before[n_before - end : n_before - at]
        return ours == after[n_after - end : n_after - at]

    start = _count_same(min(n_before, n_after), begin_alike)
    n_last = _count_same(min(n_before, n_after) - start, end_alike)
    return Change(start, n_before - n_last, after[start : n_after - n_last])


def changes_between(before: str, after: str) -> tuple[Change, ...]:
    """Give the replacements that make ``after`` of ``before``, from first to last, in their order.

    Lines that are equal are left alone, and so is what a changed line begins and ends with.
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
    found: list[Change] = []
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
            found.append(Change(start, start + len(gone), came))
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


def _trim(start: int, old: str, new: str) -> Change:
    """Leave out what both begin and end with, but part no CR from its LF."""
    n_first = _n_equal(old, new)
    most = min(len(old), len(new)) - n_first
    n_last = min(most, _n_equal(old[::-1], new[::-1]))
    if "\r" in old or "\r" in new:
        n_first -= old[:n_first].endswith("\r")
        n_last -= old[len(old) - n_last :].startswith("\n")
    return Change(start + n_first, start + len(old) - n_last, new[n_first : len(new) - n_last])


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
