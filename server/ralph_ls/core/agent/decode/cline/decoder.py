"""Decoder for ``cline --json``.

Peculiarities of this stream: A text arrives in pieces, each with all of it so far, and complete at
its end. Sub-agents write to the same stream without a mark; only hooks show when one of them is at
work. An ``error`` may be one from which it recovers, such as failed tools; only the result shows
how the run ended. A question is answered by the program itself with the first choice where no user
is present, so an answer means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.cline.records import (
    ClineAgentEvent,
    ClineAgentRecord,
    ClineAnyRecord,
    ClineCallResult,
    ClineHookRecord,
    ClineProgramError,
    ClineRunAborted,
    ClineRunResult,
    ClineRunStart,
    error_message,
    files_of_call,
    is_denial,
    parse_call_results,
    read_line,
    summarise_call,
)
from ralph_ls.core.agent.decode.cline.records import ClineCounts as Spent
from ralph_ls.core.agent.decode.common.json_lines import PlainLine
from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_FAILURE_OUTPUT,
    LineDecoder,
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
from ralph_ls.core.agent.failures import find_error_lines
from ralph_ls.core.agent.result import AccountLimit, AgentResult, find_account_limit
from ralph_ls.protocol.run.messages import ToolState, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure

NO_END = "the output ended without a result"

ENDS = {
    "max_iterations": "reached the turn limit",
    "mistake_limit": "made too many mistakes in a row",
    "aborted": "was aborted",
}
"""Descriptions of the reasons that mean failure, except ``error``, which brings a message."""

_FAILURES = {
    "auth": AgentFailure.NOT_LOGGED_IN,
    "context_window_exceeded": AgentFailure.CONTEXT_FULL,
}
"""The program's error classes; its third one is ``unknown``."""


