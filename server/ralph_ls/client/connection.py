"""Connection to a language server: JSON-RPC over a pair of streams, and nothing of Ralph's.

Whatever arrives while an answer is awaited is handled, in its order. Requests of the server are
answered at once, so that it never waits for a client that is busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any, Protocol, Self

from ralph_ls.editor.lsp.framing import FrameReader, MalformedFrame, frame

Message = dict[str, Any]

CHUNK = 1 << 16
"""Bytes read at once."""


class RequestRefused(Exception):
    """The server answered a request with an error."""

    def __init__(self, method: str, error: Mapping[str, Any]) -> None:
        super().__init__(f"{method}: {error.get('message', '')}")
        self.method = method
        self.code: int = error["code"]
        self.message: str = error.get("message", "")
        self.data: Any = error.get("data")

    @property
    def reason(self) -> str | None:
        """``error.data.code``, such as ``not-allowed`` (docs/protocol.md#errors)."""
        return self.data.get("code") if isinstance(self.data, dict) else None


class ServerGone(Exception):
    """The server ended or closed the connection before it answered."""


class Writer(Protocol):
    """What bytes are written to: a ``StreamWriter`` or a transport."""

    def write(self, data: bytes, /) -> object: ...
    def close(self) -> object: ...


class ServerConnection:
    """One connection; subclasses decide what notifications and requests of the server do.

    It reads between ``begin`` and ``close``, or within ``async with``.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        self._reader = reader
        self._writer = writer
        self._number = 0
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._reading: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read from here on."""
        self._reading = asyncio.get_running_loop().create_task(self._read())

    async def close(self) -> None:
        """Close our side, and read what the server still sends; raises what reading failed with."""
        self._writer.close()
        if self._reading is not None:
            await self._reading

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    # ------------------------------------------------------------------------------------ sending

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self._send({"method": method, "params": {} if params is None else params})

    def ask(self, method: str, params: object = None) -> asyncio.Future[Message]:
        """Send a request; the future has its whole answer, be it a result or an error."""
        self._number += 1
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        if self._reading is not None and self._reading.done():
            answer.cancel()
            return answer
        self._answers[self._number] = answer
        sent = {} if params is None else params
        self._send({"id": self._number, "method": method, "params": sent})
        return answer

    async def request(self, method: str, params: object = None) -> Any:
        """The result; raises ``RequestRefused`` and ``ServerGone``.

        A caller that is cancelled, as by ``asyncio.timeout``, cancels the request.
        """
        pending = self.ask(method, params)
        number = self._number
        try:
            answer = await pending
        except asyncio.CancelledError:
            if number not in self._answers:
                raise ServerGone(f"the server ended before it answered {method}") from None
            self.notify("$/cancelRequest", {"id": number})
            raise
        if "error" in answer:
            raise RequestRefused(method, answer["error"])
        return answer["result"]

    # ---------------------------------------------------------------------------------- receiving

    def take_notification(self, method: str, params: Any) -> None:
        """Handle a notification."""

    def answer_request(self, method: str, params: Any) -> Any:  # noqa: ARG002 -- for subclasses
        """The result of a request of the server; null is enough for each of them."""
        return None

    def take_answer(self, message: Message) -> None:
        """Hand an answer to its request."""
        answer = self._answers.pop(message["id"], None)
        if answer is not None and not answer.done():
            answer.set_result(message)

    async def after_messages(self) -> None:
        """Called after some messages were handled; nothing is read until it returns."""

    async def ended(self) -> None:
        """Called when the server has closed its side."""

    async def _read(self) -> None:
        frames = FrameReader()
        try:
            while data := await self._reader.read(CHUNK):
                for body in frames.feed(data):
                    if isinstance(body, MalformedFrame):
                        raise ServerGone(f"the server sent no message of LSP: {body.problem}")
                    self._take(json.loads(body))
                await self.after_messages()
        except ConnectionResetError:
            pass  # A server that was killed.
        finally:
            answers, self._answers = self._answers, {}
            for answer in answers.values():
                answer.cancel()
            await self.ended()

    def _take(self, message: Message) -> None:
        if "method" not in message:
            self.take_answer(message)
        elif "id" in message:
            result = self.answer_request(message["method"], message.get("params"))
            self._send({"id": message["id"], "result": result})
        else:
            self.take_notification(message["method"], message.get("params"))

    def _send(self, message: Message) -> None:
        with contextlib.suppress(RuntimeError, ConnectionError):  # The server is gone already.
            self._writer.write(frame(json.dumps({"jsonrpc": "2.0", **message}).encode()))
