"""Connection: what the protocol sends through, its handshake, and the trace of messages.

The handshake says which request may come when, and what failures mean. The trace is what
``$/setTrace`` asks for, sent as ``$/logTrace``, and the debug log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidRequest,
    JsonRpcServerNotInitialized,
)
from pygls.progress import Progress

from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.methods import OutputParams

logger = logging.getLogger(__name__)


class Connection(Protocol):
    """Where messages go; any of it may be called from any thread, and none of it blocks."""

    def write(self, message: bytes, /) -> None: ...
    def write_output(self, params: OutputParams, /) -> None: ...
    def write_messages(self, workspace: str, run: str, messages: Sequence[bytes], /) -> None: ...


class ReleasingProgress(Progress):
    """Progress that removes a token when its work is done.

    pygls 2.1.1: ``Progress.tokens`` keeps every token for ever. Upstream: delete the token in
    ``end``.
    """

    def end(self, token: types.ProgressToken, value: types.WorkDoneProgressEnd) -> None:
        super().end(token, value)
        with contextlib.suppress(KeyError):
            del self.tokens[token]


def no_exit_handler(code: int) -> None:
    """In place of what ends the process, before there is a connection."""
    logger.warning("received exit (%d) without a connection", code)


def no_client_watch(pid: int) -> None:
    """In place of what watches the client, before there is a connection."""
    logger.debug("received the client (%d) without a connection", pid)


class HandshakeStage(Enum):
    """How far the handshake is."""

    NEW = auto()
    STARTING = auto()
    READY = auto()


def check_stage(method: str, stage: HandshakeStage, *, is_shut_down: bool) -> None:
    """Raise ``JsonRpcException`` for a request that may not come now.

    pygls 2.1.1: requests are served before ``initialize``, and never answered after ``shutdown``.
    Upstream: answer -32002 before ``initialize`` and -32600 after ``shutdown``.
    """
    if is_shut_down:
        raise JsonRpcInvalidRequest("the server is shutting down; only exit is accepted")
    if method == types.INITIALIZE and stage is not HandshakeStage.NEW:
        raise JsonRpcInvalidRequest("initialize was already sent")
    if method != types.INITIALIZE and stage is not HandshakeStage.READY:
        raise JsonRpcServerNotInitialized(f"{method} came before initialize was answered")


def log_failure(error: BaseException, doing: str) -> None:
    """Expected errors are for the client; only the others are for the server's maintainers."""
    if not isinstance(error, RalphError | JsonRpcException):
        logger.error("%s failed", doing, exc_info=error)


LONGEST_PARAMS = 4096
"""Characters of params in a verbose trace."""
UNTRACED = frozenset(
    {types.LOG_TRACE, types.SET_TRACE, types.WINDOW_LOG_MESSAGE, "ralph/output", "ralph/messages"}
)
"""Sent too often, or about the trace itself."""


class MessageTrace:
    """Reports each message to the client, and to the log at its debug level."""

    def __init__(self, send: Callable[[types.LogTraceParams], None]) -> None:
        self._send = send
        self._value = types.TraceValue.Off
        self._begun: dict[str | int, tuple[str, float]] = {}

    def set(self, value: str) -> None:
        """Trace as the client asked; a value that LSP does not know changes nothing."""
        try:
            self._value = types.TraceValue(value)
        except ValueError:
            logger.warning("The trace %.40r is not off, messages or verbose", value)

    def received(self, message: Mapping[str, Any]) -> None:
        """A message of the client that makes sense."""
        if not self._is_wanted:
            return
        method, known = message.get("method"), message.get("id")
        if method in UNTRACED:
            return
        if method is None:
            self._report(f"Received response ({known})", message.get("result"))
        elif known is None:
            self._report(f"Received notification {method}", message.get("params"))
        else:
            self._begun[known] = (method, asyncio.get_running_loop().time())
            self._report(f"Received request {method} ({known})", message.get("params"))

    def answered(self, known: str | int | None, error: types.ResponseError | None) -> None:
        """A request was answered."""
        if not self._is_wanted and not self._begun:
            return
        method, begun = self._begun.pop(known or "", ("", 0.0))
        took = f" in {(asyncio.get_running_loop().time() - begun) * 1000:.0f} ms" if method else ""
        failed = "" if error is None else f": error {error.code}, {error.message}"
        self._report(f"Sent response {method} ({known}){took}{failed}")

    def sent(self, method: str, known: str | int | None = None) -> None:
        """A request or a notification of ours."""
        if self._is_wanted and method not in UNTRACED:
            what = f"notification {method}" if known is None else f"request {method} ({known})"
            self._report(f"Sent {what}")

    @property
    def _is_wanted(self) -> bool:
        return self._value is not types.TraceValue.Off or logger.isEnabledFor(logging.DEBUG)

    def _report(self, message: str, params: object = None) -> None:
        logger.debug("%s", message)
        if self._value is types.TraceValue.Off:
            return
        verbose = None
        if self._value is types.TraceValue.Verbose and params is not None:
            verbose = _shown(params)
        self._send(types.LogTraceParams(message=message, verbose=verbose))


def _shown(params: object) -> str:
    try:
        text = json.dumps(params)
    except RecursionError:
        return "(nested too deeply)"
    return text if len(text) <= LONGEST_PARAMS else f"{text[:LONGEST_PARAMS]}..."
