"""What tokens cost by the table of prices."""

from __future__ import annotations

import pytest

from ralph_ls.core.agent.usage import price_for, with_estimated_cost
from ralph_ls.protocol.config.tables import PriceConfig
from ralph_ls.protocol.run.report import Usage

PRICES = {
    name: PriceConfig(input=number)
    for number, name in enumerate(["gpt-5", "gpt-5-mini", "*flash*", "o?", "*", "gemini-3.1"])
}


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5", "gpt-5"),
        ("gpt-5-2026-08-07", "gpt-5"),
        ("GPT-5-mini-x", "gpt-5-mini"),
        ("gemini-2.5-flash-lite", "*flash*"),
        ("gemini-3.1-pro", "gemini-3.1"),
        ("gemini-311-pro", "*"),
        ("o3", "o?"),
        ("claude", "*"),
        (None, "*"),
    ],
)
def test_the_longest_name_that_a_model_begins_with_holds(model: str | None, name: str) -> None:
    assert price_for(PRICES, model) is PRICES[name]


def test_without_a_price_nothing_is_estimated() -> None:
    assert price_for({"gpt": PriceConfig()}, None) is None
    assert price_for({}, "gpt") is None
    assert with_estimated_cost(Usage(input_tokens=1), None) == Usage(input_tokens=1)
    assert with_estimated_cost(None, PriceConfig()) is None
    assert with_estimated_cost(Usage(turns=1), PriceConfig(input=1)) == Usage(turns=1)


def test_what_an_agent_reports_of_its_cost_holds() -> None:
    told = Usage(input_tokens=1_000_000, cost_usd=0.5)
    assert with_estimated_cost(told, PriceConfig(input=9)) is told


@pytest.mark.parametrize(
    ("price", "usage", "cost"),
    [
        (PriceConfig(input=2, cached=0.5, output=8), (1_000_000, 250_000, 1_000_000), 4.5),
        (PriceConfig(input=2, output=8), (1_000_000, None, 500_000), 3.0),
        (PriceConfig(output=8), (None, 1000, None), 0.008),
    ],
)
def test_a_million_tokens_cost_their_price(
    price: PriceConfig, usage: tuple[int | None, int | None, int | None], cost: float
) -> None:
    went_in, came_out, cached = usage
    told = Usage(input_tokens=went_in, output_tokens=came_out, cached_tokens=cached)
    found = with_estimated_cost(told, price)
    assert found == told.model_copy(update={"cost_usd": cost, "estimated": True})
