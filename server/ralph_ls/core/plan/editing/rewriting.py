"""How an edit of a plan comes about: proposals are tried until one reads as it was meant.

Markdown has many ways to surprise, and a plan is worked on for hours unattended. So whatever an
edit proposes is read again: the task must stand as meant, and every other task as before. Where no
proposal does, the edit is refused with RalphError, and the plan is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from ralph_ls.core.plan.changes import Change
from ralph_ls.core.plan.lines import lines_of
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.protocol.errors import RalphError

Lines = Sequence[tuple[int, str]]
"""Each line of a text with the offset where it begins."""


def find(text: str, task_id: str) -> tuple[Plan, Task]:
    """Find a task by its id; raises RalphError when the plan has none such."""
    plan = read(text)
    task = plan.find(task_id)
    if task is None:
        raise RalphError(
            f"the plan has no task {task_id!r}; its tasks and their ids are shown by: ralph plan"
        )
    return plan, task


@lru_cache(maxsize=2)
def read(text: str) -> Plan:
    """The plan; the last ones are kept, since an editor tries many edits of one text."""
    return parse(text).plan


def apply(text: str, changes: Iterable[Change]) -> str:
    """Make changes that do not overlap; those at the same place in the order given."""
    in_order = sorted(changes, key=_start_of)
    for change in reversed(in_order):
        text = text[: change.start] + change.text + text[change.end :]
    return text


def reword(
    text: str,
    plan: Plan,
    task: Task,
    proposals: Iterable[str],
    is_meant: Callable[[Task], bool],
    *,
    doing: str,
    instead: str = "edit the plan by hand",
) -> str:
    """Give the first proposal in which the task is as meant and all else is as before."""
    others = [_all_of(other) for other in plan.tasks if other != task]
    for proposal in proposals:
        after = parse(proposal).plan
        now = after.find(task.id)
        if (
            now is not None
            and _place_of(now) == _place_of(task)
            and is_meant(now)
            and [_all_of(other) for other in after.tasks if other != now] == others
        ):
            return proposal
    raise refusal(text, task, doing, instead)


def refusal(
    text: str, task: Task, doing: str, instead: str = "edit the plan by hand"
) -> RalphError:
    """Say that an edit cannot be made without changing what it should not."""
    line = text[task.start : task.end].strip("\ufeff \t")[:_SHOWN]
    return RalphError(
        f"the task {task.id} on line {task.line + 1} of the plan ({line!r}) cannot be {doing} "
        f"without changing how something else is read; {instead}"
    )


def essence(task: Task) -> tuple[object, ...]:
    """What a task says of itself, wherever it stands; without the number of a repeated title."""
    explicit = _EXPLICIT.match(task.id)
    name = "" if explicit is None else explicit[0]
    return (name, task.title, task.state, task.blocked_by, task.criteria)


def rest_of(plan: Plan, but: Iterable[Task]) -> list[tuple[object, ...]]:
    """What all tasks but some say, and where in the plan."""
    left_out = {task.id for task in but}
    return [
        (*essence(task), task.priority, task.section, task.depth)
        for task in plan.tasks
        if task.id not in left_out
    ]


def family(plan: Plan, task: Task) -> tuple[Task, ...]:
    """The task and those nested in it."""
    return tuple(one for one in plan.tasks if task.line <= one.line <= task.end_line)


def ending_near(text: str, lines: Lines, number: int) -> str:
    """Give the ending of a line; of the one before it when it is the last line; else LF."""
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
_EXPLICIT = re.compile(r"[A-Z][A-Z0-9]*-[0-9]+")


def _start_of(change: Change) -> int:
    return change.start


def _all_of(task: Task) -> tuple[object, ...]:
    return (*essence(task), task.id, task.priority, task.section, task.depth, task.parent)


def _place_of(task: Task) -> tuple[object, ...]:
    # Not its section: a heading that is a task is its own.
    return (task.title, task.depth, task.parent, task.criteria)
