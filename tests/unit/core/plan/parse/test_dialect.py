"""What means different things to different tools, and the marks that they share."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.lint.dependencies import unfinished_dependencies
from ralph_ls.core.plan.parse.dialect import KIRO, PLAIN, MarkdownDialect
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_of, problems_of, shown

KIRO_PLAN = """\
# Implementation Plan

- [x] 1. Set up the store
  - Create the tables
  - _Requirements: 1.1, 1.2_
- [-] 2. Sign in
  - [ ]* 2.1 Cover the odd names
    - _Requirements: 2.1_
"""


def states(text: str, dialect: MarkdownDialect | None = None) -> list[TaskState]:
    return [task.state for task in parse_markdown(text, dialect=dialect).plan.tasks]


def test_a_dash_means_what_the_tool_means() -> None:
    done, begun, todo = TaskState.DONE, TaskState.IN_PROGRESS, TaskState.TODO
    assert states(KIRO_PLAN) == states(KIRO_PLAN, KIRO) == [done, begun, todo]
    assert states(KIRO_PLAN, PLAIN) == [done, TaskState.SKIPPED, todo]
    assert states("- [-] a\n") == [TaskState.SKIPPED]
    assert states("- [-] a\n", KIRO) == [TaskState.IN_PROGRESS]


def test_a_tool_is_known_by_its_references_in_any_language() -> None:
    text = KIRO_PLAN.replace("_Requirements:", "_需求:")
    assert states(text) == states(KIRO_PLAN)
    emphasised = "- [-] a\n  - _Note: 1st of all_\n  - _Takes: 2 hours_\n"
    assert states(emphasised) == [TaskState.SKIPPED]


def test_an_edit_may_change_the_dialect() -> None:
    at = KIRO_PLAN.index("_Requirements: 1.1")
    later = KIRO_PLAN.index("_Requirements: 2.1")
    text = KIRO_PLAN[:later] + KIRO_PLAN[later + 1 :]
    changed = reparse_markdown(parse_markdown(text), (at, at + 1, ""))
    assert changed.plan.tasks[1].state is TaskState.SKIPPED
    back = reparse_markdown(changed, (at, at, "_"))
    assert back.plan.tasks[1].state is TaskState.IN_PROGRESS
    given = reparse_markdown(parse_markdown(text, dialect=KIRO), (at, at + 1, ""))
    assert given.plan.tasks[1].state is TaskState.IN_PROGRESS


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- [/] a", "inProgress a"),
        ("- [>] a", "todo a"),
        ("- [<] a", "todo a"),
        ("- [?] a", "todo a"),
    ],
)
def test_boxes_of_note_takers_are_known(line: str, expected: str) -> None:
    assert shown(line) == [expected]
    assert problems_of(line) == []


@pytest.mark.parametrize(
    ("line", "title", "optional"),
    [
        ("- [ ]* Write more tests", "Write more tests", True),
        ("1. [x]* Write more tests", "Write more tests", True),
        ("- [ ]*  2.1 More", "2.1 More", True),
        (r"- [ ]\* 3.3 More", "3.3 More", True),
        (r"- [ ]\*3.3 More", r"\*3.3 More", False),
        ("- [ ] 2.7* More", "2.7* More", True),
        (r"- [ ] 2.\* More", r"2.\* More", True),
        ("- [ ] 2 * 3 cells", "2 * 3 cells", False),
        ("- [ ] 2*3 cells", "2*3 cells", False),
        ("- [ ] * star", "* star", False),
        ("- [ ]*emphasis*", "*emphasis*", False),
    ],
)
def test_a_star_behind_the_box_makes_a_task_optional(line: str, title: str, optional: bool) -> None:
    plan = plan_of(line, "- [ ] other")
    assert [(task.title, task.optional) for task in plan.tasks] == [
        (title, optional),
        ("other", False),
    ]
    assert sum(n for (_, is_optional), n in plan.tally().items() if is_optional) == optional


def test_ids_in_code_may_be_waited_for() -> None:
    text = (
        "# Tasks: Kettle\n\n## `T001` Fill it [US1]\n\n- **Depends on**: T002\n\n"
        "**Acceptance criteria**:\n\n- [ ] `AC-1` It is full\n\n## `T002` Fit the tap [US1]\n\n"
        "**Acceptance criteria**:\n\n- [ ] `AC-1` It turns\n"
    )
    first, second = parse_markdown(text).plan.tasks
    assert unfinished_dependencies((first, second), text) == {"T001": (second,)}


@pytest.mark.parametrize("box", ["- [ ] T001 a", "- [x] T1-2 a", "- [ ] Add a field [US2]"])
def test_marks_of_spec_kit_leave_lists_without_boxes_unread_and_unreported(box: str) -> None:
    lines = ("# Tasks: Kettle", "- plan.md", "## Steps", box, "## Dependencies", "1. The tap first")
    parsed = parse_markdown("\n".join(lines))
    assert (len(parsed.plan.tasks), parsed.guesses) == (1, ())


@pytest.mark.parametrize(
    "lines",
    [
        ("### T001: a", "**Status**: ✅ Done", "### T002: b", "**Status**: Pending"),
        ("### [x] T001: a", "w", "### [ ] T002: b", "w"),
        ("- **T001** ✅ a", "- **T002**: b"),
        ("| ID | Task | Status |", "|---|---|---|", "| T001 | a | ✅ |", "| T002 | b | |"),
    ],
)
def test_what_the_template_says_of_the_order_is_no_task(lines: tuple[str, ...]) -> None:
    order = ("## Dependencies & Execution Order", "### Phase Dependencies", "- **Setup**: none",
             "### Parallel Opportunities", "- All [P] tasks", "## Implementation Strategy",
             "### MVP First", "1. Complete Phase 1", "2. **STOP and VALIDATE**")  # fmt: skip
    head = ("# Tasks: Kettle", "**Input**: its design", "## Phase 1: Setup")
    tasks = plan_of(*head, *lines, *order).tasks
    assert [(task.id, task.state) for task in tasks] == [
        ("T001", TaskState.DONE),
        ("T002", TaskState.TODO),
    ]


def test_checkpoints_beside_numbered_tasks_are_none() -> None:
    lines = ("- [ ] T001 Dig", "## Checkpoints", "**After phase 1:**", "- [ ] The bed is dug")
    assert shown(*lines) == ["todo Dig"]


@pytest.mark.parametrize(
    "label", ["**Acceptance Criteria:**", "**独立验收标准**:", "**Success criteria**:"]
)
@pytest.mark.parametrize("heading", ["## Phase 1: Setup", "## Phase 1: Setup (P1)", "## Setup"])
def test_criteria_above_numbered_tasks_are_none(heading: str, label: str) -> None:
    lines = (heading, label, "- [ ] It runs", "- [ ] It is fast", "", "### Tasks", "- [ ] T001 Dig")
    assert shown("# Tasks: Bed", *lines) == ["todo Dig"]


def test_fields_of_a_document_are_no_tasks() -> None:
    lines = ("# Tasks: Kettle", "- **Input**: its design", "- **Prerequisites**: none", "- Boil")
    assert shown(*lines) == ["todo Boil"]
