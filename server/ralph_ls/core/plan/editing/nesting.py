"""Lines that say something of a task, nested below it: where they go and how far in.

New lines are indented as the line that follows them in the task, so that everything after them
still belongs where it did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralph_ls.core.plan.below import Below
from ralph_ls.core.plan.changes import Change
from ralph_ls.core.plan.editing.rewriting import Lines, ending_near, indent_of
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.reading.items import read_field
from ralph_ls.core.plan.titles import fold


def in_line(value: str) -> str:
    """What others said, as one line that cannot open a comment over the rest of the plan."""
    return fold(value).replace("<!--", "<! --")


def text_of(line: str) -> str:
    """The text of a line, after the marks of an item."""
    marks = find_marks(line)
    return line.lstrip(" \t") if marks is None else line[marks.text :]


def add_below(
    text: str, lines: Lines, task: Task, said: Sequence[str], *, is_last: bool = False
) -> Change:
    """Put list items below a task's title, which may run over several lines.

    With ``is_last`` they go below the plain notes that stand there already.
    """
    at = _title_end(lines, task)
    nested = [line for _, line in lines[at + 1 : task.end_line + 1] if line.strip(" \t")]
    indent = indent_of(nested[0]) if nested else _indent_below(lines[task.line][1])
    if is_last:
        at = _notes_end(lines, at, task.end_line, indent)
    start, line = lines[at]
    ending = ending_near(text, lines, at)
    added = "".join(f"{ending}{indent}- {one}" for one in said)
    if find_marks(lines[task.line][1]) is None and at < len(lines) - 1:
        below = lines[at + 1][1]
        if below.strip(" \t") and find_marks(below) is None:
            added += ending
    return Change(start + len(line), start + len(line), added)


def cut_fields(
    text: str, lines: Lines, plan: Plan, task: Task, names: Sequence[str]
) -> list[Change]:
    """Cut the lines of these fields out of a task, but not those that have lines of their own."""
    found: list[Change] = []
    end = min(task.end_line + 1, len(lines))
    for number in _own_lines(text, plan, task):
        start, line = lines[number]
        field = read_field(text_of(line))
        below = lines[number + 1][1] if number + 1 < end else ""
        if field is None or field.name not in names or _goes_on(below):
            continue
        if len(indent_of(below)) > len(indent_of(line)) and below.strip():
            continue
        if number + 1 < len(lines):
            found.append(Change(start, lines[number + 1][0], ""))
        else:
            before = lines[number - 1]
            found.append(Change(before[0] + len(before[1]), len(text), ""))
    return found


def _own_lines(text: str, plan: Plan, task: Task) -> Iterator[int]:
    """The lines of a task that are no other's, below its first one and outside fences."""
    below = Below(plan.tasks, text)
    for index, one in enumerate(plan.tasks):
        if task.line <= one.line <= task.end_line:
            yield from (
                line.number
                for line in below.lines_from(index)
                if line.task == task and line.number > task.line
            )


def _title_end(lines: Lines, task: Task) -> int:
    """The last line of the title."""
    at = task.line
    if find_marks(lines[at][1]) is not None:
        while at < task.end_line and _goes_on(lines[at + 1][1]):
            at += 1
    return at


def _goes_on(line: str) -> bool:
    """Say whether a line inside an item goes on with the paragraph of the line before it."""
    stripped = line.strip(" \t")
    if not stripped or stripped.startswith(("#", ">", "<!--", "```", "~~~")):
        return False
    return not (stripped.endswith(":") or read_field(stripped) or find_marks(line))


def _notes_end(lines: Lines, at: int, last: int, indent: str) -> int:
    """Go over notes of one line each, as long as nothing else stands between."""
    while at < last:
        line = lines[at + 1][1]
        marks = find_marks(line)
        if marks is None or marks.box is not None or indent_of(line) != indent:
            break
        if len(marks.starts) > 1 or line.rstrip(" \t*_").endswith(":"):
            break
        if at + 2 <= last and not _begins_note(lines[at + 2][1], indent):
            break
        at += 1
    return at


def _begins_note(line: str, indent: str) -> bool:
    """Say whether a line cannot belong to the note before it."""
    return bool(line.strip()) and indent_of(line) == indent and find_marks(line) is not None


def _indent_below(first_line: str) -> str:
    """Give the white space that stands below the item's text, keeping the tabs of its line."""
    marks = find_marks(first_line)
    if marks is None:
        return ""
    begin, after = marks.starts[-1], marks.contents[-1]
    before = "".join(mark if mark == "\t" else " " for mark in first_line[:begin].lstrip("\ufeff"))
    return before + " " * (after - begin)
