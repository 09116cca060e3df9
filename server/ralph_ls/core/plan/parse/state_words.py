"""State words: the words and signs of states where a plan has no box, in sixteen languages.

They are in ``Status:`` lines, in columns of tables, behind the words of an item and in headings
such as ``### 1.1 🟢 Parser``. A word has precedence over a sign; unknown words give no state. A
sign with two meanings is read as the one that leaves work to do, because a task that is missed ends
a run too early; so is a word for done that says when it will be. A version, a date, a commit or a
name behind a word changes nothing. The words are in ``state_tables``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from unicodedata import category

from ralph_ls.core.plan.parse.chinese import compile_both, in_traditional
from ralph_ls.core.plan.parse.state_tables import (
    ADVERBS,
    BOX_MARKS,
    CONDITION,
    EAST,
    FIRST_PIECES,
    HEADING_SIGNS,
    ITEM_SIGNS,
    LOOSE_WORDS,
    NOT_BEHIND,
    PIECE,
    REMOVALS,
    RESERVATION,
    STATE_WORDS,
    TAIL,
    VAGUE_SIGNS,
)
from ralph_ls.protocol.task_words import TaskState


def read_state(text: str) -> TaskState | None:
    """Read ``In progress (80 %)``, ``✅ Done``, ``**Blocked** on a key``; None for the rest.

    Of several boxes the ticked one counts: ``[ ] Not started [x] Done``.
    """
    ticked = _TICKED.search(text)
    if ticked is not None:
        return read_word(text[ticked.end() :]) or TaskState.DONE
    state, found = read_word(text), _ITEM_SIGN.search(text)
    if state is TaskState.BLOCKED and found is not None and not _is_only_words(text):
        # ``✅ 保留入口``: what is on hold in Japanese is kept in Chinese.
        state = None if _STATE_OF_SIGN[found[1]] is TaskState.DONE else state
    if state is not None:
        return state
    if found is not None:
        return _STATE_OF_SIGN[found[1]]
    return TaskState.TODO if _OPEN_BOX.fullmatch(text) is not None else None


def find_sign(text: str) -> tuple[int, int] | None:
    """Find the first emoji for a state anywhere in a heading."""
    found = _SIGN.search(text)
    return None if found is None else found.span()


def find_remark(text: str) -> tuple[int, int] | None:
    """Find a remark in brackets that begins with such an emoji: ``(✅ Complete)``."""
    found = _REMARK.search(text)
    return None if found is None else found.span()


def opening_sign(text: str) -> tuple[int, int] | None:
    """Find an emoji for a state at the beginning of an item."""
    found = _ITEM_SIGN.match(text)
    return None if found is None else found.span()


def has_ornament(heading: str) -> bool:
    """Whether a heading begins with an emoji that is no state."""
    first = heading.lstrip(" \t*_")[:1]
    return category(first or " ") == "So" and _SIGN.match(first) is None


def opening_remark(text: str) -> tuple[TaskState, int] | None:
    """Find ``Done: …`` at the beginning of an item: the state, and where its text begins.

    A colon in a tag or apart from it makes none: ``[BLOCKED: no key] Parse``, ``[DONE] :1``.
    """
    found = _OPENING.match(text)
    if found is None or not _is_only_words(found[1]):
        return None
    if found[1][0] in "([" and _IN_BRACKETS.fullmatch(found[1]) is None:
        return None
    state = read_state(found[1])
    return None if state is None or state is TaskState.TODO else (state, found.end())


class StateRemark(NamedTuple):
    """A state behind the words that it is about."""

    start: int
    """Where it begins, with the white space and the dash before it."""
    state: TaskState


def read_opening_sign(text: str, end: int) -> tuple[TaskState | None, str]:
    """The state of an item that begins with an emoji up to ``end``, and its other words.

    Words behind an emoji with two meanings decide: ``⏭ Skipped: …``, ``⏸ Parser - deferred``.
    """
    rest, state = text[end:].lstrip(), read_state(text[:end])
    if text[0] not in VAGUE_SIGNS:
        return state, rest
    if (begun := opening_remark(rest)) is not None:
        bold = "**" if rest.startswith("**") else ""
        return begun[0], bold + rest[begun[1] :]
    remark = closing_remark(rest)
    return (state, rest) if remark is None else (remark.state, rest)


def closing_remark(text: str) -> StateRemark | None:
    """Find ``(COMPLETED)``, ``- Done``, ``: ✅`` or a sign at the end, and nothing else.

    Behind bold words a sign or a word in brackets may have more text behind it:
    ``**Parser.** ✅ With tests.``, ``**Parser** (done, in May): with tests``.
    """
    bold = _remark_behind_bold(text) or bold_remark(text)
    if bold is not None:
        return bold
    signed = find_sign_with_words(text)
    if signed is not None:
        return StateRemark(signed.start, signed.state)
    found = _CLOSING.search(text, max(len(text) - _LONGEST_REMARK, 0))
    if found is None or is_of_one_stage(text) or text.count("`", 0, found.start()) % 2:
        return None
    words = next(part for part in found.groups() if part is not None)
    remark = _remark_of(found, words)
    if remark is None:
        return _remark_before_note(text, found, words)
    removes = remark.state is TaskState.SKIPPED and _REMOVES.match(text) is not None
    return None if removes else remark


def _remark_of(found: re.Match[str], words: str) -> StateRemark | None:
    """The state in all of the words that a text ends with, or behind their last dash."""
    state = _state_behind(words)
    if state is None and found[1] is not None:
        state = _state_among(words) or _state_before_reason(words)
    if state is not None:
        return StateRemark(found.start(), state)
    dash = None if found[2] is None else _LAST_DASH.search(words)
    state = None if dash is None else _state_behind(dash[1])
    return None if dash is None or state is None else StateRemark(found.start(2) + dash.start(), state)


def _remark_before_note(text: str, found: re.Match[str], words: str) -> StateRemark | None:
    """``Parser — DONE (PR 4)``, ``Parser ✓ (PR 4)``: a state in front of the words at the end."""
    may_precede, is_note = is_tail(fold_words(words), 0), found[1] is not None
    remark = _remark_before(text, found.start()) if is_note or may_precede else None
    if remark is None and is_note and may_precede:
        return _sign_before(text, found.start())
    return remark


def _remark_behind_bold(text: str) -> StateRemark | None:
    if (bold := _BOLD_THEN_SIGN.match(text)) is not None and not is_of_one_stage(text):
        return StateRemark(bold.end(1), _STATE_OF_SIGN[bold[2]])
    bold = _BOLD_THEN_WORD.match(text)
    if bold is None or not _is_only_words(bold[2]):
        return None
    state = read_state(bold[2])
    return None if state is None else StateRemark(bold.end(1), state)


def bold_remark(heading: str) -> StateRemark | None:
    """Find ``**DONE**`` at the end of a heading: a state in bold that has a capital or no case."""
    found = _BOLD_AT_END.search(heading)
    if found is None or found[1][0].islower() or not _is_only_words(found[1]):
        return None
    state = read_state(found[1])
    return None if state is None else StateRemark(found.start(), state)


def _remark_before(text: str, end: int) -> StateRemark | None:
    """``Parser — DONE (PR 4)``: a state with a note in brackets behind it."""
    found = _BEFORE_NOTE.search(text, max(end - _LONGEST_PART, 0), end)
    if found is None or not _is_only_words(found[1]):
        return None
    state = read_state(found[1])
    return None if state is TaskState.TODO or state is None else StateRemark(found.start(), state)


def _sign_before(text: str, end: int) -> StateRemark | None:
    """``Parser ✓ (PR 4)``."""
    sign = _SIGNS_AT_END.search(text, max(end - _LONGEST_PART, 0), end)
    return None if sign is None else StateRemark(sign.start(), _STATE_OF_SIGN[sign[1]])


def _state_behind(words: str) -> TaskState | None:
    share = _SHARE.search(words)
    if _is_only_words(words):
        return read_state(words)
    bare = _DETAIL.sub("", words)
    if _DONE_BEHIND.search(bare) is not None:
        return TaskState.DONE
    if _find_word(fold_words(bare)) is not None and not _is_only_words(bare):
        sign, state = _ITEM_SIGN.match(bare.lstrip()), read_word(bare)
        return state if sign is not None and _STATE_OF_SIGN[sign[1]] is state else None
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
    return next((read_state(part) for part in parts if _is_only_words(part)), None)


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
    sign = _LAST_SIGN.search(text)
    if sign is None or not sign.start() or is_of_one_stage(text):
        return None
    begin, behind = sign.start(1), sign[2].strip("*_ \t")
    if behind:
        if not _is_only_words(behind):
            return None
        end = sign.start(2) + sign[2].rindex(behind) + len(behind)
        start = len(text[:begin].rstrip(_BEFORE_STATE))
        state = read_word(behind) or _STATE_OF_SIGN[sign[1]]
        return SignedWords(start, (begin, end), state)
    word = _WORD_BEFORE_SIGN.search(text, max(begin - _LONGEST_PART, 0), begin)
    state = None if word is None else read_state_word(word[1])
    if word is None or state is None or word.start() == 0:
        return None
    return SignedWords(word.start(), (word.start(1), sign.start(2)), state)


def _is_only_words(text: str) -> bool:
    """Whether a text is a word for a state, with others or with what may be behind one."""
    if len(text) > _LONGEST_STATE:
        return False
    folded = fold_words(text)
    found = _find_word(folded)
    if found is None:
        return False
    if _LETTER.search(folded, found.end) is None:
        first = _LETTER.search(text)
        return found.name not in LOOSE_WORDS or first is None or not first[0].islower()
    state = _STATE_OF_WORD[found.name]
    names_blocker = state is TaskState.BLOCKED and " by " in folded
    return is_tail(folded, found.end, state) and not names_blocker


def is_tail(folded: str, at: int, state: TaskState | None = None) -> bool:
    """Whether from there on is only what may be behind a word for a state.

    Several states with marks between them are a list of them: ``Active/Ready/Completed``.
    """
    for _ in range(_MOST_PARTS):
        if (tail := _tail().match(folded, at)) is not None:
            at = tail.end()
        elif (word := _find_word(folded, at)) is not None:
            between = folded[at : word.end - len(word.name)]
            if state not in {None, _STATE_OF_WORD[word.name]} and between.strip(" \t-_"):
                return False
            at = word.end
        else:
            break
    return _LETTER.search(folded, at) is None


def box_mark(content: str) -> str:
    """What the content of a box means in the usual marks: ``x`` for ``✅``, ``~`` for ``⏳``."""
    bare = content.strip("\ufe0f \t")
    state = _STATE_OF_SIGN.get(bare)
    return bare if state is None else BOX_MARKS[state]


def is_of_one_stage(text: str) -> bool:
    """Whether a text says that something is planned or designed, which is not yet done."""
    return _STAGE.search(text) is not None


def is_done_word(text: str) -> bool:
    """Whether a text is a word for done, and nothing else."""
    return read_state_word(text) is TaskState.DONE


def read_state_word(text: str) -> TaskState | None:
    """The state that a text names, if it is a word for one and nothing else."""
    return read_state(text) if _is_only_words(text) else None


def word_like(old: str, word: str, state: TaskState) -> str:
    """The word for a state in the language of another state's word; ``word`` in English."""
    found = _find_word(fold_words(old))
    language = "" if found is None else _LANGUAGE_OF_WORD[found.name]
    return word if language in {"", "English"} else STATE_WORDS[language][state].partition("|")[0]


