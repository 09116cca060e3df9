"""``ralph mcp``: the tools of the open iteration, as a server of the Model Context Protocol.

One JSON message a line on standard input and output. It knows no tool: each list and each call is
asked of the engine, through the socket that the environment names, so it starts quickly and has
nothing to decide. It imports the standard library alone. Outside of an iteration it ends with 64.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from ralph_ls import __version__
from ralph_ls.store.iteration_socket import ask

SOCKET, TICKET = "RALPH_MCP_SOCKET", "RALPH_MCP_TICKET"
"""As ``protocol/run/agent_tools`` has them, which would import all models."""

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that this is written for, the newest first."""

LONGEST_MESSAGE = 1 << 20

NOT_INSIDE = (
    "ralph mcp serves the agent of an open iteration, and this process is in none: "
    f'{SOCKET} is not set. ralph run starts it for agents; mcp = "on" is the default'
)

_PARSE_ERROR, _NO_METHOD, _FAILED = -32700, -32601, -32603


def serve() -> int:
    """Answer until standard input ends; 64 outside of an iteration."""
    place, token = os.environ.get(SOCKET), os.environ.get(TICKET)
    if not place or not token:
        from ralph_ls.cli.output import print_error

        print_error(NOT_INSIDE)
        return 64
    server = McpServer(Path(place), token, sys.stdout.buffer)
    while line := sys.stdin.buffer.readline(LONGEST_MESSAGE):
        if line.strip():
            server.take(line)
    return 0


class McpServer:
    """One conversation with an agent's program."""

    def __init__(self, place: Path, token: str, out: BinaryIO) -> None:
        self._place = place
        self._token = token
        self._out = out
        self._lock = threading.Lock()

    def take(self, line: bytes) -> None:
        """Answer one message; what asks the engine is answered from a thread."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._send({"id": None, "error": {"code": _PARSE_ERROR, "message": "not JSON"}})
            return
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            # A notification, or an answer to nothing that was asked.
            return
        number, method = message["id"], message["method"]
        given = message.get("params")
        params = given if isinstance(given, dict) else {}
        match method:
            case "initialize":
                self._send({"id": number, "result": _hello(params)})
            case "ping":
                self._send({"id": number, "result": {}})
            case "tools/list":
                self._begin(number, "listTools", {})
            case "tools/call":
                call = {"name": params.get("name"), "arguments": params.get("arguments")}
                self._begin(number, "callTool", call)
            case _:
                problem = {"code": _NO_METHOD, "message": f"there is no method {method!r}"}
                self._send({"id": number, "error": problem})

    def _begin(self, number: object, method: str, params: Mapping[str, Any]) -> None:
        """Ask beside the conversation: a call may wait for the user, and others come meanwhile."""
        given = (number, method, params)
        threading.Thread(target=self._ask, args=given, daemon=True).start()

    def _ask(self, number: object, method: str, params: Mapping[str, Any]) -> None:
        try:
            result = ask(self._place, method, {**params, "token": self._token})
        except (OSError, ValueError) as error:
            words = str(error) if isinstance(error, ValueError) else self._why_silent()
            problem = {"code": _FAILED, "message": words}
            self._send({"id": number, "error": problem})
        else:
            self._send({"id": number, "result": result})

    def _why_silent(self) -> str:
        if self._place.exists():
            return "the loop takes no more calls at once; call again"
        return _OVER

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
        with self._lock:
            self._out.write(data + b"\n")
            self._out.flush()


_OVER = "this iteration is over, so nothing is recorded; what still runs should end"


def _hello(params: Mapping[str, Any]) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "ralph", "title": "Ralph Loop", "version": __version__},
        "instructions": "Report to the loop that started you: report_status before you end your "
        "turn, ask_decision or report_blocked if only the user can help.",
    }
