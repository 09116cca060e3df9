"""Whether a failure that ``codex`` tells is the limit of an account, and when it is lifted.

Its events have no field for either: the error's own message, which the program itself makes, is
all there is. So only that is read, never what an agent or a tool said. It must never read a clock.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time

from ralph_ls.core.agent.decode.final import Limit


def limit_in(message: str) -> Limit | None:
    """The limit that the message of a failure tells; None where it tells another failure.

    Known are: a status 429; ``You've hit your usage limit. … try again at 3:04 PM.`` (or ``at Nov
    25th, 2026 3:04 PM``, both by the clock on the wall); ``Rate limit reached … try again in 11s``
    and ``in 3 days 4 hours``.
    """
    if _IS_LIMIT.search(message) is None:
        return None
    at = _AT.search(message)
    if at is not None:
        return Limit(resets_locally=_moment(at))
    after = _IN.search(message)
    seconds = None if after is None else _seconds(after[1])
    return Limit(resets_in=seconds if seconds is not None and seconds <= _LONGEST else None)


def _moment(found: re.Match[str]) -> datetime | time | None:
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "p" else 0)
    try:
        clock = time(hour, int(found["minute"]))
        if found["month"] is None:
            return clock
        month = _MONTHS.index(found["month"].lower()) + 1
        return datetime.combine(date(int(found["year"]), month, int(found["day"])), clock)
    except ValueError:
        return None


def _seconds(text: str) -> float:
    return sum(float(part[1]) * _SECONDS[part[2].lower()] for part in _PART.finditer(text))


_LONGEST = 366 * 86400.0
"""Seconds; no limit lasts longer, and what says so is not believed."""

_IS_LIMIT = re.compile(
    r"\blast status: 429\b|\b429 Too Many Requests\b|\busage limit\b|\brate limit reached\b",
    re.IGNORECASE,
)

_AT = re.compile(
    r"\btry again at "
    r"(?:(?P<month>[a-z]{3})[a-z]* (?P<day>\d{1,2})(?:st|nd|rd|th)?,? (?P<year>\d{4}),? )?"
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d) (?P<half>[ap])m\b",
    re.IGNORECASE,
)

_AMOUNT = r"\d{1,9}(?:\.\d{1,9})? ?(?:ms|[dhms])"
_IN = re.compile(rf"\btry again in ((?:{_AMOUNT}[a-z]*(?:,? and |,? )?)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|[dhms])", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
