"""Stories format: ``tasks.json`` or ``prd.json`` with a review cycle (docs/rules.md#stories)."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.stories.operations import STORY_OPERATIONS

    return STORY_OPERATIONS


STORIES = PlanFormat(
    name=PlanKind.STORIES,
    title="stories",
    source="stories (tasks.json or prd.json)",
    storage=PlanStorage.STORIES,
    load=_load,
    suffixes=(".json",),
)
