"""Tasks that are rows of a table: which cell says what, and how to write another thing there.

What stands around the cells stays, and so does every other cell. A row can hold no lines, so a
note and a commit need a column of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ralph_ls.core.plan.changes import Change
from ralph_ls.core.plan.editing.rewriting import Lines
from ralph_ls.core.plan.editing.written import OPEN, is_box, reworded
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.reading.tables import Columns, cells_of, read_columns
from ralph_ls.protocol.plan import Priority


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task's row and what the table's head says of its cells."""

    line: str
    start: int
    """Where the line begins in the text."""
    cells: tuple[tuple[int, int], ...]
    """Where they begin and end in the line, with the white space in them."""
    heads: tuple[str, ...]
    columns: Columns
    others: tuple[str, ...]
    """The lines of the table's other rows."""
    mark: tuple[int, int] | None
    """Where in the line the state stands."""

    def cell(self, index: int) -> str:
        """What stands in a cell."""
        return self.line[slice(*self.cells[index])].strip()

    def put(self, index: int, said: str) -> Change:
        """Change what stands in a cell."""
        begin, end = self.cells[index]
        old = self.line[begin:end]
        bare = old.strip()
        if not bare:
            filled = f" {said} ".ljust(len(old)) if old else said
            return Change(self.start + begin, self.start + end, filled)
        at = self.start + begin + old.index(bare)
        return Change(at, at + len(bare), said)

    def column(self, names: frozenset[str]) -> int | None:
        """The first column that is called so, if this row has it."""
        found = (nth for nth, head in enumerate(self.heads) if head.lower() in names)
        index = next(found, None)
        return index if index is not None and index < len(self.cells) else None

    def is_state(self, index: int) -> bool:
        """Say whether a cell holds the state."""
        begin, end = self.cells[index]
        return self.mark is not None and begin <= self.mark[0] <= end


def row_of(lines: Lines, task: Task) -> Row:
    """Take the row of a task apart."""
    start, line = lines[task.line]
    first = last = task.line
    while first > 0 and "|" in lines[first - 1][1]:
        first -= 1
    while last + 1 < len(lines) and "|" in lines[last + 1][1]:
        last += 1
    bare = [lines[number][1] for number in range(first, last + 1)]
    pairs = enumerate(pairwise(bare))
    heads = ((nth, found) for nth, pair in pairs if (found := read_columns(*pair)))
    at, columns = next(heads, (0, Columns(title=None, state=None, priority=None)))
    mark = None if task.mark is None else (task.mark[0] - start, task.mark[1] - start)
    return Row(
        line=line,
        start=start,
        cells=tuple(cells_of(line)),
        heads=tuple(bare[at][begin:end].strip(" \t*_`") for begin, end in cells_of(bare[at])),
        columns=columns,
        others=tuple(other for other in bare[at + 2 :] if other != line),
        mark=mark,
    )


def in_cell(said: str) -> str:
    """Write a text so that it stays in its cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", said)


def tag_title(row: Row, tag: str) -> list[list[Change]]:
    """Try the cells that may be the title in turn: which it is, only reading can say."""
    return [[row.put(index, f"{tag} {row.cell(index)}")] for index in _titles(row)]


def set_word(row: Row, priority: Priority) -> list[list[Change]]:
    """Write a priority into its column, in the words of the other rows."""
    index = row.columns.priority
    if index is None or index >= len(row.cells):
        return []
    said = [row.cell(index), *(_nth_cell(other, index) for other in row.others)]
    like = next((one for one in said if one), "")
    word = priority.value if _P_NUMBER.match(like) or not like else _WORDS[priority]
    return [[row.put(index, word.lower() if like.islower() else word)]]


def add_note(row: Row, words: str) -> list[Change] | None:
    """Write a note into the column for notes; None where there is none."""
    return _append(row, _NOTES, in_cell(words), "; ")


def add_commit(row: Row, commit: str) -> list[Change] | None:
    """Write a commit into the column for commits; None where there is none."""
    return _append(row, _COMMITS, commit, ", ")


def commits_in(row: Row) -> list[str]:
    """The commits that the row names."""
    index = row.column(_COMMITS)
    return [] if index is None else re.findall(r"\w+", row.cell(index))


def rows_like(row: Row, title: str) -> list[str]:
    """Write a row for another task that is open, below this one."""
    return [_row_like(row, index, title) for index in _titles(row)]


def facts_in(row: Row, task: Task) -> Mapping[str, str]:
    """What a row says besides its task's title, id, number, state and priority, by its head."""
    known = {row.columns.title, row.columns.state, row.columns.priority}
    told: dict[str, str] = {}
    for index, head in enumerate(row.heads[: len(row.cells)]):
        said = row.cell(index)
        is_said = index in known or row.is_state(index) or said.isdecimal()
        if said and not is_said and said.strip("*`") not in {task.id, task.title}:
            told[head] = said
    return told


_NOTES = frozenset({"note", "notes", "comment", "comments", "remark", "remarks"})
_COMMITS = frozenset({"commit", "commits", "sha", "hash"})
_P_NUMBER = re.compile(r"[pP][0-9]")
_WORDS = {Priority.P0: "High", Priority.P1: "Medium", Priority.P2: "Low"}


def _titles(row: Row) -> list[int]:
    """The cells that may hold the title, the likeliest first."""
    others = [nth for nth in range(len(row.cells)) if row.cell(nth) and not row.is_state(nth)]
    by_length = sorted(others, key=lambda nth: len(row.cell(nth)), reverse=True)
    return sorted(by_length, key=lambda nth: nth != row.columns.title)


def _row_like(row: Row, named: int, title: str) -> str:
    line = row.line.lstrip("\ufeff")
    shift = len(row.line) - len(line)
    for index in range(len(row.cells) - 1, -1, -1):
        begin, end = (place - shift for place in row.cells[index])
        old = line[begin:end]
        bare = old.strip()
        said = _new_cell(row, index, bare, in_cell(title) if index == named else None)
        kept = old.replace(bare, said.ljust(len(bare)), 1) if bare else old
        line = line[:begin] + kept + line[end:]
    return line


def _new_cell(row: Row, index: int, bare: str, title: str | None) -> str:
    if title is not None:
        return title
    if row.is_state(index) and row.mark is not None:
        return "[ ]" if is_box(row.line, row.mark) else reworded(bare, OPEN)
    if bare.isdecimal():
        numbers = [bare, *(_nth_cell(other, index) for other in row.others)]
        return str(max(int(number) for number in numbers if number.isdecimal()) + 1)
    return ""


def _nth_cell(line: str, index: int) -> str:
    cells = list(cells_of(line))
    return line[slice(*cells[index])].strip() if index < len(cells) else ""


def _append(row: Row, names: frozenset[str], words: str, between: str) -> list[Change] | None:
    index = row.column(names)
    if index is None:
        return None
    old = row.cell(index)
    return [row.put(index, f"{old}{between}{words}" if old else words)]
