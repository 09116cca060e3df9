"""Offer of tools: how an agent's program is given ``ralph mcp`` for one call.

Flags, variables and files of the run, as the catalog has them for each agent. They are merged with
the user's own servers, and the user's files are read and never written. The token is in the
environment, not among the arguments. See docs/rules.md#tools.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralph_ls.engine.agent.description import Agent, acp_agent_of
from ralph_ls.engine.agent.selection import adapter_of, choose_agent
from ralph_ls.protocol.config.agent_catalog import CATALOG, AgentDescription, Dialect
from ralph_ls.protocol.config.agent_facts import McpPlace, McpWay
from ralph_ls.protocol.config.config import Config, ToolOffer
from ralph_ls.protocol.errors import ConfigError, StateUnusable
from ralph_ls.protocol.run.agent_tools import SERVER, SOCKET, TICKET
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_regular, write_atomic
from ralph_ls.store.own_python import own_command

ACP_FLAG = "--tools={json}"
"""The flag of our client of the Agent Client Protocol."""

MORE_SECONDS = 60.0
"""Time that a call may take beyond the wait for an answer."""

LARGEST_SETTINGS = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class McpOffer:
    """How an agent is offered the tools."""

    place: McpPlace | None
    """None: with the session, by our client of the Agent Client Protocol."""
    homes: Mapping[str, str]
    """As ``AgentDescription.homes``."""
    rules: str
    """As ``ToolFlags.variable``."""
    is_guarded: bool
    """A list says which tools the agent may use."""
    seconds: float
    """How long a call may take."""
    is_hidden: bool = False
    """As ``AcpVariant.hides_servers``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedFiles:
    """Files of the run that the agent needs for it, in a box too."""

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()


def is_available(config: Config) -> bool:
    """Whether what runs in an iteration can report by tool at all."""
    has_sockets = sys.platform != "win32"
    return config.mcp is ToolOffer.ON and has_sockets and not config.sandbox.is_elsewhere


def mcp_offer(agent: Agent, config: Config) -> McpOffer | None:
    """How the agent is offered the tools; None where it takes no server for one call."""
    if not is_available(config):
        return None
    if agent.dialect is Dialect.ACP:
        return _acp_offer(agent, config)
    adapter = adapter_of(agent.name, config)
    known = None if adapter is None else CATALOG.get(adapter)
    return None if known is None or known.mcp is None else _offer(known, known.mcp, config)


def _acp_offer(agent: Agent, config: Config) -> McpOffer | None:
    """With the session, or by the agent's own flags where it takes no servers with that."""
    described = acp_agent_of(agent.program)
    variant = None if described is None else described.acp
    if described is None or variant is None:
        return _offer(described, None, config)
    offer = _offer(described, None if variant.takes_servers else described.mcp, config)
    if offer.is_guarded and not variant.names_calls:
        return None
    return replace(offer, is_hidden=variant.hides_servers)


def is_offered(config: Config, name: str | None = None) -> bool:
    """Whether the agent of that name, by default the run's, is offered the tools."""
    named = config if name is None else config.model_copy(update={"agent": name})
    return mcp_offer(choose_agent(named), named) is not None


def how_it_reports(config: Config) -> str:
    """How the run's agent reports, in words that follow "it reports"."""
    if is_offered(config):
        return "by tool"
    if config.mcp is ToolOffer.OFF:
        return 'in words, since mcp is "off"'
    return "in words"


def _offer(known: AgentDescription | None, place: McpPlace | None, config: Config) -> McpOffer:
    return McpOffer(
        place=place,
        homes={} if known is None else known.homes,
        rules="" if known is None else known.tools.variable,
        is_guarded=config.tools is not None and config.tools.allow is not None,
        seconds=config.ask_wait + MORE_SECONDS,
    )


def with_tools(
    agent: Agent, offer: McpOffer, environment: MutableMapping[str, str], folder: Path
) -> tuple[Agent, OfferedFiles]:
    """The agent with the tools; adds variables to ``environment``.

    ``folder`` is that of the run, for files that replace the user's in this call. Raises
    ``ConfigError`` where the user's own settings cannot be read as JSON, so that they are not lost.
    """
    command, *arguments = own_command("-m", "ralph_ls", "mcp")
    place = offer.place
    if place is None:
        server: dict[str, Any] = {"name": SERVER, "command": command, "args": arguments}
        if offer.is_hidden:
            server["alwaysLoad"] = True
        flag = ACP_FLAG.replace("{json}", _json(server))
        return replace(agent, argv=(*agent.argv, flag)), OfferedFiles()
    entry: dict[str, Any] = {"command": command, "args": arguments, **place.entry}
    if place.timeout:
        entry[place.timeout] = round(offer.seconds * place.timeout_unit)
    if offer.is_guarded and place.allow_rule and offer.rules in environment:
        rules = _object(environment[offer.rules], offer.rules)
        environment[offer.rules] = json.dumps({**rules, place.allow_rule: "allow"})
    allow = place.allow if offer.is_guarded else ()
    flags, files = _ways_in(place, offer, entry, environment, folder)
    return _with_flags(agent, (*flags, *allow)), files


