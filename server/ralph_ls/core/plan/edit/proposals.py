"""Edit proposals: candidate texts are tried until one parses as intended.

Markdown has many surprises, and a plan is edited for hours unattended. So each candidate is parsed
again: the task must have the intended state, and all other tasks must be unchanged. If no candidate
qualifies, the edit raises RalphError and the plan stays as it is.

Lines about a task are nested below it, indented like the line that follows them in the task, so
that everything after them still belongs to the same item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from ralph_ls.core.plan.diff.text_diff import TextChange
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.items import read_field
from ralph_ls.core.plan.parse.lines import find_marks, lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.errors import RalphError

Lines = Sequence[tuple[int, str]]
"""Each line of a text with the offset where it begins."""


def find_task(text: str, task_id: str) -> tuple[Plan, Task]:
    """Find a task by its id; raises RalphError when the plan has none such."""
    plan = read_cached(text)
    task = plan.find(task_id)
    if task is None:
        raise RalphError(
            f"the plan has no task {task_id!r}; list the tasks and their ids with: ralph plan"
        )
    return plan, task


@lru_cache(maxsize=2)
def read_cached(text: str) -> Plan:
    """The plan; the last ones are kept, since an editor tries many edits of one text."""
    return parse_markdown(text).plan


def apply_changes(text: str, changes: Iterable[TextChange]) -> str:
    """Make changes that do not overlap; those at the same place in the order given."""
    in_order = sorted(changes, key=_start_of)
    for change in reversed(in_order):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def first_valid_proposal(
    text: str,
    plan: Plan,
    task: Task,
    proposals: Iterable[str],
    is_meant: Callable[[Task], bool],
    *,
    doing: str,
    instead: str = "edit the plan by hand",
) -> str:
    """The first proposal with the task as intended and everything else unchanged."""
    others = [_all_of(other) for other in plan.tasks if other != task]
    for proposal in proposals:
        after = parse_markdown(proposal).plan
        now = after.find(task.id)
        if (
            now is not None
            and _place_of(now) == _place_of(task)
            and is_meant(now)
            and [_all_of(other) for other in after.tasks if other != now] == others
        ):
            return proposal
    raise edit_refusal(text, task, doing, instead)


def edit_refusal(
    text: str, task: Task, doing: str, instead: str = "edit the plan by hand"
) -> RalphError:
    """The error that an edit cannot be made without unintended changes."""
    line = text[task.start : task.end].strip("\ufeff \t")[:_SHOWN]
    return RalphError(
        f"the task {task.id} on line {task.line + 1} of the plan ({line!r}) cannot be {doing} "
        f"without changing how other lines are read; {instead}"
    )


def task_essence(task: Task) -> tuple[object, ...]:
    """The content of a task without its position and the number of a repeated title."""
    explicit = _EXPLICIT.match(task.id)
    name = "" if explicit is None else explicit[0]
    return (name, task.title, task.state, task.blocked_by, task.criteria)


def other_tasks(plan: Plan, but: Iterable[Task]) -> list[tuple[object, ...]]:
    """The contents and positions of all tasks except some."""
    left_out = {task.id for task in but}
    return [
        (*task_essence(task), task.priority, task.section, task.depth)
        for task in plan.tasks
        if task.id not in left_out
    ]


def task_family(plan: Plan, task: Task) -> tuple[Task, ...]:
    """The task and those nested in it."""
    return tuple(one for one in plan.tasks if task.line <= one.line <= task.end_line)


def ending_near(text: str, lines: Lines, number: int) -> str:
    """The ending of a line; of the one before it for the last line; else LF."""
    for nth in (number, number - 1):
        if 0 <= nth < len(lines) - 1:
            start, line = lines[nth]
            return text[start + len(line) : lines[nth + 1][0]]
    return "\n"


def lines_in(text: str) -> Lines:
    """All lines with their offsets."""
    return tuple(lines_of(text))


def indent_of(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


_SHOWN = 60
_LEAST_INDENT = 2
_EXPLICIT = re.compile(r"[A-Z][A-Z0-9]*-[0-9]+")


def _start_of(change: TextChange) -> int:
    return change.start


def _all_of(task: Task) -> tuple[object, ...]:
    return (*task_essence(task), task.id, task.priority, task.section, task.depth, task.parent)


def _place_of(task: Task) -> tuple[object, ...]:
    # Not its section: a heading that is a task is its own.
    return (task.title, task.depth, task.parent, task.criteria)


def as_single_line(value: str) -> str:
    """Foreign text as one line that cannot open a comment over the rest of the plan."""
    return fold_whitespace(value).replace("<!--", "<! --")


def item_text(line: str) -> str:
    """The text of a line, after the marks of an item."""
    marks = find_marks(line)
    return line.lstrip(" \t") if marks is None else line[marks.text :]


def add_nested_items(
    text: str, lines: Lines, task: Task, items: Sequence[str], *, is_last: bool = False
) -> TextChange:
    """Put list items below a task's title, which may run over several lines.

    With ``is_last`` they are inserted below existing plain notes.
    """
    at = _title_end(lines, task)
    nested = [line for _, line in lines[at + 1 : task.end_line + 1] if line.strip(" \t")]
    own = indent_of(nested[0]) if nested else ""
    indent = own or indent_below(lines[task.line][1])
    if is_last:
        at = _notes_end(lines, at, task.end_line, indent)
    start, line = lines[at]
    ending = ending_near(text, lines, at)
    added = "".join(f"{ending}{indent}- {one}" for one in items)
    if find_marks(lines[task.line][1]) is None and at < len(lines) - 1:
        below = lines[at + 1][1]
        if below.strip(" \t") and find_marks(below) is None:
            added += ending
    return TextChange(start + len(line), start + len(line), added)


def cut_fields(
    text: str, lines: Lines, plan: Plan, task: Task, names: Sequence[str]
) -> list[TextChange]:
    """Cut the lines of these fields out of a task, except those with nested lines."""
    found: list[TextChange] = []
    end = min(task.end_line + 1, len(lines))
    for number in _own_lines(text, plan, task):
        start, line = lines[number]
        field = read_field(item_text(line))
        below = lines[number + 1][1] if number + 1 < end else ""
        if field is None or field.name not in names or _continues(below):
            continue
        if len(indent_of(below)) > len(indent_of(line)) and below.strip():
            continue
        if number + 1 < len(lines):
            found.append(TextChange(start, lines[number + 1][0], ""))
        else:
            before = lines[number - 1]
            found.append(TextChange(before[0] + len(before[1]), len(text), ""))
    return found


def _own_lines(text: str, plan: Plan, task: Task) -> Iterator[int]:
    """The lines that belong to a task itself, below its first one and outside fences."""
    below = TaskBodies(plan.tasks, text)
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
        while at < task.end_line and _continues(lines[at + 1][1]):
            at += 1
    return at


def _continues(line: str) -> bool:
    """Whether a line inside an item continues the paragraph of the line before it."""
    stripped = line.strip(" \t")
    if not stripped or stripped.startswith(("#", ">", "<!--", "```", "~~~")):
        return False
    return not (stripped.endswith(":") or read_field(stripped) or find_marks(line))


def _notes_end(lines: Lines, at: int, last: int, indent: str) -> int:
    """Skip notes of one line each, up to the first other line."""
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
    """Whether a line cannot belong to the note before it."""
    return bool(line.strip()) and indent_of(line) == indent and find_marks(line) is not None


def indent_below(first_line: str) -> str:
    """The indentation below the item's text, with the tabs of its line.

    The content of a box without a list marker is at its own column; what is nested is deeper.
    """
    marks = find_marks(first_line)
    if marks is None:
        return ""
    begin, after = marks.starts[-1], marks.contents[-1]
    before = "".join(mark if mark == "\t" else " " for mark in first_line[:begin].lstrip("\ufeff"))
    return before + " " * max(after - begin, _LEAST_INDENT)
