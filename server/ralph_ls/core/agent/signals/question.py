"""The question in plain words at the end of an agent's output.

The loop does not wait for an answer to it, so the user is shown that it was asked. It is not a
signal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph_ls.core.agent.signals.phrases import find_clarification
from ralph_ls.core.agent.signals.prose import to_prose
from ralph_ls.core.agent.text import Span

MAX_QUESTION_CHARACTERS = 500


def find_question(text: str, holes: Sequence[Span]) -> str:
    """The question in the last paragraph outside the holes; empty where there is none.

    The paragraph asks if it ends with a question mark or contains a clarification phrase that
    counts. Its asking sentences are returned on one line without emphasis, cut between words. A
    courtesy such as "anything else?" is not a question. ``holes`` are code fences, status blocks
    and promises, sorted and disjoint.
    """
    paragraph = last_paragraph(text, holes)
    if _END_OF_QUESTION.search(paragraph) is None and not find_clarification(
        to_prose(paragraph, ())
    ):
        return ""
    asking = (sentence for sentence in _SENTENCES.split(paragraph) if _asks(sentence))
    return shorten(" ".join(asking).replace("**", ""), MAX_QUESTION_CHARACTERS)


def shorten(text: str, limit: int) -> str:
    """Shorten a text to one line of at most this many characters, cut between words."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut else cut}\u2026"


_LONGEST_PARAGRAPH = 4_000
_GAP = re.compile(r"\n[^\S\n]*\n")
_BESIDES = re.compile(
    r"\s*(?:\#{1,6}[ \t][^\n]*|[-*_=\u2013\u2014]{2,}|[*_]{0,2}[^\n:]{1,40}:[*_]{0,2}"
    r"|(?i:(?:please )?(?:let me know|tell me|i['\u2019]ll wait|waiting for|awaiting)\b[^?]{0,200})"
    r")\s*"
)
"""Headings, rules, labels of what follows, and invitations to answer: they end no text."""

_NOT_SAID = re.compile(
    r"^[^\S\n]*(?:>[^\n]*|\|[^\n]*|(?:[-*+]|\d{1,9}[.)])[^\S\n]+\[[^\]\n]?\][^\n]*)$", re.MULTILINE
)
"""Block quotes, tables and check lists."""

_END_OF_QUESTION = re.compile(r"[?\uff1f][!?\uff1f]*[)\]*_]*\s*\Z")
_SENTENCES = re.compile(
    r"(?<=[.!?][)*_])\s+|(?<=[\u3002\uff01\uff1f])"
    r"|(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)\s+|\n(?=[^\S\n]*[-*+][^\S\n])"
)

COURTESY_PHRASES = {
    "anything-else": re.compile(r"\banything else\b|\bsomething else (?:i can|you)\b"),
    "can-i-help": re.compile(r"\bhow (?:else )?(?:can|may) i (?:help|assist)\b"),
    "what-next": re.compile(
        r"\bwhat (?:would you like|do you want|should i|shall i|shall we|should we)"
        r" (?:me )?(?:to )?(?:do|work on|tackle|look at|pick up|build) next\b"
        r"|\bwhat(?:'s| is) next\b|\bready for the next (?:task|step|one)\b"
    ),
    "any-questions": re.compile(
        r"\b(?:any|have) (?:\w+ )?(?:questions|thoughts|feedback|comments)\b"
    ),
    "does-that-help": re.compile(
        r"\b(?:does|did|do) (?:that|this|it) (?:help|make sense|look (?:good|ok|okay|right)|work)\b"
        r"|\b(?:sounds?|looks?) (?:good|ok|okay|right) *(?:to you *)?\?|\bmakes? sense *\?"
    ),
}
"""Habitual questions of agents, each with a name; matched against a sentence in lower case."""


def last_paragraph(text: str, holes: Sequence[Span]) -> str:
    """The last paragraph of prose outside the holes, at most 4,000 characters; or empty."""
    end = len(text)
    for hole_start, hole_end in (*reversed(holes), (0, 0)):
        rest = text[max(hole_end, end - _LONGEST_PARAGRAPH) : end]
        for paragraph in reversed(_GAP.split(rest)):
            plain = _NOT_SAID.sub("", paragraph).strip()
            if plain and _BESIDES.fullmatch(plain) is None:
                return plain
            if paragraph.strip() and not plain:
                return ""
        end = hole_start
    return ""


def _asks(sentence: str) -> bool:
    is_question = _END_OF_QUESTION.search(sentence) is not None
    if not is_question and not find_clarification(to_prose(sentence, ())):
        return False
    lowered = " ".join(sentence.lower().replace("\u2019", "'").split())
    return not any(courtesy.search(lowered) for courtesy in COURTESY_PHRASES.values())
