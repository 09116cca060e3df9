"""Plain lines: items with a box and what is indented below them, as most of a long plan is.

One compiled pattern says for sure that lines are plain. Of such the boxes alone tell the states,
so they are counted without being read; what is said here of their tasks is what ``scanner`` and
``rules`` would say, only sooner. Whether a block of them may end here is not known here.
"""

from __future__ import annotations

import re

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.reading.headings import Section
from ralph_ls.core.plan.reading.rules import Context, Row, judge
from ralph_ls.core.plan.reading.scanner import scan_block
from ralph_ls.core.plan.titles import fold, is_bare, read_title
from ralph_ls.protocol.plan import TaskState


def plain_rows(text: str, sections: tuple[Section, ...]) -> list[Row]:
    """Read the tasks of plain lines; ``sections`` are the headings that are open there."""
    section = sections[-1]
    rows: list[Row] = []
    line = 0
    for item in _ITEM.finditer(text):
        start = item.start()
        if item[3]:
            rows += _rows_with_lines(text, item, sections, line=line, n_rows=len(rows))
        else:
            place = (line, start, item.end(2), line)
            rows.append(_to_row(item[2], item[1], section, place=place, mark=item.span(1)))
        line += text.count("\n", start, item.end())
    return rows


# What the pattern is made of. No line opens a fence or a comment, or holds what looks like a box
# but is none; no title is empty or says a state, so the boxes alone tell the states.
# Everything but ``[ ` ~ <`` and line endings; said so, it is matched faster than by what it is not.
_PLAIN_CHARACTERS = r"[\x00-\t\x0b\x0c\x0e-;=-Z\\-_a-}\x7f-\U0010ffff]*+"
_PLAIN_MARK = r"(?:`(?!``)|~(?!~)|<(?!!--))"
_NO_BOX = r"\[(?![\s\W_xX]{0,3}\])"
_NO_STATE = rf"{_NO_BOX}(?!\s*(?i:blocked|wip|in\b))"
_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"
_BOX = r"\[[ xX]\] "
_END = r"(?:\n|\r\n|\Z)"
_INDENT = r"(?:  |\t)[ \t]*+"
_STATUS = r"[*_]{0,3}(?i:status)"
_LABEL = r"[*_]{0,3}(?i:acceptance criteria|criteria|done when|status)"
_NO_LABEL = rf"(?:(?![*_AaCcDdSs\u017f])|(?!{_LABEL}))"
_TITLE = (
    rf"(?=\S){_NO_LABEL}{_PLAIN_CHARACTERS}(?:{_PLAIN_MARK}{_PLAIN_CHARACTERS})*+"
    rf"(?:{_END}|(?:(?:{_NO_STATE}|{_PLAIN_MARK}){_PLAIN_CHARACTERS})++(?<=[\w.,;!?)\"'`]){_END})"
)
_NOTE = (
    rf"{_INDENT}(?=\S){_PLAIN_CHARACTERS}"
    rf"(?:(?:{_NO_BOX}|{_PLAIN_MARK}){_PLAIN_CHARACTERS})*+{_END}"
)
_MARKERS = rf"{_INDENT}(?:{_MARKER}[ \t]+)*+"
_NOTES = rf"(?:(?!{_MARKERS}{_STATUS}){_NOTE})*+(?![ \t]+[^ \t\r\n])"
_CHILDREN = (
    rf"(?:(?!{_MARKERS}{_LABEL})(?:{_INDENT}{_MARKER} {_BOX}{_TITLE}|{_NOTE}))*+"
    r"(?![ \t]+[^ \t\r\n])"
)
_MOST_TASKS = 64
"""In a plain block, so that what a keystroke reads anew stays small."""
PLAIN_LINES = re.compile(
    rf"(?:(?P<last>)(?:[-*+]|(?P<number>[0-9]){{1,9}}[.)]) {_BOX}{_TITLE}"
    rf"(?:(?![ \t])|{_NOTES}|{_CHILDREN})(?:[ \t]*\r?\n)*+){{1,{_MOST_TASKS}}}+"
)
_ITEM = re.compile(
    rf"{_MARKER} \[([ xX])\] [ \t]*+([^\r\n]*+)\r?\n?"
    rf"((?:[ \t]+[^ \t\r\n][^\n]*+\n?)*+)(?:[ \t]*\r?\n)*+"
)
_WORDS = r"[*_]{0,3}(?i:acceptance|criteria|done|blocked|needs|severity|status)"
_SIMPLE_LINE = re.compile(
    # An item with a box and any text, else an item or more text that begins with a letter.
    rf"([ ]{{2,}}+)([-*+][ ])?(?(2)(?:\[([ xX])\] )?+)(?!{_WORDS})(?(3)(?=\S)|(?=[^\W\d_]))"
    rf"([^\r\n]*+)(?<![:\s])(?:\r?\n|\Z)"
)
_STATES = {" ": TaskState.TODO, "x": TaskState.DONE, "X": TaskState.DONE}
_CONTEXT = Context(has_box=True, has_states=False, numbered=frozenset(), headings=frozenset())


