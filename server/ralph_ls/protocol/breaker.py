"""The circuit breaker's record, as the journal, the state and every viewer carry it."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import Timestamp, WireModel


class BreakerState(StrEnum):
    """I, Circuit Breaker Pattern: three states, upper case everywhere."""

    CLOSED = "CLOSED"
    HALF_OPEN = "HALF_OPEN"
    OPEN = "OPEN"


class Breaker(WireModel):
    """The record of A, Pattern 2 and Component 3, with SPEC §6's counters beside it.

    All counts are of consecutive iterations. The rules that move them live in
    ``core.loop.breaker``; this is only what they leave behind.
    """

    state: BreakerState = BreakerState.CLOSED
    reason: str = "Initial state"
    last_change_at: Timestamp | None = None
    current_iteration: int = 0
    last_progress_iteration: int = 0
    total_opens: int = 0
    consecutive_no_progress: int = 0
    consecutive_same_error: int = 0
    consecutive_failing_tests: int = 0
    consecutive_refusals: int = 0
    """Completions refused in a row with no progress between (SPEC §6)."""
    consecutive_denials: int = 0
    """Iterations in a row in which a tool was not permitted; one that cannot tell leaves it."""
    consecutive_set_asides: int = 0
    """Tasks set aside with no progress between (SPEC §6)."""
    error_streaks: dict[str, int] = Field(default_factory=dict)
    """Normalised error line to the number of iterations in a row that had it."""
    error_history: tuple[str, ...] = ()
    """The last five iterations' error patterns, each one's lines joined by `` | `` (A7)."""
