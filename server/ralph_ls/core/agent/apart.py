"""What of a text is no prose at all, and what only looks like a break in it.

Fences, status blocks and promises that have a line of their own part the prose around them. A
promise in the middle of a line parts nothing: it is a mention, and what stands around it on its
line may be one quote, one piece of code, one sentence. It must never know which words are looked
for in the prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.promises import PromiseTag, stands_alone
from ralph_ls.core.agent.prose import MENTION, spans_of_quotes
from ralph_ls.core.agent.text import Span, lower, merged


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """A text as the readers of prose take it; every character has the place that it had."""

    text: str
    """With ``MENTION`` for each character of a promise that is only mentioned."""
    lowered: str
    holes: tuple[Span, ...]
    """What parts the prose: sorted, and apart from each other."""


def set_apart(
    text: str, lowered: str, parting: Iterable[Span], tags: Sequence[PromiseTag]
) -> Apart:
    """Give the text and its holes; ``parting`` are its fences and blocks, ``tags`` its promises."""
    alone = [tag.span for tag in tags if stands_alone(text, tag.span)]
    holes = merged((*parting, *alone))
    if len(alone) == len(tags):
        return Apart(text=text, lowered=lowered, holes=holes)
    kept = set(alone)
    mentions = [tag.span for tag in tags if tag.span not in kept]
    around = _quotes_around(text, mentions)
    masked = _masked(text, merged((*mentions, *around)))
    return Apart(text=masked, lowered=lower(masked), holes=holes)


_REACH = 2_000
"""Characters of a paragraph on either side of a mention in which its quote may begin and end."""
_GAP = re.compile(r"\n[^\S\n]*\n")


def _quotes_around(text: str, mentions: Iterable[Span]) -> Iterator[Span]:
    """The quotes over several lines of the paragraphs that hold a mention."""
    ceiling = 0
    for start, end in mentions:
        if end <= ceiling:
            continue
        floor = max(0, start - _REACH)
        for gap in _GAP.finditer(text, floor, start):
            floor = gap.end()
        ceiling = min(len(text), end + _REACH)
        following = _GAP.search(text, end, ceiling)
        ceiling = ceiling if following is None else following.start()
        for begins, ends in spans_of_quotes(text[floor:ceiling]):
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
