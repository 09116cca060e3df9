"""Preview of the next iteration: what its agent would be given, without starting anything.

A start is simulated with the reducer: the loop resumes the run, orders the preparation and orders
the agent, and none of these effects is performed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from ralph_ls.core.loop.effects import LaunchAgent, PrepareIteration
from ralph_ls.core.loop.fold import apply
from ralph_ls.core.loop.inputs import EngineFacts, Prepared, Resumed, Started
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.rules import attempts
from ralph_ls.core.loop.rules.agent_choice import Worker
from ralph_ls.core.loop.state import LoopState, Step
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.run.events import IterationEnded, RunEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Outcome

Ordered = TypeVar("Ordered", PrepareIteration, LaunchAgent)

PREDICTED_BY = "a preview"

PlanReader = Callable[[PrepareIteration, RunState], Prepared]
"""Reads the plan as the order describes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextIteration:
    """The next iteration of a run."""

    context: PromptContext | None
    """The context of its prompt; None: no agent would be started."""
    worker: Worker = Worker()
    """The agent and model that would be started."""
    instead: str = ""
    """The reason why no agent would be started, in words; empty where one would."""


def predict_next_iteration(
    run: RunState | None, facts: EngineFacts, read_plan: PlanReader, *, now: datetime
) -> NextIteration:
    """The next iteration of ``run`` if it continued, or the first one of a new run.

    An iteration that is open in ``run`` counts as ended.
    """
    # A run that would wait for the user gives its reason only if it ends instead.
    exits = facts.config.model_copy(update={"on_halt": OnHalt.EXIT})
    facts = replace(facts, config=exits)
    given = (
        Started(run=PREDICTED_BY, facts=facts)
        if run is None
        else Resumed(by=PREDICTED_BY, facts=facts)
    )
    known = RunState() if run is None else _closed(run, now)
    taken = step(LoopState(run=known), given, now)
    order = _ordered(taken, PrepareIteration)
    if order is None:
        return NextIteration(context=None, instead=_why(taken))
    begun = step(taken.state, read_plan(order, taken.state.run), now)
    launch = _ordered(begun, LaunchAgent)
    if launch is None:
        return NextIteration(context=None, instead=_why(begun))
    worker = Worker(agent=launch.agent, model=launch.model)
    return NextIteration(context=launch.context, worker=worker)


def _closed(run: RunState, now: datetime) -> RunState:
    """The run with its open iteration ended, without assuming any result of it."""
    if run.current is None:
        return run
    ended = IterationEnded(
        seq=run.seq + 1,
        at=now,
        run=run.run,
        iteration=run.iteration,
        start=run.start,
        mode=run.current.started.mode,
        outcome=Outcome.PROGRESS,
        seconds=0.0,
        breaker=run.breaker,
        stuck_count=run.stuck_count,
        indicators=run.indicators,
        counts=run.counts,
        attempts=dict(attempts.failed_attempts(run)),
        skipped=run.skipped,
    )
    return apply(run, ended)


def _ordered(taken: Step, kind: type[Ordered]) -> Ordered | None:
    return next((effect for effect in taken.effects if isinstance(effect, kind)), None)


def _why(taken: Step) -> str:
    """Why the run ends, or waits for the user, instead of starting an iteration."""
    ended = next((event for event in taken.events if isinstance(event, RunEnded)), None)
    return taken.ignored or "" if ended is None else ended.message
