"""A call of a tool as the Agent Client Protocol tells it: bit by bit, each as an agent likes.

Some agents begin with nothing but a title, some tell a call only when they ask for permission, or
when it has ended. What is known is put together here. It must never know what becomes of a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ralph_ls.core.agent.decode.acp.records import Record, record_at, rows_at, text_at, value_at
from ralph_ls.core.agent.decode.claude.tools import path_in, summary_of
from ralph_ls.core.agent.decode.one_line import in_one_line
from ralph_ls.core.agent.decode.said import READ_OF_FAILURE
from ralph_ls.core.agent.decode.told import Todo
from ralph_ls.core.agent.errors import find_error_lines
from ralph_ls.protocol.run.messages import FileAction

DONE, FAILED = "completed", "failed"
"""How a call ends; all else is on the way."""


class Call:
    """What is known of one call."""

    def __init__(self) -> None:
        self.is_told = False
        self._name = ""
        self._kind = ""
        self._title = ""
        self._arguments: Record = {}
        self._locations: list[str] = []
        self._changes: list[tuple[str, FileAction]] = []
        self._output = ""
        self._has_failed = False

    @property
    def name(self) -> str:
        return self._name or self._kind or "tool"

    @property
    def is_clear(self) -> bool:
        """Whether more is known than that it begins."""
        return bool(self._arguments or self._locations or self._changes)

    def take(self, told: Record) -> str:
        """Take what is told of it; its state, empty where that is not told."""
        self._name = text_at(told, "name") or _own_name(told) or self._name
        self._kind = text_at(told, "kind") or self._kind
        self._title = text_at(told, "title") or self._title
        given = record_at(told, "rawInput")
        # Where a command runs says nothing of the command, and is known before it.
        self._arguments = {key: given[key] for key in given if key != "cwd"} or self._arguments
        if self._kind != "execute":
            paths = [text_at(row, "path") for row in rows_at(told, "locations")]
            self._locations = [path for path in paths if path] or self._locations
        content = rows_at(told, "content")
        diffs = [row for row in content if row.get("type") == "diff" and text_at(row, "path")]
        if diffs:
            self._changes = [(text_at(row, "path"), _action(row)) for row in diffs]
        self._take_output(told, content)
        return text_at(told, "status")

    def summary(self, folder: str) -> str:
        """What the tool is used on, in one line."""
        paths = self._locations or [path for path, _ in self._changes]
        if paths and "command" not in self._arguments:
            return in_one_line(", ".join(path_in(path, folder) for path in dict.fromkeys(paths)))
        return summary_of(self._arguments, folder) or in_one_line(self._title)

    def has_failed(self, state: str) -> bool:
        return state == FAILED or self._has_failed

    def error_lines(self) -> tuple[str, ...]:
        """The lines of its output that tell an error, else the first."""
        found = tuple(find_error_lines(self._output[-READ_OF_FAILURE:]))
        said = (line.strip() for line in self._output.splitlines())
        return found or tuple([line for line in said if line.strip("`")][:1])

    def files(self, folder: str) -> list[tuple[str, FileAction]]:
        """The files of a call that went well, relative to the work tree where they lie in it."""
        action = _ACTIONS.get(self._kind)
        found = self._changes if self._kind != "read" else []
        if not found and action is not None:
            found = [(path, action) for path in self._locations]
        return [(path_in(path, folder), action) for path, action in dict.fromkeys(found)]

    def _take_output(self, told: Record, content: list[Record]) -> None:
        texts = [text_at(row, "content", "text") for row in content]
        whole = "\n".join(text for text in texts if text) or _raw_output(told)
        if whole:
            # Agents tell it anew each time, as far as it has come.
            self._output = whole[-READ_OF_FAILURE:]
        more = text_at(told, "_meta", "terminal_output_delta", "data")
        if more:
            self._output = (self._output + more)[-READ_OF_FAILURE:]
        codes = (
            value_at(told, "_meta", "terminal_exit", "exit_code"),
            value_at(told, "rawOutput", "exitCode"),
            value_at(told, "rawOutput", "exit_code"),
            value_at(told, "rawOutput", "metadata", "exit"),
        )
        if any(isinstance(code, int) for code in codes):
            self._has_failed = any(isinstance(code, int) and code != 0 for code in codes)


def todos_in(update: Record) -> tuple[Todo, ...]:
    """The agent's own list."""
    return tuple(
        Todo(text=text, state=_STATES.get(text_at(row, "status"), "pending"))
        for row in rows_at(update, "entries")
        if (text := text_at(row, "content"))
    )


def _own_name(told: Record) -> str:
    """The tool's own name where an agent gives it beside what the protocol knows."""
    return text_at(told, "_meta", "claudeCode", "toolName") or text_at(told, "_meta", "toolName")


def _action(diff: Record) -> FileAction:
    known = _ACTIONS_OF_DIFFS.get(text_at(diff, "_meta", "kind"))
    if known is not None:
        return known
    if diff.get("newText") is None:
        return FileAction.DELETED
    return FileAction.CHANGED if diff.get("oldText") else FileAction.CREATED


def _raw_output(told: Record) -> str:
    places: tuple[tuple[str, ...], ...] = (
        ("rawOutput",),
        ("rawOutput", "output"),
        ("rawOutput", "message"),
        ("rawOutput", "error"),
    )
    return next((text for place in places if (text := text_at(told, *place))), "")


_ACTIONS = {
    "read": FileAction.READ,
    "edit": FileAction.CHANGED,
    "move": FileAction.CHANGED,
    "delete": FileAction.DELETED,
}
_ACTIONS_OF_DIFFS = {
    "add": FileAction.CREATED,
    "update": FileAction.CHANGED,
    "delete": FileAction.DELETED,
}
_STATES: Mapping[str, Literal["pending", "inProgress", "done"]] = {
    "in_progress": "inProgress",
    "completed": "done",
}
