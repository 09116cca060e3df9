"""Completion and clarification phrases (docs/rules.md#exit-gate), counted as distinct patterns.

A use does not count when it is negated ("not done"), hypothetical ("once done", "will be complete",
"done when the tests pass"), asked ("is it done?"), partial ("3 of 7 done", "task 2 is complete"), a
label ("Done:", "## Completed", "Status: done"), an attribute ("the finished product"), or,
according to ``prose``, quoted, fenced or struck out. In doubt a use does not count: one more
iteration costs less than a loop that ends too early.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ralph_ls.core.agent.signals.prose import ProseFilter, SentenceContext, sentence_context


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """One named pattern, matched against lower-case prose."""

    name: str
    shape: re.Pattern[str]
    signs: tuple[str, ...]
    """Every match contains one of these words; a text without them is not searched.

    A sign that ends with a hyphen is the beginning of a word.
    """
    is_negatable: bool = True
    """False for phrases whose meaning negation does not change: "I don't know which option"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhraseMatch:
    """One match of a phrase in prose."""

    name: str
    start: int
    end: int
    why_not: str
    """The reason why it does not count, in words; empty where it counts."""


def find_completion(prose: str) -> tuple[str, ...]:
    """Names of the distinct completion phrases that count, in ``COMPLETION_PHRASES`` order."""
    return _find(prose, COMPLETION_PHRASES, _why_not_completion)


def find_clarification(prose: str) -> tuple[str, ...]:
    """Names of the distinct clarification phrases that count, in the order of the table."""
    return _find(prose, CLARIFICATION_PHRASES, _why_not_clarification)


def find_phrase_matches(prose: str) -> Iterator[PhraseMatch]:
    """Every match of every phrase in text order, whether it counts or not."""
    uses = (_uses_of(phrase, prose, why_not) for phrases, why_not in _JUDGES for phrase in phrases)
    return heapq.merge(*uses, key=lambda use: (use.start, use.end))


def _phrase(name: str, signs: str, shape: str, *, is_negatable: bool = True) -> Phrase:
    return Phrase(
        name=name,
        shape=re.compile(shape),
        signs=tuple(signs.split("|")),
        is_negatable=is_negatable,
    )


_WORD_END = r"(?![\w/-]|\.\w)"
_TASKS = r"(?:tasks?|items?|work|stories|story|todos?|steps?|boxes)"
_THINGS = (
    rf"(?:{_TASKS}|requirements?|criteria|criterion|specs?|specifications?|features?|issues?"
    r"|goals?|bugs?|scenarios?|functionality|code|endpoints?)"
)
_PR = r"(?:pr|pull request|merge request)"

