"""Decoder for ``copilot --output-format json``.

Peculiarities of this stream: It has no token counts; they are in the file that
``--usage-output-file`` names, for the whole session. A command that failed is a successful call
with an exit code. A refused tool leaves the program's exit code at 0. Sub-agents write to the same
stream, marked by ``agentId``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

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
    relative_path,
    summarise_arguments,
    texts_in,
)
from ralph_ls.core.agent.decode.copilot import records
from ralph_ls.core.agent.failures import failure_of_status, find_error_lines
from ralph_ls.core.agent.result import AccountLimit, AgentResult, find_account_limit
from ralph_ls.core.agent.usage import add_known, subtract_known
from ralph_ls.protocol.run.messages import FileAction, ToolState, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure, Usage

NO_END = "the output ended without a result"

READING_TOOL = "view"

_FAILURES = {
    "authentication": AgentFailure.NOT_LOGGED_IN,
    "authorization": AgentFailure.NOT_LOGGED_IN,
    "quota": AgentFailure.LIMIT,
    "rate_limit": AgentFailure.LIMIT,
    "context_limit": AgentFailure.CONTEXT_FULL,
}
"""The program's error kinds, as far as they are specific."""

_DENIED = frozenset({"denied", "rejected"})
_ACTIONS = {"create": FileAction.CREATED, "delete": FileAction.DELETED}
_RETRY = "model_retry"


class CopilotDecoder(LineDecoder):
    """Decodes the output of one ``copilot`` process."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        """``folder`` is the working directory, which the stream does not name."""
        super().__init__(start, folder=folder)
        self._piece = ""
        """A text that is still incomplete."""
        self._calls: dict[str, _Call] = {}
        self._spent = UsageCounts()
        self._turns = 0
        self._context: int | None = None
        self._window: int | None = None
        self._error: records.CopilotSessionError | None = None
        self._result: records.CopilotResult | None = None

    def final(self) -> AgentResult:
        why = self._failure()
        failure = self._which_failure() if why else None
        return self._result_of(
            self._counts(),
            why=why or None,
            failure=failure,
            limit=self._limit() if failure is AgentFailure.LIMIT else None,
        )

    def _end(self) -> None:
        self._end_text("")

    def _take_line(self, line: bytes) -> None:
        thing, is_main = records.read_line(line)
        if thing is not None:
            self._take(thing, is_main=is_main)

    def _take(self, thing: records.CopilotEventData | PlainLine, *, is_main: bool) -> None:
        match thing:
            case records.CopilotToolStarted():
                self._begin_call(thing, is_main=is_main)
            case records.CopilotToolEnded():
                self._end_call(thing, is_main=is_main)
            case records.CopilotUsage():
                self._take_usage(thing)
            case records.CopilotNotice(message=message):
                if thing.info_type in {"", _RETRY} and message:
                    self._emitter.text(message)
            case records.CopilotSessionError():
                self._take_error(thing)
            case records.CopilotResult():
                self._take_result(thing)
            case records.CopilotSessionNamed():
                self._session_id = thing.session_id
            case PlainLine(text=text):
                self._emitter.text(text)
            case _:
                if is_main:
                    self._take_of_main(thing)

    def _take_of_main(
        self,
        thing: records.CopilotMessage
        | records.CopilotMessageDelta
        | records.CopilotTurnStarted
        | records.CopilotContextInfo
        | records.CopilotUserInputRequested
        | records.CopilotModelNamed,
    ) -> None:
        match thing:
            case records.CopilotMessage():
                self._model = thing.model or self._model
                if thing.parent_tool_call_id is None:
                    self._end_text(thing.content)
            case records.CopilotMessageDelta():
                self._piece += thing.delta_content
            case records.CopilotTurnStarted():
                self._turns += 1
                self._error = None
            case records.CopilotContextInfo():
                self._take_context(thing.current_tokens, thing.token_limit)
            case records.CopilotUserInputRequested(question=question, choices=choices):
                self._question = question_text({"question": question, "options": choices})
            case records.CopilotModelNamed():
                self._model = thing.new_model or thing.model or self._model
            case _:
                assert_never(thing)

    def _end_text(self, whole: str) -> None:
        text, self._piece = whole or self._piece, ""
        if text:
            self._final_text.add(text)
            self._emitter.text(text)

    def _begin_call(self, started: records.CopilotToolStarted, *, is_main: bool) -> None:
        server, tool = started.mcp_server_name, started.mcp_tool_name
        name = f"mcp__{server}__{tool}" if server and tool else started.tool_name
        arguments = parse_arguments(started.arguments)
        if is_main:
            self._end_text("")
            self._final_text.tool_called()
            self._question = (
                question_text(_question_of(arguments)) if is_question_tool(name) else ""
            )
        path = arguments.get("path") if name == READING_TOOL else None
        call = _Call(
            name=name,
            summary=summarise_arguments(arguments, self._folder),
            reads=relative_path(path, self._folder) if isinstance(path, str) else None,
        )
        self._calls[started.tool_call_id] = call
        limit_open_calls(self._calls)
        self._emitter.tool(started.tool_call_id, name, call.summary, ToolState.STARTED)

    def _end_call(self, ended: records.CopilotToolEnded, *, is_main: bool) -> None:
        telemetry = ended.tool_telemetry
        if is_main and telemetry is not None and telemetry.metrics is not None:
            metrics = telemetry.metrics
            self._take_context(metrics.context_current_tokens, metrics.context_token_limit)
        call = self._calls.pop(ended.tool_call_id, None)
        if call is None:
            return
        code = None if ended.shell_execution is None else ended.shell_execution.exit_code
        if not ended.success or code:
            self._errors.add(_error_lines(ended))
            if ended.error is not None and ended.error.code in _DENIED:
                self._denied.append(call.name)
            self._emitter.tool(ended.tool_call_id, call.name, call.summary, ToolState.FAILED)
            return
        self._emitter.tool(ended.tool_call_id, call.name, call.summary, ToolState.DONE)
        if call.reads is not None:
            self._emitter.file(call.reads, FileAction.READ)
        for edit in ended.file_edits:
            action = _ACTIONS.get(edit.kind, FileAction.CHANGED)
            self._emitter.file(relative_path(edit.path, self._folder), action)

    def _take_usage(self, spent: records.CopilotUsage) -> None:
        """A model call, where the program reports each; the usage file counts it again."""
        counts = _normalised(spent)
        self._spent = UsageCounts(
            input_tokens=add_known(self._spent.input_tokens, counts.input_tokens),
            output_tokens=add_known(self._spent.output_tokens, counts.output_tokens),
            cached_tokens=add_known(self._spent.cached_tokens, counts.cached_tokens),
        )
        self._emit_usage()

    def _take_context(self, tokens: int | None, window: int | None) -> None:
        self._context = tokens or self._context
        self._window = window or self._window

    def _take_error(self, error: records.CopilotSessionError) -> None:
        self._error = error
        self._errors.add([first_line(error.message)])
        self._emitter.text(error.message)

    def _take_result(self, result: records.CopilotResult) -> None:
        self._end_text("")
        self._result = result
        self._session_id = result.session_id or self._session_id
        self._emit_usage()

    def _emit_usage(self) -> None:
        counts = self._counts()
        if counts is not None:
            self._emitter.usage(counts)

    def _counts(self) -> UsageCounts | None:
        counts = UsageCounts(
            input_tokens=self._spent.input_tokens,
            output_tokens=self._spent.output_tokens,
            cached_tokens=self._spent.cached_tokens,
            turns=self._turns or None,
            context_tokens=self._context,
            context_window=self._window,
        )
        return None if counts == UsageCounts() else counts

    def _failure(self) -> str:
        """How it failed, in words; empty for success."""
        reported = "" if self._error is None else first_line(self._error.message)
        if self._result is None:
            return reported or NO_END
        code = self._result.exit_code
        return (reported or f"it ended with code {code}") if code else ""

    def _which_failure(self) -> AgentFailure | None:
        error = self._error
        if error is None:
            return AgentFailure.CRASHED if self._result is None else None
        return _FAILURES.get(error.error_type) or failure_of_status(error.status_code)

    def _limit(self) -> AccountLimit:
        return (self._error and find_account_limit(self._error.message)) or AccountLimit()


class _Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call without a result."""

    name: str
    summary: str
    reads: str | None


