"""Decoder for ``opencode run --format json``.

Each line is one JSON object with a ``type`` and, except for errors, a ``part`` of the conversation.
Records declare only the fields that are used; others are skipped without being built.

Peculiarities of this stream: It has no end record; the last step is one that finished for another
reason than to call tools. A call is reported only when it has ended. A call that is not permitted
ends the session with exit code 0. Usage is reported per step, and its input excludes cached tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import (
    NULL_JSON,
    PlainLine,
    RecordReader,
    decode,
)
from ralph_ls.core.agent.decode.common.line_decoder import (
    MAX_FAILURE_OUTPUT,
    LineDecoder,
    is_question_tool,
    question_text,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    SUB_AGENT_TEXT,
    TodoList,
    first_line,
    parse_arguments,
    relative_path,
    summarise_arguments,
    texts_in,
)
from ralph_ls.core.agent.failures import failure_in_text, failure_of_status, find_error_lines
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.core.agent.usage import add_known
from ralph_ls.protocol.run.messages import FileAction, ToolState, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure


class OpencodeCacheTokens(msgspec.Struct, gc=False):
    """Tokens read from a cache, and written to it."""

    read: int | None = None
    write: int | None = None


class OpencodeTokens(msgspec.Struct, gc=False):
    """Counts of one step; the input excludes tokens read from a cache or written to it."""

    input: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cache: OpencodeCacheTokens | None = None


class OpencodeCallState(msgspec.Struct, gc=False):
    """State and result of a tool call."""

    status: str = ""
    input: msgspec.Raw = NULL_JSON
    output: msgspec.Raw = NULL_JSON
    error: str = ""
    metadata: msgspec.Raw = NULL_JSON


class OpencodeToolPart(msgspec.Struct, gc=False):
    """A tool call, reported when it has ended."""

    tool: str = ""
    call_id: str = msgspec.field(name="callID", default="")
    state: OpencodeCallState = msgspec.field(default_factory=OpencodeCallState)


class OpencodeTextPart(msgspec.Struct, gc=False):
    """A complete text of the model."""

    text: str = ""


class OpencodeFinishPart(msgspec.Struct, gc=False):
    """Usage of one answer of the model, and why the answer ended."""

    reason: str = ""
    tokens: OpencodeTokens | None = None
    cost: float | None = None


class OpencodeToolUse(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """A call has ended, successfully or not."""

    part: OpencodeToolPart
    session_id: str = ""


class OpencodeTextEvent(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """A text of the model."""

    part: OpencodeTextPart
    session_id: str = ""


class OpencodeStepStart(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """The model begins an answer."""

    session_id: str = ""


class OpencodeStepFinish(msgspec.Struct, rename={"session_id": "sessionID"}, gc=False):
    """An answer of the model, and the calls in it, have ended."""

    part: OpencodeFinishPart
    session_id: str = ""


class OpencodeErrorData(msgspec.Struct, rename="camel"):
    """Details of an error."""

    message: str = ""
    status_code: int | None = None
    response_headers: dict[str, Any] | None = None


class OpencodeErrorInfo(msgspec.Struct):
    """An error by its name."""

    name: str = ""
    data: OpencodeErrorData = msgspec.field(default_factory=OpencodeErrorData)


class OpencodeErrorEvent(msgspec.Struct, rename={"session_id": "sessionID"}):
    """The session has failed."""

    error: OpencodeErrorInfo
    session_id: str = ""


class OpencodeFileChange(msgspec.Struct, rename="camel", gc=False):
    """One file of a patch."""

    file_path: str = ""
    type: str = ""


class OpencodeToolMetadata(msgspec.Struct, gc=False):
    """Metadata of a tool result."""

    exists: bool | None = None
    """Whether the file existed before it was written."""
    files: list[OpencodeFileChange] = []
    exit: int | None = None
    """Exit code of a command; the call itself succeeds in any case."""


OpencodeEvent = (
    OpencodeToolUse
    | OpencodeTextEvent
    | OpencodeStepStart
    | OpencodeStepFinish
    | OpencodeErrorEvent
)


def parse_tool_metadata(metadata: msgspec.Raw) -> OpencodeToolMetadata:
    """Parse the metadata of a tool result; empty where it has another form."""
    return decode(_TOOL_METADATA, metadata) or OpencodeToolMetadata()


read_line = RecordReader[OpencodeEvent](
    {
        b"tool_use": OpencodeToolUse,
        b"text": OpencodeTextEvent,
        b"step_start": OpencodeStepStart,
        b"step_finish": OpencodeStepFinish,
        b"error": OpencodeErrorEvent,
    }
).read_line
_TOOL_METADATA = msgspec.json.Decoder(OpencodeToolMetadata)


NO_END = "the output ended in the middle of a step"


class OpencodeDecoder(LineDecoder):
    """Decodes the output of one ``opencode`` process."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        super().__init__(start, folder=folder)
        self._todos = TodoList()
        self._used = UsageCounts()
        self._has_ended = False
        """Whether the last step ended the session, or may have done so."""
        self._was_denied = False
        """Whether a call of the last step was not permitted, which ends the session."""
        self._error: OpencodeErrorInfo | None = None

    def final(self) -> AgentResult:
        error = self._error
        failure = None if error is None else failure_of_error(error)
        if error is None and not self._has_ended:
            failure = AgentFailure.CRASHED
        why = NO_END if error is None else _words_of(error)
        return self._result_of(
            None if self._used == UsageCounts() else self._used,
            why=why if error is not None or not self._has_ended else None,
            failure=failure,
            limit=_limit_in(error) if failure is AgentFailure.LIMIT else None,
        )

    def _take_line(self, line: bytes) -> None:
        event = read_line(line)
        if event is not None:
            self._take(event)

    def _take(self, event: OpencodeEvent | PlainLine) -> None:
        match event:
            case OpencodeToolUse(part=part, session_id=session):
                self._take_call(part, is_main=self._is_main(session))
            case OpencodeTextEvent(part=part, session_id=session):
                if self._is_main(session):
                    self._final_text.add(part.text)
                    self._emitter.text(part.text)
            case OpencodeStepStart(session_id=session):
                if self._is_main(session):
                    # Earlier failures no longer matter, since the agent is working again.
                    self._has_ended = self._was_denied = False
                    self._error = None
            case OpencodeStepFinish(part=part, session_id=session):
                self._finish_step(part, is_main=self._is_main(session))
            case OpencodeErrorEvent(error=error, session_id=session):
                if self._is_main(session):
                    self._fail(error)
            case PlainLine(text=text):
                self._emitter.text(text)
            case _:
                assert_never(event)

    def _is_main(self, session: str) -> bool:
        """Whether a record is the main agent's; its session is the first one in the stream."""
        if self._session_id is None:
            self._session_id = session or None
        return session in {self._session_id, ""}

    def _take_call(self, part: OpencodeToolPart, *, is_main: bool) -> None:
        state, name = part.state, part.tool
        given, account = parse_arguments(state.input), parse_tool_metadata(state.metadata)
        asks = name == "question" or is_question_tool(name)
        has_failed = state.status == "error" or name == _INVALID or bool(account.exit)
        if is_main:
            self._final_text.tool_called()
            self._question = question_text(given) if asks and has_failed else ""
        if name == "todowrite":
            if not has_failed:
                self._todos.take("TodoWrite", given, NULL_JSON)
                self._emitter.todos(self._todos.items)
            return
        summary = _summary_of(given, self._folder)
        self._emitter.tool(part.call_id, name, summary, ToolState.STARTED)
        end = ToolState.FAILED if has_failed else ToolState.DONE
        self._emitter.tool(part.call_id, name, summary, end)
        if has_failed:
            self._note_failure(state, () if asks else (name,), is_main=is_main)
        else:
            self._emit_files(name, given, account)

    def _note_failure(
        self, state: OpencodeCallState, denied: tuple[str, ...], *, is_main: bool
    ) -> None:
        """The error lines of a call that failed, and its tool where it was not permitted."""
        output = decode(_TEXT, state.output) or ""
        reported = (first_line(state.error),) if state.error else ()
        self._errors.add((*find_error_lines(output[-MAX_FAILURE_OUTPUT:]), *reported))
        if state.error.startswith(_NOT_PERMITTED):
            self._was_denied = is_main
            self._denied += denied

    def _emit_files(
        self, name: str, given: Mapping[str, Any], account: OpencodeToolMetadata
    ) -> None:
        path = given.get("filePath")
        if name in _ACTIONS and isinstance(path, str):
            action = _ACTIONS[name]
            if name == "write" and account.exists is False:
                action = FileAction.CREATED
            self._emitter.file(relative_path(path, self._folder), action)
        elif name in _PATCHES:
            for change in account.files:
                kind = _KINDS.get(change.type, FileAction.CHANGED)
                self._emitter.file(relative_path(change.file_path, self._folder), kind)

    def _finish_step(self, part: OpencodeFinishPart, *, is_main: bool) -> None:
        tokens = part.tokens or OpencodeTokens()
        cache = tokens.cache or OpencodeCacheTokens()
        used, cost = self._used, add_known(self._used.cost_usd, part.cost)
        new, cached = add_known(tokens.input, cache.write), cache.read
        n_output = add_known(tokens.output, tokens.reasoning)
        context = add_known(new, cached) if is_main else None
        self._used = UsageCounts(
            input_tokens=add_known(used.input_tokens, new),
            output_tokens=add_known(used.output_tokens, n_output),
            cached_tokens=add_known(used.cached_tokens, cached),
            # It reports 0 for a model whose price it does not know.
            cost_usd=round(cost, 6) if cost else None,
            turns=(used.turns or 0) + 1 if is_main else used.turns,
            context_tokens=used.context_tokens if context is None else context,
        )
        self._emitter.usage(self._used)
        if is_main:
            self._has_ended = part.reason != "tool-calls" or self._was_denied

    def _fail(self, error: OpencodeErrorInfo) -> None:
        self._error = error
        words = _words_of(error)
        self._errors.add([words])
        self._emitter.text(words)


