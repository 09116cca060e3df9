"""Which agent is asked: the run's own, or one that takes over from it (``fallback``).

The order is that of the settings, and the first that can be had works. One at its usage limit can
be had again when that is lifted; one that failed otherwise is not asked again in this run, but by
whoever takes the run up. It must never know which failures leave an agent out.
"""

from __future__ import annotations

from datetime import datetime

from ralph_ls.protocol.run.iteration_events import AgentOut, IterationEnded
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Outcome


def agent_in_turn(run: RunState, now: datetime) -> str | None:
    """The agent to start in place of the run's own; None: the run's own."""
    found = _first_left(run.config.agent, run.config.fallback, run.agents_out, now)
    if found is None:
        # The wait is over, whatever the clock says: it was for the one that is back first.
        back = [one for one in run.agents_out if one.until is not None]
        first = min(back, key=lambda one: one.until or now, default=None)
        found = None if first is None else first.agent
    return None if found == run.config.agent else found


def left_out_now(run: RunState, now: datetime) -> frozenset[str]:
    """The agents that cannot be had now, by their names."""
    return frozenset(one.agent for one in run.agents_out if one.until is None or one.until > now)


def leave_out(
    run: RunState, agent: str, *, until: datetime | None, now: datetime
) -> AgentOut | None:
    """That ``agent`` cannot be had, and who works on; None where the run has no other at all."""
    if not run.config.fallback:
        return None
    left_out = (*run.agents_out, AgentOut(agent=agent, until=until))
    successor = _first_left(run.config.agent, run.config.fallback, left_out, now)
    return AgentOut(agent=agent, until=until, successor=successor)


def first_back(run: RunState, out: AgentOut) -> datetime | None:
    """When the first of those that were left out can be had again; None: none will be."""
    known = {one.agent: one for one in (*run.agents_out, out)}
    moments = [one.until for one in known.values() if one.until is not None]
    return min(moments, default=None)


def after_iteration(known: tuple[AgentOut, ...], out: AgentOut | None) -> tuple[AgentOut, ...]:
    """Who is left out, with one that has just been seen."""
    if out is None:
        return known
    return (*(one for one in known if one.agent != out.agent), out)


def overloads_after(run: RunState, ended: IterationEnded) -> int:
    """Iterations in a row that came to nothing since the agent's model was overloaded."""
    is_one = ended.failure is AgentFailure.OVERLOADED and ended.outcome is not Outcome.PROGRESS
    return run.overloads + 1 if is_one and ended.agent_out is None else 0


def taken_up(known: tuple[AgentOut, ...]) -> tuple[AgentOut, ...]:
    """Who is still left out when somebody takes up the run: those that will be back by themselves.

    Whoever does so has seen why the others failed.
    """
    return tuple(one for one in known if one.until is not None)


def _first_left(
    own: str, fallback: tuple[str, ...], left_out: tuple[AgentOut, ...], now: datetime
) -> str | None:
    # Of several words about one agent the last holds.
    until = {one.agent: one.until for one in left_out}
    for name in dict.fromkeys((own, *fallback)):
        moment = until.get(name)
        if name not in until or (moment is not None and moment <= now):
            return name
    return None
