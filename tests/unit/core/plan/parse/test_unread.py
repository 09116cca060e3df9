"""What may be work and is not read is reported: no plan is misread in silence."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task, unblock_task
from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.queries import next_task
from tests.unit.core.plan.plan_assertions import plan_of, shown

LINES, ROWS, HEADINGS = (
    GuessCause.UNREAD_LINES,
    GuessCause.UNREAD_ROWS,
    GuessCause.UNREAD_HEADINGS,
)


def unread_in(*lines: str) -> list[tuple[GuessCause, tuple[int, ...]]]:
    wanted = {LINES, ROWS, HEADINGS}
    guesses = parse_markdown("\n".join(lines), optional_sections=("future",)).guesses
    return [(one.cause, one.lines) for one in guesses if one.cause in wanted]


def test_rows_with_unknown_states_beside_others_are_reported() -> None:
    lines = (
        "# Roof",
        "| Gate | Status |",
        "|---|---|",
        "| G0 | simmers gently until Tuesday |",
        "| G1 | done |",
    )
    assert unread_in(*lines) == [(ROWS, (3,))]


def test_rows_of_other_tables_are_reported_where_rows_are_the_tasks() -> None:
    lines = ("## Nice to have", "| Item | Owner |", "|---|---|", "| Paint | me |", "| Oil | me |",
             "## Critical", "| Item | Owner |", "|---|---|", "| Saw | me |")  # fmt: skip
    assert unread_in(*lines) == [(ROWS, (8,))]


def test_chapters_of_a_task_file_are_reported_beside_lists() -> None:
    lines = ("# TODO", "## Beam", "Saw it.", "## Tiles", "- slate", "## Gutter", "Bend it.")
    assert unread_in(*lines) == [(HEADINGS, (1, 5))]


def test_numbered_chapters_are_reported_with_their_lists_where_nothing_is_read() -> None:
    lines = ("# Roof", "## 1. Beam", "Text.", "## 2. Tiles", "- slate", "- clay")
    assert unread_in(*lines) == [(HEADINGS, (1, 3)), (LINES, (4, 5))]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# Kettle", "### v0.4: Spout (In Progress)", "- [x] Bend it", "- [ ] Solder it",
             "### v0.5: Lid (Planned)", "- Cut a disc", "- Add a knob"),
            [(LINES, (5, 6))],
            id="a-heading-with-an-open-state",
        ),
        pytest.param(
            ("# Kettle", "### Tier 1 ✅", "| # | Item | Status |", "|---|---|---|",
             "| 1 | Spout | ✅ |", "### Tier 2: soon", "| # | Item | Cost |", "|---|---|---|",
             "| 2 | Lid | 3 h |"),
            [(ROWS, (8,))],
            id="a-heading-like-one-with-tasks",
        ),
        pytest.param(
            ("# Kettle", "## Spout ✅", "Bent.", "## Lid ✅", "Cut.", "## The knob", "Text."),
            [(HEADINGS, (5,))],
            id="a-heading-beside-what-is-all-done",
        ),
        pytest.param(
            ("# Kettle", "## Spout", "- [x] Bend it", "## Left for the lid", "- Cut a disc"),
            [(LINES, (4,))],
            id="a-word-for-work",
        ),
        pytest.param(
            ("# Kettle", "## Spout", "- [ ] Bend it", "## Lid", "### Week 1", "- Cut a disc"),
            [(LINES, (5,))],
            id="a-week",
        ),
        pytest.param(
            ("# Kettle", "## 0. Parts", "### 0.1 Lid", "## 1. Base", "### 1.1 Cut", "Text.",
             "## 2. Phase 1", "### 2.1 Bend",
             "Text.", "## 3. Phase 2", "### 3.1 Solder", "Text."),
            [(HEADINGS, (4,))],
            id="numbered-parts-before-those-that-are-tasks",
        ),
        pytest.param(
            ("# Kettle", "## T1 — Spout", "- **Status**: done", "- **Spec ref**: 3", "## T2 — Lid",
             "- **Status**: todo", "- **Spec ref**: 4"),
            [],
            id="fields-of-a-task-that-is-done",
        ),
        pytest.param(
            ("# Kettle", "## Spout", "- [x] Bend it", "## Task format", "- One box a line",
             "## The lid", "- It is round"),
            [],
            id="about-tasks-and-prose",
        ),
        pytest.param(
            ("# Kettle", "## Spout", "- [x] Bend it", "## Fixes", "### Lid", "It rattles."),
            [(HEADINGS, (4,))],
            id="headings-below-a-word-for-work",
        ),
        pytest.param(
            ("# Kettle", "## Spout", "- [x] Bend it", "", "**Still open, by size:**", "",
             "1. Lid", "2. Knob"),
            [(LINES, (6, 7))],
            id="a-label-for-work",
        ),
        pytest.param(
            ("# Kettle", "## Spout", "- [x] Bend it", "", "Next up:", "", "- Lid", "- [ ] Knob"),
            [(LINES, (6,))],
            id="a-line-that-announces-work",
        ),
        pytest.param(
            ("# Kettle", "- [x] Bend it", "", "In this order", "", "1. ~~Spout~~ - done in May",
             "2. Lid", "3. Knob (blocked)"),
            [(LINES, (6,))],
            id="a-list-in-which-something-is-done",
        ),
        pytest.param(
            ("# Kettle", "- [x] Bend it", "", "In this order", "", "1. ✅ Spout", "2. Lid"),
            [(LINES, (6,))],
            id="a-list-with-a-sign",
        ),
        pytest.param(
            ("# Kettle", "- [x] Bend it", "", "In this order", "", "1. 🚧 Spout", "2. [wip] Lid",
             "3. Knob"),
            [],
            id="a-list-in-which-nothing-is-done",
        ),
        pytest.param(
            ("# Kettle", "- [x] Bend it", "## Notes", "**Next:**", "- Lid",
             "## Done in May", "**Open:**", "1. ~~a~~ (done)"),
            [],
            id="notes-and-what-is-done",
        ),
        pytest.param(
            ("# A kettle", "- Cut a disc", "## Shape", "- It is round", "| Task | Days |",
             "|---|---|", "| Bend | 2 |", "## Purpose", "- Tea", "## Future", "- Whistle"),
            [(LINES, (1, 3)), (ROWS, (6,))],
            id="a-plan-without-a-task",
        ),
        pytest.param(
            ("# Deferred work", "## Lid", "It rattles.", "## Knob", "It is hot.", "## Notes", "x"),
            [(HEADINGS, (1, 3))],
            id="chapters-of-a-plan-without-a-task",
        ),
        pytest.param(
            ("# A kettle", "## Lid", "It is round.", "## Knob", "It is hot."),
            [],
            id="chapters-of-a-document",
        ),
        pytest.param(
            ("# Lid", "- Cut a disc", "# Knob", "It is hot."),
            [(HEADINGS, (2,)), (LINES, (1,))],
            id="several-titles-without-a-task",
        ),
        pytest.param(
            ("# Kettle", "### Important: tools", "#### 1. Saw", "```", "buy", "```", "#### 2. File",
             "#### 3. Glue", "- [ ] Buy it"),
            [(HEADINGS, (2, 6))],
            id="numbered-headings-beside-one-with-boxes",
        ),
        pytest.param(
            ("# Kettle", "## A. Parts", "### A1. Lid", "- round", "### A2. Knob", "x",
             "## R1 It breaks", "## Checks", "- [ ] It boils"),
            [(HEADINGS, (2, 4))],
            id="headings-with-ids",
        ),
        pytest.param(
            ("# Kettle", "### A1. Lid", "round", "## Checks", "- [ ] It boils"),
            [],
            id="one-heading-with-an-id",
        ),
        pytest.param(
            ("# Kettle", "### 3.1 Phase 1: Parts", "| Task ID | Task name | 과제명 |", "|-|-|-|",
             "| T1 | Lid | 뚜껑 |", "## SDK", "| Tool | 상태 |", "|-|-|", "| Saw | ✅ |"),
            [(ROWS, (4,))],
            id="rows-of-a-step-beside-those-with-states",
        ),
        pytest.param(
            ("# Kettle", "## Changes", "### Spout", "x", "### 1. Lid", "### 2. Knob", "## Why"),
            [(HEADINGS, (2,))],
            id="a-heading-beside-several-tasks",
        ),
        pytest.param(
            ("# Kettle", "- [ ] a", "## Implementation steps", "| Step | File |", "|-|-|",
             "| 1 | x |"),
            [(ROWS, (5,))],
            id="rows-of-steps",
        ),
        pytest.param(
            ("# Kettle", "- [ ] a", "## Parts", "- **Phase 1: Spout**", "- Task 2: Lid",
             "- It is round", "## Notes", "- Phase 3"),
            [(LINES, (3, 4))],
            id="lines-named-like-tasks",
        ),
        pytest.param(
            ("# Kettle", "- [ ] a", "## Immediate work", "- Lid", "Pros:", "- light", "**Why:**",
             "## Quick start for next session", "1. Boil"),
            [(LINES, (3,))],
            id="a-list-of-pros",
        ),
        pytest.param(
            ("# Kettle", "## Task 1: Lid", "- how", "## Phase 2", "1. Spout"),
            [],
            id="a-plan-without-boxes-that-is-read",
        ),
    ],
)  # fmt: skip
def test_what_may_be_work_is_reported(
    lines: tuple[str, ...], expected: list[tuple[GuessCause, tuple[int, ...]]]
) -> None:
    assert unread_in(*lines) == expected


@pytest.mark.parametrize("word", ["无", "なし", "keine", "нет", "None currently."])
def test_a_list_that_says_it_is_empty_is_not_reported(word: str) -> None:
    assert unread_in("- [ ] a", "## To do", f"- {word}") == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            ("# Bau", "## Stufe 1: Dach **[ABGESCHLOSSEN]**", "### 1.1 Balken **[ERLEDIGT]**",
             "- zwölf", "### 1.2 Ziegel [TEILWEISE]", "### 1.3 Rinne [OFFEN]", "### Werkzeug"),
            ["done 1.1 Balken", "inProgress 1.2 Ziegel", "todo 1.3 Rinne"],
            id="states-in-square-brackets",
        ),
        pytest.param(
            ("# Bau", "### 1. Dach [siehe oben]", "### 2. Tor [DONE]"),
            ["done 2. Tor"],
            id="other-square-brackets",
        ),
        pytest.param(
            ("# TODO", "## The roof", "Two gaps remain.", "### 1. Nail the beam", "why",
             "### 2. Choose tiles"),
            ["todo 1. Nail the beam", "todo 2. Choose tiles"],
            id="numbered-parts-of-chapters-of-a-list-of-tasks",
        ),
        pytest.param(
            ("# Plan", "### Phase 1", "1. Nail", "## What not to do", "- ❌ Paint", "- ❌ Run",
             "## O que não fazer", "- ❌ Correr"),
            ["todo Nail"],
            id="what-not-to-do",
        ),
        pytest.param(
            ("# Plan", "## Done in May", "- Nail", "## Near term", "- Tiles", "## Longer term",
             "- Gutter", "## Advantages", "- ✅ Dry"),
            ["done Nail", "todo Tiles", "todo Gutter"],
            id="terms",
        ),
        pytest.param(
            ("# Plan", "## Why", "1. It drips", "## 6) Next sprint backlog (3 tasks)", "1. Nail",
             "2. Tiles"),
            ["todo Nail", "todo Tiles"],
            id="the-last-words-of-a-heading",
        ),
        pytest.param(
            ("# Mängel", "## BUG-003 — Es tropft", "- **Aufwand:** S", "- **Akzeptanzkriterien:**",
             "  - [ ] Der Boden bleibt trocken", "- **Umfang:** klein", "## SEC-1: Schloss",
             "## ADR-7: Holz"),
            ["todo Es tropft", "todo Schloss"],
            id="tickets-with-criteria",
        ),
        pytest.param(
            ("# 계획", "### **1단계: 지붕**", "- 왜", "### 2단계 문"),
            ["todo 1단계: 지붕", "todo 2단계 문"],
            id="a-number-in-front-of-the-word",
        ),
        pytest.param(
            ("# План", "### Приоритет 1: Крыша", "#### 1.1 Балки", "#### 1.2 Окна",
             "### Приоритет 2: Дверь", "#### 2.1 Замок", "## Преимущества", "- ✅ Сухо"),  # noqa: RUF001
            ["todo 1.1 Балки", "todo 1.2 Окна", "todo 2.1 Замок"],
            id="numbered-priorities",
        ),
        pytest.param(
            ("- Nail the beam", "* Choose tiles", "  - red", "- [link](x)"),
            ["todo Nail the beam", "todo Choose tiles"],
            id="a-list-and-nothing-else",
        ),
        pytest.param(
            ("# Roof", "## Beam", "**Tasks:**", "- Nail it", "", "**Deliverables:**",
             "- a drawing"),
            ["todo Nail it"],
            id="a-label-for-tasks",
        ),
        pytest.param(
            ("# Roof", "## Thatch", "**Advantages:**", "- ✅ warm", "**优势：**", "- ✅ 快",  # noqa: RUF001
             "**Drawbacks:**", "- ❌ burns", "## Tiles", "- ✅ bought", "- ⬜ laid"),
            ["done bought", "todo laid"],
            id="pros-and-cons",
        ),
        pytest.param(
            ("# Roof", "## Parts", "- **Beam — oak.** ✅ Done. Two of them.",
             "- **Tiles — red.** From the mill. **(next)**", "- Gutter (blocked)"),
            ["done Beam — oak.", "todo Tiles — red. From the mill.", "blocked Gutter"],
            id="bold-words-with-a-sign-behind",
        ),
        pytest.param(
            ("# Roof", "## Milestones", "1. **Beam** *(done, in May — see `a`)* — of oak",
             "2. **Tiles** (in progress): red", "3. **Gutter** (of zinc): half round"),
            ["done Beam", "inProgress Tiles", "todo Gutter (of zinc): half round"],
            id="bold-words-with-a-remark-behind",
        ),
        pytest.param(
            ("# Dach", "### M0：Balken（已完成）", "- zwölf", "### M1 Ziegel", "- rot",  # noqa: RUF001
             "### M2: Rinne"),
            ["done M0：Balken", "todo M1 Ziegel", "todo M2: Rinne"],  # noqa: RUF001
            id="milestones-by-number",
        ),
        pytest.param(
            ("# Roof", "## Product roadmap", "### 1. Beam", "- **1.1 Saw**", "### 2. Tiles"),
            ["todo 1. Beam", "todo 2. Tiles"],
            id="numbered-parts-of-a-roadmap",
        ),
        pytest.param(
            ("# Roof", "| Phase | Goal | Status |", "|-|-|-|", "| **1** | Beam | Partial |",
             "| **2** | Tiles | Planned |"),
            ["inProgress Beam", "todo Tiles"],
            id="a-number-is-no-title",
        ),
        pytest.param(
            ("# 屋根", "## 実装済み", "1. 梁", "# Roof", "## Short-Term Goals", "- Nail"),
            ["done 梁", "todo Nail"],
            id="sections-by-more-names",
        ),
        pytest.param(
            ("# Roof", "## Now", "- Nail", "## 5. 개발 로드맵 (마일스톤)", "1. **Phase 1: 보**"),
            ["todo Nail", "todo Phase 1: 보"],
            id="now-and-a-roadmap",
        ),
        pytest.param(
            ("# Roof", "| ID | Part | Status |", "|-|-|-|", "| 1 | Beam | superseded |",
             "| 2 | Tiles | reverted |", "| 3 | Gutter | pending |"),
            ["skipped Beam", "skipped Tiles", "todo Gutter"],
            id="more-words-for-what-is-not-done",
        ),
        pytest.param(
            ("# 屋顶", "| 部件 | 状态 | 实现 |", "|-|-|-|", "| 视频压缩 | 计划中 | FFmpeg |"),
            ["todo 视频压缩"],
            id="the-widest-cell-is-the-title",
        ),
        pytest.param(
            ("# Roof", "## Urgent", "- [ ] None", "- [ ] Нет задач", "- [x] (n/a)", "- [ ] 无",
             "- [ ] US-001: None", "## Now", "- [ ] **None**", "- [ ] Nonetheless saw it"),
            ["todo None", "todo Nonetheless saw it"],
            id="a-box-without-a-task",
        ),
        pytest.param(
            ("# ROADMAP — Roof", "Ordered by:", "- **Small first.** Saw it", "",
             "| Phase | What | x |", "|---|---|---|", "| 0 ✅ | Beam | - |", "| 1 | Tiles | - |",
             "| Paint 🚧 | x | - |", "| x |"),
            ["done Beam", "todo Tiles", "inProgress Paint: x", "todo x"],
            id="a-table-with-signs-beside-its-numbers",
        ),
        pytest.param(
            ("# Roof", "| Phase | What |", "|---|---|", "| 0 | Beam |", "| 1 | Tiles |"),
            ["todo Beam", "todo Tiles"],
            id="a-table-without-signs",
        ),
        pytest.param(
            ("# Roof", "## Phase SAW: Beam", "### Files", "## Phase B — Tiles", "## Phase change",
             "## Phase 2FA: Paint", "## Changelog: May"),
            ["todo Phase SAW: Beam", "todo Phase B — Tiles", "todo Phase 2FA: Paint"],
            id="phases-with-labels",
        ),
        pytest.param(
            ("# Tasks: Roof", "## Phase 1: Setup", "- [x] T001 Saw it", "## Next Steps",
             "1. **Review** it", "2. **Paint** it"),
            ["done Saw it"],
            id="a-list-beside-numbered-boxes",
        ),
        pytest.param(
            ("- [ ] Saw (BLOCKED - no key)", "- [ ] Nail (WIP)", "- [x] Oil (BLOCKED)",
             "- [ ] Wax (IN)", "- [ ] Dry (BLOCKED by rain)", "- [ ] Sell (BLOCKED cells)"),
            ["blocked Saw", "inProgress Nail", "done Oil", "todo Wax (IN)", "blocked Dry",
             "todo Sell (BLOCKED cells)"],
            id="a-state-in-round-brackets",
        ),
        pytest.param(
            ("## P0", "- ~~**T1. Saw** (F8)~~ **Done** - by hand", "- ~~Nail~~ 완료 — x",
             "- ~~Oil~~ wax instead", "- ~~Dry~~ done: in May"),
            ["done T1. Saw (F8)", "done Nail", "todo ~~Oil~~ wax instead", "done Dry"],
            id="struck-and-done-with-more-words",
        ),
        pytest.param(
            ("# Roof", "## 4.1 Applied P0 schemas", "1. Saw", "## 5. P0 tiles", "1. Nail",
             "## Later: P1 work", "1. Oil", "## Wax (P2)", "1. Wax"),
            ["todo Nail", "todo Oil", "todo Wax"],
            id="a-priority-that-is-none",
        ),
        pytest.param(
            ("# Roof", "## Parts", "### 1.1 Saw — DONE (PR 4)", "### 1.2 Nail (ash)",
             "### 1.3 Oil - skipped (dear)", "## Git", "| Branch | Scope | State |",
             "|-|-|-|", "| a | 1.1 | PR 4 |", "| b | 2 | |"),
            ["done 1.1 Saw", "todo 1.2 Nail (ash)", "skipped 1.3 Oil"],
            id="a-state-with-a-note-beside-a-table-without-states",
        ),
        pytest.param(
            ("| Task | State |", "|-|-|", "| a | |", "| b | - |"),
            ["todo a", "todo b"],
            id="a-table-in-which-nothing-was-begun",
        ),
        pytest.param(
            ("# Roof", "## Saw", "- wide", "- deep", "Nails:", "- long"),
            ["todo wide", "todo deep", "todo long"],
            id="nothing-but-bullets",
        ),
        pytest.param(("# Roof", "## Saw", "It is wide.", "- deep"), [], id="bullets-beside-prose"),
        pytest.param(
            ("# Open issues/todos", "It rains.", "## Saw", "- wide"),
            ["todo wide"],
            id="a-title-of-two-names",
        ),
        pytest.param(
            ("# Roof", "## ✅ What we have", "- a", "## ⬜ Missing", "1. Saw", "2. Nail"),
            ["todo Saw", "todo Nail"],
            id="groups-with-a-sign",
        ),
        pytest.param(
            ("# Roof", "## Phase 1", "### 1.1 Context rules", "### 1.2 Saw protocol",
             "## 2. Data flow", "### Step 1: In", "## Saw algorithm", "### Phase A: Cut",
             "## Phase 2: Rules ✅"),
            ["todo 1.1 Context rules", "todo 1.2 Saw protocol", "done Phase 2: Rules"],
            id="tasks-named-like-prose",
        ),
        pytest.param(
            ("# Roof", "# Phase 1. Beam", "## Goal", "x", "# Phase 2. Tiles", "## 2.1 Buy"),
            ["todo Phase 1. Beam", "todo 2.1 Buy"],
            id="phases-of-the-first-level",
        ),
        pytest.param(
            ("# Roof", "### Phase 1 - Beam ✅ COMPLETE", "### Leaks (ACTIVE)", "- P0",
             "### Phase 5 - Paint ⏸ DEFERRED", "## More", "### Tiles (done)"),
            ["done Phase 1 - Beam", "inProgress Leaks",
             "skipped Phase 5 - Paint"],
            id="a-state-in-words-beside-phases-with-states",
        ),
        pytest.param(
            ("# Roof", "## Condition", "- ❌ leaks", "- ✅ bears snow", "## Task 1: Saw", "x"),
            ["todo Task 1: Saw"],
            id="pros-and-cons-beside-tasks",
        ),
        pytest.param(
            ("# Roof", "## Steps", "1. ✅ Saw", "2. **Nail** - in the 🟢auto steps, 🔴/none",
             "3. ❌ Oil"),
            ["done Saw", "todo Nail - in the 🟢auto steps, 🔴/none", "todo Oil"],
            id="a-sign-in-the-middle",
        ),
        pytest.param(
            ("# Roof", "### **Saw (5% Complete)**", "### Nail (100% complete)",
             "### Oil (done, 50 %)"),
            ["inProgress Saw", "done Nail", "inProgress Oil"],
            id="shares-of-headings",
        ),
        pytest.param(
            ("# Roof", "### Step 1: Saw **DONE**", "### Step 2: Nail **COMPLETE**",
             "### Step 3: Oil", "### Step 4: Wax **WELL**"),
            ["done Step 1: Saw", "done Step 2: Nail", "todo Step 3: Oil", "todo Step 4: Wax WELL"],
            id="a-state-in-bold-capitals",
        ),
        pytest.param(
            ("| What | Phase |", "|-|-|", "| Saw | 1 ✅ |", "| Nail |"),
            ["done Saw"],
            id="a-row-without-its-number",
        ),
        pytest.param(
            ("| Phase | Theme | Crates |", "|-|-|-|", "| 0 ✅ | Saw | many more crates |"),
            ["done Saw"],
            id="a-theme-is-a-title",
        ),
        pytest.param(
            ("# Roof", "### Decision 1: Oak ✅", "## Phase 0: Saw", "### 0.1 Buy",
             "| Task | Status |", "|-|-|", "| Cut | ⬜ |"),
            ["todo Cut"],
            id="a-decision-beside-a-table",
        ),
        pytest.param(
            ("# Roof", "### Phase 1: Beam", "1. **Saw**", "## Move", "### Migration Checklist",
             "- [ ] Carry"),
            ["todo Saw", "todo Carry"],
            id="phases-beside-a-checklist-of-another-kind",
        ),
        pytest.param(
            ("# Roof", "## Architecture", "### Phase 1: Input", "### Phase 2: Output",
             "## System architecture", "### Step 1: In", "## Next steps", "1. Saw it"),
            ["todo Saw it"],
            id="phases-of-an-architecture",
        ),
    ],
)  # fmt: skip
def test_shapes_of_public_plans(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


def test_the_first_priority_is_the_highest() -> None:
    plan = plan_of(*(f"## Priority {n}: x\n- [ ] a{n}" for n in range(4)))
    assert [task.priority for task in plan.tasks] == ["P0", "P0", "P1", "P2"]


def test_a_heading_begins_with_the_id_of_its_task() -> None:
    plan = plan_of("# Roof", "### T-001 — Beam", "x", "### US-2 - Tiles", "x", "### UTF-8 - no")
    assert [(task.id, task.title) for task in plan.tasks] == [("T-001", "Beam"), ("US-2", "Tiles")]


def test_what_is_deferred_is_not_worked_on() -> None:
    plan = plan_of("# Plan", "- [ ] a", "## Deferred to v2 and beyond", "- [ ] b", "1. c")
    assert [(task.title, task.optional) for task in plan.tasks] == [("a", False), ("b", True)]


def test_what_is_out_of_scope_is_not_worked_on() -> None:
    plan = plan_of("# Plan", "- [ ] a", "## Out of scope for now", "- [ ] b", "1. c")
    assert [(task.title, task.optional) for task in plan.tasks] == [("a", False), ("b", True)]


@pytest.mark.parametrize(
    "label",
    ["Akzeptanzkriterien:", "**验收标准：**", "Критерии приёмки:", "Exit criteria:"],  # noqa: RUF001
)
def test_criteria_have_labels_in_many_languages(label: str) -> None:
    (task,) = plan_of("- [ ] a", f"  - {label}", "    - [ ] dry", "    - round").tasks
    assert task.criteria == ("dry", "round")


def test_phases_are_done_in_their_order() -> None:
    plan = plan_of(
        "# Tasks: Roof", "## Phase 2: Beam", "- [ ] a", "## Phase 3: Story 0 (Priority: P0)",
        "- [ ] b", "## Phase 4: Story 2 (Priority: P2)", "- [ ] c", "## Phase 5: Polish", "- [ ] d",
    )  # fmt: skip
    assert [task.priority for task in plan.tasks] == [None] * 4
    assert next_task(plan) == plan.tasks[0]


def test_a_priority_inside_of_a_phase_does_not_overtake_an_earlier_phase() -> None:
    plan = plan_of(
        "# Roof", "## Phase 1: Beam", "- [ ] a", "## Phase 2: Tiles", "### Ridge (High Priority)",
        "- [ ] b", "#### Nails", "- [ ] c", "- [ ] [P0] d", "## High Priority", "- [ ] e",
    )  # fmt: skip
    assert [task.priority for task in plan.tasks] == [None, None, None, "P0", "P0"]
    listed = parse_markdown("# Roof\n## Phase 1: Beam\n### P0 - Saw\n- a\n- b\n")
    assert [guess.cause.name for guess in listed.guesses] == ["LINES"]


def test_a_phase_may_have_the_number_of_a_chapter_in_front() -> None:
    plan = plan_of(
        "# 计划", "## 三、Phase 1: 路由", "### 3.1 前端", "- a", "## 四、Phase 2: 模型",
        "### 4.1 后端", "- b",
    )  # fmt: skip
    assert [task.title for task in plan.tasks] == ["3.1 前端", "4.1 后端"]


def test_a_tilde_between_numbers_is_no_strike() -> None:
    assert plan_of("## Weeks 6~7, ~~8~~", "- [ ] a").tasks[0].section == "Weeks 6~7, 8"


@pytest.mark.parametrize("title", ["나중에 (P2·P3)", "Später", "可选", "Plus tard", "Позже"])
def test_optional_sections_have_names_in_many_languages(title: str) -> None:
    names = ("Optional", "Future", "Later")
    assert plan_of(f"## {title}", "- [ ] a", optional_sections=names).tasks[0].optional
    assert not plan_of(f"## {title}", "- [ ] a", optional_sections=("Dreams",)).tasks[0].optional


@pytest.mark.parametrize(("task", "cell"), [("Tiles", "1 ✅"), ("Beam", "0 ✅")])
def test_a_sign_is_written_beside_the_number(task: str, cell: str) -> None:
    text = "| Phase | What |\n|---|---|\n| 0 ✅ | Beam |\n| 1 | Tiles |\n"
    (found,) = (one for one in parse_markdown(text).plan.tasks if one.title == task)
    assert f"| {cell} | {task} |" in tick_task(text, found.id)


@pytest.mark.parametrize("title", ["Hot ideas - parked", "Icebox", "Someday / maybe"])
def test_what_is_parked_is_not_worked_on(title: str) -> None:
    assert plan_of(f"## {title}", "- [ ] a").tasks[0].optional


def test_a_reason_in_round_brackets_is_read_and_taken_out() -> None:
    text = "- [ ] Saw (BLOCKED - no key)\n"
    (task,) = parse_markdown(text).plan.tasks
    assert task.blocked_by == "no key"
    assert unblock_task(text, task.id) == "- [ ] Saw\n"


@pytest.mark.parametrize(
    "text",
    [
        "- a\n- b\n- c\n",
        "# TODO\n\n- a\n- b\n",
        "# Roof\n\n## Next steps\n\n1. a\n2. b\n",
        "# Roof\n\n## Next steps\n\n- a\n- b\n",
        "# Roof\n\n## Phase 1\n\n1. a\n2. b\n\n## Phase 2\n\n1. c\n",
        "# Roof\n\n## Saw\n\n- a\n- b\n\n## Nail\n\n- c\n",
        "# Roof\n\n## High priority\n\n- a\n- b\n\n## Low\n\n- c\n",
        "# Roof\n\n## Saw\n\n**Tasks:**\n\n- a\n- b\n",
        "# Roof\n\n## Changes\n\n- a\n- b\n",
    ],
)
def test_the_first_box_in_a_list_hides_no_task_in_silence(text: str) -> None:
    was = {task.title: task.line for task in parse_markdown(text).plan.tasks}
    read = parse_markdown(text.replace(" a", " [x] a"))
    lines = {number for guess in read.guesses for number in guess.lines}
    lost = was.keys() - {task.title for task in read.plan.tasks}
    assert {was[title] for title in lost} <= lines


def test_where_every_task_has_a_box_no_list_without_one_is_in_doubt() -> None:
    lines = (
        *("# Tasks: Roof", "## Phase 1: Beam", "- [x] T001 Saw it", "- [ ] T002 Nail it"),
        *("## Phase 2: Tiles", "x", "## Within each story", "1. Test", "**Task 1: Oil** it"),
    )
    assert parse_markdown("\n".join(lines)).guesses == ()


def test_paragraphs_that_are_named_like_phases_are_reported() -> None:
    parsed = parse_markdown(
        "Kettle\n\nPhase 1 \u2014 bend it.\n\nIn step 2: solder.\n\nStep 2: solder\n"
    )
    assert parsed.plan.tasks == ()
    assert [(one.cause, one.lines) for one in parsed.guesses] == [(GuessCause.PROSE, (2, 6))]


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("- [x] Saw · [ ] Nail", True),
        ("- [ ] Saw; [x] Nail", True),
        ("- [ ] Saw the `[ ]` box", False),
        ("- [ ] Saw, [see](here)", False),
    ],
)
def test_more_boxes_in_a_line_are_a_problem(line: str, is_found: bool) -> None:
    codes = [problem.code for problem in parse_markdown(line).problems]
    assert codes == ["several-boxes"] * is_found


def test_rows_whose_states_are_unknown_and_read_as_open_are_problems() -> None:
    rows = ("| Saw | BUILT, works |", "| Nail | planned |", "| Oil | done |", "| Wax | - |")
    text = "\n".join(("| Task | Status |", "|---|---|", *rows))
    problems = parse_markdown(text).problems
    assert [(one.code, one.line) for one in problems] == [("unknown-status", 3)]
    assert "'BUILT, works' of 'Saw' is unknown and read as open" in problems[0].message
