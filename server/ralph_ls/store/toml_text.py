"""TOML text: a bounded parser for files of a repository, and the lines of their keys.

The parser only raises ``ValueError``. Python's reader recurses into nested values, takes quadratic
time for a key of many dotted parts, and accepts integers of any size, which TOML does not allow.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

MOST_PARTS = 50
"""Most parts of a dotted key; no setting has more than five."""

_KEY_PART = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)\s*""")
_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+"
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}}", re.ASCII)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text; raises ``tomllib.TOMLDecodeError``, else ``ValueError`` with what
    is wrong.
    """
    found = _LONG_KEY.search(text)
    if found is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise ValueError(f"the key in line {line} has more than {MOST_PARTS} parts")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise ValueError("its values are nested too deeply or too long") from error
    problem = _problem_in(tables)
    if problem:
        raise ValueError(problem)
    return tables


def line_of_key(text: str, wanted: list[str]) -> int | None:
    """Line of the key, or of the nearest enclosing table; None if neither is found."""
    best, best_depth = None, 0
    for number, path in paths_in(text):
        if path[: len(wanted)] == wanted:
            return number
        if wanted[: len(path)] == path and len(path) > best_depth:
            best, best_depth = number, len(path)
    return best


def paths_in(text: str) -> Iterator[tuple[int, list[str]]]:
    """Each line that begins with a key or is a table's header, with the whole path of that."""
    table: list[str] = []
    quotes = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if quotes:
            quotes = "" if quotes in line else quotes
            continue
        stripped = line.strip()
        header = stripped.startswith("[")
        keys = _keys_of(stripped.lstrip("[")) if stripped else []
        if header:
            table = keys
        if keys:
            yield number, table if header else [*table, *keys]
        quotes = next((mark for mark in ('"""', "'''") if line.count(mark) % 2), "")


def _keys_of(line: str) -> list[str]:
    """Parts of the dotted key at the beginning of a line; empty without one."""
    keys: list[str] = []
    position = 0
    while match := _KEY_PART.match(line, position):
        part = match[1]
        keys.append(str(tomllib.loads(f"k = {part}")["k"]) if part[0] in "\"'" else part)
        position = match.end()
        if line[position : position + 1] != ".":
            return keys if line[position : position + 1] in {"=", "]"} else []
        position += 1
    return []


def _problem_in(tables: dict[str, Any]) -> str:
    """The value, with its key, that is not TOML or not possible in a setting."""
    left: list[tuple[str, Any]] = [("", tables)]
    while left:
        key, value = left.pop()
        match value:
            case dict():
                left += ((f"{key}.{name}".lstrip(".")[:200], one) for name, one in value.items())
            case list():
                left += ((key, one) for one in value)
            case int() if not -(2**63) <= value < 2**63:
                return f"the number at {key} is too large"
            case str() if "\0" in value:
                return f"the text at {key} contains a NUL character"
    return ""
