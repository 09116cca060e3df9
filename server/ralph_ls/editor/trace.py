"""Trace of messages: what ``$/setTrace`` asks for, sent as ``$/logTrace``, and the debug log.

It must never know what a message means.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from lsprotocol import types

logger = logging.getLogger(__name__)

LONGEST_PARAMS = 4096
"""Characters of params in a verbose trace."""
UNTRACED = frozenset(
    {types.LOG_TRACE, types.SET_TRACE, types.WINDOW_LOG_MESSAGE, "ralph/output", "ralph/messages"}
)
"""Sent too often, or about the trace itself."""


class MessageTrace:
    """Tells the client, and the log at its debug level, of each message that came and went."""

    def __init__(self, send: Callable[[types.LogTraceParams], None]) -> None:
        self._send = send
        self._value = types.TraceValue.Off
        self._begun: dict[str | int, tuple[str, float]] = {}

    def set(self, value: str) -> None:
        """Trace as the client asked; a value that LSP does not know changes nothing."""
        try:
            self._value = types.TraceValue(value)
        except ValueError:
            logger.warning("The trace %.40r is none of off, messages and verbose", value)

    def received(self, message: Mapping[str, Any]) -> None:
        """A message of the client that makes sense."""
        if not self._is_wanted:
            return
        method, known = message.get("method"), message.get("id")
        if method in UNTRACED:
            return
        if method is None:
            self._tell(f"Received response ({known})", message.get("result"))
        elif known is None:
            self._tell(f"Received notification {method}", message.get("params"))
        else:
            self._begun[known] = (method, asyncio.get_running_loop().time())
            self._tell(f"Received request {method} ({known})", message.get("params"))

    def answered(self, known: str | int | None, error: types.ResponseError | None) -> None:
        """A request was answered."""
        if not self._is_wanted and not self._begun:
            return
        method, begun = self._begun.pop(known or "", ("", 0.0))
        took = f" in {(asyncio.get_running_loop().time() - begun) * 1000:.0f} ms" if method else ""
        failed = "" if error is None else f": error {error.code}, {error.message}"
        self._tell(f"Sent response {method} ({known}){took}{failed}")

    def sent(self, method: str, known: str | int | None = None) -> None:
        """A request or a notification of ours."""
        if self._is_wanted and method not in UNTRACED:
            what = f"notification {method}" if known is None else f"request {method} ({known})"
            self._tell(f"Sent {what}")

    @property
    def _is_wanted(self) -> bool:
        return self._value is not types.TraceValue.Off or logger.isEnabledFor(logging.DEBUG)

    def _tell(self, message: str, params: object = None) -> None:
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
