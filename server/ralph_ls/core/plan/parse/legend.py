"""Legends: what a plan itself says that its emoji for states mean.

``Legend: ✅ done · ⏳ to do``, ``- 🔵 = planned`` and a table of both below ``Legend`` decide.
So does use: where a sign for work in progress is beside words for open work, as in ``⏳ Pending``,
and never beside words for work in progress, it means open. Only known words for states count, and
only emoji that are states anyway; those for done stay done. A sign with two meanings keeps its
usual one. Coloured circles beside words for how grave something is are no states.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from ralph_ls.core.plan.parse.words.chinese import compile_both
from ralph_ls.core.plan.parse.words.section_words import PRIORITIES
from ralph_ls.core.plan.parse.words.state_tables import HEADING_SIGNS, ITEM_SIGNS
from ralph_ls.core.plan.parse.words.state_words import CIRCLES, read_state_word
from ralph_ls.protocol.task_words import TaskState

SignTable = Mapping[int, str]
"""For ``str.translate``: a sign of the plan to one that always has the same state."""


def find_legend(text: str) -> SignTable | None:
    """The signs of a plan that mean something else there than elsewhere; None without any."""
    if text.isascii():
        return None
    text = text[:_SEARCHED]
    if _AMBIGUOUS.search(text) is None:
        return None
    told = _told_by(pair for line in _legend_lines(text) for pair in _pairs_in(line))
    for sign, states in _states_of(_used_pairs(text)).items():
        if TaskState.TODO in states and TaskState.IN_PROGRESS not in states:
            told.setdefault(sign, TaskState.TODO)
    found = {
        ord(sign): _SIGN_OF_STATE[state]
        for sign, state in told.items()
        if _USUAL[sign] is not state
    }
    if _have_severities(text):
        found |= dict.fromkeys(map(ord, CIRCLES), " ")
    return found or None


def _have_severities(text: str) -> bool:
    """Whether the circles of a plan say how grave something is: ``🔴 Critical · 🟡 Medium``."""
    if _ANY_CIRCLE.search(text) is None:
        return False
    severity, state = _circle_patterns()
    if len({sign for sign, _ in severity.findall(text)}) < _FEWEST_SEVERITIES:
        return False
    return all(read_state_word(words.strip(" *_`.")) is None for _, words in state.findall(text))


@cache
def _circle_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A circle before a word for how grave something is, and before any words that may be a state.

    They take long to compile, and few plans have circles.
    """
    circle = rf"([{CIRCLES}])\ufe0f?{_MARKS}(?:[=:|\u2013\u2014\u2192-]+{_MARKS})?"
    names = sorted(re.escape(name) for names in PRIORITIES.values() for name in names)
    severity = re.compile(
        rf"{circle}((?i:critical|blockers?|urgent|high|major|medium|moderate|minor|low|p[0-4]"
        rf"|{'|'.join(names)}|严重|嚴重|高|中|低|重大|높음|보통|낮음|hoch|mittel|niedrig|haute|moyenne|basse|alta"
        r"|media|média|baja|baixa|высокий|средний|низкий))(?![^\W\d_])"
    )
    return severity, re.compile(rf"{circle}{_WORDS}(?=[*_` \t]*(?:[|\n(:.,\r)·]|\Z))")


def find_marks_of_boxes(text: str) -> tuple[tuple[str, str], ...]:
    """The marks in boxes to which a legend gives another meaning, with the usual ones for that."""
    text = text[:_SEARCHED]
    if _ODD_BOX.search(text) is None or _MAY_HAVE_LEGEND.search(text) is None:
        return ()
    told = _told_by(
        (mark, state)
        for line in _legend_lines(text)
        for mark, words in _BOX_PAIR.findall(line)
        if (state := _state_of_mark(words)) is not None
    )
    return tuple(
        (mark, _MARK_OF_STATE[state])
        for mark, state in told.items()
        if _USUAL_MARKS[mark] is not state
    )


def _state_of_mark(words: str) -> TaskState | None:
    first = _BEHIND_STATE.split(words, maxsplit=1)[0].strip(" *_`.,;")
    return TaskState.SKIPPED if _SET_ASIDE.fullmatch(first) else read_state_word(first)


def _told_by(pairs: Iterable[tuple[str, TaskState]]) -> dict[str, TaskState]:
    """The signs that have one meaning in the legends."""
    return {
        sign: next(iter(states)) for sign, states in _states_of(pairs).items() if len(states) == 1
    }


def _states_of(pairs: Iterable[tuple[str, TaskState]]) -> Mapping[str, set[TaskState]]:
    found: dict[str, set[TaskState]] = defaultdict(set)
    for sign, state in pairs:
        found[sign].add(state)
    return found


