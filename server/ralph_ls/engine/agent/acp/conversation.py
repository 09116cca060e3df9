"""Conversation with an agent: one prompt, from the first message to the answer.

Requests of the agent are answered by policy. An answer that the agent's messages do not show is
printed as a separate record.

The mode and the model of a session are chosen here as well. An agent offers them as configuration
options, which is the newer way, or in separate lists. Modes that do not ask for approval are
recognised by their names.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.connection import Connection
from acp.schema import ClientCapabilities, FileSystemCapabilities

from ralph_ls import __version__
from ralph_ls.engine.agent.acp import policy
from ralph_ls.engine.agent.acp.command_line import Options, RecordWriter
from ralph_ls.engine.agent.acp.policy import PermissionCall, call_of, option_for
from ralph_ls.engine.agent.acp.transport import AgentPipes

Session = Mapping[str, Any]
"""The result of ``session/new``, ``session/load`` or ``session/resume``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOffer:
    """Choices of one sort."""

    current: str
    values: tuple[tuple[str, str], ...]
    """Ids and names."""
    option: str | None
    """The configuration option that it is; None where it is a separate list."""

    def find(self, wanted: str) -> str | None:
        """The value with this id or name, in any case."""
        for value, _ in self.values:
            if value == wanted:
                return value
        for value, name in self.values:
            if wanted.casefold() in {value.casefold(), name.casefold()}:
                return value
        return None

    def request(self, sort: str, session: str, value: str) -> tuple[str, dict[str, Any]]:
        """The method and the parameters that choose it."""
        if self.option is not None:
            params = {"sessionId": session, "configId": self.option, "value": value}
            return "session/set_config_option", params
        return f"session/set_{sort}", {"sessionId": session, f"{sort}Id": value}


def offer_of(session: Session, sort: str) -> SessionOffer | None:
    """The session's choices of a ``sort``, ``mode`` or ``model``; None where there are none."""
    for option in _rows(session.get("configOptions")):
        if sort in {option.get("category"), option.get("id")} and _is_text(option.get("id")):
            values = tuple(_values(option.get("options")))
            if values:
                current = str(option.get("currentValue", ""))
                return SessionOffer(current=current, values=values, option=str(option["id"]))
    offered = session.get(f"{sort}s")
    if not isinstance(offered, dict):
        return None
    key = "id" if sort == "mode" else "modelId"
    rows = _rows(offered.get(f"available{sort.capitalize()}s"))
    values = tuple(
        (row[key], str(row.get("name", row[key]))) for row in rows if _is_text(row.get(key))
    )
    current = str(offered.get(f"current{sort.capitalize()}Id", ""))
    return SessionOffer(current=current, values=values, option=None) if values else None


