"""What is reported of a plan that leaves open what is meant, and the edit that settles it."""

from __future__ import annotations

import pytest
from hypothesis import given

from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.lint.quick_fixes import quick_fix_edit
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark, QuickFix
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import plan_texts

GUESSES = {
    CheckCode.LINES_READ_AS_TASKS,
    CheckCode.LINES_READ_AS_DONE,
    CheckCode.HEADINGS_READ_AS_TASKS,
    CheckCode.HEADINGS_NOT_READ,
    CheckCode.LINES_NOT_READ,
    CheckCode.ROWS_NOT_READ,
    CheckCode.BOX_NOT_READ,
    CheckCode.DONE_WITHOUT_TICK,
    CheckCode.LINES_READ_AS_PROSE,
    CheckCode.TABLE_READ_BY_COLUMN,
    CheckCode.OPEN_UNDER_COMPLETED,
    CheckCode.TICKED_UNDER_OPEN,
    CheckCode.CRITERIA_READ_AS_TASKS,
    CheckCode.STATUS_AGAINST_BOX,
}
TABLE = "| Task | Status |\n|---|---|\n| a | Done |\n| b | blocked |\n"


def guesses_in(text: str) -> list[LintRemark]:
    return [one for one in check_markdown(parse_markdown(text), text) if one.code in GUESSES]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param(
            "- [x] a\n## To do\n1. b\n2. c\n",
            2,
            "2 lines without a box are read as tasks (section To do); add a box to each task, "
            "and none to the rest",
            id="lines-beside-boxes",
        ),
        pytest.param(
            "- [x] a\n- [ ] b\n  - Status: Done\n",
            1,
            "1 task has a line Status: that says something else than its box, which counts; "
            "change one of them",
            id="status-against-the-box",
        ),
        pytest.param(
            "- [x] a\n  - Status: open\n- [ ] b\n  - Status: Done\n",
            0,
            "2 tasks have a line Status: that says something else than the box, which counts; "
            "change one of them",
            id="statuses-against-the-boxes",
        ),
        pytest.param(
            "1. b\n",
            0,
            "1 line without a box is read as a task; add a box to each task, and none to the rest",
            id="one-line",
        ),
        pytest.param(
            "# P\n## Phase 1\n1. a\n## Phase 2\n1. b\n## Step 3\n1. c\n## Sprint 4\n1. d\n",
            2,
            "4 lines without a box are read as tasks (section Phase 1, Phase 2, Step 3 and 1 more)"
            "; add a box to each task, and none to the rest",
            id="several-sections",
        ),
        pytest.param(
            "# P\n## So far\n1. ✅ a\n2. ✅ b\n",
            2,
            "2 lines without a box are read as done, by the emoji in front (section So far); add a "
            "box to each that is open",
            id="an-emoji-in-front-of-each",
        ),
        pytest.param(
            "# P\n## So far\n1. ✅ a\n2. ✅ b\n3. ⏳ c\n",
            2,
            "3 lines without a box are read as tasks (section So far); add a box to each task, "
            "and none to the rest",
            id="an-emoji-that-says-something",
        ),
        pytest.param(
            "## P0 (COMPLETED)\n1. a\n2. b\n",
            1,
            "2 lines without a box are read as done, as P0 (COMPLETED) is; add a box to each task "
            "that is open",
            id="done-by-the-heading",
        ),
        pytest.param(
            "# P\n### Task 1: a\n### Task 2: b\n",
            1,
            "2 headings are read as tasks (Task 1: a, Task 2: b); add a box to each, as in: ### "
            "[ ] Task 1: a",
            id="headings",
        ),
        pytest.param(
            "# P\n### Task 1: a\n- [x] b\n### T002: c\n1. how\n### ⛔ Sign\n## Phase 3\n",
            3,
            "3 headings look like tasks and are not read (T002: c, ⛔ Sign, Phase 3); add a box to "
            "each, as in: ### [ ] …",
            id="headings-beside-boxes",
        ),
        pytest.param(
            "# P\n## Phase 1\n1. a\n2. b\n   1. c\n### Checklist\n- [ ] d\n",
            2,
            "2 lines without a box are not read (section Phase 1); add a box to each that "
            "is a task",
            id="numbered-lines-of-a-phase-with-a-checklist",
        ),
        pytest.param(
            "# P\n## Coming soon\n1. a\n## Risks\n1. b\n## Success criteria\n- [x] c\n",
            2,
            "1 line without a box is not read (section Coming soon); add a box to each "
            "that is a task",
            id="numbered-lines-beside-criteria",
        ),
        pytest.param(
            "## Done\n- [x] a\n## Next steps\n- b\n  - how\n- c\n- [link](x)\n## To do\n- [ ] d\n"
            "- e\n",
            3,
            "2 lines without a box are not read (section Next steps); add a box to each that is a "
            "task",
            id="lines-of-a-section-for-tasks-without-boxes",
        ),
        pytest.param(
            "## P0 tasks\n- [ ] a\n| ID | Task |\n|---|---|\n| 1 | b |\n| 2 | c |\n\n| x |\n"
            "## Other\n| Task | Owner |\n|---|---|\n| d | me |\n## To do\n| Task | Done |\n"
            "|---|---|\n| e | [x] |\n",
            4,
            "2 rows of a table are not read (section P0 tasks); add a column with a box, [ ], in "
            "each row that is a task",
            id="rows-without-states",
        ),
        pytest.param(
            "## Phase 1\n**Notes:**\n1. why\n\n**Tasks:**\n1. a\n\n## Checklist\n- [ ] d\n",
            5,
            "1 line without a box is not read (section Phase 1); add a box to each that is a task",
            id="numbered-lines-below-a-label",
        ),
        pytest.param(
            "# P\n## Steps\n### Phase 1\n#### 1.1 a\n#### 1.2 b\n## Checklist\n- [x] c\n",
            3,
            "2 headings look like tasks and are not read (1.1 a, 1.2 b); add a box to each, as in: "
            "#### [ ] …",
            id="parts-of-phases-beside-boxes",
        ),
        pytest.param(
            "# P\n## Phase 1\n### 1.1 a\n### 1.2 b\n",
            2,
            "2 headings are read as tasks (1.1 a, 1.2 b); add a box to each, as in: ### [ ] 1.1 a",
            id="a-phase-with-tasks-is-read",
        ),
        pytest.param(
            "## To do\n### 1. a\nWhy\n- how\n## Done\n- [x] b\n",
            1,
            "1 heading is read as a task (1. a); add a box to each, as in: ### [ ] 1. a",
            id="numbered-beside-boxes",
        ),
        pytest.param(
            "# Roof\n\nBeam:\n  ☐ nail it\n    - [ ] oil it\n\n> - [ ] wax it\n\n"
            "    - [ ] saw it\n\n• [ ] dry it\n\n☐\n\n## Notes\n\n☐ dry\n",
            3,
            "5 lines with a box are in no list, so not read; write each as: - [ ] …",
            id="boxes-outside-lists",
        ),
        pytest.param(
            "# Roof\n- [x] Beam\n```text\n```bash\nsaw\n```\nend\n```\n## Tiles\n- [ ] a\n"
            "- [x] b\n- c\n- [ ] d\n```\n## Notes\n```\n# Form\n- [ ] e\n```\n",
            9,
            "2 open boxes are in a code block, so not read; if tasks are meant, remove its fences, "
            "or close the block above with longer ones, since a fence in it has ended it",
            id="boxes-behind-a-fence-in-a-fence",
        ),
        pytest.param(
            "## To do\n- 🔵 Saw\n- Nail\n## Phase 1\n1. 🟡 Wax\n",
            4,
            "1 line without a box is read as a task (section Phase 1); add a box to each task, and "
            "none to the rest; coloured circles in front are read as states",
            id="coloured-circles",
        ),
        pytest.param(
            "# Roof\n> - [x] Beam\n> - [x] Tiles\n\n- [ ] Beam\n- [ ] Tiles\n",
            1,
            "2 ticked boxes are in a quote, so not read; tick the tasks that are meant",
            id="ticked-boxes-in-a-quote",
        ),
        pytest.param(
            "```markdown\n# Roof\n- [ ] Beam\n```\nThe end.\n",
            2,
            "1 open box is in a code block, so not read; if tasks are meant, remove its fences, or "
            "close the block above with longer ones, since a fence in it has ended it",
            id="a-plan-in-a-fence",
        ),
        pytest.param(
            "# Roof\n- [ ] Beam\n## Loads\n1. snow\n- ❌ wind\n- ( ) rain\n- round\n  - ❌ hail\n\n"
            "| Part | Status |\n|---|---|\n| Beam | open |\n| Tiles | done |\n"
            "## Names\n**Phase 1: Saw** it\n\n**T0.1 — Nail** it\n\n**Task 2**\n\n**Bold**\n"
            "## Legend\n- [ ] open\n## Notes\n- [ ] look\n1. why\n",
            3,
            "9 lines with a number, a name, a state or a box are read as prose (section Loads, "
            "Names, Notes); add a box to each that is a task",
            id="read-as-prose",
        ),
        pytest.param(
            "- [ ] Saw ✓\n- [ ] Nail - DONE\n- [ ] Oil (DONE)\n- [ ] Wax ✅\n- [x] Dry DONE\n"
            "- [ ] Show what is done\n",
            0,
            "4 open boxes say DONE in the title; tick what is done",
            id="done-without-a-tick",
        ),
        pytest.param(
            "- [ ] Saw (done)\n- [ ] Nail - ✅ Done\n- [ ] Oil [DONE]\n- [ ] Wax **DONE**\n"
            "- [ ] Dry - completed on 2026-01-31\n- [ ] Lid NOT IMPLEMENTED\n"
            "- [ ] Sand - NOT DONE\n"
            "- [ ] Say: well done\n- [ ] Done\n",
            0,
            "5 open boxes say DONE in the title; tick what is done",
            id="done-without-a-tick-in-other-forms",
        ),
        pytest.param(
            "# P\n## A (DONE)\n### B\n- [ ] c\n  - [ ] e\n- [x] d\n### F\n- [ ]* g\n## H\n"
            "**Status:** done\n\n- [ ] i\n## J [x]\n- [ ] k\n",
            3,
            "4 open tasks are below headings that are done (A (DONE), H, J [x]); tick them, or "
            "change the heading",
            id="open-boxes-below-done",
        ),
        pytest.param(
            "## A [DONE]\n- [ ] c\n## B ✅ done when:\n- [ ] d\n## ✅ C\n- [ ] e\n",
            1,
            "1 open task is below a heading that is done (A [DONE]); tick it, or change the "
            "heading",
            id="an-open-box-below-done",
        ),
        pytest.param(
            "## A [IN PROGRESS]\n- [x] a\n## B (in progress)\n- [x] b\n- [ ] c\n"
            "## [ ] D\n### E\n- [x] e\n",
            0,
            "2 headings are not done (A [IN PROGRESS], [ ] D), and everything below them is; "
            "change the heading, or add what is missing",
            id="ticked-boxes-below-open",
        ),
        pytest.param(
            "## ~~A~~\n- [x] a\n## B (blocked)\n- [x] b\n",
            2,
            "1 heading is not done (B (blocked)), and everything below it is; change the heading, "
            "or add what is missing",
            id="a-ticked-box-below-open",
        ),
        pytest.param(
            "- [ ] 1. a\n  how\n- [x] 1.1 b\n- [ ] 2. c\n  - Detail\n  - [x] 2.1 d\n",
            0,
            "2 open tasks have only parts that are done (1. a, 2. c); tick them, or add what is "
            "missing",
            id="parts-are-done",
        ),
        pytest.param(
            "- [ ] 1. a\n  - [x] 1.1 b\n- [~] 2. c\n  - [x] 2.1 d\n  - [ ]* 2.2 e\n",
            0,
            "2 open tasks have nothing but parts that are done (1. a, 2. c), and count as done; "
            "tick them",
            id="done-by-parts",
        ),
        pytest.param(
            "- [ ] 1. a\n  - [x] 1.1 b\n- [ ] 2. c\n  - [ ] 2.1 d\n",
            0,
            "1 open task has nothing but parts that are done (1. a), and counts as done; tick it",
            id="one-done-by-parts",
        ),
        pytest.param(
            "- [ ] 1. a\n- [x] 1.1 b\n- [ ] 1.2 c\n- [ ] 2. d\n  how\n- [x] 2.1 e\n",
            3,
            "1 open task has only parts that are done (2. d); tick it, or add what is missing",
            id="all-parts-are-done",
        ),
        pytest.param(
            "- [x] a\n  - [ ] b\n  - [ ] c\n  - [ ]* d\n- [x] 1. e\n- [ ] 1.1 f\n",
            1,
            "3 open tasks are part of what is done (a, 1. e); tick them, or open that again",
            id="parts-are-open",
        ),
        pytest.param(
            "- [x] a\n  - [ ] b\n",
            1,
            "1 open task is part of what is done (a); tick it, or open that again",
            id="a-part-is-open",
        ),
        pytest.param(
            "# P\n\n## 1. a\n\ntext\n\n## 2. b\n\ntext\n\n## 3. Summary\n",
            2,
            "2 headings look like tasks and are not read (1. a, 2. b); add a box to each, as in: "
            "## [ ] …",
            id="numbered-chapters-and-nothing-else",
        ),
        pytest.param(
            "# P\n## To do\n### 1. Overview\n### 2. a [DONE]\n### 3. Dependencies\n"
            "### 4. b [WIP]\n### 5. Summary\n",
            4,
            "1 heading looks like a task and is not read (3. Dependencies); add a box to each, as "
            "in: ### [ ] …",
            id="prose-by-name-between-tasks",
        ),
        pytest.param(
            "## Success criteria\n- [ ] a\n- [ ] b\n- [x] c\n## To do\n- [x] d\n",
            1,
            "2 boxes are read as tasks, and last, by the names of their sections (Success "
            "criteria)",
            id="criteria",
        ),
        pytest.param(
            "## ⛔ Blocked\n- [ ] a\n- [x] b\n## To do\n- [ ] d\n## Waiting for parts\n- [ ] e\n",
            1,
            "2 boxes are read as tasks, and last, by the names of their sections (⛔ Blocked, "
            "Waiting for parts)",
            id="blocked",
        ),
        pytest.param(
            "## To do\n- [ ] d\n## Definition of done\n- [ ] a\n- b\n- [x] c\n",
            3,
            "1 box is read as a task, and last, by the name of its section (Definition of done)",
            id="a-criterion",
        ),
        pytest.param(
            TABLE,
            2,
            "2 rows are read from a table by the column Status; write boxes there to be sure",
            id="table",
        ),
    ],
)
def test_a_cause_is_reported_once_with_a_count(text: str, line: int, message: str) -> None:
    (remark,) = guesses_in(text)
    assert (remark.place.line, remark.message) == (line, message)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- [ ] a\n", id="boxes"),
        pytest.param("## To do\n- a\n## P0\n1. b\n## Completed\n- c\n", id="named-sections"),
        pytest.param("## Part ✅\n### Task 2 ✅\n", id="headings-with-states"),
        pytest.param("| Task | Done |\n|---|---|\n| a | [x] |\n", id="boxes-in-a-table"),
        pytest.param("## Issues Discovered\n- [BUG] a\n", id="bugs"),
        pytest.param("## P0 (COMPLETED)\n1. ✅ a\n", id="states-below-a-finished-heading"),
        pytest.param("# P\n- [ ] a\n## Notes\n### Task 1\n", id="headings-below-notes"),
        pytest.param("# P\n- [ ] a\n### Task 1 (done)\n", id="finished-headings"),
        pytest.param("## Success criteria\n- [x] a\n- [ ] b\n", id="criteria-alone"),
    ],
)
def test_what_the_plan_says_is_no_guess(text: str) -> None:
    assert guesses_in(text) == []


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        pytest.param("1. b\r\n2. ✅  c\r\n", "1. [ ] b\r\n2. [x] c\r\n", id="lines"),
        pytest.param(
            "1. b\n2. **✅ Cut** c\n", "1. [ ] b\n2. [x] **Cut** c\n", id="an-emoji-in-bold-words"
        ),
        pytest.param("# P\n### Task 1: a\n", "# P\n### [ ] Task 1: a\n", id="heading"),
        pytest.param(
            "- [x] a\n### Task 1: b\n### T002: c",
            "- [x] a\n### [ ] Task 1: b\n### [ ] T002: c",
            id="unread-headings",
        ),
        pytest.param(
            "- [x] a\n## Phase 1\n1. b\n2) c",
            "- [x] a\n## Phase 1\n1. [ ] b\n2) [ ] c",
            id="unread-lines",
        ),
        pytest.param(TABLE, TABLE.replace("Done", "[x]").replace("blocked", "[!]"), id="table"),
        pytest.param("## P0 ✅\n1. a", "## P0 ✅\n1. [x] a", id="done"),
        pytest.param(
            "Roof:\n☐ nail it\n\n> - [ ] wax it\n\n    • [ ] saw it\n> > 3. ( ) dry it",
            "Roof:\n- [ ] nail it\n\n- [ ] wax it\n\n- [ ] saw it\n- [ ] dry it",
            id="boxes-in-no-list",
        ),
        pytest.param("\t☐ nail it", "- [ ] nail it", id="a-box-in-no-list"),
        pytest.param("-- [ ] nail it", "- [ ] nail it", id="a-box-behind-two-dashes"),
    ],
)
def test_the_edit_adds_boxes(text: str, fixed: str) -> None:
    (remark,) = guesses_in(text)
    edit = quick_fix_edit(remark, text)
    assert edit is not None
    title = "Write {}" if remark.code is CheckCode.BOX_NOT_READ else "Add a box to {}"
    assert edit.title in {
        title.format(words)
        for words in ("this task", "each of these tasks", "this as a task", "these as tasks")
    }
    assert edit.apply(text) == fixed
    assert guesses_in(fixed) == []


