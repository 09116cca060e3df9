"""Events of ``copilot --output-format json``, and its usage file.

Each line is one JSON object with a ``type`` and, except for the last one, its ``data``. Events of
sub-agents have an ``agentId``. Records declare only the fields that are used; others are skipped
without being built.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import (
    NULL_JSON,
    PlainLine,
    decode,
    record_type,
    to_plain_line,
)


class CopilotData(msgspec.Struct, rename="camel", gc=False):
    """Base of all records: the spelling of their fields."""


class CopilotMessage(CopilotData):
    """A complete text and its tool calls, which are also reported separately."""

    content: str = ""
    model: str | None = None
    parent_tool_call_id: str | None = None


class CopilotMessageDelta(CopilotData):
    """A piece of a text that is completed later."""

    message_id: str = ""
    delta_content: str = ""


class CopilotTurnStarted(CopilotData):
    """A model request begins."""


class CopilotToolStarted(CopilotData):
    """A call begins."""

    tool_call_id: str = ""
    tool_name: str = ""
    arguments: msgspec.Raw = NULL_JSON
    mcp_server_name: str | None = None
    mcp_tool_name: str | None = None


class CopilotText(CopilotData):
    """The text of a result."""

    content: str = ""


class CopilotCallError(CopilotData):
    """Why a call failed."""

    message: str = ""
    code: str = ""


class CopilotShell(CopilotData):
    """The result of a command."""

    exit_code: int | None = None


class CopilotFileEdit(CopilotData):
    """A file that a call wrote."""

    path: str = ""
    kind: str = ""


class CopilotMetrics(msgspec.Struct, gc=False):
    """The context window, as some calls report it."""

    context_token_limit: int | None = None
    context_current_tokens: int | None = None


class CopilotTelemetry(CopilotData):
    """Telemetry of a call."""

    metrics: CopilotMetrics | None = None


class CopilotToolEnded(CopilotData):
    """A call ends; a command that failed is a successful call."""

    tool_call_id: str = ""
    success: bool = True
    error: CopilotCallError | None = None
    result: CopilotText | None = None
    shell_execution: CopilotShell | None = None
    file_edits: list[CopilotFileEdit] = []
    tool_telemetry: CopilotTelemetry | None = None


class CopilotSessionError(CopilotData):
    """The program gives up on the request."""

    error_type: str = ""
    message: str = ""
    status_code: int | None = None


class CopilotNotice(CopilotData):
    """A message of the program itself."""

    info_type: str = ""
    message: str = ""


class CopilotUsage(CopilotData):
    """Usage of one model call; the input includes cached tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None


class CopilotContextInfo(CopilotData):
    """How full the context window is."""

    token_limit: int | None = None
    current_tokens: int | None = None


class CopilotUserInputRequested(CopilotData):
    """The model asks the user, where the program permits it."""

    question: str = ""
    choices: list[str] | None = None


class CopilotModelNamed(CopilotData):
    """The model from now on."""

    model: str | None = None
    new_model: str | None = None


class CopilotSessionNamed(CopilotData):
    """The id of the session."""

    session_id: str | None = None


class CopilotResult(CopilotData):
    """The last record, successful or not."""

    session_id: str | None = None
    exit_code: int | None = None


CopilotEventData = (
    CopilotMessage
    | CopilotMessageDelta
    | CopilotTurnStarted
    | CopilotToolStarted
    | CopilotToolEnded
    | CopilotSessionError
    | CopilotNotice
    | CopilotUsage
    | CopilotContextInfo
    | CopilotUserInputRequested
    | CopilotModelNamed
    | CopilotSessionNamed
    | CopilotResult
)


class CopilotEvent(CopilotData):
    """The record around the data."""

    data: msgspec.Raw = NULL_JSON
    agent_id: str | None = None


def read_line(line: bytes) -> tuple[CopilotEventData | PlainLine | None, bool]:
    """Parse one line, and whether it is the main agent's; None where it is not used."""
    kind = record_type(line)
    if kind is None:
        return to_plain_line(line), True
    if kind == b"result":
        return decode(_RESULT, line), True
    decoder = _DECODERS.get(kind)
    event = None if decoder is None else decode(_EVENT, line)
    if decoder is None or event is None:
        return None, True
    return decode(decoder, event.data), event.agent_id is None


class CopilotModelUsage(CopilotData):
    """Usage of one model."""

    usage: CopilotUsage | None = None


class CopilotUsageFile(CopilotData):
    """The file of ``--usage-output-file``: counts of the whole session."""

    model_metrics: dict[str, CopilotModelUsage] = {}
    last_call_input_tokens: int | None = None


def read_usage_file(data: bytes) -> CopilotUsageFile | None:
    """Parse the file; None where it is broken or empty."""
    return decode(_USAGE_FILE, data)


_USAGE_FILE = msgspec.json.Decoder(CopilotUsageFile)
_EVENT = msgspec.json.Decoder(CopilotEvent)
_RESULT = msgspec.json.Decoder(CopilotResult)
_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"assistant.message": msgspec.json.Decoder(CopilotMessage),
    b"assistant.message_delta": msgspec.json.Decoder(CopilotMessageDelta),
    b"assistant.turn_start": msgspec.json.Decoder(CopilotTurnStarted),
    b"assistant.usage": msgspec.json.Decoder(CopilotUsage),
    b"tool.execution_start": msgspec.json.Decoder(CopilotToolStarted),
    b"tool.execution_complete": msgspec.json.Decoder(CopilotToolEnded),
    b"session.error": msgspec.json.Decoder(CopilotSessionError),
    b"session.info": msgspec.json.Decoder(CopilotNotice),
    b"session.warning": msgspec.json.Decoder(CopilotNotice),
    b"session.usage_info": msgspec.json.Decoder(CopilotContextInfo),
    b"session.tools_updated": msgspec.json.Decoder(CopilotModelNamed),
    b"session.model_change": msgspec.json.Decoder(CopilotModelNamed),
    b"session.start": msgspec.json.Decoder(CopilotSessionNamed),
    b"user_input.requested": msgspec.json.Decoder(CopilotUserInputRequested),
}
