"""Records, failures and tool calls of ``gemini -o stream-json``.

Each line is one JSON object with a ``type``. Records declare only the fields that are used; others
are skipped without being built. A failure has a kind of its program, or ``unknown``; then the
message contains the answer of the model's service: an object with a code, or a text and a status.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import (
    NULL_JSON,
    RecordReader,
    decode,
)
from ralph_ls.core.agent.failures import failure_in_text, failure_of_status
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.protocol.run.messages import FileAction, TodoItem
from ralph_ls.protocol.run.report import AgentFailure


class GeminiInitRecord(msgspec.Struct):
    """The first record."""

    session_id: str | None = None
    model: str | None = None


class GeminiMessageRecord(msgspec.Struct, gc=False):
    """A text: the prompt, or a fragment of the model's answer."""

    role: str = ""
    content: str = ""
    delta: bool | None = None


class GeminiToolUse(msgspec.Struct, gc=False):
    """A tool call begins."""

    tool_name: str = ""
    tool_id: str = ""
    parameters: msgspec.Raw = NULL_JSON


class GeminiFailure(msgspec.Struct, gc=False):
    """An error."""

    type: str = ""
    message: str = ""


class GeminiToolResult(msgspec.Struct, gc=False):
    """A call has ended, successfully or not."""

    tool_id: str = ""
    status: str = ""
    output: msgspec.Raw = NULL_JSON
    error: GeminiFailure | None = None


class GeminiErrorRecord(msgspec.Struct):
    """An error or warning; the program may recover."""

    severity: str = ""
    message: str = ""


class GeminiStats(msgspec.Struct):
    """Counts of the whole process; the input includes cached tokens."""

    total_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached: int | None = None
    models: dict[str, Any] = {}


class GeminiResultRecord(msgspec.Struct):
    """The end."""

    status: str = ""
    error: GeminiFailure | None = None
    stats: GeminiStats | None = None


GeminiRecord = (
    GeminiInitRecord
    | GeminiMessageRecord
    | GeminiToolUse
    | GeminiToolResult
    | GeminiErrorRecord
    | GeminiResultRecord
)


def succeeded_call_id(line: bytes) -> str | None:
    """The id of a call that a record reports as successful, without parsing the result."""
    found = _WENT_WELL.match(line)
    return None if found is None or not line.endswith(_ENDS) else found[1].decode()


_WENT_WELL = re.compile(
    rb'\{"type":"tool_result","timestamp":"[^"\\]*","tool_id":"([^"\\]*)","status":"success"[,}]'
)
_ENDS = (b"}\n", b"}\r\n")

read_line = RecordReader[GeminiRecord](
    {
        b"init": GeminiInitRecord,
        b"message": GeminiMessageRecord,
        b"tool_use": GeminiToolUse,
        b"tool_result": GeminiToolResult,
        b"error": GeminiErrorRecord,
        b"result": GeminiResultRecord,
    }
).read_line


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiFailureDetails:
    """How an agent failed."""

    why: str
    """In one line."""
    kind: AgentFailure | None = None
    limit: AccountLimit | None = None


def classify_failure(error: GeminiFailure) -> GeminiFailureDetails:
    """Classify an error; the message is its first line where nothing else is known."""
    message = error.message.strip()
    wrapped = _WRAPPED.match(message)
    inner = message if wrapped is None else wrapped[1]
    answer = decode(_ANSWER, inner.encode()) if inner.startswith("{") else None
    if answer is not None and answer.error.message:
        text, code = answer.error.message, answer.error.code
        why = text if not isinstance(code, int) else f"{text} (status {code})"
    else:
        text, code = inner, None
        why = inner or error.type or "it failed"
    is_quota = _OF_A_QUOTA.search(message) is not None
    kind = _KINDS.get(error.type) or (AgentFailure.LIMIT if is_quota else _by_answer(code, text))
    return GeminiFailureDetails(
        why=why.strip().split("\n", 1)[0].strip(),
        kind=kind,
        limit=_limit_in(text) if kind is AgentFailure.LIMIT else None,
    )


def _by_answer(code: int | str | None, text: str) -> AgentFailure | None:
    if isinstance(code, int) and failure_of_status(code) is not None:
        return failure_of_status(code)
    status = _STATUS.search(text)
    named = code if isinstance(code, str) else "" if status is None else status[1]
    return _STATUSES.get(named) or _by_words(text)


