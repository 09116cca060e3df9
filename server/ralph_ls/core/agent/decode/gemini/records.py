"""The records of ``gemini -o stream-json``, as far as we read them.

Each line is one JSON object with a ``type``. Only the fields that are used are named: what is not
is skipped without being built. It must never know what the records mean for a loop.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import NOTHING, Words, decode, type_of, words_of


class InitRecord(msgspec.Struct):
    """The first record."""

    session_id: str | None = None
    model: str | None = None


class MessageRecord(msgspec.Struct, gc=False):
    """Words: the prompt, or a piece of what the model says."""

    role: str = ""
    content: str = ""
    delta: bool | None = None


class ToolUse(msgspec.Struct, gc=False):
    """A call of a tool begins."""

    tool_name: str = ""
    tool_id: str = ""
    parameters: msgspec.Raw = NOTHING


class Failure(msgspec.Struct, gc=False):
    """What went wrong."""

    type: str = ""
    message: str = ""


class ToolResult(msgspec.Struct, gc=False):
    """A call has ended, well or not."""

    tool_id: str = ""
    status: str = ""
    output: msgspec.Raw = NOTHING
    error: Failure | None = None


class ErrorRecord(msgspec.Struct):
    """Something is wrong; a warning may be got over."""

    severity: str = ""
    message: str = ""


class Stats(msgspec.Struct):
    """Counts of the whole process; those of the input hold what a cache gave."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None
    models: dict[str, Any] = {}


class ResultRecord(msgspec.Struct):
    """The end."""

    status: str = ""
    error: Failure | None = None
    stats: Stats | None = None


Record = InitRecord | MessageRecord | ToolUse | ToolResult | ErrorRecord | ResultRecord | Words


def read_line(line: bytes) -> Record | None:
    """Read one line; None for a record that says nothing to us, or that cannot be read."""
    kind = type_of(line)
    if kind is None:
        return words_of(line)
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decode(decoder, line)


def went_well(line: bytes) -> str | None:
    """The id of the call that a record says went well, without reading what it brought back."""
    found = _WENT_WELL.match(line)
    return None if found is None or not line.endswith(_ENDS) else found[1].decode()


_WENT_WELL = re.compile(
    rb'\{"type":"tool_result","timestamp":"[^"\\]*","tool_id":"([^"\\]*)","status":"success"[,}]'
)
_ENDS = (b"}\n", b"}\r\n")

_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"init": msgspec.json.Decoder(InitRecord),
    b"message": msgspec.json.Decoder(MessageRecord),
    b"tool_use": msgspec.json.Decoder(ToolUse),
    b"tool_result": msgspec.json.Decoder(ToolResult),
    b"error": msgspec.json.Decoder(ErrorRecord),
    b"result": msgspec.json.Decoder(ResultRecord),
}