CIRCLES = "🟢🟡🔴🔵🟠⚪"
OPEN_BOX_SIGNS = "⬜◻☐🔲"
"""Those that nobody uses as decoration."""


def states_by_sign(*tables: Mapping[TaskState, str]) -> dict[str, TaskState]:
    """The state of each emoji of some tables."""
    return {sign: state for table in tables for state, signs in table.items() for sign in signs}


_STATE_OF_SIGN = states_by_sign(HEADING_SIGNS, ITEM_SIGNS)
_SIGN = re.compile(f"([{''.join(states_by_sign(HEADING_SIGNS))}])\ufe0f?")
_ITEM_SIGN = re.compile(f"([{''.join(_STATE_OF_SIGN)}])\ufe0f?")
_SIGN_AT_EDGE = re.compile(rf"\A\W*?{_SIGN.pattern}|{_SIGN.pattern}\W*\Z")
_SIGNS_AT_END = re.compile(rf"\s*{_SIGN.pattern}[\s*_]*\Z")
_REMARK = re.compile(rf"\({_SIGN.pattern}[^()]*\)")

_ROWS = [
    (name, language, state)
    for language, states in STATE_WORDS.items()
    for state, names in states.items()
    for word in names.split("|")
    for name in (word, in_traditional(word))
]
_STATE_OF_WORD = {name: state for name, _, state in reversed(_ROWS)}
_LANGUAGE_OF_WORD = {name: language for name, language, _ in reversed(_ROWS)}


