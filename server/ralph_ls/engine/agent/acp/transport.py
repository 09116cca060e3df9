"""Message transport over the pipes to an agent: bounded memory, and bad lines are skipped.

The library's own transport ends the conversation at a message of an unknown shape, which a newer
agent may send, or one that prints other output in between.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ralph_ls.core.agent.decode.common.json_lines import LineSplitter
from ralph_ls.engine.agent.acp.command_line import OWN_RECORD, RecordWriter

CHUNK_BYTES = 1 << 16

LONGEST_MESSAGE = 64 << 20
"""Bytes of a line; a longer one is dropped."""

MOST_UNANSWERED = 100
"""Limit of an agent's open requests; reading continues when one is answered."""

UNREPORTED = frozenset({"available_commands_update"})
"""Updates that say nothing of the work; some come again and again, with all that a tool can do."""


class AgentPipes:
    """Messages to and from an agent; a ``Transport`` of the library."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, records: RecordWriter
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._records = records
        self._lines = LineSplitter(LONGEST_MESSAGE)
        self._waiting: list[bytes] = []
        self._has_ended = False
        self._sending = asyncio.Lock()
        self._free = asyncio.Semaphore(MOST_UNANSWERED)
        self.is_prompted = False
        """Whether the prompt was sent; messages before that are of an earlier conversation."""

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; a request is recorded by its name, since it may hold the prompt."""
        method = message.get("method")
        if method is None:
            self._free.release()
        elif "id" in message:
            params = message.get("params")
            session = params.get("sessionId") if isinstance(params, dict) else None
            named = {} if session is None else {"session": session}
            self._records.own("request", id=message["id"], method=method, **named)
            self.is_prompted = self.is_prompted or method == "session/prompt"
        async with self._sending:
            data = json.dumps(message, separators=(",", ":"))
            self._writer.write(data.encode("utf-8", errors="replace") + b"\n")
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message that has to be dealt with; None when the agent prints no more."""
        while (line := await self._next_line()) is not None:
            message = _read(line)
            if message is None:
                self._records.noise(line)
                continue
            if not self._is_reported(message):
                continue
            self._records.message(line)
            if "id" not in message:
                # A notification of the client, which needs no answer.
                continue
            if "method" in message:
                await self._free.acquire()
            return message
        return None

    async def close(self) -> None:
        """Close the stream to the agent."""
        self._writer.close()

    def _is_reported(self, message: dict[str, Any]) -> bool:
        if message.get("method") != "session/update":
            return True
        params = message.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        kind = update.get("sessionUpdate") if isinstance(update, dict) else None
        return self.is_prompted and kind not in UNREPORTED

    async def _next_line(self) -> bytes | None:
        while not self._waiting:
            if self._has_ended:
                return None
            data = await self._reader.read(CHUNK_BYTES)
            self._has_ended = not data
            _, lines = self._lines.feed(data) if data else self._lines.finish()
            self._waiting = [line.strip() for line in reversed(lines)]
        return self._waiting.pop()


def _read(line: bytes) -> dict[str, Any] | None:
    """A message in the shape that the library expects; None where it has another."""
    try:
        message = json.loads(line.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or OWN_RECORD in message:
        return None
    if "id" in message and not isinstance(message["id"], int | str):
        return None
    if "method" in message:
        return message if isinstance(message["method"], str) else None
    if "error" in message and not isinstance(message["error"], dict):
        message["error"] = {"message": str(message["error"])}
    return message if "id" in message else None
