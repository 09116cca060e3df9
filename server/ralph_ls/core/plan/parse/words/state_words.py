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

from ralph_ls.core.plan.parse.words.chinese import in_traditional
from ralph_ls.core.plan.parse.words.state_tables import (
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
    RESERVATION,
    STATE_WORDS,
    TAIL,
)
from ralph_ls.protocol.task_words import TaskState


def read_state(text: str) -> TaskState | None:
    """Read ``In progress (80 %)``, ``✅ Done``, ``**Blocked** on a key``; None for the rest.

    Of several boxes the ticked one counts: ``[ ] Not started [x] Done``.
    """
    ticked = _TICKED.search(text)
    if ticked is not None:
        return read_word(text[ticked.end() :]) or TaskState.DONE
    state, found = read_word(text), ITEM_SIGN.search(text)
    if state is TaskState.BLOCKED and found is not None and not is_only_words(text):
        # ``✅ 保留入口``: what is on hold in Japanese is kept in Chinese.
        state = None if STATE_OF_SIGN[found[1]] is TaskState.DONE else state
    if state is not None:
        return state
    if found is not None:
        return STATE_OF_SIGN[found[1]]
    return TaskState.TODO if _OPEN_BOX.fullmatch(text) is not None else None


def find_sign(text: str) -> tuple[int, int] | None:
    """Find the first emoji for a state anywhere in a heading."""
    found = SIGN.search(text)
    return None if found is None else found.span()


def has_state_word(text: str) -> bool:
    """Whether a text begins with a word for a state, whatever follows it."""
    return _find_word(fold_words(text)) is not None


def is_only_words(text: str) -> bool:
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
    state = STATE_OF_SIGN.get(bare)
    return bare if state is None else BOX_MARKS[state]


def is_of_one_stage(text: str) -> bool:
    """Whether a text says that something is planned or designed, which is not yet done."""
    return _STAGE.search(text) is not None


def is_done_word(text: str) -> bool:
    """Whether a text is a word for done, and nothing else."""
    return read_state_word(text) is TaskState.DONE


def read_state_word(text: str) -> TaskState | None:
    """The state that a text names, if it is a word for one and nothing else."""
    return read_state(text) if is_only_words(text) else None


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


STATE_OF_SIGN = states_by_sign(HEADING_SIGNS, ITEM_SIGNS)
SIGN = re.compile(f"([{''.join(states_by_sign(HEADING_SIGNS))}])\ufe0f?")
ITEM_SIGN = re.compile(f"([{''.join(STATE_OF_SIGN)}])\ufe0f?")

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
_MARKS = str.maketrans("", "", "*`'\u2019")
PERCENT = re.compile(
    r"([0-9]{1,3})(?:\.[0-9]+)? ?%(?!\s*(?!of\b|complete|done|fertig)[^\W\d_])", re.IGNORECASE
)
_TICKED = re.compile(r"\[[xX]\]")
_OPEN_BOX = re.compile(r"[\s*_`]*\[ ?\][\s*_`]*")
_STAGE = re.compile(
    r"\b(?:plan(?:ning)?|design|spec(?:ification)?|research|analysis|scoping|requirements)s?"
    r" (?:is |are )?(?:complete[d]?|done|finished|approved|ready)\W*\Z",
    re.IGNORECASE,
)
_CONDITION = re.compile(CONDITION)
_RESERVATION = re.compile(RESERVATION)


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
    share = PERCENT.search(text)
    if (share is not None and share[1] != "100") or _RESERVATION.match(folded, word.end):
        return TaskState.IN_PROGRESS
    return TaskState.TODO if _CONDITION.match(folded, word.end) is not None else state
