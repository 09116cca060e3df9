"""Message emitter: collects the messages of a decoder and writes them as JSON lines.

The messages are defined in ``protocol.run.messages``. Knows no dialect.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ralph_ls.protocol.run.messages import (
    AgentMessage,
    FileAction,
    FileMessage,
    TextMessage,
    TodoItem,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageCounts,
    UsageMessage,
)


def to_json_lines(messages: Sequence[AgentMessage]) -> bytes:
    """The messages as lines of ``messages.jsonl``."""
    return _ENCODER.encode_lines(messages)


class MessageEmitter:
    """Collects the messages of one agent process, with their position in its output."""

    __slots__ = ("_messages", "_start", "offset")

    def __init__(self, start: int) -> None:
        self._start = start
        self._messages: list[AgentMessage] = []
        self.offset = 0
        """Offset of the chunk that is being read."""

    def take(self) -> list[AgentMessage]:
        """Return the messages since the last call."""
        messages, self._messages = self._messages, []
        return messages

    def text(self, text: str) -> None:
        self._messages.append(TextMessage(start=self._start, offset=self.offset, text=text))

    def tool(self, call: str, name: str, summary: str, state: ToolState) -> None:
        self._messages.append(
            ToolMessage(
                start=self._start,
                offset=self.offset,
                call=call,
                name=name,
                summary=summary,
                state=state,
            )
        )

    def file(self, path: str, action: FileAction) -> None:
        self._messages.append(
            FileMessage(start=self._start, offset=self.offset, path=path, action=action)
        )

    def todos(self, items: tuple[TodoItem, ...]) -> None:
        self._messages.append(TodoMessage(start=self._start, offset=self.offset, items=items))

    def usage(self, counts: UsageCounts) -> None:
        self._messages.append(UsageMessage(start=self._start, offset=self.offset, usage=counts))


_ENCODER = msgspec.json.Encoder()
