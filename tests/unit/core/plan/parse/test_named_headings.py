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
            ("# P", "## T-001: a", "**Story**: US-1 | **Status**: [x] done | m", "## Task-2 b"),
            ["done a", "todo Task-2 b"],
            id="a-status-within-a-line",
        ),
        pytest.param(
            (
                "# P",
                "## Strategy",
                "**Status:** Ready for review",
                "### Task 1: a",
                "## Task notes",
            ),
            ["todo Task 1: a"],
            id="a-document-that-is-ready",
        ),
        pytest.param(
            ("# P", "## Task Notation", "- `[x]`: Completed", "- `[ ]`: Open", "## T-1: a"),
            ["todo a"],
            id="a-legend",
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
            ("# P", "## Phase 1", "### Task 1: a", "#### Step 1", "## Phase 2", "### Files"),
            ["todo Task 1: a", "todo Phase 2"],
            id="steps-beside-those-with-tasks",
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


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# P", "## To do", "### 1. a", "- why", "### 2) b", "## Shipped", "- [x] c"),
            ["todo 1. a", "todo 2) b", "done c"],
            id="in-a-section-for-tasks-beside-boxes",
        ),
        pytest.param(
            ("# P", "## 未完成功能", "### 优先级 P0", "#### 1. a", "- 现状: x", "## b", "- [x] c"),
            ["todo 1. a", "done c"],
            id="in-chinese",
        ),
        pytest.param(
            ("# P", "## To do", "### 1. a", "- [ ] b", "### 2. c ✅"),
            ["todo b", "done 2. c"],
            id="with-boxes-and-a-state",
        ),
        pytest.param(
            ("# P", "## To do", "### Login", "#### 1. why", "- [x] b"), ["done b"], id="not-deeper"
        ),
        pytest.param(
            (
                "# P",
                "## To do",
                "### 1. a",
                "## S",
                "| Task | Status |",
                "|---|---|",
                "| b | open |",
            ),
            ["todo b"],
            id="a-table-has-the-states",
        ),
        pytest.param(
            ("# P", "## Why", "1. x", "## Fix plan", "### 1. a", "- how", "### 2. b"),
            ["todo 1. a", "todo 2. b"],
            id="in-a-plan-of-steps",
        ),
        pytest.param(
            ("# P", "## Implementation stages", "1. a", "2. b"), ["todo a", "todo b"], id="a-list"
        ),
        pytest.param(
            ("# TODO", "## 1. a", "text", "## 2. b"), ["todo 1. a", "todo 2. b"], id="todo"
        ),
        pytest.param(
            ("# Fix Plan (Critical)", "## 1) a", "- how", "## 2) b"),
            ["todo 1) a", "todo 2) b"],
            id="fix-plan",
        ),
        pytest.param(("# P", "## 1. Overview", "text", "## 2. Stack"), [], id="chapters"),
        pytest.param(
            ("# P", "## Epic 1", "### Sub-ticket #8: a", "1. x", "### Subtask 2: b"),
            ["todo Sub-ticket #8: a", "todo Subtask 2: b"],
            id="parts-of-tickets",
        ),
        pytest.param(
            ("# P", "### 阶段一: a", "### 阶段二 b", "## 交付", "### 阶段一交付物", "- x"),
            ["todo 阶段一: a", "todo 阶段二 b"],
            id="chinese-numerals",
        ),
    ],
)
def test_headings_are_tasks_by_place(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("- [ ] x", "## Step 1: a ✅", "## Step 2: b", "1. how"),
            ["todo x", "done Step 1: a", "todo Step 2: b"],
            id="steps",
        ),
        pytest.param(
            ("- [ ] x", "## Task 1: a [DONE]", "## Task 2: b", "## Phase 3"),
            ["todo x", "done Task 1: a", "todo Task 2: b"],
            id="tasks",
        ),
        pytest.param(
            ("## Phase 1 ✅", "- [x] a", "## Phase 2 🔄", "- [ ] b", "## Phase 3", "### 3.1 c"),
            ["done a", "todo b", "todo 3.1 c"],
            id="a-phase-without-boxes",
        ),
        pytest.param(
            ("- [x] x", "## Step 1: a ✅", "## Step 2: b"),
            ["done x", "done Step 1: a", "todo Step 2: b"],
            id="also-where-all-is-ticked",
        ),
        pytest.param(
            ("- [x] x", "## Step 1: a ✅", "## Detail", "### Step 2 in short", "## Phase 2"),
            ["done x", "done Step 1: a", "todo Phase 2"],
            id="only-beside-them",
        ),
        pytest.param(
            ("- [ ] x", "### ⛔ Sign", "### 2. 🔴 Send"),
            ["todo x", "todo 2. Send"],
            id="never-by-an-emoji-in-front",
        ),
        pytest.param(
            ("- [ ] x", "## Step 1: a", "## Step 2: b"), ["todo x"], id="never-without-any-state"
        ),
    ],
)
def test_headings_beside_boxes_follow_those_with_a_state(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    assert shown("# P", *lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("|Task|Status|", "|---|---|", "|a|soon|", "|b|Done|", "|c|Friday|", "|d|open|"),
            ["todo a", "done b", "todo c", "todo d"],
            id="beside-known-words",
        ),
        pytest.param(
            ("|Task|Status|", "|---|---|", "|a|soon|", "|b|Done|", "|c|Friday|"),
            ["done b"],
            id="fewer-than-unknown-ones",
        ),
        pytest.param(("| Task | Status |", "|---|---|", "| a | soon |"), [], id="alone"),
        pytest.param(
            ("|Task|Status|", "|---|---|", "|a|soon|", "", "|Task|State|", "|---|---|", "|b|open|"),
            ["todo b"],
            id="of-another-table",
        ),
        pytest.param(
            (
                "| Task | Status |",
                "|---|---|",
                "| a | Done |",
                "| b | as soon as we know more about it |",
            ),
            ["done a"],
            id="prose",
        ),
        pytest.param(
            ("| Phase | Description | Status |", "|---|---|---|", "| M1 | a | Done |"),
            ["done M1: a"],
            id="a-part-and-what-it-is",
        ),
        pytest.param(
            ("| Phase | Description | Status |", "|---|---|---|", "| M1 | | Done |"),
            ["done M1"],
            id="only-a-part",
        ),
        pytest.param(
            ("| Task | Description | Status |", "|---|---|---|", "| a | b | Done |"),
            ["done a"],
            id="a-title",
        ),
        pytest.param(
            ("| 阶段 | 需求 | 状态 |", "|---|---|---|", "| 阶段 0 | a | 暂缓 |"),
            ["skipped a"],
            id="a-requirement",
        ),
        pytest.param(
            ("| # | Description | Status |", "|---|---|---|", "| 1 | a | Done |"),
            ["done a"],
            id="a-description",
        ),
    ],
)
def test_rows_of_tables(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown("# P", *lines) == expected


def test_an_empty_state_in_a_table_is_open() -> None:
    lines = ("| Stage | Status |", "|---|---|", "| a | **DONE** |", "| b | |", "| c | - |")
    assert shown("# P", *lines) == ["done a", "todo b", "todo c"]
