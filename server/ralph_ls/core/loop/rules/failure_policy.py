"""Which agent is asked: the run's own, or one that takes over from it (``fallback``).

The order is that of the settings, and the first that can be had works. One at its usage limit can
be had again when that is lifted; one that failed otherwise is not asked again in this run, but by
whoever takes the run up. It must never know which failures leave an agent out.

What a failed agent means for its iteration: wait, hand over to another agent, or neither.

An iteration whose agent could not be had at all is *held up*: it counts for nothing, as one at a
usage limit does (docs/rules.md#usage-limits). An overload is waited out, each wait twice the one
before; when the waits are used up it is a crash like any other. It must never know how a run waits
or ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ralph_ls.core.agent.failures import FAILURE_TEXTS
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.inputs import IterationRead
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.iteration_events import AgentOut, IterationEnded
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Outcome


def substitute_agent(run: RunState, now: datetime) -> str | None:
    """The agent to start in place of the run's own; None: the run's own."""
    found = _first_left(run.config.agent, run.config.fallback, run.agents_out, now)
    if found is None:
        # The wait is over, whatever the clock says: it was for the one that is back first.
        back = [one for one in run.agents_out if one.until is not None]
        first = min(back, key=lambda one: one.until or now, default=None)
        found = None if first is None else first.agent
    return None if found == run.config.agent else found


def unavailable_agents(run: RunState, now: datetime) -> frozenset[str]:
    """The agents that cannot be had now, by their names."""
    return frozenset(one.agent for one in run.agents_out if one.until is None or one.until > now)


def mark_unavailable(
    run: RunState, agent: str, *, until: datetime | None, now: datetime
) -> AgentOut | None:
    """That ``agent`` cannot be had, and who works on; None where the run has no other at all."""
    if not run.config.fallback:
        return None
    left_out = (*run.agents_out, AgentOut(agent=agent, until=until))
    successor = _first_left(run.config.agent, run.config.fallback, left_out, now)
    return AgentOut(agent=agent, until=until, successor=successor)


def first_available_again(run: RunState, out: AgentOut) -> datetime | None:
    """When the first of those that were left out can be had again; None: none will be."""
    known = {one.agent: one for one in (*run.agents_out, out)}
    moments = [one.until for one in known.values() if one.until is not None]
    return min(moments, default=None)


def unavailable_after_iteration(
    known: tuple[AgentOut, ...], out: AgentOut | None
) -> tuple[AgentOut, ...]:
    """Who is left out, with one that has just been seen."""
    if out is None:
        return known
    return (*(one for one in known if one.agent != out.agent), out)


def overloads_after(run: RunState, ended: IterationEnded) -> int:
    """Iterations in a row that came to nothing since the agent's model was overloaded."""
    is_one = ended.failure is AgentFailure.OVERLOADED and ended.outcome is not Outcome.PROGRESS
    return run.overloads + 1 if is_one and ended.agent_out is None else 0


def unavailable_after_resume(known: tuple[AgentOut, ...]) -> tuple[AgentOut, ...]:
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


FAILURES_FOR_USER = frozenset(
    {AgentFailure.NOT_LOGGED_IN, AgentFailure.REFUSED_AS_ROOT, AgentFailure.WRONG_CALL}
)
"""Failures that the same agent would meet again at once, whatever is tried."""

NO_SECOND_TRY = FAILURES_FOR_USER | {AgentFailure.OVERLOADED}
"""Failures after which an agent is not started once more in the same iteration."""

OUT_OF_REACH = frozenset({AgentFailure.LIMIT, AgentFailure.OVERLOADED})
"""Failures that are no attempt at a task, also where no wait for the agent is left."""

LIMITS_OF_ITS_OWN = frozenset(
    {AgentFailure.CONTEXT_FULL, AgentFailure.MAX_TURNS, AgentFailure.BUDGET}
)
"""Ends that an agent came to by a limit of its own: no crash, and what it did counts."""

AGENT_FAILURE_WORDS = {
    AgentFailure.CONTEXT_FULL: (
        "agent-context-full",
        "the next iteration begins in a fresh session; smaller tasks need less room",
    ),
    AgentFailure.MAX_TURNS: (
        "agent-max-turns",
        "what it did until then counts; it is a setting of the agent's own",
    ),
    AgentFailure.BUDGET: (
        "agent-budget",
        "what it did until then counts; it is a setting of the agent's own",
    ),
}
"""Code of the warning, and what is added to what happened."""

