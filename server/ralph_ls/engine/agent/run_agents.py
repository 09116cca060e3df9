"""Agents of a run: checked at the start, so that a run does not fail in its tenth iteration.

Each agent that a rule may choose is described, found, and able to do what the settings require; its
lists of tools and its stop hook are checked too. Approvals are checked by ``preparation``, for all
agents at once. Variables that the repository itself contains, such as the password of a test
database, are not treated as secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

from ralph_ls.core.agent.tools import writing_commands
from ralph_ls.core.agent.usage import METERING_BY_DIALECT, cost_metering
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.rules.agent_choice import models_for, other_agents
from ralph_ls.core.redaction.redactor import is_guessable, secrets_of
from ralph_ls.engine.agent.description import Agent, describe_command_agent
from ralph_ls.engine.agent.environment import base_agent_environment, in_sandbox
from ralph_ls.engine.agent.selection import adapter_of, choose_agent, compose
from ralph_ls.protocol.config.agent import AgentConfig, ToolsConfig
from ralph_ls.protocol.config.agent_catalog import CATALOG, Adapter
from ralph_ls.protocol.config.agent_facts import Metering
from ralph_ls.protocol.config.config import Config, SessionConfig
from ralph_ls.protocol.errors import ConfigError, RalphError, UsageError
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.setup.hook_launcher import check_hook

MOST_ASKED = 16
"""Number of values that are searched for; all others stay secrets."""


def without_tracked(root: Path, secrets: Mapping[str, str]) -> Mapping[str, str]:
    """The secrets without values that are easily guessed and that git tracks in a text.

    Hiding ``postgres1`` wherever a compose file or a test has it would be useless. A value that is
    hard to guess stays a secret: where git tracks it, it was leaked. Call it once for a run.
    """
    plain = [name for name, value in secrets.items() if is_guessable(value)][:MOST_ASKED]
    tracked = {name for name in plain if _is_tracked(root, secrets[name])}
    return {name: value for name, value in secrets.items() if name not in tracked}


def _is_tracked(root: Path, value: str) -> bool:
    try:
        pattern = value.encode()
    except UnicodeEncodeError:
        return False
    if b"\n" in pattern or b"\0" in pattern:
        return False
    try:
        # By standard input: every user of the machine may read the arguments of a process.
        words = ("grep", "--quiet", "--fixed-strings", "-I", "-f", "-")
        run_git(root, *words, stdin=pattern + b"\n")
    except RalphError:
        return False  # Not found, or unknown: then it is hidden.
    return True


def describe_agents(config: Config) -> Mapping[str, Agent]:
    """The run's own agent, those of its rules, and those that take over, by their names.

    Raises ``ConfigError`` for one that there is not, that cannot be given what it is to be given,
    or that takes no model where a rule gives it one.
    """
    agents = {config.agent: choose_agent(config)}
    for name in other_agents(config):
        try:
            agents[name] = choose_agent(config_for(config, name))
        except RalphError as error:
            where = "fallback" if name in config.fallback else "models"
            raise ConfigError(f"{where}: {error.message}") from error
    for name, agent in agents.items():
        _require_taking_models(config, name, agent)
    return agents


def describe_judge(config: Config) -> Agent | None:
    """The run's judge, started so that it cannot write; None where nothing is judged.

    Raises ``ConfigError`` for an agent that has no such mode, or takes no model.
    """
    wanted = config.judge
    if not wanted.is_on:
        return None
    name = wanted.agent or config.agent
    adapter, table = adapter_of(name, config), config.agents.get(name, AgentConfig())
    known = CATALOG.get(adapter or "")
    if adapter is Adapter.COMMAND:
        agent = describe_command_agent(name, table)
    elif known is None:
        raise ConfigError(_no_judge(name, "is not known as one that can only read"))
    elif known.judge is None:
        raise ConfigError(_no_judge(name, "has no mode in which it cannot write"))
    elif table.argv:
        why = f"has a command of yours (agents.{name}.argv), which may let it write"
        raise ConfigError(_no_judge(name, why))
    else:
        reading = replace(known, freely=known.judge.flags)
        # The user's own flags may let it write.
        agent = compose(
            name,
            reading,
            table.model_copy(update={"args": (), "system_prompt": None}),
            ToolsConfig(),
        )
        agent = replace(agent, env={**agent.env, **known.judge.env})
    if wanted.model is not None and not agent.model_flags:
        raise ConfigError(
            f"judge.model: the agent {name!r} takes no model, or runs your own command; put the "
            f"model into argv under [agents.{name}], or remove judge.model"
        )
    return in_sandbox(agent, config)


def _no_judge(name: str, why: str) -> str:
    able = ", ".join(one.name for one in CATALOG.values() if one.judge is not None)
    return (
        f"judge.agent: {name!r} {why}; choose one of {able}, or describe your own read-only "
        "command under [agents.NAME] in .ralph/config.toml and name that"
    )


def require_metered(settings: LoadedSettings, agents: Mapping[str, Agent]) -> None:
    """Refuse a limit in tokens or dollars for an agent that does not report its usage.

    Raises ``UsageError`` for a limit that was given with this run, ``ConfigError`` for any other.
    """
    config = settings.config
    if config.allow_unmetered:
        return
    for (key, flag), (name, agent) in product((*_OF_TOKENS, *_OF_COST), agents.items()):
        is_cost = (key, flag) in _OF_COST
        is_limited = getattr(config, key) is not None
        if is_limited and metering_of(config, name, agent, is_cost=is_cost) is Metering.NEVER:
            cls = UsageError if key in settings.overrides else ConfigError
            raise cls(_unmetered(agent, flag if cls is UsageError else key, is_cost=is_cost))


def metering_of(config: Config, name: str, agent: Agent, *, is_cost: bool) -> Metering:
    """When an agent of the run reports its cost, or its tokens."""
    meter = METERING_BY_DIALECT[agent.dialect]
    if not is_cost:
        return meter.tokens
    if agent.reports_cost:
        return Metering.AT_END
    by_rules: tuple[str | None, ...] = models_for(config, name)
    is_forced = config.models.every is not None and name == config.agent
    return cost_metering(meter, config.prices, by_rules if is_forced else (*by_rules, agent.model))


_OF_TOKENS = (
    ("max_tokens", "--max-tokens"),
    ("max_tokens_per_iteration", "max_tokens_per_iteration"),
)
_OF_COST = (
    ("max_cost_usd", "--max-cost"),
    ("max_cost_per_iteration_usd", "max_cost_per_iteration_usd"),
)


def _unmetered(agent: Agent, limit: str, *, is_cost: bool) -> str:
    what = "what it costs" if is_cost else "the tokens that it uses"
    has_tokens = is_cost and METERING_BY_DIALECT[agent.dialect].tokens is not Metering.NEVER
    price = "add a price for its model under [prices], " if has_tokens else ""
    return (
        f"{limit} cannot be enforced, because the agent {agent.name!r} does not report {what}; "
        f"use --max-iterations or --max-time instead, {price}choose an agent that reports it, or "
        "start anyway with --allow-unmetered"
    )


def config_for(config: Config, name: str) -> Config:
    """The settings for another agent of the run, which resumes no session."""
    if name == config.agent:
        return config
    return config.model_copy(update={"agent": name, "session": SessionConfig()})


def secrets_around(
    environment: Mapping[str, str], agents: Mapping[str, Agent], root: Path
) -> Mapping[str, str]:
    """The secrets of the caller's environment and of every agent's, by the variable's name.

    Where two agents have another value under the same name, both are secrets. What the repository
    in ``root`` holds itself is none.
    """
    known = secrets_of(environment)
    for name, agent in agents.items():
        for variable, value in secrets_of(agent.env).items():
            if value not in known.values():
                known[f"{variable} of {name}" if variable in known else variable] = value
    return without_tracked(root, known)


def _require_taking_models(config: Config, name: str, agent: Agent) -> None:
    models = models_for(config, name)
    if models and not agent.model_flags:
        raise ConfigError(
            f"models: the agent {name!r} should use {models[0]}, but takes no model, or runs your "
            f"own command; put the model into argv under [agents.{name}], or name another agent "
            "in the rule"
        )


SHOWN = 3


def emit_writing_tools(config: Config) -> tuple[Notice, ...]:
    """Notice of a list of tools that seems to be read-only and lets the agent write."""
    ways = writing_commands(() if config.tools is None else config.tools.allow or ())
    if not ways:
        return ()
    named = ", ".join(f"{word} ({way})" for word, way in ways[:SHOWN])
    message = (
        f"tools.allow has no tool that writes, but allows commands that can write: {named}; "
        "remove them for a read-only agent, or use a sandbox"
    )
    return (Notice(code="tools-may-write", message=message),)


def ask_hook(root: Path, config: Config, environment: Mapping[str, str]) -> str | None:
    """Problem of the stop hook, with a remedy; empty where it answers, None without a hook."""
    agent = config.agents.get(config.agent)
    own = base_agent_environment(
        environment,
        extra=None if agent is None else agent.env,
        only=config.env.only,
    )
    return check_hook(root, config.agent, own)


def emit_silent_hook(root: Path, config: Config, environment: Mapping[str, str]) -> list[Notice]:
    """A warning where the hook does not answer; the loop makes the same checks itself."""
    problem = ask_hook(root, config, environment)
    return [Notice(code="hook-silent", message=problem)] if problem else []
