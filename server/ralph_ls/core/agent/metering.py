"""What can be known of an agent's use of tokens and dollars, and when, before it is started.

A limit that nobody can measure ends nothing, so a start with one is refused. What a cost is known
by is the agent itself, or its tokens and a price in the table ``prices``.

It must never know what happens to a run that is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from ralph_ls.core.agent.prices import price_for
from ralph_ls.protocol.config.agent import Dialect
from ralph_ls.protocol.config.tables import PriceConfig


class Metering(StrEnum):
    """When an agent reports what it used."""

    NEVER = "never"
    AT_END = "at-end"
    """Once, when it ends: what one iteration uses is known after it alone."""
    EACH_TURN = "each-turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """What agents of one dialect report."""

    tokens: Metering
    cost: Metering
    names_model: bool = False
    """It reports which model it took, so a price can be found for one of its own choice."""


_NEVER, _AT_END, _EACH_TURN = Metering

METERS: Mapping[Dialect, Meter] = MappingProxyType(
    {
        Dialect.TEXT: Meter(tokens=_NEVER, cost=_NEVER),
        Dialect.CLAUDE: Meter(tokens=_EACH_TURN, cost=_AT_END, names_model=True),
        Dialect.CODEX: Meter(tokens=_AT_END, cost=_NEVER),
        Dialect.GEMINI: Meter(tokens=_AT_END, cost=_NEVER, names_model=True),
        Dialect.QWEN: Meter(tokens=_EACH_TURN, cost=_NEVER, names_model=True),
        Dialect.OPENCODE: Meter(tokens=_EACH_TURN, cost=_EACH_TURN),
        Dialect.CLINE: Meter(tokens=_EACH_TURN, cost=_EACH_TURN, names_model=True),
        Dialect.COPILOT: Meter(tokens=_AT_END, cost=_NEVER, names_model=True),
        # Whoever maps the records of a program says with that what they hold.
        Dialect.JSONL: Meter(tokens=_AT_END, cost=_AT_END, names_model=True),
        Dialect.ACP: Meter(tokens=_AT_END, cost=_NEVER),
    }
)


def cost_metering(
    meter: Meter, prices: Mapping[str, PriceConfig], models: Sequence[str | None]
) -> Metering:
    """When the cost of an agent is known that works with one of ``models``; None: its own choice.

    A cost that is estimated from tokens is known when those are.
    """
    if meter.cost is not Metering.NEVER:
        return meter.cost
    may_fit = [
        price_for(prices, model) is not None
        or (model is None and meter.names_model and bool(prices))
        for model in models
    ]
    return meter.tokens if may_fit and all(may_fit) else Metering.NEVER
