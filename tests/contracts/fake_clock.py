"""A clock that advances only when it is read: hours pass in a test without anybody waiting."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

FIRST = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
NEARBY = timezone(timedelta(hours=5, minutes=45))


class FakeClock:
    """Each look at the time, whichever way, comes ``step`` after the one before."""

    def __init__(self, *, first: datetime = FIRST, step: timedelta = timedelta(seconds=1)) -> None:
        self._first = first
        self._step = step
        self._n_looks = 0

    def now(self) -> datetime:
        return self._first + self._look()

    def local(self) -> datetime:
        return (self._first + self._look()).astimezone(NEARBY)

    def monotonic(self) -> float:
        return self._look().total_seconds()

    def _look(self) -> timedelta:
        self._n_looks += 1
        return self._n_looks * self._step
