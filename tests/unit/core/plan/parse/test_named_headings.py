"""Headings that are tasks by their names, where a plan has no boxes."""

from __future__ import annotations

import pytest

from tests.unit.core.plan.plan_assertions import shown


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# P", "### Task 1: a", "**Files:**", "- x", "### Task 2: b (done)"),
            ["todo Task 1: a", "done Task 2: b"],
            id="task",
        ),
        pytest.param(
            ("# P", "## T001: a", "## T002 - b ✅"),
            ["todo a", "done b"],
            id="t-number",
        ),
        pytest.param(
            ("# P", "## Stage 1: a", "**Status**: Complete", "## Stage 2: b"),
            ["done Stage 1: a", "todo Stage 2: b"],
            id="stage",
        ),
        pytest.param(
            ("# P", "## 任务 1: a", "## タスク2 b"), ["todo 任务 1: a", "todo タスク2 b"], id="cjk"
        ),
        pytest.param(("# P", "## Aufgabe 3: a"), ["todo Aufgabe 3: a"], id="german"),
        pytest.param(
            ("# P", "## Phase 1", "### Task 1: a", "## Phase 2"), ["todo Task 1: a"], id="not-steps"
        ),
        pytest.param(
            ("# P", "## Phase 1", "### 1.1 a", "- x", "### 1.2 b", "## Phase 2"),
            ["todo 1.1 a", "todo 1.2 b", "todo Phase 2"],
            id="parts-of-steps",
        ),
        pytest.param(
            ("# P", "## Phase 1 (COMPLETED)", "### 1.1 a"), ["done 1.1 a"], id="done-above"
        ),
        pytest.param(
            ("# P", "## Phase 1", "1. a", "## Phase 2"),
            ["todo a", "todo Phase 2"],
            id="with-a-list",
        ),
        pytest.param(("# P", "### Task 1: a", "- [x] step"), ["done step"], id="boxes-below"),
        pytest.param(
            ("# P", "### Task 1: a", "## More", "- [x] b"), ["done b"], id="boxes-elsewhere"
        ),
        pytest.param(
            ("# P", "### Task 1: a", "| Name | Status |", "|---|---|", "| b | open |"),
            ["todo b"],
            id="a-table-has-the-states",
        ),
        pytest.param(("# P", "## Overview", "### Task 1: a"), [], id="in-prose"),
        pytest.param(
            ("# P", "## Tasking 1", "## T shirt", "## 1.1 a", "## Taskmaster"), [], id="others"
        ),
    ],
)
def test_headings_are_tasks_by_name(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


def test_an_empty_state_in_a_table_is_open() -> None:
    lines = ("| Stage | Status |", "|---|---|", "| a | **DONE** |", "| b | |", "| c | - |")
    assert shown("# P", *lines) == ["done a", "todo b", "todo c"]
