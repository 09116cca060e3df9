"""todo.txt format: one task a line."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.text_operations import structured_operations
    from ralph_ls.core.plan.formats.todo_txt import operations

    return structured_operations(operations, why_foreign=operations.why_foreign)


def _written_as(text: str) -> PlanKind:
    from ralph_ls.core.plan.formats.todo_txt.operations import is_markdown

    return PlanKind.MARKDOWN if is_markdown(text) else PlanKind.TODO_TXT


TODO_TXT = PlanFormat(
    name=PlanKind.TODO_TXT,
    title="todo.txt",
    source="the lines of a todo.txt",
    storage=PlanStorage.FILE,
    load=_load,
    files=("todo.txt",),
    shared=("todo.txt",),
    suffixes=("todo.txt",),
    any_case=True,
    written_as=_written_as,
    instructions="todo-txt",
)
