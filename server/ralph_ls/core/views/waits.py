"""What a run waits for by itself, and until when, in words.

The core knows no place, so a time is told in UTC and says so, unless whoever shows it names the
zone of the person who looks. It must never know how long is left: that is a clock's.
"""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from ralph_ls.core.views.words import SHOWN_REASON, one_line

USAGE_LIMIT = "limit"
"""The reason of a wait for the agent's usage limit (SPEC §5)."""


def wait_words(
    reason: str | None,
    until: datetime | None,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = UTC,
) -> str:
    """What follows "waits": `` for the usage limit until 14:05 UTC``, or ``: cooldown``."""
    if reason != USAGE_LIMIT:
        return f": {one_line(reason or 'for a while', limit=SHOWN_REASON)}"
    end = "" if until is None else f" until {clock_words(until, since=since, zone=zone)}"
    return f" for the usage limit{end}"


def clock_words(
    moment: datetime, *, since: datetime | None = None, zone: tzinfo | None = UTC
) -> str:
    """``14:05`` of the day of ``since``, with the date on any other; UTC is named."""
    at = moment.astimezone(zone)
    is_same_day = since is not None and at.date() == since.astimezone(zone).date()
    words = f"{at:%H:%M}" if is_same_day else f"{at:%Y-%m-%d %H:%M}"
    return f"{words} UTC" if zone is UTC else words
