"""Usage of agents: sums, estimated cost, and what can be measured at all.

Counts add up; the state of a context window does not. Where an agent reports no cost, it is
estimated from its tokens and the table ``prices``; a reported cost is never changed. A limit that
cannot be measured would never apply, so a start with such a limit is refused: ``cost_metering`` and
the dialects' metering say beforehand what an agent reports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from ralph_ls.protocol.config.agent_catalog import CATALOG, Dialect
from ralph_ls.protocol.config.agent_facts import DialectMetering, Metering
from ralph_ls.protocol.config.tables import PriceConfig
from ralph_ls.protocol.run.report import Usage

Number = TypeVar("Number", int, float)


def add_usage(earlier: Usage | None, later: Usage | None) -> Usage | None:
    """Add two usages; counts unknown in both stay unknown, the context is that of the later one."""
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
    """The sum of the known counts; None where none is known."""
    known = [count for count in counts if count is not None]
    return sum(known[1:], known[0]) if known else None


def subtract_known(count: int | None, part: int | None) -> int | None:
    """Subtract counts, never below zero; None where the count is unknown."""
    return None if count is None else max(0, count - (part or 0))


TOKENS_PER_PRICE = 1_000_000
"""Number of tokens to which a price refers."""


def price_for(prices: Mapping[str, PriceConfig], model: str | None) -> PriceConfig | None:
    """The price of a model: of all matching patterns the longest wins.

    A pattern matches the beginning of a name. ``*`` and ``?`` are wildcards, so ``*`` prices every
    other model, including an unknown one.
    """
    fitting = [name for name in prices if _shape_of(name).match(model or "") is not None]
    best = max(fitting, key=lambda name: (len(name.replace("*", "")), name), default=None)
    return None if best is None else prices[best]


def with_estimated_cost(usage: Usage | None, price: PriceConfig | None) -> Usage | None:
    """Add an estimated cost, marked as such, unless one is known or no price matches."""
    if usage is None or price is None or usage.cost_usd is not None:
        return usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    if all(count is None for count in counts):
        return usage
    went_in, came_out, cached = (count or 0 for count in counts)
    cheaper = price.input if price.cached is None else price.cached
    cost = went_in * price.input + cached * cheaper + came_out * price.output
    return usage.model_copy(
        update={"cost_usd": round(cost / TOKENS_PER_PRICE, 6), "estimated": True}
    )


def _shape_of(name: str) -> re.Pattern[str]:
    parts = (
        ".*" if part == "*" else "." if part == "?" else re.escape(part)
        for part in re.split(r"([*?])", name)
    )
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)


METERING_BY_DIALECT: Mapping[Dialect, DialectMetering] = MappingProxyType(
    {
        Dialect.TEXT: DialectMetering(tokens=Metering.NEVER, cost=Metering.NEVER),
        # A mapping of a program's records says what they hold.
        Dialect.JSONL: DialectMetering(
            tokens=Metering.AT_END, cost=Metering.AT_END, names_model=True
        ),
        Dialect.ACP: DialectMetering(tokens=Metering.AT_END, cost=Metering.NEVER),
        **{agent.dialect: agent.metering for agent in CATALOG.values()},
    }
)


def cost_metering(
    meter: DialectMetering, prices: Mapping[str, PriceConfig], models: Sequence[str | None]
) -> Metering:
    """When the cost of an agent with one of ``models`` is known; None is its default model.

    An estimated cost is known when the tokens are.
    """
    if meter.cost is not Metering.NEVER:
        return meter.cost
    may_fit = [
        price_for(prices, model) is not None
        or (model is None and meter.names_model and bool(prices))
        for model in models
    ]
    return meter.tokens if may_fit and all(may_fit) else Metering.NEVER
