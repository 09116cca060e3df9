"""Every agent that a run may start: described, found, and able to do what the settings want.

A run must not find out in its tenth iteration that the agent of a rule is not there. Whether what
the repository brings of them was allowed is asked by ``preparation``, of all of them at once.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.loop.agent_choosing import models_for, names_of_run
from ralph_ls.core.redact import secrets_of
from ralph_ls.engine.agent_choice import choose_agent
from ralph_ls.engine.agent_description import Agent
from ralph_ls.protocol.config import Config, SessionConfig
from ralph_ls.protocol.errors import ConfigError, RalphError


def describe_agents(config: Config) -> Mapping[str, Agent]:
    """The run's own agent, those of its rules, and those that take over, by their names.

    Raises ``ConfigError`` for one that there is not, that cannot be given what it is to be given,
    or that takes no model where a rule gives it one.
    """
    agents = {config.agent: choose_agent(config)}
    for name in names_of_run(config):
        try:
            agents[name] = choose_agent(config_for(config, name))
        except RalphError as error:
            where = "fallback" if name in config.fallback else "models"
            raise ConfigError(f"{where}: {error.message}") from error
    for name, agent in agents.items():
        _require_taking_models(config, name, agent)
    return agents


def config_for(config: Config, name: str) -> Config:
    """The settings as they hold for another agent of the run: it goes on in no session."""
    if name == config.agent:
        return config
    return config.model_copy(update={"agent": name, "session": SessionConfig()})


def secrets_around(
    environment: Mapping[str, str], agents: Mapping[str, Agent]
) -> Mapping[str, str]:
    """The secrets of the caller's environment and of every agent's, by the variable's name.

    Where two agents have another value under the same name, both are secrets.
    """
    known = secrets_of(environment)
    for name, agent in agents.items():
        for variable, value in secrets_of(agent.env).items():
            if value not in known.values():
                known[f"{variable} of {name}" if variable in known else variable] = value
    return known


def _require_taking_models(config: Config, name: str, agent: Agent) -> None:
    models = models_for(config, name)
    if models and not agent.model_flags:
        raise ConfigError(
            f"models: the agent {name!r} is to work with {models[0]}, but it is given no model: "
            f"it takes none, or its command is your own; put the model into argv under "
            f"[agents.{name}], or name another agent in the rule"
        )
