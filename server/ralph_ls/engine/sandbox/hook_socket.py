"""Hook socket: the only socket that leads out of a box, for the agent's stop hook.

A box sees neither the engine nor the state of its run, so ``ralph hook`` asks here: one JSON object
a line, one answer each. The answer has only the state of this iteration; a request that would
change the run is refused, as from any process inside. Requests, connections and answers are
bounded, and none blocks the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralph_ls.protocol.errors import FromInside
from ralph_ls.protocol.run.hook_socket import LONGEST_REQUEST, NAME, STOP_STATE
from ralph_ls.store.files import make_private_folder

MOST_CONNECTIONS = 8
MOST_REQUESTS = 32
"""Of one connection."""
PATIENCE = 5.0
"""Idle seconds of a connection."""

Answer = Callable[[bool], dict[str, Any]]
"""The state of the iteration, given whether a hook already keeps the agent at work. Called in a
thread."""


class HookSocket:
    """A socket of one iteration; its box has ``folder``."""

    def __init__(self, folder: Path, answer: Answer) -> None:
        self.folder = folder
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Listen; raises ``OSError`` where that fails."""
        make_private_folder(self.folder)
        path = self.folder / NAME
        path.unlink(missing_ok=True)
        # By a descriptor: the path of a socket has no more than 107 bytes.
        descriptor = os.open(self.folder, os.O_PATH | os.O_DIRECTORY)
        try:
            self._server = await asyncio.start_unix_server(
                self._serve,
                path=f"/proc/self/fd/{descriptor}/{NAME}",
                limit=LONGEST_REQUEST,
                backlog=MOST_CONNECTIONS,
            )
        finally:
            os.close(descriptor)
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
        if request.get("method") != STOP_STATE:
            return _refusal(
                f"only {STOP_STATE!r} is allowed here: a run may not change itself, its work tree "
                "or what it may execute; use another terminal",
            )
        continues = request.get("params") == {"continued": True}
        return {"result": await asyncio.to_thread(self._answer, continues)}


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _refusal(message: str) -> dict[str, Any]:
    exit_code = FromInside.exit_code
    return {"error": {"code": "from-inside", "message": message, "exitCode": exit_code}}
