"""Selection of the agent: which one a run uses, and its command line.

Where no setting names one, it is the agent of the profile, otherwise the only known agent on PATH;
several are an error. Programs are only looked up, never started. See docs/rules.md#agents.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.engine.agent.description import (
    PROMPT,
    PROMPT_FILE,
    Agent,
    describe_acp_agent,
    describe_command_agent,
    describe_demo_agent,
    is_root,
    permission_rules,
    prompt_by,
)
from ralph_ls.engine.agent.environment import base_agent_environment, in_sandbox
from ralph_ls.protocol.config.agent import AgentConfig, PromptBy, ToolsConfig
from ralph_ls.protocol.config.agent_catalog import (
    ACP_VARIANTS,
    CATALOG,
    Adapter,
    AgentDescription,
    Dialect,
)
from ralph_ls.protocol.config.config import CONFIG_FILE, Config
from ralph_ls.protocol.errors import AgentUnavailable, ConfigError, UsageError
from ralph_ls.protocol.run.values import Origin
from ralph_ls.store.external.programs import find_trusted_program
from ralph_ls.store.project.config_file import LoadedSettings, PreviousChoice


def with_agent(
    settings: LoadedSettings,
    environment: Mapping[str, str],
    root: Path,
    *,
    earlier: PreviousChoice | None = None,
) -> LoadedSettings:
    """The settings with the selected agent; unchanged where a setting names one.

    ``earlier`` is the choice of a run that is resumed, which keeps its agent. Where no agent is
    found, the profile's stays, and the start reports that it is missing. Raises ``UsageError``
    with the list where there are several.
    """
    config = settings.config
    if settings.agent_by is not None:
        return settings
    if earlier is not None and earlier.agent in {*CATALOG, *ACP_VARIANTS, *config.agents}:
        return _choosing(settings, earlier.agent, Origin.RUN)
    # What is in a sandbox cannot be looked for from outside.
    if config.sandbox.is_elsewhere or _is_here(config.agent, config, environment, root):
        return _choosing(settings, config.agent, Origin.PROFILE)
    found = [name for name in CATALOG if _is_here(name, config, environment, root)]
    if not found:
        found = [name for name in ACP_VARIANTS if _is_here(name, config, environment, root)]
    if len(found) > 1:
        raise UsageError(
            f"which agent should run? {config.agent!r}, the default of the profile "
            f"{config.profile.value}, is not on PATH, but several others are: {', '.join(found)}; "
            f'choose one: --agent {found[0]}, or agent = "{found[0]}" in {CONFIG_FILE}'
        )
    if not found:
        return _choosing(settings, config.agent, Origin.PROFILE)
    return _choosing(settings, found[0], Origin.FOUND)


def _choosing(settings: LoadedSettings, name: str, by: Origin) -> LoadedSettings:
    config = settings.config.model_copy(update={"agent": name})
    return replace(settings, config=config, agent_by=by)


def _is_here(name: str, config: Config, environment: Mapping[str, str], root: Path) -> bool:
    """Whether the program of an agent is on the PATH that the agent would get."""
    table = config.agents.get(name)
    around = base_agent_environment(
        environment,
        extra={} if table is None else table.env,
        only=config.env.only,
    )
    known = CATALOG.get(name)
    usual = _acp_program(name) if known is None else known.program
    program = table.argv[0] if table is not None and table.argv else usual
    if Path(program).name != program:
        return (root / program).exists()
    return find_trusted_program(program, root, around.get("PATH", "")) is not None


def _acp_program(name: str) -> str:
    variant = ACP_VARIANTS.get(name)
    return "" if variant is None else variant.argv[0]


BUILT_IN = (*CATALOG, "demo")

_LONGEST_ARGUMENT = {"linux": 128 * 1024 - 1, "win32": 32_000}
"""Bytes that one argument may have, where a system has such a limit."""

_SESSION = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")


def choose_agent(config: Config) -> Agent:
    """The agent that ``config`` names; raises ``ConfigError`` naming what can be chosen."""
    agent = _describe(config)
    if config.session.resume and not (agent.resume and agent.dialect is not Dialect.TEXT):
        able = ", ".join(name for name, one in CATALOG.items() if one.resume)
        raise ConfigError(
            f"session.resume is set, but the agent {config.agent!r} cannot continue sessions; "
            f"choose one that can, such as --agent {able}, or remove the setting"
        )
    return in_sandbox(agent, config)


def adapter_of(name: str, config: Config) -> Adapter | None:
    """The adapter of the agent of that name; None: there is no such agent, or it is ``demo``.

    A table names its adapter or has the name of a known agent; any other describes a command.
    """
    table = config.agents.get(name)
    if table is not None and table.adapter is not None:
        return table.adapter
    if name in CATALOG:
        return Adapter(name)
    if name in ACP_VARIANTS:
        return Adapter.ACP
    return Adapter.COMMAND if table is not None or name == Adapter.COMMAND else None


def _describe(config: Config) -> Agent:
    name = config.agent
    adapter = adapter_of(name, config)
    table = config.agents.get(name, AgentConfig())
    if adapter is not None and adapter in CATALOG:
        return compose(name, CATALOG[adapter], table, config.tools or ToolsConfig())
    if adapter is Adapter.ACP:
        return describe_acp_agent(name, table, config.tools)
    _require_no_tools(config)
    if adapter is Adapter.COMMAND:
        return describe_command_agent(name, table)
    if name == "demo":
        return describe_demo_agent()
    known = list(dict.fromkeys([*BUILT_IN, *ACP_VARIANTS, *sorted(config.agents)]))
    raise ConfigError(
        f"there is no agent {name!r}{did_you_mean(name, known)}\n"
        f"Agents: {', '.join(known)}\n"
        "For any other program, give --agent-command, or describe it under "
        f"[agents.{name}] in .ralph/config.toml"
    )


def compose(name: str, known: AgentDescription, table: AgentConfig, tools: ToolsConfig) -> Agent:
    """The agent of a description with the settings of its table and of ``[tools]``.

    A custom command, ``argv``, replaces the program and its usual flags; flags that come from
    settings are added to it. Raises ``ConfigError`` for a list of tools that the agent does not
    offer.
    """
    flags, around = _tools(name, known, tools)
    is_free = tools.allow is None or known.tools.keeps_freely
    usual = (known.program, *known.call, *(known.freely if is_free else ()), *known.stream)
    system = table.system_prompt or ""
    way = prompt_by(table.prompt, (*table.argv, *table.args))
    return Agent(
        name=name,
        argv=(*(table.argv or usual), *table.args, *flags, *_system(known, system)),
        prompt=way,
        env={**(known.env_as_root if is_root() else {}), **around, **table.env},
        dialect=table.dialect or known.dialect,
        resume=known.resume,
        model=table.model,
        model_flags=known.model,
        login=known.login,
        preface="" if known.system else system,
        tail=known.tail if way is PromptBy.STDIN else (),
    )


def _tools(
    name: str, known: AgentDescription, tools: ToolsConfig
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Flags and variables for both lists."""
    if tools.allow is None and not tools.deny:
        return (), {}
    offers = known.tools
    if offers.variable:
        return (), {offers.variable: permission_rules(tools)}
    flags: tuple[str, ...] = ()
    for key, words, given in (
        ("allow", tools.allow, offers.allow),
        ("deny", tools.deny, offers.deny),
    ):
        if words is None or (key == "deny" and not words):
            continue
        if given is None:
            raise _no_list(key, name, offers.instead)
        if offers.only_names:
            _require_names(key, name, words)
        flags += _filled(given, words)
    return flags, {}


