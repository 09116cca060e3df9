"""Who gets an iteration: which agent, and which of its models (S, Future 6; SPEC §9).

The first rule that fits is taken, from the most to the least particular: what a person wants for
every iteration of the run, a tag of the task, what the iteration is for, the task's priority.
An agent that stands in for another one that failed comes before all of them; of the rules it has
the model of those that name it.

It must never know how an agent is given a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from ralph_ls.core.plan.tags import TaskTraits
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import Chosen, ModelChoice, as_choice
from ralph_ls.protocol.plan import Priority
from ralph_ls.protocol.run.values import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """Who gets an iteration."""

    agent: str | None = None
    """By its name in the settings; None: the run's own."""
    model: str | None = None
    """None: the one that the agent's settings name, or its own choice."""


def worker_of(
    config: Config,
    *,
    mode: Mode,
    traits: TaskTraits | None,
    instead: str | None = None,
    out: Collection[str] = (),
) -> Worker:
    """Who gets an iteration in this mode on a task with these traits; None: it has no task.

    ``instead`` is an agent that stands in for the run's own; ``out`` are agents that cannot work
    now, whose rules are passed over.
    """
    own = instead or config.agent
    for rule in _fitting(config, mode, traits):
        agent = rule.agent or config.agent
        if agent in out or (instead is not None and agent != instead):
            continue
        return Worker(agent=None if agent == config.agent else agent, model=rule.model)
    return Worker(agent=None if own == config.agent else own)


def names_of_run(config: Config) -> tuple[str, ...]:
    """The agents that a run with these settings may start besides its own, each once."""
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
    """Who works, in words; empty where it is the run's own agent with a model of its own choice."""
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