# A lookbehind that repeats the word anchors its start: a pattern that begins with a plain word is
# found many times faster than one that begins with a lookbehind.
COMPLETION_PHRASES = (
    _phrase(
        "done",
        "done",
        rf"done(?<![\w./-]done){_WORD_END}"
        r"(?! (?:before|by|via|through|using|to|in|at|on|inside|during|within|per|from|because"
        r"|since|like|here|manually|automatically)\b)",
    ),
    _phrase(
        "complete",
        "complete-",
        r"complete(?<![\w./-]complete)"
        rf"(?:d{_WORD_END}|{_WORD_END}(?:(?<=\bis complete)|(?<=\bare complete)"
        r"|(?= ?(?:[^\w ]|$)| (?:and|but|now|as|with|so|thanks)\b)))",
    ),
    _phrase(
        "finished",
        "finished",
        rf"finished(?<![\w./-]finished){_WORD_END}"
        r"(?! (?:in|at|reading|running|looking|exploring|analy[sz]ing|checking|searching|scanning"
        r"|loading|compiling|downloading|installing|reviewing|testing|parsing)\b)",
    ),
    _phrase(
        "ready-for-review",
        "review-",
        r"ready(?<![\w-]ready) "
        r"(?:for (?:(?:your|code|human|final|a) ){0,3}review|to (?:be )?review(?:ed)?)\b",
    ),
    _phrase(
        "pr-created",
        "created|opened|submitted|raised|filed",
        rf"(?<![\w-]){_PR}(?: \(?#?\w+\)?)?(?: (?:is|was|has|have|been|now|already|successfully))"
        rf"{{0,4}} (?:created|opened|submitted|raised|filed)\b|(?<![\w-])(?:created|opened"
        rf"|submitted|raised|filed)(?: (?:a|the|new|draft|my|this)){{0,3}} {_PR}\b",
    ),
    _phrase(
        "nothing-left",
        "nothing|no",
        r"no(?<![\w-]no)(?:thing(?: (?:is|was|else|more|further)){0,3}(?: (?:left|remaining|remains"
        r"|outstanding|pending)\b|(?<= left| more| else|rther) to (?:do|be done)\b(?! with))"
        r"| (?:(?:more|further|remaining|open|outstanding|other|pending|unfinished|incomplete"
        rf"|additional|required|unchecked) ){{0,3}}{_TASKS}(?: (?:is|are|was|were))?"
        r" (?:to do|left|remains?|remaining|outstanding|pending|open|needed|required|necessary)\b"
        rf"| (?:remaining|outstanding|open|pending|further|more|unfinished|unchecked) {_TASKS}\b)",
    ),
    _phrase(
        "all-implemented",
        "implemented|satisfied|fulfilled|met|resolved|accomplished|place|ticked|checked|closed"
        "|delivered",
        r"(?<![\w-])(?:all|every(?:thing)?)(?: (?:of|the|these|those|my|our|in|from|listed|open"
        r"|planned|required|remaining|acceptance|success|user|spec|plan|project|_|\d+)){0,5}"
        rf"(?: {_THINGS}){{0,2}}(?: (?:of|in|from) (?:(?:the|this|our|my) )?\w+)?"
        r"(?: (?:is|are|was|were|has|have|been|now|fully|successfully|all|already)){0,5}"
        r" (?:implemented|satisfied|fulfilled|met|resolved|accomplished|in place|ticked off"
        r"|checked off|closed|delivered)\b",
    ),
    _phrase(
        "ready-to-merge",
        "merg-",
        r"ready(?<![\w-]ready) (?:to (?:be )?merged?|for (?:the |a )?merg(?:e|ing))\b",
    ),
)
"""The five words of the clarity loop, then others that agents use for the same."""

_MORE = r"(?:more|additional|further) (?:information|info|details?|context|input|guidance)\b"

CLARIFICATION_PHRASES = (
    _phrase(
        "need-more-information",
        "need-|required",
        r"need(?<![\w-]need)(?:s|ed|ing)? (?:(?:some|much|any|a (?:bit|little)) )?"
        rf"{_MORE}|more (?:information|info|details|context) (?:is|are) (?:needed|required)\b",
    ),
    _phrase("unclear", "unclear", rf"unclear(?<![\w-]unclear){_WORD_END}"),
    _phrase(
        "please-clarify",
        "clarify",
        r"please (?:\w+ ){0,2}clarify\b|(?:can|could|would) you (?:\w+ )?clarify\b",
        is_negatable=False,
    ),
    _phrase(
        "which-option",
        "which",
        r"which(?<![\w-]which) (?:option|approach|alternative)\b",
        is_negatable=False,
    ),
    _phrase(
        "need-clarification",
        "clarification",
        r"(?:need|requir|request|seek)(?:s|es|ed|e|ing)? (?:(?:some|your|a|further|more) ){0,2}"
        r"clarification\b|clarification (?:is|are) (?:needed|required)\b",
    ),
    _phrase(
        "not-clear",
        "clear",
        r"(?:\bnot|n't) (?:\w+ )?clear (?:(?:to me|yet) )?(?:what|which|how|whether|if|who|where"
        r"|when|why)\b",
        is_negatable=False,
    ),
)
"""The four phrases of the clarity loop, and two with the same meaning."""


def _signs_of(phrases: tuple[Phrase, ...]) -> ProseFilter:
    signs = sorted({sign for phrase in phrases for sign in phrase.signs})
    shapes = (sign[:-1] if sign.endswith("-") else rf"{sign}(?![^\W_])" for sign in signs)
    bare = (sign.removesuffix("-") for sign in signs)
    literals = (next((root for root in _ROOTS if root in sign), sign) for sign in bare)
    return ProseFilter(
        literals=tuple(dict.fromkeys(literals)),
        shape=re.compile(rf"(?<![^\W_])(?:{'|'.join(shapes)})"),
    )


