"""Globs of a validation script: the files that it checks, and those that may change unseen.

A script names the files that it checks in one of its first lines, ``# ralph: globs = client/**,
*.ts``, so the line changes with the script, and ``ralph allow`` shows both together. A script
without such a line always runs. The globs are those of ``.gitignore``, as far as they are alike
everywhere: a glob without a slash matches a file's name in any folder, ``**`` any folders, and a
folder's name everything in it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

LINES_READ = 10
"""First lines of a script that are searched."""

_GLOBS = re.compile(r"\W*ralph:\s*globs\s*=(.*)", re.IGNORECASE)
_MAY_CHANGE = re.compile(r"\W*ralph:\s*may-change\s*=(.*)", re.IGNORECASE)


def script_globs(text: str) -> tuple[str, ...]:
    """The globs that a script names in its first lines; empty: it always runs."""
    return _named(_GLOBS, text)


def changeable_globs(text: str) -> tuple[str, ...]:
    """Globs of files that a script runs and that an iteration may change nevertheless."""
    return _named(_MAY_CHANGE, text)


def _named(setting: re.Pattern[str], text: str) -> tuple[str, ...]:
    for line in text.split("\n", LINES_READ)[:LINES_READ]:
        if found := setting.match(line.rstrip()):
            return tuple(glob for glob in (part.strip() for part in found[1].split(",")) if glob)
    return ()


def matches_globs(globs: Iterable[str], paths: Iterable[str]) -> bool:
    """Whether one of the globs names one of the paths, which are relative to the work tree."""
    patterns = [_pattern(glob) for glob in globs]
    return any(pattern.fullmatch(path) for path in paths for pattern in patterns)


@functools.cache
def _pattern(glob: str) -> re.Pattern[str]:
    is_name = "/" not in glob.rstrip("/")
    pieces = re.split(r"(^/|\*\*/|\*\*|\*|\?)", glob.removeprefix("./").rstrip("/"))
    written = "".join(_WORDS.get(piece, re.escape(piece)) for piece in pieces)
    anywhere = "(?:.*/)?" if is_name else ""
    # The name of a folder matches everything in it.
    return re.compile(f"{anywhere}{written}(?:/.*)?", re.DOTALL)


_WORDS = {"/": "", "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
