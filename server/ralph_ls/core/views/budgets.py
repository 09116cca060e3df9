"""How much of its budgets a run has used up, in words (SPEC §9.6).

What an agent does not tell is not known, and nobody makes a number of it. It must never know what
happens to a run whose budget is used up.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.core.views.summary import format_duration
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState


def budget_words(state: RunState) -> Iterator[str]:
    """``6m 12s of 2h``, ``31k of 200k tokens``, ``$0.42 of $5.00``: what is limited and known."""
    config, tokens, cost = state.config, tokens_of(state.usage), cost_of(state.usage)
    if config.max_duration is not None:
        yield duration_words(state.active_seconds, config.max_duration)
    if config.max_tokens is not None and tokens is not None:
        yield f"{tokens_words(tokens, config.max_tokens)} tokens"
    if config.max_cost_usd is not None and cost is not None:
        yield cost_words(cost, config.max_cost_usd, estimated=is_estimated(state.usage))


def duration_words(seconds: float, limit: float | None) -> str:
    """``6m 12s``, or ``6m 12s of 2h``."""
    used = format_duration(seconds)
    return used if limit is None else f"{used} of {limit_words(limit)}"


def tokens_words(tokens: int | None, limit: int | None) -> str:
    """``31k``, ``31k of 200k``; empty where there is nothing to tell."""
    return _used(
        "" if tokens is None else thousands(tokens), "" if limit is None else thousands(limit)
    )


def cost_words(cost: float | None, limit: float | None, *, estimated: bool = False) -> str:
    """``$0.42``, ``≈$0.42 of $5.00``; empty where there is nothing to tell."""
    used = "" if cost is None else dollars(cost, estimated=estimated)
    return _used(used, "" if limit is None else dollars(limit))


def limit_words(seconds: float) -> str:
    """``2h``, ``1m 30s``: a duration that somebody wrote down."""
    return format_duration(seconds).removesuffix(" 0s").removesuffix(" 0m")


def thousands(count: int) -> str:
    """``950``, ``31k``, ``1.2M``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M"


def dollars(amount: float, *, estimated: bool = False) -> str:
    """``$0.42``; what is less than a cent keeps the digits that tell it from nothing.

    ``≈$0.42`` is an estimate out of the table ``prices``.
    """
    about = "≈" if estimated else ""
    return f"{about}${amount:.4f}" if 0 < amount < 0.01 else f"{about}${amount:.2f}"


def cost_of(usage: Usage | None) -> float | None:
    """What was paid; None where no agent has told it."""
    return None if usage is None else usage.cost_usd


def is_estimated(usage: Usage | None) -> bool:
    """Whether some of the cost is an estimate."""
    return usage is not None and bool(usage.estimated)


def _used(used: str, limit: str) -> str:
    if not limit:
        return used
    return f"{used} of {limit}" if used else f"not told, at most {limit}"
