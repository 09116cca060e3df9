"""Events and items of ``codex exec --json``.

Each line is one JSON object with a ``type``; actions are one level below, in an ``item`` with its
own ``type``. Records declare only the fields that are used; others are skipped without being built.
Tool names are those that the program gives its model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import (
    NULL_JSON,
    RecordReader,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    parse_arguments,
    relative_path,
    summarise_arguments,
    to_one_line,
)
from ralph_ls.protocol.run.messages import FileAction, TodoItem


class CodexFileChange(msgspec.Struct, gc=False):
    """One file of a ``file_change``."""

    path: str = ""
    kind: str = ""


class CodexTodoStep(msgspec.Struct, gc=False):
    """One line of a ``todo_list``."""

    text: str = ""
    completed: bool = False


class CodexFailure(msgspec.Struct, gc=False):
    """An error message."""

    message: str = ""


class CodexItem(msgspec.Struct, gc=False):
    """One action of the agent; which fields it has depends on its ``type``."""

    type: str = ""
    id: str = ""
    status: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: msgspec.Raw = NULL_JSON
    exit_code: int | None = None
    changes: list[CodexFileChange] = []
    server: str = ""
    tool: str = ""
    arguments: msgspec.Raw = NULL_JSON
    error: CodexFailure | None = None
    query: str = ""
    prompt: str | None = None
    items: list[CodexTodoStep] = []


class CodexItemEvent(msgspec.Struct, gc=False):
    """Base of the three item events below."""

    item: CodexItem


class CodexItemStarted(CodexItemEvent, gc=False):
    """An item begins."""


class CodexItemUpdated(CodexItemEvent, gc=False):
    """An item has changed."""


class CodexItemCompleted(CodexItemEvent, gc=False):
    """An item has ended, successfully or not; short ones have no start event."""


class CodexThreadStarted(msgspec.Struct):
    """The first event; threads can be resumed by their id."""

    thread_id: str | None = None


class CodexTurnStarted(msgspec.Struct):
    """The prompt was sent to the model."""


class CodexTokens(msgspec.Struct, gc=False):
    """Counts of the whole thread; the input includes cached tokens."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None


class CodexTurnCompleted(msgspec.Struct):
    """The turn ended successfully."""

    usage: CodexTokens | None = None


class CodexTurnFailed(msgspec.Struct):
    """The turn failed."""

    error: CodexFailure | None = None


class CodexErrorEvent(msgspec.Struct):
    """An error; the program may retry."""

    message: str = ""


class CodexInputRequested(msgspec.Struct):
    """The model asks the user, where the program permits it."""

    questions: Any = None


CodexEvent = (
    CodexItemStarted
    | CodexItemUpdated
    | CodexItemCompleted
    | CodexThreadStarted
    | CodexTurnStarted
    | CodexTurnCompleted
    | CodexTurnFailed
    | CodexErrorEvent
    | CodexInputRequested
)


def succeeded_command_id(line: bytes) -> str | None:
    """The id of a command that a line reports as successful, from the two ends of the line.

    Most bytes of a stream are output of commands, which is not needed.
    """
    if not line.endswith(_WENT_WELL):
        return None
    command = _COMMAND.match(line)
    return None if command is None else command[1].decode()


_COMMAND = re.compile(
    rb'\{"type":"item\.completed","item":\{"id":"([\w-]+)","type":"command_execution","command":"'
)
_WENT_WELL = b'","exit_code":0,"status":"completed"}}\n'
"""After a quotation mark that no text contains unescaped, so these are the item's own fields."""

read_line = RecordReader[CodexEvent](
    {
        b"item.started": CodexItemStarted,
        b"item.updated": CodexItemUpdated,
        b"item.completed": CodexItemCompleted,
        b"thread.started": CodexThreadStarted,
        b"turn.started": CodexTurnStarted,
        b"turn.completed": CodexTurnCompleted,
        b"turn.failed": CodexTurnFailed,
        b"error": CodexErrorEvent,
        b"request_user_input": CodexInputRequested,
    }
).read_line


SHELL = "shell"
PATCH = "apply_patch"

TOOL_ITEMS = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"}
)
"""Kinds of items that are tool calls; others are texts, plans and warnings."""


def item_tool_name(item: CodexItem) -> str:
    """The tool name of an item."""
    match item.type:
        case "command_execution":
            return SHELL
        case "file_change":
            return PATCH
        case "mcp_tool_call":
            return f"mcp__{item.server}__{item.tool}" if item.server else item.tool
        case "collab_tool_call":
            return item.tool
        case _:
            return item.type


def summarise_item(item: CodexItem, folder: str) -> str:
    """What the tool is used on, in one line."""
    match item.type:
        case "command_execution":
            return to_one_line(bare_command(item.command))
        case "file_change":
            return to_one_line(
                ", ".join(relative_path(change.path, folder) for change in item.changes)
            )
        case "mcp_tool_call":
            return summarise_arguments(parse_arguments(item.arguments), folder)
        case "collab_tool_call":
            return to_one_line(item.prompt or "")
        case _:
            return to_one_line(item.query)


def bare_command(command: str) -> str:
    """A command without the shell that runs it, where it is passed as a single argument."""
    handed = _HANDED_TO_A_SHELL.fullmatch(command)
    if handed is None:
        return command
    quoted = handed[1]
    return quoted[1:-1].replace(_QUOTE_IN_QUOTES, "'") if quoted[0] == "'" else quoted


def changed_files(changes: Sequence[CodexFileChange], folder: str) -> list[tuple[str, FileAction]]:
    """The files of a successful change, relative to the work tree if they are inside."""
    return [
        (relative_path(change.path, folder), _ACTIONS.get(change.kind, FileAction.CHANGED))
        for change in changes
        if change.path
    ]


def to_todos(steps: Sequence[CodexTodoStep]) -> tuple[TodoItem, ...]:
    """The agent's to-do list; it does not show the current step."""
    return tuple(
        TodoItem(text=step.text, state="done" if step.completed else "pending") for step in steps
    )


_HANDED_TO_A_SHELL = re.compile(r"(?:[^\s'\"]*/)?(?:ba|z|da|k)?sh -l?c ('.*'|[^'\"\s]+)", re.DOTALL)
_QUOTE_IN_QUOTES = """'"'"'"""
"""A single quotation mark within single quotes."""

_ACTIONS = {"add": FileAction.CREATED, "delete": FileAction.DELETED, "update": FileAction.CHANGED}
