"""todo.txt format: one task a line."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.text_operations import structured_operations
    from ralph_ls.core.plan.formats.todo_txt import operations

    return structured_operations(operations)


TODO_TXT = PlanFormat(
    name=PlanKind.TODO_TXT,
    title="todo.txt",
    source="the lines of a todo.txt",
    storage=PlanStorage.FILE,
    load=_load,
    files=("todo.txt",),
    shared=("todo.txt",),
    instructions="todo-txt",
)
