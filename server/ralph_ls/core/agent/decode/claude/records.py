"""Records of ``claude -p --output-format stream-json``, its usage and its failures.

Each line is one JSON object with a ``type``. Records declare only the fields that are used; others,
which are the bulk of a stream, are skipped without being built.

Failures are classified by fields first and by the program's own messages second. Measured: a
missing login and a refused key come as an answer with ``error: authentication_failed``, an
overloaded or broken service as ``server_error`` with or without a status, an unknown model as
``model_not_found``. The result says ``success`` in each of these cases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
from msgspec import structs

from ralph_ls.core.agent.decode.common.json_lines import (
    NULL_JSON,
    RecordReader,
    decode,
)
from ralph_ls.core.agent.failures import failure_in_text, failure_of_status
from ralph_ls.core.agent.usage import add_known
from ralph_ls.protocol.run.messages import UsageCounts
from ralph_ls.protocol.run.report import AgentFailure


class ClaudeBlock(msgspec.Struct, gc=False):
    """One block of a message's content."""

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Any = None
    tool_use_id: str = ""
    is_error: bool | None = None
    content: msgspec.Raw = NULL_JSON


class ClaudeTokens(msgspec.Struct, gc=False):
    """Counts of one message, or of a whole result."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class ClaudeContent(msgspec.Struct, gc=False):
    """A message of the model, or one with tool results."""

    id: str = ""
    model: str = ""
    content: list[ClaudeBlock] | str = ""
    usage: ClaudeTokens | None = None


class ClaudeAssistantRecord(msgspec.Struct, gc=False):
    """One block of the model's answer; ``parent_tool_use_id`` marks a sub-agent's."""

    message: ClaudeContent
    parent_tool_use_id: str | None = None
    session_id: str | None = None
    error: str | None = None
    is_api_error_message: bool = False


class ClaudeUserRecord(msgspec.Struct, gc=False):
    """Input of the model: mostly tool results."""

    message: ClaudeContent
    tool_use_result: msgspec.Raw = NULL_JSON


class ClaudeRetry(msgspec.Struct):
    """The program asks the model again after a delay."""

    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None


class QwenRetry(msgspec.Struct):
    """The same in ``qwen``'s form."""

    attempt: int | None = None
    max_retries: int | None = msgspec.field(name="maxRetries", default=None)
    retry_delay_ms: float | None = msgspec.field(name="delayMs", default=None)
    error_status: int | None = None
    error: str | None = None


class ClaudeSystemRecord(ClaudeRetry):
    """A record of the program itself: start, retries."""

    subtype: str = ""
    session_id: str | None = None
    cwd: str = ""
    model: str | None = None
    data: msgspec.Raw = NULL_JSON
    tool_name: str = ""
    tool_use_id: str = ""


class ClaudeModelUsage(msgspec.Struct, rename="camel"):
    """Cost of one model in the whole session."""

    context_window: int | None = None


class ClaudeDenial(msgspec.Struct):
    """A tool call that was not permitted."""

    tool_name: str = ""
    tool_use_id: str = ""


class ClaudeResultRecord(msgspec.Struct):
    """The end of a turn. A stream may have several, where an agent worked in the background."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] | None = None
    error: Any = None
    """``qwen``'s error: an object with a ``message``."""
    api_error_status: int | None = None
    terminal_reason: str | None = None
    session_id: str | None = None
    total_cost_usd: float | None = None
    num_turns: int | None = None
    usage: ClaudeTokens | None = None
    model_usage: dict[str, ClaudeModelUsage] = msgspec.field(
        name="modelUsage", default_factory=dict
    )
    permission_denials: list[ClaudeDenial] | None = None


class ClaudeLimitInfo(msgspec.Struct, rename="camel"):
    """The state of the account's limits."""

    status: str = ""
    resets_at: float | str | None = None
    is_using_overage: bool = False
    """Over the limit and paid for: the agent continues."""


class ClaudeLimitRecord(msgspec.Struct, rename={"resets_at": "resetsAt"}):
    """A ``rate_limit_event``; its fields are in the record itself or one level below."""

    rate_limit_info: ClaudeLimitInfo | None = None
    status: str = ""
    resets_at: float | str | None = None


