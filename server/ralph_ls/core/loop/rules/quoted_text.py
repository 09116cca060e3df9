"""Quoted text: what an agent or a plan says, made safe to quote in commits, plans and messages.

Every text is untrusted: it loses control and bidirectional characters and is cut between
characters. In a commit message it also loses whatever has a meaning for the host of the repository
(docs/rules.md#commits): mentions, references and closing keywords of issues, and marks that skip
checks. The caller indents the lines, so that none is read as a trailer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap

WIDTH = 96
"""Characters of a quoted line in a commit message."""


def plain_line(text: str, limit: int) -> str:
    """An untrusted text on one line, without control and bidirectional characters."""
    folded = " ".join(text.split())
    plain = "".join(sign for sign in folded if sign.isprintable())
    return plain if len(plain) <= limit else f"{plain[: limit - 1].rstrip()}…"


def commit_line(text: str, limit: int) -> str:
    """The same, without any meaning for the host of a repository."""
    return without_commands(plain_line(text, limit))


def commit_lines(text: str, limit: int) -> list[str]:
    """The lines of a longer text for a commit message, wrapped; blank ones are left out."""
    lines: list[str] = []
    left = limit
    for one in text.splitlines():
        if left > 1 and (line := commit_line(one, left)):
            lines += wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
            left -= len(line)
    return lines


def cut_to_bytes(lines: Iterable[str], limit: int) -> list[str]:
    """As many of the lines as fit, the last one cut between characters."""
    kept: list[str] = []
    left = limit
    for line in lines:
        size = len(line.encode("utf-8", errors="replace")) + 1
        if size > left:
            cut = line.encode("utf-8", errors="replace")[: max(0, left - 3)]
            return [*kept, f"{cut.decode('utf-8', errors='ignore').rstrip()}…"] if cut else kept
        kept.append(line)
        left -= size
    return kept


def without_commands(text: str) -> str:
    """A text without mentions, references to issues, closing keywords and ``[skip ci]``."""
    for shape, instead in _MEANINGS:
        text = shape.sub(instead, text)
    return text


_CLOSING = r"\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)"
"""The words with which a commit closes an issue, as hosts spell them."""

_MEANINGS = tuple(
    (re.compile(shape, re.IGNORECASE), instead)
    for shape, instead in (
        (r"(?<!\w)@(?=\w)", ""),
        (r"#(?=\d)|(?<!\w)#(?=\w)|\bGH-(?=\d)", ""),
        (rf"{_CLOSING}[\s:]+(?=https?://)", "see "),
        (rf"({_CLOSING}[\s:]+(?:issue|bug|ticket)s?)[\s:]+(?=\d)", r"\1 no. "),
        (r"\[([^\[\]]*\b(?:skip|no)\b[^\[\]]*)\]", r"(\1)"),
        (r"\*{2,}(NO_CI)\*{2,}", r"\1"),
        (r"\bskip-checks(?=\s*:)", "skip checks"),
    )
)
"""A mention; a reference or a command behind a number sign; an issue that is closed by its address
or its number; marks that skip checks.
"""
