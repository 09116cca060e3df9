"""Replay: a recorded server for authors of clients, which reports what their client does wrong.

``ralph-ls --replay SESSION`` speaks LSP over standard input and output like the real server, and
starts nothing. It sends each part of the session when the client gives the order that led to it,
checks every message of the client, and writes a report when the connection ends.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ralph_ls.client.conformance import ClientRules, Problem
from ralph_ls.client.sessions import (
    EXECUTE,
    OPEN,
    ROOT,
    SUBSCRIBED,
    Message,
    RecordedSession,
    SessionStep,
    SessionUnknown,
    order_of,
    read_session,
)
from ralph_ls.editor.lsp.framing import FrameReader, MalformedFrame, frame
from ralph_ls.protocol.lsp.methods import METHODS

REQUEST_FAILED, METHOD_NOT_FOUND, INVALID_PARAMS = -32803, -32601, -32602
NOT_INITIALIZED, INVALID_REQUEST, PARSE_ERROR = -32002, -32600, -32700

LENSES, LENSES_REFRESH = "textDocument/codeLens", "workspace/codeLens/refresh"

CHUNK = 1 << 16

Send = Callable[[Message], None]


class ReplayServer:
    """The server's side of one session; it is given the client's messages one by one."""

    def __init__(self, session: RecordedSession, send: Send) -> None:
        self.session = session
        self.rules = ClientRules()
        self.orders: list[str] = []
        """Those of the session that the client gave."""
        self.has_ended = False
        self._send_raw = send
        self._verbs = frozenset(step.order for step in session.steps)
        self._root = ROOT
        self._uri = f"file://{ROOT}"
        self._number = 0

    # ---------------------------------------------------------------------------------- receiving

    def take_body(self, body: bytes) -> None:
        """One body as it came."""
        try:
            message = json.loads(body)
        except ValueError as error:
            self.rules.report(None, f"the body is not JSON: {error}")
            self._send({"id": None, "error": {"code": PARSE_ERROR, "message": "no JSON"}})
            return
        refused = self.rules.check(message)
        if refused is not None:
            if isinstance(message, dict) and "id" in message:
                self._send({"id": message["id"], "error": refused})
            return
        if "method" in message:
            self._take(message)

    def take_malformed(self, frame: MalformedFrame) -> None:
        """A frame that makes no sense."""
        self.rules.report(None, f"no frame of LSP: {frame.problem}")
        self._send({"id": None, "error": {"code": PARSE_ERROR, "message": frame.problem}})

    def _take(self, message: Message) -> None:
        order = order_of(message, self._verbs)
        match message["method"]:
            case "initialize":
                self._open_folder(message.get("params") or {})
                self._answer(message, {"result": self.session.greeting})
            case "shutdown":
                self._answer(message, {"result": None})
            case "exit":
                self.has_ended = True
            case _ if order is not None:
                self._take_order(message, order)
            case _ if "id" in message:
                self._answer(message, self._other_answer(message))

    def _open_folder(self, params: Message) -> None:
        folders = params.get("workspaceFolders") or []
        uri = folders[0].get("uri") if folders else params.get("rootUri")
        if isinstance(uri, str) and uri.startswith("file:"):
            self._uri = uri.rstrip("/")
            self._root = unquote(urlsplit(self._uri).path)
        else:
            self.rules.report("initialize", "no folder is open; open the one that has the plan")

    def _take_order(self, message: Message, order: str) -> None:
        step = self._next()
        if step is not None and order == step.order:
            self.orders.append(order)
            for each in step.before:
                self._push(each)
            self._answer(message, step.answer)
            for each in step.then:
                self._push(each)
            if LENSES in step.results:
                # The recorded refresh may have come after the next order.
                self._push({"id": "", "method": LENSES_REFRESH})
            return
        given = self._given(order)
        if given is not None and order in {SUBSCRIBED, OPEN}:
            self._answer(message, given.answer)
            return
        wanted = "the end" if step is None else step.order
        self.rules.report(message["method"], f"{order} came where the session has {wanted}")
        failed = {"code": REQUEST_FAILED, "message": "not now", "data": {"code": "failed"}}
        self._answer(message, {"error": failed})

    def _next(self) -> SessionStep | None:
        done = len(self.orders)
        return self.session.steps[done] if done < len(self.session.steps) else None

    def _given(self, order: str) -> SessionStep | None:
        done = self.session.steps[: len(self.orders)]
        return next((step for step in done if step.order == order), None)

    def _other_answer(self, message: Message) -> Message:
        """What the session has for a request that is no order of it: of this step, or before."""
        method, params = message["method"], message.get("params") or {}
        steps = self.session.steps[: max(1, len(self.orders))]
        for step in reversed(steps):
            known = step.results.get(method, [])
            same = [answer for asked, answer in known if _line_of(asked) == _line_of(params)]
            if same:
                return same[-1]
        if method == EXECUTE or method in METHODS:
            missing = f"{method} is not part of the session {self.session.name}"
            return {"error": {"code": REQUEST_FAILED, "message": missing}}
        return {"result": None}

    # ------------------------------------------------------------------------------------ sending

    def _push(self, message: Message) -> None:
        """A notification or a request of the server, if this client takes it."""
        if not self.rules.takes(message):
            return
        if "id" in message:
            self._number += 1
            message = {**message, "id": f"replay-{self._number}"}
            self.rules.expect_answer(message["id"], message["method"])
        self._send({key: message[key] for key in message if key != "jsonrpc"})

    def _answer(self, message: Message, answer: Message) -> None:
        if "id" in message:
            self._send({"id": message["id"], **answer})

    def _send(self, message: Message) -> None:
        text = json.dumps(message, ensure_ascii=False)
        text = text.replace(f"file://{ROOT}", self._uri)
        text = text.replace(ROOT, json.dumps(self._root, ensure_ascii=False)[1:-1])
        self._send_raw({"jsonrpc": "2.0", **json.loads(text)})

    # ----------------------------------------------------------------------------------- the end

    def problems(self) -> list[Problem]:
        """All that was wrong, known once the connection has ended."""
        missing = [step.order for step in self.session.steps[len(self.orders) :]]
        unfinished = [Problem(None, f"{order} never came") for order in missing[:1]]
        return [*self.rules.problems, *self.rules.left_open(), *unfinished]

    def report(self) -> Message:
        """What the client did, as JSON."""
        problems = self.problems()
        return {
            "session": self.session.name,
            "passed": not problems,
            "orders": self.orders,
            "problems": [{"method": each.method, "text": each.text} for each in problems],
        }


def replay(name: str, report: Path | None) -> int:
    """Serve one client over standard input and output; 0 if it did nothing wrong, else 1.

    The report goes to standard error in words, and to the file ``report`` as JSON.
    """
    try:
        session = read_session(name)
    except SessionUnknown as error:
        sys.stderr.write(f"ralph-ls: --replay: {error}\n")
        return 64

    def send(message: Message) -> None:
        data = frame(json.dumps(message).encode())
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]

    server, frames = ReplayServer(session, send), FrameReader()
    try:
        while not server.has_ended and (data := os.read(sys.stdin.fileno(), CHUNK)):
            for body in frames.feed(data):
                if isinstance(body, MalformedFrame):
                    server.take_malformed(body)
                else:
                    server.take_body(body)
    except BrokenPipeError:
        pass  # It closed its side, as Neovim does after ``shutdown``.
    found = server.report()
    if report is not None:
        _write_whole(report, json.dumps(found, indent=2) + "\n")
    sys.stderr.write("".join(f"{line}\n" for line in _in_words(found)))
    return 0 if found["passed"] else 1


def _write_whole(path: Path, text: str) -> None:
    """Replace a file, so that what waits for it never reads a part; a device is written to."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _in_words(report: Message) -> Sequence[str]:
    given = ", ".join(report["orders"]) or "none"
    passed = "passed" if report["passed"] else f"{len(report['problems'])} problems"
    lines = [f"session {report['session']}: {passed}; orders: {given}"]
    for problem in report["problems"]:
        where = "" if problem["method"] is None else f"{problem['method']}: "
        lines.append(f"  {where}{problem['text']}")
    return lines


def _line_of(params: Any) -> int | None:
    """The line that a request is about; None where it is about no line."""
    if not isinstance(params, dict):
        return None
    at = params.get("position") or (params.get("range") or {}).get("start") or {}
    return at.get("line") if isinstance(at, dict) else None
