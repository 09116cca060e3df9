"""Session continuity: whether an iteration goes on in the agent's session of the one before it.

A, Architecture, "Session Continuity" (A22); settled in SPEC §9.7: off by default, for a fresh
context every time is what the loop is about (S). Only the id that this run's agent reported is
ever gone on in, never an agent's "latest" session, which may be a person's own. It is dropped
when it is too old, when the breaker opens, and with another task, mode, agent or model.

It must never know how an agent is told to go on in a session.
"""

from __future__ import annotations

from datetime import datetime

from ralph_ls.core.loop.agent_choosing import Worker
from ralph_ls.protocol.run.events import AgentStarted, IterationEnded
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState, Session
from ralph_ls.protocol.run.values import BreakerState, Mode, Outcome, TaskRef

_CUT_OFF = frozenset({Outcome.LOST, Outcome.STOPPED})
"""Nobody knows in what state an agent that was cut off left its session."""

_THE_RUNS_OWN = Worker()


def to_resume(
    run: RunState,
    *,
    task: TaskRef | None,
    mode: Mode,
    now: datetime,
    worker: Worker = _THE_RUNS_OWN,
) -> Session | None:
    """The session in which an iteration on ``task`` goes on; None: it begins a fresh one.

    No agent knows the session of another one; and a session with one model is none with the next.
    """
    known, settings = run.session, run.config.session
    if not settings.resume or known is None or run.breaker.state is BreakerState.OPEN:
        return None
    is_same_work = known.task == _id_of(task) and known.mode is mode
    name = worker.agent or run.config.agent
    own = run.config.agents.get(name)
    model = worker.model or (None if own is None else own.model)
    is_same_worker = known.agent in {None, name} and known.model == model
    age = (now - known.created_at).total_seconds()
    is_young = age < settings.max_age
    return known if is_same_work and is_same_worker and is_young else None


def after_iteration(
    known: Session | None,
    ended: IterationEnded,
    *,
    task: TaskRef | None,
    now: datetime,
    agent: AgentStarted | None = None,
) -> Session | None:
    """What is known of the agent's session after an iteration on ``task``.

    An iteration at its usage limit may be gone on with, also where its agent came to say nothing.
    One that was cut off or failed leaves none, and neither does one that told none: to go on is
    to go on in the session of the iteration before.
    """
    seen = ended.session
    if ended.breaker.state is BreakerState.OPEN or ended.outcome in _CUT_OFF:
        return None
    if ended.failure is AgentFailure.CONTEXT_FULL or ended.agent_out is not None:
        # What is full has no room for more, and another agent knows no session of this one.
        return None
    if ended.outcome is Outcome.LIMITED:
        if seen is None or not seen.id:
            return known
    elif ended.crashes or seen is None or not seen.id:
        return None
    is_same = known is not None and known.id == seen.id
    return Session(
        id=seen.id,
        cost_usd=seen.cost_usd,
        usage=seen.usage,
        created_at=known.created_at if known is not None and is_same else now,
        last_used_at=now,
        task=_id_of(task),
        mode=ended.mode,
        agent=None if agent is None else agent.agent,
        model=None if agent is None else agent.model,
    )


def _id_of(task: TaskRef | None) -> str | None:
    return None if task is None else task.id
