"""Limits of a plan: how large one is that is read at all.

Reading takes time and memory in proportion to the lines of a plan, a few microseconds and half a
kilobyte each. A plan beyond the limits is refused by name and never read in part: half a plan would
look finished too early.
"""

from __future__ import annotations

LARGEST_PLAN = 16 << 20
"""Bytes, or characters of an open document."""

MOST_LINES = 200_000
"""Ten times what a plan of ten thousand tasks with notes has."""


def why_too_large(size: int, n_lines: int) -> str | None:
    """Why a plan is not read, in words that follow its name; None where it is read.

    ``n_lines`` counts its line breaks.
    """
    if size > LARGEST_PLAN:
        return f"larger than {LARGEST_PLAN >> 20} MB"
    if n_lines > MOST_LINES:
        return f"longer than {MOST_LINES:,} lines"
    return None
