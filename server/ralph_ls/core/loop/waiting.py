"""Why a run does not go on by itself, in words: the loop acts on it, and viewers show it.

Viewers need no more of the loop than this, so it must never know what the loop does about it.
"""

from __future__ import annotations

from ralph_ls.core.loop.reviewing import REVIEW, review_due
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason

GIT_LOCKED = "git-locked"
"""The warning that says which lock files keep the next iteration from beginning."""


def waits_for(run: RunState) -> str:
    """What a parked run needs, in words."""
    if run.phase_reason == EndReason.DECIDE.value and run.question is not None:
        return f"an answer to: {run.question.question}"
    if run.phase_reason == EndReason.BLOCKED.value:
        if run.blocked is not None:
            return f"the blocker to be resolved: {run.blocked.reason}"
        if run.current is not None:
            number = run.current.started.iteration
            return (
                f"your word on whose changes they are that iteration {number} left: commit or "
                "discard them, then: ralph resume; or: ralph stop, then ralph run --resume with "
                "--take-all or --leave"
            )
        if run.warnings and run.warnings[-1].code == GIT_LOCKED:
            return f"git to be free, then: ralph resume; {run.warnings[-1].message}"
        return "a task in the plan that is not blocked"
    if run.phase_reason == REVIEW:
        due = review_due(run)
        return "your review" if due is None else f"your review: {due}"
    return f"a reset: {is_stuck(run.breaker, run.stuck_count, run.config)}"


def is_stuck(breaker: Breaker, stuck_count: int, config: Config) -> str | None:
    """Why the run must not go on by itself: the breaker is OPEN, or R's stuck count is full."""
    if breaker.state is BreakerState.OPEN:
        return breaker.reason
    if config.max_stuck is not None and stuck_count >= config.max_stuck:
        several = f"{stuck_count} iterations in a row"
        return f"{'an iteration' if stuck_count == 1 else several} without a commit"
    return None
