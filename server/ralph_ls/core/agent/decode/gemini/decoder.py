"""Decoder for ``gemini -o stream-json``.

Peculiarities of this stream: Text arrives in fragments that end anywhere. Input tokens include
cached ones, output tokens exclude thoughts. A limit of turns may come as an error before a result
that says ``success``. A tool that is not permitted is reported as one that does not exist. The
stream does not name the working directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import PlainLine, decode
from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_FAILURE_OUTPUT,
    LineAssembler,
    LineDecoder,
    is_question_tool,
    limit_open_calls,
    question_text,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    first_line,
    parse_arguments,
    relative_path,
    summarise_arguments,
    texts_in,
)
from ralph_ls.core.agent.decode.gemini.records import (
    ACTIONS,
    TODO_TOOLS,
    GeminiErrorRecord,
    GeminiFailure,
    GeminiFailureDetails,
    GeminiInitRecord,
    GeminiMessageRecord,
    GeminiRecord,
    GeminiResultRecord,
    GeminiStats,
    GeminiToolResult,
    GeminiToolUse,
    classify_failure,
    is_own_tool,
    parse_todos,
    read_line,
    succeeded_call_id,
)
from ralph_ls.core.agent.failures import find_error_lines
from ralph_ls.core.agent.result import AgentResult
from ralph_ls.protocol.run.messages import TodoItem, ToolState, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure

NO_END = "the output ended without a result"


class GeminiDecoder(LineDecoder):
    """Decodes the output of one ``gemini`` process."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        super().__init__(start, folder=folder)
        self._assembler = LineAssembler()
        self._calls: dict[str, _Call] = {}
        self._n_answers = 0
        self._is_answering = False
        """Whether the model writes or calls tools, and no tool has ended yet."""
        self._last_error = ""
        """The last error that is not a warning and from which it did not recover."""
        self._result: GeminiResultRecord | None = None

    def final(self) -> AgentResult:
        failed = self._failed()
        text = "\n".join(filter(None, (self._final_text.text, self._assembler.text)))
        return self._result_of(
            self._counts(),
            text=text,
            why=None if failed is None else failed.why,
            failure=None if failed is None else failed.kind,
            limit=None if failed is None else failed.limit,
        )

    def _end(self) -> None:
        self._end_text()

    def _take_line(self, line: bytes) -> None:
        call_id = succeeded_call_id(line)
        call = None if call_id is None else self._calls.pop(call_id, None)
        if call_id is not None and call is not None:
            self._is_answering = False
            self._end_text()
            self._end_well(call_id, call)
            return
        record = read_line(line)
        if record is not None:
            self._take(record)

    def _take(self, record: GeminiRecord | PlainLine) -> None:
        if not isinstance(record, GeminiMessageRecord | GeminiInitRecord):
            self._end_text()
        match record:
            case GeminiMessageRecord():
                self._take_message(record)
            case GeminiToolUse():
                self._begin_answer()
                self._begin_call(record)
            case GeminiToolResult():
                self._is_answering = False
                call = self._calls.pop(record.tool_id, None)
                if call is not None:
                    self._end_call(record, call)
            case GeminiInitRecord(session_id=session_id, model=model):
                self._session_id, self._model = session_id, model
            case GeminiErrorRecord(severity=severity, message=message):
                self._note_error(message, is_warning=severity == "warning")
            case GeminiResultRecord():
                self._take_result(record)
            case PlainLine(text=text):
                self._emitter.text(text)
            case _:
                assert_never(record)

    def _begin_answer(self) -> None:
        """The agent is working again, whatever failed or ended before."""
        if not self._is_answering:
            self._is_answering = True
            self._n_answers += 1
        self._result, self._last_error = None, ""

    def _take_message(self, record: GeminiMessageRecord) -> None:
        if record.role != "assistant":
            return
        self._begin_answer()
        if not record.delta:
            self._end_text()
        reported = self._assembler.add(record.content)
        if reported:
            self._emitter.text(reported)
        if not record.delta:
            self._end_text()

    def _end_text(self) -> None:
        """Whatever follows is not part of the current text."""
        text, rest = self._assembler.end()
        if rest:
            self._emitter.text(rest)
        if text:
            self._final_text.add(text)

    def _begin_call(self, record: GeminiToolUse) -> None:
        name, given = record.tool_name, parse_arguments(record.parameters)
        self._final_text.tool_called()
        self._question = question_text(given) if is_question_tool(name) else ""
        path = given.get("file_path")
        call = _Call(
            name=name,
            summary=summarise_arguments(given, self._folder),
            path=relative_path(path, self._folder) if isinstance(path, str) else None,
            todos=parse_todos(given) if name in TODO_TOOLS else None,
        )
        self._calls[record.tool_id] = call
        limit_open_calls(self._calls)
        if call.todos is None:
            self._emitter.tool(record.tool_id, name, call.summary, ToolState.STARTED)

    def _end_call(self, record: GeminiToolResult, call: _Call) -> None:
        if record.status != "error":
            self._end_well(record.tool_id, call)
            return
        error, output = record.error or GeminiFailure(), decode(_TEXT, record.output) or ""
        reported = (first_line(error.message),) if error.message else ()
        self._errors.add((*find_error_lines(output[-MAX_FAILURE_OUTPUT:]), *reported))
        if _is_denial(error, call.name):
            self._denied.append(call.name)
        if call.todos is None:
            self._emitter.tool(record.tool_id, call.name, call.summary, ToolState.FAILED)

    def _end_well(self, call_id: str, call: _Call) -> None:
        if is_question_tool(call.name):
            self._question = ""
        if call.todos is not None:
            self._emitter.todos(call.todos)
            return
        self._emitter.tool(call_id, call.name, call.summary, ToolState.DONE)
        action = ACTIONS.get(call.name)
        if action is not None and call.path is not None:
            self._emitter.file(call.path, action)

    def _note_error(self, message: str, *, is_warning: bool) -> None:
        """An error is not the end yet, and a warning is none at all."""
        if not is_warning:
            self._last_error = message
            self._errors.add([first_line(message)])
        self._emitter.text(message)

    def _take_result(self, record: GeminiResultRecord) -> None:
        self._result = record
        if record.error is not None:
            why = classify_failure(record.error).why
            self._errors.add([why])
            self._emitter.text(why)
        counts = self._counts()
        if counts is not None:
            self._emitter.usage(counts)

    def _failed(self) -> GeminiFailureDetails | None:
        """How it failed; None for success."""
        result, last = self._result, self._last_error
        if result is None:
            found = (
                classify_failure(GeminiFailure(message=last))
                if last
                else GeminiFailureDetails(why=NO_END)
            )
            return found if found.kind is not None else replace(found, kind=AgentFailure.CRASHED)
        if result.status == "success":
            # An error before the result ended the agent all the same.
            return classify_failure(GeminiFailure(message=last)) if last else None
        status = f"it ended with the status {result.status or 'unknown'}"
        return classify_failure(result.error or GeminiFailure(message=last or status))

    def _counts(self) -> UsageCounts | None:
        stats = None if self._result is None else self._result.stats
        if stats is None or not stats.input_tokens:
            return None
        # A single answer had all of the input in its context.
        is_lone = self._n_answers == 1 and len(stats.models) == 1
        return UsageCounts(
            input_tokens=max(0, stats.input_tokens - (stats.cached or 0)),
            output_tokens=_text_and_thoughts(stats),
            cached_tokens=stats.cached,
            turns=self._n_answers or None,
            context_tokens=stats.input_tokens if is_lone else None,
        )


