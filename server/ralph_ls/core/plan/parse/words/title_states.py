"""States at either end of a title: a sign, words behind a dash or in brackets, bold words.

They are cut out of the titles of list items and headings that have no box. What the words and signs
mean is in ``state_words``.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import category

from ralph_ls.core.plan.parse.words.chinese import compile_both
from ralph_ls.core.plan.parse.words.state_tables import REMOVALS, VAGUE_SIGNS
from ralph_ls.core.plan.parse.words.state_words import (
    ITEM_SIGN,
    PERCENT,
    SIGN,
    STATE_OF_SIGN,
    fold_words,
    has_state_word,
    is_of_one_stage,
    is_only_words,
    is_tail,
    read_state,
    read_state_word,
    read_word,
)
from ralph_ls.protocol.task_words import TaskState


def find_remark(text: str) -> tuple[int, int] | None:
    """Find a remark in brackets that begins with such an emoji: ``(✅ Complete)``."""
    found = _REMARK.search(text)
    return None if found is None else found.span()


def opening_sign(text: str) -> tuple[int, int] | None:
    """Find an emoji for a state at the beginning of an item, in its bold words too."""
    found = _OPENING_SIGN.match(text)
    return None if found is None else (found.start(1), found.end())


def has_ornament(heading: str) -> bool:
    """Whether a heading begins with an emoji that is no state."""
    first = heading.lstrip(" \t*_")[:1]
    return category(first or " ") == "So" and SIGN.match(first) is None


class OpeningRemark(NamedTuple):
    """A state in words in front of those that it is about."""

    state: TaskState
    end: int
    """Where the other words begin."""
    mark: tuple[int, int]
    """The words."""


def opening_remark(text: str) -> OpeningRemark | None:
    """Find ``Done: …``, ``(done) …`` or ``DONE - …`` at the beginning of an item.

    A colon in a tag or apart from it makes none: ``[BLOCKED: no key] Parse``, ``[DONE] :1``.
    """
    found = _OPENING_APART.match(text) or _OPENING.match(text)
    if found is None:
        return None
    words = next(part for part in found.groups() if part is not None)
    if not is_only_words(words):
        return None
    if words[0] in "([" and _IN_BRACKETS.fullmatch(words) is None:
        return None
    state = read_state(words)
    if state is None or state is TaskState.TODO:
        return None
    begin = text.index(words)
    return OpeningRemark(state, found.end(), (begin, begin + len(words)))


class StateRemark(NamedTuple):
    """A state behind the words that it is about."""

    start: int
    """Where it begins, with the white space and the dash before it."""
    state: TaskState


def read_opening_sign(text: str, end: int) -> tuple[TaskState | None, str]:
    """The state of an item that begins with an emoji up to ``end``, and its other words.

    Words behind an emoji with two meanings decide: ``⏭ Skipped: …``, ``⏸ Parser - deferred``.
    """
    sign = text[:end].lstrip("*_")
    bold = text[: end - len(sign)]
    rest, state, is_vague = bold + text[end:].lstrip(), read_state(sign), sign[0] in VAGUE_SIGNS
    begun = opening_remark(rest)
    if begun is not None and (is_vague or begun.state is state):
        return begun.state, ("**" if rest.startswith("**") else "") + rest[begun.end :]
    if not is_vague:
        return state, rest
    remark = closing_remark(rest)
    return (state, rest) if remark is None else (remark.state, rest)


def closing_remark(text: str) -> StateRemark | None:
    """Find ``(COMPLETED)``, ``- Done``, ``: ✅`` or a sign at the end, and nothing else.

    Behind bold words a sign or a word in brackets may have more text behind it:
    ``**Parser.** ✅ With tests.``, ``**Parser** (done, in May): with tests``.
    """
    marked = _remark_in_bold(text) if "**" in text else _remark_with_sign(text)
    if marked is not None:
        return marked
    found = _CLOSING.search(text, max(len(text) - _LONGEST_REMARK, 0))
    if found is None or is_of_one_stage(text) or text.count("`", 0, found.start()) % 2:
        return None
    words = next(part for part in found.groups() if part is not None)
    remark = _remark_of(found, words)
    if remark is None:
        return _remark_before_note(text, found, words)
    removes = remark.state is TaskState.SKIPPED and _REMOVES.match(text) is not None
    return None if removes else remark


def _remark_in_bold(text: str) -> StateRemark | None:
    return _remark_behind_bold(text) or _remark_with_sign(text) or bold_remark(text)


def _remark_with_sign(text: str) -> StateRemark | None:
    """Signs at the end of a text, alone or with words for their state."""
    signed = find_sign_with_words(text)
    if signed is not None:
        return StateRemark(signed.start, signed.state)
    alone = None if text.isascii() else _SIGNS_ALONE.search(text)
    if alone is None or is_of_one_stage(text):
        return None
    return StateRemark(alone.start(), STATE_OF_SIGN[alone[1]])


def _remark_of(found: re.Match[str], words: str) -> StateRemark | None:
    """The state in all of the words that a text ends with, or behind their last dash."""
    state = _state_behind(words)
    if state is None and found[1] is not None:
        state = _state_among(words) or _state_before_reason(words)
    if state is not None:
        return StateRemark(found.start(), state)
    dash = None if found[2] is None else _LAST_DASH.search(words)
    state = None if dash is None else _state_behind(dash[1])
    if dash is None or state is None:
        return None
    return StateRemark(found.start(2) + dash.start(), state)


def _remark_before_note(text: str, found: re.Match[str], words: str) -> StateRemark | None:
    """``Parser — DONE (PR 4)``, ``Parser ✓ (PR 4)``: a state in front of the words at the end."""
    may_precede, is_note = is_tail(fold_words(words), 0), found[1] is not None
    remark = _remark_before(text, found.start()) if is_note or may_precede else None
    if remark is None and is_note and may_precede:
        return _sign_before(text, found.start())
    return remark


def _remark_behind_bold(text: str) -> StateRemark | None:
    if (bold := _BOLD_THEN_SIGN.match(text)) is not None and not is_of_one_stage(text):
        return StateRemark(bold.end(1), STATE_OF_SIGN[bold[2]])
    bold = _BOLD_THEN_WORD.match(text)
    if bold is None or not is_only_words(bold[2]):
        return None
    state = read_state(bold[2])
    return None if state is None else StateRemark(bold.end(1), state)


def bold_remark(heading: str) -> StateRemark | None:
    """Find ``**DONE**`` at the end of a heading: a state in bold that has a capital or no case."""
    found = _BOLD_AT_END.search(heading)
    if found is None or found[1][0].islower() or not is_only_words(found[1]):
        return None
    state = read_state(found[1])
    return None if state is None else StateRemark(found.start(), state)


def _remark_before(text: str, end: int) -> StateRemark | None:
    """``Parser — DONE (PR 4)``: a state with a note in brackets behind it."""
    found = _BEFORE_NOTE.search(text, max(end - _LONGEST_PART, 0), end)
    if found is None or not is_only_words(found[1]):
        return None
    state = read_state(found[1])
    return None if state is TaskState.TODO or state is None else StateRemark(found.start(), state)


def _sign_before(text: str, end: int) -> StateRemark | None:
    """``Parser ✓ (PR 4)``."""
    sign = _SIGNS_AT_END.search(text, max(end - _LONGEST_PART, 0), end)
    return None if sign is None else StateRemark(sign.start(), STATE_OF_SIGN[sign[1]])


def _state_behind(words: str) -> TaskState | None:
    share = PERCENT.search(words)
    if is_only_words(words):
        return read_state(words)
    bare = _DETAIL.sub("", words)
    if _DONE_BEHIND.search(bare) is not None:
        return TaskState.DONE
    if has_state_word(bare) and not is_only_words(bare):
        sign, state = ITEM_SIGN.match(bare.lstrip()), read_word(bare)
        return state if sign is not None and STATE_OF_SIGN[sign[1]] is state else None
    if read_word(bare) is None and _SIGN_AT_EDGE.search(bare.strip()) is None:
        return None
    if share is not None:
        return read_word(f"{bare} {share[0]}") or read_state(words)
    return read_state(bare)


def _state_among(words: str) -> TaskState | None:
    """The state in ``L, done`` or ``done; 2 days``: beside it are only short remarks."""
    parts = [part.strip() for part in _PARTS.split(words)]
    if max(map(len, parts)) > _LONGEST_PART:
        return None
    return next((read_state(part) for part in parts if is_only_words(part)), None)


def _state_before_reason(words: str) -> TaskState | None:
    """The state in ``blocked: no key``; work that is open says more by its reason."""
    parts = _REASON.split(words, maxsplit=1)
    state = read_state_word(parts[0]) if len(parts) > 1 else None
    return None if state is TaskState.TODO else state


class SignedWords(NamedTuple):
    """A sign beside words for a state at the end of a text: ``- ✅ Done``."""

    start: int
    """Where it begins with the marks before it."""
    mark: tuple[int, int]
    """The sign and the words."""
    state: TaskState


def find_sign_with_words(text: str) -> SignedWords | None:
    """Find ``✅ Done`` or ``— done ✅`` at the end of a text; None for a sign alone."""
    sign = None if text.isascii() else _LAST_SIGN.search(text)
    if sign is None or not sign.start() or is_of_one_stage(text):
        return None
    begin, behind = sign.start(1), sign[2].strip("*_ \t")
    if behind:
        if not is_only_words(behind):
            return None
        end = sign.start(2) + sign[2].rindex(behind) + len(behind)
        start = len(text[:begin].rstrip(_BEFORE_STATE))
        return SignedWords(start, (begin, end), read_word(behind) or STATE_OF_SIGN[sign[1]])
    word = _WORD_BEFORE_SIGN.search(text, max(begin - _LONGEST_PART, 0), begin)
    state = None if word is None else read_state_word(word[1])
    if word is None or state is None or word.start() == 0:
        return None
    return SignedWords(word.start(), (word.start(1), sign.start(2)), state)


_REMARK = re.compile(rf"\({SIGN.pattern}[^()]*\)")
_SIGN_AT_EDGE = re.compile(rf"\A\W*?{SIGN.pattern}|{SIGN.pattern}\W*\Z")
_SIGNS_AT_END = re.compile(rf"\s*{SIGN.pattern}[\s*_]*\Z")
_LONGEST_REMARK = 80
"""How much of a task is done; not ``90 % coverage``."""
_CLOSING = re.compile(
    r"\s*(?:(?:(?<=\s)[*_]{1,3})?[(\[（【]([^()\[\]（）【】]+)[)\]）】]"  # noqa: RUF001
    r"|(?: --? | -(?=(?i:ok|done)\b)| [\u2013\u2014|] ?|\u2014|:\s|：)"  # noqa: RUF001
    r"\s*([^:：\u2013\u2014|()（）\[\]【】]+))"  # noqa: RUF001
    r"[\s*_.!]*\Z"
)
_LAST_DASH = re.compile(r"\s--?\s(?!.*\s--?\s)(.+)\Z", re.DOTALL)
"""``- done`` of ``Phase 1: Parser - done``, where the colon is no separator."""
_SIGNS_ALONE = re.compile(
    rf"[\s:：|\u2013\u2014-]*(?<!\A){SIGN.pattern}(?:\s*{SIGN.pattern})*[\s*_.!]*\Z"  # noqa: RUF001
)
_LAST_SIGN = re.compile(
    rf"(?<=[\s*_:\u2013\u2014-]){ITEM_SIGN.pattern}([^{''.join(STATE_OF_SIGN)}]{{0,60}})\Z"
)
_WORD_BEFORE_SIGN = re.compile(
    r"\s*(?:\s--?\s|[\u2013\u2014|:])\s*[*_]*"
    r"([^\W\d_](?:(?!\s--?\s)[^:()\u2013\u2014|])*?)[*_]*\s*\Z"
)
_BEFORE_STATE = " \t*_:|\u2013\u2014-"
_REASON = re.compile(r"\s*[:：]\s*|\s[\u2013\u2014-]\s")  # noqa: RUF001
_BEFORE_NOTE = re.compile(r"(?:\s--?\s|\s?[\u2013\u2014]\s?)\s*([^:()\u2013\u2014-]+)\Z")
_BOLD_AT_END = re.compile(
    r"(?:\s+--?|\s*[\u2013\u2014:|])?\s*(?<=\s)\*\*([^\s*][^*]{0,22})\*\*\s*\Z"
)
_BOLD_THEN_SIGN = re.compile(rf"(\*\*[^*]+\*\*)[\s:\u2013\u2014-]*{SIGN.pattern}(?=\s)")
_BOLD_THEN_WORD = re.compile(r"(\*\*[^*]+\*\*)\s*[*_]{0,3}\(([^(),;:\u2013\u2014]{2,30})[,;:)]")
_OPENING_SIGN = re.compile(rf"[*_]{{0,3}}{ITEM_SIGN.pattern}")
_OPENING_APART = re.compile(
    r"[*_]{0,3}(?:[(\uff08]([^()\uff08\uff09\s][^()\uff08\uff09]{1,24})[)\uff09][*_]{0,3}[ \t]+"
    r"|([A-Z][A-Z ]{2,20}?)[*_]{0,3} (?:--?|[\u2013\u2014]) )\s*(?=\S)"
)
"""``(done) Parser``, ``DONE - Parser``."""
_OPENING = re.compile(r"[*_]{0,3}([^\s*_:：][^:：]{1,24})[:：]\s*(?=\S)")  # noqa: RUF001
_IN_BRACKETS = re.compile(r"\[[^\[\]]+\]|\([^()]+\)")
_DONE_BEHIND = compile_both(r"[^未没部分]已(?:完成|实现|修复|解决|上线|实施|关闭)\Z")
_PARTS = re.compile(r"[,;，、]")  # noqa: RUF001
_LONGEST_PART = 16
_REMOVES = re.compile(rf"[\W_]*(?:{REMOVALS})", re.IGNORECASE)
_DETAIL = re.compile(r"[\s,;]*(?:(?:on|at|in|am|le)\s+)?[0-9][0-9./:%-]*[\s0-9./:%-]*|100 ?%")