def _filled(given: tuple[str, ...], words: tuple[str, ...]) -> tuple[str, ...]:
    flags: list[str] = []
    for part in given:
        if part == "{tools}":
            flags += words
        elif "{tool}" in part:
            flags += [part.replace("{tool}", word) for word in words]
        else:
            flags.append(part)
    return tuple(flags)


def _no_list(key: str, name: str, instead: str) -> ConfigError:
    return ConfigError(
        f"the agent {name!r} does not support tools.{key}; "
        f"{instead or 'give its command the flags that it knows, or choose --agent claude'}"
    )


def _require_names(key: str, name: str, words: tuple[str, ...]) -> None:
    """Refuse patterns: the agent would read one as the whole tool, and allow more."""
    pattern = next((word for word in words if "(" in word), None)
    if pattern is not None:
        raise ConfigError(
            f"tools.{key} contains {pattern!r}, but the agent {name!r} only supports tool names; "
            f"write {pattern.partition('(')[0]!r}, or leave it out"
        )
    if key == "allow" and not words:
        raise ConfigError(
            f"tools.allow is empty, which the agent {name!r} reads as no list at all; name the "
            "tools that it may use"
        )


def _system(known: AgentDescription, system: str) -> tuple[str, ...]:
    if not system:
        return ()
    # What JSON writes is a string of TOML too.
    quoted = json.dumps(system, ensure_ascii=False).replace("\x7f", "\\u007f")
    return tuple(
        part.replace("{system}", system) if "{system}" in part else part.replace("{quoted}", quoted)
        for part in known.system
    )


