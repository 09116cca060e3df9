"""Which lines without a box are tasks, and what their headings say of their states."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import shown

SPEC_KIT = (
    "# Tasks: Sign in",
    "## Phase 1: Setup",
    "- [x] T001 Make the folder",
    "## Implementation Strategy",
    "### First release",
    "1. Finish Phase 1",
    "2. Deploy if ready",
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(SPEC_KIT, ["done Make the folder"], id="a-title-hands-nothing-down"),
        pytest.param(
            ("## High Priority", "### Login", "1. why", "## Done", "- [x] a"),
            ["done a"],
            id="beside-boxes-only-directly-in-a-named-section",
        ),
        pytest.param(
            ("## Tasks", "1. a", "- A group", "  1. detail", "## Done", "- [x] b"),
            ["todo a", "done b"],
            id="beside-boxes-nothing-nested",
        ),
        pytest.param(("# Plan", "## Keys", "1. the environment", "2. the file"), [], id="an-order"),
        pytest.param(("# Plan", "## 2024-01-02", "- wrote x", "- wrote y"), [], id="a-log"),
        pytest.param(("# Plan", "1. a", "2. b"), ["todo a", "todo b"], id="below-the-title"),
        pytest.param(
            ("# Plan", "Rules:", "", "1. Be short", "## Queue", "1. a", "   - how", "2. b"),
            ["todo a", "todo b"],
            id="below-the-title-of-a-queue",
        ),
        pytest.param(
            ("1. Be short", "## Tasks", "- a", "## Phase 1", "1. b"),
            ["todo a", "todo b"],
            id="before-a-section-for-tasks",
        ),
        pytest.param(("1. a",), ["todo a"], id="without-a-heading"),
        pytest.param(("# A", "# B", "1. a"), [], id="below-a-second-title"),
        pytest.param(("# P", "## Sprint 2: x", "1. a", "- b"), ["todo a"], id="sprint"),
        pytest.param(("# P", "## 第一阶段\uff1a准备", "1. a"), ["todo a"], id="phase-in-chinese"),
        pytest.param(("# P", "## Étape 2", "1. a"), ["todo a"], id="step-in-french"),
        pytest.param(("# TODO", "## Parser", "- a", "  - why"), ["todo a"], id="a-task-file"),
        pytest.param(
            ("# TODO", "## Parser", "- a", "- [x] b"), ["done b"], id="but-not-with-boxes"
        ),
        pytest.param(("# TODO", "## Overview", "- a"), [], id="nor-in-prose"),
        pytest.param(
            ("# P", "## Work", "- ✅ a", "- b (done)", "- c"),
            ["done a", "done b", "todo c"],
            id="most-have-states",
        ),
        pytest.param(("# P", "## Work", "x", "- ✅ a", "- b", "- c"), [], id="few-have-states"),
        pytest.param(
            ("# P", "## Work", "1. ~~**A**~~ - ✅ Implemented", "2. ~~B~~"),
            ["done A", "done B"],
            id="struck-and-signed",
        ),
        pytest.param(("# P", "## 任务", "- a", "## 已完成", "- b"), ["todo a", "done b"], id="zh"),
        pytest.param(
            ("# P", "## Aufgaben", "- a", "## Erledigt", "- b"), ["todo a", "done b"], id="de"
        ),
    ],
)
def test_lines_without_a_box_are_tasks_where_the_plan_says_so(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    assert shown(*lines) == expected


@pytest.mark.parametrize(
    ("heading", "state"),
    [
        ("## P0 Fixes (COMPLETED)", "done"),
        ("## P0 Fixes ✅", "done"),
        ("## P0 Fixes - Done", "done"),
        ("## P0 Fixes: completed 2026-01-02", "done"),
        ("## P0 修复\uff08已完成\uff09", "done"),
        ("## ✅ P0 Fixes", "todo"),
        ("## P0 Fixes (in progress)", "todo"),
        ("## P0 Fixes (not completed)", "todo"),
        ("## P0 Fixes (50% complete)", "todo"),
        ("## P0: completed orders are lost", "todo"),
        ("## Phase 1 (COMPLETED)", "done"),
        ("## ✅ Phase 1", "done"),
        ("## 🔴 Phase 1", "todo"),
    ],
)
def test_a_heading_that_is_done_finishes_the_lines_below_it(heading: str, state: str) -> None:
    assert shown("# Plan", heading, "1. a", "2. 🔴 b") == [f"{state} a", "todo b"]


def test_the_state_of_a_heading_reaches_its_sub_headings() -> None:
    lines = ("# P", "## Phase 1 ✅", "### Step 1", "1. a", "### Step 2 (open)", "1. b")
    assert shown(*lines) == ["done Step 1", "todo Step 2"]


@pytest.mark.parametrize("before", ["# First\n\n", "## First\n\n", "1. first\n"])
def test_another_first_heading_makes_another_title(before: str) -> None:
    text = "# Tasks\n\n## A\n- x\n\n# B\n1. b\n"
    changed = reparse_markdown(parse_markdown(text), (0, 0, before))
    assert changed == parse_markdown(before + text)
    back = reparse_markdown(changed, (0, len(before), ""))
    assert back == parse_markdown(text)


def test_a_second_title_is_read_again_when_the_first_one_goes() -> None:
    text = "# A\n- [ ] a\n\n# B\n- [ ] b\n"
    changed = reparse_markdown(parse_markdown(text), (0, 4, ""))
    assert changed == parse_markdown(text[4:])
    assert reparse_markdown(changed, (0, 0, "# A\n")) == parse_markdown(text)


def test_a_box_counts_more_than_its_heading() -> None:
    assert shown("## Phase 1 (COMPLETED)", "- [ ] a") == ["todo a"]


_HEADINGS = st.sampled_from((
    "# Plan", "## Phase 1: Setup", "## Strategy", "### Task 3: Parse",
    "## T004: x", "## Dependencies", "## Phase 2 (pending)", "### Step 2", "## 第一阶段",
    "#### 4.1 Detail", "## User Story 1 (Priority: high) 🎯", "## Overview",
    "## Acceptance Criteria", "## Success criteria by phase", "### Fix 1: x", "## Proposed fixes",
    "### 1. Parser", "## Batch 2: y", "## 🔄 Later on", "## Current repo state",
    "## Legend",
))  # fmt: skip
_BLOCKS = st.sampled_from((
    "- [x] T001 [P] Make it", "1. [x] Ship it", "  - [x] Part of it", "1. first this\n2. then that",
    "- a remark\n  1. its detail", "| Name | Status |\n|---|---|\n| a | open |\n| b | TODO |",
    "Some words of prose.", "**Goal**: all of it", "**Status**: Draft", "5. Deploy if ready",
    "0. Begin", "- **Owner**: me\n- words", "In progress: x", "- Blocked: y",
    "| Phase | Status |\n|---|---|\n| Phase 1 | open |\n| Phase 2 | TODO |",
    "- [x] App runs", "### 2. Reader\n\n- **Estimate**: 3 days",
))  # fmt: skip


@given(st.lists(st.one_of(_HEADINGS, _BLOCKS.filter(lambda text: "1. [x]" not in text))))
def test_no_open_task_is_invented_where_every_box_is_ticked(blocks: list[str]) -> None:
    text = "\n\n".join(["# Tasks: All", "- [x] Start", *blocks])
    plan = parse_markdown(text).plan
    assert [task.title for task in plan.tasks if task.state is not TaskState.DONE] == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("[ ] a", "[x] b", "[~] c", "[] d"),
            ["todo a", "done b", "inProgress c", "todo d"],
            id="boxes",
        ),
        pytest.param(
            ("## Done", "[x] a", "    and more", "[x] b", "", "Plan: c", "", "## Open", "[ ] d"),
            ["done a", "done b", "todo d"],
            id="below-headings",
        ),
        pytest.param(
            ("- [ ] a", "  - [ ] b", "[ ] c"), ["todo a", "  todo b", "todo c"], id="among-items"
        ),
        pytest.param(
            ("[ ] a", "  - [x] b", "  - note"), ["todo a", "  done b"], id="with-nested-ones"
        ),
        pytest.param(
            ("- [ ] a", "- [blocked] b", "* [WIP] c", "- [note] d", "  - [done] e"),
            ["todo a", "blocked b", "inProgress c"],
            id="tags-in-their-place",
        ),
        pytest.param(("- [ ] a", "## Notes", "- [blocked] b"), ["todo a"], id="not-in-notes"),
    ],
)
def test_boxes_without_a_marker(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected
