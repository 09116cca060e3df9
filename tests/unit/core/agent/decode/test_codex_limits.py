"""Which failures that ``codex`` reports are a limit, and when it is lifted."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.result import AccountLimit, find_account_limit, reset_time

ON_THE_WALL = datetime.fromisoformat("2026-09-22T23:55")
HIT = "You've hit your usage limit."


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", AccountLimit()),
        (f"{HIT} Try again later.", AccountLimit()),
        (f"{HIT} Buy more or try again at 12:16 PM.", AccountLimit(resets_locally=time(12, 16))),
        (f"{HIT} Try again at 12:05 am.", AccountLimit(resets_locally=time(0, 5))),
        (
            f"{HIT} Try again at Sep 22nd, 2026 11:55 PM.",
            AccountLimit(resets_locally=ON_THE_WALL),
        ),
        (f"{HIT} Try again at Feb 31st, 2026 1:00 PM.", AccountLimit()),
        (f"{HIT} Try again at Xyz 3rd, 2026 1:00 PM.", AccountLimit()),
        (f"{HIT} Try again at 13:99 PM.", AccountLimit()),
        (f"{HIT} Try again in 5 minutes.", AccountLimit(resets_in=300)),
        (f"{HIT} Try again in 3 days 4 hours and 1 minute.", AccountLimit(resets_in=273660)),
        (f"{HIT} Try again in 999999999 days.", AccountLimit()),
        (
            "Rate limit reached for a model. Please try again in 11.5s.",
            AccountLimit(resets_in=11.5),
        ),
        ("Rate limit reached. Please try again in 500ms.", AccountLimit(resets_in=0.5)),
        ("Rate limit reached. Please try again in 1h2m3s.", AccountLimit(resets_in=3723)),
        ("stream disconnected: try again in 5 minutes", None),
        ("unexpected status 503", None),
        ("", None),
    ],
)
def test_a_limit_is_known_by_the_programs_own_words(
    message: str, limit: AccountLimit | None
) -> None:
    assert find_account_limit(message) == limit


@given(st.text(max_size=40))
def test_no_message_breaks_it(rest: str) -> None:
    for lead in ("try again at", "try again in"):
        assert isinstance(find_account_limit(f"{HIT} {lead} {rest}"), AccountLimit)


class TestReset:
    NOW = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))

    def test_a_moment_is_one(self) -> None:
        moment = datetime(2026, 2, 1, tzinfo=UTC)
        assert reset_time(AccountLimit(resets_at=moment), self.NOW) == moment
        assert reset_time(AccountLimit(), self.NOW) is None

    def test_a_wait_counts_from_when_it_was_reported(self) -> None:
        assert reset_time(AccountLimit(resets_in=60), self.NOW) == self.NOW + timedelta(minutes=1)

    def test_a_time_on_the_wall_is_the_next_such_time(self) -> None:
        later, earlier = time(12, 30), time(11, 30)
        assert reset_time(AccountLimit(resets_locally=later), self.NOW) == self.NOW.replace(
            minute=30
        )
        tomorrow = self.NOW.replace(day=1, month=2, hour=11, minute=30)
        assert reset_time(AccountLimit(resets_locally=earlier), self.NOW) == tomorrow

    def test_a_day_on_the_wall_is_one_where_the_agent_ran(self) -> None:
        told = ON_THE_WALL
        assert reset_time(AccountLimit(resets_locally=told), self.NOW) == told.replace(
            tzinfo=self.NOW.tzinfo
        )
