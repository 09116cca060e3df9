"""State markup: where the state of a task is written, and the candidates for writing another one.

A list item has a box, tags or an emoji; a heading has a box, an emoji, a line ``Status: …`` below
it or a strike; a row of a table has a box or a word in a cell. Each plan keeps its style: a circle
stays a circle, a word a word. The results are candidates; ``proposals`` parses the plan again and
refuses those that do not read as intended.

In a table all other cells, and everything around them, stay. A row has no lines below it, so notes
and commits need their own columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ralph_ls.core.plan.diff.text_diff import TextChange
from ralph_ls.core.plan.edit.proposals import Lines, item_text
from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.plan.parse.items import read_field, read_status_part
from ralph_ls.core.plan.parse.lines import find_marks, text_begin
from ralph_ls.core.plan.parse.table_rows import TableColumns, cells_of, read_columns
from ralph_ls.core.plan.parse.words.state_tables import HEADING_SIGNS, ITEM_SIGNS, STATUS_SIGNS
from ralph_ls.core.plan.parse.words.state_words import word_like
from ralph_ls.core.plan.parse.words.status_values import read_status
from ralph_ls.core.plan.parse.words.title_states import (
    closing_remark,
    find_remark,
    opening_remark,
    opening_sign,
)
from ralph_ls.protocol.task_words import Priority, TaskState


class StatePiece(NamedTuple):
    """A replacement in one of a task's lines; places are characters."""

    line: int
    """From 0, where the task begins."""
    start: int
    end: int
    text: str


class StateWord(NamedTuple):
    """How a state is written: in a box, as an emoji of three families, as a word."""

    box: str
    circle: str
    square: str
    sign: str
    word: str
    """In English."""
    state: TaskState


DONE = StateWord("x", "🟢", "☑", "✅", "Done", TaskState.DONE)
OPEN = StateWord(" ", "🔴", "☐", "⬜", "Todo", TaskState.TODO)
BLOCKED = StateWord("!", "⛔", "⛔", "⛔", "Blocked", TaskState.BLOCKED)


def write_state(
    lines: Sequence[str], kind: TaskKind, mark: tuple[int, int] | None, word: StateWord
) -> list[tuple[StatePiece, ...]]:
    """Propose where to write the state of a task, the likeliest first.

    ``lines`` are the task's own, and ``mark`` is where the parser found a state in the first one.
    An emoji and a line ``Status: …`` that both have the state are changed together.
    """
    own = _own(lines[0], kind, mark, word)
    status_lines = write_status_lines(lines, word)
    if own is None:
        return [(piece,) for piece in status_lines]
    return [(own, *status_lines[:1]) if own.text != word.box else (own,)]


def write_status_lines(lines: Sequence[str], word: StateWord) -> list[StatePiece]:
    """Propose to write it in the lines ``Status: …`` below, of which the first counts."""
    found: list[StatePiece] = []
    for number, line in enumerate(lines[1:], 1):
        place = _status_value(line)
        if place is not None and read_status(line[slice(*place)]) is not None:
            found.append(StatePiece(number, *place, reword_state(line[slice(*place)], word)))
    return found


def _status_value(line: str) -> tuple[int, int] | None:
    if (field := read_field(item_text(line))) is None:
        return read_status_part(line)
    if field.name != "status":
        return None
    value = _COLON.split(line, maxsplit=1)[1].lstrip("*_")
    return len(line) - len(value), len(line)


def reword_state(text: str, word: StateWord) -> str:
    """Write a state in the way of another one: marks, emoji and case stay as they are."""
    box = _STATUS_BOX.match(text)
    if box is not None:
        mark = "x" if word.state is TaskState.DONE else " "
        return f"{box[1]}[{mark}]{box[2]}{reword_state(text[box.end() :], word)}"
    return _STATUS_LINE_WORDS.sub(
        lambda found: _write_state_word(*found.groups(""), word=word), text, count=1
    )


