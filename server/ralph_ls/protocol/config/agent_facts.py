"""Types of the facts that the catalog of agents states of each program.

Values alone; none of these types names an agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Metering(Enum):
    """When an agent reports what it used."""

    NEVER = "never"
    AT_END = "at-end"
    """Once, when it ends: the usage of one iteration is known only after it."""
    EACH_TURN = "each-turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectMetering:
    """Usage that agents of one dialect report."""

    tokens: Metering
    cost: Metering
    names_model: bool = False
    """It reports which model it used, so a model of its own choice can be priced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFlags:
    """How an agent is started as a judge: it can read the work tree, and write nothing."""

    flags: tuple[str, ...] = ()
    """In place of those that let it work without asking."""
    env: Mapping[str, str] = field(default_factory=dict)
    readers: frozenset[str] = frozenset()
    """Its tools that only read, in lower case. Where it has used no other one, files that changed
    meanwhile were changed by somebody else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFlags:
    """How an agent is given the lists of ``[tools]``; a list that it does not offer is refused.

    An argument ``{tools}`` becomes all of them, one argument each; with ``{tool}`` in it, flags
    are repeated for each.
    """

    allow: tuple[str, ...] | None = None
    """These and no others."""
    deny: tuple[str, ...] | None = None
    """Never these."""
    variable: str = ""
    """Variable from which it reads both lists, as a JSON object of rules; the last match wins."""
    keeps_freely: bool = False
    """With an allow list it still needs the flags ``freely``: the list hides all other tools."""
    only_names: bool = False
    """A list holds names alone; a pattern such as ``Bash(git *)`` is refused."""
    instead: str = ""
    """Alternative to a list that it does not offer, behind "; " in the error message."""


HOOK_TIMEOUT = 60
"""Seconds that a stop hook may take; it reads the plan and asks git what is not committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookPlace:
    """Where a program reads its hooks, relative to the work tree."""

    path: str
    event: str
    """The program's name for the moment when its agent is about to stop."""
    timeout: int = HOOK_TIMEOUT
    """In the program's own unit."""
    comments: bool = False
    """Whether its file may have comments."""
    note: str = ""
    """What the user should also know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentHome:
    """How a box treats one folder in which an agent's program keeps its files.

    Whatever is in none of the lists is readable and not writable. Settings, hooks and plugins are
    in none: what a box writes must not run outside of it. See docs/rules.md#sandbox.
    """

    folder: str
    """Relative to the home folder."""
    why: str
    moved_by: str = ""
    """Variable that names another folder."""
    sessions: tuple[str, ...] = ()
    """Folders that are shared and writable: sessions are resumed from them, nothing runs them."""
    tokens: tuple[str, ...] = ()
    """Files of a login: the box has a copy, and a renewed token is copied back."""
    copies: tuple[str, ...] = ()
    """Files that the program rewrites although they hold settings: a copy, never copied back."""
    own: tuple[str, ...] = ()
    """What each box has for itself, whatever the folder holds under that name; ``*`` for a glob."""


class McpWay(Enum):
    """How an agent's program takes a server of MCP for one call."""

    FLAG = "flag"
    """A flag with the server as JSON."""
    OVERRIDES = "overrides"
    """Flags that each set one value of its settings, in TOML."""
    VARIABLE = "variable"
    """A variable with settings as JSON, which it merges with its own."""
    FILE = "file"
    """A variable that names a file, in place of the user's."""
    HOME = "home"
    """A variable that names a home folder, in place of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McpPlace:
    """How an agent is offered a server of MCP for one call, beside the user's own servers.

    The user's files are never written. See docs/rules.md#tools.
    """

    way: McpWay
    tool: str
    """What the agent calls a tool: ``{tool}`` for its own name."""
    flag: str = ""
    """With ``{json}`` for the server; for ``OVERRIDES`` the flag before each value."""
    variable: str = ""
    key: str = "mcpServers"
    """The key of the servers in its settings."""
    entry: Mapping[str, object] = field(default_factory=dict)
    """More keys of the server's entry."""
    timeout: str = ""
    """Key of the entry that sets the timeout of a call; empty where the agent has no such key."""
    timeout_unit: float = 1000.0
    """Such units in a second."""
    file: str = ""
    """The user's settings that are merged, relative to the home folder, or to the folder that a
    variable of ``AgentDescription.homes`` names."""
    allow: tuple[str, ...] = ()
    """Flags that permit the server where a list says which tools may be used."""
    allow_rule: str = ""
    """The same as a rule of ``ToolFlags.variable``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpVariant:
    """How an agent is started as an agent of the Agent Client Protocol, as ``NAME-acp``."""

    argv: tuple[str, ...]
    login: str
    """How to log in with the account that the program uses, behind "log in with: "."""
    reports_cost: bool = False
    """It reports the cost of a session, which the protocol makes optional."""
    is_tried: bool = True
    """It was run with a real account; the others are listed last."""
    takes_servers: bool = True
    """It takes servers of MCP with a session; else they are offered by ``AgentDescription.mcp``."""
    hides_servers: bool = False
    """It hides the tools of such a server behind a search, unless it gets it as an option of its
    own (``_meta``)."""
    names_calls: bool = True
    """A request for permission says which tool of a server it is about."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_with_tools: Mapping[str, str] = field(default_factory=dict)
    """Variables that it gets where ``[tools]`` is set, so that it asks our client."""
