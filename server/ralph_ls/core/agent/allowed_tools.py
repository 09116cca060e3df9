"""Lists of allowed tools that look as if they only read, and allow a command that writes.

An agent matches a command by its beginning, so whoever allows a command that reads allows what its
options write. This module must never know which agent has which tool.
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
"""By command, one of the ways in which it writes or runs something else."""

_PATTERN = re.compile(r"(?P<tool>[^()]+)\((?P<pattern>.+)\)", re.DOTALL)
_SHELLS = {"bash", "shell", "run_shell_command", "execute", "exec_command", "run_commands"}
_WRITERS = {
    *("apply_patch", "create", "edit", "editor", "multiedit", "notebookedit", "patch", "replace"),
    *("str_replace", "write", "write_file", "write_to_file"),
}


def writing_commands(allowed: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Each word of a list that allows a command which also writes, and how it does.

    Empty for a list with a tool that writes: it does not look as if it only read.
    """
    words = tuple(allowed)
    if any(_parts(word)[0] in _WRITERS for word in words):
        return ()
    ways = ((word, _way(*_parts(word))) for word in words)
    return tuple((word, way) for word, way in ways if way is not None)


def _parts(word: str) -> tuple[str, str | None]:
    """A tool in lower case, and the pattern that bounds it."""
    found = _PATTERN.fullmatch(word.strip())
    return (word.strip().lower(), None) if found is None else (found[1].lower(), found[2])


def _way(tool: str, pattern: str | None) -> str | None:
    if tool not in _SHELLS:
        return None
    if pattern is None:
        return "any command"
    # ``git diff:*`` and ``git diff *`` are the same; without a star it is that command alone.
    if "*" not in pattern:
        return None
    begin = pattern.partition("*")[0].removesuffix(":").split()
    if not begin:
        return "any command"
    # Of git each command has its own options.
    of_all = None if begin[0] == "git" and len(begin) > 1 else WRITING_USES.get(begin[0])
    return WRITING_USES.get(" ".join(begin[:2]), of_all)
