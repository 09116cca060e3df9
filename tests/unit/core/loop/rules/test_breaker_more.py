"""Fields of the breaker beside its state: times, numbers, histories, and counts that restart.

Each of these is a change to the breaker that no other test minded.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from ralph_ls.core.loop.rules.breaker import (
    MAX_STREAKS,
    BreakerFacts,
    close_by_reset,
    count_iteration,
)
from ralph_ls.protocol.config.config import BreakerConfig
from ralph_ls.protocol.run.values import Breaker, BreakerState
from tests.unit.core.loop.rules.test_breaker import (
    BEGIN,
    count,
    errors,
    facts,
    none,
    refused,
    some,
    states,
)

LATER = BEGIN + timedelta(hours=1)


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        (BreakerState.CLOSED, facts(), BreakerState.HALF_OPEN),
        (BreakerState.CLOSED, facts(blocked_reason="no key"), BreakerState.OPEN),
        (BreakerState.HALF_OPEN, facts(blocked_reason="no key"), BreakerState.OPEN),
        (BreakerState.HALF_OPEN, facts(progress=True), BreakerState.CLOSED),
    ],
    ids=["half-open", "open", "open from half-open", "closed again"],
)
def test_every_move_has_its_time(
    before: BreakerState, given: BreakerFacts, after: BreakerState
) -> None:
    breaker = Breaker(state=before, last_change_at=BEGIN, consecutive_no_progress=1)
    moved = count_iteration(breaker, given, BreakerConfig(), LATER)
    assert (moved.state, moved.last_change_at) == (after, LATER)


def test_what_does_not_move_keeps_its_time() -> None:
    breaker = Breaker(last_change_at=BEGIN)
    assert count_iteration(breaker, some, BreakerConfig(), LATER).last_change_at == BEGIN


def test_a_reset_has_its_time_and_knows_which_iteration_it_is() -> None:
    (*_, opened) = count([none, none, none])
    closed = close_by_reset(opened, by="Ada", now=LATER)
    assert (closed.state, closed.last_change_at) == (BreakerState.CLOSED, LATER)
    assert closed.current_iteration == 3


def test_the_history_of_errors_has_the_first_ten_lines_of_an_iteration() -> None:
    (breaker,) = count([errors(*(f"error {number}" for number in range(11)))])
    assert breaker.error_history == (" | ".join(f"error {number}" for number in range(10)),)


def test_without_an_error_none_is_counted() -> None:
    assert [breaker.consecutive_same_error for breaker in count([some, none])] == [0, 0]
    assert states([some, some], same_error_open=1) == ["CLOSED", "CLOSED"]


def test_a_line_that_is_followed_goes_before_others_whatever_its_name() -> None:
    flood = [f"error {number:04}" for number in range(MAX_STREAKS)]
    (*_, breaker) = count([errors("zzz"), errors(*flood, "zzz")])
    assert breaker.error_streaks["zzz"] == 2
    (*_, breaker) = count([errors("000"), errors(*reversed(flood), "000")])
    assert breaker.error_streaks["000"] == 2


def test_a_line_that_is_new_keeps_its_place() -> None:
    """In the order of the output: the first lines of an error are shown."""
    (breaker,) = count([errors("z", "a", "m")])
    assert list(breaker.error_streaks) == ["z", "a", "m"]


def test_refusals_are_counted_again_after_an_iteration_that_claims_nothing() -> None:
    counted = [
        breaker.consecutive_refusals
        for breaker in count([refused, refused, none, refused], no_progress_open=0)
    ]
    assert counted == [1, 2, 0, 1]
    cut_short = facts(cut_short=True)
    (*_, breaker) = count([refused, cut_short], no_progress_open=0)
    assert breaker.consecutive_refusals == 1


@pytest.mark.parametrize("cut_short", [False, True])
@pytest.mark.parametrize("progress", [False, True])
def test_every_iteration_is_the_current_one_and_the_last_with_progress_is_known(
    *, progress: bool, cut_short: bool
) -> None:
    (_, breaker) = count([none, facts(progress=progress, cut_short=cut_short)])
    assert breaker.current_iteration == 2
    assert breaker.last_progress_iteration == (2 if progress else 0)
