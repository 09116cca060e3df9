"""Error lines in what an agent printed, and the form in which two of them are the same.

It exists for the breaker's rule of the same error (SPEC §6). It must never know the breaker.
"""

from __future__ import annotations

import re

from ralph_ls.core.agent.text import line_around

MAX_PATTERN_CHARACTERS = 1_000
"""How much of a line its pattern is made from: a pattern is kept in the state of the run."""


def find_error_lines(text: str) -> tuple[str, ...]:
    """Give the error lines, trimmed and as written, in text order (A16, SPEC §5 "Errors").

    Two stages: a line with a JSON field that has "error" in its name, such as
    ``"is_error": false``, is none. Of the others, one that starts with ``error:``, ``failed:``,
    ``failed`` or the words ``exception`` or ``fatal`` is, and so is one with ``]: error``
    anywhere. Upper and lower case are the same.
    """
    lines: list[str] = []
    position = 0
    while (hit := _ERROR.search(text, position)) is not None:
        start, end = line_around(text, hit.end())
        line = text[start:end]
        if _JSON_ERROR_FIELD.search(line) is None:
            lines.append(line.strip())
        position = end
    return tuple(lines)


def normalise(line: str) -> str:
    """Give the form in which the same error of two iterations compares equal.

    Times, paths, hashes, addresses and numbers become ``<time>``, ``<path>``, ``<hash>`` and
    ``<n>``; white space is one blank. Only the first ``MAX_PATTERN_CHARACTERS`` are looked at.
    """
    pattern = " ".join(line[:MAX_PATTERN_CHARACTERS].split())
    for shape, name in _CHANGING_PARTS:
        pattern = shape.sub(name, pattern)
    return pattern


_ERROR = re.compile(
    r"^[^\S\n]*+(?:error:|(?:exception|fatal)\b|failed(?::|[^\S\n]|$))|\]: error",
    re.IGNORECASE | re.MULTILINE,
)

_JSON_ERROR_FIELD = re.compile(r'"(?:(?!error)[^"])*+error[^"]*+"\s*+:', re.IGNORECASE)

_CHANGING_PARTS = (
    (
        re.compile(
            r"(?<!\d)\d{4}[-/]\d\d[-/]\d\d"
            r"(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d++)?(?: ?Z| ?[+-]\d\d:?\d\d)?)?(?!\d)"
        ),
        "<time>",
    ),
    (re.compile(r"(?<![\w:])\d{1,2}:\d\d:\d\d(?:[.,]\d++)?(?: ?[AP]M)?(?![\w:])"), "<time>"),
    (re.compile(r"(?<![\w.~@+/\\-])(?:[A-Za-z]:)?(?:[\w.~@+-]*+[/\\])++[\w.~@+-]*+"), "<path>"),
    (
        re.compile(
            r"(?<!\w)(?:0x[0-9a-f]++"
            r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
            r"|(?=[a-f]*+[0-9])(?=[0-9]*+[a-f])[0-9a-f]{7,64})(?!\w)",
            re.IGNORECASE,
        ),
        "<hash>",
    ),
    (re.compile(r"\d++(?:[.,]\d++)*+"), "<n>"),
)
"""In this order: a time holds numbers, a path may hold a hash."""
