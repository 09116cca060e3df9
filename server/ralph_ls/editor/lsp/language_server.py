"""The language server on pygls: every request is answered, and nothing blocks, leaks or outlives.

The public face of the protocol: ``RalphLanguageServer`` to register features on, ``run_stdio`` to
run it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, BinaryIO, NoReturn

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

from ralph_ls.editor.lsp.codec import make_converter
from ralph_ls.editor.lsp.framing import FrameReader, MalformedFrame
from ralph_ls.editor.lsp.protocol import RalphProtocol
from ralph_ls.editor.lsp.stdio import (
    PipeWriter,
    StdioDescriptors,
    start_reading,
    take_stdio,
    watch_client,
)
from ralph_ls.store.external.supervisor import current, end_programs_with_process

logger = logging.getLogger(__name__)

CANCELLING_PATIENCE = 1.0
"""Seconds that cancelled handlers get to clean up when the server ends."""
EXIT_PATIENCE = 3.0
"""Seconds after which a process that should have ended is ended, whatever a thread still does."""


class RalphLanguageServer(LanguageServer):
    """A language server whose features are registered as in pygls.

    ``@server.feature(method)`` takes a handler for a method of LSP or of ``protocol.methods``,
    ``@server.command(name)`` one for a command. Where the handler's first parameter is named
    ``ls`` it is given the server. It may be a function, a coroutine, or a function under
    ``@server.thread()``. What it raises becomes the answer: a ``RalphError`` with its message and
    a stable code, anything else as an internal error whose traceback is in the log alone.
    """

    # Narrower than pygls has it, and never set again.
    protocol: RalphProtocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        name: str,
        version: str,
        *,
        text_document_sync_kind: types.TextDocumentSyncKind = (
            types.TextDocumentSyncKind.Incremental
        ),
        max_workers: int | None = None,
    ) -> None:
        super().__init__(
            name,
            version,
            text_document_sync_kind,
            protocol_cls=RalphProtocol,
            converter_factory=make_converter,
            max_workers=max_workers,
        )
        self._pipe: PipeWriter | None = None

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification: from any thread or task, never blocking.

        ``ralph/output`` gives way to everything else where the client is slow.
        """
        self.protocol.notify(method, params)

    def notify_messages(self, workspace: str, run: str, messages: Sequence[bytes]) -> None:
        """Send ``ralph/messages``, each message as its JSON; they give way as output does."""
        self.protocol.notify_messages(workspace, run, messages)

    def after_answer(self, do: Callable[[], None]) -> None:
        """Have ``do`` called once the request that is being handled was answered with a result.

        It is not called where the request fails, or is cancelled.
        """
        self.protocol.after_answer(do)

    @property
    def backlog(self) -> int:
        """Bytes, about, that the client has not taken yet."""
        return 0 if self._pipe is None else self._pipe.backlog

    async def drained(self) -> None:
        """Wait until the client keeps up: a sender of much output waits before it sends more."""
        if self._pipe is not None:
            await self._pipe.drained()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Report an error of a notification; in the log, since a pop-up steals keys."""
        if source is not FeatureRequestError:
            params = types.LogMessageParams(type=types.MessageType.Error, message=str(error))
            self.window_log_message(params)

    def shutdown(self) -> None:
        """Let go of the worker threads, and wait for none of them."""
        if self._thread_pool is not None:
            self._thread_pool.shutdown(wait=False, cancel_futures=True)

    def start_io(self, stdin: BinaryIO | None = None, stdout: BinaryIO | None = None) -> NoReturn:
        """As ``run_stdio``; other streams than the process's own are not taken."""
        if stdin is not None or stdout is not None:
            raise ValueError("only standard input and output are served; see serve()")
        run_stdio(self)

    def start_tcp(self, host: str, port: int) -> NoReturn:
        """Refused: pygls' own stream serves one client and has the defects that are fixed here."""
        raise NotImplementedError(f"{host}:{port} is not served; see serve()")

    def start_ws(self, host: str, port: int) -> NoReturn:
        """Refused, as ``start_tcp``."""
        raise NotImplementedError(f"{host}:{port} is not served; see serve()")

    async def serve(self, descriptors: StdioDescriptors, *, client: int | None = None) -> int:
        """Serve one client until it leaves; gives the exit code.

        ``client`` is its process id, if the parent knows it.

        0 after ``shutdown``, else 1. The client has left when it says ``exit``, closes a pipe,
        stops reading for good, or when its process ends.
        """
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()
        unwatch: list[Callable[[], None]] = []

        def end(code: int) -> None:
            if not ended.done():
                ended.set_result(code)

        def lose(why: str) -> None:
            logger.warning("Lost the client: %s", why)
            with contextlib.suppress(RuntimeError):  # The loop is closed: it has ended already.
                loop.call_soon_threadsafe(leave)

        def leave() -> None:
            end(self.protocol.exit_code)

        def watch(pid: int) -> None:
            unwatch.append(watch_client(pid, leave))

        self._pipe = PipeWriter(descriptors.output, on_lost=lose)
        self.protocol.attach(self._pipe, end=end, watch=watch)
        if client is not None:
            watch(client)
        start_reading(descriptors.input, MessageFeeder(self.protocol, ended, leave))
        try:
            return await ended
        finally:
            for stop in unwatch:
                stop()
            await _settle(self.protocol)
            self.shutdown()
            self._pipe.close()


class MessageFeeder:
    """Cuts what comes into messages and hands them over, until the server ends."""

    def __init__(
        self, protocol: RalphProtocol, ended: asyncio.Future[int], leave: Callable[[], None]
    ) -> None:
        self._protocol = protocol
        self._ended = ended
        self._leave = leave
        self._frames = FrameReader()

    def __call__(self, data: bytes) -> None:
        if not data:
            self._leave()
            return
        for body in self._frames.feed(data):
            if self._ended.done():
                return
            if isinstance(body, MalformedFrame):
                self._protocol.refuse(body.problem)
            else:
                self._protocol.receive(body)


def run_stdio(
    server: RalphLanguageServer,
    *,
    client: int | None = None,
    connect: Callable[[], StdioDescriptors] | None = None,
) -> NoReturn:
    """Serve the client on standard input and output, then end the process.

    It ends with the process ``client``, too. With ``connect`` the client is at a socket instead.

    Call it before anything prints: from here on standard output is standard error, for this
    process and for all that it starts.
    """
    stdio = take_stdio()
    descriptors = stdio if connect is None else connect()
    end_programs_with_process()

    async def serve() -> int:
        code = 1
        try:
            code = await server.serve(descriptors, client=client)
        finally:
            _insist_on_ending(code)
        return code

    sys.exit(asyncio.run(serve()))


async def _settle(protocol: RalphProtocol) -> None:
    """Let cancelled handlers clean up, and answer."""
    running = [
        asyncio.wrap_future(each) if isinstance(each, Future) else each
        for each in protocol.cancel_everything()
    ]
    if running:
        done, _ = await asyncio.wait(running, timeout=CANCELLING_PATIENCE)
        for each in done:
            if not each.cancelled():
                each.exception()  # Handled already by the answering callback.


def _insist_on_ending(code: int) -> None:
    """A worker thread that hangs must not keep the process: its exit would wait for it."""
    # What worker threads wait for would outlive this process as well.
    current().end()

    def leave() -> None:
        current().kill()
        os._exit(code)

    timer = threading.Timer(EXIT_PATIENCE, leave)
    timer.daemon = True
    timer.start()
