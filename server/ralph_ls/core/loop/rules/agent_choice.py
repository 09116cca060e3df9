"""Agent choice: which agent works on an iteration, with which model, and in which session.

The first rule that fits is taken, from the most to the least particular: the user's choice for
every iteration of the run, a tag of the task, the iteration's mode, the task's priority. An agent
that replaces one that failed comes before all of them; of the rules it takes the model of those
that name it (docs/rules.md#agents).

Sessions are off by default, since a fresh context for every iteration is the purpose of the loop
(docs/rules.md#sessions). Only the session whose id this run's agent reported is ever continued,
never an agent's "latest" one, which may be the user's. It is dropped when it is too old, when the
breaker opens, and with another task, mode, agent or model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.plan.queries import TaskTraits
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import Chosen, ModelChoice, as_choice
from ralph_ls.protocol.run.events import AgentStarted, IterationEnded
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import RunState, Session
from ralph_ls.protocol.run.values import BreakerState, Mode, Outcome, TaskRef
from ralph_ls.protocol.task_words import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """The agent of an iteration."""

    agent: str | None = None
    """Its name in the settings; None: the run's."""
    model: str | None = None
    """None: the model that the agent's settings name, or the agent's choice."""


def choose_worker(
    config: Config,
    *,
    mode: Mode,
    traits: TaskTraits | None,
    instead: str | None = None,
    out: Collection[str] = (),
) -> Worker:
    """The agent of an iteration in this mode on a task with these traits; None: it has no task.

    ``instead`` is an agent that replaces the run's; ``out`` are agents that are not available,
    whose rules are skipped.
    """
    own = instead or config.agent
    for rule in _fitting(config, mode, traits):
        agent = rule.agent or config.agent
        if agent in out or (instead is not None and agent != instead):
            continue
        return Worker(agent=None if agent == config.agent else agent, model=rule.model)
    return Worker(agent=None if own == config.agent else own)


def other_agents(config: Config) -> tuple[str, ...]:
    """The agents that a run with these settings may start besides its main one, each once."""
    rules = () if config.models.every is not None else config.models.others()
    named = [*config.fallback, *(rule.agent for rule in rules if rule.agent is not None)]
    return tuple(name for name in dict.fromkeys(named) if name != config.agent)


def models_for(config: Config, name: str) -> tuple[str, ...]:
    """The models that rules may give to the agent of that name, each once."""
    every = config.models.every
    if every is not None:
        return (every,) if name == config.agent else ()
    named = [
        rule.model
        for rule in config.models.others()
        if rule.model is not None and (rule.agent or config.agent) == name
    ]
    return tuple(dict.fromkeys(named))


def worker_words(config: Config, agent: str, model: str | None) -> str:
    """The agent in words; empty where it is the run's, with a model of the agent's choice."""
    if model is None:
        return "" if agent == config.agent else agent
    return f"{agent}, model {model}"


def _fitting(config: Config, mode: Mode, traits: TaskTraits | None) -> Iterator[ModelChoice]:
    """The rules that fit, the most particular first."""
    models = config.models
    if models.every is not None:
        yield ModelChoice(model=models.every)
        return
    wanted = {name.strip("[]# ").casefold(): rule for name, rule in models.tag.items()}
    tags = () if traits is None else traits.tags
    rules: list[Chosen | None] = [wanted[tag] for tag in tags if tag in wanted]
    rules.append(_by_mode(config, mode))
    if traits is not None:
        rules.append(_by_priority(config, traits.priority))
    yield from (as_choice(rule) for rule in rules if rule is not None)


def _by_mode(config: Config, mode: Mode) -> Chosen | None:
    by = config.models.mode
    rules = {
        Mode.PLAN: by.plan,
        Mode.BUILD: by.build,
        Mode.REVIEW: by.review,
        Mode.REVIEW_FIX: by.review_fix,
    }
    return rules[mode]


def _by_priority(config: Config, priority: Priority | None) -> Chosen | None:
    by = config.models.priority
    rules = {Priority.P0: by.high, Priority.P1: by.standard, Priority.P2: by.low}
    return rules[priority or Priority.P1]


_CUT_OFF = frozenset({Outcome.LOST, Outcome.STOPPED})
"""Outcomes after which the state of the agent's session is not known."""

_THE_RUNS_OWN = Worker()


def session_to_resume(
    run: RunState,
    *,
    task: TaskRef | None,
    mode: Mode,
    now: datetime,
    worker: Worker = _THE_RUNS_OWN,
) -> Session | None:
    """The session that an iteration on ``task`` continues; None: it begins a fresh one.

    Sessions are not shared between agents, nor between models.
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


def session_after_iteration(
    known: Session | None,
    ended: IterationEnded,
    *,
    task: TaskRef | None,
    now: datetime,
    agent: AgentStarted | None = None,
) -> Session | None:
    """The agent's session after an iteration on ``task``, as far as it is known.

    An iteration at its usage limit may be continued, also where its agent had no output. One that
    was cut off, that failed or that reported no session leaves none: only the session of the
    iteration before is ever continued.
    """
    reported = ended.session
    if ended.breaker.state is BreakerState.OPEN or ended.outcome in _CUT_OFF:
        return None
    if ended.failure is AgentFailure.CONTEXT_FULL or ended.agent_out is not None:
        # A full session has no room for more, and another agent cannot continue this one.
        return None
    if ended.outcome is Outcome.LIMITED:
        if reported is None or not reported.id:
            return known
    elif ended.crashes or reported is None or not reported.id:
        return None
    is_same = known is not None and known.id == reported.id
    return Session(
        id=reported.id,
        cost_usd=reported.cost_usd,
        usage=reported.usage,
        created_at=known.created_at if known is not None and is_same else now,
        last_used_at=now,
        task=_id_of(task),
        mode=ended.mode,
        agent=None if agent is None else agent.agent,
        model=None if agent is None else agent.model,
    )


def _id_of(task: TaskRef | None) -> str | None:
    return None if task is None else task.id