def _to_row(
    text: str,
    box: str,
    section: Section,
    *,
    place: tuple[int, int, int, int],
    mark: tuple[int, int],
    depth: int = 0,
    parent: int | None = None,
) -> Row:
    """By position, since it is done for each task of a long plan; ``place`` as it is in a row."""
    text, state = fold(text), _STATES[box]
    explicit_id, priority, reason = None, section.priority, None
    if not is_bare(text):
        parts = read_title(text)
        text, explicit_id, reason = parts.title, parts.explicit_id, parts.blocked_reason
        priority = parts.priority or priority
    return Row(
        explicit_id, text, state, priority, section,
        *place, depth, parent, reason, (), TaskKind.ITEM, mark,
    )  # fmt: skip


def _rows_with_lines(
    text: str, item: re.Match[str], sections: tuple[Section, ...], *, line: int, n_rows: int
) -> list[Row]:
    """Read an item with lines below it: here if they are simple, else as any other is read."""
    lines: list[re.Match[str]] = []
    at, end = item.span(3)
    while at < end:
        found = _SIMPLE_LINE.match(text, at, end)
        if found is None:
            scanned = scan_block(text, item.start(), sections=sections, end=item.end())
            rows, _ = judge(scanned.items, _CONTEXT)
            return [_shift(row, line, item.start(), n_rows) for row in rows]
        lines.append(found)
        at = found.end()
    return _simple_rows(item, lines, sections[-1], line=line, n_rows=n_rows)


def _shift(row: Row, line: int, start: int, n_rows: int) -> Row:
    """Count the places of a row from further up."""
    return row._replace(
        line=row.line + line,
        start=row.start + start,
        end=row.end + start,
        end_line=row.end_line + line,
        parent=None if row.parent is None else row.parent + n_rows,
        mark=None if row.mark is None else (row.mark[0] + start, row.mark[1] + start),
    )


def _simple_rows(
    item: re.Match[str], lines: list[re.Match[str]], section: Section, *, line: int, n_rows: int
) -> list[Row]:
    """Read an item whose lines are items, or go on with the text of the one before.

    An item ends before the next one that does not stand two columns deeper than its marker.
    """
    last = line + len(lines)
    place = (line, item.start(), item.end(2), last)
    rows = [_to_row(item[2], item[1], section, place=place, mark=item.span(1))]
    frames = [(2, 0, False)]
    for number, found in enumerate(lines, line + 1):
        if found[2] is None:
            continue
        column, box = len(found[1]), found[3]
        while frames[-1][0] > column:
            _, holder, is_task = frames.pop()
            if is_task:
                rows[holder] = rows[holder]._replace(end_line=number - 1)
        holder = frames[-1][1]
        if box is not None:
            row = _to_row(
                found[4],
                box,
                section,
                place=(number, found.start(), found.end(4), last),
                mark=found.span(3),
                depth=rows[holder].depth + 1,
                parent=n_rows + holder,
            )
            rows.append(row)
            holder = len(rows) - 1
        frames.append((column + 2, holder, box is not None))
    return rows
