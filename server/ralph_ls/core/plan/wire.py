"""Show a plan in the words that viewers know (SPEC §12); they count lines from 1."""

from __future__ import annotations

from ralph_ls.core.plan.model import Parsed, Task
from ralph_ls.core.plan.titles import make_sayable
from ralph_ls.protocol.plan import TaskView


def to_view(task: Task) -> TaskView:
    """Show one task; its place in the text is reduced to the line.

    Half characters, which a file that is no UTF-8 may leave in a text, are shown as ``?``.
    """
    return TaskView(
        id=task.id,
        title=make_sayable(task.title),
        state=task.state,
        priority=task.shown_priority,
        section=make_sayable(task.section),
        line=task.line + 1,
        optional=task.optional,
        blocked_by=None if task.blocked_by is None else make_sayable(task.blocked_by),
        criteria=tuple(make_sayable(criterion) for criterion in task.criteria),
    )


def to_json(parsed: Parsed) -> dict[str, object]:
    """Show a plan as ``ralph plan --json`` prints it: plain values, ready for any JSON writer."""
    return {
        "tasks": [
            to_view(task).model_dump(mode="json", by_alias=True) for task in parsed.plan.tasks
        ],
        "problems": [problem.model_dump(mode="json", by_alias=True) for problem in parsed.problems],
    }