ClaudeRecord = (
    ClaudeAssistantRecord
    | ClaudeUserRecord
    | ClaudeSystemRecord
    | ClaudeResultRecord
    | ClaudeLimitRecord
)


def records_in(line: bytes) -> Sequence[bytes]:
    """The records of a line: ``--output-format json --verbose`` prints all in one array."""
    found = decode(_ARRAY, line) if _ARRAY_START.match(line) is not None else None
    return (line,) if found is None else [bytes(record) for record in found]


def parse_qwen_retry(data: msgspec.Raw) -> QwenRetry | None:
    """Parse ``qwen``'s report of a retry; None for any other data."""
    found = decode(_RETRY, data)
    return None if found is None or found.attempt is None else found


def succeeded_call_id(line: bytes, *, is_lone: bool) -> str | None:
    """The id of the only call that a record reports as successful, without parsing the result.

    Such records are nearly all bytes of a stream. No text in JSON contains an unescaped quotation
    mark, so a key with both of its marks is a key. None where the record may contain anything else
    or is cut; then it is to be parsed. ``is_lone``: no other call can have ended in it.
    """
    result = _RESULT.match(line) if line.startswith(_USER) else None
    if result is None or not line.endswith(_ENDS):
        return _succeeded_call_id_in_qwen(line, is_lone=is_lone)
    behind, end = result.end(), len(line)
    flag = line.find(_ERROR_KEY, behind)
    while flag >= 0:
        if line.startswith(_MESSAGE_ENDS, flag):
            # The rest is the tool's structured result, which contains the output again.
            end = flag
            break
        if not line.startswith(_NO_ERROR, flag):
            return None
        flag = line.find(_ERROR_KEY, flag + len(_ERROR_KEY))
    if not is_lone and line.find(_ID_KEY, behind, end) >= 0:
        return None
    return result[1].decode()


def _succeeded_call_id_in_qwen(line: bytes, *, is_lone: bool) -> str | None:
    """The same for ``qwen``, which writes the status before the result."""
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
"""The end of a message whose last result was successful: the next key is the record's."""

_RETRY = msgspec.json.Decoder(QwenRetry)
_ARRAY_START = re.compile(rb"\s*\[\s*\{")
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])

read_line = RecordReader[ClaudeRecord](
    {
        b"assistant": ClaudeAssistantRecord,
        b"user": ClaudeUserRecord,
        b"system": ClaudeSystemRecord,
        b"result": ClaudeResultRecord,
        b"rate_limit_event": ClaudeLimitRecord,
    }
).read_line


class ClaudeUsageCounting(Protocol):
    """Interface of a usage counter."""

    def begin_answer(self, content: ClaudeContent) -> bool:
        """Count an answer at its first block; False for later blocks, and without counts."""
        ...

    def end_turn(self, record: ClaudeResultRecord, model: str | None, /) -> None:
        """Replace the estimated counts by the exact ones."""
        ...

    def counts(self, cost_usd: float | None) -> UsageCounts | None:
        """The total; None where nothing is known."""
        ...


class ClaudeUsageCounter:
    """Counts usage: estimated during a turn, exact at its end."""

    def __init__(self) -> None:
        self._ended = UsageCounts()
        """The turns that have ended."""
        self._n_answers = self._n_new = self._n_cached = 0
        """Of the current turn."""
        self._last_answer: str | ClaudeTokens = ""
        self._context: int | None = None
        self._window: int | None = None

    def begin_answer(self, content: ClaudeContent) -> bool:
        """Count an answer at its first block; False for later blocks, and without counts."""
        tokens = content.usage
        # Blocks of one answer without an id are known by their counts, which are the same.
        answer = content.id or tokens
        if tokens is None or answer is None or answer == self._last_answer:
            return False
        self._last_answer = answer
        new, cached = tokens.input_tokens or 0, tokens.cache_read_input_tokens or 0
        self._context = new + cached + (tokens.cache_creation_input_tokens or 0)
        self._n_answers += 1
        self._n_new += new
        self._n_cached += cached
        return True

    def end_turn(self, record: ClaudeResultRecord, model: str | None) -> None:
        """Replace the estimated counts by the exact ones."""
        tokens, ended = record.usage or ClaudeTokens(), self._ended
        self._ended = UsageCounts(
            input_tokens=add_known(ended.input_tokens, tokens.input_tokens),
            output_tokens=add_known(ended.output_tokens, tokens.output_tokens),
            cached_tokens=add_known(ended.cached_tokens, tokens.cache_read_input_tokens),
            turns=add_known(ended.turns, record.num_turns),
        )
        self._n_answers = self._n_new = self._n_cached = 0
        self._window = _window_of(record.model_usage, model) or self._window

    def counts(self, cost_usd: float | None) -> UsageCounts | None:
        """The total; None where nothing is known."""
        ended = self._ended
        if not self._n_answers:
            known = structs.replace(
                ended,
                cost_usd=cost_usd,
                context_tokens=self._context,
                context_window=self._window,
            )
            return known if known != _UNKNOWN else None
        return UsageCounts(
            input_tokens=(ended.input_tokens or 0) + self._n_new,
            output_tokens=ended.output_tokens,
            cached_tokens=(ended.cached_tokens or 0) + self._n_cached,
            cost_usd=cost_usd,
            turns=(ended.turns or 0) + self._n_answers,
            context_tokens=self._context,
            context_window=self._window,
        )


