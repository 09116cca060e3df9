"""Agent: one agent that is ready to be started, and how each kind of agent becomes one.

An entry of the catalog is composed with the settings in ``selection``; here are agents of the Agent
Client Protocol, arbitrary commands and the built-in demo, and the file in which some agents write
their usage. See docs/rules.md#agents.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_ls.core.agent.decode.dialects import (
    DIALECTS_WITH_USAGE_FILE,
    MAX_USAGE_FILE_BYTES,
    USAGE_FILE_PLACEHOLDER,
    apply_usage_file,
)
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.config.agent import AgentConfig, JsonLinesConfig, PromptBy, ToolsConfig
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, CATALOG, AgentDescription, Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import ConfigError, StateUnusable
from ralph_ls.protocol.run.report import Usage
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_atomic
from ralph_ls.store.own_python import own_command

CLIENT = "ralph_ls.engine.agent.acp"
"""The module of our client of the Agent Client Protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent, ready to be started in a work tree."""

    name: str
    argv: tuple[str, ...]
    program: str = ""
    """The program to install, where that is not the first of ``argv``."""
    prompt: PromptBy = PromptBy.STDIN
    env: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = Dialect.TEXT
    """The format of its output."""
    reports_cost: bool = False
    """Whether it reports its cost although not every agent of its dialect does."""
    resume: tuple[str, ...] = ()
    """Flags that resume a session, ``{session}`` for its id; empty: it cannot."""
    model: str | None = None
    """The model it is given where an iteration wants no other; None: its own choice."""
    model_flags: tuple[str, ...] = ()
    """Flags that give it a model, ``{model}`` for its name; empty: it takes none."""
    login: str = ""
    """How to log in with it, behind "log in with: "; empty where that is unknown."""
    preface: str = ""
    """Text in front of each prompt; empty: nothing."""
    tail: tuple[str, ...] = ()
    """Arguments behind all flags, before a prompt that is an argument."""


def describe_acp_agent(name: str, config: AgentConfig, tools: ToolsConfig | None = None) -> Agent:
    """The agent with the settings of ``[agents.NAME]`` and ``[tools]``.

    Raises ``ConfigError`` where there is no command, or where the prompt is not on stdin.
    """
    known = ACP_VARIANTS.get(name)
    argv = config.argv or (() if known is None else known.argv)
    if not argv:
        raise ConfigError(
            f"the agent {name!r} has no command; set argv under [agents.{name}] in "
            ".ralph/config.toml to a command that speaks the Agent Client Protocol, such as "
            '["gemini", "--acp"]'
        )
    if prompt_by(config.prompt, (*argv, *config.args)) is not PromptBy.STDIN:
        where = f"prompt is {config.prompt.value!r}"
        if config.prompt is PromptBy.STDIN:
            where = f"command contains {PROMPT} or {PROMPT_FILE}"
        raise ConfigError(
            f"agents.{name}: its {where}, but the Agent Client Protocol delivers the prompt; "
            "remove that"
        )
    described = acp_agent_of(argv[0])
    variant = None if described is None else described.acp
    return Agent(
        name=name,
        argv=(*own_command("-m", CLIENT), *_settings(config), *_rules(tools)),
        program=argv[0],
        env={**_acp_variables(described, tools), **config.env},
        dialect=config.dialect or Dialect.ACP,
        reports_cost=variant is not None and variant.reports_cost,
        resume=("--session", "{session}"),
        login="" if variant is None else variant.login,
        preface=config.system_prompt or "",
        model=config.model,
        model_flags=("--model={model}",),
        tail=("--", *argv, *config.args),
    )


def acp_agent_of(program: str) -> AgentDescription | None:
    """The agent whose variant is started by this program."""
    agents = (one for one in CATALOG.values() if one.acp is not None)
    return next((one for one in agents if one.acp is not None and one.acp.argv[0] == program), None)


def _acp_variables(
    described: AgentDescription | None, tools: ToolsConfig | None
) -> Mapping[str, str]:
    if described is None or described.acp is None:
        return {}
    return {
        **described.acp.env,
        **(described.env_as_root if is_root() else {}),
        **({} if tools is None else described.acp.env_with_tools),
    }


def _settings(config: AgentConfig) -> tuple[str, ...]:
    mode, login = config.session_mode, config.login_method
    return (
        *(() if mode is None else (f"--mode={mode}",)),
        *(() if login is None else (f"--login={login}",)),
    )


def _rules(tools: ToolsConfig | None) -> tuple[str, ...]:
    """Flags of the client for the answers to requests for permission."""
    if tools is None:
        return ()
    only = () if tools.allow is None else ("--only", *(f"--allow={one}" for one in tools.allow))
    return (*only, *(f"--deny={one}" for one in tools.deny or ()))


PROMPT, PROMPT_FILE = "{prompt}", "{prompt_file}"
"""Placeholders in a command line for the prompt, and for the path of a file that contains it."""


def prompt_by(wanted: PromptBy, argv: tuple[str, ...]) -> PromptBy:
    """How a command line takes its prompt: by its placeholder, else as the settings say."""
    if any(PROMPT_FILE in part for part in argv):
        return PromptBy.FILE
    return PromptBy.ARGUMENT if any(PROMPT in part for part in argv) else wanted


def describe_command_agent(name: str, config: AgentConfig) -> Agent:
    """An agent from its table; raises ``ConfigError`` where there is nothing to start."""
    if not config.argv:
        raise ConfigError(
            f"the agent {name!r} has no command; set argv under [agents.{name}] in "
            '.ralph/config.toml, or adapter = "claude" or another that is known, '
            "or give --agent-command"
        )
    if config.model is not None:
        raise ConfigError(
            f"agents.{name}.model is set, but a custom command gets no model; put it into argv "
            f"under [agents.{name}], and remove the setting"
        )
    dialect = config.dialect or Dialect.TEXT
    if dialect not in DIALECTS_WITH_USAGE_FILE and any(
        USAGE_FILE_PLACEHOLDER in part for part in config.argv
    ):
        readable = " or ".join(sorted(f'"{one}"' for one in DIALECTS_WITH_USAGE_FILE))
        raise ConfigError(
            f"the command of the agent {name!r} has {USAGE_FILE_PLACEHOLDER}, but the dialect "
            f"{dialect.value!r} reads no such file; set dialect = {readable} under "
            f"[agents.{name}] in .ralph/config.toml, or remove it"
        )
    whole = (*config.argv, *config.args)
    return Agent(
        name=name,
        argv=whole,
        prompt=prompt_by(config.prompt, whole),
        env=config.env,
        dialect=dialect,
        preface=config.system_prompt or "",
    )


def describe_demo_agent() -> Agent:
    """The demo agent, started as a separate process."""
    return Agent(name="demo", argv=tuple(own_command("-m", "ralph_ls.engine.demo.agent")))


_PATTERN = re.compile(r"(?P<tool>[^()]+)\((?P<pattern>.+)\)")
"""``bash(git *)``: a tool, and what it may be used for."""


def permission_rules(tools: ToolsConfig) -> str:
    """Both lists as a JSON object of rules for an agent that reads them from a variable.

    The last rule that matches wins, so general rules come first, and denials after permissions.
    """
    rules: dict[str, str | dict[str, str]] = {} if tools.allow is None else {"*": "deny"}
    for word in tools.allow or ():
        _add(rules, word, "allow", otherwise="deny")
    for word in tools.deny or ():
        _add(rules, word, "deny", otherwise="allow" if tools.allow is None else "deny")
    return json.dumps(rules, ensure_ascii=False)


def _add(
    rules: dict[str, str | dict[str, str]], word: str, verdict: str, *, otherwise: str
) -> None:
    parts = _PATTERN.fullmatch(word)
    if parts is None:
        # It follows the rules of all others, also where this tool was named before.
        rules.pop(word, None)
        rules[word] = verdict
        return
    tool, pattern = parts["tool"], parts["pattern"]
    before = rules.get(tool, otherwise)
    inner = before if isinstance(before, dict) else {"*": before}
    inner.pop(pattern, None)
    rules[tool] = {**inner, pattern: verdict}


def asking_for_usage(agent: Agent, path: Path) -> Agent:
    """The agent with the path in its command line, where that has a place for it.

    The file is created empty and private, so that no other user can read what the agent writes.
    """
    if not any(USAGE_FILE_PLACEHOLDER in part for part in agent.argv):
        return agent
    write_atomic(path, b"", mode=PRIVATE_FILE)
    argv = tuple(part.replace(USAGE_FILE_PLACEHOLDER, str(path)) for part in agent.argv)
    return replace(agent, argv=argv)


def with_usage_file(
    final: AgentResult,
    path: Path,
    dialect: Dialect,
    mapping: JsonLinesConfig | None,
    earlier: Usage | None,
) -> AgentResult:
    """The result of a process with the counts of its usage file.

    ``earlier`` is the usage of the session before this process. A file that is missing or not
    regular is ignored: the agent may have been killed before it was written.
    """
    try:
        data = read_regular(path, MAX_USAGE_FILE_BYTES)
    except StateUnusable:
        return final
    if not data:
        return final
    return apply_usage_file(final, data, dialect, mapping=mapping, earlier=earlier)


def mapping_of(config: Config, agent: str) -> JsonLinesConfig | None:
    """The mapping of an agent's records, by its name in the settings; None: the defaults."""
    table = config.agents.get(agent)
    return None if table is None else table.output


def is_root() -> bool:
    """Whether this process is root, on systems that have such a user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def install_of(program: str) -> str | None:
    """The command that installs a program of that name; None where none is known."""
    found = (agent.install for agent in CATALOG.values() if agent.program == program)
    return next(found, None)