def _by_words(text: str) -> AgentFailure | None:
    for kind, shape in _WORDS:
        if shape.search(text) is not None:
            return kind
    return failure_in_text(text)


def _limit_in(text: str) -> AccountLimit:
    """The account limit, with the wait that the service requests."""
    found = _RETRY_IN.search(text)
    return AccountLimit(resets_in=None if found is None else float(found[1]))


class _Error(msgspec.Struct):
    code: int | str | None = None
    message: str = ""


class _Answer(msgspec.Struct):
    error: _Error


_ANSWER = msgspec.json.Decoder(_Answer)
_WRAPPED = re.compile(r"\[API Error: (.*?)\](?=\n|\Z)", re.DOTALL)
_STATUS = re.compile(r"\(Status: ([A-Z_]+)\)\Z")

_KINDS = {
    "FatalAuthenticationError": AgentFailure.NOT_LOGGED_IN,
    "ValidationRequiredError": AgentFailure.NOT_LOGGED_IN,
    "FatalTurnLimitedError": AgentFailure.MAX_TURNS,
    "FatalInputError": AgentFailure.WRONG_CALL,
    "FatalConfigError": AgentFailure.WRONG_CALL,
    "ModelNotFoundError": AgentFailure.WRONG_CALL,
    "TerminalQuotaError": AgentFailure.LIMIT,
    "RetryableQuotaError": AgentFailure.LIMIT,
}
"""Kinds of errors; most are ``unknown``, and then the message decides."""

_STATUSES = {
    "UNAUTHENTICATED": AgentFailure.NOT_LOGGED_IN,
    "PERMISSION_DENIED": AgentFailure.NOT_LOGGED_IN,
    "authentication_error": AgentFailure.NOT_LOGGED_IN,
    "NOT_FOUND": AgentFailure.WRONG_CALL,
    "RESOURCE_EXHAUSTED": AgentFailure.LIMIT,
    "rate_limit_error": AgentFailure.LIMIT,
    "INTERNAL": AgentFailure.OVERLOADED,
    "UNAVAILABLE": AgentFailure.OVERLOADED,
    "DEADLINE_EXCEEDED": AgentFailure.OVERLOADED,
    "overloaded_error": AgentFailure.OVERLOADED,
}

_WORDS = tuple(
    (kind, re.compile(shape, re.IGNORECASE))
    for kind, shape in (
        (AgentFailure.MAX_TURNS, r"\bmax(?:imum)? session turns\b"),
        (AgentFailure.LIMIT, r"\bexhausted your\b.*\bquota\b|\bexceeded your current quota\b"),
        (AgentFailure.CONTEXT_FULL, r"\binput token count\b.*\bexceeds\b"),
    )
)
"""The program's own failure messages."""

_OF_A_QUOTA = re.compile(
    r"\nPlease wait and try again later\.|\nPossible quota limitations in place\b"
)
"""Added to the message of every answer with status 429, and of no other."""

_RETRY_IN = re.compile(r"\b(?:retry in|reset after) (\d{1,7}(?:\.\d{1,9})?)s\b", re.IGNORECASE)


TODO_TOOLS = frozenset({"write_todos"})

ACTIONS = {
    "read_file": FileAction.READ,
    "write_file": FileAction.CHANGED,
    "replace": FileAction.CHANGED,
}
"""Tools with a ``file_path``; whether the file existed before is not reported."""


def is_own_tool(name: str) -> bool:
    """Whether the program has such a tool, permitted or not."""
    return name in _OWN


def parse_todos(given: Mapping[str, Any]) -> tuple[TodoItem, ...]:
    """The to-do list of a call; cancelled tasks are left out."""
    rows = given.get("todos")
    return tuple(
        TodoItem(text=row["description"], state=_STATES.get(str(row.get("status")), "pending"))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict)
        and isinstance(row.get("description"), str)
        and row.get("status") != "cancelled"
    )


_STATES: Mapping[str, Literal["pending", "inProgress", "done"]] = {
    "in_progress": "inProgress",
    "completed": "done",
}

_OWN = frozenset(ACTIONS) | {
    "run_shell_command",
    "web_fetch",
    "google_web_search",
    "read_many_files",
    "list_directory",
    "glob",
    "grep_search",
    "search_file_content",
    "save_memory",
    "invoke_agent",
    "activate_skill",
}
