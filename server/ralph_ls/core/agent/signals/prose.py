"""The prose of a text: what the agent says in its own words, with code and quotes taken out.

It exists so that words are never taken from fences, status blocks, promises, quotes, inline code,
tables, check lists or struck-out text. It must never know which words are looked for.

What of a text is no prose at all, and what only looks like a break in it.

Fences, status blocks and promises that have a line of their own part the prose around them. A
promise in the middle of a line parts nothing: it is a mention, and what stands around it on its
line may be one quote, one piece of code, one sentence. It must never know which words are looked
for in the prose.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.signals.promises import PromiseTag, is_on_own_line
from ralph_ls.core.agent.text import LiteralHits, Span, lower, merge_spans, without_spans

MENTION = "\ue000"
"""Stands for each character of what is only mentioned, a promise in prose; no text has it."""


def to_prose(text: str, spans: Iterable[Span]) -> str:
    """Give the prose outside the spans: lower case, one blank between words, no emphasis marks.

    Inline code, quoted words and mentions become ``_``, which no phrase holds, so that the grammar
    around them stays. Lines of block quotes, tables and check lists become empty. A newline in the
    middle of a wrapped sentence becomes a blank.
    """
    prose = without_spans(text, spans)
    for sign, shape, _ in _TAKEN_OUT:
        if sign in prose:
            prose = shape.sub("", prose)
    for sign, shape, _ in _QUOTES:
        if sign in prose:
            prose = _without(prose, shape)
    if MENTION in prose:
        prose = _MENTIONS.sub("_", prose)
    prose = prose.replace("*", "").replace("\u2019", "'").replace("\u0130", "I")
    prose = _EMPHASIS.sub("", prose.replace("\u00a0", " "))
    prose = _INDENTATION.sub("\n", _WRAP.sub(" ", prose))
    return _BLANKS.sub(" ", prose).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProseFilter:
    """What a stretch of text must hold for its prose to be worth making."""

    literals: tuple[str, ...]
    """In lower case; a word that is a sign holds one of them."""
    shape: re.Pattern[str]
    """Matches a sign at the start of its word."""


def to_filtered_prose(text: str, lowered: str, holes: Sequence[Span], signs: ProseFilter) -> str:
    """Give the prose outside the holes of only those stretches that hold a sign.

    A phrase never reaches from one stretch into the next, so whoever looks for phrases that need
    a sign finds in this what he finds in the whole prose. Most of a long output has no sign.
    ``lowered`` is ``lower(text)``; ``holes`` are sorted and apart from each other.
    """
    stretches = matching_stretches(text, lowered, holes, signs)
    return to_prose("\n\n".join(text[start:end] for start, end in stretches), ())


def matching_stretches(
    text: str, lowered: str, holes: Sequence[Span], signs: ProseFilter
) -> Iterator[Span]:
    """Find the stretches of whole sentences outside the holes that hold a sign."""
    starts = [start for start, _ in holes]
    literals = LiteralHits(lowered, (*signs.literals, _STRUCK_OUT))
    stars = LiteralHits(text, "*")
    position = taken = 0
    while True:
        hit = literals.next_from(position)
        star = _next_inner_star(text, stars, position, len(text) if hit is None else hit)
        hit = hit if star is None else star
        if hit is None:
            return
        index = bisect_right(starts, hit)
        floor = max(taken, holes[index - 1][1]) if index else taken
        if hit < floor:
            position = floor
        elif star is None and not _is_sign(text, lowered, hit, signs):
            position = hit + 1
        else:
            ceiling = starts[index] if index < len(starts) else len(text)
            following = _BREAK.search(text, hit, ceiling)
            taken = ceiling if following is None else following.start()
            yield _break_before(text, hit, floor), taken
            position = max(taken, hit + 1)


def _is_sign(text: str, lowered: str, hit: int, signs: ProseFilter) -> bool:
    start = hit
    while start > hit - _LONGEST_SIGN and lowered[start - 1 : start].isalnum():
        start -= 1
    return signs.shape.match(lowered, start) is not None or text.startswith(_STRUCK_OUT, hit)


_LONGEST_SIGN = 20


def _next_inner_star(text: str, stars: LiteralHits, position: int, limit: int) -> int | None:
    """Give the next emphasis mark inside a word: taken out, it may make a sign of two parts."""
    while (hit := stars.next_from(position)) is not None and hit < limit:
        if text[hit - 1 : hit].isalnum():
            return hit
        position = hit + 1
    return None


def _break_before(text: str, offset: int, floor: int) -> int:
    """Give the start of the stretch that holds an offset."""
    newline = text.rfind("\n", floor, offset)
    while newline >= 0:
        if _BREAK.match(text, newline) is not None:
            return newline + 1
        newline = text.rfind("\n", floor, newline)
    return floor


def mask_quotes(text: str) -> tuple[str, tuple[tuple[Span, str], ...]]:
    """Give the text with blanks for all that is no prose, and those spans with what each is."""
    left = text
    quotes: list[tuple[Span, str]] = []
    for sign, shape, what in (*_TAKEN_OUT, *_QUOTES):
        for _ in range(_DEEPEST if sign in left else 0):
            found = [match.span() for match in shape.finditer(left)]
            quotes.extend((span, what) for span in found)
            left = shape.sub(lambda match: " " * len(match[0]), left)
            if not found:
                break
    return left, _outermost(quotes)


def _outermost(quotes: Iterable[tuple[Span, str]]) -> tuple[tuple[Span, str], ...]:
    """What stands in none of the others, in text order."""
    kept: list[tuple[Span, str]] = []
    for span, what in sorted(quotes, key=lambda quote: (quote[0][0], -quote[0][1])):
        if not kept or span[0] >= kept[-1][0][1]:
            kept.append((span, what))
    return tuple(kept)


def quote_spans(paragraph: str) -> Iterator[Span]:
    """Find the inline code and the quotes of a paragraph that go over the ends of its lines."""
    for sign, shape in _OVER_LINES:
        if sign in paragraph:
            yield from (match.span() for match in shape.finditer(paragraph) if "\n" in match[0])


def _without(prose: str, shape: re.Pattern[str]) -> str:
    """Put ``_`` for what is quoted, from the inmost quote outwards."""
    for _ in range(_DEEPEST):
        prose, n_found = shape.subn("_", prose)
        if not n_found:
            break
    return prose


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceContext:
    """The sentence around a match, as far as guards look at it."""

    before: str
    after: str
    """Up to the end of the sentence, its final mark left out."""
    is_question: bool
    is_in_heading: bool


def sentence_context(prose: str, start: int, end: int) -> SentenceContext:
    """Give what stands around a match in its sentence, at most ``_REACH`` characters each way."""
    window = prose[max(0, start - _REACH) : start]
    line = window[window.rfind("\n") + 1 :]
    following = prose[end : end + _REACH]
    final = _END_OF_SENTENCE.search(following)
    return SentenceContext(
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
    (
        ">",
        re.compile(r"^[^\S\n]*+(?:(?:[-*+]|\d{1,9}[.)])[^\S\n]++)*+>[^\n]*", re.MULTILINE),
        "a quote",
    ),
    ("|", re.compile(r"^[^\S\n]*+\|[^\n]*", re.MULTILINE), "a table"),
    (
        "[",
        re.compile(r"^[^\S\n]*+(?:[-*+]|\d{1,9}[.)])[^\S\n]++\[[^\]\n]?\][^\n]*", re.MULTILINE),
        "a check list",
    ),
    ("~~", re.compile(r"~~[^~\n]++~~"), "struck-out text"),
)
"""What is no prose, each with the sign it cannot lack."""

_SOFT = r"(?:\n(?![^a-z*_~\"'`\u201c\u00ab\u2018\ue000\s]|\n))"
"""A line end within a sentence: no ``_BREAK``."""


def _quoted(start: str, end: str, *, marks: str = "") -> re.Pattern[str]:
    """A quote, which may be wrapped over a few lines; ``marks`` are those that it cannot hold."""
    inner = rf"[^{marks or end}\n]*+"
    return re.compile(rf"{start}{inner}(?:{_SOFT}{inner}){{0,3}}{end}")


_QUOTES = (
    # Only one run of each length can lack its partner in a line, so this stays linear.
    ("`", re.compile(r"(?<!`)(`{1,3})(?!`)[^\n]*?(?<!`)\1(?!`)"), "code"),
    ("</", re.compile(r"<(code|kbd|samp|q|pre|blockquote)>[^<\n]*+</\1>"), "code"),
    ('"', re.compile(r'"[^"\n]*+"'), "a quote"),
    ("\u201c", _quoted("\u201c", "\u201d", marks="\u201c\u201d"), "a quote"),
    ("\u201e", _quoted("\u201e", "[\u201c\u201d]", marks="\u201e\u201c\u201d"), "a quote"),
    ("\u00ab", _quoted("\u00ab", "\u00bb", marks="\u00ab\u00bb"), "a quote"),
    ("'", re.compile(r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w))++'(?!\w)"), "a quote"),
    (
        "\u2018",
        re.compile("\u2018(?:[^\u2018\u2019\n]|(?<=\\w)\u2019(?=\\w))++\u2019(?!\\w)"),
        "a quote",
    ),
    # What is left of a mark in its line may have its partner in one of the next.
    (
        "`",
        re.compile(rf"(?<![\w`])`(?=[^\s`])[^`\n]*+(?:{_SOFT}[^`\n]*+){{1,3}}(?<=\S)`(?![\w`])"),
        "code",
    ),
    (
        '"',
        re.compile(rf'(?<!\w)"(?=\S)[^"\n]*+(?:{_SOFT}[^"\n]*+){{1,3}}(?<=\S)"(?!\w)'),
        "a quote",
    ),
)
"""Each with the sign it cannot lack, and what it is."""

_DEEPEST = 4
"""Quotes in quotes that are looked into."""

_ANY_LINES = r"(?:[^\n]|\n(?![^\S\n]*\n))"
_OVER_LINES = (
    ("`", re.compile(rf"(?<!`)(`{{1,3}})(?!`){_ANY_LINES}*?(?<!`)\1(?!`)")),
    ('"', re.compile(r'"[^"]*+"')),
    ("\u201c", re.compile("\u201c[^\u201d]*+\u201d")),
    ("\u00ab", re.compile("\u00ab[^\u00bb]*+\u00bb")),
)

_MENTIONS = re.compile("\ue000+")
_STRUCK_OUT = "~~"
"""What is struck out may leave a sign of what stood around it."""
_BREAK = re.compile(r"\n(?=[^a-z*_~\"'`\u201c\u00ab\u2018\ue000\s]|\n)")
"""A line end that joins no sentence: behind it stands nothing that could be a small letter."""

_EMPHASIS = re.compile(
    r"_(?<!__)(?:(?<![^\W_]_)_*+(?=[^\W_])|(?:(?<=[^\W_]_)|(?<=[.!]_))_*+(?![^\W_]))"
)
"""Underscores on one side of a word; those inside of names stay, and so does a lone ``_``."""
_WRAP = re.compile(r"\n(?<=[^\n]{40}\n)[^\S\n]*+(?=[a-z])")
"""The end of a line which is long enough to be cut, and goes on in a small letter."""
_INDENTATION = re.compile(r"\n[^\S\n]++(?=[a-z])")
_BLANKS = re.compile(r"[ \t]{2,}|\t")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedText:
    """A text as the readers of prose take it; every character has the place that it had."""

    text: str
    """With ``MENTION`` for each character of a promise that is only mentioned."""
    lowered: str
    holes: tuple[Span, ...]
    """What parts the prose: sorted, and apart from each other."""


def mask_non_prose(
    text: str, lowered: str, parting: Iterable[Span], tags: Sequence[PromiseTag]
) -> MaskedText:
    """Give the text and its holes; ``parting`` are its fences and blocks, ``tags`` its promises."""
    alone = [tag.span for tag in tags if is_on_own_line(text, tag.span)]
    holes = merge_spans((*parting, *alone))
    if len(alone) == len(tags):
        return MaskedText(text=text, lowered=lowered, holes=holes)
    kept = set(alone)
    mentions = [tag.span for tag in tags if tag.span not in kept]
    around = _quotes_around(text, mentions)
    masked = _masked(text, merge_spans((*mentions, *around)))
    return MaskedText(text=masked, lowered=lower(masked), holes=holes)


_MENTION_REACH = 2_000
"""Characters of a paragraph on either side of a mention in which its quote may begin and end."""
_GAP = re.compile(r"\n[^\S\n]*\n")


def _quotes_around(text: str, mentions: Iterable[Span]) -> Iterator[Span]:
    """The quotes over several lines of the paragraphs that hold a mention."""
    ceiling = 0
    for start, end in mentions:
        if end <= ceiling:
            continue
        floor = max(0, start - _MENTION_REACH)
        for gap in _GAP.finditer(text, floor, start):
            floor = gap.end()
        ceiling = min(len(text), end + _MENTION_REACH)
        following = _GAP.search(text, end, ceiling)
        ceiling = ceiling if following is None else following.start()
        for begins, ends in quote_spans(text[floor:ceiling]):
            yield floor + begins, floor + ends


def _masked(text: str, spans: Iterable[Span]) -> str:
    kept: list[str] = []
    position = 0
    for start, end in spans:
        first, *others = text[start:end].split("\n")
        lines = [MENTION * len(first), *map(_masked_line, others)]
        kept += (text[position:start], "\n".join(lines))
        position = end
    return "".join((*kept, text[position:]))


def _masked_line(line: str) -> str:
    """A line within a tag; the marks of a block quote stay, for it may go on behind the tag."""
    marks = _QUOTE_MARKS.match(line)
    n_kept = 0 if marks is None else marks.end()
    return line[:n_kept] + MENTION * (len(line) - n_kept)


_QUOTE_MARKS = re.compile(r"(?:[^\S\n]{0,3}+>)++[^\S\n]*+")