def usage_in_file(data: bytes, earlier: Usage | None = None) -> tuple[Usage, Usage] | None:
    """Usage of this process and of the whole session; None where the file has none.

    ``earlier`` is what a resumed session had used before.
    """
    found = records.read_usage_file(data)
    if found is None:
        return None
    whole = Usage()
    for metrics in found.model_metrics.values():
        counts = _normalised(metrics.usage or records.CopilotUsage())
        whole = Usage(
            input_tokens=add_known(whole.input_tokens, counts.input_tokens),
            output_tokens=add_known(whole.output_tokens, counts.output_tokens),
            cached_tokens=add_known(whole.cached_tokens, counts.cached_tokens),
        )
    if whole == Usage():
        return None
    before = earlier or Usage()
    own = Usage(
        input_tokens=subtract_known(whole.input_tokens, before.input_tokens),
        output_tokens=subtract_known(whole.output_tokens, before.output_tokens),
        cached_tokens=subtract_known(whole.cached_tokens, before.cached_tokens),
        context_tokens=found.last_call_input_tokens or None,
    )
    return own, whole


def _normalised(spent: records.CopilotUsage) -> UsageCounts:
    """Normalise counts: input excludes cached tokens."""
    return UsageCounts(
        input_tokens=subtract_known(spent.input_tokens, spent.cache_read_tokens),
        output_tokens=spent.output_tokens,
        cached_tokens=spent.cache_read_tokens,
    )


def _question_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the usual key for the choices."""
    return {**arguments, "options": arguments.get("choices", arguments.get("options"))}


def _error_lines(ended: records.CopilotToolEnded) -> list[str]:
    reported = [] if ended.error is None else [first_line(ended.error.message)]
    output = "" if ended.result is None else ended.result.content
    return [*reported, *find_error_lines(output[-MAX_FAILURE_OUTPUT:])]


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record, each with its place."""
    data = record.get("data")
    if not isinstance(data, dict):
        return
    is_below = record.get("agentId") is not None
    match record.get("type"):
        case "assistant.message":
            yield from texts_in(
                SUB_AGENT_TEXT if is_below else "an earlier text", data.get("content")
            )
            yield from texts_in("the reasoning", data.get("reasoningText"))
        case "tool.execution_start":
            yield from texts_in("a tool's call", data.get("arguments"))
        case "tool.execution_complete":
            yield from texts_in("a tool's result", data.get("result"))
        case "user.message":
            yield from texts_in("the prompt", data.get("content"))
        case _:
            pass
