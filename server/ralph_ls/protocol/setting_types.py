"""The kinds of value that settings have: durations, signal words, paths inside the work tree."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def to_seconds(value: object) -> object:
    """Read ``"30m"``, ``"1h30m"``, ``"90"`` or a number as seconds; anything else stays as it is.

    Raises ValueError for a text that is no duration, and for true and false.
    """
    if isinstance(value, bool):
        raise ValueError("a duration is a number of seconds, or a text such as 30m")
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    total, position = 0.0, 0
    while match := _DURATION.match(text, position):
        if match[2] is None and match[0].strip() != text:
            break  # Only a number alone needs no unit: nobody can tell what 1h30 means.
        total += float(match[1]) * _UNIT_SECONDS[match[2] or "s"]
        position = match.end()
    if not text or position != len(text):
        raise ValueError(f"{value!r} is no duration; write 30m, 90s or 1h30m")
    return total


def _inside_the_tree(path: str) -> str:
    """The path with single slashes and no dots; raises ValueError where it leaves the tree."""
    names = re.split(r"[/\\]", path)
    kept = [name for name in names if name not in {"", "."}]
    leaves = not kept or path[0] in "/\\~" or ".." in kept or ":" in names[0]
    if leaves or _CONTROL.search(path):
        raise ValueError(f"{path!r} must be a path inside the work tree")
    # Windows drops dots and spaces at the end of a name, and knows .git by a short name as well.
    if any(name.rstrip(". ").lower() in {".git", "git~1"} for name in kept):
        raise ValueError(f"{path!r} lies in git's own folder; name another path")
    return "/".join(kept)


_DurationInput = (
    Annotated[float, Field(ge=0)]
    # What ``to_seconds`` takes, in the words of a schema.
    | Annotated[str, Field(pattern=r"^\s*(\d+(\.\d+)?|(\d+(\.\d+)?\s*([Mm]?[Ss]|[MmHhDd]))+)\s*$")]
)

LONGEST_DURATION = 366 * 86400.0
"""A year: what is longer is a slip, and soon later than any calendar goes."""

Duration = Annotated[
    float,
    Field(ge=0, le=LONGEST_DURATION, allow_inf_nan=False),
    BeforeValidator(to_seconds, json_schema_input_type=_DurationInput),
]
"""Seconds; ``30m``, ``90s``, ``1h30m`` are understood."""

SignalWord = Annotated[str, Field(pattern=r"^[A-Z0-9_]+$")]
"""A word that agents give as a signal (I, 1.4)."""

TreePath = Annotated[str, AfterValidator(_inside_the_tree)]
"""A path relative to the work tree's root that does not leave it."""
