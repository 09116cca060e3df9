"""Quick fixes: single edits that resolve a remark whose intention is clear.

An edit is computed when it is requested, never by a check, and is offered only after the changed
text was parsed again with the expected result. Writes no file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

from ralph_ls.core.plan.edit.task_edits import block_task, tick_task
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark, QuickFix
from ralph_ls.core.plan.model import GuessCause, ParsedPlan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import after_loose_box, find_marks, lines_of, text_begin
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.words.title_states import opening_sign
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class QuickFixEdit:
    """One replacement in a text; ``start`` and ``end`` in characters of the whole text."""

    title: str
    """Its effect, as the title of a menu item."""
    start: int
    end: int
    new_text: str

    def apply(self, text: str) -> str:
        """The text afterwards."""
        return text[: self.start] + self.new_text + text[self.end :]


def quick_fix_edit(remark: LintRemark, text: str) -> QuickFixEdit | None:
    """The edit for a remark on this very text; None where there is none that is sure."""
    match remark.repair:
        case QuickFix.REMOVE_LINE:
            return _remove_line(remark, text)
        case QuickFix.ADD_REASON:
            return _add_reason(remark, text)
        case QuickFix.TICK:
            return _tick(remark, text)
        case QuickFix.ADD_BOXES:
            return _add_boxes(remark, text)
        case QuickFix.REPLACE:
            start, _ = list(lines_of(text))[remark.place.line]
            return QuickFixEdit(
                title=f"Change to {remark.replacement}",
                start=start + remark.place.start,
                end=start + remark.place.end,
                new_text=remark.replacement,
            )
        case QuickFix.INSERT:
            return _insert(remark, text)
        case None:
            return None
        case _:  # pragma: no cover
            assert_never(remark.repair)


_TO_FILL = "\N{HORIZONTAL ELLIPSIS}"
"""Placeholder for the reason while its line is made."""


def _remove_line(remark: LintRemark, text: str) -> QuickFixEdit | None:
    starts = [start for start, _ in lines_of(text)]
    number = remark.place.line
    start = starts[number]
    is_last = number + 1 == len(starts)
    end = len(text) if is_last else starts[number + 1]
    if is_last and number > 0:
        start = len(text[:start].removesuffix("\n").removesuffix("\r"))
    if number == 0 and text.startswith("\ufeff"):
        start = 1
    is_task = remark.code is CheckCode.DUPLICATE_TASK
    title = "Remove this duplicate" if is_task else "Remove this line"
    edit = QuickFixEdit(title=title, start=start, end=end, new_text="")
    before, after = parse_markdown(text).plan.tasks, parse_markdown(edit.apply(text)).plan.tasks
    kept = [(task.title, task.state) for task in before if task.line != number]
    return edit if kept == [(task.title, task.state) for task in after] else None


def _add_reason(remark: LintRemark, text: str) -> QuickFixEdit | None:
    """An empty ``Blocked by:`` at the place of the reason, for the user to fill in."""
    try:
        blocked = block_task(text, remark.task or "", _TO_FILL)
    except RalphError:
        return None
    at = _common(text, blocked)
    filled = blocked.find(f"Blocked by: {_TO_FILL}", text.rfind("\n", 0, at) + 1)
    if filled < 0:
        return None
    upto = filled + len("Blocked by: ")
    return _difference("Add a line for the reason", text, blocked[:upto] + blocked[upto + 1 :])


def _tick(remark: LintRemark, text: str) -> QuickFixEdit | None:
    try:
        ticked = tick_task(text, remark.task or "")
    except RalphError:
        return None
    return _difference("Mark as done", text, ticked)


def _insert(remark: LintRemark, text: str) -> QuickFixEdit | None:
    starts = [start for start, _ in lines_of(text)]
    places = (remark.place, *(one.place for one in remark.related))
    after = text
    for place in reversed(places):
        at = starts[place.line] + place.start
        after = after[:at] + remark.replacement + after[at:]
    each = " each of them" if len(places) > 1 else " it"
    return _difference(f"Add {remark.replacement.strip()} to{each}", text, after)


_BOXES = {
    TaskState.TODO: " ",
    TaskState.DONE: "x",
    TaskState.IN_PROGRESS: "~",
    TaskState.BLOCKED: "!",
    TaskState.SKIPPED: "-",
}
_HEADING_MARKS = re.compile(r"\ufeff?[ \t]*#{1,6}[ \t]+")


def _add_boxes(remark: LintRemark, text: str) -> QuickFixEdit | None:
    """A box at each task without one, since one box alone changes how the others are read."""
    parsed = parse_markdown(text)
    cause = _UNREAD.get(remark.code)
    changes = _missing_boxes(parsed, text) if cause is None else _unread_boxes(parsed, text, cause)
    after = text
    for at, n_gone, box in reversed(changes):
        after = after[:at] + box + after[at + n_gone :]
    was = [task.state for task in parsed.plan.tasks]
    fresh = [] if cause is None else [TaskState.TODO] * len(changes)
    now = [task.state for task in parse_markdown(after).plan.tasks]
    is_one = len(changes) == 1
    title = "Add a box to this task" if is_one else "Add a box to each of these tasks"
    if cause is GuessCause.UNREAD_BOXES:
        title = "Write this as a task" if is_one else "Write these as tasks"
    return _difference(title, text, after) if sorted(now) == sorted([*was, *fresh]) else None


_BoxChange = tuple[int, int, str]
"""Where a box is written, how many characters it replaces, and the box."""


_UNREAD = {
    CheckCode.HEADINGS_NOT_READ: GuessCause.UNREAD_HEADINGS,
    CheckCode.LINES_NOT_READ: GuessCause.UNREAD_LINES,
    CheckCode.BOX_NOT_READ: GuessCause.UNREAD_BOXES,
}
_READ = frozenset(
    {
        GuessCause.LINES,
        GuessCause.FINISHED,
        GuessCause.SIGNED,
        GuessCause.HEADINGS,
        GuessCause.TABLE,
    }
)


def _unread_boxes(parsed: ParsedPlan, text: str, cause: GuessCause) -> list[_BoxChange]:
    known = list(lines_of(text))
    changes: list[_BoxChange] = []
    for line in (line for one in parsed.guesses if one.cause is cause for line in one.lines):
        start, words = known[line]
        if cause is GuessCause.UNREAD_BOXES:
            changes.append(_in_a_list(start, words))
            continue
        marks = find_marks(words)
        at = _after_heading(text, start) if marks is None else start + marks.text
        changes.append((at, 0, "[ ] "))
    return changes


def _in_a_list(start: int, line: str) -> _BoxChange:
    """An item for a box that is in no list, or in code or a quote."""
    words = line.lstrip("\ufeff \t")
    return start, len(line) - len(words) + (after_loose_box(words) or 0), "- [ ] "


def _missing_boxes(parsed: ParsedPlan, text: str) -> list[_BoxChange]:
    guessed = {line for guess in parsed.guesses if guess.cause in _READ for line in guess.lines}
    return [
        _box_at(task, text)
        for task in parsed.plan.tasks
        if task.line in guessed or (task.kind is TaskKind.ITEM and task.mark is None)
    ]


def _after_heading(text: str, start: int) -> int:
    marks = _HEADING_MARKS.match(text, start)
    return start if marks is None else marks.end()


def _box_at(task: Task, text: str) -> _BoxChange:
    box = f"[{_BOXES[task.state]}]"
    if task.kind is TaskKind.ROW and task.mark is not None:
        return task.mark[0], task.mark[1] - task.mark[0], box
    if task.kind is TaskKind.HEADING:
        return _after_heading(text, task.start), 0, f"{box} "
    line = text[task.start : task.end]
    at = text_begin(line)
    sign = opening_sign(line[at:])
    if sign is None:
        return task.start + at, 0, f"{box} "
    # Marks for bold words around the emoji stay: ``**✅ Parse** it``.
    gone = len(line[at:]) - len(line[at + sign[1] :].lstrip())
    return task.start + at, gone, f"{box} {line[at : at + sign[0]]}"


def _difference(title: str, before: str, after: str) -> QuickFixEdit:
    """The smallest single replacement that makes one text of the other."""
    start = _common(before, after)
    upto = _common(before[start:][::-1], after[start:][::-1])
    end = len(before) - upto
    return QuickFixEdit(
        title=title, start=start, end=end, new_text=after[start : len(after) - upto]
    )


def _common(one: str, other: str) -> int:
    """How many characters both begin with; by halves, since comparing strings is quick."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
