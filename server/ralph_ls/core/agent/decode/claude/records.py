"""The records of ``claude -p --output-format stream-json``, as far as we read them.

Each line is one JSON object with a ``type``. Only the fields that are used are named: what is not
is skipped without being built, which is where a stream's bulk lies. It must never know what the
records mean for a loop.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import NOTHING, Words, decode, type_of, words_of


class Block(msgspec.Struct, gc=False):
    """One block of a message's content."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    is_error: bool | None = None
    content: msgspec.Raw = NOTHING


class Tokens(msgspec.Struct, gc=False):
    """Counts of one message, or of a whole result."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class Content(msgspec.Struct, gc=False):
    """What the model or the agent's tools said."""

    id: str = ""
    model: str = ""
    content: list[Block] | str = ""
    usage: Tokens | None = None


class AssistantRecord(msgspec.Struct, gc=False):
    """One block of the model's answer; ``parent_tool_use_id`` where a sub-agent speaks."""

    message: Content
    parent_tool_use_id: str | None = None
    session_id: str | None = None
    error: str | None = None
    is_api_error_message: bool = False


class UserRecord(msgspec.Struct, gc=False):
    """What the model is told: above all the results of its tools."""

    message: Content
    tool_use_result: msgspec.Raw = NOTHING


class Retry(msgspec.Struct):
    """The program asks the model again after a while."""

    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None


class RetryData(msgspec.Struct):
    """The same, as ``qwen`` tells it."""

    attempt: int | None = None
    max_retries: int | None = msgspec.field(name="maxRetries", default=None)
    retry_delay_ms: float | None = msgspec.field(name="delayMs", default=None)
    error_status: int | None = None
    error: str | None = None


class SystemRecord(Retry):
    """What the program itself tells: its beginning, its retries."""

    subtype: str = ""
    session_id: str | None = None
    cwd: str = ""
    model: str | None = None
    data: msgspec.Raw = NOTHING
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
    error: Any = None
    """Where ``qwen`` says what went wrong: an object with a ``message``."""
    api_error_status: int | None = None
    terminal_reason: str | None = None
    session_id: str | None = None
    total_cost_usd: float | None = None
    num_turns: int | None = None
    usage: Tokens | None = None
    model_usage: dict[str, ModelUsage] = msgspec.field(name="modelUsage", default_factory=dict)
    permission_denials: list[Denial] | None = None


class LimitInfo(msgspec.Struct, rename="camel"):
    """How the account stands to its limits."""

    status: str = ""
    resets_at: float | str | None = None
    is_using_overage: bool = False
    """Beyond the limit, and paid for: the agent works on."""


class LimitRecord(msgspec.Struct, rename={"resets_at": "resetsAt"}):
    """A ``rate_limit_event``; its facts stand in the record itself or one level below."""

    rate_limit_info: LimitInfo | None = None
    status: str = ""
    resets_at: float | str | None = None


Record = AssistantRecord | UserRecord | SystemRecord | ResultRecord | LimitRecord


def read_line(line: bytes) -> Record | Words | None:
    """Read one line; None for a record that says nothing to us, or that cannot be read."""
    kind = type_of(line)
    if kind is None:
        return words_of(line)
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decode(decoder, line)


def retry_in(data: msgspec.Raw) -> RetryData | None:
    """That the model is asked again; None where that is not what is told."""
    found = decode(_RETRY, data)
    return None if found is None or found.attempt is None else found


def went_well(line: bytes, *, is_lone: bool) -> str | None:
    """The id of the one call that a record says went well, without reading what it brought back.

    That is where nearly all bytes of a stream are. No text in JSON can hold a quotation mark that
    is not escaped, so a key with both of its marks is one. None where the record may say anything
    else, or is cut: then it is to be read. ``is_lone`` is whether no other call can have come back
    in it.
    """
    result = _RESULT.match(line) if line.startswith(_USER) else None
    if result is None or not line.endswith(_ENDS):
        return _went_well_in_qwen(line, is_lone=is_lone)
    behind, end = result.end(), len(line)
    flag = line.find(_ERROR_KEY, behind)
    while flag >= 0:
        if line.startswith(_MESSAGE_ENDS, flag):
            # All that is left is the tool's own account, which holds the output once more.
            end = flag
            break
        if not line.startswith(_NO_ERROR, flag):
            return None
        flag = line.find(_ERROR_KEY, flag + len(_ERROR_KEY))
    if not is_lone and line.find(_ID_KEY, behind, end) >= 0:
        return None
    return result[1].decode()


def _went_well_in_qwen(line: bytes, *, is_lone: bool) -> str | None:
    """The same for ``qwen``, which tells how a call went in front of what it brought back."""
    result = _RESULT_OF_QWEN.match(line)
    if result is None or not line.endswith(_ENDS):
        return None
    has_more = not is_lone and line.find(_ID_KEY, result.end()) >= 0
    return None if has_more else result[1].decode()


_RESULT_OF_QWEN = re.compile(
    rb'\{"type":"user","uuid":"[\w-]*","session_id":"[\w-]*","parent_tool_use_id":'
    rb'(?:null|"[\w-]*"),"message":\{"role":"user","content":\['
    rb'\{"type":"tool_result","tool_use_id":"([\w-]+)","is_error":false,"content":'
)
_USER = b'{"type":"user"'
_RESULT = re.compile(
    rb'\{"type":"user","message":\{"role":"user","content":\['
    rb'\{(?:"type":"tool_result",)?"tool_use_id":"([\w-]+)",(?:"type":"tool_result",)?"content":'
)
_ENDS = (b"}\n", b"}\r\n")
_ID_KEY = b'"tool_use_id":'
_ERROR_KEY = b'"is_error":'
_NO_ERROR = _ERROR_KEY + b"false"
_MESSAGE_ENDS = _NO_ERROR + b'}]},"parent_tool_use_id":'
"""How a message ends whose last result went well: the key behind it is the record's own."""

_RETRY = msgspec.json.Decoder(RetryData)

_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"assistant": msgspec.json.Decoder(AssistantRecord),
    b"user": msgspec.json.Decoder(UserRecord),
    b"system": msgspec.json.Decoder(SystemRecord),
    b"result": msgspec.json.Decoder(ResultRecord),
    b"rate_limit_event": msgspec.json.Decoder(LimitRecord),
}
