"""Limits of a plan: how large one is that is read at all.

Reading takes time and memory in proportion to the lines of a plan, a few microseconds and half a
kilobyte each. A plan beyond the limits is refused by name and never read in part: half a plan would
look finished too early.
"""

from __future__ import annotations

LARGEST_PLAN = 16 << 20
"""Bytes, or characters of an open document."""

MOST_LINES = 100_000
"""Five times what a plan of ten thousand tasks with notes has."""


def why_text_too_large(text: str) -> str | None:
    """As ``why_too_large``, of a text that is there already."""
    # The lines of a text that is too large anyway need not be counted.
    return why_too_large(len(text), 0) or why_too_large(len(text), text.count("\n"))


def why_too_large(size: int, n_lines: int) -> str | None:
    """Why a plan is not read, in words that follow its name; None where it is read.

    ``n_lines`` counts its line breaks.
    """
    if size > LARGEST_PLAN:
        return f"larger than {LARGEST_PLAN >> 20} MB"
    if n_lines > MOST_LINES:
        return f"longer than {MOST_LINES:,} lines"
    return None
