"""Decoder for ``claude -p --output-format stream-json --verbose``, and for the array of ``json``.

Peculiarities of this stream: An API error ends in a result with the subtype ``success``; only
``is_error`` shows it. The usage in an answer's own record is that of its beginning, so the result's
is used. A stream may have several results, each with the usage of its turn and the cost of the
whole session. Sub-agents write to it too, marked by ``parent_tool_use_id``; their text is never the
agent's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.claude.records import (
    ClaudeAssistantRecord,
    ClaudeBlock,
    ClaudeContent,
    ClaudeLimitInfo,
    ClaudeLimitRecord,
    ClaudeRecord,
    ClaudeResultRecord,
    ClaudeRetry,
    ClaudeSystemRecord,
    ClaudeUsageCounter,
    ClaudeUsageCounting,
    ClaudeUserRecord,
    QwenRetry,
    failure_at_end,
    parse_qwen_retry,
    parse_time,
    read_line,
    records_in,
    result_error_text,
    succeeded_call_id,
)
from ralph_ls.core.agent.decode.common.json_lines import NULL_JSON, LineSplitter, PlainLine, decode
from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_FAILURE_OUTPUT,
    ErrorLines,
    FinalTextBuffer,
    MessageEmitter,
    is_question_tool,
    limit_open_calls,
    question_text,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    ACCOUNTED_TOOLS,
    SUB_AGENT_TEXT,
    TODO_TOOLS,
    TodoList,
    file_action_of,
    has_answer,
    summarise_arguments,
    texts_in,
    touched_file,
)
from ralph_ls.core.agent.failures import find_error_lines
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.core.agent.tools import MOST_KEPT, call_key, own_tool
from ralph_ls.protocol.run.messages import AgentMessage, ToolState, UsageCounts

ENDS = {
    "error_max_turns": "reached the turn limit",
    "error_max_budget_usd": "reached the cost limit",
    "error_during_execution": "interrupted, or failed internally",
}
"""Descriptions of the subtypes that mean failure."""

NO_END = "the output ended without a result"


class ClaudeDecoder:
    """Decodes the output of one ``claude`` process."""

    def __init__(
        self,
        start: int,
        *,
        earlier_cost_usd: float = 0.0,
        meter: ClaudeUsageCounting | None = None,
        tools: Mapping[str, str] | None = None,
    ) -> None:
        """``earlier_cost_usd`` is what a resumed session had cost before.

        The last two parameters are for programs that use the same stream, but count differently,
        and have other tool names: each is mapped to the name that ``claude`` uses.
        """
        self._earlier_cost = earlier_cost_usd
        self._lines = LineSplitter()
        self._emitter = MessageEmitter(start)
        self._folder = ""
        self._session_id: str | None = None
        self._model: str | None = None
        self._final_text = FinalTextBuffer()
        self._calls: dict[str, _Call] = {}
        self._todos = TodoList()
        self._errors = ErrorLines()
        self._denied: dict[str, str] = {}
        self._limit: AccountLimit | None = None
        self._has_gone_on = False
        """Whether the agent continued to work after reaching its limit."""
        self._api_error = ""
        """The kind of the last failure that the program reported in place of an answer."""
        self._question = ""
        self._meter: ClaudeUsageCounting = meter or ClaudeUsageCounter()
        self._counted: UsageCounts | None = None
        """The usage that was emitted last."""
        self._sub_agent_calls: dict[str, None] = {}
        """Calls of the iteration's own tools that sub-agents made."""
        self._tools = tools or {}
        self._result: ClaudeResultRecord | None = None

    def feed(self, data: bytes) -> list[AgentMessage]:
        """The messages of the lines that these bytes complete."""
        return self._read(*self._lines.feed(data))

    def finish(self) -> list[AgentMessage]:
        return self._read(*self._lines.finish())

    def final(self) -> AgentResult:
        result = self._result
        why = _failure_of(result)
        is_word = result is not None and not why and result.result is not None
        counts = self._meter.counts(self._own_cost())
        return AgentResult(
            text=str(result.result) if result is not None and is_word else self._final_text.text,
            earlier_block=self._final_text.earlier_block,
            question=self._question,
            errors=self._errors.lines,
            usage=None if counts is None else counts.to_usage(),
            session_cost_usd=None if result is None else result.total_cost_usd,
            session_id=self._session_id,
            model=self._model,
            failed=bool(why),
            why=why,
            failure=failure_at_end(result, self._api_error) if why else None,
            denied_tools=tuple(
                name for name in self._denied.values() if not is_question_tool(name)
            ),
            limit=self._limit_at_end(),
            sub_agent_calls=tuple(self._sub_agent_calls),
        )

    def _own_cost(self) -> float | None:
        """The cost of this process only."""
        cost = None if self._result is None else self._result.total_cost_usd
        return None if cost is None else round(max(0.0, cost - self._earlier_cost), 6)

    def _read(self, offset: int, lines: list[bytes]) -> list[AgentMessage]:
        for line in lines:
            self._emitter.offset = offset
            offset += len(line)
            if not (self._calls and self._passes_over(line)):
                for one in records_in(line):
                    record = read_line(one)
                    if record is not None:
                        self._take(record)
        return self._emitter.take()

    def _passes_over(self, line: bytes) -> bool:
        """Whether a line reports nothing but the success of a call, which is then processed."""
        call_id = succeeded_call_id(line, is_lone=len(self._calls) == 1)
        if call_id is None:
            return False
        call = self._calls.get(call_id)
        if call is None:
            return True
        if call.needs_account:
            return False
        self._end_call(call_id, call, NULL_JSON, is_error=False)
        return True

    def _take(self, record: ClaudeRecord | PlainLine) -> None:
        match record:
            case ClaudeAssistantRecord():
                self._take_answer(record)
            case ClaudeUserRecord(message=content, tool_use_result=tool_result):
                for block in _blocks(content):
                    if block.type == "tool_result":
                        self._take_result_of_call(block, tool_result)
            case ClaudeSystemRecord():
                self._take_system(record)
            case ClaudeResultRecord():
                self._take_result(record)
            case ClaudeLimitRecord():
                self._take_limit(record)
            case PlainLine(text=text):
                self._emitter.text(text)
            case _:
                assert_never(record)

    def _take_answer(self, record: ClaudeAssistantRecord) -> None:
        is_main = record.parent_tool_use_id is None
        if record.error is not None or record.is_api_error_message:
            self._take_api_error(record, is_main=is_main)
            return
        if is_main:
            # The agent is working again, whatever ended before.
            self._result = None
            self._has_gone_on = True
            self._api_error = ""
            self._session_id = record.session_id or self._session_id
            self._model = record.message.model or self._model
        for block in _blocks(record.message):
            if block.type == "tool_use":
                self._begin_call(block, is_main=is_main)
            elif block.type == "text" and is_main:
                self._final_text.add(block.text)
                self._emitter.text(block.text)
        if is_main and self._meter.begin_answer(record.message):
            self._emit_usage(None)

    def _take_api_error(self, record: ClaudeAssistantRecord, *, is_main: bool) -> None:
        """The program reports, in place of an answer, that there is none."""
        if is_main:
            self._api_error = record.error or ""
        if is_main and record.error == "rate_limit":
            self._meet_limit(self._limit or AccountLimit())
        for block in _blocks(record.message):
            if block.text:
                self._errors.add([block.text.split("\n")[0]])
                self._emitter.text(block.text)

    def _begin_call(self, block: ClaudeBlock, *, is_main: bool) -> None:
        name, known = block.name, self._tools.get(block.name, block.name)
        arguments = block.input if isinstance(block.input, dict) else {}
        asks, is_todo = is_question_tool(name), known in TODO_TOOLS
        own = None if is_main else own_tool(name)
        if own is not None and len(self._sub_agent_calls) < MOST_KEPT:
            self._sub_agent_calls[call_key(own, arguments)] = None
        if is_main:
            self._final_text.tool_called()
            self._question = question_text(arguments) if asks else ""
        call = _Call(
            name=name,
            known=known,
            arguments=arguments if is_todo else {},
            summary=summarise_arguments(arguments, self._folder),
            path=touched_file(known, arguments, self._folder),
            needs_account=asks or known in ACCOUNTED_TOOLS,
        )
        self._calls[block.id] = call
        limit_open_calls(self._calls)
        if not is_todo:
            self._emitter.tool(block.id, name, call.summary, ToolState.STARTED)

    def _take_result_of_call(self, block: ClaudeBlock, tool_result: msgspec.Raw) -> None:
        if block.is_error:
            self._errors.add(find_error_lines(_text_of(block.content)[-MAX_FAILURE_OUTPUT:]))
        call = self._calls.get(block.tool_use_id)
        if call is not None:
            account = block.content if tool_result == NULL_JSON else tool_result
            self._end_call(block.tool_use_id, call, account, is_error=bool(block.is_error))

    def _end_call(
        self, call_id: str, call: _Call, tool_result: msgspec.Raw, *, is_error: bool
    ) -> None:
        """``tool_result`` is the tool's structured result, for the calls that need it."""
        del self._calls[call_id]
        if (
            self._question
            and is_question_tool(call.name)
            and not is_error
            and has_answer(tool_result)
        ):
            self._question = ""
        if call.known in TODO_TOOLS:
            if not is_error:
                self._todos.take(call.known, call.arguments, tool_result)
                self._emitter.todos(self._todos.items)
            return
        state = ToolState.FAILED if is_error else ToolState.DONE
        self._emitter.tool(call_id, call.name, call.summary, state)
        if call.path is not None and not is_error:
            self._emitter.file(call.path, file_action_of(call.known, tool_result))

    def _take_system(self, record: ClaudeSystemRecord) -> None:
        match record.subtype:
            case "init":
                self._folder = record.cwd
                self._session_id = record.session_id
                self._model = record.model
            case "permission_denied":
                self._denied[record.tool_use_id] = record.tool_name
            case "api_retry":
                self._emitter.text(_retry_words(record))
            case "retry":
                again = parse_qwen_retry(record.data)
                if again is not None:
                    self._emitter.text(_retry_words(again))
            case _:
                pass

    def _take_result(self, record: ClaudeResultRecord) -> None:
        self._result = record
        self._session_id = record.session_id or self._session_id
        for denial in record.permission_denials or ():
            self._denied[denial.tool_use_id] = denial.tool_name
        if _failure_of(record):
            self._errors.add([_failure_of(record)])
        self._meter.end_turn(record, self._model)
        self._emit_usage(self._own_cost())

    def _emit_usage(self, cost_usd: float | None) -> None:
        counts = self._meter.counts(cost_usd)
        if counts is not None and counts != self._counted:
            self._counted = counts
            self._emitter.usage(counts)

    def _take_limit(self, record: ClaudeLimitRecord) -> None:
        found = record.rate_limit_info or record
        is_paid_for = isinstance(found, ClaudeLimitInfo) and found.is_using_overage
        if found.status == "rejected" and not is_paid_for:
            self._meet_limit(AccountLimit(resets_at=parse_time(found.resets_at)))

    def _meet_limit(self, limit: AccountLimit) -> None:
        self._limit, self._has_gone_on = limit, False

    def _limit_at_end(self) -> AccountLimit | None:
        """The limit that ended the agent; None where it continued and ended otherwise."""
        result, limit = self._result, self._limit
        if result is not None and result.api_error_status == 429:
            return limit or AccountLimit()
        is_api_failure = (
            result is not None and result.is_error and not result.subtype.startswith("error")
        )
        return limit if is_api_failure or not self._has_gone_on else None


