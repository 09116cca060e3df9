"""The result of a decoded stream, and account limits.

``codex`` has no field for an account limit: its error message, which the program itself writes, is
all there is. Only that message is searched, never text of a model or a tool. Reads no clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Protocol

from ralph_ls.protocol.run.report import AgentFailure, Usage

if TYPE_CHECKING:
    # The loop and the viewers use results alone; they do not load the decoders.
    from ralph_ls.protocol.run.messages import AgentMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLimit:
    """The agent's account has reached its limit, according to the agent's structured output.

    See docs/rules.md#usage-limits. At most one of the three fields is known. ``reset_time`` turns a
    relative or local time into an instant.
    """

    resets_at: datetime | None = None
    """With its time zone."""
    resets_in: float | None = None
    """Seconds from the report."""
    resets_locally: datetime | time | None = None
    """Local time where the agent ran: without a zone, possibly without a day."""


def reset_time(limit: AccountLimit, reported_at: datetime) -> datetime | None:
    """The instant at which the limit is lifted; None where the agent did not report it.

    ``reported_at`` is the time of the report in the time zone in which the agent ran. A time
    without a day is the next such time.
    """
    local = limit.resets_locally
    if isinstance(local, datetime):
        return local.replace(tzinfo=reported_at.tzinfo)
    if local is not None:
        moment = datetime.combine(reported_at.date(), local, reported_at.tzinfo)
        return moment if moment > reported_at else moment + timedelta(days=1)
    if limit.resets_in is not None:
        return reported_at + timedelta(seconds=limit.resets_in)
    return limit.resets_at


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

    Recognised are: a status 429; ``You've hit your usage limit. … try again at 3:04 PM.`` (or ``at
    Nov 25th, 2026 3:04 PM``, both local time); ``Rate limit reached … try again in 11s`` and ``in 3
    days 4 hours``.
    """
    if _IS_LIMIT.search(message) is None:
        return None
    at = _AT.search(message)
    if at is not None:
        return AccountLimit(resets_locally=_moment(at))
    after = _IN.search(message)
    seconds = None if after is None else _seconds(after[1])
    return AccountLimit(resets_in=seconds if seconds is not None and seconds <= _LONGEST else None)


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
"""Seconds; a longer wait is treated as unknown."""

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