class FoundWord(NamedTuple):
    """A word of a table that a text begins with."""

    name: str
    end: int


def _find_word(folded: str, at: int = 0) -> FoundWord | None:
    """The longest word for a state that a folded text begins with; adverbs aside: ``all done``."""
    found = find_word_of(_STATE_OF_WORD, folded, at)
    if found is None and (adverb := _ADVERB.match(folded, at)) is not None:
        return find_word_of(_STATE_OF_WORD, folded, adverb.end())
    return found


def find_word_of(names: Mapping[str, TaskState], folded: str, at: int) -> FoundWord | None:
    """Look the longest one up, which is faster than to compile a pattern of all.

    Languages without spaces need no end of a word.
    """
    start = _LETTER.search(folded, at)
    begin = len(folded) if start is None else start.start()
    first = PIECE.match(folded, begin)
    if first is None or first[0] not in FIRST_PIECES:
        return None
    ends = [piece.end() for piece in PIECE.finditer(folded, begin, begin + _LONGEST_WORD)]
    for end in reversed(ends):
        name = _spaced(folded[begin:end])
        if name not in names:
            continue
        bars = NOT_BEHIND.get(name, _NOTHING if name[-1] > EAST else _LETTER)
        if bars.match(folded, end) is None:
            return FoundWord(name, end)
    return None