def _require_no_tools(config: Config) -> None:
    """Refuse a list of tools that would have no effect."""
    if config.tools is not None and (config.tools.allow is not None or config.tools.deny):
        raise ConfigError(
            f"the agent {config.agent!r} does not support tools.allow and tools.deny; give its "
            "command the flags that it knows, or choose --agent claude"
        )


def flags_for(agent: Agent, *, session: str | None, model: str | None) -> tuple[str, ...]:
    """Flags that an iteration adds: the model, and the session to resume."""
    named = model or agent.model
    given = () if named is None else agent.model_flags
    filled = tuple(part.replace("{model}", str(named)) for part in given)
    return (*filled, *resume_flags(agent, session), *agent.tail)


def resume_flags(agent: Agent, session: str | None) -> tuple[str, ...]:
    """Flags that resume a session; none for an id that could be read as a flag."""
    if session is None or not is_session_id(session):
        return ()
    return tuple(part.replace("{session}", session) for part in agent.resume)


def is_session_id(text: str) -> bool:
    """Whether the text can be passed to an agent as a session id."""
    return _SESSION.fullmatch(text) is not None


def prompt_for(agent: Agent, prompt: str) -> str:
    """The prompt with the agent's preface in front."""
    return f"{agent.preface.rstrip()}\n\n{prompt}" if agent.preface.strip() else prompt


def fill_argv(
    agent: Agent, prompt: str, prompt_file: Path, more: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """The command line with the prompt in it, where the agent takes it there.

    ``more`` are flags that follow the agent's own.
    ``{prompt}`` and ``{prompt_file}`` are replaced as whole arguments or inside one; without a
    placeholder the prompt, or its file, becomes the last argument. No shell is involved, and
    nothing is replaced in the prompt itself.
    Raises ``AgentUnavailable`` for a prompt that is longer than an argument may be.
    """
    if agent.prompt is PromptBy.STDIN:
        return (*agent.argv, *more)
    values: Mapping[str, str] = {PROMPT: prompt, PROMPT_FILE: str(prompt_file)}
    filled = tuple(
        _PLACEHOLDER.sub(lambda found: values[found.group()], part) for part in agent.argv
    )
    wanted = PROMPT if agent.prompt is PromptBy.ARGUMENT else PROMPT_FILE
    last = () if filled != agent.argv else (values[wanted],)
    whole = (*filled, *more, *last)
    _require_short(agent, whole)
    return whole


_PLACEHOLDER = re.compile(rf"{re.escape(PROMPT_FILE)}|{re.escape(PROMPT)}")


def _require_short(agent: Agent, argv: tuple[str, ...]) -> None:
    """Refuse an argument that is too long for the system, with a remedy."""
    limit = _LONGEST_ARGUMENT.get(sys.platform)
    longest = max(len(part.encode(errors="surrogateescape")) for part in argv)
    if limit is not None and longest > limit:
        raise AgentUnavailable(
            f"the prompt is an argument of {longest} bytes, but a program takes at most {limit}; "
            f"{_other_ways(agent)}"
        )


def _other_ways(agent: Agent) -> str:
    setting = f'prompt = "stdin" or "file" under [agents.{agent.name}]'
    is_command = agent.name == Adapter.COMMAND
    return (
        f"give --agent-prompt stdin or file, or set {setting}" if is_command else f"set {setting}"
    )