_ROOTS = ("clari", "clear", "cked", "ished", "no")
"""Prefixes that several signs share, so that one search finds all of them."""

PHRASE_FILTER = _signs_of((*COMPLETION_PHRASES, *CLARIFICATION_PHRASES))
"""Prose without any of these contains no phrase."""


_WhyNot = Callable[[Phrase, SentenceContext], str]


def _find(prose: str, phrases: tuple[Phrase, ...], why_not: _WhyNot) -> tuple[str, ...]:
    return tuple(
        phrase.name
        for phrase in phrases
        if any(not use.why_not for use in _uses_of(phrase, prose, why_not))
    )


def _uses_of(phrase: Phrase, prose: str, why_not: _WhyNot) -> Iterator[PhraseMatch]:
    if not any(sign.removesuffix("-") in prose for sign in phrase.signs):
        return
    for match in phrase.shape.finditer(prose):
        start, end = match.span()
        reason = why_not(phrase, sentence_context(prose, start, end))
        yield PhraseMatch(name=phrase.name, start=start, end=end, why_not=reason)


# Agents and logs repeat themselves, so verdicts are cached.
@lru_cache(maxsize=256)
def _why_not_completion(phrase: Phrase, around: SentenceContext) -> str:
    before, after = around.before, around.after
    if around.is_question:
        return "it is a question"
    if _is_label(around):
        return "it is a label or a heading"
    for why, guard in _NOT_CLOSE_BEFORE:
        if _is_near(guard, before):
            return why
    for why, guard in _NOT_BEFORE:
        if guard.search(before) is not None:
            return why
    for why, guard in _NOT_AFTER:
        if guard.search(after) is not None:
            return why
    return _PARTIAL if _is_fraction(f"{before} {phrase.name} {after}") else ""


@lru_cache(maxsize=256)
def _why_not_clarification(phrase: Phrase, around: SentenceContext) -> str:
    if phrase.is_negatable and _is_near(_NEGATED, around.before):
        return _IS_NEGATED
    if _IF.search(around.before) is not None:
        return _IS_HYPOTHETICAL
    return "it was decided" if _CHOSEN.search(around.before) is not None else ""


_JUDGES: tuple[tuple[tuple[Phrase, ...], _WhyNot], ...] = (
    (COMPLETION_PHRASES, _why_not_completion),
    (CLARIFICATION_PHRASES, _why_not_clarification),
)

_IS_NEGATED = "it is negated"
_IS_HYPOTHETICAL = "it is hypothetical"
_ATTRIBUTIVE = "it only describes a thing"
_PARTIAL = "it covers only a part"
_LABELLED = "it is the value of a label"

_CLOSE = 80
"""How many characters the guards of a few words look back."""


def _is_near(guard: re.Pattern[str], before: str) -> bool:
    return guard.search(before, max(0, len(before) - _CLOSE)) is not None


_NEGATED = re.compile(
    r"(?:\b(?:not|never|no|none|nothing|neither|nor|cannot|without|hardly|barely|far from|almost"
    r"|nearly|partially|partly|half|mostly|yet to|isnt|arent|wasnt|dont|didnt|havent)|n't)"
    r"(?: (?!(?:and|but|so|because|as)\b)[\w'-]++){0,6}+ ?$"
)

_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|once|until|till|when|whenever|whether|assuming|provided|supposing|suppose"
    r"|as soon as|otherwise)\b|\b(?:after|before|while|by the time|what|how|which)\b[^,]*$"
)

_MODAL = re.compile(
    r"(?:\b(?:will|shall|should|would|could|can|may|might|must|to|gonna|let's|lets|let|please|get"
    r"|gets|getting|want|wants|need|needs|expect|hope|consider)|'ll|'d)"
    r"(?: (?:not|now|then|also|soon|only|just|still|probably|likely|eventually|finally|be|being"
    r"|been|have|get|become|it|this|that|them|me|us|everything|all|the|of|a|task|tasks|work|job"
    r"|feature|as|is|mark|marked|call|called|consider|considered|declare|declared|truly|really"
    r"|fully)\b){0,6}+ ?$"
)

