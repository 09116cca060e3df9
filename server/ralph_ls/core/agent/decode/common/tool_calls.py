"""Tool calls in one line: summary of arguments, touched file and to-do list.

The names and parameters are those of ``claude``'s tools, which several dialects share; an unknown
tool, such as one of an MCP server, is shown with its name and first text argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Literal

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import decode, object_type
from ralph_ls.protocol.run.messages import FileAction, TodoItem

LONGEST_SUMMARY = 200
"""Characters."""


def to_one_line(text: str) -> str:
    """The beginning of a text on one line; a longer text is cut and marked as cut."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SUMMARY else f"{line[: LONGEST_SUMMARY - 1]}…"


def first_line(text: str) -> str:
    """The first line of a text that is not blank."""
    return text.strip().split("\n", 1)[0].strip()


TODO_TOOLS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})
"""Calls of these tools are shown as the resulting list."""

ACCOUNTED_TOOLS = TODO_TOOLS | {"Write"}
"""The effect of these calls is known only from the tool's result."""

_SUMMARY_KEYS = (
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "skill",
)
"""Parameters that describe a call, the most informative first."""

_ACTIONS = {
    "Read": FileAction.READ,
    "Write": FileAction.CHANGED,
    "Edit": FileAction.CHANGED,
    "MultiEdit": FileAction.CHANGED,
    "NotebookEdit": FileAction.CHANGED,
}

_CREATED = b'"Successfully created'
"""How ``qwen``'s result begins for a file that did not exist."""

_STATES: Mapping[str, Literal["pending", "inProgress", "done"]] = {
    "in_progress": "inProgress",
    "completed": "done",
}

_ANY = msgspec.json.Decoder(dict[str, Any])


def parse_arguments(given: msgspec.Raw) -> dict[str, Any]:
    """The arguments of a call; empty where they are not an object."""
    return decode(_ANY, given) or {}


def summarise_arguments(arguments: Mapping[str, Any], folder: str) -> str:
    """What the call is used on, in one line."""
    for key in chain(_SUMMARY_KEYS, arguments):
        text = arguments.get(key)
        if isinstance(text, str):
            return to_one_line(relative_path(text, folder) if "path" in key else text)
    return ""


def touched_file(name: str, arguments: Mapping[str, Any], folder: str) -> str | None:
    """The file that the call touches, relative to the work tree if it is inside."""
    path = arguments.get("notebook_path" if name == "NotebookEdit" else "file_path")
    return relative_path(path, folder) if name in _ACTIONS and isinstance(path, str) else None


def file_action_of(name: str, result: msgspec.Raw) -> FileAction:
    """What a successful call did to its file; ``result`` is the tool's structured result."""
    if name == "Write" and (object_type(result) == "create" or bytes(result).startswith(_CREATED)):
        return FileAction.CREATED
    return _ACTIONS[name]


def has_answer(result: msgspec.Raw) -> bool:
    """Whether a question was answered; the program counts the answers."""
    account = parse_arguments(result)
    return "answers" not in account or bool(account["answers"])


def relative_path(path: str, folder: str) -> str:
    """The path relative to a folder, if it is inside."""
    inside = path.removeprefix(folder)
    return inside[1:] if folder and inside[:1] in {"/", "\\"} and inside != path else path


class TodoList:
    """The agent's to-do list, assembled from the calls that change it."""

    def __init__(self) -> None:
        self._items: dict[str, TodoItem] = {}

    @property
    def items(self) -> tuple[TodoItem, ...]:
        return tuple(self._items.values())

    def take(self, name: str, arguments: Mapping[str, Any], result: msgspec.Raw) -> None:
        """Apply a successful call."""
        match name:
            case "TodoWrite":
                todos = arguments.get("todos")
                rows = [row for row in _rows(todos) if isinstance(row.get("content"), str)]
                self._items = {
                    str(number): _item(row["content"], row.get("status"))
                    for number, row in enumerate(rows)
                }
            case "TaskCreate":
                task = parse_arguments(result).get("task")
                task_id = task.get("id") if isinstance(task, dict) else None
                subject = arguments.get("subject")
                self._items[str(task_id or len(self._items) + 1)] = _item(str(subject), None)
            case _:
                self._update(arguments)

    def _update(self, arguments: Mapping[str, Any]) -> None:
        task_id, status = str(arguments.get("taskId")), arguments.get("status")
        known = self._items.get(task_id)
        if known is None:
            return
        if status == "deleted":
            del self._items[task_id]
            return
        text = str(arguments.get("subject", known.text))
        state = known.state if status is None else _item(text, status).state
        self._items[task_id] = TodoItem(text=text, state=state)


def _rows(todos: object) -> list[dict[str, Any]]:
    rows = todos if isinstance(todos, list) else []
    return [row for row in rows if isinstance(row, dict)]


def _item(text: str, status: object) -> TodoItem:
    return TodoItem(text=text, state=_STATES.get(str(status), "pending"))


SUB_AGENT_TEXT = "a sub-agent's words"


def texts_in(where: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text in a value, however deep, in order, each with ``where``."""
    waiting = [value]
    while waiting:
        given = waiting.pop()
        match given:
            case str():
                yield where, given
            case dict():
                waiting.extend(reversed(given.values()))
            case list():
                waiting.extend(reversed(given))
            case _:
                pass
