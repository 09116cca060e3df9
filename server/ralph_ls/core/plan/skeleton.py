"""What a loop begins with: I's plan ("@fix_plan.md Structure"), S's index of specifications."""

from __future__ import annotations


def fix_plan_skeleton() -> str:
    """Give an ``@fix_plan.md`` with its four sections and no task."""
    return "\n\n".join(_HEADINGS) + "\n"


def spec_index_skeleton() -> str:
    """Give a ``specs/README.md`` with its three sections and no entry (S, specs/README.md)."""
    return "\n\n".join(_INDEX) + "\n"


_INDEX = (
    "# Specification Index",
    "This document tracks the status of all feature specifications.",
    "## Active Specifications",
    "## Implemented Specifications",
    "## Archived Specifications",
    "Obsolete or superseded specs lie in specs/archive/, which is not read.",
)

_HEADINGS = (
    "# Fix Plan",
    "## High Priority (P0)",
    "## Standard (P1)",
    "## Nice to Have (P2)",
    "## Completed",
)
