"""Shapes of plans that were counted wrongly once, each in words made up for it."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.words.title_states import closing_remark, opening_remark
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_of, shown

BOARD = (
    "# Kettle: tasks",
    "## In progress",
    "### Task 1: Boil ✅ MOSTLY DONE",
    "- **Status**: heats, no whistle yet",
    "- **Owner**: Ada",
    "### Whistle",
    "- **Goal**: be heard in the next room",
    "- a detail",
    "## Up next",
    "### Sell it (P0)",
    "- Ask three shops",
    "- **Estimated**: 2 days",
    "### Without fields",
    "- a plain bullet",
)
QUEUE = (
    "## Already there (2/4)",
    "| # | Toy | Kind | Status |",
    "|---|---|---|---|",
    "| 1 | Spinning top | Wooden things | Done |",
    "| 2 | Kite | Things that fly high | Done |",
    "## Implementation queue (by size)",
    "### Tier 1: small",
    "#### 3. Yo-yo",
    "- **Description**: goes up and down",
    "  1. Cut the disc",
    "#### 4. Marble",
    "- **Estimated**: 10 lines",
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("## Legende", "- [x] Fertig (mit Tests)", "- [~] Teilweise", "- [ ] Offen",
             "## Offene Aufgaben", "- [ ] a"),
            ["todo a"],
            id="a-legend-with-boxes",
        ),
        pytest.param(
            ("# TODO", "## 本阶段已完成", "- a", "## Just completed", "- b", "## 下一步", "- c",
             "## 當前進度", "**狀態**: 進行中", "## Status: ready for the roof ✅",
             "## Roof status: ✅ FINE", "## Fix status: wrong colour"),
            ["done a", "done b", "todo c"],
            id="what-is-done-and-where-things-stand",
        ),
        pytest.param(
            ("# Roof", "## 1. ❌ It leaks", "## 2. ❌ It creaks", "## 3. ⚠️ It is grey",
             "## Phase 1", "- [ ] Saw"),
            ["todo Saw"],
            id="problems-with-a-cross",
        ),
        pytest.param(
            ("# Repairs", "> 🔴 CRITICAL · 🟠 HIGH · 🟢 LOW", "## Roof", "### 🔴 A1. Leak", "x",
             "### 🟢 A2. Moss", "### 🟠 A3. Gutter"),
            ["todo A1. Leak", "todo A2. Moss", "todo A3. Gutter"],
            id="circles-for-how-grave-it-is",
        ),
        pytest.param(
            ("# Roof", "## 3. Principios", "### P1 — Dry", "- No leak", "### P6 — Warm", "- Wool"),
            [],
            id="principles-with-numbers",
        ),
        pytest.param(
            ("# Roof", "## Parts", "- ✅ Beam", "- ⏳ Tiles", "- ❌ Gutter", "## Sizes",
             "### Beam (✅ COMPLETE)", "- long", "### Tiles", "- square"),
            ["done Beam", "inProgress Tiles", "todo Gutter"],
            id="a-list-of-states-beside-one-heading",
        ),
        pytest.param(
            ("# Roof", "## To do", "- [ ] Saw", "## Métricas de éxito", "- [ ] Dry", "## Later on",
             "- [ ] Nail"),
            ["todo Saw", "todo Dry", "todo Nail"],
            id="metrics-in-spanish",
        ),
        pytest.param(
            ("# 实施计划", "## 第一阶段:屋顶(本次完成)", "x", "## 第二阶段:窗户", "y"),
            ["done 第一阶段:屋顶", "todo 第二阶段:窗户"],
            id="completed-this-time-in-chinese",
        ),
        pytest.param(
            ("# Roof", "## Recommended build path", "1. Saw", "2. Nail"),
            ["todo Saw", "todo Nail"],
            id="a-build-path",
        ),
        pytest.param(
            ("## 任務", "- [ ] a", "## 驗證檢查清單", "- [ ] b", "## 實施說明", "- c"),
            ["todo a", "todo b"],
            id="traditional-chinese",
        ),
        pytest.param(
            ("## Overview", "| Sign | Meaning |", "|---|---|", "| [ ] | open |",
             "## Plan", "- [ ] a"),
            ["todo a"],
            id="a-table-of-signs",
        ),
        pytest.param(
            ("# 📝 Pond", "## 🎯 Goal", "## 🏗️ Shape", "## Phase 1", "- [ ] dig",
             "## 🔄 Things for another year", "## 🟢 1. Frogs"),
            ["todo dig", "done 1. Frogs"],
            id="emoji-that-decorate",
        ),
        pytest.param(
            ("# Pond", "## Phase 1", "- [ ] dig", "## 🚧 Frogs", "**Status**: done", "## ⬜ Fish"),
            ["todo dig", "done Frogs", "todo Fish"],
            id="emoji-that-are-states",
        ),
        pytest.param(
            ("# Pond", "- [x] dig", "## 🚧 Frogs", "## ⬜ Fish"),
            ["done dig", "todo Fish"],
            id="emoji-in-a-finished-plan",
        ),
        pytest.param(
            ("# 方案", "## 一、最高优先级", "### 1. 甲", "- 说明", "## 二、中等优先级",
             "### 2. 乙（已完成）"),  # noqa: RUF001
            ["todo 1. 甲", "done 2. 乙"],
            id="chapters-with-chinese-numbers",
        ),
        pytest.param(
            ("# Plan", "## Why", "1. it leaks", "2. it drips", "## Fix",
             "### Fix 1: Turn the tap", "### Fix 2: Call Bob"),
            ["todo Fix 1: Turn the tap", "todo Fix 2: Call Bob"],
            id="fixes",
        ),
        pytest.param(
            ("# Plan", "## Issues", "1. it leaks", "## Proposed fixes", "### 1. Turn it",
             "### 2. Bob"),
            ["todo 1. Turn it", "todo 2. Bob"],
            id="proposed-fixes",
        ),
        pytest.param(
            ("# Plan", "## BATCH 1: Doors", "### 1. Hinge", "- oil", "## Batch 2", "### 2. Lock"),
            ["todo 1. Hinge", "todo 2. Lock"],
            id="batches",
        ),
        pytest.param(
            ("# Plan", "## Phase 1 — Walls", "1. a brick", "2. another", "## Phase 2 — Roof",
             "1. a beam", "## Status", "| Phase | Status |", "|---|---|",
             "| Phase 1 — Walls | ✅ Done |", "| Phase 2 — Roof | pending |"),
            ["done Phase 1 — Walls", "todo Phase 2 — Roof"],
            id="a-table-of-phases",
        ),
        pytest.param(
            BOARD,
            ["inProgress Task 1: Boil", "inProgress Whistle",
             "todo Ask three shops", "todo a plain bullet"],
            id="headings-that-are-described",
        ),
        pytest.param(
            QUEUE,
            ["done Spinning top", "done Things that fly high", "todo 3. Yo-yo", "todo 4. Marble"],
            id="a-table-of-what-is-done-and-a-queue",
        ),
        pytest.param(
            ("## Tasks", "### 1. Yo-yo", "### 2. Kite", "## State", "| Toy | Status |", "|---|---|",
             "| Yo-yo | done |", "| Kite | done |"),
            ["done Yo-yo", "done Kite"],
            id="a-table-about-the-headings",
        ),
        pytest.param(
            ("# Plan", "## Current repo state", "### ⬜ Stubs only", "## Phase 0 — Ports", "- x"),
            ["todo Phase 0 — Ports"],
            id="what-is-there",
        ),
        pytest.param(
            ("# Plan", "## Step 1: Dig", "## Step 2: Fill", "## Success criteria by step",
             "- [ ] it holds"),
            ["todo Step 1: Dig", "todo Step 2: Fill", "todo it holds"],
            id="boxes-for-criteria-alone",
        ),
        pytest.param(
            ("# Plan", "### Task 1: Dig", "### Task 2: Fill", "## Test checklist", "- [ ] holds"),
            ["todo Task 1: Dig", "todo Task 2: Fill", "todo holds"],
            id="boxes-of-a-checklist-of-tests-alone",
        ),
        pytest.param(
            ("# Plan", "## Step 1: Dig", "## Success criteria", "- [x] it holds"),
            ["done it holds"],
            id="criteria-that-are-met",
        ),
        pytest.param(
            ("# Plan", "## Phase 1", "1. Dig [DONE]", "2. Fill [DONE]", "## Success criteria",
             "- [x] it holds"),
            ["done Dig", "done Fill", "done it holds"],
            id="criteria-that-are-met-after-the-steps",
        ),
        pytest.param(
            ("## 1. Research", "- [x] 1.1 Look", "## 2. Design", "- [ ] 2.1 Draw", "## 3. Build",
             "- [ ] 3.1 Saw", "## Architecture", "- [ ] beams first", "## 4. Risks", "- [ ] rain"),
            ["done 1.1 Look", "todo 2.1 Draw", "todo 3.1 Saw", "todo beams first", "todo rain"],
            id="stages-of-the-work",
        ),
        pytest.param(
            ("# 屋根", "## 実装済み", "1. 梁", "## 次のデータ拡張", "- 瓦", "## 目標検索", "雨"),
            ["done 梁", "todo 瓦"],
            id="next-extensions-in-japanese",
        ),
        pytest.param(
            ("# Plan", "## P0 — Leaks", "None.", "## P4 — Paint", "### 1. Oil", "- **Why**: dry",
             "## P5 — Sale", "### 1. Post", "- **Why**: money"),
            ["todo 1. Oil", "todo 1. Post"],
            id="any-number-of-priorities",
        ),
        pytest.param(
            ("# Plan", "## Phase 1", "**Path**:", "0. Ground", "1. First floor"),
            ["todo Ground", "todo First floor"],
            id="counted-from-zero",
        ),
        pytest.param(
            ("# Plan", "## Order of work", "1. **Done: Paint.**", "2. Dry", "3. In progress: Hang"),
            ["done Paint.", "todo Dry", "inProgress Hang"],
            id="a-state-in-front",
        ),
        pytest.param(
            ("# Plan", "## Milestone 1: Ship - PLANNING COMPLETE ✅", "**Status**: Ready to begin",
             "#### Priority tasks", "1. Load", "## Milestone 2: Sail"),
            ["todo Load", "todo Milestone 2: Sail"],
            id="planned-is-not-done",
        ),
        pytest.param(
            ("# Plan", "## Phase 1: a", "## Phase 2 to phase 3 data", "- x"),
            ["todo Phase 1: a"],
            id="about-two-phases",
        ),
        pytest.param(
            ("- [ ] ~~Weigh it~~ — the scale is gone", "- [ ] ~~Red~~ Blue"),
            ["done Weigh it", "todo ~~Red~~ Blue"],
            id="struck-out-with-a-reason",
        ),
        pytest.param(
            ("## 완료된 작업 ✅", "- 가", "## 진행 중인 작업 🔄", "### 나", "- 세부",
             "## 남은 작업", "- [ ] 다"),
            ["done 가", "todo 다"],
            id="groups-in-korean",
        ),
        pytest.param(
            ("# Kettle plan", "## Phase 1: Lid", "**Goal:** it fits.", "**How steam goes:**",
             "1. up", "2. out", "", "**Tasks:**", "1. Cut it", "2. Bend it", "",
             "**Afterwards:**", "1. x", "## Phase 2: Spout", "**Parts**", "1. Solder"),
            ["todo Cut it", "todo Bend it", "todo Solder"],
            id="a-label-for-tasks-beside-others",
        ),
        pytest.param(
            ("# Fixes", "## Proposed modifications", "### lid.py", "1. Round it", "### Why",
             "- it leaks", "### Notes", "1. x"),
            ["todo Round it"],
            id="parts-of-a-section-for-steps",
        ),
        pytest.param(
            ("## Status", "### Completed", "- **Phase 1.1: Lid**", "  - detail",
             "### Remaining phases", "**Phase 1**", "- 1.2: Spout", "**Phase 2:**",
             "- 2.1: Handle"),
            ["done Phase 1.1: Lid", "todo 1.2: Spout", "todo 2.1: Handle"],
            id="remaining-phases",
        ),
        pytest.param(
            ("# PLAN", "## 2. Ordered task list", "- **TASK-01:** Cut", "- **TASK-02:** Bend"),
            ["todo Cut", "todo Bend"],
            id="a-numbered-section-of-bullets",
        ),
        pytest.param(
            ("# Kettle", "## M0 — Base", "3. Cut", "4. Bend", "## M1-LID", "1. Lid"),
            ["todo Cut", "todo Bend", "todo Lid"],
            id="milestones-by-number",
        ),
        pytest.param(
            ("- [V] Cut", "- [v] Bend", "- [✓] Weld", "- [?] Paint", "- [P] Sell"),
            ["done Cut", "done Bend", "done Weld", "todo Paint"],
            id="other-ticks",
        ),
        pytest.param(
            ("1. **[x] Cut** the sheet", "2.  **[ ] Bend `it`**: twice", "   * how"),
            ["done Cut the sheet", "todo Bend `it`: twice"],
            id="boxes-in-bold-words",
        ),
        pytest.param(
            ("# Story", "## Tasks", "### Task 1: Cut", "- `cut.py` (new)", "### Task 2: Bend",
             "1. how"),
            ["todo Task 1: Cut", "todo Task 2: Bend"],
            id="tasks-as-headings-below-tasks",
        ),
        pytest.param(
            ("# Fix plan - feedback", "## Spout", "### 1. Shorten", "- why", "### 2. Round",
             "## Risks", "### 3. It leaks"),
            ["todo 1. Shorten", "todo 2. Round"],
            id="numbered-headings-in-the-parts-of-a-fix-plan",
        ),
        pytest.param(
            ("# R", "## Kettle", "- Done: Cut", "- In progress: Bend"),
            ["done Cut", "inProgress Bend"],
            id="states-in-front-of-bullets",
        ),
        pytest.param(
            ("# R", "## Phase 2", "### Stream", "1. [TODO] Cut", "2. [DONE] Bend",
             "3) [pending] Sell"),
            ["todo Cut", "done Bend", "todo Sell"],
            id="tags-for-open-tasks",
        ),
        pytest.param(
            ("# R", "## What was done", "### Batch 1: Cut", "## To do", "1. [in_progress] Bend"),
            ["done Batch 1: Cut", "inProgress Bend"],
            id="what-was-done",
        ),
        pytest.param(
            ("# P", "## Steps", "1. Cut", "## Acceptance checks", "1. It holds"),
            ["todo Cut"],
            id="acceptance-checks",
        ),
        pytest.param(
            ("# Plan", "## Задачи", "| Задача | Статус |", "|---|---|",
             "| Cut | готово |", "| Bend | в работе |"),
            ["done Cut", "inProgress Bend"],
            id="a-russian-table",
        ),
        pytest.param(
            ("# Plan", "## Faza 1", "1. Cut", "## Zrobione", "- Bend", "## Kryteria akceptacji",
             "1. holds"),
            ["todo Cut", "done Bend"],
            id="polish-phases",
        ),
        pytest.param(
            ("# Plan", "## Stap 1", "1. Cut", "2. Bend (afgerond)", "## Doel", "1. hold"),
            ["todo Cut", "done Bend"],
            id="dutch-steps",
        ),
    ],
)  # fmt: skip
def test_counted_as_a_person_counts(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


def test_what_is_guessed_is_reported() -> None:
    causes = [(guess.cause, len(guess.lines)) for guess in parse_markdown("\n".join(QUEUE)).guesses]
    assert causes == [(GuessCause.TABLE, 2), (GuessCause.HEADINGS, 2)]
    table = "# P\n## Phase 1\n1. a\n\n| Phase | Status |\n|---|---|\n| Phase 1 | done |\n"
    assert [guess.cause for guess in parse_markdown(table).guesses] == [GuessCause.TABLE]


@pytest.mark.parametrize(
    ("lines", "guesses"),
    [
        pytest.param(
            ("## Done", "- [x] a", "## Remaining items (by size)", "### P6: Whistle", "> Not yet."),
            [(GuessCause.UNREAD_HEADINGS, (3,))],
            id="a-section-for-tasks-without-one",
        ),
        pytest.param(
            ("## Tasks", "### Notes", "x", "### About", "## Goal", "### Whistle", "x"),
            [],
            id="none-of-these",
        ),
        pytest.param(
            ("## Tasks", "- [ ] a", "### Detail", "x"), [], id="a-section-with-a-task",
        ),
        pytest.param(
            ("## Teil eins", "### 1.1. Deckel ✅", "x", "### 1.2. Tülle", "x", "### Wozu", "x",
             "## 2. Teil", "y"),
            [(GuessCause.HEADINGS, (1,)), (GuessCause.UNREAD_HEADINGS, (3,))],
            id="a-number-beside-a-finished-number",
        ),
        pytest.param(
            ("## What works", "x", "### ✅ Boils", "y", "### ❌ Whistles", "z"),
            [(GuessCause.HEADINGS, (2, 4))],
            id="headings-with-a-sign-in-front",
        ),
    ],
)  # fmt: skip
def test_headings_that_may_be_read_wrongly_are_reported(
    lines: tuple[str, ...], guesses: list[tuple[GuessCause, tuple[int, ...]]]
) -> None:
    found = parse_markdown("\n".join(lines)).guesses
    assert [(guess.cause, tuple(guess.lines)) for guess in found] == guesses


def test_the_described_heading_keeps_its_priority() -> None:
    assert [task.priority for task in plan_of(*BOARD).tasks][2] == "P0"


def test_states_in_front_and_behind() -> None:
    assert opening_remark("Done: it") == (TaskState.DONE, 6, (0, 4))
    assert opening_remark("Todo: it") is None, "what is open says nothing"
    assert opening_remark("Name: it") is None
    assert opening_remark("Done") is None
    assert closing_remark("登录（内测版已完成）") == (2, TaskState.DONE)  # noqa: RUF001
    assert closing_remark("登录（未完成）") == (2, TaskState.TODO)  # noqa: RUF001
    assert closing_remark("Design approved ✅") is None


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("## Dates", "| Phase | Work | Status |", "|---|---|---|", "| 1 | Saw | open |",
             "| **Total** | All | open |", "| | Sum | open |"),
            ["todo Saw"],
            id="a-sum-is-no-row",
        ),
        pytest.param(
            ("## Record", "**Alternatives considered**:", "- ❌ Glue", "## Next steps", "1. Saw"),
            ["todo Saw"],
            id="alternatives-are-prose",
        ),
        pytest.param(
            ("## Task DASH-001", "Text.", "### Checklist", "- a", "# Milestone 2"),
            ["todo Task DASH-001"],
            id="a-task-with-a-ticket",
        ),
        pytest.param(
            ("### Phase 1: a", "### Phase 2: b", "#### Phase 2 constants", "### Phase 3: c"),
            ["todo Phase 1: a", "todo Phase 2: b", "todo Phase 3: c"],
            id="a-part-with-the-name-of-the-whole",
        ),
        pytest.param(
            ("### T-001: a", "- **Status**: [x] Done", "## High priority", "- T-001 (setup)",
             "- [P] T-001 and the rest", "- Sell"),
            ["done a", "todo Sell"],
            id="lines-about-tasks",
        ),
        pytest.param(
            ("## Phase 3: a", "Text.", "## Next steps", "1. **Phase 3**: a", "2. Sell"),
            ["todo Phase 3: a", "todo Sell"],
            id="lines-about-phases",
        ),
        pytest.param(
            ("### ❌ Missing", "1. Lid", "### Phase 1: a", "#### Task 1.1: b"),
            ["todo Task 1.1: b"],
            id="findings-beside-tasks",
        ),
        pytest.param(
            ("## ❌ Missing", "1. Lid", "## ✅ There", "- Spout"),
            ["todo Lid", "done There"],
            id="findings-alone",
        ),
        pytest.param(
            ("### 里程碑 1", "1. a", "### 里程碑 2", "1. b"), ["todo a", "todo b"], id="milestones"
        ),
        pytest.param(
            ("## Next steps", "### Option A", "- Sell", "### Option B: late", "1. Keep"), [],
            id="options",
        ),
        pytest.param(
            ("## Found", "- old", "## Phases of execution", "1. Saw"), ["todo Saw"], id="phases-of"
        ),
        pytest.param(
            ("# Plan", "[Overview]", "A roof.", "[Files]", "- New files:", "  - a.js",
             "[Implementation Order]", "1. Saw", "2. Nail"),
            ["todo Saw", "todo Nail"],
            id="parts-in-brackets",
        ),
        pytest.param(
            ("# Plan", "## 🎯 Technical highlights", "- ✅ **Dry**: always"), [], id="highlights"
        ),
        pytest.param(
            ("## Leaks and tiles (todo)", "- Saw", "- Nail"),
            ["todo Saw", "todo Nail"],
            id="things-to-do",
        ),
        pytest.param(("1.锯", "2.钉钉子", "- [ ] c"), ["todo c"], id="numbers-beside-a-box"),
        pytest.param(("1.锯木", "2.钉钉", "1.5倍"), ["todo 锯木", "todo 钉钉"], id="no-blank"),
        pytest.param(
            ("| Gate | Status |", "|---|---|", "| G0 | TECH_PASS |", "| G1 | ✅ 保留入口和图标 |"),
            ["done G0", "done G1"],
            id="passed-and-kept",
        ),
        pytest.param(
            ("### A-1. Beam", "| ID | Task | Note |", "|---|---|---|", "| A-1.1 | Saw | A-9 |",
             "| A-1.2 | A-2 again | x |", "### A-2. Tiles — ✅ all done", "Text.",
             "### A-3. Rain", "| ID | Task |", "|---|---|", "| A-3.1 | Oil |", "| A-3.2 | Wax |"),
            ["todo Saw", "todo A-2 again", "done A-2. Tiles", "todo Oil", "todo Wax"],
            id="tables-beside-a-group-that-is-done",
        ),
        pytest.param(
            ("# Roof", "## Beam", "- [ ] Saw", "## Immediate next steps", "1. Begin with the beam"),
            ["todo Saw"],
            id="next-steps-beside-boxes",
        ),
        pytest.param(
            ("# Roof", "## Completed", "- [x] Saw", "## Next steps", "1. Nail"),
            ["done Saw", "todo Nail"],
            id="next-steps-after-what-is-done",
        ),
        pytest.param(
            ("### Task 1: A", "- [ ] Write", "```markdown", "```bash", "saw", "```", "# More",
             "```", "- [ ] Commit", "```bash", "oil", "```"),
            ["todo Write", "todo Commit"],
            id="a-quoted-document-with-code",
        ),
        pytest.param(
            ("````markdown", "```bash", "- [ ] no", "````", "- [ ] Saw"), ["todo Saw"],
            id="a-quoted-document-in-a-longer-fence",
        ),
        pytest.param(
            ("## Done", "| Part | Status |", "|---|---|", "| Saw | ✅ |", "| Nail | ❌ |",
             "| Oil | Not started |", "| Wax | |"),
            ["done Saw", "todo Nail", "todo Oil", "done Wax"],
            id="rows-of-a-table-of-what-is-done",
        ),
        pytest.param(
            ("## Beam", "- ### [ ] 1. Saw", "  - #### [x] Mark", "- [ ] Nail"),
            ["todo 1. Saw", "  done Mark", "todo Nail"],
            id="boxes-in-headings-in-a-list",
        ),
        pytest.param(
            ("Tasks", "[ ] Saw", "", "Words.", "", "[ ] Nail"), ["todo Saw", "todo Nail"],
            id="a-box-behind-a-line",
        ),
        pytest.param(
            ("### 1.1 Keys", "**Acceptance criteria:**", "- [ ] Delete", "### 1.4 Names",
             "**Acceptance criteria:**", "", "**Path A:**", "- [ ] Rename", "- [ ] Tell"),
            ["todo Delete", "todo Rename", "todo Tell"],
            id="a-label-behind-that-for-criteria",
        ),
        pytest.param(
            ("### T-002: Saw", "- **Status:** ⬜ todo", "- **Pass criteria:**", "  - [ ] It holds"),
            ["todo Saw"],
            id="pass-criteria",
        ),
        pytest.param(
            ("# Implementation plan", "## 1. Saw", "- how", "## 2. Nail", "## 3. Oil", "Text."),
            ["todo 1. Saw", "todo 2. Nail", "todo 3. Oil"],
            id="numbered-chapters-of-a-plan",
        ),
        pytest.param(
            ("# Implementation plan", "## 1. Overview", "- a", "## 2. Nail", "## 3. Oil"), [],
            id="numbered-chapters-of-a-design",
        ),
        pytest.param(
            ("# Plan", "## 1. Saw", "1. how", "## 2. Nail", "## 3. Icebox"),
            [],
            id="numbered-chapters-and-what-is-optional",
        ),
        pytest.param(
            ("# 구현 계획 (plan)", "## 1. 목적", "## 2. 범위", "## 3. 설계"), [],
            id="numbered-chapters-in-other-letters",
        ),
        pytest.param(
            ("## Proposed changes", "#### [NEW] a.ts", "An endpoint that:", "1. Takes", "2. Gives"),
            ["todo [NEW] a.ts"],
            id="numbers-below-a-file",
        ),
        pytest.param(
            ("## Missing login modules", "### 1. Session", "- **Purpose**: x"),
            ["todo 1. Session"],
            id="missing-modules",
        ),
        pytest.param(
            ("## Proposed work plan", "1. Saw (done)", "2. Nail", "3. Oil"),
            ["done Saw", "todo Nail", "todo Oil"],
            id="proposed-work-plan",
        ),
        pytest.param(
            ("## Stages", "1. **Small** - saw", "2. **Big** - nail",
             "## Safety checklist before rain",
             "- [ ] It holds"),
            ["todo Small - saw", "todo Big - nail", "todo It holds"],
            id="a-checklist-beside-stages",
        ),
        pytest.param(
            ("- [ ] T001 Saw", "- [ ] [T002] Nail", "## Validation checklist", "- [x] All sawn",
             "- [ ] T003 Look"),
            ["todo Saw", "todo Nail", "todo Look"],
            id="checks-beside-numbered-tasks",
        ),
        pytest.param(
            ("# Roof", "## Core", "#### 1. Saw", "**Status:** done", "#### 2. Nail",
             "**Status:** open", "## Nice", "#### 3. Oil", "- deep", "#### 5. Rain"),
            ["done 1. Saw", "todo 2. Nail", "todo 3. Oil"],
            id="numbers-that-continue",
        ),
        pytest.param(
            ("### Task 1: Saw", "Text.", "### Task 2: Nail", "Text.", "## Execution order",
             "1. First saw", "## Next steps", "1. Begin"),
            ["todo Task 1: Saw", "todo Task 2: Nail"],
            id="an-order-and-next-steps-beside-headings",
        ),
        pytest.param(
            ("## Deliverables", "| Part | Status |", "|---|---|", "| Beam | ☐ |", "| Tiles | ☐ |",
             "## Open questions", "- [ ] Who saws?"),
            ["todo Beam", "todo Tiles", "todo Who saws?"],
            id="open-questions-beside-a-table",
        ),
        pytest.param(
            ("- [ ] ~~Saw~~ **Deferred to v2.**", "- [ ] ~~Nail~~ **Later** use glue"),
            ["done Saw", "todo ~~Nail~~ Later use glue"],
            id="struck-out-and-deferred",
        ),
        pytest.param(
            ("### Step 1: Saw", "_Status: **Done**_", "### Step 2: Nail", "_Status: **Open**_"),
            ["done Step 1: Saw", "todo Step 2: Nail"],
            id="a-status-in-two-marks",
        ),
        pytest.param(
            ("## Active", "- Saw", "## Done", "- Nail"), ["todo Saw", "done Nail"], id="active"
        ),
        pytest.param(
            ("## Format", "- [ ] NOT STARTED", "- [~] IN PROGRESS", "- [x] COMPLETE",
             "- [x] SKIPPED", "- [x] ! [DONE] !", "- [ ] RAIN PROOF", "## Beam", "- [ ] Saw"),
            ["done SKIPPED", "done ! [DONE] !", "todo RAIN PROOF", "todo Saw"],
            id="boxes-that-explain-boxes",
        ),
        pytest.param(
            ("### Phase 1: Saw", "", "**Completed 2026-06-21.** With oil.", "### Phase 2: Nail",
             "**In progress**", "### Phase 3: Oil", "**Not** so much.", "### Phase 4: Wax",
             "Words.", "", "**Done.**"),
            ["done Phase 1: Saw", "inProgress Phase 2: Nail", "todo Phase 3: Oil",
             "todo Phase 4: Wax"],
            id="a-state-in-bold-below-a-heading",
        ),
        pytest.param(
            ("# Roof", "## Work sequence", "1. Saw"), ["todo Saw"], id="work-sequence"
        ),
        pytest.param(
            ("# TODO", "# 一、Beam", "## 实施清单", "1. Saw"), ["todo Saw"], id="checklist-of-work"
        ),
        pytest.param(
            ("## Planned integrations", "### 1. Gutter", "- deep", "## Helping", "1. Fork it"),
            ["todo 1. Gutter"],
            id="planned-things",
        ),
        pytest.param(
            ("## State", "### What exists ✅", "- a", "### What does NOT exist ❌", "- b",
             "## Checklist", "- [x] Saw"),
            ["done Saw"],
            id="an-inventory",
        ),
        pytest.param(
            ("1. Saw -ok", "2. Nail - OK", "3. Oil (done)", "4. Wax"),
            ["done Saw", "done Nail", "done Oil", "todo Wax"],
            id="ok-is-done",
        ),
        pytest.param(
            ("### Phase 1: Saw", "Text.", "## v0.1 exit criteria", "- [ ] It holds"),
            ["todo Phase 1: Saw", "todo It holds"],
            id="criteria-of-a-version",
        ),
        pytest.param(
            ("## Definition of done (each task)", "- [ ] It holds", "## T0.1: Saw", "Text."),
            ["todo T0.1: Saw"],
            id="criteria-of-each-task",
        ),
        pytest.param(("- [ ] Saw", "- [ ] ...", "- [ ] …"), ["todo Saw"], id="dots-to-fill-in"),
        pytest.param(
            ("## Overview", "| Phase | Name |", "|---|---|", "| 0 | Base |", "| 1 | Roof |",
             "## Phase 0: Base", "### Tasks", "| # | Task |", "|---|---|", "| 0.1 | Saw |",
             "| 0.2 | Nail |", "### Acceptance criteria", "- [ ] It holds",
             "## Risks", "| Risk | Phase |", "|---|---|", "| Rain | 1 |",
             "| Snow | 1 |"),
            ["todo Saw", "todo Nail", "todo It holds"],
            id="an-overview-of-phases-with-tables",
        ),
    ],
)  # fmt: skip
def test_what_people_call_things(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


def test_lines_in_no_list_are_reported_where_they_are_all_that_there_is() -> None:
    parsed = parse_markdown("Favicon\n\nrecycling symbols\n\ncheck mark\n")
    assert [(one.cause, one.lines) for one in parsed.guesses] == [
        (GuessCause.UNREAD_LINES, (0, 2, 4))
    ]
    for prose in (
        "One line alone\n",
        "A paragraph of\ntwo lines.\n\nAnd one.\n",
        "# A\n\nb\n\nc\n",
    ):
        assert parse_markdown(prose).guesses == ()


def test_findings_and_lists_beside_changes_are_reported() -> None:
    missing = parse_markdown("### ❌ Missing\n1. Lid\n### Phase 1: a\n#### Task 1.1: b\n")
    assert {one.cause: one.lines for one in missing.guesses}[GuessCause.UNREAD_LINES] == (1,)
    beside = parse_markdown(
        "# P\n## Proposed changes\n### Base\n- Add a column\n### Parts\n#### [NEW] a.py\n- Read\n"
    )
    assert [task.title for task in beside.plan.tasks] == ["[NEW] a.py"]
    assert {one.cause: one.lines for one in beside.guesses}[GuessCause.UNREAD_LINES] == (3,)


@pytest.mark.parametrize(
    "title",
    [
        "a (optional)",
        "(Optional) a",
        "**(可选)** a",
        "a (optional).",
        "a (Deferred - needs a key)",
        "a (optional: if time)",
        "a (später)",
        "a（可选，未纳入）",  # noqa: RUF001
        "(Not Applicable) a",
        "a (N/A)",
        "a (skipped: the library does it)",
        "a (not required for the first version)",
    ],
)
def test_a_title_may_say_that_it_is_optional(title: str) -> None:
    (task,) = plan_of(f"- [ ] {title}").tasks
    assert task.optional
    assert not plan_of(f"- [ ] {title} things").tasks[0].optional or title.startswith(("(", "*"))
    assert plan_of("- [ ] a", f"  - [ ] {title}").tasks[1].optional
    assert all(task.optional for task in plan_of(f"- [ ] 2. {title}", "  - [ ] 2.1 b").tasks)


@pytest.mark.parametrize(
    "title",
    [
        "a **DEFERRED**",
        "a - DEFERRED",
        "a — SKIPPED: no time",
        "a [OPTIONAL]",
        "**[DEFERRED]** a",
        "T003 [OUT OF SCOPE] a",
        "OPTIONAL: a",
    ],
)
def test_capitals_at_either_end_set_a_task_aside(title: str) -> None:
    others = [f"- [ ] {number} something to do" for number in range(200)]
    for lines in ([f"- [ ] {title}"], [*others, f"- [ ] {title}", *others]):
        assert [task.optional for task in plan_of(*lines).tasks].count(True) == 1
    assert not plan_of("- [ ] Read OPTIONAL fields").tasks[0].optional
    assert not plan_of("- [ ] Add a deferred queue").tasks[0].optional


def test_brackets_behind_an_id_and_its_tags_make_a_task_optional() -> None:
    tasks = plan_of("- [ ] T014 [P] [US2] (not applicable) a", "- [ ] T015 (see T014) b").tasks
    assert [task.optional for task in tasks] == [True, False]


def test_a_stage_with_a_number_comes_in_its_place() -> None:
    lines = ("## 1. Design", "- [ ] 1.1 Draw", "## 2. Build", "- [ ] Saw", "## Design", "- [ ] Why")
    assert [task.is_criterion for task in plan_of(*lines).tasks] == [False, False, True]


@pytest.mark.parametrize(
    "goal", ["Goal: a lid", "목표: 기본 구조", "Objective 2 - a spout", "目标\uff1a盖子"]
)
def test_a_group_that_is_called_by_its_goal_comes_in_its_place(goal: str) -> None:
    lines = ("## Phase 1", f"### {goal}", "- [ ] Cut", "## Phase 2", "- [ ] Paint", "## Goals")
    tasks = plan_of(*lines, "- [ ] it looks good").tasks
    assert [task.is_criterion for task in tasks] == [False, False, True]
