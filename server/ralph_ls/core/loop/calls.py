"""How many calls of its model a run's agents made lately, and when the next agent may start.

``max_calls_per_minute`` counts the turns that agents tell (I, 3.4; SPEC §9.6). When exactly each
one was, they do not tell, so the turns of an iteration are taken as spread evenly over the time in
which its agent worked. An agent that tells no turns has made one call at least, and counts as that.

It must never know how a run waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import floor

from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.state import AgentCalls, RunState

MINUTE = timedelta(minutes=1)


def after_iteration(run: RunState, ended: IterationEnded) -> tuple[AgentCalls, ...]:
    """The calls of the last minute, with those of an iteration that has just ended.

    ``run`` is the state in which it was still open. Without a limit nothing is kept.
    """
    if run.config.max_calls_per_minute is None:
        return ()
    made = (*run.calls, *_of_iteration(run, ended))
    return tuple(one for one in made if one.until > ended.at - MINUTE)


def next_start(calls: Sequence[AgentCalls], limit: int | None, now: datetime) -> datetime | None:
    """When fewer than ``limit`` calls lie in the minute before; None where that is so now."""
    if limit is None:
        return None
    left = limit
    # Where the clock was set back, nobody knows how long ago a call was made.
    for one in (known for known in reversed(calls) if known.until <= now):
        if left <= one.count:
            start = _moment_of(one, left) + MINUTE
            return start if start > now else None
        left -= one.count
    return None


def _of_iteration(run: RunState, ended: IterationEnded) -> tuple[AgentCalls, ...]:
    current = run.current
    if current is None or current.agent is None:
        return ()
    turns = None if ended.usage is None else ended.usage.turns
    until = ended.at if current.exit is None else current.exit.at
    seconds = max(0.0, (until - current.started.at).total_seconds())
    return (AgentCalls(until=until, seconds=seconds, count=turns or 1),)


def _moment_of(one: AgentCalls, number: int) -> datetime:
    """When the call was made that is ``number`` from the end, counted from 1."""
    before = one.seconds * (number - 1) / one.count
    return one.until - timedelta(milliseconds=floor(before * 1000))
