"""Org format: an outline of Emacs, with keywords and boxes."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.org import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(
        operations, check=operations.check_text, why_foreign=operations.why_foreign
    )


ORG = PlanFormat(
    name=PlanKind.ORG,
    title="Org",
    source="the headings and boxes of an Org file",
    storage=PlanStorage.FILE,
    load=_load,
    files=("todo.org", "plan.org", "tasks.org"),
    shared=("todo.org", "plan.org", "tasks.org"),
    suffixes=(".org",),
    any_case=True,
    instructions="org",
)
