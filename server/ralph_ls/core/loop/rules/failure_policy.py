"""Failure policy: wait for an agent that failed, replace it by another one, or count a crash.

Agents are asked in the order of the settings (``fallback``), and the first available one works. One
at its usage limit is available again when that is lifted; one that failed otherwise is not asked
again in this run before a user resumes it.

An iteration whose agent was not available is *held*: it counts for nothing, as one at a usage limit
does (docs/rules.md#usage-limits). An overload and an unreachable API are waited out, each wait
twice as long as the one before; when the waits are used up it is a crash as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ralph_ls.core.agent.failures import FAILURE_TEXTS
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.iteration_events import AgentOut, IterationEnded
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Outcome

if TYPE_CHECKING:
    from ralph_ls.core.loop.inputs import IterationRead


def substitute_agent(run: RunState, now: datetime) -> str | None:
    """The agent that replaces the run's; None: the run's agent."""
    found = _first_left(run.config.agent, run.config.fallback, run.agents_out, now)
    if found is None:
        # The wait is over, whatever the clock shows: it was for the one that is back first.
        back = [one for one in run.agents_out if one.until is not None]
        first = min(back, key=lambda one: one.until or now, default=None)
        found = None if first is None else first.agent
    return None if found == run.config.agent else found


def unavailable_agents(run: RunState, now: datetime) -> frozenset[str]:
    """The names of the agents that are not available now."""
    return frozenset(one.agent for one in run.agents_out if one.until is None or one.until > now)


def mark_unavailable(
    run: RunState, agent: str, *, until: datetime | None, now: datetime
) -> AgentOut | None:
    """The loss of ``agent``, and its replacement; None where the run has no other agent."""
    if not run.config.fallback:
        return None
    left_out = (*run.agents_out, AgentOut(agent=agent, until=until))
    successor = _first_left(run.config.agent, run.config.fallback, left_out, now)
    return AgentOut(agent=agent, until=until, successor=successor)


def first_available_again(run: RunState, out: AgentOut) -> datetime | None:
    """When the first of the agents that were left out is available again; None: none will be."""
    known = {one.agent: one for one in (*run.agents_out, out)}
    moments = [one.until for one in known.values() if one.until is not None]
    return min(moments, default=None)


def unavailable_after_iteration(
    known: tuple[AgentOut, ...], out: AgentOut | None
) -> tuple[AgentOut, ...]:
    """The agents that are left out, with a new one."""
    if out is None:
        return known
    return (*(one for one in known if one.agent != out.agent), out)


def overloads_after(run: RunState, ended: IterationEnded) -> int:
    """Iterations in a row without a result since the agent's model gave no answer."""
    is_one = ended.failure in NO_ANSWER and ended.outcome is not Outcome.PROGRESS
    return run.overloads + 1 if is_one and ended.agent_out is None else 0


def waited_after(run: RunState, ended: IterationEnded) -> float:
    """Seconds of waits for an agent in a row; an iteration with a result ends the row."""
    return run.waited_seconds if ended.outcome is Outcome.LIMITED else 0.0


def unavailable_after_resume(known: tuple[AgentOut, ...]) -> tuple[AgentOut, ...]:
    """The agents that stay left out when a user resumes the run: those that become available again.

    The user has had a chance to fix the others.
    """
    return tuple(one for one in known if one.until is not None)


def _first_left(
    own: str, fallback: tuple[str, ...], left_out: tuple[AgentOut, ...], now: datetime
) -> str | None:
    # Of several entries of one agent the last holds.
    until = {one.agent: one.until for one in left_out}
    for name in dict.fromkeys((own, *fallback)):
        moment = until.get(name)
        if name not in until or (moment is not None and moment <= now):
            return name
    return None


FAILURES_FOR_USER = frozenset(
    {AgentFailure.NOT_LOGGED_IN, AgentFailure.REFUSED_AS_ROOT, AgentFailure.WRONG_CALL}
)
"""Failures that the same agent would repeat at once."""

NO_ANSWER = frozenset({AgentFailure.OVERLOADED, AgentFailure.UNREACHABLE})
"""Failures of the model's service, which pass."""

NO_SECOND_TRY = FAILURES_FOR_USER | NO_ANSWER
"""Failures after which an agent is not started once more in the same iteration."""

OUT_OF_REACH = NO_ANSWER | {AgentFailure.LIMIT}
"""Failures that are no attempt at a task, also where no wait for the agent is left."""

LIMITS_OF_ITS_OWN = frozenset(
    {AgentFailure.CONTEXT_FULL, AgentFailure.MAX_TURNS, AgentFailure.BUDGET}
)
"""Ends by a limit of the agent itself: no crash, and its work counts."""

