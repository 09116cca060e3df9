"""The breaker's table (SPEC §6), row by row and from both states that lead to OPEN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.breaker import HISTORY_LENGTH, IterationFacts, count_iteration, reset
from ralph_ls.protocol.breaker import Breaker, BreakerState
from ralph_ls.protocol.config import BreakerConfig
from tests.unit.loop.play import BEGIN


def facts(*, progress: bool = False, **fields: Any) -> IterationFacts:
    return IterationFacts(iteration=1, progress=progress, **fields)


def errors(*lines: str, progress: bool = True) -> IterationFacts:
    return facts(progress=progress, error_patterns=lines)


def ran(status: str) -> IterationFacts:
    return facts(progress=True, tests_status=status)


none = facts()
some = facts(progress=True)
blocked = facts(progress=True, blocked_reason="get a key")
refused = facts(completion_refused=True)
refused_with_progress = facts(progress=True, completion_refused=True)


def count(
    history: list[IterationFacts], breaker: Breaker | None = None, **config: Any
) -> list[Breaker]:
    """The breaker after each iteration."""
    now, after = breaker or Breaker(), []
    for number, each in enumerate(history, start=now.current_iteration + 1):
        numbered = replace(each, iteration=number)
        now = count_iteration(now, numbered, BreakerConfig(**config), BEGIN)
        after.append(now)
    return after


def states(*args: Any, **config: Any) -> list[str]:
    return [breaker.state.value for breaker in count(*args, **config)]


C, H, O = "CLOSED", "HALF_OPEN", "OPEN"  # noqa: E741


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([none, none, none], [C, H, O], id="no progress"),
        pytest.param([none, none, some], [C, H, C], id="progress closes"),
        pytest.param([none, none, some, none, none, none], [C, H, C, C, H, O], id="again"),
        pytest.param([none, some, none, some], [C] * 4, id="counts are consecutive"),
        pytest.param([none, none, none, some], [C, H, O, O], id="OPEN stays OPEN"),
        pytest.param([blocked], [O], id="BLOCKED"),
        pytest.param([none, none, blocked], [C, H, O], id="BLOCKED in HALF_OPEN"),
        pytest.param([errors("e")] * 5, [C] * 4 + [O], id="same error"),
        pytest.param([errors("e")] * 4 + [some] + [errors("e")] * 4, [C] * 9, id="without it"),
        pytest.param(
            [errors("e", "a"), errors("b", "e"), errors("e"), errors("c", "e"), errors("e")],
            [C] * 4 + [O],
            id="one line is shared by all",
        ),
        pytest.param(
            [errors("a", "b"), errors("b", "c"), errors("c", "d"), errors("d"), errors("d")],
            [C] * 5,
            id="no line is shared by all",
        ),
        pytest.param([ran("FAILING")] * 5, [C] * 4 + [O], id="failing tests"),
        pytest.param(
            [ran("FAILING")] * 4 + [ran("NOT_RUN"), ran("ODD"), ran("FAILING")],
            [C] * 6 + [O],
            id="tests that were not run leave the count",
        ),
        pytest.param(
            [ran("FAILING")] * 4 + [ran("PASSING")] + [ran("FAILING")] * 4,
            [C] * 9,
            id="passing tests zero it",
        ),
        pytest.param([refused, refused, refused], [C, H, O], id="refused completions"),
        pytest.param([refused, refused_with_progress] * 3, [C] * 6, id="refused, but progress"),
    ],
)
def test_the_table(history: list[IterationFacts], expected: list[str]) -> None:
    assert states(history) == expected


@pytest.mark.parametrize(
    ("history", "config", "expected"),
    [
        pytest.param([none] * 4, {"no_progress_half_open": 1}, [H, H, O, O], id="half open at 1"),
        pytest.param([none] * 3, {"no_progress_half_open": 0}, [C, C, O], id="no half open"),
        pytest.param([none] * 4, {"no_progress_open": 0}, [C, H, H, H], id="never opens"),
        pytest.param([errors("e")] * 2, {"same_error_open": 2}, [C, O], id="same error at 2"),
        pytest.param([ran("FAILING")], {"failing_tests_open": 1}, [O], id="failing at 1"),
        pytest.param([refused], {"refused_completions_open": 1}, [O], id="refused at 1"),
        pytest.param([blocked], {"blocked_opens": False}, [C], id="BLOCKED does not open"),
        pytest.param([none, blocked, none], {"enabled": False}, [C, C, C], id="off"),
    ],
)
def test_every_threshold_is_a_setting(
    history: list[IterationFacts], config: dict[str, Any], expected: list[str]
) -> None:
    assert states(history, **config) == expected


def test_reasons_say_what_happened() -> None:
    assert count([none] * 2)[-1].reason == "2 iterations without progress"
    assert count([none] * 3)[-1].reason == "3 iterations without progress"
    assert count([blocked])[-1].reason == "the agent reports BLOCKED: get a key"
    nameless = facts(blocked_reason="")
    assert count([nameless])[-1].reason == "the agent reports BLOCKED: no reason given"
    assert count([errors("e")] * 5)[-1].reason == "the same error in 5 iterations: e"
    assert count([none, none, some])[-1].reason == "progress again"


def test_the_record_is_kept() -> None:
    history = [some, *[errors(f"e{number}", "x", progress=False) for number in range(7)]]
    last = count(history, no_progress_open=0, same_error_open=0)[-1]
    assert last.current_iteration == 8
    assert last.last_progress_iteration == 1
    assert last.error_history == tuple(f"e{number} | x" for number in range(2, 7))
    assert len(last.error_history) == HISTORY_LENGTH
    assert last.last_change_at == BEGIN
    assert count([none] * 3)[-1].total_opens == 1


def test_progress_does_not_zero_what_it_does_not_mend() -> None:
    last = count([errors("e"), replace(errors("e"), tests_status="FAILING")])[-1]
    assert (last.consecutive_same_error, last.consecutive_failing_tests) == (2, 1)


def test_an_iteration_that_was_cut_short_says_nothing_of_errors_and_tests() -> None:
    before = count([replace(errors("e"), tests_status="FAILING"), none, none])
    after = count([facts(progress=True, cut_short=True)], before[0])[0]
    assert after.error_streaks == {"e": 1}
    assert after.consecutive_failing_tests == 1
    assert states([facts(progress=True, cut_short=True)], before[-1]) == [C]


@given(
    st.lists(
        st.builds(
            facts,
            progress=st.booleans(),
            error_patterns=st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
            tests_status=st.sampled_from(["PASSING", "FAILING", "NOT_RUN"]),
            blocked_reason=st.none() | st.just("x"),
            completion_refused=st.booleans(),
        ),
        max_size=12,
    )
)
def test_open_is_left_by_a_reset_alone(history: list[IterationFacts]) -> None:
    after = count(history)
    opened = [breaker.state is BreakerState.OPEN for breaker in after]
    assert opened == sorted(opened)
    last = after[-1] if after else Breaker()
    again = reset(last, by="Ada", now=BEGIN)
    assert again.state is BreakerState.CLOSED
    assert again.consecutive_no_progress == again.consecutive_same_error == 0
    assert again.consecutive_failing_tests == again.consecutive_refusals == 0
    assert (again.total_opens, again.error_history) == (last.total_opens, last.error_history)
    assert again.last_progress_iteration == last.last_progress_iteration
