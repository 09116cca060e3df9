"""What a tool call of ``gemini`` is about: the file that it touches, the to-do list.

Names and parameters are those of the program's own tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ralph_ls.core.agent.decode.told import Todo
from ralph_ls.protocol.run.messages import FileAction

TODO_TOOLS = frozenset({"write_todos"})

ACTIONS = {
    "read_file": FileAction.READ,
    "write_file": FileAction.CHANGED,
    "replace": FileAction.CHANGED,
}
"""Of tools with a ``file_path``; whether a file was there before is not told."""


def is_own_tool(name: str) -> bool:
    """Whether the program has such a tool, be it allowed or not."""
    return name in _OWN


def todos_in(given: Mapping[str, Any]) -> tuple[Todo, ...]:
    """The list of a call that writes one; tasks that were called off are none."""
    rows = given.get("todos")
    return tuple(
        Todo(text=row["description"], state=_STATES.get(str(row.get("status")), "pending"))
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
