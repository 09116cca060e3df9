"""The three promises: ``<promise>COMPLETE</promise>``, ``BLOCKED:…``, ``DECIDE:…``.

See docs/rules.md#promises. A promise counts only if its tag has a line, or several lines, to
itself: it starts at the start of a line and ends at the end of one. Around it only spaces, at most
three columns, and bold or italic marks are allowed. List marks are not, since prompts and agents
explain promises in lists. Four or more columns are an indented code block in Markdown, and so a
quote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.text import Span, is_inside
from ralph_ls.protocol.run.report import Promise, PromiseKind

MAX_PROMISE_CHARACTERS = 10_000
"""A longer question is an unclosed tag that met the end of another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseTag:
    """An opening tag and the end that follows it, wherever they are."""

    span: Span
    body: str


def find_promise_tags(text: str) -> tuple[PromiseTag, ...]:
    """Find every tag with its end, valid or not, in text order; unclosed ones are skipped."""
    if _OPENING not in text:
        return ()
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
    """Find the promises that count, in text order (docs/rules.md#promises).

    ``complete_word`` is the configured phrase, ``[A-Z0-9_]+``, and is case-sensitive. A promise
    with an empty reason or question, or a placeholder such as ``<reason>``, does not count.
    """
    judged = (check_tag(text, tag, fences, complete_word=complete_word) for tag in tags)
    return tuple(verdict for verdict in judged if isinstance(verdict, Promise))


def check_tag(
    text: str, tag: PromiseTag, fences: Sequence[Span], *, complete_word: str
) -> Promise | str:
    """The promise of a tag, or the reason why it has none, in words."""
    start, end = tag.span
    if is_inside(fences, start) or is_inside(fences, end - 1):
        return "it is in a code fence"
    place = _why_not_alone(text, tag.span)
    return place or _to_promise(tag.body.strip(), complete_word)


def is_on_own_line(text: str, span: Span) -> bool:
    """Whether a tag has a line, or several lines, to itself."""
    return not _why_not_alone(text, span)


def first_promise_by_priority(promises: Sequence[Promise]) -> Promise | None:
    """The promise that is checked first: COMPLETE, then BLOCKED, then DECIDE.

    See docs/rules.md#promises.
    """
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


def _why_not_alone(text: str, span: Span) -> str:
    """The reason why a tag shares its line; empty where it does not."""
    start, end = span
    # One character more than a valid beginning may have is enough to reject it, so that a line of
    # many megabytes is not searched repeatedly for its start.
    window_start = max(0, start - _LONGEST_BEFORE - 1)
    line_start = text.rfind("\n", window_start, start) + 1 or window_start
    before = _BEFORE.fullmatch(text, line_start, start)
    after = _AFTER.match(text, end)
    if before is not None and after is not None and before[1] == after[1]:
        return "it is in a quote" if _is_between_marks(text, span) else ""
    leading = text[line_start:start]
    if leading.lstrip().startswith(">") or leading.endswith(("`", '"', "'")):
        return "it is in a quote"
    if leading and not leading.strip() and after is not None:
        return "it is indented like code"
    return "it is not on its own line"


def _is_between_marks(text: str, span: Span) -> bool:
    """Whether a tag is alone between quote marks in the adjacent lines."""
    start, end = span
    opening = _OPENS.search(text[max(0, start - _LONGEST_MARK) : start])
    closing = None if opening is None else _CLOSES.match(text, end)
    if opening is None or closing is None:
        return False
    mark = opening["mark"]
    return closing["mark"] == _PARTNERS.get(mark, mark.replace("<", "</"))


_LONGEST_MARK = 40
_PARTNERS = {
    '"': '"',
    "'": "'",
    "`": "`",
    "\u201c": "\u201d",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
}
_HTML = r"(?:blockquote|pre|code|q)>"
_OPENS = re.compile(
    rf"(?<![^\s(])(?P<mark>[\"'`\u201c\u00ab\u2018]|<{_HTML})[^\S\n]*+\n\s*+[*_]{{0,3}}\Z"
)
_CLOSES = re.compile(
    rf"[*_]{{0,3}}[^\S\n]*+\n\s*+(?P<mark>[\"'`\u201d\u00bb\u2019](?!\w)|</{_HTML})"
)


def _to_promise(body: str, complete_word: str) -> Promise | str:
    if body == complete_word:
        return Promise(kind=PromiseKind.COMPLETE)
    if not body:
        return "it is empty"
    word, colon, rest = body.partition(":")
    reason = rest.strip()
    if word not in _KINDS:
        return f"it is none of {complete_word}, BLOCKED:reason and DECIDE:question"
    if not colon or not any(map(str.isalnum, reason)):
        return "it has no reason" if word == "BLOCKED" else "it has no question"
    if _PLACEHOLDER.fullmatch(reason) is not None:
        return "it is a template with nothing filled in"
    return Promise(kind=_KINDS[word], text=reason)


_KINDS = {"BLOCKED": PromiseKind.BLOCKED, "DECIDE": PromiseKind.DECIDE}