def failure_of_error(error: OpencodeErrorInfo) -> AgentFailure | None:
    """Classify an error by name, status and text; None for an unknown one."""
    message = error.data.message
    known = _FAILURES.get(error.name) or failure_of_status(error.data.status_code)
    return known or (None if message.startswith(_OWN_SERVER) else failure_in_text(message))


def _limit_in(error: OpencodeErrorInfo | None) -> AccountLimit:
    """The account limit in a service's answer, with its time."""
    headers = {} if error is None else error.data.response_headers or {}
    try:
        seconds = float(str(headers.get("retry-after")))
    except ValueError:
        return AccountLimit()
    return AccountLimit(resets_in=seconds if 0 <= seconds <= _LONGEST else None)


def _words_of(error: OpencodeErrorInfo) -> str:
    status = error.data.status_code
    words = first_line(error.data.message) or error.name or "it failed"
    return words if status is None else f"{words} (status {status})"


def _summary_of(given: Mapping[str, Any], folder: str) -> str:
    path = given.get("filePath")
    return summarise_arguments(
        {"file_path": path, **given} if isinstance(path, str) else given, folder
    )


_ACTIONS = {
    "read": FileAction.READ,
    "write": FileAction.CHANGED,
    "edit": FileAction.CHANGED,
    "multiedit": FileAction.CHANGED,
}

