"""BMAD formats: the sprint status, with a status for each story, and a story by itself."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.bmad import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(operations)


def _load_story() -> PlanOperations:
    from dataclasses import replace

    from ralph_ls.core.plan.formats.bmad import story
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return replace(
        structured_operations(story, why_foreign=story.why_foreign),
        check=lambda _parsed, text, marker: story.check_story(text, marker),
        is_sure=story.is_surely_story,
    )


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

BMAD_STORY = PlanFormat(
    name=PlanKind.BMAD_STORY,
    title="BMAD story",
    source="the tasks of a BMAD story",
    storage=PlanStorage.FILE,
    load=_load_story,
    files=("docs/stories/[0-9]*.[0-9]*.*.md", "docs/stories/*.md"),
    shared=("docs/stories/*.md",),
    not_in=("README.md", "index.md"),
    signs=(".bmad-core", "bmad-core", ".bmad", "bmad"),
    instructions="bmad-story",
)
"""A project with a sprint status has its stories there."""
