"""The only place that reads the clock; time reaches everything else as a value."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the engine asks for the time."""

    def now(self) -> datetime:
        """The present in UTC, cut to whole milliseconds as the journal keeps it."""
        ...

    def local(self) -> datetime:
        """The present in local time, for people's logs."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards, from some beginning."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        moment = datetime.now(UTC)
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    def local(self) -> datetime:
        return datetime.now().astimezone()

    def monotonic(self) -> float:
        return time.monotonic()


def boot_seconds() -> float:
    """Seconds since this machine was started, those in which it was suspended included.

    Where a system has no such clock, those do not count.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
