"""Circuit breaker: stops a loop without progress, and defines how it recovers.

The transitions (docs/rules.md#breaker):

- CLOSED becomes HALF_OPEN when iterations bring no progress, and HALF_OPEN becomes OPEN when that
  lasts; progress closes it again from HALF_OPEN.
- The other rows open it at once, from CLOSED as from HALF_OPEN: the same error, failing tests, a
  reported BLOCKED, tools that are not permitted, completions refused in a row, tasks set aside in a
  row.
- OPEN never closes by progress, since no iteration runs in it. Only the user's reset, ``--resume``
  or a new run closes it. A reset zeroes the counters; the history and the total of opens stay.
- The counts of the same error, of failing tests and of denials are not zeroed by progress (the row
  could then never fire), but by an iteration without that error, with PASSING, without a denial.
  Tests that were not run, a report that is missing and an agent that cannot report denials leave
  them. A denial counts only in an iteration without progress: an agent that made progress did not
  need the tool.
- Asking is not failing: an iteration that asked the user something, or named a blocker, leaves the
  count of no progress and the state that follows from it unchanged.
- Attempts are counted before the breaker: an iteration that set its task aside zeroes the count of
  no progress, since the loop moves on. Two of them with no progress between are a separate row:
  then the environment is broken.
- A judge that requests changes as often as it may opens it too, also where the breaker is off.
- A confirming iteration, which has no task, neither raises nor zeroes the counts of no progress and
  of refused completions.
- An iteration that was cut short (by the user, a usage limit or a kill) opens nothing and raises no
  count. Its evidence counts: its progress zeroes what progress zeroes, and closes from HALF_OPEN.
  Only a task that is set aside for its lost iterations counts as any other: two such tasks in a row
  show a broken environment.

The difficult case is "the same error": the error lines of an iteration rarely equal the last ones,
so an error counts as the same when one normalised line is in every iteration counted. Each line has
a separate streak, and the longest one is the count.

What a run does about an open breaker is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.loop.changes import BreakerChanges, replace_breaker
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.protocol.config.config import BreakerConfig
from ralph_ls.protocol.run.values import Breaker, BreakerState

HISTORY_LENGTH = 5
"""Entries of the error history."""

MAX_STREAKS = 200
"""Error lines of one iteration that are tracked."""

SHOWN_TOOLS = 5
"""Tools that a reason names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerFacts:
    """The facts of one iteration that the breaker counts."""

    iteration: int
    progress: bool
    error_patterns: tuple[str, ...] = ()
    tests_status: str = "NOT_RUN"
    blocked_reason: str | None = None
    """RECOMMENDATION of a report whose STATUS is BLOCKED, where that opens the breaker."""
    completion_refused: bool = False
    denied_tools: tuple[str, ...] | None = None
    """A tool's name for each call that was not permitted; None where the agent cannot report them.
    """
    set_aside: bool = False
    """Its task was set aside."""
    endless: str | None = None
    """Why the run has to stop where no task can be set aside: nothing was finished for so long."""
    judged: str | None = None
    """Why the run has to stop for a judge that never passes."""
    asked: bool = False
    """It halted the run on a question or a blocker."""
    cut_short: bool = False
    """Its agent was cut off: its evidence counts, its silence does not."""
    neutral: bool = False
    """It only confirmed that nothing is left to do: neither progress nor none."""


def count_iteration(
    breaker: Breaker, facts: BreakerFacts, config: BreakerConfig, now: datetime
) -> Breaker:
    """The breaker after one iteration; every threshold comes from ``config``."""
    counted = _count(breaker, facts)
    is_open = breaker.state is BreakerState.OPEN
    if facts.judged is not None and not facts.cut_short and not is_open:
        # The judge's own bound, whatever else the breaker counts.
        opened = _move(counted, BreakerState.OPEN, facts.judged, now)
        return replace_breaker(opened, total_opens=breaker.total_opens + 1)
    if not config.enabled or is_open:
        return counted
    is_silent = facts.cut_short and not facts.set_aside
    opening = None if is_silent else _reason_to_open(counted, facts, config)
    if opening is not None:
        opened = _move(counted, BreakerState.OPEN, opening, now)
        return replace_breaker(opened, total_opens=breaker.total_opens + 1)
    if breaker.state is BreakerState.HALF_OPEN and facts.progress and not facts.asked:
        return _move(counted, BreakerState.CLOSED, "progress again", now)
    stalled = counted.consecutive_no_progress
    if breaker.state is BreakerState.CLOSED and _reached(stalled, config.no_progress_half_open):
        reason = f"{_iterations(stalled)} without progress"
        return _move(counted, BreakerState.HALF_OPEN, reason, now)
    return counted


def close_by_reset(breaker: Breaker, *, by: str, now: datetime) -> Breaker:
    """Close the breaker on the user's order: counters to zero, history kept.

    See docs/rules.md#breaker.
    """
    return Breaker(
        state=BreakerState.CLOSED,
        reason=f"reset by {by}",
        last_change_at=now,
        current_iteration=breaker.current_iteration,
        last_progress_iteration=breaker.last_progress_iteration,
        total_opens=breaker.total_opens,
        error_history=breaker.error_history,
    )


