"""The result of a decoded stream, and account limits.

Some programs have no field for an account limit, or none for its time: the error message, which the
program itself writes, is all there is. Only that message is searched, never text of a model or a
tool. Reads no clock and no time zones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Protocol

from ralph_ls.protocol.run.report import AgentFailure, Usage

if TYPE_CHECKING:
    # The loop and the viewers use results alone; they do not load the decoders.
    from ralph_ls.protocol.run.messages import AgentMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class WallTime:
    """A time as a clock on the wall shows it: ``5pm``, ``Nov 25th, 2026 3:04 PM``."""

    clock: time
    day: tuple[int, int] | None = None
    """Month and day; None: the next such time."""
    year: int | None = None
    zone: str = ""
    """The name of its time zone; empty: that in which the agent ran."""

    def __str__(self) -> str:
        day = "" if self.day is None else "{:02}-{:02} ".format(*self.day)
        year = "" if self.year is None else f"{self.year}-"
        return f"{year}{day}{self.clock:%H:%M}{f' ({self.zone})' if self.zone else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLimit:
    """The agent's account has reached its limit, as the agent's program reports.

    See docs/rules.md#usage-limits. At most one of the three fields is known. ``reset_time`` turns a
    relative or local time into an instant.
    """

    resets_at: datetime | None = None
    """With its time zone."""
    resets_in: float | None = None
    """Seconds from the report."""
    resets_locally: WallTime | None = None

    @property
    def is_timed(self) -> bool:
        """Whether anything is known about when it is lifted."""
        return self != AccountLimit()


def reset_time(limit: AccountLimit, reported_at: datetime) -> datetime | None:
    """The instant at which the limit is lifted; None where the agent did not report it.

    ``reported_at`` is the time of the report in the zone of ``resets_locally``, and where that
    names none, in the zone in which the agent ran. A time without a day is the next such time; one
    that has just passed stays in the past, so that nobody waits for a whole day.
    """
    if limit.resets_locally is not None:
        found = _instant(limit.resets_locally, reported_at)
    elif limit.resets_in is not None:
        found = reported_at + timedelta(seconds=limit.resets_in)
    else:
        found = limit.resets_at
    is_near = found is not None and found - reported_at <= timedelta(seconds=_LONGEST)
    return found if is_near else None


def _instant(wall: WallTime, reported_at: datetime) -> datetime | None:
    zone = reported_at.tzinfo
    if wall.day is None:
        moment = datetime.combine(reported_at.date(), wall.clock, zone)
        return moment if moment > reported_at - _JUST_PASSED else moment + timedelta(days=1)
    this_year = reported_at.year
    years = (this_year, this_year + 1, this_year - 1) if wall.year is None else (wall.year,)
    days = (_date_of(year, *wall.day) for year in years)
    moments = (datetime.combine(day, wall.clock, zone) for day in days if day is not None)
    return min(moments, key=lambda moment: abs(moment - reported_at), default=None)


def _date_of(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """The result of one decoded stream; for plain text only ``text`` is known."""

    text: str = ""
    """The final text of the main agent, unchanged; signals are read from it only."""
    earlier_block: str = ""
    """The last text before it that contains a status block, else empty."""
    question: str = ""
    """What the agent asked with a question tool, where it did nothing afterwards."""
    errors: tuple[str, ...] = ()
    """Lines of error events and of tool results that the stream marks as failed."""
    usage: Usage | None = None
    """Of this process alone; input tokens exclude those read from a cache."""
    session_cost_usd: float | None = None
    """The cost of the whole session, including processes before a resume."""
    session_usage: Usage | None = None
    """The counts of the whole session, where the agent counts by session."""
    session_id: str | None = None
    model: str | None = None
    failed: bool = False
    """Whether the agent reported a failure or its stream has no end."""
    why: str = ""
    """How it failed, in words; empty for success."""
    failure: AgentFailure | None = None
    """The kind of failure according to structured output; None where it does not say."""
    denied_tools: tuple[str, ...] | None = None
    """The tool of each call that was not permitted; None where the stream does not show it."""
    limit: AccountLimit | None = None
    sub_agent_calls: tuple[str, ...] = ()
    """Calls of the iteration's own tools that sub-agents made, as ``tools.call_key`` has them;
    empty where the stream does not mark them."""


class Decoder(Protocol):
    """Reads the standard output of one agent process."""

    def feed(self, data: bytes) -> list[AgentMessage]:
        """Process the next bytes; return the messages that they complete."""
        ...

    def finish(self) -> list[AgentMessage]:
        """Process a last line without a line end; idempotent."""
        ...

    def final(self) -> AgentResult:
        """The result of the stream as far as it was read."""
        ...


def find_account_limit(message: str) -> AccountLimit | None:
    """Parse an account limit from a failure message; None for any other failure.

    Recognised are a status 429 and sentences such as ``You've hit your usage limit``, ``Weekly
    limit reached`` and ``You exceeded your current quota``, with a time such as ``reached|<seconds
    since 1970>``, ``try again at 6:34 AM``, ``at Nov 25th, 2026 3:04 PM``, ``resets 5pm
    (Europe/Vilnius)``, ``resets Mar 6, 10am``, ``try again in 3 days 4 hours`` and ``reset after
    10h5m3s``.
    """
    return None if _IS_LIMIT.search(message) is None else _limit_in(message)


def find_own_limit(line: str) -> AccountLimit | None:
    """Parse a line of plain text that an agent's program writes about a limit of its account.

    Stricter than ``find_account_limit``: it has to begin as such messages begin, since tests and
    documents are about limits too.
    """
    return None if _IS_OWN_LIMIT.match(line.strip()) is None else _limit_in(line)


def _limit_in(message: str) -> AccountLimit:
    since_1970 = _EPOCH.search(message)
    if since_1970 is not None:
        return AccountLimit(resets_at=datetime.fromtimestamp(int(since_1970[1]), UTC))
    at = _AT.search(message)
    if at is not None:
        return AccountLimit(resets_locally=_wall_time(at))
    after = _IN.search(message)
    seconds = None if after is None else _seconds(after[1])
    return AccountLimit(resets_in=seconds if seconds is not None and seconds <= _LONGEST else None)


def _wall_time(found: re.Match[str]) -> WallTime | None:
    zone = found["zone"]
    if zone is not None and _ZONE.fullmatch(zone) is None:
        # In no zone that can be named, the time would be a wrong one.
        return None
    hour, half = int(found["hour"]), (found["half"] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        clock = time(hour, int(found["minute"] or 0))
        zone = zone or found["utc"] or ""
        if found["month"] is None:
            return WallTime(clock=clock, zone=zone)
        month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
    except ValueError:
        return None
    year = None if found["year"] is None else int(found["year"])
    if _date_of(_LEAP_YEAR if year is None else year, month, day) is None:
        return None
    return WallTime(clock=clock, day=(month, day), year=year, zone=zone)


def _seconds(text: str) -> float:
    return sum(float(part[1]) * _SECONDS[part[2].lower()] for part in _PART.finditer(text))


_LONGEST = 366 * 86400.0
"""Seconds; a longer wait is treated as unknown."""

_JUST_PASSED = timedelta(minutes=15)
_LEAP_YEAR = 2028

_HIT = r"(?:hit|reached) your (?:(?!context|token|turn|output)[\w-]+ ){0,3}limit\b"

_IS_LIMIT = re.compile(
    r"\blast status: 429\b|\b429 Too Many Requests\b|\busage limit\b"
    r"|\brate limit (?:reached|exceeded)\b|\bout of (?:extra )?usage\b"
    r"|\b(?:session|hour(?:ly)?|daily|weekly|monthly|opus|sonnet) limit reached\b"
    r"|\blimit will reset (?:at|in)\b|\blimit reached\|\d"
    rf"|\b{_HIT}|\bexceeded your current quota\b|\bexhausted your\b.{{0,60}}\bquota\b",
    re.IGNORECASE,
)

_IS_OWN_LIMIT = re.compile(
    r"(?:\[[^\]]{1,40}\] ?)?(?:[^\w\s]{1,2} )?(?:(?:API |Fatal )?Error: ?)?"
    r"(?:Claude (?:AI |Code )?usage limit reached\b|[\w-]+ (?:[\w-]+ ){0,2}limit reached\|\d"
    r"|(?:[\w-]+ ){1,3}limit reached ?[^\w\s] ?resets "
    rf"|You(?:['\u2019]ve| have) {_HIT}|You(?:['\u2019]re| are) out of (?:extra )?usage\b"
    r"|Rate limit reached for \S+ in organi[sz]ation\b|You exceeded your current quota\b"
    r"|You(?:['\u2019]ve| have) exhausted your (?:[\w-]+ ){0,3}quota\b)",
    re.IGNORECASE,
)

_EPOCH = re.compile(r"\blimit reached\|(\d{10})(?:\d{3})?(?!\d)", re.IGNORECASE)
"""In seconds or milliseconds."""

_AGAIN = r"\b(?:try again|retry|resets?|available again)"

_AT = re.compile(
    rf"{_AGAIN}(?: (?:at|on|after))? (?:(?P<month>[a-z]{{3}})[a-z]*\.? "
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?P<year>\d{4}))?,? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?!\d)|(?=\s?[ap]\.?m\b))"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?"
    r"(?:\s?(?:\((?P<zone>[^)\n]{0,80})|(?P<utc>UTC|GMT)\b))?",
    re.IGNORECASE,
)

_ZONE = re.compile(r"[A-Za-z][\w+-]{0,39}(?:/[\w+-]{1,40}){0,2}")
"""The name of a time zone: never a path that leaves the folder of the zones."""

_AMOUNT = r"\d{1,9}(?:\.\d{1,9})? ?(?:ms|[dhms])"
_IN = re.compile(rf"{_AGAIN} (?:in|after) ((?:{_AMOUNT}[a-z]*(?:,? and |,? )?)+)", re.IGNORECASE)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?(ms|[dhms])", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
