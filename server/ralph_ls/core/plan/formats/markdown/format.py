"""Markdown format: lists of tasks in a file of Markdown (docs/rules.md#plans)."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def load_markdown() -> PlanOperations:
    """The operations on a plan in Markdown."""
    from ralph_ls.core.plan.formats.markdown.operations import markdown_operations

    return markdown_operations()


MARKDOWN = PlanFormat(
    name=PlanKind.MARKDOWN,
    title="Markdown",
    source="a markdown plan",
    storage=PlanStorage.MARKDOWN,
    load=load_markdown,
    suffixes=(".md", ".markdown"),
)