def _count(breaker: Breaker, facts: BreakerFacts) -> Breaker:
    counts: BreakerChanges = {"current_iteration": facts.iteration}
    if facts.progress:
        counts |= {
            "last_progress_iteration": facts.iteration,
            "consecutive_refusals": 0,
            "consecutive_set_asides": 0,
        }
    # The loop moves on from a task that it sets aside.
    if facts.set_aside or (facts.progress and not facts.asked):
        counts["consecutive_no_progress"] = 0
    if facts.set_aside:
        known = 0 if facts.progress else breaker.consecutive_set_asides
        counts["consecutive_set_asides"] = known + 1
    if not facts.cut_short:
        counts |= _count_up(replace_breaker(breaker, **counts), facts)
    return replace_breaker(breaker, **counts)


def _count_up(breaker: Breaker, facts: BreakerFacts) -> BreakerChanges:
    """The counts after an iteration that came to its end; what progress zeroes is zero already."""
    quiet = not facts.progress
    streaks = _error_streaks(breaker, facts)
    history = breaker.error_history
    if facts.error_patterns:
        history = (*history, " | ".join(facts.error_patterns[:10]))[-HISTORY_LENGTH:]
    # An agent that only claims completion does not see what is open.
    refusals = breaker.consecutive_refusals + 1 if facts.completion_refused and quiet else 0
    if facts.neutral:
        refusals = breaker.consecutive_refusals
    is_stalled = quiet and not (facts.set_aside or facts.asked or facts.neutral)
    return {
        "consecutive_no_progress": breaker.consecutive_no_progress + int(is_stalled),
        "error_streaks": streaks,
        "consecutive_same_error": max(streaks.values(), default=0),
        "consecutive_failing_tests": _failing_tests(breaker, facts.tests_status),
        "consecutive_refusals": refusals,
        "consecutive_denials": _denials(breaker, facts),
        "error_history": history,
    }


def _error_streaks(breaker: Breaker, facts: BreakerFacts) -> dict[str, int]:
    """The iterations in a row that have each error line (docs/rules.md#breaker)."""
    known = breaker.error_streaks
    # Lines that are tracked already go first, so that a flood of others breaks no streak.
    lines = sorted(dict.fromkeys(facts.error_patterns), key=lambda line: line not in known)
    return {line: known.get(line, 0) + 1 for line in lines[:MAX_STREAKS]}


def _failing_tests(breaker: Breaker, tests_status: str) -> int:
    """Iterations in a row with failing tests, by their reports alone (docs/rules.md#breaker)."""
    if tests_status == "FAILING":
        return breaker.consecutive_failing_tests + 1
    if tests_status == "PASSING":
        return 0
    return breaker.consecutive_failing_tests


def _denials(breaker: Breaker, facts: BreakerFacts) -> int:
    """Iterations in a row that a denied tool kept from progress: no agent repairs that."""
    if facts.denied_tools is None:
        return breaker.consecutive_denials
    if not facts.denied_tools:
        return 0
    return breaker.consecutive_denials + int(not facts.progress)


def _reason_to_open(counted: Breaker, facts: BreakerFacts, config: BreakerConfig) -> str | None:
    """The first row that opens it, those that the user can fix first (docs/rules.md#breaker)."""
    if facts.blocked_reason is not None:
        return f"the agent reports BLOCKED: {facts.blocked_reason or 'no reason given'}"
    if facts.endless is not None:
        return facts.endless
    if _reached(counted.consecutive_denials, config.denials_open):
        return _denied(counted.consecutive_denials, facts.denied_tools or ())
    if _reached(counted.consecutive_same_error, config.same_error_open):
        line = max(counted.error_streaks, key=lambda known: counted.error_streaks[known])
        return f"the same error in {_iterations(counted.consecutive_same_error)}: {line}"
    if _reached(counted.consecutive_failing_tests, config.failing_tests_open):
        return f"tests failing in {_iterations(counted.consecutive_failing_tests)}"
    if _reached(counted.consecutive_set_asides, config.set_aside_open):
        tasks = count_of(counted.consecutive_set_asides, "task")
        return f"{tasks} set aside in a row without progress; the environment may be broken"
    if _reached(counted.consecutive_refusals, config.refused_completions_open):
        refused = count_of(counted.consecutive_refusals, "refused completion")
        return f"{refused} without progress"
    if _reached(counted.consecutive_no_progress, config.no_progress_open):
        return f"{_iterations(counted.consecutive_no_progress)} without progress"
    return None


def _denied(count: int, denied_tools: tuple[str, ...]) -> str:
    tools = list(dict.fromkeys(denied_tools))
    names = some_of(tools, SHOWN_TOOLS) or "a tool"
    return f"permission denied in {_iterations(count)}: {names}; see the setting tools.allow"


def _iterations(count: int) -> str:
    return count_of(count, "iteration")


def _reached(count: int, threshold: int) -> bool:
    return threshold > 0 and count >= threshold


def _move(breaker: Breaker, state: BreakerState, reason: str, now: datetime) -> Breaker:
    return replace_breaker(breaker, state=state, reason=reason, last_change_at=now)
