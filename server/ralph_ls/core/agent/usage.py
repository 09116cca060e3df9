"""Adding up what agents used: counts add up, the state of a context window does not."""

from __future__ import annotations

from typing import TypeVar

from ralph_ls.protocol.run.report import Usage

Number = TypeVar("Number", int, float)


def add_usage(earlier: Usage | None, later: Usage | None) -> Usage | None:
    """Both together; what neither knows stays unknown, and the context is the later one's."""
    if earlier is None or later is None:
        return later or earlier
    cost = add_known(earlier.cost_usd, later.cost_usd)
    has_context = later.context_tokens is not None
    return Usage(
        input_tokens=add_known(earlier.input_tokens, later.input_tokens),
        output_tokens=add_known(earlier.output_tokens, later.output_tokens),
        cached_tokens=add_known(earlier.cached_tokens, later.cached_tokens),
        cost_usd=None if cost is None else round(cost, 6),
        turns=add_known(earlier.turns, later.turns),
        context_tokens=later.context_tokens if has_context else earlier.context_tokens,
        context_window=later.context_window or earlier.context_window,
        estimated=earlier.estimated or later.estimated,
    )


def add_known(*counts: Number | None) -> Number | None:
    """The sum of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None


def less_known(count: int | None, part: int | None) -> int | None:
    """A count without a part of it; None where the count is not known, and never below nought."""
    return None if count is None else max(0, count - (part or 0))
