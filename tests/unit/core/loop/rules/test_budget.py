"""Budgets: what ends a run, and when the user is warned.

See docs/rules.md#budgets.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.rules.budget import limit_reached, nearly_used_budgets, used_up_budgets
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.report import Usage

ALL: dict[str, Any] = {
    "max_iterations": 10,
    "max_duration": 1200,
    "max_tokens": 1000,
    "max_cost_usd": 5,
}


def spent(tokens: int | None = None, cost: float | None = None, **fields: Any) -> Usage:
    return Usage(input_tokens=tokens, cost_usd=cost, **fields)


def reached(
    counted: int = 0, seconds: float = 0, usage: Usage | None = None, **settings: Any
) -> str | None:
    return limit_reached(Config(**settings), counted=counted, seconds=seconds, usage=usage)


def nearly(
    counted: int = 0, seconds: float = 0, usage: Usage | None = None, **settings: Any
) -> dict[str, str]:
    told = nearly_used_budgets(Config(**settings), counted=counted, seconds=seconds, usage=usage)
    assert len(dict(told)) == len(told)
    return dict(told)


@pytest.mark.parametrize(
    ("used", "message"),
    [
        pytest.param({"counted": 9, "seconds": 1199.9, "usage": spent(999, 4.99)}, None, id="none"),
        pytest.param({"counted": 10}, "reached the 10-iteration limit", id="iterations"),
        pytest.param({"counted": 11}, "reached the 10-iteration limit (11 have run)", id="beyond"),
        pytest.param({"seconds": 1200}, "reached the 20m time limit", id="duration"),
        pytest.param(
            {"usage": spent(1000)}, "reached the 1000-token limit (1000 used)", id="tokens"
        ),
        pytest.param(
            {"usage": spent(600, output_tokens=450)},
            "reached the 1000-token limit (1050 used)",
            id="in and out",
        ),
        pytest.param({"usage": spent(cached_tokens=9000)}, None, id="cached ones are told apart"),
        pytest.param(
            {"usage": spent(cost=5)}, "reached the $5.00 cost limit ($5.00 used)", id="cost"
        ),
        pytest.param(
            {"usage": spent(cost=7.12)}, "reached the $5.00 cost limit ($7.12 used)", id="cents"
        ),
        pytest.param({"usage": Usage()}, None, id="unknown"),
        pytest.param({"usage": None}, None, id="nothing told"),
        pytest.param(
            {"counted": 10, "seconds": 9e9, "usage": spent(9999, 99)},
            "reached the 10-iteration limit",
            id="the first is told",
        ),
    ],
)
def test_a_run_ends_where_a_budget_is_used_up(used: dict[str, Any], message: str | None) -> None:
    assert reached(**used, **ALL) == message


def test_long_durations_are_reported_in_full() -> None:
    settings: dict[str, Any] = {"max_duration": "30d"}
    assert reached(seconds=2592000, **settings) == "reached the 720h time limit"
    assert nearly(seconds=2100000.26, **settings) == {"duration": "583h20m of 720h used"}


def test_small_costs_are_reported_in_full() -> None:
    usage = spent(cost=0.0123)
    assert reached(usage=usage, max_cost_usd=0.001) == "reached the $0.001 cost limit ($0.01 used)"


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        pytest.param({"counted": 7, "seconds": 959.9, "usage": spent(799, 3.99)}, {}, id="79 %"),
        pytest.param(
            {"counted": 8, "seconds": 960, "usage": spent(800, 4)},
            {
                "iterations": "8 of 10 iterations used",
                "duration": "16m of 20m used",
                "tokens": "800 of 1000 tokens used",
                "cost": "$4.00 of $5.00 used",
            },
            id="80 %",
        ),
        pytest.param({"usage": Usage()}, {}, id="unknown"),
        pytest.param(
            {"counted": 10, "seconds": 1000.04, "usage": spent(1000, 6)},
            {"duration": "16m40s of 20m used"},
            id="what is used up altogether is told by the end",
        ),
    ],
)
def test_the_user_is_warned_at_80_percent(used: dict[str, Any], expected: dict[str, str]) -> None:
    assert nearly(**used, **ALL) == expected


def test_short_runs_warn_of_no_iterations() -> None:
    assert nearly(3, max_iterations=4) == {}
    assert nearly(4, max_iterations=5) == {"iterations": "4 of 5 iterations used"}


@given(
    st.integers(0, 100),
    st.floats(0, 1e6),
    st.none() | st.builds(Usage, input_tokens=st.none() | st.integers(0), cost_usd=st.none()),
)
def test_a_run_without_budgets_never_ends_for_one(
    counted: int, seconds: float, usage: Usage | None
) -> None:
    assert reached(counted, seconds, usage) is None
    assert nearly(counted, seconds, usage) == {}
    assert reached(usage=usage, max_cost_usd=1) is None


@given(st.integers(1, 200), st.integers(0, 250))
def test_a_run_warns_before_it_ends(limit: int, used: int) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"max_iterations": limit}, {"counted": used}),
        ({"max_duration": limit}, {"seconds": float(used)}),
        ({"max_tokens": limit}, {"usage": spent(used)}),
        ({"max_cost_usd": limit}, {"usage": spent(cost=float(used))}),
    ]
    for settings, given_used in cases:
        is_over = reached(**given_used, **settings) is not None
        is_told = bool(nearly(**given_used, **settings))
        assert is_over == (used >= limit)
        if limit >= 5 or "max_iterations" not in settings:
            assert is_told == (used * 5 >= limit * 4 and not is_over)


@pytest.mark.parametrize(
    ("settings", "used", "told"),
    [
        ({"max_iterations": 20}, {"counted": 20}, ("20 of 20 iterations", "--max-iterations 40")),
        ({"max_iterations": 1}, {"counted": 1}, ("1 of 1 iterations", "--max-iterations 2")),
        ({"max_duration": 5400}, {"seconds": 5460}, ("1h31m of 1h30m", "--max-time 3h")),
        ({"max_duration": 90}, {"seconds": 130.2}, ("2m10s of 1m30s", "--max-time 3m")),
        ({"max_duration": 0.2}, {"seconds": 0.25}, ("250ms of 200ms", "--max-time 400ms")),
        ({"max_duration": 0}, {"seconds": 5}, ("5s of 0ms", "--max-time 1h")),
        (
            {"max_tokens": 1500},
            {"usage": spent(1600)},
            ("1600 of 1500 tokens", "--max-tokens 3000"),
        ),
        ({"max_cost_usd": 5}, {"usage": spent(cost=5.02)}, ("$5.02 of $5.00", "--max-cost 10")),
        ({"max_cost_usd": 5}, {"usage": spent(cost=9.9)}, ("$9.90 of $5.00", "--max-cost 15")),
        ({"max_cost_usd": 0.25}, {"usage": spent(cost=0.25)}, ("$0.25 of $0.25", "--max-cost 0.5")),
        (
            {"max_cost_usd": 0.0005},
            {"usage": spent(cost=0.0005, estimated=True)},
            ("≈$0.0005 of $0.0005", "--max-cost 0.001"),
        ),
    ],
)
def test_a_budget_that_is_used_up_says_how_much_and_which_flag_raises_it(
    settings: dict[str, Any], used: dict[str, Any], told: tuple[str, str]
) -> None:
    given = {"counted": 0, "seconds": 0.0, "usage": None, **used}
    (found,) = used_up_budgets(Config(**settings), **given)
    assert (found.used, found.flag) == told


def test_only_budgets_that_are_used_up_have_to_be_raised() -> None:
    found = used_up_budgets(Config(**ALL), counted=10, seconds=3, usage=spent(20, cost=6))
    assert [one.flag for one in found] == ["--max-iterations 20", "--max-cost 10"]
    assert used_up_budgets(Config(**ALL), counted=0, seconds=0, usage=None) == ()


@given(limit=st.floats(0.01, 1e6), share=st.floats(1, 50))
def test_a_new_total_leaves_room_for_more(limit: float, share: float) -> None:
    cost = limit * share
    (found,) = used_up_budgets(
        Config(max_cost_usd=limit), counted=0, seconds=0, usage=spent(cost=cost)
    )
    assert float(found.flag.rpartition(" ")[2]) > cost + 0.4 * limit