def _ways_in(
    place: McpPlace,
    offer: McpOffer,
    entry: dict[str, Any],
    environment: MutableMapping[str, str],
    folder: Path,
) -> tuple[tuple[str, ...], OfferedFiles]:
    """The flags and files by which a program gets the server; adds variables."""
    match place.way:
        case McpWay.FLAG:
            return (place.flag.replace("{json}", _json({place.key: {SERVER: entry}})),), (
                OfferedFiles()
            )
        case McpWay.OVERRIDES:
            # It hides its environment from servers.
            entry["env_vars"] = [SOCKET, TICKET]
            values = (f"{place.key}.{SERVER}.{key}={_json(value)}" for key, value in entry.items())
            return tuple(word for value in values for word in (place.flag, value)), OfferedFiles()
        case McpWay.VARIABLE:
            entry["command"] = [entry["command"], *entry.pop("args")]
            given = _object(environment.get(place.variable, ""), place.variable)
            environment[place.variable] = json.dumps(_merged(given, place.key, entry))
            return (), OfferedFiles()
        case McpWay.FILE:
            usual = _user_file(place, offer.homes, environment)
            named = environment.get(place.variable)
            given = _settings(Path(named) if named else usual)
            path = make_private_folder(folder / "mcp") / usual.name
            _write(path, _merged(given, place.key, entry))
            environment[place.variable] = str(path)
            return (), OfferedFiles(readable=(path,))
        case McpWay.HOME:
            return (), OfferedFiles(writable=(_lay_over(place, entry, environment, folder),))


def _with_flags(agent: Agent, flags: tuple[str, ...]) -> Agent:
    """The flags belong to the agent's own command, which our client of ACP has behind ``--``."""
    if agent.dialect is Dialect.ACP:
        return replace(agent, tail=(*agent.tail, *flags))
    return replace(agent, argv=(*agent.argv, *flags))


def _json(value: object) -> str:
    # A text, a list and a flag are the same in TOML.
    return json.dumps(value, ensure_ascii=False)


def _merged(given: Mapping[str, Any], key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    servers = given.get(key)
    return {**given, key: {**(servers if isinstance(servers, dict) else {}), SERVER: entry}}


def _user_file(place: McpPlace, homes: Mapping[str, str], environment: Mapping[str, str]) -> Path:
    """The user's settings; a variable may have moved the folder."""
    for variable, folder in homes.items():
        if environment.get(variable) and place.file.startswith(f"{folder}/"):
            return Path(environment[variable], place.file.removeprefix(f"{folder}/"))
    return Path(environment.get("HOME") or Path.home(), place.file)


def _lay_over(
    place: McpPlace, entry: Mapping[str, Any], environment: MutableMapping[str, str], folder: Path
) -> Path:
    """A home folder of the run with merged settings, and links to everything else of the user's."""
    home = Path(environment.get(place.variable) or environment.get("HOME") or Path.home())
    usual = home / place.file
    made = folder / "mcp" / "home"
    inside = make_private_folder(made / usual.parent.name)
    _write(inside / usual.name, _merged(_settings(usual), place.key, entry))
    with contextlib.suppress(FileNotFoundError):
        for one in os.scandir(usual.parent):
            link = inside / one.name
            if one.name != usual.name and not os.path.lexists(link):
                link.symlink_to(one.path)
    environment[place.variable] = str(made)
    return made


def _settings(path: Path) -> dict[str, Any]:
    try:
        data = read_regular(path, LARGEST_SETTINGS)
    except StateUnusable as error:
        raise ConfigError(f"{error.message}; {_REMEDY}") from error
    return _object("" if data is None else data.decode("utf-8", errors="replace"), str(path))


def _object(text: str, where: str) -> dict[str, Any]:
    """A JSON object, with comments and commas at the end of a list as some programs write them."""
    if not text.strip():
        return {}
    try:
        found = json.loads(_LOOSE.sub(_keep_text, text))
    except ValueError as error:
        raise ConfigError(f"{where} cannot be read as JSON: {error}; {_REMEDY}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{where} is not a JSON object; {_REMEDY}")
    return found


_REMEDY = 'correct it, or set mcp = "off" in .ralph/config.toml'

_LOOSE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def _keep_text(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""


def _write(path: Path, settings: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(settings, ensure_ascii=False).encode(), mode=PRIVATE_FILE)
