"""What decoders tell viewers: the messages of ``protocol.messages``, made and written cheaply.

A stream is told in millions of small messages, and each is written down as soon as it is made. As
structs they cost about a tenth of what the models cost that readers check them with; a test holds
the two to the same bytes. It must never know in which dialect an agent speaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ralph_ls.protocol.run.messages import FileAction, ToolState
from ralph_ls.protocol.run.report import Usage


class UsageCounts(
    msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel", omit_defaults=True
):
    """A ``Usage``."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    turns: int | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    estimated: bool | None = None


class AgentTodo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``TodoItem``."""

    text: str
    state: Literal["pending", "inProgress", "done"] = "pending"


class EmittedText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``TextMessage``."""

    start: int
    offset: int
    kind: Literal["text"] = "text"
    text: str


class EmittedToolCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``ToolMessage``."""

    start: int
    offset: int
    kind: Literal["tool"] = "tool"
    call: str
    name: str
    summary: str
    state: ToolState


class EmittedFile(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``FileMessage``."""

    start: int
    offset: int
    kind: Literal["file"] = "file"
    path: str
    action: FileAction


class EmittedTodos(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``TodoMessage``."""

    start: int
    offset: int
    kind: Literal["todo"] = "todo"
    items: tuple[AgentTodo, ...]


class EmittedUsage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A ``UsageMessage``."""

    start: int
    offset: int
    kind: Literal["usage"] = "usage"
    usage: UsageCounts


AgentMessage = EmittedText | EmittedToolCall | EmittedFile | EmittedTodos | EmittedUsage


def to_json_lines(messages: Sequence[AgentMessage]) -> bytes:
    """The messages as they stand in ``messages.jsonl``, a line each."""
    return _ENCODER.encode_lines(messages)


def to_usage(counts: UsageCounts) -> Usage:
    """The counts for the loop."""
    return Usage.model_validate(msgspec.to_builtins(counts))


class MessageEmitter:
    """Puts down what is told of one agent process, and where in its output that was read."""

    __slots__ = ("_messages", "_start", "offset")

    def __init__(self, start: int) -> None:
        self._start = start
        self._messages: list[AgentMessage] = []
        self.offset = 0
        """Where what is being read begins."""

    def take(self) -> list[AgentMessage]:
        """All that was told since the last time."""
        messages, self._messages = self._messages, []
        return messages

    def text(self, text: str) -> None:
        self._messages.append(EmittedText(start=self._start, offset=self.offset, text=text))

    def tool(self, call: str, name: str, summary: str, state: ToolState) -> None:
        self._messages.append(
            EmittedToolCall(
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
            EmittedFile(start=self._start, offset=self.offset, path=path, action=action)
        )

    def todos(self, items: tuple[AgentTodo, ...]) -> None:
        self._messages.append(EmittedTodos(start=self._start, offset=self.offset, items=items))

    def usage(self, counts: UsageCounts) -> None:
        self._messages.append(EmittedUsage(start=self._start, offset=self.offset, usage=counts))


_ENCODER = msgspec.json.Encoder()
