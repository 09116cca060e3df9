"""Show a plan in the words that viewers know (SPEC §12); they count lines from 1."""

from __future__ import annotations

from ralph_ls.core.plan.model import Parsed, Task
from ralph_ls.protocol.plan import TaskView


def to_view(task: Task) -> TaskView:
    """Show one task; its place in the text is reduced to the line."""
    return TaskView(
        id=task.id,
        title=task.title,
        state=task.state,
        priority=task.priority,
        section=task.section,
        line=task.line + 1,
        blocked_by=task.blocked_by,
        criteria=task.criteria,
    )


def to_json(parsed: Parsed) -> dict[str, object]:
    """Show a plan as ``ralph plan --json`` prints it: plain values, ready for any JSON writer."""
    return {
        "tasks": [
            to_view(task).model_dump(mode="json", by_alias=True) for task in parsed.plan.tasks
        ],
        "problems": [problem.model_dump(mode="json", by_alias=True) for problem in parsed.problems],
    }
