"""Which of a heading, its fields and its lists is the piece of work, and which describes it."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import shown


def guesses_in(*lines: str) -> dict[GuessCause, tuple[int, ...]]:
    return {one.cause: one.lines for one in parse_markdown("\n".join(lines)).guesses}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# Fix plan", "## 1. P0 — Must fix", "### Fix 1: Beam", "- **File**: a.py",
             "- **Problem**: gaps", "### Patch 2: Tiles", "- **File**: b.py"),
            ["todo Fix 1: Beam", "todo Patch 2: Tiles"],
            id="counted-headings",
        ),
        pytest.param(
            ("# P", "## High priority", "### Beam", "- **File**: a", "- **Problem**: b",
             "### Tiles", "- **Files**:", "  - c", "- **Required change**: d"),
            ["todo Beam", "todo Tiles"],
            id="headings-with-several-fields",
        ),
        pytest.param(
            ("# P", "## P1", "### Beam", "- **Impact**: none", "- Saw it"),
            ["todo Impact: none", "todo Saw it"],
            id="one-field-may-be-a-task",
        ),
        pytest.param(
            ("# P", "## P1", "### Phase 1: Beam", "- Saw it", "- Nail it"),
            ["todo Saw it", "todo Nail it"],
            id="phases-hold-tasks",
        ),
        pytest.param(
            ("# P", "## P1", "### Fix 1: Beam", "- [ ] Saw it"),
            ["todo Saw it"],
            id="boxes-are-tasks",
        ),
        pytest.param(
            ("# P", "## P1", "- **File**: a", "- **Problem**: b", "- Nail it"),
            ["todo Nail it"],
            id="fields-are-no-tasks",
        ),
    ],
)  # fmt: skip
def test_headings_with_fields_are_tasks_and_their_fields_are_none(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    assert shown(*lines) == expected


def test_bullets_that_only_a_priority_makes_tasks_are_reported() -> None:
    lines = ("# P", "## P0", "- Saw", "1. Nail", "## To do: P1", "- Oil", "## Low", "- Dust")
    assert guesses_in(*lines) == {GuessCause.LINES: (2, 7)}


def test_fields_of_no_heading_are_reported() -> None:
    lines = ("# P", "## P0", "**Beam**", "- **File**: a", "- **Problem**: b", "## To do", "- Oil")
    assert guesses_in(*lines) == {GuessCause.UNREAD_LINES: (3, 4)}


def test_fields_of_a_heading_are_part_of_it() -> None:
    lines = ("# P", "## P0", "### Beam", "- **File**: a", "- **Problem**: b")
    assert guesses_in(*lines) == {GuessCause.HEADINGS: (2,)}
