"""Tools of agents by their names: the iteration's own, and entries of allow-lists that can write.

Each agent puts the server's name in front of one of the iteration's tools in its own way
(docs/rules.md#tools).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ralph_ls.protocol.run.agent_tools import SERVER, ReportTool

MOST_KEPT = 500
"""Calls of sub-agents that are remembered."""

_NAME = re.compile(
    rf"(?:mcp__?)?{SERVER}(?:__|[_.:/-])(?P<tool>{'|'.join(tool.value for tool in ReportTool)})"
)


def own_tool(name: str) -> str | None:
    """The tool of the iteration that an agent calls by this name; None for any other."""
    match = _NAME.fullmatch(name)
    return None if match is None else match["tool"]


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call by which it is known again: the tool, and what it was called with."""
    given = {key.replace("_", "").casefold(): value for key, value in arguments.items()}
    return f"{tool} {' '.join(json.dumps(given, sort_keys=True).split())}"


# Allow-lists of tools that seem read-only but allow a command that can write.
#
# An agent matches a command by its prefix, so allowing a command that reads also allows those of
# its options that write. Knows only the list, not which agent has which tool.


WRITING_USES = {
    "git": "git diff --output=FILE",
    "git branch": "git branch NAME",
    "git diff": "git diff --output=FILE",
    "git grep": "git grep -O'PROGRAM'",
    "git log": "git log --output=FILE",
    "git show": "git show --output=FILE",
    "git stash": "git stash",
    "git tag": "git tag NAME",
    "awk": "awk '{print >\"FILE\"}'",
    "find": "find -delete",
    "rg": "rg --pre PROGRAM",
    "sed": "sed -i",
    "sort": "sort -o FILE",
    "tee": "tee FILE",
    "uniq": "uniq IN OUT",
    "xargs": "xargs PROGRAM",
    "env": "env PROGRAM",
}
"""Command to one of the ways in which it writes files or runs other programs."""

_PATTERN = re.compile(r"(?P<tool>[^()]+)\((?P<pattern>.+)\)", re.DOTALL)
_SHELLS = {"bash", "shell", "run_shell_command", "execute", "exec_command", "run_commands"}
_WRITERS = {
    *("apply_patch", "create", "edit", "editor", "multiedit", "notebookedit", "patch", "replace"),
    *("str_replace", "write", "write_file", "write_to_file"),
}


def writing_commands(allowed: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Find the entries of an allow-list whose commands can also write, and how each does.

    Empty for a list with a tool that writes openly: such a list makes no claim to be read-only.
    """
    words = tuple(allowed)
    if any(_parts(word)[0] in _WRITERS for word in words):
        return ()
    ways = ((word, _way(*_parts(word))) for word in words)
    return tuple((word, way) for word, way in ways if way is not None)


def _parts(word: str) -> tuple[str, str | None]:
    """Split an entry into the tool, in lower case, and the pattern in its parentheses."""
    found = _PATTERN.fullmatch(word.strip())
    return (word.strip().lower(), None) if found is None else (found[1].lower(), found[2])


def _way(tool: str, pattern: str | None) -> str | None:
    if tool not in _SHELLS:
        return None
    if pattern is None:
        return "any command"
    # ``git diff:*`` and ``git diff *`` are equivalent; without a star only that exact command
    # matches.
    if "*" not in pattern:
        return None
    begin = pattern.partition("*")[0].removesuffix(":").split()
    if not begin:
        return "any command"
    # Each subcommand of git has different options.
    of_all = None if begin[0] == "git" and len(begin) > 1 else WRITING_USES.get(begin[0])
    return WRITING_USES.get(" ".join(begin[:2]), of_all)
