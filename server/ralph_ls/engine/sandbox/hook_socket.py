"""Iteration socket: where what runs in an iteration asks the engine, in a box or not.

``ralph hook`` in a box asks how the iteration is, since a box sees neither the engine nor its
files; ``ralph mcp`` lists and calls the iteration's tools. One JSON object a line, one answer each.
Every other request is refused, as any order from inside. Requests, connections and answers are
bounded, and none blocks the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from ralph_ls.protocol.errors import FromInside
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.iteration_socket import LONGEST_REQUEST, NAME, short_address

HAS_SOCKETS = hasattr(asyncio, "start_unix_server")
"""Whether this system has sockets with a path."""

MOST_CONNECTIONS = 8
MOST_REQUESTS = 32
"""Of one connection."""
PATIENCE = 5.0
"""Idle seconds of a connection."""

Method = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
"""What answers one method, given its parameters; refuses them with a ``ValueError``."""


class HookSocket:
    """A socket of one iteration; its box has ``folder``."""

    def __init__(self, folder: Path, methods: Mapping[str, Method]) -> None:
        self.folder = folder
        self._methods = methods
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Listen; raises ``OSError`` where that fails."""
        make_private_folder(self.folder)
        path = self.folder / NAME
        path.unlink(missing_ok=True)
        with short_address(path) as address:
            self._server = await asyncio.start_unix_server(
                self._serve, path=address, limit=LONGEST_REQUEST, backlog=MOST_CONNECTIONS
            )
        path.chmod(0o600)

    async def close(self) -> None:
        """Close the socket and its connections; idempotent."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._open:
            task.cancel()
        with contextlib.suppress(OSError):
            (self.folder / NAME).unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        try:
            if task is None or len(self._open) >= MOST_CONNECTIONS:
                return
            self._open.add(task)
            for _ in range(MOST_REQUESTS):
                line = await asyncio.wait_for(reader.readline(), PATIENCE)
                if not line.endswith(b"\n"):
                    return
                writer.write(json.dumps(await self._reply(line)).encode() + b"\n")
                await asyncio.wait_for(writer.drain(), PATIENCE)
        except (OSError, ValueError, TimeoutError, asyncio.CancelledError):
            # One that asks too much, too slowly or not at all gets no answer.
            return
        finally:
            if task is not None:
                self._open.discard(task)
            # Unread answers must not wait for a reader.
            writer.transport.abort()

    async def _reply(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return _error("bad-request", "this is not a JSON object")
        if not isinstance(request, dict):
            return _error("bad-request", "this is not a JSON object")
        method, params = self._methods.get(str(request.get("method"))), request.get("params")
        if method is None:
            allowed = ", ".join(sorted(self._methods))
            return _refusal(
                f"only {allowed} is allowed here: a run may not change itself, its work tree "
                "or what it may execute; use another terminal",
            )
        try:
            return {"result": await method(params if isinstance(params, dict) else {})}
        except ValueError as error:
            return _error("refused", str(error))


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _refusal(message: str) -> dict[str, Any]:
    exit_code = FromInside.exit_code
    return {"error": {"code": "from-inside", "message": message, "exitCode": exit_code}}
