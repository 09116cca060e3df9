"""What the guard has put back, made again as the agent had it, because a person wants it so.

The plan may have moved on since. What was put back is only taken out where it still stands as it
was, and anything that came later stays; otherwise the answer is why not, in words. Nothing here
decides what is forbidden, and it must never write a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.comparing.line_diff import whole_lines
from ralph_ls.core.plan.comparing.pairing import is_unfinished, pair
from ralph_ls.core.plan.lines import find_marks
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.titles import fold
from ralph_ls.protocol.run.iteration_events import Forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The plan as a person would have it, or why that cannot be."""

    text: str = ""
    refusal: str = ""
    """Empty where there is a text."""


def keep(text: str, agents: str, what: Forbidden, task_id: str, *, dropped: Sequence[str]) -> Kept:
    """Make the plan say of one task what the agent's version of the plan says. Total.

    ``agents`` is the whole plan as the agent left it; ``dropped`` are the ids of all tasks that it
    dropped, which may go with the one that they are nested in.
    """
    plan = parse(text).plan
    task = plan.find(task_id)
    if task is None:
        return Kept(refusal="the task is not in the plan any more")
    if not is_unfinished(task):
        return Kept(refusal="the task is finished or skipped by now")
    if what is Forbidden.DROPPED:
        return _without(text, plan, task, frozenset(dropped))
    if what not in {Forbidden.SKIPPED, Forbidden.CRITERIA}:
        return Kept(refusal="that is about a whole file")
    theirs = parse(agents).plan
    place = pair(plan, theirs).kept.get(plan.tasks.index(task))
    if place is None:
        return Kept(refusal="the agent's version of the plan does not have the task")
    if what is Forbidden.SKIPPED:
        return _skipped(text, task)
    return _criteria(text, task, agents, theirs.tasks[place])


def _without(text: str, plan: Plan, task: Task, dropped: frozenset[str]) -> Kept:
    nested = [one for one in plan.tasks if task.line < one.line <= task.end_line]
    if any(one.id not in dropped for one in nested):
        return Kept(refusal="tasks are nested in it now that the agent had not dropped")
    lines = whole_lines(text)
    mark = "\ufeff" if task.line == 0 and text.startswith("\ufeff") else ""
    kept = mark + "".join(lines[: task.line] + lines[task.end_line + 1 :])
    gone = {task.id, *(one.id for one in nested)}
    left = [(one.title, one.state) for one in plan.tasks if one.id not in gone]
    if left != [(one.title, one.state) for one in parse(kept).plan.tasks]:
        return Kept(refusal="without it other tasks would be read as something else")
    return Kept(text=kept)


def _skipped(text: str, task: Task) -> Kept:
    marks = find_marks(text[task.start : task.end])
    if marks is None or marks.box is None:
        return Kept(refusal="its line has no box to mark")
    begin, end = (task.start + place for place in marks.box)
    return Kept(text=f"{text[:begin]}-{text[end:]}")


def _criteria(text: str, task: Task, agents: str, theirs: Task) -> Kept:
    """The task's lines with the agent's criteria, where they differ from its lines in nothing else.

    The line of the task itself stays: it may have been begun or blocked meanwhile.
    """
    lines, others = whole_lines(text), whole_lines(agents)
    block = lines[task.line + 1 : task.end_line + 1]
    new = others[theirs.line + 1 : theirs.end_line + 1]
    if _else_said(block, task) != _else_said(new, theirs):
        return Kept(refusal="what stands below the task was changed since")
    ending = "\r\n" if lines[task.line].endswith("\r\n") else "\n"
    whole = [line if line.endswith(("\n", "\r")) else line + ending for line in new]
    head = lines[: task.line + 1]
    if whole and not head[-1].endswith(("\n", "\r")):
        head[-1] += ending
    kept = "".join([*head, *whole, *lines[task.end_line + 1 :]])
    found = parse(kept).plan.find(task.id)
    if found is None or found.criteria != theirs.criteria:
        return Kept(refusal="the criteria would be read as something else")
    return Kept(text=kept)


def _else_said(lines: Sequence[str], task: Task) -> list[str]:
    """What lines below a task say that is no criterion, nor a label over some."""
    criteria = frozenset(task.criteria)
    said = (_said(line) for line in lines)
    return [one for one in said if one and not _is_criterion(one, criteria)]


def _said(line: str) -> str:
    marks = find_marks(line.rstrip("\r\n"))
    return fold(line if marks is None else line[marks.text :])


def _is_criterion(said: str, criteria: frozenset[str]) -> bool:
    label, colon, behind = said.partition(":")
    is_label = label.strip("*_ ").casefold() in {"acceptance criteria", "criteria", "done when"}
    return said in criteria or (bool(colon) and is_label and behind.strip("*_ ") in {"", *criteria})
