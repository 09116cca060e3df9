"""The breaker's table, row by row and from both states that lead to OPEN."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.rules.breaker import (
    HISTORY_LENGTH,
    MAX_STREAKS,
    BreakerFacts,
    close_by_reset,
    count_iteration,
)
from ralph_ls.protocol.config.config import BreakerConfig
from ralph_ls.protocol.run.values import Breaker, BreakerState

BEGIN = datetime(2026, 11, 21, 12, tzinfo=UTC)


def facts(*, progress: bool = False, **fields: Any) -> BreakerFacts:
    return BreakerFacts(iteration=1, progress=progress, **fields)


def errors(*lines: str, progress: bool = True) -> BreakerFacts:
    return facts(progress=progress, error_patterns=lines)


def ran(status: str) -> BreakerFacts:
    return facts(progress=True, tests_status=status)


none = facts()
some = facts(progress=True)
blocked = facts(progress=True, blocked_reason="get a key")
refused = facts(completion_refused=True)
refused_with_progress = facts(progress=True, completion_refused=True)
denied = facts(denied_tools=("Bash",))
denied_with_progress = facts(progress=True, denied_tools=("Bash",))
permitted = facts(progress=True, denied_tools=())
asks = facts(asked=True)
asks_with_progress = facts(progress=True, asked=True)
aside = facts(set_aside=True)
aside_with_progress = facts(progress=True, set_aside=True)


def count(
    history: list[BreakerFacts], breaker: Breaker | None = None, **config: Any
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


STALLS = {"no_progress_half_open": 0, "no_progress_open": 0}
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
        pytest.param([refused, none, some, refused, refused], [C, H, C, C, H], id="not in a row"),
        pytest.param([denied, denied], [C, O], id="denials"),
        pytest.param([denied_with_progress] * 4, [C] * 4, id="denials for all their progress"),
        pytest.param([denied, denied_with_progress, denied], [C, C, O], id="denials, not zeroed"),
        pytest.param([none, denied, some, denied], [C, H, C, O], id="denials from HALF_OPEN"),
        pytest.param([asks] * 6, [C] * 6, id="asking is not failing"),
        pytest.param([none, asks, none, asks, none], [C, C, H, H, O], id="asking leaves the count"),
        pytest.param(
            [none, none, asks_with_progress, none], [C, H, H, O], id="so does asking with progress"
        ),
        pytest.param([aside, facts(asked=True, set_aside=True)], [C, O], id="asking, set aside"),
        pytest.param([facts(asked=True, blocked_reason="no key")], [O], id="asking, BLOCKED"),
        pytest.param([denied, permitted, denied], [C] * 3, id="an iteration without a denial"),
        pytest.param([denied, some, some, denied], [C] * 3 + [O], id="agents that cannot tell"),
        pytest.param([aside, aside], [C, O], id="tasks set aside"),
        pytest.param([none, none, aside, none, none, aside], [C, H, H, H, H, O], id="one by one"),
        pytest.param([none, none, aside, some, none, aside], [C, H, H, C, C, C], id="progress"),
        pytest.param([aside, aside_with_progress, aside], [C, C, O], id="progress while set aside"),
        pytest.param([none, aside, none, none, none], [C, C, C, H, O], id="set aside counts anew"),
    ],
)
def test_the_table(history: list[BreakerFacts], expected: list[str]) -> None:
    assert states(history) == expected


@pytest.mark.parametrize(
    ("history", "config", "expected"),
    [
        pytest.param([none] * 4, {"no_progress_half_open": 1}, [H, H, O, O], id="half-open at 1"),
        pytest.param([none] * 3, {"no_progress_half_open": 0}, [C, C, O], id="no half-open"),
        pytest.param([none] * 4, {"no_progress_open": 0}, [C, H, H, H], id="never opens"),
        pytest.param([errors("e")] * 2, {"same_error_open": 2}, [C, O], id="same error at 2"),
        pytest.param([ran("FAILING")], {"failing_tests_open": 1}, [O], id="failing at 1"),
        pytest.param([refused], {"refused_completions_open": 1}, [O], id="refused at 1"),
        pytest.param([errors("e")] * 9, {"same_error_open": 0}, [C] * 9, id="same error off"),
        pytest.param([ran("FAILING")] * 9, {"failing_tests_open": 0}, [C] * 9, id="failing off"),
        pytest.param(
            [refused] * 4,
            {"refused_completions_open": 0, "no_progress_open": 0},
            [C, H, H, H],
            id="refused off",
        ),
        pytest.param([denied], {"denials_open": 1}, [O], id="denied at 1"),
        pytest.param([denied] * 3, {"denials_open": 3, **STALLS}, [C, C, O], id="denied at 3"),
        pytest.param([denied] * 9, {"denials_open": 0, **STALLS}, [C] * 9, id="denied off"),
        pytest.param([aside], {"set_aside_open": 1}, [O], id="set aside at 1"),
        pytest.param([aside] * 9, {"set_aside_open": 0}, [C] * 9, id="set aside off"),
        pytest.param([none, blocked, denied, denied], {"enabled": False}, [C] * 4, id="off"),
    ],
)
def test_every_threshold_is_a_setting(
    history: list[BreakerFacts], config: dict[str, Any], expected: list[str]
) -> None:
    assert states(history, **config) == expected


@pytest.mark.parametrize(
    ("history", "config", "reason"),
    [
        ([none] * 2, {}, "2 iterations without progress"),
        ([none] * 3, {}, "3 iterations without progress"),
        ([none], {"no_progress_half_open": 1}, "1 iteration without progress"),
        ([none], {"no_progress_open": 1}, "1 iteration without progress"),
        ([none, none, some], {}, "progress again"),
        ([blocked], {}, "the agent reports BLOCKED: get a key"),
        ([facts(blocked_reason="")], {}, "the agent reports BLOCKED: no reason given"),
        ([errors("e")] * 5, {}, "the same error in 5 iterations: e"),
        (
            [errors("a"), errors("b", "a")],
            {"same_error_open": 2},
            "the same error in 2 iterations: a",
        ),
        ([ran("FAILING")] * 5, {}, "tests failing in 5 iterations"),
        ([refused] * 3, {}, "3 refused completions without progress"),
        (
            [aside] * 2,
            {},
            "2 tasks set aside in a row without progress; the environment may be broken",
        ),
        (
            [denied, facts(denied_tools=("Edit", "Bash", "Edit"))],
            {},
            "permission denied in 2 iterations: Edit, Bash; see the setting tools.allow",
        ),
        (
            [facts(denied_tools=tuple("abcdefg"))],
            {"denials_open": 1},
            (
                "permission denied in 1 iteration: a, b, c, d, e and 2 more; see the setting "
                "tools.allow"
            ),
        ),
    ],
)
def test_reasons_say_what_happened(
    history: list[BreakerFacts], config: dict[str, Any], reason: str
) -> None:
    last = count(history, **config)[-1]
    assert last.reason == reason


def test_a_threshold_that_was_lowered_opens_with_what_was_counted() -> None:
    before = count([denied])[-1]
    after = count([none], before, denials_open=1)[-1]
    assert after.state is BreakerState.OPEN
    assert after.reason == "permission denied in 1 iteration: a tool; see the setting tools.allow"


def test_of_several_reasons_the_one_that_the_user_can_fix_comes_first() -> None:
    everything = facts(
        error_patterns=("e",),
        tests_status="FAILING",
        completion_refused=True,
        denied_tools=("Bash",),
        set_aside=True,
        blocked_reason="get a key",
    )
    rows: dict[str, Any] = {
        "denials_open": 1,
        "same_error_open": 1,
        "failing_tests_open": 1,
        "set_aside_open": 1,
        "refused_completions_open": 1,
    }
    begins = [
        "permission denied",
        "the same error",
        "tests failing",
        "1 task set aside",
        "1 refused",
    ]
    assert "BLOCKED" in count([everything], **rows)[-1].reason
    for row, begin in zip(list(rows), begins, strict=True):
        rest = replace(everything, blocked_reason=None)
        assert count([rest], **rows)[-1].reason.startswith(begin)
        del rows[row]


def test_the_record_is_kept() -> None:
    history = [some, *[errors(f"e{number}", "x", progress=False) for number in range(7)]]
    last = count(history, no_progress_open=0, same_error_open=0)[-1]
    assert last.current_iteration == 8
    assert last.last_progress_iteration == 1
    assert last.error_history == tuple(f"e{number} | x" for number in range(2, 7))
    assert len(last.error_history) == HISTORY_LENGTH
    assert last.last_change_at == BEGIN
    assert count([none] * 3)[-1].total_opens == 1


def test_progress_does_not_zero_what_it_does_not_fix() -> None:
    last = count([errors("e"), replace(errors("e"), tests_status="FAILING")])[-1]
    assert (last.consecutive_same_error, last.consecutive_failing_tests) == (2, 1)


def test_an_iteration_that_was_cut_short_counts_nothing_up_and_opens_nothing() -> None:
    said = replace(
        errors("e", progress=False),
        tests_status="FAILING",
        completion_refused=True,
        denied_tools=("Bash",),
    )
    rows: dict[str, Any] = dict.fromkeys((f"{row}_open" for row in ROWS), 2)
    before = count([said], **rows)[-1]
    for more in (facts(denied_tools=()), facts(tests_status="PASSING"), said, blocked):
        cut = replace(more, cut_short=True, progress=False)
        after = count([cut], before, **rows)[-1]
        assert after == before.model_copy(update={"current_iteration": 2})


def test_a_task_that_is_set_aside_for_its_lost_iterations_counts_as_any_other() -> None:
    lost = facts(set_aside=True, cut_short=True, denied_tools=("Bash",), error_patterns=("e",))
    first, second = count([lost, lost])
    assert (first.state, first.consecutive_set_asides) == (BreakerState.CLOSED, 1)
    assert second.state is BreakerState.OPEN
    assert "the environment may be broken" in second.reason
    assert second.consecutive_denials == second.consecutive_same_error == 0
    assert states([none, none, lost, none]) == [C, H, H, H]


def test_the_progress_of_an_iteration_that_was_cut_short_counts() -> None:
    cut = facts(progress=True, cut_short=True)
    before = count([replace(refused, set_aside=True), refused])[-1]
    after = count([cut], before)[-1]
    assert after.consecutive_no_progress == after.consecutive_refusals == 0
    assert after.consecutive_set_asides == 0
    assert after.last_progress_iteration == 3
    assert states([none, none, cut]) == [C, H, C]


def test_no_progress_is_not_held_against_what_was_cut_short() -> None:
    assert states([none, none] + [facts(cut_short=True)] * 4 + [none]) == [C] + [H] * 5 + [O]


def test_a_flood_of_errors_does_not_break_a_streak() -> None:
    flood = [f"f{number}" for number in range(MAX_STREAKS)]
    history = [errors("e")] + [errors(*flood, "e"), errors("e", "e")] * 2
    last = count(history)[-1]
    assert (last.consecutive_same_error, last.state.value) == (5, O)
    assert len(last.error_streaks) == 1
    assert len(count([errors(*flood, "e")])[-1].error_streaks) == MAX_STREAKS


def test_a_failing_iteration_that_ran_no_tests_before_counts_in_a_row() -> None:
    history = [ran("FAILING"), ran("PASSING"), ran("FAILING"), ran("NOT_RUN")]
    counted = [breaker.consecutive_failing_tests for breaker in count(history)]
    assert counted == [1, 0, 1, 1]


ANY_FACTS = st.builds(
    facts,
    progress=st.booleans(),
    error_patterns=st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
    tests_status=st.sampled_from(["PASSING", "FAILING", "NOT_RUN"]),
    blocked_reason=st.none() | st.none() | st.none() | st.just("x"),
    completion_refused=st.booleans(),
    denied_tools=st.none() | st.lists(st.sampled_from("xyz"), max_size=2).map(tuple),
    set_aside=st.booleans(),
    cut_short=st.booleans(),
)
HISTORIES = st.lists(ANY_FACTS, max_size=12)
ROWS = (
    "no_progress",
    "same_error",
    "failing_tests",
    "refused_completions",
    "denials",
    "set_aside",
)
COUNTS = (
    "consecutive_no_progress",
    "consecutive_same_error",
    "consecutive_failing_tests",
    "consecutive_refusals",
    "consecutive_denials",
    "consecutive_set_asides",
)


@given(HISTORIES)
def test_open_is_left_by_a_reset_alone(history: list[BreakerFacts]) -> None:
    after = count(history)
    opened = [breaker.state is BreakerState.OPEN for breaker in after]
    assert opened == sorted(opened)
    assert [breaker.total_opens for breaker in after] == [int(is_open) for is_open in opened]
    last = after[-1] if after else Breaker()
    again = close_by_reset(last, by="Ada", now=BEGIN)
    assert (again.state, again.reason) == (BreakerState.CLOSED, "reset by Ada")
    assert [getattr(again, name) for name in COUNTS] == [0] * len(COUNTS)
    assert again.error_streaks == {}
    assert (again.total_opens, again.error_history) == (last.total_opens, last.error_history)
    assert again.last_progress_iteration == last.last_progress_iteration


@given(HISTORIES)
def test_no_count_goes_below_zero_or_up_by_more_than_one(history: list[BreakerFacts]) -> None:
    before = Breaker()
    for after in count(history):
        for name in COUNTS:
            assert 0 <= getattr(after, name) <= getattr(before, name) + 1
        before = after


@given(HISTORIES)
def test_a_breaker_that_does_not_open_says_why_it_could_not(
    history: list[BreakerFacts],
) -> None:
    """No state is left in which a threshold is reached and the breaker is not OPEN."""
    config = BreakerConfig()
    thresholds = [getattr(config, f"{row}_open") for row in ROWS]
    for after in count(history):
        pairs = zip(COUNTS, thresholds, strict=True)
        if any(getattr(after, name) >= threshold for name, threshold in pairs):
            assert after.state is BreakerState.OPEN
        if after.state is BreakerState.HALF_OPEN:
            assert after.last_progress_iteration < after.current_iteration


@given(HISTORIES)
def test_progress_alone_never_leaves_a_breaker_half_open(history: list[BreakerFacts]) -> None:
    last = (count(history) or [Breaker()])[-1]
    after = count([some], last)[-1]
    expected = BreakerState.OPEN if last.state is BreakerState.OPEN else BreakerState.CLOSED
    assert after.state is expected


@given(HISTORIES)
def test_every_row_can_be_switched_off(history: list[BreakerFacts]) -> None:
    rows: dict[str, Any] = dict.fromkeys(
        [*(f"{row}_open" for row in ROWS), "no_progress_half_open"], 0
    )
    quiet = [replace(each, blocked_reason=None) for each in history]
    assert set(states(quiet, **rows)) <= {C}
