"""A task that left the plan because it was taken as finished, written into the plan again.

What it takes is kept as a small plan of its own, for the plan may have moved on since. Every other
byte of the plan stays; where that cannot be, the answer is why not, in words. It must never judge
what was finished, nor write a file.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralph_ls.core.plan.comparing.keeping import Kept
from ralph_ls.core.plan.comparing.pairing import is_unfinished
from ralph_ls.core.plan.comparing.putting_back import Edit, Side, tasks_back
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task

LONGEST = 16000
"""Characters of a task with its notes; of a longer one the first line is kept."""


def excerpt(plan: Plan, text: str, task_id: str) -> str:
    """One task of a plan, below its heading and as open; empty where the plan has no such task."""
    task = plan.find(task_id)
    if task is None:
        return ""
    was, nothing = Side.of(plan, text), Side.of(Plan(), "")
    alone = nothing.edited(tasks_back(was, nothing, [plan.tasks.index(task)], {})).lstrip("\n")
    found = [one for one in parse(alone).plan.tasks if one.title == task.title]
    if not found or len(alone) > LONGEST:
        return f"- [ ] {task.title}\n"[:LONGEST]
    marks = find_marks(alone[found[0].start : found[0].end])
    if marks is None or marks.box is None:
        return alone
    begin, end = (found[0].start + place for place in marks.box)
    return f"{alone[:begin]} {alone[end:]}"


def reopen(text: str, removed: str, task_id: str) -> Kept:
    """The plan with the task of an excerpt in it, as the first below its heading. Total."""
    now = Side.of(parse(text).plan, text)
    was = Side.of(parse(removed).plan, removed)
    if not was.plan.tasks:
        return Kept(refusal="the task's lines are not known any more")
    if "[redacted " in removed:
        return Kept(refusal="the task held a secret, and is kept without it")
    task = was.plan.tasks[0]
    known = (now.plan.find(task_id), *(one for one in now.plan.tasks if one.title == task.title))
    if any(known):
        return Kept(refusal="the plan has the task")
    written = now.edited(_ending_as(tasks_back(was, now, [0], {}), now))
    if not _is_added(now.plan.tasks, parse(written).plan.tasks, task):
        return Kept(refusal="with it other tasks would be read as something else")
    return Kept(text=written)


def _ending_as(edits: Sequence[Edit], now: Side) -> list[Edit]:
    """An empty plan gets the task as its first lines, and a line ending."""
    if now.text:
        return list(edits)
    return [edit._replace(text=edit.text.lstrip("\n") + now.ending) for edit in edits]


def _is_added(before: Sequence[Task], after: Sequence[Task], task: Task) -> bool:
    """Whether the task is there, open, and each other one is as it was."""
    new = [one for one in after if one.title == task.title]
    others = [(one.title, one.state) for one in after if one.title != task.title]
    return (
        len(new) == 1
        and is_unfinished(new[0])
        and others == [(one.title, one.state) for one in before]
    )
