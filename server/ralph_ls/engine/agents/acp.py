"""Any agent that speaks the Agent Client Protocol, through our own client of it (SPEC §10).

What is started is the client, which starts the agent; the agent's command line is the last of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph_ls.engine.agent_description import Agent
from ralph_ls.protocol.config.agent import AgentConfig, Dialect, PromptBy, ToolsConfig
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.own_python import own_command

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "claude-acp": ("claude-agent-acp",),
    "codex-acp": ("codex-acp",),
    "gemini-acp": ("gemini", "--acp"),
    "opencode-acp": ("opencode", "acp"),
    "qwen-acp": ("qwen", "--acp"),
    "copilot-acp": ("copilot", "--acp"),
    "cline-acp": ("cline", "--acp"),
}
"""What those are called with that are known by name."""

REPORT_COST = frozenset({"claude-agent-acp", "opencode"})
"""Programs that report what a session costs; the protocol lets an agent leave that out."""

CLIENT = "ralph_ls.engine.acp"
"""The module of our client of the protocol."""


def describe(name: str, config: AgentConfig, tools: ToolsConfig | None = None) -> Agent:
    """The agent with the settings of ``[agents.NAME]`` and ``[tools]``.

    Raises ``ConfigError`` where there is nothing to start, or where the prompt is to go elsewhere.
    """
    argv = config.argv or COMMANDS.get(name, ())
    if not argv:
        raise ConfigError(
            f"the agent {name!r} has no command; set argv under [agents.{name}] in "
            ".ralph/config.toml to what starts it as an agent of the Agent Client Protocol, "
            'such as ["gemini", "--acp"]'
        )
    if config.prompt is not PromptBy.STDIN:
        raise ConfigError(
            f"agents.{name}.prompt is {config.prompt.value!r}, but an agent of the Agent Client "
            "Protocol is given its prompt by the protocol; remove the setting"
        )
    return Agent(
        name=name,
        argv=(*own_command("-m", CLIENT), *_settings(config), *_rules(tools)),
        program=argv[0],
        env={**_around(argv[0], tools), **config.env},
        dialect=config.dialect or Dialect.ACP,
        reports_cost=argv[0] in REPORT_COST,
        resume=("--session", "{session}"),
        login=_LOGINS.get(argv[0], ""),
        preface=config.system_prompt or "",
        model=config.model,
        model_flags=("--model={model}",),
        tail=("--", *argv, *config.args),
    )


_LOGINS = {
    "claude-agent-acp": "claude, and /login in it",
    "codex-acp": "codex login",
    "gemini": "gemini, and /auth in it",
    "opencode": "opencode auth login",
    "qwen": "qwen, and /auth in it",
    "copilot": "copilot login",
    "cline": "cline auth",
}
"""How one logs in with the account that the agent of a program uses."""


def _settings(config: AgentConfig) -> tuple[str, ...]:
    mode, login = config.session_mode, config.login_method
    return (
        *(() if mode is None else (f"--mode={mode}",)),
        *(() if login is None else (f"--login={login}",)),
    )


def _rules(tools: ToolsConfig | None) -> tuple[str, ...]:
    """What the client answers when it is asked for permission."""
    if tools is None:
        return ()
    only = () if tools.allow is None else ("--only", *(f"--allow={one}" for one in tools.allow))
    return (*only, *(f"--deny={one}" for one in tools.deny or ()))


def _around(program: str, tools: ToolsConfig | None) -> Mapping[str, str]:
    """What some have to be told by variables.

    That of ``claude`` asks its model what a person might say next, after each turn, and nobody
    reads that. As root it does not work without asking, unless it is told of a sandbox.
    That of ``opencode`` has no mode that asks: with rules, it is told to ask for all that it does.
    """
    if program == COMMANDS["opencode-acp"][0] and tools is not None:
        return {"OPENCODE_PERMISSION": '{"*": "ask"}'}
    if program != COMMANDS["claude-acp"][0]:
        return {}
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    quiet = {"CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false"}
    return {**quiet, "IS_SANDBOX": "1"} if is_root else quiet
