"""The circuit breaker: when a loop that gets nowhere is stopped, and how it recovers.

I, Circuit Breaker Pattern; A, Pattern 2 and Component 3; settled in SPEC §6. The theory:

- CLOSED becomes HALF_OPEN when iterations bring no progress, and HALF_OPEN becomes OPEN when that
  goes on; progress closes it again from HALF_OPEN.
- The other rows open it at once, from CLOSED as from HALF_OPEN: the same error, failing tests, a
  reported BLOCKED, completions refused in a row.
- OPEN never closes by progress, for no iteration runs in it. Only a person's reset, ``--resume``
  or a new run closes it. A reset zeroes the counters; the history and the total of opens stay.
- The counts of the same error and of failing tests are not zeroed by progress, but by an
  iteration without that error or with PASSING; an iteration that ran no tests leaves the count.

The awkward case is "the same error": error lines of an iteration rarely are equal to the last
ones, so an error counts as the same when one normalised line stands in every iteration counted.
Each line has its own streak, and the longest one is the count.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph_ls.protocol.breaker import Breaker, BreakerState
from ralph_ls.protocol.config import BreakerConfig

HISTORY_LENGTH = 5
"""A, Pattern 2: the error history keeps the last five."""

MAX_STREAKS = 200
"""Error lines of one iteration that are followed; more say nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationFacts:
    """What the breaker is told of one iteration."""

    iteration: int
    progress: bool
    error_patterns: tuple[str, ...] = ()
    tests_status: str = "NOT_RUN"
    blocked_reason: str | None = None
    """RECOMMENDATION of a report whose STATUS is BLOCKED; None for any other report."""
    completion_refused: bool = False
    cut_short: bool = False
    """Its agent did not come to its end: what it did counts, what it did not say does not."""


def count_iteration(
    breaker: Breaker, facts: IterationFacts, config: BreakerConfig, now: datetime
) -> Breaker:
    """The breaker after one iteration; every threshold comes from ``config``."""
    counted = _count(breaker, facts)
    if not config.enabled or breaker.state is BreakerState.OPEN:
        return counted
    opening = _reason_to_open(counted, facts, config)
    if opening is not None:
        opened = _move(counted, BreakerState.OPEN, opening, now)
        return opened.model_copy(update={"total_opens": breaker.total_opens + 1})
    if breaker.state is BreakerState.HALF_OPEN and facts.progress:
        return _move(counted, BreakerState.CLOSED, "progress again", now)
    stalled = counted.consecutive_no_progress
    if breaker.state is BreakerState.CLOSED and _reached(stalled, config.no_progress_half_open):
        reason = f"{stalled} iterations without progress"
        return _move(counted, BreakerState.HALF_OPEN, reason, now)
    return counted


def reset(breaker: Breaker, *, by: str, now: datetime) -> Breaker:
    """Close the breaker on a person's order: counters to zero, history kept (SPEC §6, A11)."""
    return Breaker(
        state=BreakerState.CLOSED,
        reason=f"reset by {by}",
        last_change_at=now,
        current_iteration=breaker.current_iteration,
        last_progress_iteration=breaker.last_progress_iteration,
        total_opens=breaker.total_opens,
        error_history=breaker.error_history,
    )


def _count(breaker: Breaker, facts: IterationFacts) -> Breaker:
    streaks = {
        line: breaker.error_streaks.get(line, 0) + 1 for line in facts.error_patterns[:MAX_STREAKS]
    }
    if facts.cut_short:
        streaks = breaker.error_streaks
    history = breaker.error_history
    if facts.error_patterns:
        history = (*history, " | ".join(facts.error_patterns[:10]))[-HISTORY_LENGTH:]
    refusals = breaker.consecutive_refusals
    return breaker.model_copy(
        update={
            "current_iteration": facts.iteration,
            "last_progress_iteration": facts.iteration
            if facts.progress
            else breaker.last_progress_iteration,
            "consecutive_no_progress": 0 if facts.progress else breaker.consecutive_no_progress + 1,
            "error_streaks": streaks,
            "consecutive_same_error": max(streaks.values(), default=0),
            "consecutive_failing_tests": _failing_tests(breaker, facts.tests_status),
            "consecutive_refusals": refusals + 1
            if facts.completion_refused and not facts.progress
            else 0,
            "error_history": history,
        }
    )


def _failing_tests(breaker: Breaker, tests_status: str) -> int:
    if tests_status == "FAILING":
        return breaker.consecutive_failing_tests + 1
    if tests_status == "PASSING":
        return 0
    return breaker.consecutive_failing_tests


def _reason_to_open(counted: Breaker, facts: IterationFacts, config: BreakerConfig) -> str | None:
    if config.blocked_opens and facts.blocked_reason is not None:
        return f"the agent reports BLOCKED: {facts.blocked_reason or 'no reason given'}"
    if _reached(counted.consecutive_same_error, config.same_error_open):
        line = max(counted.error_streaks, key=lambda known: counted.error_streaks[known])
        return f"the same error in {counted.consecutive_same_error} iterations: {line}"
    if _reached(counted.consecutive_failing_tests, config.failing_tests_open):
        return f"tests failing in {counted.consecutive_failing_tests} iterations"
    if _reached(counted.consecutive_refusals, config.refused_completions_open):
        return f"{counted.consecutive_refusals} refused completions without progress"
    if _reached(counted.consecutive_no_progress, config.no_progress_open):
        return f"{counted.consecutive_no_progress} iterations without progress"
    return None


def _reached(count: int, threshold: int) -> bool:
    return threshold > 0 and count >= threshold


def _move(breaker: Breaker, state: BreakerState, reason: str, now: datetime) -> Breaker:
    return breaker.model_copy(update={"state": state, "reason": reason, "last_change_at": now})
