"""Which kind of plan a text is (SPEC §8: one model, five sources), without reading any."""

from __future__ import annotations

from enum import StrEnum


class PlanKind(StrEnum):
    """Where the tasks come from (SPEC §8)."""

    MARKDOWN = "markdown"
    STORIES = "stories"
    """``tasks.json`` or ``prd.json`` (R)."""
    BEADS = "beads"
    """``bd`` (B)."""
    REQUEST = "request"
    """The text of a request (A)."""


def kind_of_file(path: str, kind: PlanKind) -> PlanKind:
    """Which kind the plan in a file is, where a profile expects ``kind``.

    The name of a file says more than the profile: nobody writes JSON as markdown, nor the other
    way round. One with any other name is what the profile expects of a file.
    """
    name = path.casefold()
    if name.endswith(".json"):
        return PlanKind.STORIES
    if name.endswith((".md", ".markdown")) or kind is not PlanKind.STORIES:
        return PlanKind.MARKDOWN
    return kind
