"""What an agent says while it works, decoded from its stream: for people who watch, live.

They stand in ``messages.jsonl`` beside the journal and are never folded: no decision is taken on
them. Each line names the start and where in the agent's output it was read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, TypeAdapter

from ralph_ls.protocol.base import DEFERRED, WireModel
from ralph_ls.protocol.run.report import Usage


class ToolState(StrEnum):
    """How far a tool call is."""

    STARTED = "started"
    DONE = "done"
    FAILED = "failed"


class FileAction(StrEnum):
    """What the agent says it did to a file."""

    READ = "read"
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"


class MessageBase(WireModel):
    """What every message carries."""

    start: int = Field(validation_alias=AliasChoices("start", "iteration"))
    """Of which start of an agent it is; files of earlier versions call it the iteration."""
    offset: int = 0
    """Bytes of the agent's standard output before the piece that this was read from."""


class TextMessage(MessageBase):
    """Words of the agent; of a plain-text agent, all that it prints."""

    kind: Literal["text"] = "text"
    text: str


class ToolMessage(MessageBase):
    """The agent uses a tool; the message with the same ``call`` that comes later tells its end."""

    kind: Literal["tool"] = "tool"
    call: str = ""
    """The agent's own id of the call, empty where it has none."""
    name: str
    summary: str = ""
    """What it is used on, in one line: a command, a path, a pattern."""
    state: ToolState = ToolState.STARTED


class FileMessage(MessageBase):
    """The agent's tool touched a file; a claim like all it says."""

    kind: Literal["file"] = "file"
    path: str
    action: FileAction


class TodoItem(WireModel):
    """One line of the agent's own to-do list."""

    text: str
    state: Literal["pending", "inProgress", "done"] = "pending"


class TodoMessage(MessageBase):
    """The agent's own to-do list as it now stands; it is not the plan."""

    kind: Literal["todo"] = "todo"
    items: tuple[TodoItem, ...] = ()


class UsageMessage(MessageBase):
    """What the agent has consumed so far in this iteration."""

    kind: Literal["usage"] = "usage"
    usage: Usage


Message = Annotated[
    TextMessage | ToolMessage | FileMessage | TodoMessage | UsageMessage,
    Field(discriminator="kind"),
]
"""The closed union of messages; a reader passes over a line of any other kind."""

MESSAGE_ADAPTER: TypeAdapter[Message] = TypeAdapter(Message, config=DEFERRED)
MESSAGE_TYPES: tuple[type[MessageBase], ...] = (
    TextMessage,
    ToolMessage,
    FileMessage,
    TodoMessage,
    UsageMessage,
)
