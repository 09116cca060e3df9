"""Decoder for the Agent Client Protocol, as our client logs it.

Each line is a message of the agent, unchanged, or a record of the client with the key ``client``.
Peculiarities of this stream: Text arrives in chunks that make up one message. A tool call is
reported in several updates, by some agents only when it has ended. Updates of another session are
those of a sub-agent. An answer names its request only by a number. And ``codex`` ends a failed turn
as a success: the state of its thread shows the failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ralph_ls.core.agent.decode.acp.records import (
    DONE,
    FAILED,
    OWN,
    AcpRecord,
    AcpToolCall,
    AcpUsageCounter,
    error_text,
    failure_of_error,
    parse_todos,
    read_line,
    record_at,
    rows_at,
    stop_failure,
    text_at,
)
from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_FINAL_TEXT,
    MAX_OPEN_CALLS,
    LineDecoder,
    is_question_tool,
    limit_open_calls,
    question_text,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    relative_path,
    texts_in,
)
from ralph_ls.core.agent.result import AccountLimit, AgentResult, find_account_limit
from ralph_ls.protocol.run.messages import FileAction, TodoItem, ToolState
from ralph_ls.protocol.run.report import AgentFailure

NO_END = "the output ended in the middle of a turn"

LONGEST_REST = 1 << 16
"""Characters of an unfinished line that are held; a longer one is emitted in parts."""


class AcpDecoder(LineDecoder):
    """Decodes the output of one client process."""

    def __init__(self, start: int, *, folder: str = "", earlier_cost_usd: float = 0.0) -> None:
        super().__init__(start, folder=folder)
        self._asked_for: dict[str, str] = {}
        """The method of each of our requests without an answer."""
        self._logins = ""
        """The ways to log in to this agent."""
        self._message = _Message()
        self._calls: dict[str, AcpToolCall] = {}
        self._ended: dict[str, None] = {}
        """Calls that have ended; agents report more about some."""
        self._todos: tuple[TodoItem, ...] = ()
        self._sums = AcpUsageCounter(earlier_cost_usd)
        self._why: str | None = NO_END
        """Why the turn failed; None for success."""
        self._failure: AgentFailure | None = AgentFailure.CRASHED
        self._limit: AccountLimit | None = None
        self._is_in_error = False
        """Whether ``codex`` reports its thread as failed; its text is then the error."""
        self._error_text = ""

    def final(self) -> AgentResult:
        self._end_message()
        result = self._result_of(
            self._sums.counts(), why=self._why, failure=self._failure, limit=self._limit
        )
        return replace(result, session_cost_usd=self._sums.session_cost)

    def _end(self) -> None:
        self._end_message()

    def _take_line(self, line: bytes) -> None:
        record = read_line(line)
        if record is not None:
            self._take(record)

    def _take(self, record: AcpRecord) -> None:
        if OWN in record:
            self._take_own(record)
            return
        match record.get("method"):
            case "session/update":
                self._take_update(record_at(record, "params"))
            case "session/request_permission":
                self._take_call(record_at(record, "params", "toolCall"), is_asked=True)
            case None:
                method = self._asked_for.pop(str(record.get("id")), "")
                error = record_at(record, "error")
                if error:
                    self._take_error(method, error)
                else:
                    self._take_answer(method, record_at(record, "result"))
            case _:
                pass

    # Records of our client.

    def _take_own(self, record: AcpRecord) -> None:
        match record[OWN]:
            case "request":
                self._asked_for[str(record.get("id"))] = text_at(record, "method")
                limit_open_calls(self._asked_for)
                self._session_id = text_at(record, "session") or self._session_id
            case "denied":
                if len(self._denied) < MAX_OPEN_CALLS:
                    self._denied.append(text_at(record, "tool") or "tool")
            case "wrote":
                self._emitter.file(
                    relative_path(text_at(record, "path"), self._folder), FileAction.CHANGED
                )
            case "question":
                self._question = question_text({"question": text_at(record, "text")})
            case "fresh":
                self._session_id, self._why, self._failure = None, NO_END, AgentFailure.CRASHED
                self._emitter.text(f"A fresh session: {text_at(record, 'why')}")
            case "failed":
                named = text_at(record, "failure")
                known = named in AgentFailure.__members__.values()
                self._fail(text_at(record, "why"), AgentFailure(named) if known else None)
            case "noise":
                self._emitter.text(text_at(record, "text"))
            case _:
                pass

    # Answers of the agent.

    def _take_answer(self, method: str, answer: AcpRecord) -> None:
        match method:
            case "initialize":
                methods = rows_at(answer, "authMethods")
                names = [text_at(row, "name") or text_at(row, "id") for row in methods]
                self._logins = ", ".join(name for name in names if name)
            case "session/new" | "session/load" | "session/resume":
                self._session_id = text_at(answer, "sessionId") or self._session_id
                self._model = _model_in(answer) or self._model
            case "session/set_config_option":
                self._model = _model_in(answer) or self._model
            case "session/prompt":
                self._end_turn(answer)
            case _:
                pass

    def _end_turn(self, answer: AcpRecord) -> None:
        self._sums.take_answer(answer)
        used = rows_at(answer, "_meta", "quota", "model_usage")
        self._model = next((text_at(row, "model") for row in used), "") or self._model
        failed = stop_failure(text_at(answer, "stopReason"))
        if self._is_in_error:
            self._end_message()
            words = self._error_text.strip() or "its thread came to an error"
            self._limit = find_account_limit(words)
            failed = (words, None if self._limit is None else AgentFailure.LIMIT)
        elif failed is not None and text_at(answer, "stopReason") == "cancelled" and self._denied:
            failed = (f"the turn ended because {self._denied[-1]} was not permitted", None)
        if failed is None:
            self._why = self._failure = None
        else:
            self._fail(*failed)
        counts = self._sums.counts()
        if counts is not None:
            self._emitter.usage(counts)

    def _take_error(self, method: str, error: AcpRecord) -> None:
        if method not in _NEEDED:
            # A mode or model that is not available: the client continues, or reports why it does
            # not.
            return
        why, failure = error_text(error), failure_of_error(error)
        if method == "authenticate":
            failure = AgentFailure.NOT_LOGGED_IN
        if failure is AgentFailure.NOT_LOGGED_IN and self._logins:
            why = f"{why} (it offers: {self._logins})"
        self._fail(why, failure)

    def _fail(self, why: str, failure: AgentFailure | None) -> None:
        self._end_message()
        self._why, self._failure = why or "it failed", failure
        if failure is AgentFailure.LIMIT and self._limit is None:
            self._limit = AccountLimit()
        line = self._why.strip().split("\n", 1)[0]
        self._errors.add([line])
        self._emitter.text(line)

    # Updates during a turn.

    def _take_update(self, params: AcpRecord) -> None:
        if self._session_id is not None and text_at(params, "sessionId") != self._session_id:
            return
        update = record_at(params, "update")
        match update.get("sessionUpdate"):
            case "agent_message_chunk":
                self._take_chunk(update)
            case "tool_call" | "tool_call_update":
                self._take_call(update)
            case "plan":
                todos = parse_todos(update)
                if todos != self._todos:
                    self._todos = todos
                    self._emitter.todos(todos)
            case "usage_update":
                self._sums.take_update(update)
                self._model = text_at(update, "_meta", "_claude/model") or self._model
                self._emit_usage()
            case "config_option_update":
                self._model = _model_in(update) or self._model
            case "session_info_update":
                state = text_at(update, "_meta", "codex", "threadStatus", "type")
                if state:
                    self._end_message()
                    self._is_in_error = state == "systemError"
            case "user_message_chunk":
                self._end_message()
            case _:
                pass

    def _take_chunk(self, update: AcpRecord) -> None:
        if self._sums.take_call(record_at(update, "_meta", "usage")):
            self._emit_usage()
        text = text_at(update, "content", "text")
        if not text or text_at(update, "_meta", "claudeCode", "parentToolUseId"):
            return
        if self._is_in_error:
            self._error_text = (self._error_text + text)[-LONGEST_REST:]
            return
        message = text_at(update, "messageId")
        if message != self._message.id:
            self._end_message()
            self._message.id = message
        for lines in self._message.take(text):
            self._emitter.text(lines)

    def _take_call(self, update: AcpRecord, *, is_asked: bool = False) -> None:
        number = text_at(update, "toolCallId")
        if not number or number in self._ended:
            return
        call = self._calls.get(number)
        is_first = call is None
        if call is None:
            self._end_message()
            self._final_text.tool_called()
            call = self._calls[number] = AcpToolCall()
            limit_open_calls(self._calls)
        state = call.take(update)
        if not call.is_emitted and (is_asked or not is_first or call.is_clear or state in _GOING):
            self._emit_call_start(number, call, update)
        if state in {DONE, FAILED}:
            self._end_call(number, call, state)

    def _emit_call_start(self, number: str, call: AcpToolCall, update: AcpRecord) -> None:
        call.is_emitted = True
        self._question = ""
        if is_question_tool(call.name):
            self._question = question_text(record_at(update, "rawInput"))
        self._emitter.tool(number, call.name, call.summary(self._folder), ToolState.STARTED)

    def _end_call(self, number: str, call: AcpToolCall, state: str) -> None:
        self._calls.pop(number, None)
        self._ended[number] = None
        limit_open_calls(self._ended)
        summary = call.summary(self._folder)
        if call.has_failed(state):
            self._emitter.tool(number, call.name, summary, ToolState.FAILED)
            self._errors.add(call.error_lines())
            return
        self._emitter.tool(number, call.name, summary, ToolState.DONE)
        for path, action in call.files(self._folder):
            self._emitter.file(path, action)

    def _emit_usage(self) -> None:
        counts = self._sums.counts()
        if counts is not None:
            self._emitter.usage(counts)

    def _end_message(self) -> None:
        text, rest = self._message.end()
        if text.strip():
            self._final_text.add(text)
        if rest.strip():
            self._emitter.text(rest)


class _Message:
    """One message of the agent, which arrives in chunks."""

    def __init__(self) -> None:
        self.id = ""
        self._pieces: list[str] = []
        self._n_characters = 0
        self._rest = ""

    def take(self, text: str) -> list[str]:
        """Add a chunk; return the lines that are complete with it as one text, possibly empty."""
        self._pieces.append(text)
        self._n_characters += len(text)
        if self._n_characters > 2 * MAX_FINAL_TEXT:
            self._pieces = ["".join(self._pieces)[-MAX_FINAL_TEXT:]]
            self._n_characters = MAX_FINAL_TEXT
        self._rest += text
        end = self._rest.rfind("\n")
        end = len(self._rest) if end < 0 and len(self._rest) > LONGEST_REST else end
        if end < 0:
            return []
        lines, self._rest = self._rest[:end], self._rest[end + 1 :]
        return [lines] if lines.strip() else []

    def end(self) -> tuple[str, str]:
        """The whole message, and its part that was not emitted yet."""
        found = ("".join(self._pieces), self._rest)
        self._pieces, self._n_characters, self._rest = [], 0, ""
        return found


def _model_in(session: AcpRecord) -> str:
    """The model of a session."""
    for option in rows_at(session, "configOptions"):
        if "model" in {text_at(option, "category"), text_at(option, "id")}:
            return text_at(option, "currentValue")
    return text_at(session, "models", "currentModelId")


_NEEDED = frozenset(
    {
        "initialize",
        "authenticate",
        "session/new",
        "session/load",
        "session/resume",
        "session/prompt",
    }
)
"""Requests without which a turn is impossible."""

_GOING: frozenset[Any] = frozenset({"in_progress", DONE, FAILED})


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a message; of a text that is sent in pieces, each piece by itself."""
    params = record.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    if not isinstance(update, dict):
        return
    match update.get("sessionUpdate"):
        case "tool_call" | "tool_call_update":
            yield from texts_in("a tool's call", update.get("rawInput"))
            yield from texts_in("a tool's result", [update.get("rawOutput"), update.get("content")])
        case "agent_message_chunk":
            yield from texts_in("an earlier text", update.get("content"))
        case "agent_thought_chunk":
            yield from texts_in("the reasoning", update.get("content"))
        case _:
            pass
