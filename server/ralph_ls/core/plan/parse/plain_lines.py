"""Plain lines: the fast path for long plans, of items with a box and notes indented below them.

One compiled pattern recognises such lines by the dozen; their boxes alone give the states, so the
tasks are counted without being parsed. Since the pattern takes longer to compile than a short plan
takes to be scanned, this module is imported with the first long one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.headings import HeadingSection
from ralph_ls.core.plan.parse.items import CRITERIA_LABELS
from ralph_ls.core.plan.parse.scanner import scan_block
from ralph_ls.core.plan.parse.task_rules import ParsedRow, PlanContext, select_tasks
from ralph_ls.core.plan.parse.titles import (
    NUMBER_WITH_STAR,
    OPTIONAL_WORDS,
    PLACEHOLDER_BEGINNINGS,
    fold_whitespace,
    is_bare,
    split_title,
)
from ralph_ls.core.plan.parse.words.section_words import STATUS_LABELS
from ralph_ls.protocol.task_words import TaskState


def plain_rows(text: str, sections: tuple[HeadingSection, ...]) -> list[ParsedRow]:
    """Read the tasks of plain lines; ``sections`` are the headings that are open there."""
    section = sections[-1]
    rows: list[ParsedRow] = []
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


def _any_of(labels: str) -> str:
    """A pattern for labels, behind looks at their first letters, which most lines fail.

    The first look takes each letter for itself, which is fast, the second one as they go together.
    """
    names = labels.split("|")
    east = _forms("".join(name[0] for name in names if _is_short(name)))
    whole = [name for name in names if not _is_short(name)]
    letters = (_forms("".join(name[n] for name in whole)) for n in range(_LETTERS))
    begins = "".join(f"[{each}]" for each in letters) + (f"|[{east}]" if east else "")
    return f"(?={begins})(?={_first_pairs(names)})(?i:{_by_first_letter(names)})"


def _by_first_letter(names: Sequence[str]) -> str:
    """The names grouped by their first letters, so that not each is tried."""
    rests: dict[str, list[str]] = {}
    for name in names:
        rests.setdefault(name[0], []).append(name[1:])
    return "|".join(f"{first}(?:{'|'.join(group)})" for first, group in rests.items())


_LETTERS = 3


def _is_short(name: str) -> bool:
    return len(name) < _LETTERS or name[0] > "\u2e80"


def _first_pairs(names: Sequence[str]) -> str:
    """A pattern for the first two letters of the names; the first alone where one is so short."""
    behind: dict[str, str] = {}
    for name in names:
        behind[name[0]] = behind.get(name[0], "") + name[1:2]
    short = {name for name in names if len(name) == 1}
    return "|".join(
        f"[{_forms(first)}]" + ("" if first in short else f"[{_forms(seconds)}]")
        for first, seconds in behind.items()
    )


def _forms(letters: str) -> str:
    """The letters in both cases, with what else is the same without case."""
    forms = {form for letter in letters for form in (letter, letter.upper())}
    alike = {"s": "\u017f", "k": "\u212a", "i": "\u0130\u0131"}
    return "".join(sorted(forms | {*"".join(alike.get(letter, "") for letter in letters)}))


_OPTIONAL = "|".join(sorted({word[:3] for word in OPTIONAL_WORDS.split("|")}))
"""How what makes a task optional begins; whole words would take long to compile."""
# The parts of the pattern. No line opens a fence or a comment, or has something like a box that is
# none; no title is empty or has a state, so the boxes alone give the states.
# Everything but ``( [ ` ~ <``, a full-width ``(`` and line endings; a positive class is faster than
# a negated one.
_PLAIN_CHARACTERS = r"[\x00-\t\x0b\x0c\x0e-\x27)-;=-Z\\-_a-}\x7f-\uff07\uff09-\U0010ffff]*+"
_PLAIN_MARK = rf"(?:[(\uff08](?!BLOCKED|WIP|IN|(?i:{_OPTIONAL}))|`(?!``)|~(?!~)|<(?!!--))"
_NO_BOX = r"\[(?![\s\W_xXvV]{0,3}\])"
_NO_STATE = rf"{_NO_BOX}(?!\s*(?i:blocked|wip|in\b))"
_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"
_BOX = r"\[[ xX]\] "
_END = r"(?:\n|\r\n|\Z)"
_INDENT = r"(?:  |\t)[ \t]*+"


_STATUS = rf"[*_]{{0,3}}{_any_of(STATUS_LABELS)}"
_LABELS = f"{CRITERIA_LABELS}|{STATUS_LABELS}|{'|'.join(PLACEHOLDER_BEGINNINGS)}"
_LABEL = rf"[*_(]{{0,3}}{_any_of(_LABELS)}"
_NO_LABEL = rf"(?!{_LABEL})"
_TITLE = (
    rf"(?=[^\s.\u2026])(?!{NUMBER_WITH_STAR.pattern})(?![A-Z -]{{4,20}}[\r\n]){_NO_LABEL}"
    rf"{_PLAIN_CHARACTERS}(?:{_PLAIN_MARK}{_PLAIN_CHARACTERS})*+"
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
"""In a plain block, so that a keystroke causes little parsing."""
PLAIN_LINES = re.compile(
    rf"(?:(?P<last>)(?:[-*+]|(?P<number>[0-9]){{1,9}}[.)]) {_BOX}{_TITLE}"
    rf"(?:(?![ \t])|{_NOTES}|{_CHILDREN})(?:[ \t]*\r?\n)*+){{1,{_MOST_TASKS}}}+"
)
_ITEM = re.compile(
    rf"{_MARKER} \[([ xX])\] [ \t]*+([^\r\n]*+)\r?\n?"
    rf"((?:[ \t]+[^ \t\r\n][^\n]*+\n?)*+)(?:[ \t]*\r?\n)*+"
)
_FIELDS = f"acceptance|done|blocked|needs|waiting|severity|{STATUS_LABELS}|{CRITERIA_LABELS}"
_WORDS = rf"[*_]{{0,3}}{_any_of(_FIELDS)}"
_SIMPLE_LINE = re.compile(
    # An item with a box and any text, else an item or more text that begins with a letter.
    rf"([ ]{{2,}}+)([-*+][ ])?(?(2)(?:\[([ xX])\] )?+)(?!{_WORDS})(?(3)(?=\S)|(?=[^\W\d_]))"
    rf"([^\r\n]*+)(?<![:\s])(?:\r?\n|\Z)"
)
_STATES = {" ": TaskState.TODO, "x": TaskState.DONE, "X": TaskState.DONE}
_CONTEXT = PlanContext(has_box=True, has_headings=False, numbered=frozenset(), headings=frozenset())


def _to_row(
    text: str,
    box: str,
    section: HeadingSection,
    *,
    place: tuple[int, int, int, int],
    mark: tuple[int, int],
    depth: int = 0,
    parent: int | None = None,
) -> ParsedRow:
    """By position, since it is done for each task of a long plan; ``place`` as it is in a row."""
    text, state = fold_whitespace(text), _STATES[box]
    explicit_id, priority, reason = None, section.priority, None
    if not is_bare(text):
        parts = split_title(text)
        text, explicit_id, reason = parts.title, parts.explicit_id, parts.blocked_reason
        priority = parts.priority or priority
    return ParsedRow(
        explicit_id, text, state, priority, section,
        *place, depth, parent, reason, (), TaskKind.ITEM, mark, section.optional,
    )  # fmt: skip


def _rows_with_lines(
    text: str, item: re.Match[str], sections: tuple[HeadingSection, ...], *, line: int, n_rows: int
) -> list[ParsedRow]:
    """Read an item with lines below it: here if they are simple, else as any other is read."""
    lines: list[re.Match[str]] = []
    at, end = item.span(3)
    while at < end:
        found = _SIMPLE_LINE.match(text, at, end)
        if found is None:
            scanned = scan_block(text, item.start(), sections=sections, end=item.end())
            rows, _ = select_tasks(scanned.items, _CONTEXT)
            return [_shift(row, line, item.start(), n_rows) for row in rows]
        lines.append(found)
        at = found.end()
    return _simple_rows(item, lines, sections[-1], line=line, n_rows=n_rows)


def _shift(row: ParsedRow, line: int, start: int, n_rows: int) -> ParsedRow:
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
    item: re.Match[str],
    lines: list[re.Match[str]],
    section: HeadingSection,
    *,
    line: int,
    n_rows: int,
) -> list[ParsedRow]:
    """Parse an item whose lines are items, or continue the text of the one before.

    An item ends before the next one that is not two columns deeper than its marker.
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
