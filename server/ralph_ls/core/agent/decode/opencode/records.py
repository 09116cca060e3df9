"""The events of ``opencode run --format json``, as far as we read them.

Each line is one JSON object with a ``type`` and, but for errors, a ``part`` of the conversation.
Only the fields that are used are named: what is not is skipped without being built. It must never
know what the events mean for a loop.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import NOTHING, Words, decode, type_of, words_of


class CacheTokens(msgspec.Struct, gc=False):
    """What was read from a cache, and put into it."""

    read: int | None = None
    write: int | None = None


class Tokens(msgspec.Struct, gc=False):
    """Counts of one step; those of the input hold nothing that a cache gave or keeps."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache: CacheTokens | None = None


class CallState(msgspec.Struct, gc=False):
    """How a call of a tool went."""

    status: str = ""
    input: msgspec.Raw = NOTHING
    output: msgspec.Raw = NOTHING
    error: str = ""
    metadata: msgspec.Raw = NOTHING


class ToolPart(msgspec.Struct, gc=False):
    """A call of a tool, told when it has ended."""

    tool: str = ""
    call_id: str = msgspec.field(name="callID", default="")
    state: CallState = msgspec.field(default_factory=CallState)


class TextPart(msgspec.Struct, gc=False):
    """A whole text of the model."""

    text: str = ""


class FinishPart(msgspec.Struct, gc=False):
    """What one answer of the model used, and why it ended."""

    reason: str = ""
    tokens: Tokens | None = None
    cost: float | None = None


class ToolUse(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """A call has ended, well or not."""

    part: ToolPart
    session_id: str = ""


class TextEvent(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """The model has said something."""

    part: TextPart
    session_id: str = ""


class StepStart(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """The model begins an answer."""

    session_id: str = ""


class StepFinish(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """An answer of the model, and the calls in it, have ended."""

    part: FinishPart
    session_id: str = ""


class ErrorData(msgspec.Struct, rename="camel"):
    """What is known of an error."""

    message: str = ""
    status_code: int | None = None
    response_headers: dict[str, Any] | None = None


class ErrorInfo(msgspec.Struct):
    """An error by its name."""

    name: str = ""
    data: ErrorData = msgspec.field(default_factory=ErrorData)


class ErrorEvent(msgspec.Struct, rename={"session_id": "sessionID"}):
    """The session has failed."""

    error: ErrorInfo
    session_id: str = ""


class FileChange(msgspec.Struct, rename="camel", gc=False):
    """One file of a patch."""

    file_path: str = ""
    type: str = ""


class Account(msgspec.Struct, gc=False):
    """What a tool tells of itself, behind its output."""

    exists: bool | None = None
    """Whether the file was there before it was written."""
    files: list[FileChange] = []
    exit: int | None = None
    """With what a command ended, whose call goes well all the same."""


Event = ToolUse | TextEvent | StepStart | StepFinish | ErrorEvent | Words


def read_line(line: bytes) -> Event | None:
    """Read one line; None for an event that says nothing to us, or that cannot be read."""
    kind = type_of(line)
    if kind is None:
        return words_of(line)
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decode(decoder, line)


def account_in(metadata: msgspec.Raw) -> Account:
    """What a tool tells of itself; nothing where that is no such thing."""
    return decode(_ACCOUNT, metadata) or Account()


_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"tool_use": msgspec.json.Decoder(ToolUse),
    b"text": msgspec.json.Decoder(TextEvent),
    b"step_start": msgspec.json.Decoder(StepStart),
    b"step_finish": msgspec.json.Decoder(StepFinish),
    b"error": msgspec.json.Decoder(ErrorEvent),
}
_ACCOUNT = msgspec.json.Decoder(Account)
