"""Quick fixes: single edits that resolve a remark whose intention is clear.

An edit is computed when it is requested, never by a check, and is offered only after the changed
text was parsed again with the expected result. Writes no file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from ralph_ls.core.plan.edit.task_edits import block_task, tick_task
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark, QuickFix
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError


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
        case QuickFix.REPLACE:
            start, _ = list(lines_of(text))[remark.place.line]
            return QuickFixEdit(
                title=f"Change to {remark.replacement}",
                start=start + remark.place.start,
                end=start + remark.place.end,
                new_text=remark.replacement,
            )
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
