"""Decoder for plain text: all output is the agent's text, and its end is the final text."""

from __future__ import annotations

from ralph_ls.core.agent.decode.common.json_lines import ByteChunks
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.run.messages import AgentMessage, TextMessage

KEPT_BYTES = 1 << 20
"""Bytes at the end of the output that are searched for signals, as for any final text.

They are searched after the agent's end, when nothing else holds the loop up.
"""

LONGEST_MESSAGE = 1 << 20
"""Bytes of an unfinished line that are held; a longer line is passed on in parts."""


class PlainDecoder:
    """Passes on complete lines as they arrive, and keeps the end of the output for the signals."""

    def __init__(self, start: int, *, kept: int = KEPT_BYTES) -> None:
        self._start = start
        self._offset = 0
        self._partial = ByteChunks()
        self._kept = kept
        self._tail = ByteChunks()

    def feed(self, data: bytes) -> list[AgentMessage]:
        """One message for all lines that these bytes complete."""
        self._tail.add(data)
        self._tail.keep_end(self._kept)
        end = data.rfind(b"\n") + 1
        if end:
            self._partial.add(data[:end])
            text = self._partial.take()
            self._partial.add(data[end:])
            return [self._message(text)]
        self._partial.add(data)
        if self._partial.n_bytes <= LONGEST_MESSAGE:
            return []
        text = self._partial.take()
        end = _end_of_characters(text)
        self._partial.add(text[end:])
        return [self._message(text[:end])]

    def finish(self) -> list[AgentMessage]:
        """Pass on a last line without a line end."""
        rest = self._partial.take()
        return [self._message(rest)] if rest else []

    def final(self) -> AgentResult:
        data = self._tail.whole()
        if len(data) > self._kept:
            data = _from_character(data[-self._kept :])
        return AgentResult(text=data.decode("utf-8", errors="replace"))

    def _message(self, data: bytes) -> TextMessage:
        text = data.decode("utf-8", errors="replace")
        message = TextMessage(start=self._start, offset=self._offset, text=text)
        self._offset += len(data)
        return message


def _from_character(data: bytes) -> bytes:
    """The bytes from the first start of a character: a cut is never inside of one."""
    start = 0
    while start < min(3, len(data)) and _goes_on(data[start]):
        start += 1
    return data[start:]


def _end_of_characters(data: bytes) -> int:
    """Where the last character begins, which may be incomplete."""
    start = len(data) - 1
    while start > len(data) - 4 and _goes_on(data[start]):
        start -= 1
    return start


def _goes_on(byte: int) -> bool:
    """Whether a byte continues a UTF-8 character."""
    return byte & 0xC0 == 0x80
