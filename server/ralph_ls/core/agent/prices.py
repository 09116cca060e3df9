"""What tokens cost where an agent does not say: an estimate out of the table ``prices``.

It must never change what an agent itself tells of its cost.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ralph_ls.protocol.config.tables import PriceConfig
from ralph_ls.protocol.run.report import Usage

PER = 1_000_000
"""Tokens that a price is for."""


def price_for(prices: Mapping[str, PriceConfig], model: str | None) -> PriceConfig | None:
    """The price of a model: of several names that it begins with, the longest holds.

    ``*`` and ``?`` stand for any text and any character, so ``*`` is the price of every model that
    has no other, also where nobody knows which one the agent took.
    """
    fitting = [name for name in prices if _shape_of(name).match(model or "") is not None]
    best = max(fitting, key=lambda name: (len(name.replace("*", "")), name), default=None)
    return None if best is None else prices[best]


def priced(usage: Usage | None, price: PriceConfig | None) -> Usage | None:
    """With a cost, marked as an estimate; as it is where the agent tells one, or no price fits."""
    if usage is None or price is None or usage.cost_usd is not None:
        return usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
    if all(count is None for count in counts):
        return usage
    went_in, came_out, cached = (count or 0 for count in counts)
    cheaper = price.input if price.cached is None else price.cached
    cost = went_in * price.input + cached * cheaper + came_out * price.output
    return usage.model_copy(update={"cost_usd": round(cost / PER, 6), "estimated": True})


def _shape_of(name: str) -> re.Pattern[str]:
    parts = (
        ".*" if part == "*" else "." if part == "?" else re.escape(part)
        for part in re.split(r"([*?])", name)
    )
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)
