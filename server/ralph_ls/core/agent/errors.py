"""Error lines in what an agent printed, and the form in which two of them are the same.

It exists for the breaker's rule of the same error (SPEC §6). It must never know the breaker.
"""

from __future__ import annotations

import re

from ralph_ls.core.agent.text import LiteralHits, line_around, lower

MAX_PATTERN_CHARACTERS = 1_000
"""How much of a line its pattern is made from: a pattern is kept in the state of the run."""


def find_error_lines(text: str, lowered: str | None = None) -> tuple[str, ...]:
    """Give the error lines, trimmed and as written, in text order (A16, SPEC §5 "Errors").

    Two stages: a line with a JSON field that has "error" in its name, such as
    ``"is_error": false``, is none. Of the others, one that starts with ``error:``, ``failed:``,
    ``failed`` or the words ``exception`` or ``fatal`` is, and so is one with ``]: error``
    anywhere. Upper and lower case are the same. ``lowered`` is ``lower(text)``, where the caller
    has it.
    """
    hits = LiteralHits(lower(text) if lowered is None else lowered, _SIGNS)
    lines: list[str] = []
    position = 0
    while (hit := hits.next_from(position)) is not None:
        start, end = line_around(text, hit)
        line = text[start:end]
        if _ERROR.search(line) is not None and _JSON_ERROR_FIELD.search(line) is None:
            lines.append(line.strip())
        position = end + 1
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


_SIGNS = ("error:", "exception", "fatal", "failed", "]: error")
"""Every error line holds one of these in lower case."""

_ERROR = re.compile(
    r"^[^\S\n]*+(?:error:|(?:exception|fatal)\b|failed(?::|[^\S\n]|$))|\]: error",
    re.IGNORECASE,
)

_JSON_ERROR_FIELD = re.compile(r'"(?:(?!error)[^"])*+error[^"]*+"\s*+:', re.IGNORECASE)

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"

_SPAN = r"\d++(?:[.,]\d++)?(?:ms|us|\u00b5s|ns|min|[smh])"

_CHANGING_PARTS = (
    (
        re.compile(
            r"(?<!\d)\d{4}[-/]\d\d[-/]\d\d"
            r"(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d++)?(?: ?Z| ?[+-]\d\d:?\d\d)?)?(?!\d)"
        ),
        "<time>",
    ),
    (
        re.compile(
            rf"(?<!\w)(?:{_DAY},? )?(?:{_MONTH}[ /-]\d{{1,2}},?|\d{{1,2}}[ /-]{_MONTH})"
            r"(?:[ /-]\d{4})?(?:[ :T]\d\d:\d\d(?::\d\d)?(?:[.,]\d++)?)?"
            r"(?: (?:[A-Z]{3,4}|[+-]\d{4})(?!\w))?(?: \d{4}(?!\d))?(?!\w)"
        ),
        "<time>",
    ),
    (
        re.compile(
            r"(?<![\w:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d++)?(?: ?[AP]M)?| ?[AP]M)(?![\w:])",
            re.IGNORECASE,
        ),
        "<time>",
    ),
    (re.compile(r"(?<!\w)\d{8}T\d{6}Z?(?!\w)"), "<time>"),
    (
        re.compile(rf"(?<![\w.,]){_SPAN}(?: ?{_SPAN}){{0,4}}+(?!\w)"),
        "<time>",
    ),
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
