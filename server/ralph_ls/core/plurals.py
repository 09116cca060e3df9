"""Counts and lists in words, for every message to users in the core.

Knows nothing about what is counted.
"""

from __future__ import annotations

from collections.abc import Sequence


def count_of(number: int, noun: str) -> str:
    """``1 file``, ``2 files``, ``3 processes``."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun}{'es' if noun.endswith('s') else 's'}"


def numbered_iteration(iteration: int, limit: int | None, tries: int = 1) -> str:
    """``iteration 2 of 2, attempt 3``: the third start of the second iteration.

    A limit below the number is left out: a run was resumed with a lower one.
    """
    of = "" if limit is None or iteration > limit else f" of {limit}"
    again = f", attempt {tries}" if tries > 1 else ""
    return f"iteration {iteration}{of}{again}"


def some_of(names: Sequence[str], most: int) -> str:
    """``a, b``, or ``a, b and 3 more`` where there are more than ``most``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