def test_no_edit_is_offered_where_it_would_not_be_read_as_meant() -> None:
    text = "Task 1: a\n---------\n\n### Task 2 b\n- [x] c\n"
    assert all(quick_fix_edit(one, text) for one in guesses_in(text))


@given(plan_texts)
def test_an_edit_keeps_every_state(text: str) -> None:
    before = sorted(task.state for task in parse_markdown(text).plan.tasks)
    for remark in guesses_in(text):
        edit = quick_fix_edit(remark, text)
        unread = {CheckCode.HEADINGS_NOT_READ, CheckCode.LINES_NOT_READ, CheckCode.BOX_NOT_READ}
        is_added = remark.repair is QuickFix.ADD_BOXES and remark.code not in unread
        if edit is not None and is_added:
            after = parse_markdown(edit.apply(text)).plan.tasks
            assert sorted(task.state for task in after) == before


def test_a_heading_that_contradicts_its_tasks_gives_them_no_second_box() -> None:
    text = "## A (DONE)\n- [ ] b\n### To do\n1. c\n"
    (_, remark) = guesses_in(text)
    edit = quick_fix_edit(remark, text)
    assert edit is not None
    assert edit.apply(text) == text.replace("1. c", "1. [x] c")


def test_a_tag_in_the_place_of_a_box_is_no_guess() -> None:
    assert guesses_in("- [ ] a\n- [blocked] b\n") == []