def _legend_lines(text: str) -> Iterator[str]:
    """The lines with ``⏳ = …``, those with a label, and the list or table below a label."""
    n_left, has_begun = 0, False
    for line in text.splitlines() if _MAY_HAVE_LEGEND.search(text) else ():
        label = _LABEL.match(line)
        if label is not None:
            n_left, has_begun = _MOST_LINES, False
            yield line[label.end() :]
        elif _EQUALS.search(line) is not None:
            yield line
        elif n_left and _ENTRY.match(line) is not None:
            n_left, has_begun = n_left - 1, True
            yield line
        elif line.strip(" \t|:-") and (has_begun or "|" not in line):
            n_left = 0


def _pairs_in(line: str) -> Iterator[tuple[str, TaskState]]:
    for sign, words in _PAIR.findall(line):
        state = read_state_word(_BEHIND_STATE.split(words, maxsplit=1)[0].strip(" *_`."))
        if state is not None:
            yield sign, state


def _used_pairs(text: str) -> Iterator[tuple[str, TaskState]]:
    for sign, words in _USED.findall(text):
        state = read_state_word(words.strip(" *_`."))
        if state is not None:
            yield sign, state


_SEARCHED = 1 << 16
"""Characters in which a legend is looked for."""
_MOST_LINES = 12
_FEWEST_SEVERITIES = 2
_USUAL = {
    sign: state
    for table in (HEADING_SIGNS, ITEM_SIGNS)
    for state, signs in table.items()
    for sign in signs
    if state is not TaskState.DONE
}
_SIGN_OF_STATE = {
    TaskState.TODO: "⬜",
    TaskState.IN_PROGRESS: "🚧",
    TaskState.DONE: "✅",
    TaskState.BLOCKED: "⛔",
    TaskState.SKIPPED: "⊘",
}
_AMBIGUOUS = re.compile(f"[{''.join(_USUAL)}]")
_SIGN = rf"({_AMBIGUOUS.pattern})\ufe0f?"
_MARKS = r"[`*_ \t]*"
_WORDS = r"([^\W\d_](?:[^|,;=\n·•()\[\]\u2190-\u2bff\U0001f000-\U0001faff]{0,38}\w)?)"
_PAIR = re.compile(rf"{_SIGN}{_MARKS}(?:[=:|\u2013\u2014\u2192-]+{_MARKS})?{_WORDS}")
_ANY_CIRCLE = re.compile(f"[{CIRCLES}]")
_ODD_BOX = re.compile(r"\[[~/!><?-]\]")
_BOX_PAIR = re.compile(
    rf"\[([~/!><?-])\]{_MARKS}(?:[=:|\u2013\u2014\u2192-]+{_MARKS})?([^\W\d_][^|,;=\n\[\]]*)"
)
_SET_ASIDE = re.compile(
    r"future|later|optional|backlog|out[ -]of[ -]scope|won't do|not planned|postponed|parked",
    re.IGNORECASE,
)
_USUAL_MARKS = {
    "~": TaskState.IN_PROGRESS,
    "/": TaskState.IN_PROGRESS,
    "-": TaskState.SKIPPED,
    "!": TaskState.BLOCKED,
    **dict.fromkeys("><?", TaskState.TODO),
}
_MARK_OF_STATE = {
    TaskState.TODO: "",
    TaskState.IN_PROGRESS: "~",
    TaskState.DONE: "x",
    TaskState.BLOCKED: "!",
    TaskState.SKIPPED: "-",
}
_EQUALS = re.compile(rf"{_SIGN}{_MARKS}=")
_ENTRY = re.compile(
    rf"[ \t>|]*(?:[-*+] )?{_MARKS}(?:\[[^\[\]]\]|{_SIGN}|[\u2190-\u2bff\U0001f000-\U0001faff])"
)
_NAMES = (
    r"legends?|legende|légende|leyenda|legenda|легенда|图例|圖例|凡例|범례|key|status(?: |es: ?)key"
    r"|status legend|symbols?|icons?|status icons?|status symbols?|statuses|状态说明"
)
_LABEL = compile_both(
    rf"[ \t>#*_]*(?:[\w-]+ )?(?:{_NAMES})(?:[*_ \t]*[:：][*_ \t]*|[*_ \t]*\Z)",  # noqa: RUF001
    re.IGNORECASE,
)
_MAY_HAVE_LEGEND = re.compile(rf"{_EQUALS.pattern}|(?i:{_NAMES})")
_BEHIND_STATE = re.compile(r"\s(?:&|and|but|in|with|by|for|/|\u2013|\u2014|-)(?=\s)|/")
_BEGUN = f"[{HEADING_SIGNS[TaskState.IN_PROGRESS]}]"
_USED = re.compile(
    rf"({_BEGUN})\ufe0f?{_MARKS}([^\W\d_][^\W_]*(?:[ -][^\W\d_]+){{0,2}})"
    r"(?=[*_` \t]*(?:[|\n(:.,\r]|\Z))"
)