def sign_like(sign: str, word: StateWord) -> str:
    """The emoji of the same family."""
    if sign[0] in _CIRCLES:
        return word.circle
    return word.square if sign[0] in _SQUARES else word.sign


def text_start(line: str) -> int:
    """Where the words of an item begin, after its box and an emoji for its state."""
    if (marks := find_marks(line)) is None:
        return 0
    sign = opening_sign(line[marks.text :])
    if marks.box is not None or sign is None:
        return marks.text
    at = marks.text + sign[1]
    return at + len(line[at:]) - len(line[at:].lstrip())


def is_box(line: str, mark: tuple[int, int]) -> bool:
    """Whether the state that the parser found is in a box."""
    start, end = mark
    is_short = len(line[start:end].strip("\ufe0f \t")) <= 1
    return is_short and line[max(start - 1, 0) : start] == "[" and line[end : end + 1] == "]"


def find_tags(line: str, start: int, names: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The places of the tags with these names, each with the white space around it."""
    for found in _TAG.finditer(line, start):
        if names.fullmatch((found[1] or found[2]).strip()) is None:
            continue
        begin, end = found.span()
        if line.startswith("**", end) and line.endswith("**", 0, begin):
            begin, end = begin - 2, end + 2
        end += line[end : end + 1] == ":"
        if line[end : end + 1].isspace():
            yield begin, end + 1
        else:
            yield begin - line[start:begin].endswith((" ", "\t")), end


def find_state_remarks(line: str, start: int, end: int) -> list[tuple[int, int]]:
    """The places in the words of a task that say its state: tags, and remarks at both ends."""
    words = line[start:end].rstrip()
    found = [span for span in find_tags(line, start, _STATE_TAGS) if span[1] <= end]
    if (closing := closing_remark(words)) is not None and closing.start:
        found.append((start + closing.start, start + len(words)))
    if (opening := opening_remark(words)) is not None:
        found.append((start, start + opening.end))
    found.sort()
    return [one for nth, one in enumerate(found) if not nth or found[nth - 1][1] <= one[0]]


def reword_remark(remark: str, word: StateWord) -> str:
    """A remark with another state, between the same marks: ``(WIP)`` becomes ``(TODO)``."""
    found = _REMARK_WORDS.match(remark)
    return "" if found is None else found[1] + _cased(found[2], word) + found[3]


def find_strike(line: str, start: int) -> tuple[int, int] | None:
    """The places of the two ``~~`` around a title."""
    begin = line.find("~~", start)
    end = line.find("~~", begin + 2)
    return None if begin < 0 or end < 0 else (begin, end)


def _own(
    line: str, kind: TaskKind, mark: tuple[int, int] | None, word: StateWord
) -> StatePiece | None:
    """The replacement in the first line."""
    if mark is not None and is_box(line, mark):
        return StatePiece(0, *mark, word.box)
    if kind is TaskKind.ITEM:
        at = text_begin(line)
        if (sign := opening_sign(line[at:])) is None:
            return None
        begin = at + sign[0]
        return StatePiece(0, begin, at + sign[1], sign_like(line[begin:], word))
    if mark is None:
        return None
    start, end = mark
    if start == end:
        return StatePiece(0, start, end, f" {word.sign}")
    if kind is TaskKind.HEADING:
        remark = find_remark(line)
        start, end = (start, end) if remark is None else (remark[0] + 1, remark[1] - 1)
    return StatePiece(0, start, end, reword_state(line[start:end], word))


def _write_state_word(before: str, sign: str, old_word: str, after: str, *, word: StateWord) -> str:
    new_sign = sign_like(sign, word) if sign else ""
    if not old_word:
        return f"{before}{new_sign}{after}"
    return f"{before}{new_sign}{' ' if sign else ''}{_cased(old_word, word)}{after}"


def _cased(old_word: str, word: StateWord) -> str:
    like = word_like(old_word, word.word, word.state)
    cased = like.upper() if old_word.isupper() else like
    return cased.lower() if old_word.islower() else cased


_COLON = re.compile("[:：]")  # noqa: RUF001
_TAG = re.compile(r"\[([^\[\]]+)\](?!\()|\((?=BLOCKED|WIP)([^()]+)\)")
_STATE_TAGS = re.compile(
    r"done|completed?|wip|in[ _-]progress|to-?do|pending|blocked(?:[ :\u2013\u2014-].*)?",
    re.IGNORECASE,
)
_REMARK_WORDS = re.compile(r"(\W*)(\w(?:.*\w)?)(\W*)\Z", re.DOTALL)
_CIRCLES, _SQUARES = "🟢🟡🔴🔵🟠⚪", "☐☑"
_STATUS_BOX = re.compile(r"([*_` \t]*)\[[ xX]?\]([ \t]*)(?=\S)")
_SIGNS = "".join(
    signs for table in (HEADING_SIGNS, ITEM_SIGNS, STATUS_SIGNS) for signs in table.values()
)
_STATUS_LINE_WORDS = re.compile(
    rf"\A([*_` \t]*)((?:[{_SIGNS}]\ufe0f?)?)"
    r"(?:[ \t]*([^*_` \t].*?))??([*_` \t]*)\Z",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowEdit:
    """A task's row with the columns of its table."""

    line: str
    start: int
    """Where the line begins in the text."""
    cells: tuple[tuple[int, int], ...]
    """Where they begin and end in the line, with the white space in them."""
    heads: tuple[str, ...]
    columns: TableColumns
    others: tuple[str, ...]
    """The lines of the table's other rows."""
    mark: tuple[int, int] | None
    """The place of the state in the line."""

    def cell(self, index: int) -> str:
        """The text of a cell."""
        return self.line[slice(*self.cells[index])].strip()

    def put(self, index: int, text: str) -> TextChange:
        """Replace the text of a cell."""
        begin, end = self.cells[index]
        old = self.line[begin:end]
        bare = old.strip()
        if not bare:
            filled = f" {text} ".ljust(len(old)) if old else text
            return TextChange(self.start + begin, self.start + end, filled)
        at = self.start + begin + old.index(bare)
        return TextChange(at, at + len(bare), text)

    def column(self, names: frozenset[str]) -> int | None:
        """The first column that is called so, if this row has it."""
        found = (nth for nth, head in enumerate(self.heads) if head.lower() in names)
        index = next(found, None)
        return index if index is not None and index < len(self.cells) else None

    def is_state(self, index: int) -> bool:
        """Whether a cell has the state."""
        begin, end = self.cells[index]
        return self.mark is not None and begin <= self.mark[0] <= end


def row_edit(lines: Lines, task: Task) -> RowEdit:
    """Split the row of a task into cells."""
    start, line = lines[task.line]
    first = last = task.line
    while first > 0 and "|" in lines[first - 1][1]:
        first -= 1
    while last + 1 < len(lines) and "|" in lines[last + 1][1]:
        last += 1
    bare = [lines[number][1] for number in range(first, last + 1)]
    pairs = enumerate(pairwise(bare))
    heads = ((nth, found) for nth, pair in pairs if (found := read_columns(*pair)))
    at, columns = next(heads, (0, TableColumns(title=None, state=None, priority=None)))
    mark = None if task.mark is None else (task.mark[0] - start, task.mark[1] - start)
    return RowEdit(
        line=line,
        start=start,
        cells=tuple(cells_of(line)),
        heads=tuple(bare[at][begin:end].strip(" \t*_`") for begin, end in cells_of(bare[at])),
        columns=columns,
        others=tuple(other for other in bare[at + 2 :] if other != line),
        mark=mark,
    )


def escape_cell(text: str) -> str:
    """Escape a text so that it stays in its cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def tag_title(row: RowEdit, tag: str) -> list[list[TextChange]]:
    """Proposals with the tag in each cell that may be the title; only parsing shows which is."""
    return [[row.put(index, f"{tag} {row.cell(index)}")] for index in _titles(row)]


def set_word(row: RowEdit, priority: Priority) -> list[list[TextChange]]:
    """Write a priority into its column, in the words of the other rows."""
    index = row.columns.priority
    if index is None or index >= len(row.cells):
        return []
    words = [row.cell(index), *(_nth_cell(other, index) for other in row.others)]
    like = next((one for one in words if one), "")
    word = priority.value if re.match("[pP][0-9]", like) or not like else _WORDS[priority]
    return [[row.put(index, word.lower() if like.islower() else word)]]


def add_note(row: RowEdit, words: str) -> list[TextChange] | None:
    """Write a note into the column for notes; None where there is none."""
    return _append(row, _NOTES, escape_cell(words), "; ")


def add_commit(row: RowEdit, commit: str) -> list[TextChange] | None:
    """Write a commit into the column for commits; None where there is none."""
    return _append(row, _COMMITS, commit, ", ")


def commits_in(row: RowEdit) -> list[str]:
    """The commits that the row names."""
    index = row.column(_COMMITS)
    return [] if index is None else re.findall(r"\w+", row.cell(index))


def row_proposals(row: RowEdit, title: str) -> list[str]:
    """Write a row for another task that is open, below this one."""
    return [_row_like(row, index, title) for index in _titles(row)]


def facts_in(row: RowEdit, task: Task) -> Mapping[str, str]:
    """The cells other than title, id, number, state and priority, by their column names."""
    known = {row.columns.title, row.columns.state, row.columns.priority}
    facts: dict[str, str] = {}
    for index, head in enumerate(row.heads[: len(row.cells)]):
        value = row.cell(index)
        is_known = index in known or row.is_state(index) or value.isdecimal()
        if value and not is_known and value.strip("*`") not in {task.id, task.title}:
            facts[head] = value
    return facts


_NOTES = frozenset({"note", "notes", "comment", "comments", "remark", "remarks"})
_COMMITS = frozenset({"commit", "commits", "sha", "hash"})
_WORDS = {Priority.P0: "High", Priority.P1: "Medium", Priority.P2: "Low"}


def _titles(row: RowEdit) -> list[int]:
    """The cells that may hold the title, the likeliest first."""
    title = row.columns.title
    cells = [nth for nth in range(len(row.cells)) if row.cell(nth)]
    others = [nth for nth in cells if nth == title or not row.is_state(nth)]
    return sorted(others, key=lambda nth: (nth != title, -len(row.cell(nth))))


def _row_like(row: RowEdit, named: int, title: str) -> str:
    line = row.line.lstrip("\ufeff")
    shift = len(row.line) - len(line)
    for index in range(len(row.cells) - 1, -1, -1):
        begin, end = (place - shift for place in row.cells[index])
        old = line[begin:end]
        bare = old.strip()
        new_cell = _new_cell(row, index, bare, escape_cell(title) if index == named else None)
        kept = old.replace(bare, new_cell.ljust(len(bare)), 1) if bare else old
        line = line[:begin] + kept + line[end:]
    return line


def _new_cell(row: RowEdit, index: int, bare: str, title: str | None) -> str:
    if title is not None:
        return title
    if row.is_state(index) and row.mark is not None:
        return "[ ]" if is_box(row.line, row.mark) else reword_state(bare, OPEN)
    if bare.isdecimal():
        numbers = [bare, *(_nth_cell(other, index) for other in row.others)]
        return str(max(int(number) for number in numbers if number.isdecimal()) + 1)
    return ""


def _nth_cell(line: str, index: int) -> str:
    cells = list(cells_of(line))
    return line[slice(*cells[index])].strip() if index < len(cells) else ""


def _append(
    row: RowEdit, names: frozenset[str], words: str, between: str
) -> list[TextChange] | None:
    index = row.column(names)
    if index is None:
        return None
    old = row.cell(index)
    return [row.put(index, f"{old}{between}{words}" if old else words)]
