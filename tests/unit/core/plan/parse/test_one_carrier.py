"""What carries the tasks of a plan: boxes, states, names, lists, in this order of confidence."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task, untick_task
from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import plan_of, shown


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# Roof", "## Phases", "1. Beam", "2. Tiles", "## Phase 1: Beam ✅", "1. Saw it",
             "## Phase 2: Tiles", "- Buy them", "## Execution order", "1. Beam first"),
            ["done Phase 1: Beam", "todo Phase 2: Tiles"],
            id="phases-with-states-and-lists",
        ),
        pytest.param(
            ("# Roof", "## Phase 1 (done)", "- Saw it", "## Phase 2 (in progress)", "1. Buy them"),
            ["done Phase 1", "inProgress Phase 2"],
            id="phases-with-states-in-words",
        ),
        pytest.param(
            ("# Roof", "## Phase 1", "**Status:** Complete", "1. Saw it", "## Phase 2", "1. Buy"),
            ["done Phase 1", "todo Phase 2"],
            id="phases-with-a-line-for-the-state",
        ),
        pytest.param(
            ("# Roof", "## Phase 1 (done)", "1. ✅ Saw it", "2. Nail it 🔴"),
            ["done Saw it", "todo Nail it"],
            id="lines-with-states-of-their-own",
        ),
        pytest.param(
            ("# Roof", "| Phase | State |", "|-|-|", "| 0. Beam | Done, 94 % oak |",
             "| 1. Tiles | Not started |", "## Phase 0", "1. Saw it", "## Phase 1", "1. Buy them"),
            ["done 0. Beam", "todo 1. Tiles"],
            id="a-table-of-phases",
        ),
        pytest.param(
            ("# Roof", "**For:**", "1. Houses", "2. Barns", "## Phase 0 — Beam", "- Saw it"),
            ["todo Phase 0 — Beam"],
            id="a-list-below-the-title-beside-phases",
        ),
        pytest.param(
            ("# Roof", "## Key changes", "- Saw the beam", "  - evenly", "## Tests", "- Rain"),
            ["todo Saw the beam"],
            id="bullets-of-changes",
        ),
        pytest.param(
            ("# Roof", "## Changes", "- Saw the beam", "## Phase 1", "- Nail it"),
            ["todo Phase 1"],
            id="bullets-of-changes-beside-phases",
        ),
        pytest.param(
            ("# Roof", "## Changes", "- Saw it", "", "| Thing | State |", "|-|-|", "| Oil | wip |"),
            ["inProgress Oil"],
            id="bullets-of-changes-beside-a-table",
        ),
        pytest.param(
            ("# Roof", "## Phase 1", "### Beam", "1. Saw it", "### Notes", "1. Oak is hard"),
            ["todo Saw it"],
            id="parts-of-a-phase",
        ),
        pytest.param(
            ("# Roof", "## Sawing (L, done)", "- a", "## Nailing (M)", "- b", "## Oiling (S; wip)"),
            ["done Sawing", "todo Nailing (M)", "inProgress Oiling"],
            id="some-headings-with-states-in-words",
        ),
        pytest.param(
            ("# Roof", "## Sawing (done)", "- a", "## Nailing", "- b"), [], id="one-is-no-pattern"
        ),
        pytest.param(
            ("# Roof", "## Built (done)", "### Beam", "- a", "## Missing (not built)", "### Tiles"),
            [],
            id="chapters-are-no-tasks",
        ),
        pytest.param(
            ("# Roof", "- [ ] a", "## Sawing (done)", "## Nailing (wip)", "## Phase 2 (pending)"),
            ["todo a"],
            id="states-in-words-beside-boxes",
        ),
        pytest.param(
            ("# Roof", "- [x] a", "## Phase 1 ✅", "## Phase 2 (pending)"),
            ["done a", "done Phase 1", "todo Phase 2"],
            id="states-in-words-beside-signs",
        ),
        pytest.param(("# Roof", "## Rain: open", "## Ice - next", "## UTF-8 - no"), [], id="prose"),
        pytest.param(
            ("# Roof", "## Step 0 — Saw  `[x]`  (`s`)", "## Step 1 — Nail `[ ]`", "## Step 2 [~]"),
            ["done Step 0 — Saw (`s`)", "todo Step 1 — Nail", "inProgress Step 2"],
            id="boxes-behind-words",
        ),
        pytest.param(
            ("1. [✅] Saw", "2. [⏳] Nail", "3. [ ] Oil", "4. [✔️] Buy", "5. [🚫] Paint"),
            ["done Saw", "inProgress Nail", "todo Oil", "done Buy", "blocked Paint"],
            id="emoji-in-boxes",
        ),
        pytest.param(
            ("# 지붕", "## T2-01. 톱질", "상태: `DONE`", "## T2-02. 못질", "상태: `TODO`",
             "## 끝", "- [x] a"),
            ["done 톱질", "todo 못질", "done a"],
            id="a-state-in-korean",
        ),
        pytest.param(
            ("# Mái", "| Cụm | Trạng thái |", "|-|-|", "| Xà | XONG |", "| Ngói | MỘT PHẦN |"),
            ["done Xà", "inProgress Ngói"],
            id="a-table-in-vietnamese",
        ),
        pytest.param(
            ("# Atap", "## Langkah implementasi", "1. Gergaji", "## Catatan", "1. Kayu jati"),
            ["todo Gergaji"],
            id="steps-in-indonesian",
        ),
        pytest.param(
            ("# 屋根", "## Step 1", "**状態 (Status)**: Complete", "## Step 2"),
            ["done Step 1", "todo Step 2"],
            id="a-label-in-two-languages",
        ),
        pytest.param(
            ("# Roof", "## Step 1", "### Beam", "1. Saw", "### What the beam bears", "1. Tiles",
             "## Resolved questions", "### 1. Oak? (resolved)", "### 2. Pine? (resolved)"),
            ["todo Saw"],
            id="explanations-and-questions",
        ),
        pytest.param(
            ("# TODO", "## Oak", "- Host: shed", "## Implementation plan ✓", "### Beam", "1. ✓ Saw",
             "## Setup instructions", "### 1. Ladder", "1. Lean it"),
            ["done Saw"],
            id="steps-in-a-task-file",
        ),
        pytest.param(
            ("# Roof", "## Phase 1", "1. Saw", "## Deployment checklist", "- [ ] It is dry"),
            ["todo Saw", "todo It is dry"],
            id="a-checklist-of-criteria",
        ),
        pytest.param(
            ("# Roof", "## What was done", "### Completed", "1. Saw", "## What remains", "1. Nail"),
            ["done Saw", "todo Nail"],
            id="what-remains",
        ),
        pytest.param(
            ("# Roof", "## Remaining small things", "- Oil", "## Board", "- Three: `Todo | Done`"),
            ["todo Oil"],
            id="states-in-code",
        ),
        pytest.param(
            ("# Roof", "## Commit 01: Saw", "- x", "## Commit 02: Nail", "- y", "## Rules", "- z"),
            ["todo Commit 01: Saw", "todo Commit 02: Nail"],
            id="counted-headings",
        ),
        pytest.param(
            ("# Roof", "## Commit 01: Saw (M, done)", "- x", "## Commit 02: Nail", "- y"),
            ["done Commit 01: Saw", "todo Commit 02: Nail"],
            id="counted-with-a-remark",
        ),
        pytest.param(("# Roof", "## Commit 01: Saw", "- x"), [], id="counted-once"),
        pytest.param(
            ("# Roof", "## Option 1: Oak", "- x", "## Option 2: Pine", "- y"), [], id="options"
        ),
        pytest.param(
            ("# Roof", "## Commit 1: a", "## Commit 2: b", "## Phase 1: c", "- d"),
            ["todo Phase 1: c"],
            id="counted-beside-phases",
        ),
        pytest.param(
            ("# Roof", "### RR-1 · Saw", "text", "### RR-2 · Nail"),
            ["todo RR-1 · Saw", "todo RR-2 · Nail"],
            id="an-id-and-a-dot",
        ),
        pytest.param(
            ("# TODO", "## Beam", "    * Saw it", "    * Nail it", "", "    code"),
            ["todo Saw it", "todo Nail it"],
            id="a-list-indented-below-its-heading",
        ),
        pytest.param(
            ("# TODO", "## Beam", "", "    * Saw it", "## Tiles", "    $ make"), [], id="code"
        ),
    ],
)  # fmt: skip
def test_one_kind_of_line_carries_the_tasks(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


def test_what_a_heading_skips_is_optional() -> None:
    plan = plan_of(
        "- [ ] a", "## P2 — Paint (skipped for now)", "- [ ] b", "## Oil (deferred)", "1. c"
    )
    assert [(task.title, task.optional) for task in plan.tasks] == [("a", False), ("b", True)]


def test_a_finished_plan_reports_no_line_that_repeats_its_steps() -> None:
    text = (
        "# Roof\n\n## Overview of phases\n1. **Phase 1: Beam**\n\n## Phase 1: Beam ✅\n- Saw it\n"
    )
    assert parse_markdown(text).guesses == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("1. [⏳] Saw", "1. [x] Saw"),
        ("## Step 1 — Saw `[ ]` (`s`)", "## Step 1 — Saw `[x]` (`s`)"),
        ("## Step 1\n\n상태: 대기", "## Step 1\n\n상태: 완료"),
        ("## Step 1\n\n状态：未开始", "## Step 1\n\n状态：已完成"),  # noqa: RUF001
    ],
)
def test_states_are_written_where_they_are(before: str, after: str) -> None:
    (task,) = parse_markdown(before).plan.tasks
    assert tick_task(before, task.id) == after
    (ticked,) = parse_markdown(after).plan.tasks
    (opened,) = parse_markdown(untick_task(after, ticked.id)).plan.tasks
    assert opened.state.value == "todo"


def test_a_circle_in_front_of_a_phase_may_be_a_colour() -> None:
    parsed = parse_markdown("# Roof\n\n## 🟢 Phase 1\n\n## ✅ Phase 2\n")
    assert [guess.lines for guess in parsed.guesses] == [(2,)]


def test_a_table_of_what_is_there_holds_no_tasks() -> None:
    assert shown(
        "# Roof", "## What already exists", "| Part | Status |", "|-|-|", "| Beam | ✅ Done |",
        "## Phase 0: Tiles", "- Buy them", "## Phase 1: Paint", "- Buy it",
    ) == ["todo Phase 0: Tiles", "todo Phase 1: Paint"]  # fmt: skip


def test_headings_read_for_their_company_are_reported() -> None:
    parsed = parse_markdown("# Roof\n\n## Commit 1: Saw\n\n## Commit 2: Nail\n")
    assert [guess.cause for guess in parsed.guesses] == [GuessCause.HEADINGS]
