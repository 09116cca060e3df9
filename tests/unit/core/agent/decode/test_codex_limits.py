"""Which failure messages are a limit of the account, and when it is lifted."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.result import (
    AccountLimit,
    WallTime,
    find_account_limit,
    find_own_limit,
    reset_time,
)

HIT = "You've hit your usage limit."


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", AccountLimit()),
        (f"{HIT} Try again later.", AccountLimit()),
        (
            f"{HIT} Buy more or try again at 12:16 PM.",
            AccountLimit(resets_locally=WallTime(clock=time(12, 16))),
        ),
        (f"{HIT} Try again at 12:05 am.", AccountLimit(resets_locally=WallTime(clock=time(0, 5)))),
        (
            f"{HIT} Try again at Sep 22nd, 2026 11:55 PM.",
            AccountLimit(resets_locally=WallTime(clock=time(23, 55), day=(9, 22), year=2026)),
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
        (
            "Claude AI usage limit reached|1788625200",
            AccountLimit(resets_at=datetime(2026, 9, 5, 16, 20, tzinfo=UTC)),
        ),
        (
            "Claude AI usage limit reached|1788625200000",
            AccountLimit(resets_at=datetime(2026, 9, 5, 16, 20, tzinfo=UTC)),
        ),
        (
            "You've hit your limit \u00b7 resets 5pm (Europe/Vilnius)",
            AccountLimit(resets_locally=WallTime(clock=time(17), zone="Europe/Vilnius")),
        ),
        (
            "You've hit your weekly limit \u00b7 resets Mar 6, 10:30am (UTC)",
            AccountLimit(resets_locally=WallTime(clock=time(10, 30), day=(3, 6), zone="UTC")),
        ),
        (
            "Opus weekly limit reached \u2219 resets Oct 9 at 17:05 UTC",
            AccountLimit(resets_locally=WallTime(clock=time(17, 5), day=(10, 9), zone="UTC")),
        ),
        (
            f"{HIT} Try again at 6:34\u202fAM.",
            AccountLimit(resets_locally=WallTime(clock=time(6, 34))),
        ),
        (f"{HIT} It resets at 5.", AccountLimit()),
        (f"{HIT} It resets 5pm (../../etc/passwd)", AccountLimit()),
        (f"{HIT} It resets 5pm (/etc/localtime)", AccountLimit()),
        (f"{HIT} It resets 5pm (in 2 hours)", AccountLimit()),
        (f"{HIT} It resets 5pm (", AccountLimit()),
        (
            "You have exhausted your daily quota on this model. It will reset after 10h5m3s.",
            AccountLimit(resets_in=36303.0),
        ),
        ("You've reached your context limit", None),
        ("reached the turn limit", None),
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
        later, earlier = (WallTime(clock=time(hour, 30)) for hour in (12, 11))
        assert reset_time(AccountLimit(resets_locally=later), self.NOW) == self.NOW.replace(
            minute=30
        )
        tomorrow = self.NOW.replace(day=1, month=2, hour=11, minute=30)
        assert reset_time(AccountLimit(resets_locally=earlier), self.NOW) == tomorrow

    def test_a_time_that_has_just_passed_is_not_waited_for_until_tomorrow(self) -> None:
        wall = WallTime(clock=time(11, 50))
        passed = self.NOW.replace(hour=11, minute=50)
        assert reset_time(AccountLimit(resets_locally=wall), self.NOW) == passed

    @pytest.mark.parametrize(
        ("day", "year", "found"),
        [
            ((2, 22), 2026, "2026-02-22T23:55"),
            ((2, 22), None, "2026-02-22T23:55"),
            ((1, 30), None, "2026-01-30T23:55"),
            ((12, 30), None, "2025-12-30T23:55"),
            ((2, 29), None, None),
            ((2, 22), 2028, None),
        ],
    )
    def test_a_day_on_the_wall_is_the_nearest_where_the_agent_ran(
        self, day: tuple[int, int], year: int | None, found: str | None
    ) -> None:
        """And a time more than a year away is not known."""
        wall = WallTime(clock=time(23, 55), day=day, year=year)
        expected = found and datetime.fromisoformat(found).replace(tzinfo=self.NOW.tzinfo)
        assert reset_time(AccountLimit(resets_locally=wall), self.NOW) == expected


@pytest.mark.parametrize(
    ("line", "is_one"),
    [
        ("Claude AI usage limit reached|1788625200", True),
        ("Error: Claude usage limit reached. Your limit will reset at 3pm (Europe/Vilnius).", True),
        ("5-hour limit reached \u2219 resets 5pm", True),
        ("[2026-01-31T12:00:00] ERROR: You've hit your usage limit. Try again at 6:34 AM.", True),
        ("You have hit your usage limit. Your limit resets 5pm (Europe/Vilnius)", True),
        ("You are out of extra usage", True),
        ("\u26a0 You\u2019re out of extra usage \u00b7 resets 5pm (UTC)", True),
        ("AssertionError: usage limit reached|1788625200", False),
        ("I made the page say that the usage limit is reached", False),
        ("- [ ] Show \u201cYou've hit your limit\u201d in the banner", False),
        ("", False),
    ],
)
def test_a_line_of_plain_text_has_to_begin_as_the_programs_do(line: str, is_one: bool) -> None:
    assert (find_own_limit(line) is not None) is is_one


def test_a_time_on_the_wall_is_shown_as_far_as_it_is_known() -> None:
    at = time(17, 5)
    shown = [
        str(WallTime(clock=at)),
        str(WallTime(clock=at, zone="Europe/Vilnius")),
        str(WallTime(clock=at, day=(3, 6), year=2026)),
    ]
    assert shown == ["17:05", "17:05 (Europe/Vilnius)", "2026-03-06 17:05"]
