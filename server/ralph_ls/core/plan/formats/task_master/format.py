"""Task Master format: ``tasks.json``, where its tool has it now, and where it had it before."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.task_master import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(
        operations,
        parse=lambda text, options: operations.parse_text(text, options.tag),
        why_foreign=operations.why_foreign,
    )


TASK_MASTER = PlanFormat(
    name=PlanKind.TASK_MASTER,
    title="Task Master",
    source="the tasks of Task Master",
    storage=PlanStorage.FILE,
    load=_load,
    files=(".taskmaster/tasks/tasks.json", "tasks/tasks.json"),
    shared=("tasks/tasks.json",),
    shows=(".taskmaster",),
    begin="write its tasks with: task-master parse-prd FILE",
    instructions="task-master",
)
