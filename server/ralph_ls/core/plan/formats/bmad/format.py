"""BMAD format: the sprint status, with a status for each story."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.bmad import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(operations)


BMAD = PlanFormat(
    name=PlanKind.BMAD,
    title="BMAD",
    source="the stories of BMAD",
    storage=PlanStorage.FILE,
    load=_load,
    files=(
        "_bmad-output/implementation-artifacts/sprint-status.yaml",
        "_bmad-output/sprint-status.yaml",
        "docs/sprint-artifacts/sprint-status.yaml",
        "docs/sprint-status.yaml",
    ),
    instructions="bmad",
)
