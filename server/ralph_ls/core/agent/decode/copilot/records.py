"""The events of ``copilot --output-format json``, as far as we read them.

Each line is one JSON object with a ``type`` and, but for the last one, its ``data``. The events of
agents below the main one bear an ``agentId``. Only the fields that are used are named: what is not
is skipped without being built. It must never know what the events mean for a loop.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import NOTHING, Words, decode, type_of, words_of


class Data(msgspec.Struct, rename="camel", gc=False):
    """What all have in common: the names of their fields."""


class Message(Data):
    """A text, whole, and the calls that it comes with, which are told once more by themselves."""

    content: str = ""
    model: str | None = None
    parent_tool_call_id: str | None = None


class MessageDelta(Data):
    """A piece of a text whose whole comes later."""

    message_id: str = ""
    delta_content: str = ""


class TurnStarted(Data):
    """The model is asked."""


class ToolStarted(Data):
    """A call begins."""

    tool_call_id: str = ""
    tool_name: str = ""
    arguments: msgspec.Raw = NOTHING
    mcp_server_name: str | None = None
    mcp_tool_name: str | None = None


class Text(Data):
    """The text of a result."""

    content: str = ""


class CallError(Data):
    """Why a call failed."""

    message: str = ""
    code: str = ""


class Shell(Data):
    """What a command came to."""

    exit_code: int | None = None


class FileEdit(Data):
    """A file that a call wrote."""

    path: str = ""
    kind: str = ""


class Metrics(msgspec.Struct, gc=False):
    """What some calls tell of the context window."""

    context_token_limit: int | None = None
    context_current_tokens: int | None = None


class Telemetry(Data):
    """What a call tells of itself."""

    metrics: Metrics | None = None


class ToolEnded(Data):
    """A call ends; a command that failed is a call that went well."""

    tool_call_id: str = ""
    success: bool = True
    error: CallError | None = None
    result: Text | None = None
    shell_execution: Shell | None = None
    file_edits: list[FileEdit] = []
    tool_telemetry: Telemetry | None = None


class SessionError(Data):
    """The program gives up on what it was asked."""

    error_type: str = ""
    message: str = ""
    status_code: int | None = None


class Told(Data):
    """Something that the program says by itself."""

    info_type: str = ""
    message: str = ""


class Spent(Data):
    """What one call of the model used; those of the input hold what a cache gave."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None


class ContextInfo(Data):
    """How full the context window is."""

    token_limit: int | None = None
    current_tokens: int | None = None


class UserInputRequested(Data):
    """The model asks the person, where the program lets it."""

    question: str = ""
    choices: list[str] | None = None


class ModelNamed(Data):
    """The model that is used from now on."""

    model: str | None = None
    new_model: str | None = None


class SessionNamed(Data):
    """The session that this is."""

    session_id: str | None = None


class Result(Data):
    """The last record, well or not."""

    session_id: str | None = None
    exit_code: int | None = None


Thing = (
    Message
    | MessageDelta
    | TurnStarted
    | ToolStarted
    | ToolEnded
    | SessionError
    | Told
    | Spent
    | ContextInfo
    | UserInputRequested
    | ModelNamed
    | SessionNamed
    | Result
)


class Event(Data):
    """The record around the data."""

    data: msgspec.Raw = NOTHING
    agent_id: str | None = None


def read_line(line: bytes) -> tuple[Thing | Words | None, bool]:
    """Read one line, and whether it is the main agent's; None where it says nothing to us."""
    kind = type_of(line)
    if kind is None:
        return words_of(line), True
    if kind == b"result":
        return decode(_RESULT, line), True
    decoder = _DECODERS.get(kind)
    event = None if decoder is None else decode(_EVENT, line)
    if decoder is None or event is None:
        return None, True
    return decode(decoder, event.data), event.agent_id is None


class ModelUsage(Data):
    """What was used of one model."""

    usage: Spent | None = None


class UsageFile(Data):
    """The file of ``--usage-output-file``: counts of the whole session."""

    model_metrics: dict[str, ModelUsage] = {}
    last_call_input_tokens: int | None = None


def read_usage_file(data: bytes) -> UsageFile | None:
    """Read the file; None where it is broken or empty."""
    return decode(_USAGE_FILE, data)


_USAGE_FILE = msgspec.json.Decoder(UsageFile)
_EVENT = msgspec.json.Decoder(Event)
_RESULT = msgspec.json.Decoder(Result)
_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"assistant.message": msgspec.json.Decoder(Message),
    b"assistant.message_delta": msgspec.json.Decoder(MessageDelta),
    b"assistant.turn_start": msgspec.json.Decoder(TurnStarted),
    b"assistant.usage": msgspec.json.Decoder(Spent),
    b"tool.execution_start": msgspec.json.Decoder(ToolStarted),
    b"tool.execution_complete": msgspec.json.Decoder(ToolEnded),
    b"session.error": msgspec.json.Decoder(SessionError),
    b"session.info": msgspec.json.Decoder(Told),
    b"session.warning": msgspec.json.Decoder(Told),
    b"session.usage_info": msgspec.json.Decoder(ContextInfo),
    b"session.tools_updated": msgspec.json.Decoder(ModelNamed),
    b"session.model_change": msgspec.json.Decoder(ModelNamed),
    b"session.start": msgspec.json.Decoder(SessionNamed),
    b"user_input.requested": msgspec.json.Decoder(UserInputRequested),
}