class _Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call without a result."""

    name: str
    summary: str
    path: str | None
    todos: tuple[TodoItem, ...] | None
    """The to-do list that the call writes, if it is such a call."""


def _text_and_thoughts(stats: GeminiStats) -> int | None:
    """Output tokens of the model; those of thoughts are only in the total."""
    if stats.total_tokens is None or stats.input_tokens is None:
        return stats.output_tokens
    return max(stats.output_tokens or 0, stats.total_tokens - stats.input_tokens)


def _is_denial(error: GeminiFailure, tool: str) -> bool:
    """Whether a call was not permitted: forbidden tools are reported as missing."""
    is_missing = (
        error.type == "tool_not_registered" and is_own_tool(tool) and not is_question_tool(tool)
    )
    return is_missing or error.type == "policy_violation"


_TEXT = msgspec.json.Decoder(str | None)


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record except pieces of the model's text."""
    match record.get("type"):
        case "message" if record.get("role") == "user":
            yield from texts_in("the prompt", record.get("content"))
        case "message" if not record.get("delta"):
            yield from texts_in("an earlier text", record.get("content"))
        case "tool_use":
            yield from texts_in("a tool's call", record.get("parameters"))
        case "tool_result":
            yield from texts_in("a tool's result", [record.get("output"), record.get("error")])
        case "error":
            yield from texts_in("a warning", record.get("message"))
        case _:
            pass