AGENT_FAILURE_WORDS = {
    AgentFailure.CONTEXT_FULL: (
        "agent-context-full",
        "the next iteration starts in a fresh session; smaller tasks need less room",
    ),
    AgentFailure.MAX_TURNS: (
        "agent-max-turns",
        "its work up to then counts; the limit is one of the agent's own settings",
    ),
    AgentFailure.BUDGET: (
        "agent-budget",
        "its work up to then counts; the limit is one of the agent's own settings",
    ),
}
"""By failure: the code of the warning, and the advice in its message."""

OVERLOADED = "agent-overloaded"
UNREACHABLE = "agent-unreachable"
FALLBACK = "agent-fallback"
"""Codes of the warnings that a model is waited for, and that another agent takes over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHold:
    """Why an iteration's agent was not available, and what the run does until one is."""

    kind: AgentFailure
    limit: AccountLimit | None = None
    """The usage limit."""
    out: AgentOut | None = None
    """The agent is left out; None: it is asked again."""
    retry: int = 0
    """Which wait in a row follows, from 1; 0: it is no overload that is waited for."""
    back_at: datetime | None = None
    """When an agent is available again, where none is left to replace it."""


def agent_hold(
    run: RunState,
    given: IterationRead,
    limit: AccountLimit | None,
    *,
    nothing: bool,
    now: datetime,
) -> AgentHold | None:
    """Why the open iteration is held; None where it is not.

    ``nothing``: its agent had no result. ``limit``: the usage limit that kept it from one.
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
    if kind in NO_ANSWER and retries <= run.config.retry.tries:
        return AgentHold(kind=kind, retry=retries)
    if kind in NO_SECOND_TRY:
        hold = _handed_over(run, kind, until=None, limit=None, now=now)
        return None if hold.out is None or _is_end(hold) else hold
    return None


def agent_crash(run: RunState, *, now: datetime) -> AgentOut | None:
    """The replacement of an agent that failed in too many iterations; None: there is none."""
    out = mark_unavailable(run, _agent(run), until=None, now=now)
    return None if out is None or out.successor is None else out


def retry_wait(config: Config, retry: int) -> timedelta:
    """The length of the wait of that number, from 1."""
    doubled = config.retry.first * 2.0 ** min(retry - 1, _DOUBLINGS)
    return _seconds(min(doubled, max(config.retry.longest, config.retry.first)))


def agent_hold_words(
    run: RunState, hold: AgentHold, given: IterationRead
) -> tuple[str, str] | None:
    """Code and message of the warning about it; None where the wait alone says everything."""
    reason = f": {given.failure}" if given.failure else ""
    what = f"{_agent(run)} {FAILURE_TEXTS[hold.kind]}{reason}"
    if hold.retry:
        tries = run.config.retry.tries
        code = UNREACHABLE if hold.kind is AgentFailure.UNREACHABLE else OVERLOADED
        return code, f"{what}; waiting to try again ({hold.retry} of {tries})"
    if hold.out is None:
        return None
    return FALLBACK, handed_over_words(what, hold.out)


def handed_over_words(what: str, out: AgentOut) -> str:
    """``claude is not logged in; codex works on in its place``."""
    next_one = out.successor
    if next_one is None:
        return f"{what}; no other agent is available, so the run waits for the first to come back"
    return f"{what}; {next_one} takes over"


def agent_crash_words(out: AgentOut, given: IterationRead, *, times: int) -> str:
    """The message that another agent replaces one that failed repeatedly."""
    reason = f"; last failure: {given.failure}" if given.failure else ""
    return handed_over_words(f"{out.agent} failed in {times} iterations in a row{reason}", out)


def needs_user_words(run: RunState, given: IterationRead) -> str | None:
    """Why no retry of this agent can help, and what to do; None where one may."""
    kind = given.failure_kind
    if kind is None or kind not in FAILURES_FOR_USER:
        return None
    reason = f": {given.failure}" if given.failure else ""
    remedy = f"; {given.remedy}" if given.remedy else ""
    what = f"the agent {_agent(run)} {FAILURE_TEXTS[kind]}{reason}"
    return f"{what}{remedy}; then continue with: ralph run --resume"


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
    """Whether no agent is left, and none will be back."""
    return hold.out is not None and hold.out.successor is None and hold.back_at is None


def _agent(run: RunState) -> str:
    """The name of the agent that worked on the open iteration."""
    started = None if run.current is None else run.current.agent
    return run.config.agent if started is None else started.agent


def _began(run: RunState, now: datetime) -> datetime:
    return now if run.current is None else run.current.started.at


def _seconds(duration: float) -> timedelta:
    return timedelta(seconds=duration)


_DOUBLINGS = 30
"""The largest exponent of a wait, which exceeds any limit by far."""
