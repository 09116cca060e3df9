"""Allow-lists of tools that seem read-only but allow a command that can write.

An agent matches a command by its prefix, so allowing a command that reads also allows those of its
options that write. Knows only the list, not which agent has which tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
