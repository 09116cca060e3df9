"""Decoder for ``codex exec --json``.

Peculiarities of this stream: Counts are those of the whole thread, including the time before a
resume, and input includes cached tokens. An ``error`` may be one from which the program recovers;
only ``turn.failed``, or a turn without an end, is a failure. A to-do list is completed at the end
of a turn, after the final text, and is not a tool call. A warning about a setting at the start
comes as an item of the kind ``error``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.codex.records import (
    PATCH,
    TOOL_ITEMS,
    CodexErrorEvent,
    CodexEvent,
    CodexInputRequested,
    CodexItem,
    CodexItemCompleted,
    CodexItemStarted,
    CodexItemUpdated,
    CodexThreadStarted,
    CodexTokens,
    CodexTurnCompleted,
    CodexTurnFailed,
    CodexTurnStarted,
    changed_files,
    item_tool_name,
    read_line,
    succeeded_command_id,
    summarise_item,
    to_todos,
)
from ralph_ls.core.agent.decode.common.json_lines import LineSplitter, PlainLine, decode
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
    SUB_AGENT_TEXT,
    first_line,
    parse_arguments,
    texts_in,
)
from ralph_ls.core.agent.failures import failure_in_text, find_error_lines
from ralph_ls.core.agent.result import AccountLimit, AgentResult, find_account_limit
from ralph_ls.core.agent.usage import subtract_known
from ralph_ls.protocol.run.messages import AgentMessage, TodoItem, ToolState, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure, Usage

NO_END = "the output ended in the middle of a turn"


class CodexDecoder:
    """Decodes the output of one ``codex`` process."""

    def __init__(self, start: int, *, folder: str = "", earlier_usage: Usage | None = None) -> None:
        """``earlier_usage`` is what a resumed thread had used before."""
        self._folder = folder
        self._earlier_usage = earlier_usage or Usage()
        self._lines = LineSplitter()
        self._emitter = MessageEmitter(start)
        self._thread_id: str | None = None
        self._final_text = FinalTextBuffer()
        self._question = ""
        self._calls: dict[str, tuple[str, str]] = {}
        """Name and summary of each open call."""
        self._todos: tuple[TodoItem, ...] = ()
        self._errors = ErrorLines()
        self._denied: list[str] = []
        self._tokens: CodexTokens | None = None
        self._is_in_turn = False
        self._why: str | None = NO_END
        """Why the turn failed; None for success."""
        self._last_error = ""

    def feed(self, data: bytes) -> list[AgentMessage]:
        """The messages of the lines that these bytes complete."""
        return self._read(*self._lines.feed(data))

    def finish(self) -> list[AgentMessage]:
        return self._read(*self._lines.finish())

    def final(self) -> AgentResult:
        why, limit = self._why, None
        if why is not None:
            limit = find_account_limit(why) or find_account_limit(self._last_error)
        own, whole = self._counts(), _normalised(self._tokens)
        return AgentResult(
            text=self._final_text.last,
            earlier_block=self._final_text.last_block,
            question=self._question,
            errors=self._errors.lines,
            usage=None if own is None else own.to_usage(),
            session_usage=None if whole is None else whole.to_usage(),
            session_id=self._thread_id,
            failed=why is not None,
            why=first_line(why or ""),
            failure=None if why is None else _failure_of(why, self._last_error, limit),
            denied_tools=tuple(self._denied),
            limit=limit,
        )

    def _read(self, offset: int, lines: list[bytes]) -> list[AgentMessage]:
        for line in lines:
            self._emitter.offset = offset
            offset += len(line)
            done = succeeded_command_id(line)
            if done is not None and done in self._calls:
                self._emitter.tool(done, *self._calls.pop(done), ToolState.DONE)
                continue
            event = read_line(line)
            if event is not None:
                self._take(event)
        return self._emitter.take()

    def _take(self, event: CodexEvent | PlainLine) -> None:
        match event:
            case CodexItemStarted(item=item):
                self._begin_item(item)
            case CodexItemUpdated(item=item):
                if item.type == "todo_list":
                    self._take_todos(item)
            case CodexItemCompleted(item=item):
                self._end_item(item)
            case CodexThreadStarted(thread_id=thread_id):
                self._thread_id = thread_id
            case CodexTurnStarted():
                self._is_in_turn, self._why = True, NO_END
            case CodexTurnCompleted(usage=tokens):
                self._why, self._last_error = None, ""
                self._tokens = tokens or self._tokens
                counts = self._counts()
                if counts is not None:
                    self._emitter.usage(counts)
            case CodexTurnFailed(error=error):
                self._fail("" if error is None else error.message)
            case CodexErrorEvent(message=message):
                self._note_error(message)
            case CodexInputRequested(questions=questions):
                self._question = question_text({"questions": questions})
            case PlainLine(text=text):
                self._emitter.text(text)
            case _:
                assert_never(event)

    def _begin_item(self, item: CodexItem) -> None:
        if item.type == "todo_list":
            self._take_todos(item)
        elif item.type in TOOL_ITEMS:
            self._begin_call(item)

    def _end_item(self, item: CodexItem) -> None:
        match item.type:
            case "agent_message":
                self._final_text.add(item.text)
                self._emitter.text(item.text)
            case "todo_list":
                self._take_todos(item)
            case "error":
                if self._is_in_turn:
                    self._errors.add([first_line(item.message)])
                self._emitter.text(item.message)
            case kind if kind in TOOL_ITEMS:
                if item.id not in self._calls:
                    self._begin_call(item)
                self._end_call(item)
            case _:
                pass

    def _begin_call(self, item: CodexItem) -> None:
        self._final_text.tool_called()
        name, summary = item_tool_name(item), summarise_item(item, self._folder)
        self._question = (
            question_text(parse_arguments(item.arguments)) if is_question_tool(name) else ""
        )
        self._calls[item.id] = (name, summary)
        limit_open_calls(self._calls)
        self._emitter.tool(item.id, name, summary, ToolState.STARTED)

    def _end_call(self, item: CodexItem) -> None:
        call = self._calls.pop(item.id)
        if _has_failed(item):
            self._emitter.tool(item.id, *call, ToolState.FAILED)
            self._errors.add(_error_lines(item))
            if item.status == "declined":
                self._denied.append(call[0])
            return
        self._emitter.tool(item.id, *call, ToolState.DONE)
        if call[0] == PATCH:
            for path, action in changed_files(item.changes, self._folder):
                self._emitter.file(path, action)

    def _take_todos(self, item: CodexItem) -> None:
        items = to_todos(item.items)
        if items != self._todos:
            self._todos = items
            self._emitter.todos(items)

    def _note_error(self, message: str) -> None:
        """An error is not the end yet: one that announces a retry is only emitted."""
        if not message.startswith(_TRIES_AGAIN):
            self._last_error = message
            self._errors.add([first_line(message)])
        self._emitter.text(message)

    def _fail(self, message: str) -> None:
        self._why = message or self._last_error or "the turn failed"
        self._errors.add([first_line(self._why)])
        if message != self._last_error:
            self._emitter.text(self._why)

    def _counts(self) -> UsageCounts | None:
        """Usage of this process, without earlier ones of the thread."""
        found, earlier = _normalised(self._tokens), self._earlier_usage
        if found is None:
            return None
        return UsageCounts(
            input_tokens=subtract_known(found.input_tokens, earlier.input_tokens),
            output_tokens=subtract_known(found.output_tokens, earlier.output_tokens),
            cached_tokens=subtract_known(found.cached_tokens, earlier.cached_tokens),
        )


def _failure_of(why: str, last_error: str, limit: AccountLimit | None) -> AgentFailure | None:
    """Classify the failure by the program's messages; None for an unknown one."""
    if limit is not None:
        return AgentFailure.LIMIT
    # Without an end, the last error from which it may have recovered is all that is known.
    found = failure_in_text(last_error) if why == NO_END else failure_in_text(why)
    return found or (AgentFailure.CRASHED if why == NO_END else None)


