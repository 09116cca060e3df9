"""TOML text: a bounded parser for files of a repository, which only raises ``ValueError``.

Python's reader recurses into nested values, takes quadratic time for a key of many dotted parts,
and accepts integers of any size, which TOML does not allow.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 50
"""Most parts of a dotted key; no setting has more than five."""

_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+"
_LONG_KEY = re.compile(rf"(?<![\w-]){_PART}(?:\.[ \t]*+{_PART}){{{MOST_PARTS}}}", re.ASCII)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a text; raises ``tomllib.TOMLDecodeError``, else ``ValueError`` with a message
    to follow "this is no sensible TOML: ".
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
        raise ValueError("its values are too deep or too long") from error
    problem = _problem_in(tables)
    if problem:
        raise ValueError(problem)
    return tables


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
                return f"the number at {key} is larger than TOML has"
            case str() if "\0" in value:
                return f"the text at {key} holds a NUL character"
    return ""
