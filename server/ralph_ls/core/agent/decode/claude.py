"""The stream of ``claude -p --output-format stream-json --verbose``, decoded as it comes.

Four things about it are easily got wrong. An API error ends in a result that says ``success``: only
``is_error`` tells. The usage in an answer's own record is that of its beginning, so the result's
holds. A stream may have several results, each with the usage of its own turn and the cost of the
whole session. And sub-agents speak in it too, marked by ``parent_tool_use_id``: their words are
never the agent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.claude_records import (
    AssistantRecord,
    Block,
    Content,
    LimitRecord,
    Record,
    ResultRecord,
    SystemRecord,
    UserRecord,
    Words,
    decode,
    read_line,
)
from ralph_ls.core.agent.decode.claude_sums import Meter, Said
from ralph_ls.core.agent.decode.claude_tools import (
    TODO_TOOLS,
    TodoList,
    action_of,
    arguments_of,
    file_of,
    summary_of,
)
from ralph_ls.core.agent.decode.final import Final, Limit
from ralph_ls.core.agent.decode.lines import LineSplitter
from ralph_ls.core.agent.errors import find_error_lines
from ralph_ls.protocol.messages import (
    FileMessage,
    Message,
    TextMessage,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageMessage,
)
from ralph_ls.protocol.report import Usage

KEPT_ERRORS = 200
"""Error lines; a flood says nothing more."""

READ_OF_FAILURE = 1 << 16
"""Characters from the end of a failed tool result that are looked through for error lines."""

ENDS = {
    "error_max_turns": "it reached its limit of turns",
    "error_max_budget_usd": "it reached its limit of cost",
    "error_during_execution": "it was interrupted, or failed inside",
}
"""What the kinds of a bad end mean."""


class ClaudeDecoder:
    """Reads one process of ``claude``."""

    def __init__(self, iteration: int, *, earlier_cost_usd: float = 0.0) -> None:
        """``earlier_cost_usd`` is what a session that is resumed had cost before."""
        self._iteration = iteration
        self._earlier_cost = earlier_cost_usd
        self._lines = LineSplitter()
        self._offset = 0
        self._folder = ""
        self._session_id: str | None = None
        self._model: str | None = None
        self._said = Said()
        self._calls: dict[str, _Call] = {}
        self._todos = TodoList()
        self._errors: list[str] = []
        self._denied: dict[str, str] = {}
        self._limit: Limit | None = None
        self._meter = Meter()
        self._result: ResultRecord | None = None

    def feed(self, data: bytes) -> list[Message]:
        """The messages of the lines that these bytes complete."""
        return self._read(self._lines.feed(data))

    def finish(self) -> list[Message]:
        return self._read(self._lines.finish())

    def final(self) -> Final:
        result = self._result
        why = _failure_of(result)
        is_word = result is not None and not why and result.result is not None
        cost = None if result is None else result.total_cost_usd
        own_cost = None if cost is None else round(max(0.0, cost - self._earlier_cost), 6)
        limit = self._limit
        if limit is None and result is not None and result.api_error_status == 429:
            limit = Limit()
        return Final(
            text=str(result.result) if result is not None and is_word else self._said.text,
            earlier=self._said.earlier,
            errors=tuple(self._errors),
            usage=self._meter.usage(own_cost),
            session_cost_usd=cost,
            session_id=self._session_id,
            model=self._model,
            failed=bool(why),
            why=why,
            denied_tools=tuple(self._denied.values()),
            limit=limit,
        )

    def _read(self, lines: list[tuple[int, bytes]]) -> list[Message]:
        messages: list[Message] = []
        for self._offset, line in lines:
            record = read_line(line)
            if record is not None:
                messages.extend(self._take(record))
        return messages

    def _take(self, record: Record | Words) -> list[Message]:
        match record:
            case AssistantRecord():
                return self._take_answer(record)
            case UserRecord(message=content, tool_use_result=told):
                return [
                    message
                    for block in _blocks(content)
                    if block.type == "tool_result"
                    for message in self._end_call(block, told)
                ]
            case SystemRecord():
                return self._take_system(record)
            case ResultRecord():
                return self._take_result(record)
            case LimitRecord():
                self._take_limit(record)
                return []
            case Words(text=text):
                return [self._text(text)]
            case _:
                assert_never(record)

    def _take_answer(self, record: AssistantRecord) -> list[Message]:
        is_main = record.parent_tool_use_id is None
        if record.error is not None or record.is_api_error_message:
            texts = [block.text for block in _blocks(record.message) if block.text]
            for text in texts:
                self._add_errors([text.split("\n")[0]])
            return [self._text(text) for text in texts]
        if is_main:
            # Whatever ended before, the agent is at work again.
            self._result = None
            self._session_id = record.session_id or self._session_id
            self._model = record.message.model or self._model
        messages: list[Message] = []
        for block in _blocks(record.message):
            if block.type == "tool_use":
                messages.extend(self._begin_call(block, is_main=is_main))
            elif block.type == "text" and is_main:
                self._said.add(block.text)
                messages.append(self._text(block.text))
        if is_main and self._meter.begin_answer(record.message):
            messages.append(self._usage(self._meter.usage(None)))
        return messages

    def _begin_call(self, block: Block, *, is_main: bool) -> list[Message]:
        if is_main:
            self._said.tool_called()
        arguments = arguments_of(block.input)
        call = _Call(
            name=block.name,
            arguments=arguments if block.name in TODO_TOOLS else {},
            summary=summary_of(arguments, self._folder),
            path=file_of(block.name, arguments, self._folder),
        )
        self._calls[block.id] = call
        return [] if block.name in TODO_TOOLS else [self._tool(block.id, call, ToolState.STARTED)]

    def _end_call(self, block: Block, told: msgspec.Raw) -> list[Message]:
        if block.is_error:
            self._add_errors(find_error_lines(_text_of(block.content)[-READ_OF_FAILURE:]))
        call = self._calls.pop(block.tool_use_id, None)
        if call is None:
            return []
        if call.name in TODO_TOOLS:
            if block.is_error:
                return []
            self._todos.take(call.name, call.arguments, told)
            items = self._todos.items
            return [TodoMessage(iteration=self._iteration, offset=self._offset, items=items)]
        state = ToolState.FAILED if block.is_error else ToolState.DONE
        messages: list[Message] = [self._tool(block.tool_use_id, call, state)]
        if call.path is not None and not block.is_error:
            messages.append(
                FileMessage(
                    iteration=self._iteration,
                    offset=self._offset,
                    path=call.path,
                    action=action_of(call.name, told),
                )
            )
        return messages

    def _take_system(self, record: SystemRecord) -> list[Message]:
        match record.subtype:
            case "init":
                self._folder = record.cwd
                self._session_id = record.session_id
                self._model = record.model
            case "permission_denied":
                self._denied[record.tool_use_id] = record.tool_name
            case "api_retry":
                return [self._text(_retry_words(record))]
            case _:
                pass
        return []

    def _take_result(self, record: ResultRecord) -> list[Message]:
        self._result = record
        self._session_id = record.session_id or self._session_id
        for denial in record.permission_denials or ():
            self._denied[denial.tool_use_id] = denial.tool_name
        if _failure_of(record):
            self._add_errors([_failure_of(record)])
        self._meter.end_turn(record, self._model)
        usage = self.final().usage
        return [] if usage is None else [self._usage(usage)]

    def _take_limit(self, record: LimitRecord) -> None:
        found = record.rate_limit_info
        status = record.status if found is None else found.status
        seconds = record.resets_at if found is None else found.resets_at
        if status == "rejected":
            self._limit = Limit(resets_at=_moment(seconds))

    def _add_errors(self, lines: list[str] | tuple[str, ...]) -> None:
        """Keep error lines; an API error comes once by itself and once more in the result."""
        for line in lines:
            if len(self._errors) < KEPT_ERRORS and self._errors[-1:] != [line]:
                self._errors.append(line)

    def _text(self, text: str) -> TextMessage:
        return TextMessage(iteration=self._iteration, offset=self._offset, text=text)

    def _tool(self, call_id: str, call: _Call, state: ToolState) -> ToolMessage:
        return ToolMessage(
            iteration=self._iteration,
            offset=self._offset,
            call=call_id,
            name=call.name,
            summary=call.summary,
            state=state,
        )

    def _usage(self, usage: Usage | None) -> UsageMessage:
        found = Usage() if usage is None else usage
        return UsageMessage(iteration=self._iteration, offset=self._offset, usage=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A tool call that has not come back."""

    name: str
    arguments: Mapping[str, Any]
    """Kept only where its end needs them: the text of a whole file may be among them."""
    summary: str
    path: str | None


def _blocks(content: Content) -> list[Block]:
    return [] if isinstance(content.content, str) else content.content


def _text_of(content: msgspec.Raw) -> str:
    """The text of a tool result: a string, or a list of blocks."""
    found = decode(_RESULT, content)
    if isinstance(found, list):
        return "\n".join(block.text for block in found if block.text)
    return found or ""


def _failure_of(result: ResultRecord | None) -> str:
    """How a stream failed, in words; empty where it did not."""
    if result is None:
        return "its output ended without a result"
    if not result.is_error and not result.subtype.startswith("error"):
        return ""
    told = (result.result or "; ".join(result.errors or ())).strip().split("\n")[0]
    means = ENDS.get(result.subtype, "")
    return ": ".join(filter(None, (means, told))) or f"it ended with {result.subtype or 'an error'}"


def _retry_words(record: SystemRecord) -> str:
    what = (record.error or "no answer").replace("_", " ")
    status = "" if record.error_status is None else f" ({record.error_status})"
    wait = "" if record.retry_delay_ms is None else f" in {record.retry_delay_ms / 1000:.1f} s"
    return f"API error: {what}{status}; retry {record.attempt} of {record.max_retries}{wait}"


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


_RESULT = msgspec.json.Decoder(str | list[Block] | None)