def parse_time(reported: float | str | None) -> datetime | None:
    """Parse an instant: seconds or milliseconds since 1970, or ISO text."""
    try:
        if isinstance(reported, str) and not _NUMBER.fullmatch(reported):
            moment = datetime.fromisoformat(reported)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        number = None if reported is None else float(reported)
        if number is None:
            return None
        return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _window_of(usage: Mapping[str, ClaudeModelUsage], model: str | None) -> int | None:
    """The context window of the main agent's model, else of the only model."""
    if model is not None and model in usage:
        return usage[model].context_window
    windows = [found.context_window for found in usage.values()]
    return windows[0] if len(windows) == 1 else None


_NUMBER = re.compile(r"\d+(?:\.\d*)?")
_MILLISECONDS = 1e11
"""A larger number is in milliseconds: as seconds it would be in the year 5138."""

_UNKNOWN = UsageCounts()


def failure_at_end(result: ClaudeResultRecord | None, api_error: str) -> AgentFailure | None:
    """Classify a failed result; None for an unknown failure.

    ``api_error`` is the kind in the last answer that the program itself wrote.
    """
    if result is None:
        return _ERRORS.get(api_error, AgentFailure.CRASHED)
    by_words = failure_in_text(result_error_text(result)) if result.is_error else None
    if by_words is AgentFailure.CONTEXT_FULL:
        # Reported as an invalid request like any other.
        return by_words
    return (
        _SUBTYPES.get(result.subtype)
        or _REASONS.get(result.terminal_reason or "")
        or failure_of_status(result.api_error_status)
        or _ERRORS.get(api_error)
        or by_words
    )


def result_error_text(result: ClaudeResultRecord) -> str:
    """The text of a result, successful or not; several errors are joined."""
    error = result.error
    named = error.get("message") if isinstance(error, dict) else None
    return result.result or "; ".join(result.errors or ()) or str(named or "")


_SUBTYPES = {
    "error_max_turns": AgentFailure.MAX_TURNS,
    "error_max_budget_usd": AgentFailure.BUDGET,
}
_REASONS = {
    "max_turns": AgentFailure.MAX_TURNS,
    "budget_exhausted": AgentFailure.BUDGET,
    "prompt_too_long": AgentFailure.CONTEXT_FULL,
}
_ERRORS = {
    "authentication_failed": AgentFailure.NOT_LOGGED_IN,
    "oauth_org_not_allowed": AgentFailure.NOT_LOGGED_IN,
    "account_on_hold": AgentFailure.NOT_LOGGED_IN,
    "verification_required": AgentFailure.NOT_LOGGED_IN,
    "cloud_credential_error": AgentFailure.NOT_LOGGED_IN,
    "billing_error": AgentFailure.NOT_LOGGED_IN,
    "rate_limit": AgentFailure.LIMIT,
    "server_error": AgentFailure.OVERLOADED,
    "overloaded": AgentFailure.OVERLOADED,
    "model_not_found": AgentFailure.WRONG_CALL,
}
"""``billing_error`` needs the user, like a missing login."""
