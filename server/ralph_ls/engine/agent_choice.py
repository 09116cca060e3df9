"""From the settings to the agent that is started, and to what its process gets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ralph_ls.engine.agent_description import Agent
from ralph_ls.engine.agents import claude, command, demo
from ralph_ls.engine.sandbox import in_sandbox
from ralph_ls.protocol.agent_config import AgentConfig, Dialect, PromptBy
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import ConfigError

BUILT_IN = (claude.PROGRAM, "demo")

_SESSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")


def choose_agent(config: Config) -> Agent:
    """The agent that ``config`` names; raises ``ConfigError`` naming what can be chosen."""
    agent = _describe(config)
    if config.session.resume and not (agent.resume and agent.dialect is not Dialect.TEXT):
        raise ConfigError(
            f"session.resume is set, but the agent {config.agent!r} has no session that can be "
            "gone on in; choose --agent claude, or remove the setting"
        )
    return in_sandbox(agent, config)


def _describe(config: Config) -> Agent:
    if config.agent == claude.PROGRAM:
        return claude.describe(config.agents.get(config.agent, AgentConfig()), config.tools)
    _require_no_tools(config)
    if config.agent in config.agents:
        return command.describe(config.agent, config.agents[config.agent])
    if config.agent == "demo":
        return demo.describe()
    if config.agent == "command":
        return command.describe("command", AgentConfig())
    known = ", ".join(dict.fromkeys([*BUILT_IN, *sorted(config.agents)]))
    raise ConfigError(
        f"this version has no agent {config.agent!r}; it has: {known}. "
        "Give any program with --agent-command, or describe it under "
        f"[agents.{config.agent}] in .ralph/config.toml"
    )


def _require_no_tools(config: Config) -> None:
    """A list of tools that nobody obeys must not look as if somebody did."""
    if config.tools is not None and (config.tools.allow is not None or config.tools.deny):
        raise ConfigError(
            f"tools.allow and tools.deny cannot be given to the agent {config.agent!r}; "
            "give its command the flags that it knows, or choose --agent claude"
        )


def flags_for(agent: Agent, *, session: str | None, model: str | None) -> tuple[str, ...]:
    """What an iteration adds to the agent's own flags: the model, and the session to go on in."""
    named = model or agent.model
    given = () if named is None else agent.model_flags
    filled = tuple(part.replace("{model}", str(named)) for part in given)
    return (*filled, *resume_flags(agent, session), *agent.tail)


def resume_flags(agent: Agent, session: str | None) -> tuple[str, ...]:
    """What lets the agent go on in a session; nothing for an id that could pass for a flag."""
    if session is None or not is_session_id(session):
        return ()
    return tuple(part.replace("{session}", session) for part in agent.resume)


def is_session_id(text: str) -> bool:
    """Whether it can be given to an agent as the id of a session."""
    return _SESSION.fullmatch(text) is not None


def fill_argv(
    agent: Agent, prompt: str, prompt_file: Path, more: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The command line with the prompt in it, where the agent takes it there.

    ``more`` are flags that follow the agent's own.
    ``{prompt}`` and ``{prompt_file}`` are replaced as whole arguments or inside one; without a
    placeholder the prompt, or its file, becomes the last argument. No shell is involved.
    """
    values: Mapping[str, str] = {"{prompt}": prompt, "{prompt_file}": str(prompt_file)}
    if agent.prompt is PromptBy.STDIN:
        return (*agent.argv, *more)
    wanted = "{prompt}" if agent.prompt is PromptBy.ARGUMENT else "{prompt_file}"
    if any(wanted in part for part in agent.argv):
        return (*(part.replace(wanted, values[wanted]) for part in agent.argv), *more)
    return (*agent.argv, *more, values[wanted])
