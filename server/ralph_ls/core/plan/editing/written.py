"""Where the state of a task is written, and how to write another one there.

A list item has a box, tags or an emoji; a heading a box, an emoji, a line ``Status: …`` below it or
a strike; a row of a table a box or a word in a cell. Each plan goes on in its own way: a circle
stays a circle, a word a word. What is found here is a proposal; ``edits`` reads the plan again and
refuses what did not come out as meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ralph_ls.core.plan.editing.nesting import text_of
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.reading.items import read_field
from ralph_ls.core.plan.reading.states import find_remark, opening_sign, read_state


class Piece(NamedTuple):
    """A part of one of a task's lines and what is to stand there; places are characters."""

    line: int
    """From 0, where the task begins."""
    start: int
    end: int
    text: str


class Word(NamedTuple):
    """How a state is written: in a box, as an emoji of three families, as a word."""

    box: str
    circle: str
    square: str
    sign: str
    word: str


DONE = Word("x", "🟢", "☑", "✅", "Done")
OPEN = Word(" ", "🔴", "☐", "⬜", "Todo")
BLOCKED = Word("!", "⛔", "⛔", "⛔", "Blocked")


def write_state(
    lines: Sequence[str], kind: TaskKind, mark: tuple[int, int] | None, word: Word
) -> list[tuple[Piece, ...]]:
    """Propose where to write the state of a task, the likeliest first.

    ``lines`` are the task's own, and ``mark`` is where the reading found a state in the first one.
    An emoji and a line ``Status: …`` that both say the state are changed together.
    """
    own = _own(lines[0], kind, mark, word)
    said = write_said(lines, word)
    if own is None:
        return [(piece,) for piece in said]
    return [(own, *said[:1]) if own.text != word.box else (own,)]


def write_said(lines: Sequence[str], word: Word) -> list[Piece]:
    """Propose to write it in the lines ``Status: …`` below, of which the first counts."""
    found: list[Piece] = []
    for number, line in enumerate(lines[1:], 1):
        field = read_field(text_of(line))
        if field is not None and field.name == "status" and read_state(field.value) is not None:
            value = line[line.index(":") + 1 :].lstrip("*_")
            start = len(line) - len(value)
            found.append(Piece(number, start, len(line), reworded(value, word)))
    return found


def reworded(text: str, word: Word) -> str:
    """Write a state in the way of another one: marks, emoji and case stay as they are."""
    return _SAID.sub(lambda found: _say(*found.groups(""), word=word), text, count=1)


def sign_like(sign: str, word: Word) -> str:
    """The emoji of the same family."""
    if sign[0] in _CIRCLES:
        return word.circle
    return word.square if sign[0] in _SQUARES else word.sign


def text_at(line: str) -> int:
    """Where the words of an item begin, after its box and an emoji for its state."""
    marks = find_marks(line)
    if marks is None:
        return 0
    sign = opening_sign(line[marks.text :])
    if marks.box is not None or sign is None:
        return marks.text
    at = marks.text + sign[1]
    return at + len(line[at:]) - len(line[at:].lstrip())


def is_box(line: str, mark: tuple[int, int]) -> bool:
    """Say whether what the reading found is what stands in a box."""
    start, end = mark
    return line[max(start - 1, 0) : start] == "[" and line[end : end + 1] == "]"


def find_tags(line: str, start: int, names: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Where the tags of these names stand, each with the white space that parts it from others."""
    for found in _TAG.finditer(line, start):
        if names.fullmatch(found[1].strip()) is None:
            continue
        begin, end = found.span()
        if line[end : end + 1].isspace():
            yield begin, end + 1
        else:
            yield begin - line[start:begin].endswith((" ", "\t")), end


def find_strike(line: str, start: int) -> tuple[int, int] | None:
    """Where the two ``~~`` around a title stand."""
    begin = line.find("~~", start)
    end = line.find("~~", begin + 2)
    return None if begin < 0 or end < 0 else (begin, end)


def _own(line: str, kind: TaskKind, mark: tuple[int, int] | None, word: Word) -> Piece | None:
    """What the first line says."""
    if mark is not None and is_box(line, mark):
        return Piece(0, *mark, word.box)
    if kind is TaskKind.ITEM:
        marks = find_marks(line)
        at = 0 if marks is None else marks.text
        sign = opening_sign(line[at:])
        if sign is None:
            return None
        return Piece(0, at, at + sign[1], sign_like(line[at:], word))
    if mark is None:
        return None
    start, end = mark
    if kind is TaskKind.HEADING:
        remark = find_remark(line)
        start, end = (start, end) if remark is None else (remark[0] + 1, remark[1] - 1)
    return Piece(0, start, end, reworded(line[start:end], word))


def _say(before: str, sign: str, said: str, after: str, *, word: Word) -> str:
    new_sign = sign_like(sign, word) if sign else ""
    if not said:
        return f"{before}{new_sign}{after}"
    cased = word.word.upper() if said.isupper() else word.word
    new_word = cased.lower() if said.islower() else cased
    return f"{before}{new_sign}{' ' if sign else ''}{new_word}{after}"


_TAG = re.compile(r"\[([^\[\]]+)\](?!\()")
_CIRCLES = "🟢🟡🔴🔵🟠⚪"
_SQUARES = "☐☑"
_SAID = re.compile(
    r"\A([*_` \t]*)((?:[🟢🟡🔴🔵🟠⚪✅✔☑✓🔄🚧⏳⬜◻☐🔲⭕❌🚫⛔🛑⏭]\ufe0f?)?)"
    r"(?:[ \t]*([^*_` \t].*?))??([*_` \t]*)\Z",
    re.DOTALL,
)
