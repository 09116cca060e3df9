"""The records of ``claude -p --output-format stream-json``, as far as we read them.

Each line is one JSON object with a ``type``. Only the fields that are used are named: what is not
is skipped without being built, which is where a stream's bulk lies. It must never know what the
records mean for a loop.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

NOTHING = msgspec.Raw(b"null")


class Block(msgspec.Struct):
    """One block of a message's content."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = NOTHING
    tool_use_id: str = ""
    is_error: bool | None = None
    content: msgspec.Raw = NOTHING


class Tokens(msgspec.Struct):
    """Counts of one message, or of a whole result."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Content(msgspec.Struct):
    """What the model or the agent's tools said."""

    id: str = ""
    model: str = ""
    content: list[Block] | str = ""
    usage: Tokens | None = None


class AssistantRecord(msgspec.Struct):
    """One block of the model's answer; ``parent_tool_use_id`` where a sub-agent speaks."""

    message: Content
    parent_tool_use_id: str | None = None
    session_id: str | None = None
    error: str | None = None
    is_api_error_message: bool = False


class UserRecord(msgspec.Struct):
    """What the model is told: above all the results of its tools."""

    message: Content
    tool_use_result: msgspec.Raw = NOTHING


class SystemRecord(msgspec.Struct):
    """What the program itself tells: its beginning, its retries."""

    subtype: str = ""
    session_id: str | None = None
    cwd: str = ""
    model: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None
    tool_name: str = ""
    tool_use_id: str = ""


class ModelUsage(msgspec.Struct, rename="camel"):
    """What one model cost in the whole session."""

    context_window: int | None = None


class Denial(msgspec.Struct):
    """A tool call that was not permitted."""

    tool_name: str = ""
    tool_use_id: str = ""


class ResultRecord(msgspec.Struct):
    """The end of a turn. One stream may have several, where an agent worked in the background."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] | None = None
    api_error_status: int | None = None
    session_id: str | None = None
    total_cost_usd: float | None = None
    num_turns: int | None = None
    usage: Tokens | None = None
    model_usage: dict[str, ModelUsage] = msgspec.field(name="modelUsage", default_factory=dict)
    permission_denials: list[Denial] | None = None


class LimitInfo(msgspec.Struct, rename="camel"):
    """How the account stands to its limits."""

    status: str = ""
    resets_at: float | None = None


class LimitRecord(msgspec.Struct, rename={"resets_at": "resetsAt"}):
    """A ``rate_limit_event``; its facts stand in the record itself or one level below."""

    rate_limit_info: LimitInfo | None = None
    status: str = ""
    resets_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A line that is no record: a warning of the program, or of something around it."""

    text: str


Record = AssistantRecord | UserRecord | SystemRecord | ResultRecord | LimitRecord
Value = TypeVar("Value")


def read_line(line: bytes) -> Record | Words | None:
    """Read one line; None for a record that says nothing to us, or that cannot be read."""
    if line[:1] != b"{" and line.lstrip()[:1] != b"{":
        text = line.decode("utf-8", errors="replace").strip()
        return Words(text=text) if text else None
    beginning = _TYPE_FIRST.match(line)
    kind = beginning[1].decode() if beginning else kind_of(line)
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decode(decoder, line)


def kind_of(data: bytes | msgspec.Raw) -> str:
    """The ``type`` of an object wherever it stands; empty where there is none."""
    found = decode(_KIND, data)
    return "" if found is None else found.type


def decode(decoder: msgspec.json.Decoder[Value], data: bytes | msgspec.Raw) -> Value | None:
    """Decode; None where the JSON is broken, or has another shape than ours.

    Bytes that are no UTF-8 and halves of surrogate pairs, which a program that cuts texts anywhere
    leaves, are replaced first.
    """
    try:
        return decoder.decode(data)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            mended = json.loads(bytes(data).decode("utf-8", errors="replace"))
            return decoder.decode(json.dumps(mended, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError, msgspec.DecodeError):
            return None


class _Kind(msgspec.Struct):
    type: str = ""


_TYPE_FIRST = re.compile(rb'\s*\{\s*"type"\s*:\s*"(\w+)"')

_KIND = msgspec.json.Decoder(_Kind)

_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "assistant": msgspec.json.Decoder(AssistantRecord),
    "user": msgspec.json.Decoder(UserRecord),
    "system": msgspec.json.Decoder(SystemRecord),
    "result": msgspec.json.Decoder(ResultRecord),
    "rate_limit_event": msgspec.json.Decoder(LimitRecord),
}