@cache
def _tail() -> re.Pattern[str]:
    return re.compile(rf"[^\w#!№]*(?:{TAIL})")


_LONGEST_WORD = 40
_LETTER = re.compile(r"\w")
_NOTHING = re.compile(r"(?!)")
_ADVERB = re.compile(rf"[^\w]*(?:{ADVERBS})\s+")
_GAP = re.compile(r"[\s_-]+")
_LONGEST_STATE = 120
_MOST_PARTS = 6
_LONGEST_REMARK = 80
_MARKS = str.maketrans("", "", "*`'\u2019")
_SHARE = re.compile(
    r"([0-9]{1,3})(?:\.[0-9]+)? ?%(?!\s*(?!of\b|complete|done|fertig)[^\W\d_])", re.IGNORECASE
)
"""How much of a task is done; not ``90 % coverage``."""
_TICKED = re.compile(r"\[[xX]\]")
_OPEN_BOX = re.compile(r"[\s*_`]*\[ ?\][\s*_`]*")
_CLOSING = re.compile(
    rf"\s*(?:[(\[（【]([^()\[\]（）【】]+)[)\]）】]"  # noqa: RUF001
    rf"|(?: --? | -(?=(?i:ok|done)\b)| [\u2013\u2014|] ?|\u2014|:\s|：)"  # noqa: RUF001
    rf"\s*([^:：\u2013\u2014|()（）\[\]【】]+)"  # noqa: RUF001
    rf"|((?:{_SIGN.pattern}\s*)+))[\s*_.!]*\Z"
)
_LAST_DASH = re.compile(r"\s--?\s(?!.*\s--?\s)(.+)\Z", re.DOTALL)
"""``- done`` of ``Phase 1: Parser - done``, where the colon is no separator."""
_LAST_SIGN = re.compile(
    rf"(?<=[\s*_:\u2013\u2014-]){_ITEM_SIGN.pattern}([^{''.join(_STATE_OF_SIGN)}]{{0,60}})\Z"
)
_WORD_BEFORE_SIGN = re.compile(
    r"\s*(?:\s--?\s|[\u2013\u2014|:])\s*[*_]*"
    r"([^\W\d_](?:(?!\s--?\s)[^:()\u2013\u2014|])*?)[*_]*\s*\Z"
)
_BEFORE_STATE = " \t*_:|\u2013\u2014-"
_REASON = re.compile(r"\s*[:：]\s*|\s[\u2013\u2014-]\s")  # noqa: RUF001
_BEFORE_NOTE = re.compile(r"(?:\s--?\s|\s?[\u2013\u2014]\s?)\s*([^:()\u2013\u2014-]+)\Z")
_BOLD_AT_END = re.compile(r"(?:\s+--?|\s*[\u2013\u2014:|])?\s*(?<=\s)\*\*([^\s*][^*]{0,22})\*\*\s*\Z")
_BOLD_THEN_SIGN = re.compile(rf"(\*\*[^*]+\*\*)[\s:\u2013\u2014-]*{_SIGN.pattern}(?=\s)")
_BOLD_THEN_WORD = re.compile(r"(\*\*[^*]+\*\*)\s*[*_]{0,3}\(([^(),;:\u2013\u2014]{2,30})[,;:)]")
_OPENING = re.compile(r"[*_]{0,3}([^\s*_:：][^:：]{1,24})[:：]\s*(?=\S)")  # noqa: RUF001
_IN_BRACKETS = re.compile(r"\[[^\[\]]+\]|\([^()]+\)")
_DONE_BEHIND = compile_both(r"[^未没部分]已(?:完成|实现|修复|解决|上线|实施|关闭)\Z")
_PARTS = re.compile(r"[,;，、]")  # noqa: RUF001
_LONGEST_PART = 16
_STAGE = re.compile(
    r"\b(?:plan(?:ning)?|design|spec(?:ification)?|research|analysis|scoping|requirements)s?"
    r" (?:is |are )?(?:complete[d]?|done|finished|approved|ready)\W*\Z",
    re.IGNORECASE,
)
_REMOVES = re.compile(rf"[\W_]*(?:{REMOVALS})", re.IGNORECASE)
_CONDITION = re.compile(CONDITION)
_RESERVATION = re.compile(RESERVATION)
_DETAIL = re.compile(r"[\s,;]*(?:(?:on|at|in|am|le)\s+)?[0-9][0-9./:%-]*[\s0-9./:%-]*|100 ?%")


def fold_words(text: str) -> str:
    """A text as words are compared: in lower case, without marks and apostrophes."""
    return text.translate(_MARKS).lower().replace("i\u0307", "i")


def _spaced(words: str) -> str:
    return _GAP.sub(" ", words)


def read_word(text: str) -> TaskState | None:
    """The state of the word that a text begins with, by what follows it."""
    folded = fold_words(text)
    word = _find_word(folded)
    if word is None:
        return None
    state = _STATE_OF_WORD[word.name]
    if state is not TaskState.DONE:
        return state
    share = _SHARE.search(text)
    if (share is not None and share[1] != "100") or _RESERVATION.match(folded, word.end):
        return TaskState.IN_PROGRESS
    return TaskState.TODO if _CONDITION.match(folded, word.end) is not None else state
