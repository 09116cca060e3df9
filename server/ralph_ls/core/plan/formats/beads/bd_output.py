"""Output of ``bd --json`` in each of its shapes, its errors, and the versions of ``bd``.

Results are a bare array; ``{"schema_version":1,"items":[…]}``; ``{"schema_version":1,"data":…}``;
one issue as an object or as an array of one. Empty output and ``null`` are an empty list. An error
is an object on stderr; some releases print it on stdout, or as plain text. Does not start ``bd``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ralph_ls.core.plan.formats.beads.issues import BeadsOddity

LONGEST_ERROR = 500
"""Characters of an error that are passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeadsOutput:
    """The parsed output of ``bd``."""

    items: tuple[Mapping[str, Any], ...] = ()
    """One object for each issue."""
    oddities: tuple[BeadsOddity, ...] = ()
    error: str | None = None
    """The error that ``bd`` reports, if any."""


def read_output(text: str) -> BeadsOutput:
    """Parse the stdout of ``bd``. Total."""
    if not text.strip():
        return BeadsOutput()
    try:
        value = _load(text)
    except (ValueError, RecursionError):
        shown = " ".join(text.split())[:80]
        return BeadsOutput(oddities=(BeadsOddity("no-json", f"bd did not print JSON: {shown}"),))
    return _items_of(value)


def read_object(text: str) -> Mapping[str, Any]:
    """The single object of an output, such as the numbers of ``bd stats``; empty without one.

    Numbers below ``summary`` are moved up beside it.
    """
    try:
        value = _load(text)
    except (ValueError, RecursionError):
        return {}
    while isinstance(value, dict) and isinstance(value.get("data"), dict):
        value = value["data"]
    if not isinstance(value, dict):
        return {}
    summary = value.get("summary")
    return {**value, **summary} if isinstance(summary, dict) else value


def read_error(stderr: str, stdout: str = "") -> str:
    """The error message of ``bd`` on one line; empty where it printed none. Total."""
    for text in (stderr, stdout):
        try:
            value = _load(text)
        except (ValueError, RecursionError):
            continue
        message = _error_in(value)
        if message:
            return _on_one_line(message)
    lines = [line for line in stderr.splitlines() if line.strip()]
    begins = (line for line in lines if line.lower().startswith("error"))
    message = next(begins, lines[-1] if lines else "")
    return _on_one_line(message.removeprefix("Error:").removeprefix("error:"))


def _load(text: str) -> object:
    """The JSON of a text that may have lines of something else before it."""
    try:
        value: object = json.loads(text)
    except ValueError:
        starts = [0] if text[:1] in {"[", "{"} else []
        starts += [at + 1 for at, sign in enumerate(text) if sign == "\n"]
        begin = next((at for at in starts if text[at : at + 1] in {"[", "{"}), None)
        if not begin:
            raise
        return json.loads(text[begin:])
    return value


def _items_of(value: object) -> BeadsOutput:
    while isinstance(value, dict) and "id" not in value:
        if _error_in(value):
            return BeadsOutput(error=_on_one_line(_error_in(value)))
        inner = next((value[name] for name in ("items", "data", "issues") if name in value), value)
        if inner is value:
            known = ", ".join(sorted(value))[:80]
            message = f"bd printed an object without issues; it has {known or 'nothing'}"
            return BeadsOutput(oddities=(BeadsOddity("odd-answer", message),))
        value = inner
    if value is None:
        return BeadsOutput()
    listed = value if isinstance(value, list) else [value]
    items = tuple(item for item in listed if isinstance(item, dict))
    n_odd = len(listed) - len(items)
    oddities = (
        (BeadsOddity("odd-answer", f"{n_odd} of the entries that bd printed are not issues"),)
        if n_odd
        else ()
    )
    return BeadsOutput(items=items, oddities=oddities)


def _error_in(value: object) -> str:
    if not isinstance(value, dict):
        return ""
    message = value.get("error")
    if isinstance(message, dict):
        message = message.get("message")
    hint = value.get("hint")
    if not isinstance(message, str):
        return ""
    return f"{message} ({hint})" if isinstance(hint, str) and hint else message


def _on_one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_ERROR]


BeadsVersion = tuple[int, int, int]

FIRST_WITH_REASONS: BeadsVersion = (0, 30, 0)
"""The first release that keeps close reasons; earlier ones drop them."""


def read_version(printed: str) -> BeadsVersion | None:
    """The version in the output of ``bd version``, JSON or text; None without one. Total."""
    version = read_object(printed).get("version")
    found = _VERSION.search(version if isinstance(version, str) else printed)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3] or 0))


def keeps_close_reasons(version: BeadsVersion | None) -> bool:
    """Whether a release keeps the reason of ``bd close``; one that is unknown is a new one."""
    return version is None or version >= FIRST_WITH_REASONS


def format_version(version: BeadsVersion) -> str:
    """A version as it is written."""
    return ".".join(map(str, version))


_VERSION = re.compile(r"(?<![\w.])v?([0-9]{1,4})\.([0-9]{1,4})(?:\.([0-9]{1,4}))?")