_INVALID = "invalid"
"""The name under which it reports a call of an unknown tool, as a success."""

_PATCHES = frozenset({"apply_patch", "patch"})
_KINDS = {"add": FileAction.CREATED, "delete": FileAction.DELETED}

_NOT_PERMITTED = ("The user rejected permission", "The user has specified a rule which prevents")
"""How the error of a call begins that was refused."""

_FAILURES = {
    "ProviderAuthError": AgentFailure.NOT_LOGGED_IN,
    "ProviderModelNotFoundError": AgentFailure.WRONG_CALL,
    "ContextOverflowError": AgentFailure.CONTEXT_FULL,
}

_OWN_SERVER = "Unexpected server error"
"""Its message for a failure inside its server, such as an unknown model."""

_LONGEST = 366 * 86400.0
"""Seconds; a longer wait is treated as unknown."""

_TEXT = msgspec.json.Decoder(str | None)


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record, each with its place."""
    part = record.get("part")
    if not isinstance(part, dict):
        return
    kind, state = record.get("type"), part.get("state")
    if kind == "tool_use" and isinstance(state, dict):
        yield from texts_in("a tool's call", state.get("input"))
        where = SUB_AGENT_TEXT if part.get("tool") == "task" else "a tool's result"
        yield from texts_in(where, [state.get("output"), state.get("error")])
    elif kind in _PLACES:
        yield from texts_in(_PLACES[kind], part.get("text"))


_PLACES = {"text": "an earlier text", "reasoning": "the reasoning"}
