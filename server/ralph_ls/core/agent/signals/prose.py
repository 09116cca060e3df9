"""Prose of a text: the agent's own sentences, without code, quotes and signals.

Words are never read from fences, status blocks, promises, quotes, inline code, tables, check lists
or struck-out text. Fences, status blocks and promises with a line to themselves separate the prose
around them. A promise within a line is only mentioned and separates nothing: the rest of its line
may be one quote, one piece of code or one sentence. Knows no phrases.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.signals.promises import PromiseTag, is_on_own_line
from ralph_ls.core.agent.text import LiteralHits, Span, lower, merge_spans, without_spans

MENTION = "\ue000"
"""Replaces each character of a mentioned promise; no text contains it."""


def to_prose(text: str, spans: Iterable[Span]) -> str:
    """The prose outside the spans: lower case, one blank between words, no emphasis marks.

    Inline code, quoted words and mentions become ``_``, which no phrase contains, so that the
    surrounding grammar is kept. Lines of block quotes, tables and check lists become empty. A
    newline within a wrapped sentence becomes a blank.
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
    """What a stretch of text must contain for its prose to be needed."""

    literals: tuple[str, ...]
    """In lower case; a word that is a sign contains one of them."""
    shape: re.Pattern[str]
    """Matches a sign at the start of its word."""


def to_filtered_prose(text: str, lowered: str, holes: Sequence[Span], signs: ProseFilter) -> str:
    """The prose of only those stretches outside the holes that contain a sign.

    A phrase never spans two stretches, so a search for phrases that need a sign finds the same as
    in the whole prose. Most of a long output contains no sign. ``lowered`` is ``lower(text)``;
    ``holes`` are sorted and disjoint.
    """
    stretches = matching_stretches(text, lowered, holes, signs)
    return to_prose("\n\n".join(text[start:end] for start, end in stretches), ())


def matching_stretches(
    text: str, lowered: str, holes: Sequence[Span], signs: ProseFilter
) -> Iterator[Span]:
    """The stretches of whole sentences outside the holes that contain a sign."""
    starts = [*(start for start, _ in holes), len(text)]
    ends = [0, *(end for _, end in holes)]
    literals = LiteralHits(lowered, (*signs.literals, _STRUCK_OUT))
    stars = LiteralHits(text, "*")
    position = taken = 0
    while True:
        hit, is_star = _next_hit(text, literals, stars, position)
        if hit is None:
            return
        index = bisect_right(starts, hit, hi=len(holes))
        floor = max(taken, ends[index])
        if hit < floor:
            position = floor
        elif not is_star and not _is_sign(text, lowered, hit, signs):
            position = hit + 1
        else:
            following = _BREAK.search(text, hit, starts[index])
            taken = starts[index] if following is None else following.start()
            yield _break_before(text, hit, floor), taken
            position = max(taken, hit + 1)


def _next_hit(
    text: str, literals: LiteralHits, stars: LiteralHits, position: int
) -> tuple[int | None, bool]:
    """Where a sign may be next, and whether it is an emphasis mark inside a word."""
    hit = literals.next_from(position)
    star = _next_inner_star(text, stars, position, len(text) if hit is None else hit)
    return (hit, False) if star is None else (star, True)


def _is_sign(text: str, lowered: str, hit: int, signs: ProseFilter) -> bool:
    start = hit
    while start > hit - _LONGEST_SIGN and lowered[start - 1 : start].isalnum():
        start -= 1
    return signs.shape.match(lowered, start) is not None or text.startswith(_STRUCK_OUT, hit)


_LONGEST_SIGN = 20


def _next_inner_star(text: str, stars: LiteralHits, position: int, limit: int) -> int | None:
    """The next emphasis mark inside a word: removing it may join two parts to a sign."""
    while (hit := stars.next_from(position)) is not None and hit < limit:
        if text[hit - 1 : hit].isalnum():
            return hit
        position = hit + 1
    return None


def _break_before(text: str, offset: int, floor: int) -> int:
    """Start of the stretch that contains an offset."""
    newline = text.rfind("\n", floor, offset)
    while newline >= 0:
        if _BREAK.match(text, newline) is not None:
            return newline + 1
        newline = text.rfind("\n", floor, newline)
    return floor


def mask_quotes(text: str) -> tuple[str, tuple[tuple[Span, str], ...]]:
    """The text with blanks in place of everything that is not prose, and those spans by kind."""
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
    """The spans that are inside no other, in text order."""
    kept: list[tuple[Span, str]] = []
    for span, what in sorted(quotes, key=lambda quote: (quote[0][0], -quote[0][1])):
        if not kept or span[0] >= kept[-1][0][1]:
            kept.append((span, what))
    return tuple(kept)