class _Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call without a result."""

    name: str
    known: str
    """The name of the corresponding ``claude`` tool."""
    arguments: Mapping[str, Any]
    """Kept only where the end of the call needs them, since they may contain a whole file."""
    summary: str
    path: str | None
    needs_account: bool
    """Whether the tool's structured result is needed at the end of the call."""


def _blocks(content: ClaudeContent) -> list[ClaudeBlock]:
    return [] if isinstance(content.content, str) else content.content


def _text_of(content: msgspec.Raw) -> str:
    """The text of a tool result: a string, or a list of blocks."""
    found = decode(_RESULT, content)
    if isinstance(found, list):
        return "\n".join(block.text for block in found if block.text)
    return found or ""


def _failure_of(result: ClaudeResultRecord | None) -> str:
    """How a stream failed, in words; empty for success."""
    if result is None:
        return NO_END
    if not result.is_error and not result.subtype.startswith("error"):
        return ""
    tool_result = result_error_text(result).strip().split("\n")[0]
    means = "" if tool_result and result.error is not None else ENDS.get(result.subtype, "")
    return (
        ": ".join(filter(None, (means, tool_result)))
        or f"it ended with {result.subtype or 'an error'}"
    )


def _retry_words(record: ClaudeRetry | QwenRetry) -> str:
    what = (record.error or "no answer").replace("_", " ")
    status = "" if record.error_status is None else f" ({record.error_status})"
    wait = "" if record.retry_delay_ms is None else f" in {record.retry_delay_ms / 1000:.1f} s"
    return f"API error: {what}{status}; retry {record.attempt} of {record.max_retries}{wait}"


_RESULT = msgspec.json.Decoder(str | list[ClaudeBlock] | None)


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record, each with its place."""
    kind = record.get("type")
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    is_main = record.get("parent_tool_use_id") is None
    if kind in {"assistant", "user"}:
        for block in blocks:
            shape = block.get("type") if isinstance(block, dict) else None
            where = _PLACES.get((kind, shape)) if isinstance(shape, str) else None
            if where is not None:
                is_sub_agent = kind == "assistant" and not is_main and shape != "tool_use"
                yield from texts_in(SUB_AGENT_TEXT if is_sub_agent else where, block)


_PLACES = {
    ("assistant", "text"): "an earlier text",
    ("assistant", "thinking"): "the reasoning",
    ("assistant", "tool_use"): "a tool's call",
    ("user", "tool_result"): "a tool's result",
    ("user", "text"): "the prompt",
}
