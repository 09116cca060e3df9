"""Plain text: all that the agent prints is its own words, and the end of it is its final text."""

from __future__ import annotations

from collections import deque

from ralph_ls.core.agent.decode.final import Final
from ralph_ls.protocol.messages import Message, TextMessage

KEPT_BYTES = 16 << 20
"""Bytes from the end of the output that are read for signals."""


class PlainDecoder:
    """Passes whole lines on as they come, and keeps the end for the signals."""

    def __init__(self, iteration: int, *, kept: int = KEPT_BYTES) -> None:
        self._iteration = iteration
        self._offset = 0
        self._partial: list[bytes] = []
        self._kept = kept
        self._tail: deque[bytes] = deque()
        self._n_tail = 0

    def feed(self, data: bytes) -> list[Message]:
        """One message for all the lines that these bytes complete."""
        self._tail.append(data)
        self._n_tail += len(data)
        while self._n_tail - len(self._tail[0]) >= self._kept:
            self._n_tail -= len(self._tail.popleft())
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._partial.append(data)
            return []
        text = b"".join([*self._partial, whole, newline])
        self._partial = [rest] if rest else []
        return [self._message(text)]

    def finish(self) -> list[Message]:
        """A last line without an end."""
        rest, self._partial = b"".join(self._partial), []
        return [self._message(rest)] if rest else []

    def final(self) -> Final:
        data = b"".join(self._tail)
        if len(data) > self._kept:
            data = _from_character(data[-self._kept :])
        return Final(text=data.decode("utf-8", errors="replace"))

    def _message(self, data: bytes) -> TextMessage:
        text = data.decode("utf-8", errors="replace")
        message = TextMessage(iteration=self._iteration, offset=self._offset, text=text)
        self._offset += len(data)
        return message


def _from_character(data: bytes) -> bytes:
    """The bytes from where a character begins: a cut is never inside of one."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