_TO_DO_LABEL = re.compile(
    r"^\W*(?:todo|to-do|to do|fixme|next(?: steps?| up)?|remaining|pending|outstanding|open|left"
    r"|plan|goal|acceptance criteria|definition of|expected)\b[^:]*:"
)

_ATTRIBUTE = re.compile(
    r"\b(?:the|a|an|any|each|every|of|my|our|your|its|recently|previously|these|those|such) $"
)

_STATUS_LABEL = re.compile(r"\bstatus\W{0,6}$")

_UNITS = (
    r"(?:task|step|phase|part|item|story|stories|stage|milestone|section|iteration|round|subtask"
    r"|point|chunk|piece|half|batch)"
)
_SOME = (
    r"(?:this|current|first|second|third|next|last|previous|one|another|each|same|single)"
    rf" {_UNITS}\b"
)
_PART_BEFORE = re.compile(
    rf"\b(?:{_UNITS}s? ?#?\d|{_SOME}|(?:some|most|many|several|few|half|bulk)\b)[^:,]*$"
)

_NOT_CLOSE_BEFORE = ((_IS_NEGATED, _NEGATED), (_IS_HYPOTHETICAL, _MODAL))

_NOT_BEFORE = (
    (_IS_HYPOTHETICAL, _HYPOTHETICAL),
    ("it is still to be done", _TO_DO_LABEL),
    (_ATTRIBUTIVE, _ATTRIBUTE),
    (_LABELLED, _STATUS_LABEL),
    (_PARTIAL, _PART_BEFORE),
)

_NOT_AFTER = (
    (
        _IS_HYPOTHETICAL,
        re.compile(
            r"^(?:(?! and | but )[^,(\u2014\u2013])*?\b(?:if|unless|once|until|when|whenever"
            r"|assuming|provided|as soon as)\b"
        ),
    ),
    (_PARTIAL, re.compile(r"\b(?:except|apart from|aside from|other than)\b")),
    (
        _IS_NEGATED,
        re.compile(r"^ ?[:=] ?(?:no|false|0|not|none|never)\b"),
    ),
    ("it is part of a rule", re.compile(r"^ ?(?:=|->|\u2192)")),
    (
        _ATTRIBUTIVE,
        re.compile(r"^ (?:tasks?|items?|ones|issues?|stories|specs?|features?)\b"),
    ),
    (
        _PARTIAL,
        re.compile(
            rf"^ (?:with )?(?:the )?(?:{_SOME}|{_UNITS}s? ?#?\d"
            r"|(?:some|most|parts?|half|several)\b)"
        ),
    ),
)

_LABEL_AFTER = re.compile(r"^(?: (?!all\b|everything\b)[\w'-]+){0,2} ?:")
_HEADING_AFTER = re.compile(r"^(?: [\w'-]+){0,3}\W*$")


def _is_label(around: SentenceContext) -> bool:
    """Whether a match is the first word of a heading or of a label such as "Done:"."""
    if any(map(str.isalnum, around.before)):
        return False
    if around.is_in_heading:
        return _HEADING_AFTER.match(around.after) is not None
    return _LABEL_AFTER.match(around.after) is not None


_FRACTION = re.compile(r"(?<![\d.])(\d{1,6}) ?(?:/|of|out of) ?(?:the |all )?(\d{1,6})(?![\d.])")
_PERCENTAGE = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?) ?%")


def _is_fraction(sentence: str) -> bool:
    if any(int(part) != int(whole) for part, whole in _FRACTION.findall(sentence)):
        return True
    return any(float(share) != _WHOLE for share in _PERCENTAGE.findall(sentence))


_WHOLE = 100.0

_IF = re.compile(r"\b(?:if|unless|once|when|where|whenever|should)\b[^,]*$")
_CHOSEN = re.compile(
    r"\b(?:regardless of|no matter|decided|chose|choosing|determines?|depends on|depending on) $"
)
