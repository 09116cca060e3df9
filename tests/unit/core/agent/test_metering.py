"""When it is known what an agent uses, before it is started."""

from __future__ import annotations

import pytest

from ralph_ls.core.agent.usage import METERING_BY_DIALECT, cost_metering
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.config.agent_facts import Metering
from ralph_ls.protocol.config.tables import PriceConfig

PRICE = PriceConfig(input=1, output=10)


def test_every_dialect_has_its_meter() -> None:
    assert set(METERING_BY_DIALECT) == set(Dialect)


@pytest.mark.parametrize(
    ("dialect", "prices", "models", "known"),
    [
        (Dialect.TEXT, (), (None,), Metering.NEVER),
        (Dialect.TEXT, ("*",), (None,), Metering.NEVER),
        (Dialect.CLAUDE, (), (None,), Metering.AT_END),
        (Dialect.OPENCODE, (), ("any",), Metering.EACH_TURN),
        (Dialect.CODEX, (), (None,), Metering.NEVER),
        (Dialect.CODEX, ("gpt-5",), (None,), Metering.NEVER),
        (Dialect.CODEX, ("*",), (None,), Metering.AT_END),
        (Dialect.CODEX, ("gpt-5",), ("gpt-5-codex",), Metering.AT_END),
        (Dialect.CODEX, ("gpt-5",), ("gpt-5", "o3"), Metering.NEVER),
        (Dialect.CODEX, ("*",), (), Metering.NEVER),
        (Dialect.QWEN, ("qwen",), (None,), Metering.EACH_TURN),
        (Dialect.QWEN, ("qwen",), ("other",), Metering.NEVER),
        (Dialect.GEMINI, ("gemini",), (None,), Metering.AT_END),
    ],
)
def test_a_cost_is_known_from_the_agent_or_from_its_tokens_and_a_price(
    dialect: Dialect, prices: tuple[str, ...], models: tuple[str | None, ...], known: Metering
) -> None:
    table = dict.fromkeys(prices, PRICE)
    assert cost_metering(METERING_BY_DIALECT[dialect], table, models) is known
