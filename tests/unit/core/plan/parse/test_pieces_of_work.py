"""Which of a heading, its fields and its lists is the piece of work, and which describes it."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task, untick_task
from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import plan_of, shown


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
    lines = (
        "# P",
        "## P0",
        "- Saw",
        "1. Nail",
        "## To do: P1",
        "- Oil",
        "## Low",
        "### Attic",
        "- Dust",
    )
    assert guesses_in(*lines) == {GuessCause.LINES: (2, 8)}


def test_fields_of_no_heading_are_reported() -> None:
    lines = ("# P", "## P0", "**Beam**", "- **File**: a", "- **Problem**: b", "## To do", "- Oil")
    assert guesses_in(*lines) == {GuessCause.UNREAD_LINES: (3, 4)}


def test_fields_of_a_heading_are_part_of_it() -> None:
    lines = ("# P", "## P0", "### Beam", "- **File**: a", "- **Problem**: b")
    assert guesses_in(*lines) == {GuessCause.HEADINGS: (2,)}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# P", "### Step 1: Beam **DONE**", "1. Saw", "### Step 2: Tiles **Complete**", "- a",
             "### Step 3: Oil **ERLEDIGT**", "### Step 4: Dust **IN PROGRESS**"),
            ["done Step 1: Beam", "done Step 2: Tiles", "done Step 3: Oil",
             "inProgress Step 4: Dust"],
            id="a-state-in-bold",
        ),
        pytest.param(
            ("# P", "## Phase 1: Beam **COMPLETE**", "### 1.1 Saw", "## Phase 2: Tiles",
             "### 2.1 Keep it **open**", "### 2.2 The **Beam**"),
            ["done 1.1 Saw", "todo 2.1 Keep it open", "todo 2.2 The Beam"],
            id="what-is-below-a-state-in-bold",
        ),
        pytest.param(
            ("# P", "## Phase 1", "- [ ] T001 Saw", "- [x] T002 Nail", "## Key notes",
             "### Beam ✅ COMPLETE", "### Tiles ❌ NEEDED", "## Task 3 (done)"),
            ["todo Saw", "done Nail"],
            id="spec-kit-has-boxes-only",
        ),
        pytest.param(
            ("# P", "## Current State Analysis", "### ✅ Already Implemented", "- Beam",
             "### ❌ Missing/Incomplete", "- Tiles", "## Roof", "#### Step 1: Tiles"),
            ["todo Step 1: Tiles"],
            id="findings-of-an-analysis",
        ),
        pytest.param(
            ("# P", "## ✅ Already implemented", "| Part | Status |", "|-|-|", "| Beam | ✅ |",
             "## ❌ Missing", "| Part | Status |", "|-|-|", "| Tiles | ❌ |"),
            ["done Beam", "todo Tiles"],
            id="groups-of-rows",
        ),
        pytest.param(
            ("# P", "### 2.1 System architecture", "#### Step 1: Beam", "#### 2. Reader",
             "## Roof algorithm", "### Step 1: In"),
            ["todo Step 1: Beam"],
            id="steps-of-a-part-about-architecture",
        ),
        pytest.param(
            ("# P", "## Phase 1: Fixes", "### 1.1 History", "### 1.2 Leaks", "### 1.3 Overview"),
            ["todo 1.1 History", "todo 1.2 Leaks"],
            id="a-part-named-like-prose",
        ),
        pytest.param(
            ("# P", "### Phase 1: Beam", "#### 1.1 Finished scripts", "1. a.py", "#### 1.2 Saw",
             "### Phase 2: Tiles", "#### 2.1 现有检测脚本", "#### 2.2 Existing users move"),
            ["todo 1.2 Saw", "todo 2.2 Existing users move"],
            id="parts-that-are-there",
        ),
        pytest.param(
            ("# P", "### Phase 1: Beam", "#### 1.1 Techniques", "## Execution steps（safe）",  # noqa: RUF001
             "### Step 1: Saw", "#### 1.1 How", "### Step 2: Nail"),
            ["todo Phase 1: Beam", "todo 1.1 How", "todo Step 2: Nail"],
            id="steps-to-execute-beside-phases",
        ),
        pytest.param(
            ("# R", "## Next (0.3)", "- Saw", "## Later", "- Oil", "  - often", "## Not planned",
             "- Paint"),
            ["todo Saw", "todo Oil"],
            id="later-beside-next",
        ),
        pytest.param(
            ("# R", "### 🚧 In Progress", "- **Saw** (Next)", "- Nail (done)", "- ⬜ Oil",
             "1. Dust", "## To do", "- Paint"),
            ["inProgress Saw", "done Nail", "todo Oil", "inProgress Dust", "todo Paint"],
            id="below-in-progress",
        ),
        pytest.param(
            ("# R", "## In progress", "### 1. Saw", "- a", "### Nails", "- [ ] b"),
            ["inProgress 1. Saw", "todo b"],
            id="boxes-below-in-progress",
        ),
        pytest.param(
            ("# P", "#### Step 1: Saw", "- **Content**: x", "#### Step 2: Nail", "- **Checks**:",
             "  - [ ] It holds", "  - [x] It is straight", "#### Step 3: Oil", "- x"),
            ["todo Step 1: Saw", "todo Step 2: Nail", "todo Step 3: Oil"],
            id="boxes-in-a-bullet-of-one-step",
        ),
        pytest.param(
            ("# P", "## Phase 1", "- Beam", "  - [x] Saw", "## Phase 2", "- Tiles", "  - [ ] Nail"),
            ["done Saw", "todo Nail"],
            id="boxes-in-bullets-of-most-phases",
        ),
        pytest.param(
            ("# P", "## Step 1", "1. Beam", "   - [x] Saw", "## Step 2", "## Step 3"),
            ["done Saw"],
            id="boxes-in-numbered-lines",
        ),
        pytest.param(
            ("# P", "## Step 1", "- [ ] Beam", "  - [x] Saw", "## Step 2", "## Step 3"),
            ["todo Beam", "  done Saw"],
            id="boxes-in-boxes",
        ),
    ],
)  # fmt: skip
def test_what_is_a_task_of_its_own(lines: tuple[str, ...], expected: list[str]) -> None:
    plan = plan_of(*lines, optional_sections=("later",))
    shown_tasks = ["  " * task.depth + f"{task.state} {task.title}" for task in plan.tasks]
    assert shown_tasks == expected


def test_boxes_of_one_step_are_its_criteria_also_when_all_are_ticked() -> None:
    lines = ("# P", "## Step 1", "## Step 2", "- **Checks**:", "  - [x] It holds", "## Step 3")
    assert [task.criteria for task in plan_of(*lines).tasks] == [(), ("It holds",), ()]
    assert guesses_in(*lines) == {GuessCause.HEADINGS: (1, 2, 5)}


def test_what_is_later_is_optional() -> None:
    lines = ("# R", "## Next", "- Saw", "## Later", "- Oil")
    tasks = plan_of(*lines, optional_sections=("later",)).tasks
    assert [task.optional for task in tasks] == [False, True]


def test_a_section_that_a_state_in_bold_defers_is_optional() -> None:
    assert plan_of("# P", "## Tasks **DEFERRED**", "- Saw").tasks[0].optional


def test_findings_and_parts_that_are_there_are_reported() -> None:
    lines = (
        *("# P", "## Current State", "### Missing", "- Tiles"),
        *("## Phase 1", "### 1.1 Finished scripts", "### 1.2 Saw"),
    )
    found = guesses_in(*lines)
    assert found[GuessCause.UNREAD_LINES] == (3,)
    assert found[GuessCause.UNREAD_HEADINGS] == (5,)


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        pytest.param(
            ("## 9. 개발 단계", "| 단계 | 내용 |", "|-|-|", "| 0 | 배포 |"),
            (4,),
            id="korean",
        ),
        pytest.param(
            ("## 일정", "| 단계 | 내용 |", "|-|-|", "| 0 | a |", "| x |"),
            (4,),
            id="any-name",
        ),
        pytest.param(
            ("## Rollout", "| What | Phase |", "|-|-|", "| a | Phase 1 |", "| b |"),
            (4,),
            id="a-part",
        ),
        pytest.param(
            ("## 进度", "| 阶段 | 工时 |", "|-|-|", "| 阶段1 | 2 |"),
            (4,),
            id="names",
        ),
        pytest.param(
            ("## Areas", "| Module | Where |", "|-|-|", "| Beam | a |"),
            (),
            id="modules",
        ),
        pytest.param(
            ("## Gates", "| Phase | Status |", "|-|-|", "| 1 | done |"),
            (),
            id="states",
        ),
        pytest.param(
            ("## Goals", "| Phase | What |", "|-|-|", "| 1 | Saw |"),
            (),
            id="prose",
        ),
        pytest.param(
            ("## Later", "| Phase | What |", "|-|-|", "| 1 | Saw |"),
            (),
            id="later",
        ),
        pytest.param(
            ("## Rollout", "| Phase | What |", "|-|-|", "| 1 | Saw |", "## Phase 1", "- [ ] Saw"),
            (),
            id="phases-with-tasks",
        ),
    ],
)  # fmt: skip
def test_tables_of_phases_are_reported_beside_boxes(
    lines: tuple[str, ...], rows: tuple[int, ...]
) -> None:
    text = "\n".join(("# P", *lines, "## Others", "- [ ] a"))
    guesses = parse_markdown(text, optional_sections=("later",)).guesses
    found = [one.lines for one in guesses if one.cause is GuessCause.UNREAD_ROWS]
    assert found == ([rows] if rows else [])


@pytest.mark.parametrize(
    ("heading", "ticked"),
    [
        pytest.param("## Step 1: Saw **IN PROGRESS**", "## Step 1: Saw **DONE**", id="capitals"),
        pytest.param("## Phase 1 **In progress**", "## Phase 1 **Done**", id="a-phase"),
    ],
)
def test_a_state_in_bold_is_written_where_it_is(heading: str, ticked: str) -> None:
    text = f"# P\n{heading}\nWide.\n## Step 2: Nail\n"
    first = parse_markdown(text).plan.tasks[0].id
    done = tick_task(text, first)
    assert done == text.replace(heading, ticked)
    assert [task.state for task in parse_markdown(untick_task(done, first)).plan.tasks] == [
        "todo",
        "todo",
    ]


def test_a_task_below_in_progress_can_be_ticked() -> None:
    text = "# P\n## In progress\n- Saw\n- Nail\n"
    ticked = parse_markdown(tick_task(text, parse_markdown(text).plan.tasks[0].id)).plan
    assert [task.state for task in ticked.tasks] == ["done", "inProgress"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# P", "## Proposed changes", "### Lexer", "#### [NEW] [a.py](file:///a.py)",
             "- Read.", "#### [DELETE] `b.py`", "## Verification plan", "- Run it."),
            ["todo [NEW] [a.py](file:///a.py)", "todo [DELETE] `b.py`"],
            id="headings",
        ),
        pytest.param(
            ("# P", "Text.", "### Lexer", "- **[NEW] `a.py`**:", "  - Read.", "- [MODIFY] b.py",
             "- c"),
            ["todo [NEW] `a.py`:", "todo [MODIFY] b.py"],
            id="bullets",
        ),
        pytest.param(
            ("# P", "## Phase 1", "#### [NEW] a.py", "- Read."), ["todo Phase 1"], id="of-a-phase"
        ),
        pytest.param(
            ("# P", "### 1. Lexer", "#### [NEW] a.py", "## To do", "1. b"),
            ["todo b"],
            id="of-a-list",
        ),
    ],
)  # fmt: skip
def test_changes_of_files_are_tasks_where_nothing_else_is(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    assert shown(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("## Step 1: A", "1. a", "2. b", "## Step 2: B", "- c (done)", "## Step 3: C", "Text."),
            ["todo Step 1: A", "todo Step 2: B", "todo Step 3: C"],
            id="few",
        ),
        pytest.param(
            ("## Step 1: A", "1. a", "## Step 2: B", "1. b", "## Step 3: C", "Text."),
            ["todo a", "todo b", "todo Step 3: C"],
            id="most",
        ),
        pytest.param(
            ("## Step 1: A", "1. a", "## Step 2: B", "### Part", "1. b", "## Step 3: C", "1. c"),
            ["todo a", "todo b", "todo c"],
            id="divided",
        ),
    ],
)
def test_lists_of_few_steps_of_a_family_describe_them(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    assert shown(*lines) == expected