def _has_failed(item: CodexItem) -> bool:
    return item.status in _FAILED or item.error is not None or bool(item.exit_code)


def _error_lines(item: CodexItem) -> tuple[str, ...]:
    output = decode(_TEXT, item.aggregated_output) or ""
    reported = () if item.error is None else (first_line(item.error.message),)
    return (*find_error_lines(output[-MAX_FAILURE_OUTPUT:]), *reported)


def _normalised(tokens: CodexTokens | None) -> UsageCounts | None:
    """Normalise counts: input excludes cached tokens."""
    if tokens is None or tokens == CodexTokens():
        return None
    cached = tokens.cached_input_tokens
    return UsageCounts(
        input_tokens=subtract_known(tokens.input_tokens, cached),
        output_tokens=tokens.output_tokens,
        cached_tokens=cached,
    )


_FAILED = frozenset({"failed", "declined"})
_TRIES_AGAIN = "Reconnecting"
_TEXT = msgspec.json.Decoder(str | None)


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record, each with its place."""
    item = record.get("item")
    if record.get("type") != "item.completed" or not isinstance(item, dict):
        return
    kind = item.get("type")
    if kind == "collab_tool_call":
        yield from texts_in(SUB_AGENT_TEXT, item)
        return
    if kind in TOOL_ITEMS:
        given = {key: item.get(key) for key in ("command", "arguments", "query")}
        back = {key: item.get(key) for key in ("aggregated_output", "result", "error")}
        yield from texts_in("a tool's call", given)
        yield from texts_in("a tool's result", back)
    elif kind in _PLACES:
        yield from texts_in(_PLACES[kind], item)


_PLACES = {
    "agent_message": "an earlier text",
    "reasoning": "the reasoning",
    "todo_list": "the to-do list",
    "error": "a warning",
}
