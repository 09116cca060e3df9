"""The plan that a loop begins with when there is none yet (I, "@fix_plan.md Structure")."""

from __future__ import annotations


def fix_plan_skeleton() -> str:
    """Give an ``@fix_plan.md`` with its four sections and no task."""
    return "\n\n".join(_HEADINGS) + "\n"


_HEADINGS = (
    "# Fix Plan",
    "## High Priority (P0)",
    "## Standard (P1)",
    "## Nice to Have (P2)",
    "## Completed",
)
