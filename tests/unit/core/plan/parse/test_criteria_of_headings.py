"""Boxes below a label for criteria are criteria of a heading that has a state."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task, untick_task
from ralph_ls.core.plan.lint.dependencies import unfinished_dependencies
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.core.plan.verification.markdown_evidence import markdown_closings
from tests.unit.core.plan.plan_assertions import plan_of, shown

KETTLE = (
    "# Kettle",
    "### Phase 1: Heat",
    "**Status**: [x] Completed",
    "",
    "**Acceptance criteria:**",
    "- [ ] `make boil` is green",
    "",
    "### Phase 2: Whistle",
    "- **Status:** [ ] Pending",
    "- **Dependencies:** Phase 1",
    "",
    "**Verification:**",
    "- [ ] Heard next door",
    "  - [ ] also at night",
    "- [x] Not too loud",
    "",
    "**Files:**",
    "- whistle.c",
    "### Phase 3: Sell",
    "- **Status:** [ ] Pending",
    "- **Dependencies:** Phase 2",
)


def test_the_heading_is_the_task() -> None:
    plan = plan_of(*KETTLE)
    assert [(task.state.value, task.title, task.criteria) for task in plan.tasks] == [
        ("done", "Phase 1: Heat", ("`make boil` is green",)),
        ("todo", "Phase 2: Whistle", ("Heard next door", "Not too loud")),
        ("todo", "Phase 3: Sell", ()),
    ]


def test_it_is_ticked_and_waited_for_and_verified() -> None:
    text = "\n".join(KETTLE)
    first, second, third = parse_markdown(text).plan.tasks
    waits = unfinished_dependencies((first, second, third), text)
    assert {key: [task.id for task in needs] for key, needs in waits.items()} == {
        third.id: [second.id]
    }
    ticked = parse_markdown(tick_task(text, second.id)).plan
    assert [task.state.value for task in ticked.tasks] == ["done", "done", "todo"]
    (closing,) = markdown_closings(ticked, {first.id, second.id})
    assert [check.command for check in closing.checks] == ["make boil"]


@pytest.mark.parametrize(
    "label",
    [
        "Criteria:",
        "**Verificacion:**",
        "**Test Kriterleri**",
        "**验收标准**\uff1a",
        "Done when:",
        "- **Acceptance Criteria:**",
    ],
)
def test_the_label_has_many_names(label: str) -> None:
    assert shown("## Parse", "Status: open", "", label, "- [ ] a") == ["todo Parse"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(("## Parse", "Status: open", "**Tasks:**", "- [ ] a"), ["todo a"], id="tasks"),
        pytest.param(
            ("## Parse", "Status: open", "**Criteria:**", "- [ ] a", "**Tasks:**", "- [ ] b"),
            ["todo b"],
            id="tasks-behind-them",
        ),
        pytest.param(
            ("## Parse", "Status: odd", "**Criteria:**", "- [ ] a"), ["todo a"], id="no-known-state"
        ),
        pytest.param(("## Parse", "**Criteria:**", "- [ ] a"), ["todo a"], id="no-state"),
        pytest.param(("## ✅ Parse", "**Criteria:**", "- [ ] a"), ["todo a"], id="a-mere-sign"),
        pytest.param(
            ("## Parse", "Status: done", "**Criteria:**", "All of", "- [ ] a"),
            ["todo a"],
            id="prose-between",
        ),
    ],
)  # fmt: skip
def test_other_boxes_are_tasks(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown(*lines) == expected


def test_criteria_of_a_heading_are_no_guess() -> None:
    assert parse_markdown("\n".join(KETTLE)).guesses == ()
    beside = parse_markdown("## A\nStatus: open\nCriteria:\n- [ ] a\n\n**Tasks:**\n- [ ] b\n")
    assert [(one.cause.name, one.lines) for one in beside.guesses] == [("PROSE", (3,))]


def test_they_are_known_after_a_keystroke() -> None:
    text = "## A\nStatus: open\n\n- [ ] a\n- [ ] b\n\n## C\n- [ ] c\n"
    at = text.index("- [ ] a")
    with_label = reparse_markdown(parse_markdown(text), (at, at, "Criteria:\n"))
    assert with_label.plan == parse_markdown(text[:at] + "Criteria:\n" + text[at:]).plan
    assert [task.title for task in with_label.plan.tasks] == ["A", "c"]
    again = reparse_markdown(with_label, (at, at + len("Criteria:\n"), ""))
    assert again.plan == parse_markdown(text).plan


def test_a_bold_name_in_prose_is_no_guess() -> None:
    parsed = parse_markdown("# A\n\n- [ ] a\n\n## Overview\n\n**Phase 1: b**\n")
    assert parsed.guesses == ()


PHASE = (
    "# House",
    "### Phase 1: Start",
    "| # | Task | Command |",
    "|---|---|---|",
    "| 1.1 | Draw it | `draw` |",
    "| 1.2 | Ask for bricks | `ask` |",
    "",
    "**Acceptance criteria**:",
    "- [ ] `make look` shows it",
)


def test_a_phase_with_a_table_of_its_tasks_has_criteria() -> None:
    (task,) = plan_of(*PHASE).tasks
    assert (task.title, task.criteria) == ("Phase 1: Start", ("`make look` shows it",))


def test_its_rows_are_reported_beside_boxes() -> None:
    parsed = parse_markdown("\n".join((*PHASE, "", "## Garden", "- [ ] Dig")))
    assert [task.title for task in parsed.plan.tasks] == ["Dig"]
    assert {one.cause.name: one.lines for one in parsed.guesses} == {
        "UNREAD_ROWS": (4, 5),
        "PROSE": (8,),
    }


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("## Start", *PHASE[2:]), id="no-phase"),
        pytest.param((*PHASE[:7], "**Tasks**:", PHASE[8]), id="no-criteria"),
    ],
)
def test_otherwise_its_boxes_are_tasks(lines: tuple[str, ...]) -> None:
    assert shown(*lines)[-1] == "todo `make look` shows it"
    assert "todo Phase 1: Start" not in shown(*lines)


def test_a_heading_may_be_the_label() -> None:
    lines = ("# Plan", "### Task 1: A", "**Status**: [x] Done", "#### Acceptance criteria",
             "- [ ] a", "### Task 2: B", "**Status**: [ ] Pending", "#### Verification", "- [ ] b",
             "- c")  # fmt: skip
    assert [(task.state.value, task.criteria) for task in plan_of(*lines).tasks] == [
        ("done", ("a",)),
        ("todo", ("b", "c")),
    ]
    assert shown(*lines, "#### Tasks", "- [ ] d") == ["done Task 1: A", "todo d"]
    assert shown("## A", "Status: open", "## Verification", "- [ ] b") == ["todo A", "todo b"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            (
                "## Task 1",
                "Acceptance Criteria:",
                "- [ ] a",
                "  - [ ] b",
                "## Task 2",
                "**Criteria:**",
                "- [ ] c",
            ),
            ["todo Task 1", "todo Task 2"],
            id="labels",
        ),
        pytest.param(
            ("## Task 1", "- **Acceptance criteria:**", "  - [ ] a", "## Task 2", "Text."),
            ["todo Task 1", "todo Task 2"],
            id="a-bullet-as-the-label",
        ),
        pytest.param(
            ("## Task 1", "### Acceptance criteria", "- [ ] a", "## Task 2", "Text."),
            ["todo Task 1", "todo Task 2"],
            id="a-heading-as-the-label",
        ),
        pytest.param(
            ("## To do", "### 1. Parse", "Criteria:", "- [ ] a", "### 2. Render", "Text."),
            ["todo 1. Parse", "todo 2. Render"],
            id="numbered-tasks",
        ),
        pytest.param(
            ("## Phase 1: A", "### 1.1 B", "Criteria:", "- [ ] a", "### 1.2 C", "Text."),
            ["todo 1.1 B", "todo 1.2 C"],
            id="parts-of-a-phase",
        ),
        pytest.param(
            (
                "## Task 1",
                "Criteria:",
                "- [ ] a",
                "",
                "Status: done",
                "## Task 2",
                "Criteria:",
                "- [ ] b",
            ),
            ["done Task 1", "todo Task 2"],
            id="a-state-below-them",
        ),
        pytest.param(
            ("## Task 1", "Criteria:", "- [ ] a", "## Task 2", "- [ ] b"),
            ["todo a", "todo b"],
            id="other-boxes",
        ),
        pytest.param(
            ("## Phase 1", "Criteria:", "- [ ] a", "### Task 1", "Text."),
            ["todo a"],
            id="not-where-the-tasks-are",
        ),
        pytest.param(
            ("## Phase 1", "Criteria:", "- [ ] a", "### 1.1 B", "Criteria:", "- [ ] b"),
            ["todo a", "todo b"],
            id="one-in-another",
        ),
        pytest.param(
            ("## Phase 1", "1. a", "2. b", "", "Criteria:", "- [ ] c"),
            ["todo c"],
            id="steps-are-listed",
        ),
    ],
)
def test_labels_below_headings_named_like_tasks_hold_their_criteria(
    lines: tuple[str, ...], expected: list[str]
) -> None:
    """Where no other box is in the plan; whatever is ticked."""
    assert shown(*lines) == expected
    ticked = tuple(line.replace("[ ]", "[x]") for line in lines)
    assert [title.partition(" ")[2] for title in shown(*ticked)] == [
        title.partition(" ")[2] for title in expected
    ]


def test_a_heading_without_a_state_is_done_when_its_criteria_are() -> None:
    lines = ("## Task 1: A", "Criteria:", "- [x] a", "- [x] b", "## Task 2: B", "Criteria:",
             "- [x] c", "- [ ] d", "## Task 3: C", "- Criteria:", "  - [x] e")  # fmt: skip
    assert shown(*lines) == ["done Task 1: A", "todo Task 2: B", "done Task 3: C"]
    assert [task.criteria for task in plan_of(*lines).tasks] == [("a", "b"), ("c", "d"), ("e",)]
    text = "\n".join(lines)
    first = parse_markdown(text).plan.tasks[0]
    reopened = untick_task(text, first.id)
    assert [task.state.value for task in parse_markdown(reopened).plan.tasks] == [
        "todo",
        "todo",
        "done",
    ]