class ClineDecoder(LineDecoder):
    """Decodes the output of one ``cline`` process."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        """``folder`` is the working directory, which the stream does not name."""
        super().__init__(start, folder=folder)
        self._piece = ""
        """A text that is still incomplete."""
        self._calls: dict[str, _Call] = {}
        self._below: set[str] = set()
        """Sub-agents at work."""
        self._spent: Spent | None = None
        self._turns = 0
        self._context: int | None = None
        self._result: ClineRunResult | None = None
        self._is_aborted = False
        self._why = ""
        self._error_class = ""

    def final(self) -> AgentResult:
        why = self._failure()
        result = self._result
        text = (
            self._final_text.text if result is None or why else result.text or self._final_text.text
        )
        return self._result_of(
            self._counts(),
            text=text,
            why=why or None,
            failure=self._which_failure() if why else None,
            limit=self._limit(),
        )

    def _end(self) -> None:
        self._end_text(None)

    def _take_line(self, line: bytes) -> None:
        record = read_line(line)
        if record is not None:
            self._take(record)

    def _take(self, record: ClineAnyRecord | PlainLine) -> None:
        match record:
            case ClineAgentRecord(event=event):
                self._take_event(event)
            case ClineHookRecord():
                self._take_hook(record)
            case ClineRunStart():
                self._session_id = record.session_id or self._session_id
                self._model = record.model_id or self._model
            case ClineRunResult():
                self._take_result(record)
            case ClineRunAborted():
                self._is_aborted = True
            case ClineProgramError(message=message):
                self._why = message
                self._errors.add([first_line(message)])
                self._emitter.text(message)
            case PlainLine(text=text):
                self._emitter.text(text)
            case _:
                assert_never(record)

    def _take_event(self, event: ClineAgentEvent) -> None:
        is_main = not self._below
        match event.type, event.content_type:
            case "content_start", "tool":
                self._begin_call(event, is_main=is_main)
            case "content_end", "tool":
                call = self._calls.pop(event.tool_call_id, None)
                if call is not None:
                    self._end_call(event, call)
            case "content_start", "text":
                if is_main:
                    self._piece = event.accumulated or self._piece + (event.text or "")
            case "content_end", "text":
                if is_main:
                    self._end_text(event.text)
            case "iteration_start", _:
                self._turns += is_main
            case "usage", _:
                if is_main:
                    self._take_usage(event)
            case "error", _:
                self._take_error(event)
            case "notice", _:
                if event.message:
                    self._emitter.text(event.message)
            case _:
                pass

    def _take_hook(self, hook: ClineHookRecord) -> None:
        if hook.hook_event_name == "agent_start" and hook.parent_agent_id:
            self._below.add(hook.agent_id)
        elif hook.hook_event_name in _ENDS_OF_AGENTS:
            self._below.discard(hook.agent_id)

    def _end_text(self, whole: str | None) -> None:
        text, self._piece = whole or self._piece, ""
        if text:
            self._final_text.add(text)
            self._emitter.text(text)

    def _begin_call(self, event: ClineAgentEvent, *, is_main: bool) -> None:
        arguments, name = parse_arguments(event.input), event.tool_name
        if is_main:
            self._end_text(None)
            self._final_text.tool_called()
            self._question = question_text(arguments) if is_question_tool(name) else ""
        summary = summarise_call(arguments, self._folder)
        paths = {key: value for key, value in arguments.items() if key in {"path", "files"}}
        self._calls[event.tool_call_id] = _Call(
            name=name, summary=summary, arguments=paths, is_main=is_main
        )
        limit_open_calls(self._calls)
        self._emitter.tool(event.tool_call_id, name, summary, ToolState.STARTED)

    def _end_call(self, event: ClineAgentEvent, call: _Call) -> None:
        if call.is_main and not any(one.is_main for one in self._calls.values()):
            # A sub-agent ends with the call that started it.
            self._below.clear()
        error, results = error_message(event.error), parse_call_results(event.output)
        failed = [one for one in results if one.error or one.success is False]
        if error or failed:
            self._errors.add(_error_lines(error, failed))
            if is_denial(error):
                self._denied.append(call.name)
        state = ToolState.FAILED if error or failed else ToolState.DONE
        self._emitter.tool(event.tool_call_id, call.name, call.summary, state)
        if state is ToolState.DONE:
            for path, action in files_of_call(call.name, call.arguments, results, self._folder):
                self._emitter.file(path, action)

    def _take_usage(self, event: ClineAgentEvent) -> None:
        self._context = event.input_tokens
        self._spent = Spent(
            input_tokens=event.total_input_tokens,
            output_tokens=event.total_output_tokens,
            cache_read_tokens=event.total_cache_read_tokens,
            total_cost=event.total_cost,
        )
        self._emit_usage()

    def _take_error(self, event: ClineAgentEvent) -> None:
        message = error_message(event.error)
        if event.recoverable:
            # A failed tool, which was emitted, or an answer that is requested again.
            return
        self._why, self._error_class = message, event.error_class
        self._errors.add([first_line(message)])
        self._emitter.text(message)

    def _take_result(self, result: ClineRunResult) -> None:
        self._end_text(None)
        self._result = result
        self._model = (result.model and result.model.id) or self._model
        self._spent = result.aggregate_usage or result.usage or self._spent
        self._turns = result.iterations or self._turns
        if result.finish_reason in ENDS:
            self._errors.add([self._failure()])
        self._emit_usage()

    def _emit_usage(self) -> None:
        counts = self._counts()
        if counts is not None:
            self._emitter.usage(counts)

    def _counts(self) -> UsageCounts | None:
        spent = self._spent
        if spent is None or not (spent.input_tokens or spent.output_tokens):
            return None
        whole, cached = spent.input_tokens, spent.cache_read_tokens
        return UsageCounts(
            input_tokens=None if whole is None else max(0, whole - (cached or 0)),
            output_tokens=spent.output_tokens,
            cached_tokens=cached,
            # It reports 0 where it knows no price.
            cost_usd=round(spent.total_cost, 6) if spent.total_cost else None,
            turns=self._turns or None,
            context_tokens=self._context,
        )

    def _failure(self) -> str:
        """How it failed, in words; empty for success."""
        if self._result is None:
            return first_line(self._why) or (ENDS["aborted"] if self._is_aborted else NO_END)
        reason = self._result.finish_reason
        if reason == "completed":
            return ENDS["aborted"] if self._is_aborted else ""
        reported = first_line(self._why or (self._result.text or ""))
        return (
            ": ".join(filter(None, (ENDS.get(reason, ""), reported))) or f"it ended with {reason!r}"
        )

    def _which_failure(self) -> AgentFailure | None:
        if self._limit() is not None:
            return AgentFailure.LIMIT
        if self._error_class in _FAILURES:
            return _FAILURES[self._error_class]
        if self._result is None:
            return None if self._why or self._is_aborted else AgentFailure.CRASHED
        return AgentFailure.MAX_TURNS if self._result.finish_reason == "max_iterations" else None

    def _limit(self) -> AccountLimit | None:
        """The account limit, from the program's error message, since it has no field for it."""
        return find_account_limit(self._why) if self._why and self._failure() else None


class _Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call without a result."""

    name: str
    summary: str
    arguments: Mapping[str, Any]
    """Only those that its end needs: they may contain a whole file."""
    is_main: bool


def _error_lines(error: str, failed: list[ClineCallResult]) -> list[str]:
    # The error of a whole call repeats that of its results in another form.
    lines = [first_line(error)] if error and not failed else []
    for one in failed:
        lines += find_error_lines((one.result or "")[-MAX_FAILURE_OUTPUT:])
        lines += [first_line(one.error)] if one.error else []
    return lines


_ENDS_OF_AGENTS = frozenset({"agent_end", "agent_error", "agent_abort"})


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record; those of sub-agents are not marked."""
    event = record.get("event")
    if not isinstance(event, dict):
        return
    match event.get("type"), event.get("contentType"):
        case "content_end", "text":
            yield from texts_in("an earlier text", event.get("text"))
        case "content_end", "reasoning":
            yield from texts_in("the reasoning", event.get("reasoning"))
        case "content_start", "tool":
            yield from texts_in("a tool's call", event.get("input"))
        case "content_end", "tool":
            is_below = event.get("toolName") == "spawn_agent"
            yield from texts_in(
                SUB_AGENT_TEXT if is_below else "a tool's result", event.get("output")
            )
        case _:
            pass
