"""What the engine needs to know of an agent, whichever it is.

A ``AgentDescription`` is what is known of a program before anybody has set anything; an ``Agent``
is what comes of it and of the settings. This module must never know any agent by name.

The file in which some agents tell what they used: asked for at the start, read at the end.

It lies beside the iteration's output, and is looked at by a later engine as by the one which
started the agent. This module must never know what is decided by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_ls.core.agent.decode.dialects import (
    MAX_USAGE_FILE_BYTES,
    USAGE_FILE_PLACEHOLDER,
    apply_usage_file,
)
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.config.agent import Dialect, JsonLinesConfig, PromptBy, ToolsConfig
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.report import Usage
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_atomic


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent, ready to be started in a work tree."""

    name: str
    argv: tuple[str, ...]
    program: str = ""
    """What has to be installed, where that is not the first of ``argv``."""
    prompt: PromptBy = PromptBy.STDIN
    env: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = Dialect.TEXT
    """How it writes what it prints."""
    reports_cost: bool = False
    """Whether it reports its cost although not every agent of its dialect does."""
    resume: tuple[str, ...] = ()
    """Flags that let it go on in a session, ``{session}`` for its id; empty: it cannot."""
    model: str | None = None
    """The model it is given where an iteration wants no other; None: its own choice."""
    model_flags: tuple[str, ...] = ()
    """Flags that give it a model, ``{model}`` for its name; empty: it takes none."""
    login: str = ""
    """How one logs in with it, behind "log in with: "; empty where nothing is known of it."""
    preface: str = ""
    """What is said to it in front of each prompt; empty: nothing."""
    tail: tuple[str, ...] = ()
    """What stands behind all flags, before a prompt that is an argument."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFlags:
    """How an agent is told what it may use; what it does not offer is None, and is refused.

    An argument ``{tools}`` becomes all of them, one argument each; with ``{tool}`` in it, flags
    are repeated for each.
    """

    allow: tuple[str, ...] | None = None
    """These and no others."""
    deny: tuple[str, ...] | None = None
    """Never these."""
    env: Callable[[ToolsConfig], Mapping[str, str]] | None = None
    """For an agent that reads both lists from its environment."""
    keeps_freely: bool = False
    """Whether with an allow list it still has to be told not to ask: the list hides all others."""
    only_names: bool = False
    """Whether a list holds names alone, and a pattern such as ``Bash(git *)`` means nothing."""
    instead: str = ""
    """What a person can do for a list that it does not offer, behind "; "."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """What is known of an agent's program, as data."""

    name: str
    program: str
    call: tuple[str, ...]
    """Arguments that make it work headless, without those that follow."""
    freely: tuple[str, ...]
    """Flags that let it work without asking anybody."""
    stream: tuple[str, ...]
    """Flags that make it print its records."""
    dialect: Dialect
    model: tuple[str, ...]
    """Flags that give it a model, ``{model}`` for its name."""
    resume: tuple[str, ...] = ()
    """What lets it go on in a session, ``{session}`` for its id; never "the latest".

    See docs/rules.md#sessions.
    """
    tail: tuple[str, ...] = ()
    """What stands behind all flags so that it reads its prompt from standard input."""
    system: tuple[str, ...] = ()
    """Flags for a system prompt of one's own that adds to the agent's: ``{system}``, or
    ``{quoted}`` for a string of TOML; empty: it goes in front of the prompt."""
    tools: ToolFlags = ToolFlags()
    as_root: Mapping[str, str] = field(default_factory=dict)
    """Variables that it gets if, and only if, the user is root."""
    hides_own_git: bool = False
    """Whether it keeps a person's own git settings from the commands that it runs."""
    install: str
    """The command that installs it."""
    login: str
    """How one logs in with it, behind "log in with: "."""
    keys: tuple[str, ...] = ()
    """Variables that hold a key or a token for it."""
    accounts: tuple[str, ...] = ()
    """Files under the home folder that are there once somebody has logged in."""
    homes: Mapping[str, str] = field(default_factory=dict)
    """Variables that move such a folder: the variable, and the folder as ``accounts`` has it."""


def asking_for_usage(agent: Agent, path: Path) -> Agent:
    """The agent with the path in its command line, where that has a place for it.

    The file is made empty, so that nobody else may read what the agent puts there.
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
    """What a process came to, with what its file says; ``earlier`` its session had used before.

    A file that is missing, or is none, says nothing: its agent may have been killed before.
    """
    try:
        data = read_regular(path, MAX_USAGE_FILE_BYTES)
    except StateUnusable:
        return final
    if not data:
        return final
    return apply_usage_file(final, data, dialect, mapping=mapping, earlier=earlier)


def mapping_of(config: Config, agent: str) -> JsonLinesConfig | None:
    """What the records of an agent mean, by its name in the settings."""
    table = config.agents.get(agent)
    return None if table is None else table.output
