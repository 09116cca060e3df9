"""GSD format: the roadmap, with its phases and their plans."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.gsd import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(operations, check=operations.check_text)


GSD = PlanFormat(
    name=PlanKind.GSD,
    title="GSD",
    source="the phases and plans of a GSD roadmap",
    storage=PlanStorage.FILE,
    load=_load,
    files=(".planning/ROADMAP.md",),
    executed="phases/*/*-SUMMARY.md",
    documents=(".planning/PROJECT.md", ".planning/STATE.md"),
    instructions="gsd",
)
