"""The stream of ``opencode run --format json``, decoded as it comes.

Four things about it are easily got wrong. It has no record of its end: a step that finished for
another reason than to call tools is the last. A call is told only once it has come back. A call
that is not permitted ends the session with the exit code 0. And what was used is told step by step,
where the input holds nothing that a cache gave.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from ralph_ls.core.agent.decode.claude.tools import TodoList, arguments_of, path_in, summary_of
from ralph_ls.core.agent.decode.final import Final, Limit
from ralph_ls.core.agent.decode.frame import LineDecoder
from ralph_ls.core.agent.decode.one_line import first_line
from ralph_ls.core.agent.decode.opencode.records import (
    Account,
    CacheTokens,
    ErrorEvent,
    ErrorInfo,
    Event,
    FinishPart,
    StepFinish,
    StepStart,
    TextEvent,
    Tokens,
    ToolPart,
    ToolUse,
    account_in,
    read_line,
)
from ralph_ls.core.agent.decode.records import NOTHING, Words, decode
from ralph_ls.core.agent.decode.said import READ_OF_FAILURE, is_asking, question_in
from ralph_ls.core.agent.decode.told import Counts, usage_of
from ralph_ls.core.agent.errors import find_error_lines
from ralph_ls.core.agent.failure import failure_in, failure_of_status
from ralph_ls.core.agent.usage import add_known
from ralph_ls.protocol.run.messages import FileAction, ToolState
from ralph_ls.protocol.run.report import AgentFailure

NO_END = "its output ended before its last step did"


class OpencodeDecoder(LineDecoder):
    """Reads one process of ``opencode``."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        super().__init__(start, folder=folder)
        self._todos = TodoList()
        self._used = Counts()
        self._has_ended = False
        """Whether the last step was to be the last, or could not be."""
        self._was_denied = False
        """Whether a call of the last step was not permitted, which ends the session."""
        self._error: ErrorInfo | None = None

    def final(self) -> Final:
        error = self._error
        failure = None if error is None else failure_of_error(error)
        if error is None and not self._has_ended:
            failure = AgentFailure.CRASHED
        why = NO_END if error is None else _words_of(error)
        failed = error is not None or not self._has_ended
        return Final(
            text=self._said.text,
            earlier=self._said.earlier,
            asked=self._asked,
            errors=self._errors.lines,
            usage=None if self._used == Counts() else usage_of(self._used),
            session_id=self._session_id,
            failed=failed,
            why=why if failed else "",
            failure=failure,
            denied_tools=tuple(self._denied),
            limit=_limit_in(error) if failure is AgentFailure.LIMIT else None,
        )

    def _take_line(self, line: bytes) -> None:
        event = read_line(line)
        if event is not None:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case ToolUse(part=part, session_id=session):
                self._take_call(part, is_main=self._is_main(session))
            case TextEvent(part=part, session_id=session):
                if self._is_main(session):
                    self._said.add(part.text)
                    self._tell.text(part.text)
            case StepStart(session_id=session):
                if self._is_main(session):
                    # Whatever failed before, the agent is at work again.
                    self._has_ended = self._was_denied = False
                    self._error = None
            case StepFinish(part=part, session_id=session):
                self._finish_step(part, is_main=self._is_main(session))
            case ErrorEvent(error=error, session_id=session):
                if self._is_main(session):
                    self._fail(error)
            case Words(text=text):
                self._tell.text(text)
            case _:
                assert_never(event)

    def _is_main(self, session: str) -> bool:
        """Whether the agent itself speaks; its session is the first that is told."""
        if self._session_id is None:
            self._session_id = session or None
        return session in {self._session_id, ""}

    def _take_call(self, part: ToolPart, *, is_main: bool) -> None:
        state, name = part.state, part.tool
        given, account = arguments_of(state.input), account_in(state.metadata)
        asks = name == "question" or is_asking(name)
        has_failed = state.status == "error" or name == _INVALID or bool(account.exit)
        if is_main:
            self._said.tool_called()
            self._asked = question_in(given) if asks and has_failed else ""
        if name == "todowrite":
            if not has_failed:
                self._todos.take("TodoWrite", given, NOTHING)
                self._tell.todos(self._todos.items)
            return
        summary = _summary_of(given, self._folder)
        self._tell.tool(part.call_id, name, summary, ToolState.STARTED)
        end = ToolState.FAILED if has_failed else ToolState.DONE
        self._tell.tool(part.call_id, name, summary, end)
        if not has_failed:
            self._tell_files(name, given, account)
            return
        output = decode(_TEXT, state.output) or ""
        told = (first_line(state.error),) if state.error else ()
        self._errors.add((*find_error_lines(output[-READ_OF_FAILURE:]), *told))
        if state.error.startswith(_NOT_PERMITTED):
            self._was_denied = is_main
            if not asks:
                self._denied.append(name)

    def _tell_files(self, name: str, given: Mapping[str, Any], account: Account) -> None:
        path = given.get("filePath")
        if name in _ACTIONS and isinstance(path, str):
            action = _ACTIONS[name]
            if name == "write" and account.exists is False:
                action = FileAction.CREATED
            self._tell.file(path_in(path, self._folder), action)
        elif name in _PATCHES:
            for change in account.files:
                kind = _KINDS.get(change.type, FileAction.CHANGED)
                self._tell.file(path_in(change.file_path, self._folder), kind)

    def _finish_step(self, part: FinishPart, *, is_main: bool) -> None:
        tokens = part.tokens or Tokens()
        cache = tokens.cache or CacheTokens()
        used, cost = self._used, add_known(self._used.cost_usd, part.cost)
        new, cached = add_known(tokens.input, cache.write), cache.read
        said = add_known(tokens.output, tokens.reasoning)
        context = add_known(new, cached) if is_main else None
        self._used = Counts(
            input_tokens=add_known(used.input_tokens, new),
            output_tokens=add_known(used.output_tokens, said),
            cached_tokens=add_known(used.cached_tokens, cached),
            # Nought is what it tells of a model whose price it does not know.
            cost_usd=round(cost, 6) if cost else None,
            turns=(used.turns or 0) + 1 if is_main else used.turns,
            context_tokens=used.context_tokens if context is None else context,
        )
        self._tell.usage(self._used)
        if is_main:
            self._has_ended = part.reason != "tool-calls" or self._was_denied

    def _fail(self, error: ErrorInfo) -> None:
        self._error = error
        words = _words_of(error)
        self._errors.add([words])
        self._tell.text(words)


