"""Superpowers format: a plan whose tasks are headings."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.superpowers import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(operations)


SUPERPOWERS = PlanFormat(
    name=PlanKind.SUPERPOWERS,
    title="superpowers",
    source="the tasks of a superpowers plan",
    storage=PlanStorage.FILE,
    load=_load,
    files=("docs/superpowers/plans/*.md", "docs/plans/20*-*-*.md"),
    instructions="superpowers",
)
