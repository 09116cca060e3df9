"""What a run waits for by itself, and until when at the latest its agent works, in words.

The core knows no place, so a time is told in UTC and says so, unless whoever shows it names the
zone of the person who looks. How long is left is told to those who bring their clock's time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from ralph_ls.core.views.summary import format_duration
from ralph_ls.core.views.words import SHOWN_REASON, one_line
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase

USAGE_LIMIT = "limit"
"""The reason of a wait for the agent's usage limit (SPEC §5)."""

CALL_LIMIT = "calls"
"""The reason of a wait for ``max_calls_per_minute`` (SPEC §9.6)."""

OVERLOAD = "retry"
"""The reason of a wait for a model that is overloaded or out of reach."""

NAMED = {
    USAGE_LIMIT: " for the usage limit",
    OVERLOAD: " for the overloaded model",
    CALL_LIMIT: " for the limit of calls a minute",
}
"""Waits that are more than their name."""


def wait_words(
    reason: str | None,
    until: datetime | None,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = UTC,
) -> str:
    """What follows "waits": `` for the usage limit until 14:05 UTC``, or ``: cooldown``."""
    if reason == CALL_LIMIT:
        # It lasts a minute at most, of which no clock of hours and minutes tells anything.
        return NAMED[CALL_LIMIT]
    if reason not in {USAGE_LIMIT, OVERLOAD}:
        return f": {one_line(reason or 'for a while', limit=SHOWN_REASON)}"
    end = "" if until is None else f" until {clock_words(until, since=since, zone=zone)}"
    return f"{NAMED[reason]}{end}"


def deadline(state: RunState) -> datetime | None:
    """When the agent that works now is ended at the latest; None where none is, or no limit."""
    current, timeout = state.current, state.config.timeout
    if current is None or current.agent is None or current.exit is not None or not timeout:
        return None
    works = state.phase in {Phase.RUNNING, Phase.STOPPING}
    return current.agent.at + timedelta(seconds=timeout) if works else None


def left_words(until: datetime, now: datetime) -> str:
    """``4m 10s``: how long it is until then; a moment that has come is ``0s`` away."""
    return format_duration(max(0.0, (until - now).total_seconds()))


def clock_words(
    moment: datetime, *, since: datetime | None = None, zone: tzinfo | None = UTC
) -> str:
    """``14:05`` of the day of ``since``, with the date on any other; UTC is named."""
    at = moment.astimezone(zone)
    is_same_day = since is not None and at.date() == since.astimezone(zone).date()
    words = f"{at:%H:%M}" if is_same_day else f"{at:%Y-%m-%d %H:%M}"
    return f"{words} UTC" if zone is UTC else words
