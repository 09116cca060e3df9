"""The prose of a text: what the agent says in its own words, with code and quotes taken out.

It exists so that words are never taken from fences, status blocks, promises, quotes, inline code,
tables, check lists or struck-out text. It must never know which words are looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ralph_ls.core.agent.text import Span, without_spans


def to_prose(text: str, spans: Iterable[Span]) -> str:
    """Give the prose outside the spans: lower case, one blank between words, no emphasis marks.

    Inline code and quoted words become ``_``, which no phrase holds, so that the grammar around
    them stays. Lines of block quotes, tables and check lists become empty. A newline in the
    middle of a wrapped sentence becomes a blank.
    """
    prose = without_spans(text, spans)
    for sign, shape in _TAKEN_OUT:
        if sign in prose:
            prose = shape.sub("", prose)
    for sign, shape in _QUOTES:
        if sign in prose:
            prose = shape.sub("_", prose)
    prose = prose.replace("*", "").replace("\u2019", "'").replace("\u0130", "I")
    prose = _UNDERSCORES.sub(_without_emphasis, prose.replace("\u00a0", " "))
    return _BLANKS.sub(" ", _WRAP.sub(_join_wrapped, prose)).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The sentence around a match, as far as guards look at it."""

    before: str
    after: str
    """Up to the end of the sentence, its final mark left out."""
    is_question: bool
    is_in_heading: bool


def surroundings(prose: str, start: int, end: int) -> Surroundings:
    """Give what stands around a match in its sentence, at most ``_REACH`` characters each way."""
    window = prose[max(0, start - _REACH) : start]
    line = window[window.rfind("\n") + 1 :]
    following = prose[end : end + _REACH]
    final = _END_OF_SENTENCE.search(following)
    return Surroundings(
        before=_EARLIER_SENTENCES.sub("", line),
        after=following if final is None else following[: final.start()],
        is_question=final is not None and "?" in final.group(),
        is_in_heading=line.lstrip().startswith("#"),
    )


_REACH = 160
"""Long enough for the beginning of a sentence, short enough to look at it for every match."""

_EARLIER_SENTENCES = re.compile(r"^.*(?:[.!?] |;)")
_END_OF_SENTENCE = re.compile(r"[.!?]++(?=[\s\"')\]]|$)|;|\n")

_TAKEN_OUT = (
    (">", re.compile(r"^[^\S\n]*+(?:(?:[-*+]|\d{1,9}[.)])[^\S\n]++)?>[^\n]*", re.MULTILINE)),
    ("|", re.compile(r"^[^\S\n]*+\|[^\n]*", re.MULTILINE)),
    ("[", re.compile(r"^[^\S\n]*+(?:[-*+]|\d{1,9}[.)])[^\S\n]++\[[^\]\n]?\][^\n]*", re.MULTILINE)),
    ("~~", re.compile(r"~~[^~\n]++~~")),
)
"""Block quotes, tables, check lists and struck-out text, each with the sign it cannot lack."""

_QUOTES = (
    # Only one run of each length can lack its partner in a line, so this stays linear.
    ("`", re.compile(r"(?<!`)(`{1,3})(?!`)[^\n]*?(?<!`)\1(?!`)")),
    ('"', re.compile(r'"[^"\n]*+"')),
    ("\u201c", re.compile(r"\u201c[^\u201c\u201d\n]*+\u201d")),
    ("\u00ab", re.compile(r"\u00ab[^\u00ab\u00bb\n]*+\u00bb")),
    ("'", re.compile(r"(?<!\w)'[^'\n]++'(?!\w)")),
    ("\u2018", re.compile(r"\u2018[^\u2018\u2019\n]++\u2019(?!\w)")),
)

_UNDERSCORES = re.compile(r"_+")
_WRAP = re.compile(r"\n[^\S\n]*+(?=[a-z])")
_WRAPPED_FROM = 40
_BLANKS = re.compile(r"[ \t]{2,}|\t")


def _without_emphasis(underscores: re.Match[str]) -> str:
    """Drop underscores on one side of a word; those inside of names stay, and so does ``_``."""
    start, end = underscores.span()
    before = underscores.string[start - 1 : start] if start else ""
    after = underscores.string[end : end + 1]
    opens = after.isalnum() and not before.isalnum()
    closes = (before.isalnum() or before in tuple(".!")) and not after.isalnum()
    return "" if opens or closes else underscores.group()


def _join_wrapped(newline: re.Match[str]) -> str:
    """Join a line that goes on in lower case, if the line before it is long enough to be cut."""
    start = newline.start()
    is_long = newline.string.find("\n", max(0, start - _WRAPPED_FROM), start) < 0
    return " " if is_long and start >= _WRAPPED_FROM else "\n"
