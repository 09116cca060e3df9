"""The three promises of R §1: ``<promise>COMPLETE</promise>``, ``BLOCKED:…``, ``DECIDE:…``.

It exists so that a promise is never taken from prose, quotes or code. It must never know what a
promise leads to.

A promise counts if its tag has a line (or lines) of its own: it starts at a line's start and
ends at a line's end. Around it only spaces, at most three columns of them, and bold or italic
marks are allowed. List marks are not: a list of promises is how prompts and agents explain them.
Four columns and more are Markdown's indented code, and so a quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.text import Span, is_inside
from ralph_ls.protocol.report import Promise, PromiseKind

MAX_PROMISE_CHARACTERS = 10_000
"""A longer question is an unclosed tag that met another one's end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseTag:
    """One opening tag and the end that follows it, wherever they stand."""

    span: Span
    body: str


def find_promise_tags(text: str) -> tuple[PromiseTag, ...]:
    """Find every tag with its end, valid or not, in text order; an unclosed one is none."""
    tags: list[PromiseTag] = []
    opening: re.Match[str] | None = None
    for mark in _TAG.finditer(text):
        if mark.group() == _OPENING:
            opening = mark
        elif opening is not None:
            if mark.start() - opening.end() <= MAX_PROMISE_CHARACTERS:
                body = text[opening.end() : mark.start()]
                tags.append(PromiseTag(span=(opening.start(), mark.end()), body=body))
            opening = None
    return tuple(tags)


def find_promises(
    text: str, tags: Sequence[PromiseTag], fences: Sequence[Span], *, complete_word: str
) -> tuple[Promise, ...]:
    """Give the promises that count, in text order (SPEC §5 "Promises").

    ``complete_word`` is the configured phrase, ``[A-Z0-9_]+`` (I11); it counts as written only.
    An empty reason or question is none (R5), and so is a placeholder such as ``<reason>``.
    """
    promises: list[Promise] = []
    for tag in tags:
        start, end = tag.span
        if is_inside(fences, start) or is_inside(fences, end - 1):
            continue
        if not _has_lines_of_its_own(text, tag.span):
            continue
        promise = _to_promise(tag.body.strip(), complete_word)
        if promise is not None:
            promises.append(promise)
    return tuple(promises)


def promise_checked_first(promises: Sequence[Promise]) -> Promise | None:
    """Give the one that R's order of checks meets first: COMPLETE, BLOCKED, DECIDE (R4)."""
    for kind in (PromiseKind.COMPLETE, PromiseKind.BLOCKED, PromiseKind.DECIDE):
        for promise in promises:
            if promise.kind is kind:
                return promise
    return None


_OPENING = "<promise>"
_TAG = re.compile(r"</?promise>")
_BEFORE = re.compile(r" {0,3}(\*{0,3}|_{0,3})")
_AFTER = re.compile(r"(\*{0,3}|_{0,3})[^\S\n]*+(?=\n|\Z)")
_LONGEST_BEFORE = 6
_PLACEHOLDER = re.compile(
    r"<[^<>\n]*>|[\[{(]?(?:(?:the|your|a|short|brief) )*(?:reason|question)(?: here)?[\])}]?",
    re.IGNORECASE,
)


def _has_lines_of_its_own(text: str, span: Span) -> bool:
    start, end = span
    # One character more than a valid beginning can have is enough to see that it is none, so
    # that a line of many megabytes is not searched for its start again and again.
    window_start = max(0, start - _LONGEST_BEFORE - 1)
    line_start = text.rfind("\n", window_start, start) + 1 or window_start
    before = _BEFORE.fullmatch(text, line_start, start)
    after = _AFTER.match(text, end)
    return before is not None and after is not None and before[1] == after[1]


def _to_promise(body: str, complete_word: str) -> Promise | None:
    if body == complete_word:
        return Promise(kind=PromiseKind.COMPLETE)
    word, colon, rest = body.partition(":")
    said = rest.strip()
    if not colon or word not in _KINDS or _is_empty_or_placeholder(said):
        return None
    return Promise(kind=_KINDS[word], text=said)


def _is_empty_or_placeholder(said: str) -> bool:
    return not any(map(str.isalnum, said)) or _PLACEHOLDER.fullmatch(said) is not None


_KINDS = {"BLOCKED": PromiseKind.BLOCKED, "DECIDE": PromiseKind.DECIDE}
