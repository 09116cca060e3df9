"""The ways in which a task can be made done, open or blocked: changes that may be tried.

They are proposals, the likeliest first, for ``rewriting`` to read again; one that is read as
something else costs nothing.
"""

from __future__ import annotations

import re

from ralph_ls.core.plan.changes import Change
from ralph_ls.core.plan.editing.rewriting import Lines, lines_in
from ralph_ls.core.plan.editing.rows import row_of, tag_title
from ralph_ls.core.plan.editing.written import (
    BLOCKED,
    DONE,
    OPEN,
    Piece,
    Word,
    find_strike,
    find_tags,
    is_box,
    text_at,
    write_said,
    write_state,
)
from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.protocol.plan import TaskState

Ways = list[list[Change]]


def ticks(text: str, task: Task) -> Ways:
    """Ways to make it done."""
    box = _box_of(text, task)
    if box is not None:
        return [[Change(*box, "x")]]
    return [*_states(text, task, DONE), *_tagged(text, task, "[DONE]")]


def opens(text: str, task: Task) -> Ways:
    """Ways to make it no longer done."""
    line = text[task.start : task.end]
    at = text_at(line)
    strike = find_strike(line, at)
    struck = [] if strike is None else [_cut(task, mark, mark + 2) for mark in strike]
    box = _box_of(text, task)
    if box is not None:
        return [[Change(*box, " ")], [Change(*box, " "), *struck]]
    tags = [_cut(task, *span) for span in find_tags(line, at, _DONE_TAGS)]
    ways = [tags, struck, [*tags, *struck]]
    if strike is not None:
        # What follows the title says that it is done, or when.
        ways.append([*struck[:1], _cut(task, strike[1], len(line.rstrip()))])
    for changes in _states(text, task, OPEN):
        ways += [changes, [*changes, *struck]]
    if task.kind is TaskKind.HEADING:
        # Without a state it would be no task.
        begin = task.start + len(line) - len(line.lstrip("\ufeff \t").lstrip("#").lstrip())
        for sign in (OPEN.circle if OPEN.circle in text else OPEN.sign, "[ ]"):
            ways.append([Change(begin, begin, f"{sign} "), *tags, *struck])
    return ways


def blocks(text: str, task: Task) -> Ways:
    """Ways to say that it is blocked, where the reason is said elsewhere."""
    if task.state is TaskState.BLOCKED:
        return [[]]
    return [*_tagged(text, task, "[BLOCKED]"), *_states(text, task, BLOCKED)]


def blocks_in_line(text: str, task: Task, reason: str) -> Ways:
    """Ways to say on its line that it is blocked, and why."""
    tag = f"[BLOCKED: {reason.translate(_IN_TAG)}]" if reason else "[BLOCKED]"
    if task.kind is TaskKind.ROW:
        return tag_title(row_of(lines_in(text), task), tag)
    return _tagged(text, task, tag)


def unblocks(text: str, task: Task) -> Ways:
    """Ways to take it up again."""
    line = text[task.start : task.end]
    tags = [_cut(task, *span) for span in find_tags(line, text_at(line), _BLOCKED_TAGS)]
    below = _said_below(text, task)
    ways = [tags, [*below, *tags]]
    box = _box_of(text, task)
    if box is not None:
        ways += [[Change(*box, " "), *tags], [Change(*box, " "), *below, *tags]]
    return [*ways, *([*changes, *tags] for changes in _states(text, task, OPEN))]


_DONE_TAGS = re.compile(r"done|completed?", re.IGNORECASE)
_BLOCKED_TAGS = re.compile(r"blocked(?:[ :\u2013\u2014-].*)?", re.IGNORECASE)
_IN_TAG = str.maketrans("[]|", "()/")


def _box_of(text: str, task: Task) -> tuple[int, int] | None:
    return task.mark if task.mark is not None and is_box(text, task.mark) else None


def _tagged(text: str, task: Task, tag: str) -> Ways:
    """Before the words of an item, behind those of a heading; a row has no such place."""
    line = text[task.start : task.end]
    if task.kind is TaskKind.ROW:
        return []
    if task.kind is TaskKind.HEADING:
        end = task.start + len(line.rstrip())
        return [[Change(end, end, f" {tag}")]]
    at = text_at(line)
    gap = "" if line[at - 1].isspace() else " "
    return [[Change(task.start + at, task.start + at, f"{gap}{tag} ")]]


def _states(text: str, task: Task, word: Word) -> Ways:
    lines = lines_in(text)[task.line : task.end_line + 1]
    mark = None if task.mark is None else (task.mark[0] - task.start, task.mark[1] - task.start)
    ways = write_state([line for _, line in lines], task.kind, mark, word)
    return [[_change(lines, piece) for piece in pieces] for pieces in ways]


def _said_below(text: str, task: Task) -> list[Change]:
    lines = lines_in(text)[task.line : task.end_line + 1]
    return [_change(lines, one) for one in write_said([line for _, line in lines], OPEN)[:1]]


def _change(lines: Lines, piece: Piece) -> Change:
    start, _ = lines[piece.line]
    return Change(start + piece.start, start + piece.end, piece.text)


def _cut(task: Task, begin: int, end: int) -> Change:
    return Change(task.start + begin, task.start + end, "")
