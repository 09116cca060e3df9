"""What an item of ``codex`` is about: the tool, what it is used on in one line, its files.

The names of the tools are the program's own, as its model calls them. It must never know what
becomes of a call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph_ls.core.agent.decode.claude.tools import arguments_of, path_in, summary_of
from ralph_ls.core.agent.decode.codex.records import Change, Item, Step
from ralph_ls.core.agent.decode.one_line import in_one_line
from ralph_ls.core.agent.decode.told import Todo
from ralph_ls.protocol.run.messages import FileAction

SHELL = "shell"
PATCH = "apply_patch"

TOOL_ITEMS = frozenset(
    {"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"}
)
"""Kinds of items that are calls of tools; the others are words, plans and warnings."""


def name_of(item: Item) -> str:
    """The tool of an item."""
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


def summary_of_item(item: Item, folder: str) -> str:
    """What the tool is used on, in one line."""
    match item.type:
        case "command_execution":
            return in_one_line(bare_command(item.command))
        case "file_change":
            return in_one_line(", ".join(path_in(change.path, folder) for change in item.changes))
        case "mcp_tool_call":
            return summary_of(arguments_of(item.arguments), folder)
        case "collab_tool_call":
            return in_one_line(item.prompt or "")
        case _:
            return in_one_line(item.query)


def bare_command(command: str) -> str:
    """A command without the shell that it is handed to, where it is handed over whole."""
    handed = _HANDED_TO_A_SHELL.fullmatch(command)
    if handed is None:
        return command
    quoted = handed[1]
    return quoted[1:-1].replace(_QUOTE_IN_QUOTES, "'") if quoted[0] == "'" else quoted


def files_of(changes: Sequence[Change], folder: str) -> list[tuple[str, FileAction]]:
    """The files of a change that went well, relative to the work tree where they lie in it."""
    return [
        (path_in(change.path, folder), _ACTIONS.get(change.kind, FileAction.CHANGED))
        for change in changes
        if change.path
    ]


def todo_items(steps: Sequence[Step]) -> tuple[Todo, ...]:
    """The agent's list; it does not say which step it is at."""
    return tuple(
        Todo(text=step.text, state="done" if step.completed else "pending") for step in steps
    )


_HANDED_TO_A_SHELL = re.compile(r"(?:[^\s'\"]*/)?(?:ba|z|da|k)?sh -l?c ('.*'|[^'\"\s]+)", re.DOTALL)
_QUOTE_IN_QUOTES = """'"'"'"""
"""How a single quotation mark stands inside of a text in such marks."""

_ACTIONS = {"add": FileAction.CREATED, "delete": FileAction.DELETED, "update": FileAction.CHANGED}
