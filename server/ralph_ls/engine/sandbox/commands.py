"""The sandbox around an agent: its command line, and the end of what runs in there (SPEC §10).

R's form is ``docker sandbox run NAME -- -p "$PROMPT"``: that program knows itself how its agent is
called, so the agent's own program is left out. Any other prefix stands in front of the whole
command line. Nothing of ours is in there: neither hooks, nor state, nor the agent's environment.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ralph_ls.engine.agent_description import Agent
from ralph_ls.engine.environment import base_agent_environment, find_program
from ralph_ls.protocol.config.agent import Dialect, PromptBy, SandboxConfig, SandboxKind
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError, RalphError
from ralph_ls.store.external.supervisor import run

STOP_SECONDS = 10.0
"""How long the command that ends what runs in a sandbox may take."""

RUN: Mapping[SandboxKind, tuple[str, ...]] = {
    SandboxKind.DOCKER: ("docker", "sandbox", "run"),
    SandboxKind.SBX: ("sbx", "run"),
}
STOP: Mapping[SandboxKind, tuple[str, ...]] = {
    SandboxKind.DOCKER: ("docker", "sandbox", "stop"),
    SandboxKind.SBX: ("sbx", "stop"),
}

KNOWN = frozenset({"claude", "codex", "copilot", "gemini", "opencode"})
"""The agents that those programs know, by their own programs' names."""


def in_sandbox(agent: Agent, config: Config) -> Agent:
    """The agent as it is started in the sandbox of the settings; itself where there is none.

    Raises ``ConfigError`` for an agent that the sandbox's program does not know.
    """
    sandbox = config.sandbox
    if not sandbox.is_elsewhere:
        return agent
    # Of an agent of the Agent Client Protocol our own client stays outside.
    is_behind = agent.dialect is Dialect.ACP and agent.tail[:1] == ("--",)
    inner = agent.tail[1:] if is_behind else agent.argv
    kind = sandbox.program
    if kind is not None and Path(inner[0]).name not in KNOWN:
        raise ConfigError(
            f"sandbox: {' '.join(RUN[kind])} knows no agent {Path(inner[0]).name!r}; write the "
            "whole command with prefix under [sandbox], or choose another agent"
        )
    if agent.prompt is PromptBy.FILE:
        raise ConfigError(
            f"agents.{config.agent}.prompt is file, and a file of the run is not in the sandbox; "
            "set it to stdin or argument"
        )
    if is_behind:
        inside = _around(sandbox, inner)
        return replace(agent, tail=("--", *inside), program=inside[0])
    agent = _with_prompt(agent, sandbox)
    return replace(agent, argv=_around(sandbox, agent.argv), program="")


def stop_command(sandbox: SandboxConfig) -> tuple[str, ...]:
    """What ends the agent in the sandbox; empty where nothing does."""
    if sandbox.stop is not None:
        return sandbox.stop
    kind = sandbox.program
    return () if kind is None or sandbox.name is None else (*STOP[kind], sandbox.name)


def end_in_sandbox(config: Config, root: Path, environment: Mapping[str, str]) -> str | None:
    """End what still runs in there, whatever became of the process that led into it.

    What went wrong, in words; None where nothing did. It blocks, but for no longer than
    ``STOP_SECONDS``.
    """
    argv = stop_command(config.sandbox)
    if not argv:
        return None
    around = base_agent_environment(
        environment,
        only=config.env.only,
    )
    what = f"what runs in the sandbox was to be ended with: {' '.join(argv)}; that"
    try:
        program = find_program(argv[0], around, root)
        done = run((str(program), *argv[1:]), cwd=root, environment=around, seconds=STOP_SECONDS)
    except (RalphError, OSError) as error:
        words = error.message if isinstance(error, RalphError) else str(error)
        return f"{what} could not be started: {words.splitlines()[0]}; end it by hand"
    except subprocess.TimeoutExpired:
        return f"{what} took longer than {STOP_SECONDS:g} s; look whether it still runs there"
    code = done.code
    return f"{what} ended with {code}; look whether it still runs there" if code else None


def _with_prompt(agent: Agent, sandbox: SandboxConfig) -> Agent:
    """How the prompt gets in: R gives it as an argument behind ``-p``."""
    is_claude = sandbox.program is not None and agent.dialect is Dialect.CLAUDE
    wanted = sandbox.prompt or (PromptBy.ARGUMENT if is_claude else agent.prompt)
    if wanted is agent.prompt:
        return agent
    if wanted is PromptBy.STDIN:
        return replace(agent, prompt=wanted)
    argv = agent.argv
    if agent.dialect is Dialect.CLAUDE and "-p" in argv:
        # Behind a flag that takes a list, it would be taken for one more tool.
        at = argv.index("-p") + 1
        argv = (*argv[:at], "{prompt}", *argv[at:])
    tail = () if agent.tail == ("-",) else agent.tail
    return replace(agent, prompt=wanted, argv=argv, tail=tail)


def _around(sandbox: SandboxConfig, argv: tuple[str, ...]) -> tuple[str, ...]:
    kind = sandbox.program
    if kind is None:
        return (*sandbox.prefix, *argv)
    return (*RUN[kind], sandbox.name or Path(argv[0]).name, "--", *argv[1:])