def failure_of_error(error: ErrorInfo) -> AgentFailure | None:
    """Which failure an error is; None where neither its name, its status nor its words tell."""
    message = error.data.message
    known = _FAILURES.get(error.name) or failure_of_status(error.data.status_code)
    return known or (None if message.startswith(_OWN_SERVER) else failure_in(message))


def _limit_in(error: ErrorInfo | None) -> Limit:
    """The limit that an answer of the model's service tells, with the time that it names."""
    headers = {} if error is None else error.data.response_headers or {}
    try:
        seconds = float(str(headers.get("retry-after")))
    except ValueError:
        return Limit()
    return Limit(resets_in=seconds if 0 <= seconds <= _LONGEST else None)


def _words_of(error: ErrorInfo) -> str:
    status = error.data.status_code
    words = first_line(error.data.message) or error.name or "it failed"
    return words if status is None else f"{words} (status {status})"


def _summary_of(given: Mapping[str, Any], folder: str) -> str:
    path = given.get("filePath")
    return summary_of({"file_path": path, **given} if isinstance(path, str) else given, folder)


_ACTIONS = {
    "read": FileAction.READ,
    "write": FileAction.CHANGED,
    "edit": FileAction.CHANGED,
    "multiedit": FileAction.CHANGED,
}

_INVALID = "invalid"
"""The name under which it tells a call of a tool that it does not have, as one that went well."""

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
"""What it says of a failure inside of itself, such as a model that there is not."""

_LONGEST = 366 * 86400.0
"""Seconds; no limit lasts longer, and what says so is not believed."""

_TEXT = msgspec.json.Decoder(str | None)
