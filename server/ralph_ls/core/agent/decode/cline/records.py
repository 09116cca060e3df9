"""Records and tool calls of ``cline --json``.

Each line is one JSON object with a ``ts`` and a ``type``; most content is one level below, in the
``event`` of an ``agent_event``. Records declare only the fields that are used; others are skipped
without being built. Most of the program's tools do several things in one call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import (
    NULL_JSON,
    RecordReader,
    decode,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    relative_path,
    summarise_arguments,
    to_one_line,
)
from ralph_ls.protocol.run.messages import FileAction


class ClineRecord(msgspec.Struct, rename="camel", gc=False):
    """Base of all records: the spelling of their fields."""


class ClineCounts(ClineRecord):
    """Counts of a run; the input includes cached tokens."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    total_cost: float | None = None


class ClineAgentEvent(ClineRecord):
    """One action of an agent or sub-agent; ``type`` says which."""

    type: str = ""
    content_type: str = ""
    text: str | None = None
    accumulated: str | None = None
    """The text so far, while pieces still arrive."""
    tool_name: str = ""
    tool_call_id: str = ""
    input: msgspec.Raw = NULL_JSON
    output: msgspec.Raw = NULL_JSON
    error: msgspec.Raw = NULL_JSON
    """Of a tool: its text; of an ``error``: an object with a message."""
    error_class: str = ""
    recoverable: bool = True
    message: str = ""
    notice_type: str = ""
    input_tokens: int | None = None
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_cache_read_tokens: int | None = None
    total_cost: float | None = None


class ClineAgentRecord(ClineRecord):
    """The record around an event."""

    event: ClineAgentEvent


class ClineHookRecord(ClineRecord):
    """An agent begins or ends; only here a sub-agent can be distinguished from the main agent."""

    hook_event_name: str = ""
    agent_id: str = ""
    parent_agent_id: str | None = None


class ClineModel(ClineRecord):
    """The model of a run."""

    id: str | None = None


class ClineRunStart(ClineRecord):
    """The beginning, where the program is verbose."""

    session_id: str | None = None
    model_id: str | None = None


class ClineRunResult(ClineRecord):
    """The end of a run, successful or not."""

    finish_reason: str = ""
    iterations: int | None = None
    usage: ClineCounts | None = None
    aggregate_usage: ClineCounts | None = None
    """Including sub-agents."""
    text: str | None = None
    model: ClineModel | None = None


class ClineRunAborted(ClineRecord):
    """The run was cancelled; may follow a result that reports success."""

    message: str = ""


class ClineProgramError(ClineRecord):
    """A failure of the program itself."""

    message: str = ""


ClineAnyRecord = (
    ClineAgentRecord
    | ClineHookRecord
    | ClineRunStart
    | ClineRunResult
    | ClineRunAborted
    | ClineProgramError
)


class ClineCallResult(ClineRecord):
    """The result of one part of a call."""

    query: str | None = None
    result: str | None = None
    error: str | None = None
    success: bool | None = None


def parse_call_results(output: msgspec.Raw) -> list[ClineCallResult]:
    """The results of a call: most tools do several things in one call."""
    found = decode(_RESULTS, output)
    if isinstance(found, ClineCallResult):
        return [found]
    return found or []


def error_message(error: msgspec.Raw) -> str:
    """The text of an error in any of its forms; empty where there is none."""
    found = decode(_ERROR, error)
    if isinstance(found, ClineProgramError):
        return found.message
    return found or ""


read_line = RecordReader[ClineAnyRecord](
    {
        b"agent_event": ClineAgentRecord,
        b"hook_event": ClineHookRecord,
        b"run_start": ClineRunStart,
        b"run_result": ClineRunResult,
        b"run_aborted": ClineRunAborted,
        b"error": ClineProgramError,
    }
).read_line
_RESULTS = msgspec.json.Decoder(ClineCallResult | list[ClineCallResult] | None)
_ERROR = msgspec.json.Decoder(ClineProgramError | str | None)


_LISTS = {
    "commands": ("command",),
    "files": ("path",),
    "queries": ("query",),
    "requests": ("url",),
}
"""Parameters that are lists of texts or objects, and which fields of an object are shown."""


def summarise_call(arguments: Mapping[str, Any], folder: str) -> str:
    """What a call is used on, in one line."""
    for key, names in _LISTS.items():
        rows = arguments.get(key)
        if isinstance(rows, list):
            texts = [text for row in rows if (text := _listed_texts(row, names))]
            return to_one_line("; ".join(relative_path(text, folder) for text in texts))
    task = arguments.get("task")
    if isinstance(task, str):
        return to_one_line(task)
    return summarise_arguments(arguments, folder)


def files_of_call(
    name: str, arguments: Mapping[str, Any], results: Sequence[ClineCallResult], folder: str
) -> list[tuple[str, FileAction]]:
    """The files that a successful call read or wrote, relative to the working directory."""
    if name == "editor":
        path = arguments.get("path")
        is_new = any(_IS_NEW.match(one.result or "") for one in results)
        action = FileAction.CREATED if is_new else FileAction.CHANGED
        return [(relative_path(path, folder), action)] if isinstance(path, str) else []
    rows = arguments.get("files") if name == "read_files" else None
    paths = [_listed_texts(row, ("path",)) for row in (rows if isinstance(rows, list) else [])]
    return [(relative_path(path, folder), FileAction.READ) for path in paths if path]


def is_denial(error: str) -> bool:
    """Whether the program refused a call; recognised by its message, since there is no field."""
    return _IS_DENIAL.search(error) is not None


def _listed_texts(row: object, names: Sequence[str]) -> str:
    given = [row] if isinstance(row, str) else []
    if isinstance(row, dict):
        given = [row[name] for name in names if isinstance(row.get(name), str)]
    return given[0] if given else ""


_IS_NEW = re.compile(r"File created\b")
_IS_DENIAL = re.compile(r'Tool \\*"[^"]*" (?:requires approval|was (?:denied|rejected))')
