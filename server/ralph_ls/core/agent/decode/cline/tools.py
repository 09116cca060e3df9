"""What a tool call of ``cline`` is about: in one line, the files it touches, whether it was denied.

Names and parameters are those of the program's own tools, of which most do several things in one
call. It must never know what becomes of a call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ralph_ls.core.agent.decode.claude.tools import path_in, summary_of
from ralph_ls.core.agent.decode.cline.records import Result
from ralph_ls.core.agent.decode.one_line import in_one_line
from ralph_ls.protocol.run.messages import FileAction

_LISTS = {
    "commands": ("command",),
    "files": ("path",),
    "queries": ("query",),
    "requests": ("url",),
}
"""Parameters that are lists, of texts or of objects, and what of an object is told."""


def summary_of_call(arguments: Mapping[str, Any], folder: str) -> str:
    """What a call is used on, in one line."""
    for key, names in _LISTS.items():
        rows = arguments.get(key)
        if isinstance(rows, list):
            told = [text for row in rows if (text := _told(row, names))]
            return in_one_line("; ".join(path_in(text, folder) for text in told))
    task = arguments.get("task")
    if isinstance(task, str):
        return in_one_line(task)
    return summary_of(arguments, folder)


def files_of_call(
    name: str, arguments: Mapping[str, Any], results: Sequence[Result], folder: str
) -> list[tuple[str, FileAction]]:
    """The files that a call which went well read or wrote, relative to the folder it works in."""
    if name == "editor":
        path = arguments.get("path")
        is_new = any(_IS_NEW.match(one.result or "") for one in results)
        action = FileAction.CREATED if is_new else FileAction.CHANGED
        return [(path_in(path, folder), action)] if isinstance(path, str) else []
    rows = arguments.get("files") if name == "read_files" else None
    paths = [_told(row, ("path",)) for row in (rows if isinstance(rows, list) else [])]
    return [(path_in(path, folder), FileAction.READ) for path in paths if path]


def is_denial(error: str) -> bool:
    """Whether the program did not let a call happen; it says so in no field, but in these words."""
    return _IS_DENIAL.search(error) is not None


def _told(row: object, names: Sequence[str]) -> str:
    given = [row] if isinstance(row, str) else []
    if isinstance(row, dict):
        given = [row[name] for name in names if isinstance(row.get(name), str)]
    return given[0] if given else ""


_IS_NEW = re.compile(r"File created\b")
_IS_DENIAL = re.compile(r'Tool \\*"[^"]*" (?:requires approval|was (?:denied|rejected))')