OVERLOADED = "agent-overloaded"
FALLBACK = "agent-fallback"
"""Codes of the warnings that a model is waited for, and that another agent takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHold:
    """Why an iteration's agent could not be had, and what the run does until one can."""

    kind: AgentFailure
    limit: AccountLimit | None = None
    """Of a usage limit."""
    out: AgentOut | None = None
    """The agent is left out for it; None: it is asked again."""
    retry: int = 0
    """Which wait in a row follows, from 1; 0: it is no overload that is waited for."""
    back_at: datetime | None = None
    """When one can be had again, where none is left who could work on."""


def agent_hold(
    run: RunState,
    given: IterationRead,
    limit: AccountLimit | None,
    *,
    nothing: bool,
    now: datetime,
) -> AgentHold | None:
    """Why the open iteration is held up; None where it is not.

    ``nothing``: its agent came to nothing. ``limit``: the usage limit that kept it from a result.
    """
    kind, began = given.failure_kind, _began(run, now)
    if limit is not None:
        until = limit.resets_at
        if until is None or until <= began:
            until = now + _seconds(run.config.limit_wait)
        return _handed_over(run, AgentFailure.LIMIT, until=until, limit=limit, now=now)
    if not nothing or kind is None:
        return None
    retries = run.overloads + 1
    if kind is AgentFailure.OVERLOADED and retries <= run.config.retry.tries:
        return AgentHold(kind=kind, retry=retries)
    if kind in NO_SECOND_TRY:
        hold = _handed_over(run, kind, until=None, limit=None, now=now)
        return None if hold.out is None or _is_end(hold) else hold
    return None


def agent_crash(run: RunState, *, now: datetime) -> AgentOut | None:
    """Who takes over from an agent that failed in too many iterations in a row; None: nobody."""
    out = mark_unavailable(run, _agent(run), until=None, now=now)
    return None if out is None or out.successor is None else out


def retry_wait(config: Config, retry: int) -> timedelta:
    """How long the wait of that number is, from 1."""
    doubled = config.retry.first * 2.0 ** min(retry - 1, _DOUBLINGS)
    return _seconds(min(doubled, max(config.retry.longest, config.retry.first)))


def agent_hold_words(
    run: RunState, hold: AgentHold, given: IterationRead
) -> tuple[str, str] | None:
    """Code and message of the warning about it; None where the wait alone says everything."""
    said = f": {given.failure}" if given.failure else ""
    what = f"{_agent(run)} {FAILURE_TEXTS[hold.kind]}{said}"
    if hold.retry:
        tries = run.config.retry.tries
        return OVERLOADED, f"{what}; it is tried again, wait {hold.retry} of {tries}"
    if hold.out is None:
        return None
    return FALLBACK, handed_over_words(what, hold.out)


def handed_over_words(what: str, out: AgentOut) -> str:
    """``claude is not logged in; codex works on in its place``."""
    next_one = out.successor
    if next_one is None:
        return f"{what}; no agent is left, so the run waits for the first that is back"
    return f"{what}; {next_one} works on in its place"


def agent_crash_words(out: AgentOut, given: IterationRead, *, times: int) -> str:
    """That another agent takes over from one that failed again and again."""
    said = f", at last: {given.failure}" if given.failure else ""
    return handed_over_words(f"{out.agent} failed in {times} iterations in a row{said}", out)


def needs_user_words(run: RunState, given: IterationRead) -> str | None:
    """Why no try of this agent's can help, and what to do; None where one may."""
    kind = given.failure_kind
    if kind is None or kind not in FAILURES_FOR_USER:
        return None
    said = f": {given.failure}" if given.failure else ""
    remedy = f"; {given.remedy}" if given.remedy else ""
    what = f"the agent {_agent(run)} {FAILURE_TEXTS[kind]}{said}"
    return f"{what}{remedy}; then go on with: ralph run --resume"


def _handed_over(
    run: RunState,
    kind: AgentFailure,
    *,
    until: datetime | None,
    limit: AccountLimit | None,
    now: datetime,
) -> AgentHold:
    out = mark_unavailable(run, _agent(run), until=until, now=now)
    if out is None or out.successor is not None:
        return AgentHold(kind=kind, limit=limit, out=out)
    return AgentHold(kind=kind, limit=limit, out=out, back_at=first_available_again(run, out))


def _is_end(hold: AgentHold) -> bool:
    """Nobody is left, and nobody will be back."""
    return hold.out is not None and hold.out.successor is None and hold.back_at is None


def _agent(run: RunState) -> str:
    """The name of the one that worked on the open iteration."""
    started = None if run.current is None else run.current.agent
    return run.config.agent if started is None else started.agent


def _began(run: RunState, now: datetime) -> datetime:
    return now if run.current is None else run.current.started.at


def _seconds(duration: float) -> timedelta:
    return timedelta(seconds=duration)


_DOUBLINGS = 30
"""No wait needs more: a number beyond would be none any more."""