def permission_requests(session: Session, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests that turn questions off where that is a separate option, beside the mode."""
    for option in _rows(session.get("configOptions")):
        number = option.get("id")
        is_one = option.get("category") == "permissions" and _is_text(number)
        if not is_one or _ASKS_NOTHING.search(str(number)) is None:
            continue
        given = {"sessionId": name, "configId": number}
        if option.get("currentValue") is False:
            yield "session/set_config_option", {**given, "type": "boolean", "value": True}
        elif option.get("currentValue") == "off" and "on" in dict(_values(option.get("options"))):
            yield "session/set_config_option", {**given, "value": "on"}


def mode_to_choose(offer: SessionOffer, *, asks: bool) -> str | None:
    """The mode to go into; None: the one that it is in.

    ``asks``: a list says what may be used, so it must not be in a mode that asks nothing.
    """
    found = _first_mode(offer, _asks if asks else _asks_nothing)
    if asks and found is None and _asks_nothing(offer.current, _name_of(offer, offer.current)):
        found = _first_mode(offer, _is_other)
    return None if found == offer.current else found


def _first_mode(offer: SessionOffer, is_such: Callable[[str, str], bool]) -> str | None:
    return next((value for value, name in offer.values if is_such(value, name)), None)


def _asks_nothing(value: str, name: str) -> bool:
    return any(_ASKS_NOTHING.search(text) is not None for text in (value, name))


def _asks(value: str, name: str) -> bool:
    return any(_ASKS.match(text) is not None for text in (value, name))


def _is_other(value: str, name: str) -> bool:
    return not _asks_nothing(value, name) and "plan" not in f"{value} {name}".casefold()


def _name_of(offer: SessionOffer, wanted: str) -> str:
    return next((name for value, name in offer.values if value == wanted), "")


def _values(options: object) -> Iterator[tuple[str, str]]:
    """The values of an option, also where they are grouped."""
    for row in _rows(options):
        if _is_text(row.get("value")):
            yield row["value"], str(row.get("name", row["value"]))
        else:
            yield from _values(row.get("options"))


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_ASKS_NOTHING = re.compile(
    r"bypass|yolo|full[ _-]?access|allow[ _-]?all|skip[ _-]?permissions", re.IGNORECASE
)
_ASKS = re.compile(r"(?:default|manual|ask|prompt|read[ _-]?only)\b", re.IGNORECASE)
"""Modes that ask; an agent in another mode may decide by itself what to ask for."""


FIRST_ANSWER = 120.0
"""Seconds until an agent has answered the first message; one that speaks otherwise never does."""

LAST_ANSWER = 1.0
"""Seconds that an agent gets to end its turn after a cancellation; then it is killed."""

AUTH_REQUIRED = -32000


class ConversationFailed(Exception):
    """The conversation failed; the reason has been reported."""


class Conversation:
    """Speaks with one agent, in one session."""

    def __init__(
        self, options: Options, pipes: AgentPipes, root: Path, records: RecordWriter
    ) -> None:
        self._options = options
        self._root = root
        self._records = records
        self._connection = Connection(self._answer, pipes)
        self._session: str | None = None
        self._turn: asyncio.Task[dict[str, Any]] | None = None
        self._is_cancelled = False

    async def run(self, prompt: str) -> bool:
        """Send the prompt, and return whether the agent's turn ended by itself.

        Raises ``ConversationFailed``, and ``RequestError`` or ``ConnectionError`` where the agent
        failed, which it has reported itself.
        """
        able = await self._begin()
        session = await self._open(able)
        self._session = str(session["sessionId"])
        await self._choose_mode(session)
        await self._choose_model(session)
        if self._is_cancelled:
            return False
        given = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
        self._turn = asyncio.ensure_future(self._request("session/prompt", given))
        answer = await self._turn
        return answer.get("stopReason") == "end_turn"

    async def cancel(self) -> None:
        """Cancel the agent's turn, and wait a moment for it to end."""
        self._is_cancelled = True
        if self._session is not None and self._turn is not None and not self._turn.done():
            with contextlib.suppress(ConnectionError, OSError):
                params = {"sessionId": self._session}
                await self._connection.send_notification("session/cancel", params)
                await asyncio.wait({self._turn}, timeout=LAST_ANSWER)

    async def close(self) -> None:
        await self._connection.close()

    # Requests to the agent.

    async def _begin(self) -> Mapping[str, Any]:
        """Initialise the connection; returns the agent's capabilities."""
        # Files are read and written by the agent itself, as without us.
        able = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
        )
        hello = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": able.model_dump(mode="json", by_alias=True, exclude_none=True),
            "clientInfo": {"name": "ralph-ls", "title": "Ralph Loop", "version": __version__},
        }
        try:
            async with asyncio.timeout(FIRST_ANSWER):
                answer = await self._request("initialize", hello)
        except TimeoutError as error:
            why = (
                f"it did not answer the first message within {FIRST_ANSWER:.0f} s; does it speak "
                "the Agent Client Protocol?"
            )
            self._records.own("failed", why=why, failure="wrongCall")
            raise ConversationFailed from error
        version = answer.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            why = (
                f"it speaks version {version} of the Agent Client Protocol; ralph speaks "
                f"{PROTOCOL_VERSION}"
            )
            self._records.own("failed", why=why, failure="wrongCall")
            raise ConversationFailed
        found = answer.get("agentCapabilities")
        return found if isinstance(found, dict) else {}

    async def _open(self, able: Mapping[str, Any]) -> Mapping[str, Any]:
        """Resume the session of the command line, or begin one."""
        where: dict[str, Any] = {"cwd": str(self._root), "mcpServers": []}
        # Options of ``claude`` alone: it runs what it considers harmless without asking, and has a
        # separate list; and it hides the tools of servers that come with the session.
        own: dict[str, Any] = {}
        if self._options.policy.deny:
            own["disallowedTools"] = list(self._options.policy.deny)
        for server in self._options.servers:
            if server.get("alwaysLoad"):
                own.setdefault("mcpServers", {})[server["name"]] = _as_option(server)
            else:
                where["mcpServers"].append(server)
        if own:
            where["_meta"] = {"claudeCode": {"options": own}}
        wanted, method = self._options.session, _way_back(able)
        if wanted is not None and method is not None:
            try:
                found = await self._logged_in(method, {**where, "sessionId": wanted})
                return {**found, "sessionId": wanted}
            except RequestError as error:
                if error.code == AUTH_REQUIRED:
                    raise
                self._records.own("fresh", why=f"it cannot continue session {wanted}: {error}")
        elif wanted is not None:
            self._records.own("fresh", why="it cannot continue sessions")
        session = await self._logged_in("session/new", where)
        if not isinstance(session.get("sessionId"), str):
            self._records.own("failed", why="it started no session", failure="other")
            raise ConversationFailed
        return session

    async def _logged_in(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request that needs a login, and log in where that is possible."""
        try:
            return await self._request(method, params)
        except RequestError as error:
            if error.code != AUTH_REQUIRED or self._options.login is None:
                raise
        await self._request("authenticate", {"methodId": self._options.login})
        return await self._request(method, params)

    async def _choose_mode(self, session: Mapping[str, Any]) -> None:
        offer, wanted = offer_of(session, "mode"), self._options.mode
        asks, name = self._options.policy.has_rules, self._session or ""
        if wanted is not None:
            await self._set("mode", offer, wanted)
            return
        requests = [] if asks else list(permission_requests(session, name))
        found = None if offer is None else mode_to_choose(offer, asks=asks)
        if offer is not None and found is not None:
            requests.append(offer.request("mode", name, found))
        for request in requests:
            # It may refuse, for root for example; what it asks then is answered all the same.
            with contextlib.suppress(RequestError):
                await self._request(*request)

    async def _choose_model(self, session: Mapping[str, Any]) -> None:
        if self._options.model is not None:
            await self._set("model", offer_of(session, "model"), self._options.model)

    async def _set(self, sort: str, offer: SessionOffer | None, wanted: str) -> None:
        """Choose the value that a setting names; fails where it is not offered."""
        value = None if offer is None else offer.find(wanted)
        if offer is None:
            why = f"its {sort} should be {wanted!r}, but it does not let ralph choose a {sort}"
        elif value is None:
            offered = ", ".join(value for value, _ in offer.values[:_MOST_NAMED])
            why = f"it has no {sort} {wanted!r}; it has: {offered}"
        else:
            try:
                await self._request(*offer.request(sort, self._session or "", value))
            except RequestError as error:
                why = f"it rejected the {sort} {wanted!r}: {error}"
            else:
                self._records.own("chosen", sort=sort, value=value)
                return
        self._records.own("failed", why=why, failure="wrongCall")
        raise ConversationFailed

    async def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        answer = await self._connection.send_request(method, params)
        return answer if isinstance(answer, dict) else {}

    # Requests of the agent.

    async def _answer(self, method: str, params: Any, _is_notification: bool, /) -> Any:  # noqa: FBT001
        """Answer a request of the agent."""
        given = params if isinstance(params, dict) else {}
        match method:
            case "session/request_permission":
                return self._permit(given)
            case "fs/read_text_file" | "fs/write_text_file":
                return await asyncio.to_thread(self._serve, method, given)
            case "elicitation/create":
                message = given.get("message")
                self._records.own("question", text=message if isinstance(message, str) else "")
                return {"action": "decline"}
            case _:
                raise RequestError.method_not_found(method)

    def _permit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        tool_call = given.get("toolCall")
        call = call_of(tool_call if isinstance(tool_call, dict) else {})
        permits = not self._is_cancelled and self._options.policy.permits(call)
        option = None if self._is_cancelled else option_for(given.get("options"), allowed=permits)
        if not permits or option is None:
            self._report_denial(call)
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option}}

    def _serve(self, method: str, given: Mapping[str, Any]) -> dict[str, Any]:
        is_write = method == "fs/write_text_file"
        call = PermissionCall(
            name=method,
            kind="edit" if is_write else "read",
            paths=tuple(path for path in [given.get("path")] if isinstance(path, str)),
        )
        try:
            if not self._options.policy.permits(call):
                raise policy.FileAccessRefused(f"{call.kind} is not permitted here")
            if not is_write:
                return {"content": policy.read_text(self._root, given)}
            path = policy.write_text(self._root, given)
        except policy.FileAccessRefused as error:
            self._report_denial(call)
            raise RequestError(_REFUSED, str(error)) from error
        self._records.own("wrote", path=str(path))
        return {}

    def _report_denial(self, call: PermissionCall) -> None:
        if not self._is_cancelled:
            self._records.own("denied", tool=call.shown, title=call.title)


def _as_option(server: Mapping[str, Any]) -> dict[str, Any]:
    """A server as ``claude`` has it in its own settings."""
    variables = {one["name"]: one["value"] for one in server["env"]}
    more = {key: value for key, value in server.items() if key not in {"name", "env"}}
    return {"type": "stdio", **more, "env": variables}


def _way_back(able: Mapping[str, Any]) -> str | None:
    """The method that resumes a session; preferably one that does not replay it."""
    more = able.get("sessionCapabilities")
    if isinstance(more, dict) and more.get("resume") is not None:
        return "session/resume"
    return "session/load" if able.get("loadSession") is True else None


_REFUSED = -32602
_MOST_NAMED = 20