def quote_spans(paragraph: str) -> Iterator[Span]:
    """The inline code and the quotes of a paragraph that span several lines."""
    for sign, shape in _OVER_LINES:
        if sign in paragraph:
            yield from (match.span() for match in shape.finditer(paragraph) if "\n" in match[0])


def _without(prose: str, shape: re.Pattern[str]) -> str:
    """Replace quoted text by ``_``, from the innermost quote outwards."""
    for _ in range(_DEEPEST):
        prose, n_found = shape.subn("_", prose)
        if not n_found:
            break
    return prose


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceContext:
    """The sentence around a match, as far as guards need it."""

    before: str
    after: str
    """Up to the end of the sentence, without its final mark."""
    is_question: bool
    is_in_heading: bool


def sentence_context(prose: str, start: int, end: int) -> SentenceContext:
    """The text around a match in its sentence, at most ``_REACH`` characters each way."""
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
"""Long enough for the beginning of a sentence, short enough to be searched for every match."""

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
"""Text that is not prose, each kind with a sign that it must contain."""

_SOFT = r"(?:\n(?![^a-z*_~\"'`\u201c\u00ab\u2018\ue000\s]|\n))"
"""A line end within a sentence: no ``_BREAK``."""


def _quoted(start: str, end: str, *, marks: str = "") -> re.Pattern[str]:
    """A quote, possibly wrapped over a few lines; ``marks`` are those that it cannot contain."""
    inner = rf"[^{marks or end}\n]*+"
    return re.compile(rf"{start}{inner}(?:{_SOFT}{inner}){{0,3}}{end}")


_QUOTES = (
    # At most one run of each length can lack a partner in a line, so this is linear.
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
    # A mark without a partner in its line may have one in a later line.
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
"""Kinds of quotes, each with a sign that it must contain."""

_DEEPEST = 4
"""Levels of quotes within quotes."""

_ANY_LINES = r"(?:[^\n]|\n(?![^\S\n]*\n))"
_OVER_LINES = (
    ("`", re.compile(rf"(?<!`)(`{{1,3}})(?!`){_ANY_LINES}*?(?<!`)\1(?!`)")),
    ('"', re.compile(r'"[^"]*+"')),
    ("\u201c", re.compile("\u201c[^\u201d]*+\u201d")),
    ("\u00ab", re.compile("\u00ab[^\u00bb]*+\u00bb")),
)

_MENTIONS = re.compile("\ue000+")
_STRUCK_OUT = "~~"
"""Removing struck-out text may join its surroundings to a sign."""
_BREAK = re.compile(r"\n(?=[^a-z*_~\"'`\u201c\u00ab\u2018\ue000\s]|\n)")
"""A line end that joins no sentence: no lower-case letter can follow it."""

_EMPHASIS = re.compile(
    r"_(?<!__)(?:(?<![^\W_]_)_*+(?=[^\W_])|(?:(?<=[^\W_]_)|(?<=[.!]_))_*+(?![^\W_]))"
)
"""Underscores on one side of a word; those inside names, and a lone ``_``, are kept."""
_WRAP = re.compile(r"\n(?<=[^\n]{40}\n)[^\S\n]*+(?=[a-z])")
"""The end of a line that is long enough to be wrapped and continues in lower case."""
_INDENTATION = re.compile(r"\n[^\S\n]++(?=[a-z])")
_BLANKS = re.compile(r"[ \t]{2,}|\t")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedText:
    """A text as the prose readers use it; every character keeps its offset."""

    text: str
    """With ``MENTION`` for each character of a promise that is only mentioned."""
    lowered: str
    holes: tuple[Span, ...]
    """The spans that separate prose, sorted and disjoint."""


def mask_non_prose(
    text: str, lowered: str, parting: Iterable[Span], tags: Sequence[PromiseTag]
) -> MaskedText:
    """Mask a text; ``parting`` are its fences and blocks, ``tags`` its promises."""
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
    """The quotes over several lines in paragraphs that contain a mention."""
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
    """A line within a tag, with its block quote marks, since the quote may continue after it."""
    marks = _QUOTE_MARKS.match(line)
    n_kept = 0 if marks is None else marks.end()
    return line[:n_kept] + MENTION * (len(line) - n_kept)


_QUOTE_MARKS = re.compile(r"(?:[^\S\n]{0,3}+>)++[^\S\n]*+")
