"""Recorded sessions: what a client and ``ralph-ls`` sent each other, one message a line.

Each line is ``{"from": "client" | "server", "message": …}``; the first says what the session is.
In their place the folder of the session is ``/srv/invoice``, which a replay replaces.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ralph_ls.protocol.lsp.methods import METHODS, SUBSCRIBE

Message = dict[str, Any]

FOLDER = Path(__file__).with_name("sessions")

ROOT = "/srv/invoice"
"""The folder that is open in every recorded session."""

PLAN = "@fix_plan.md"

EXECUTE = "workspace/executeCommand"
PREFIX = "ralph."

OPEN, SUBSCRIBED = "open the plan", "subscribe"

LIFE = frozenset({"initialize", "initialized", "shutdown", "exit"})


class SessionUnknown(Exception):
    """There is no such session, or it cannot be read."""


@dataclass(slots=True)
class SessionStep:
    """One order of the client, its answer, and all that the server sends before the next one."""

    order: str
    answer: Message
    """Its ``result`` or ``error``; of a notification it is empty."""
    before: list[Message] = field(default_factory=list)
    """What came before the answer, though the order caused it."""
    then: list[Message] = field(default_factory=list)
    results: dict[str, list[tuple[Any, Message]]] = field(default_factory=dict)
    """By method, the params and the answers of other requests that came during the step."""


@dataclass(frozen=True, slots=True)
class RecordedSession:
    """A recorded session."""

    name: str
    about: str
    greeting: Message
    """The answer to ``initialize``."""
    steps: Sequence[SessionStep]


def session_names() -> list[str]:
    """Those that come with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.jsonl"))


def read_session(name: str) -> RecordedSession:
    """A session of the package by its name, or one in a file. Raises ``SessionUnknown``."""
    path = FOLDER / f"{name}.jsonl" if name in session_names() else Path(name)
    try:
        head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        about = head["about"]
        messages = [(line["from"], line["message"]) for line in lines]
    except OSError:
        names = ", ".join(session_names())
        raise SessionUnknown(f"no session {name!r}; there are {names}, or name a file") from None
    except (ValueError, KeyError, TypeError) as error:
        raise SessionUnknown(f"{path} is no recorded session: {error!r}") from error
    return _session(path.stem, about, messages)


def order_of(message: Mapping[str, Any], known: frozenset[str] = frozenset()) -> str | None:
    """The step of a session that a client's message is, such as ``start``; None for any other.

    A method and the command of the same name are one order. ``known``: the orders of the session;
    without them, everything that may be one.
    """
    order, may_be = _named_order(str(message.get("method")), message.get("params") or {})
    return order if (order in known if known else may_be) else None


def _named_order(method: str, params: Mapping[str, Any]) -> tuple[str | None, bool]:
    """What a message orders, and whether that changes anything or leads to anything."""
    if method == "textDocument/didOpen":
        uri = unquote(str(params.get("textDocument", {}).get("uri")))
        return OPEN, uri.endswith(PLAN)
    if method == SUBSCRIBE:
        return SUBSCRIBED, True
    if method == EXECUTE:
        method = "ralph/" + str(params.get("command")).removeprefix(PREFIX)
    known = METHODS.get(method)
    return method.removeprefix("ralph/"), known is not None and known.changes


def _session(name: str, about: str, messages: Sequence[tuple[str, Message]]) -> RecordedSession:
    reader = _SessionReader(messages)
    for side, message in messages:
        if side == "server":
            reader.take_from_server(message)
        elif "method" in message:
            reader.take_from_client(message["method"], message)
    return RecordedSession(name, about, reader.greeting, reader.steps)


class _SessionReader:
    """Divides the messages of a session into its steps."""

    def __init__(self, messages: Sequence[tuple[str, Message]]) -> None:
        self.greeting: Message = {}
        self.steps: list[SessionStep] = []
        self._waits: Any = None
        """The id of the last order, while its answer has not come."""
        self._answers: dict[Any, Message] = {
            message["id"]: {key: message[key] for key in message if key in {"result", "error"}}
            for side, message in messages
            if side == "server" and "method" not in message
        }

    def take_from_server(self, message: Message) -> None:
        if "method" not in message:
            self._waits = None if message["id"] == self._waits else self._waits
        elif self.steps:
            step = self.steps[-1]
            (step.then if self._waits is None else step.before).append(message)

    def take_from_client(self, method: str, message: Message) -> None:
        if method == "initialize":
            self.greeting = self._answers[message["id"]]["result"]
        elif method in LIFE:
            return
        elif (order := order_of(message)) is not None:
            self._waits = message.get("id")
            self.steps.append(SessionStep(order, self._answers.get(self._waits, {})))
        elif "id" in message and self.steps:
            known = self.steps[-1].results.setdefault(method, [])
            known.append((message.get("params") or {}, self._answers[message["id"]]))
