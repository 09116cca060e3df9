"""What labels say of the lists below them, and what a document says of its state as a whole."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task, untick_task
from ralph_ls.core.plan.lint.checks import check_markdown
from ralph_ls.core.plan.model import GuessCause
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from tests.unit.core.plan.plan_assertions import plan_of, shown


def causes_in(*lines: str) -> dict[GuessCause, tuple[int, ...]]:
    return {one.cause: one.lines for one in parse_markdown("\n".join(lines)).guesses}


@pytest.mark.parametrize(
    "label",
    [
        "For every workstream below:",
        "**Before each commit:**",
        "After every 5 loops, verify:",
        "**Per task:** do this",
        "每个任务：",  # noqa: RUF001
        "Für jede Aufgabe:",
        "Перед каждым коммитом:",
        "### Execution rules",
        "### For each task",
        "### Session checkpoints",
    ],
)
def test_what_is_done_again_with_each_task_is_none(label: str) -> None:
    lines = (
        "# Roof",
        "## Beam",
        label,
        "- [ ] Look",
        "  - [ ] Twice",
        "",
        "## Tiles",
        "- [ ] Nail",
    )
    assert shown(*lines) == ["todo Nail"]
    assert causes_in(*lines) == {GuessCause.PROSE: (3,)}


@pytest.mark.parametrize(
    "label", ["For each of these rooms:", "## Security rules", "Before winter:", "**Each:** a"]
)
def test_what_is_done_once_is(label: str) -> None:
    assert shown("# Roof", label, "- [ ] Attic") == ["todo Attic"]


def test_a_label_reaches_to_the_next_prose_or_heading() -> None:
    lines = (
        "Before each commit:",
        "- [ ] Look",
        "",
        "Then:",
        "- [ ] Nail",
        "## Tiles",
        "- [ ] Cut",
    )
    assert shown(*lines) == ["todo Nail", "todo Cut"]


@pytest.mark.parametrize(
    "label",
    [
        "**Test checklist:** after each feature",
        "Acceptance criteria:",
        "## Checklist for the second storm",
        "阶段完成标准：",  # noqa: RUF001
    ],
)
def test_boxes_below_criteria_alone_leave_the_steps_tasks(label: str) -> None:
    lines = (
        "# Roof",
        "## Implementation order",
        "1. Saw",
        "2. Nail",
        "## Looks",
        label,
        "- [ ] Dry",
    )
    assert shown(*lines) == ["todo Saw", "todo Nail", "todo Dry"]


def test_boxes_below_criteria_and_optional_headings_alone_do_too() -> None:
    lines = ("# Roof", "## Phase 1", "1. Saw", "## Looks", "- **Manual testing checklist:**",
             "  - [ ] Dry", "## Phase 2 (optional)", "- [ ] Paint")  # fmt: skip
    plan = plan_of(*lines, optional_sections=("optional",))
    assert [(task.title, task.optional) for task in plan.tasks] == [
        ("Saw", False),
        ("Dry", False),
        ("Paint", True),
    ]
    assert shown("## Looks", "- **Before each commit:**", "  - [ ] Dry", "- [ ] a") == ["todo a"]


def test_numbered_criteria_are_no_steps() -> None:
    assert shown("## Phase 1", "To do:", "1. Saw", "", "Exit criteria:", "1. Dry") == ["todo Saw"]


def test_boxes_of_notes_are_reported() -> None:
    assert causes_in("- [ ] a", "## Notes", "- [ ] b", "- [ ] c", "## Legend", "- [ ] open") == {
        GuessCause.PROSE: (2, 3)
    }


def test_labels_are_known_after_a_keystroke() -> None:
    text = "# Roof\n\n- [ ] Look\n- [ ] Twice\n\n## Tiles\n\n- [ ] Nail\n"
    at = text.index("- [ ] Look")
    with_label = reparse_markdown(parse_markdown(text), (at, at, "Before each commit:\n"))
    assert [task.title for task in with_label.plan.tasks] == ["Nail"]
    again = reparse_markdown(with_label, (at, at + len("Before each commit:\n"), ""))
    assert again.plan == parse_markdown(text).plan


@pytest.mark.parametrize(
    "status",
    [
        "**Status:** ✅ Implemented",
        "Status: Completed (v2)",
        "> **Status**: done",
        "Date: today | **Status**: Complete",
    ],
)
def test_a_document_that_is_done_has_tasks_that_are(status: str) -> None:
    lines = ("# Roof", "", status, "", "## Phase 1", "1. Saw", "2. Nail")
    assert shown(*lines) == ["done Saw", "done Nail"]
    assert causes_in(*lines) == {GuessCause.FINISHED: (5, 6)}
    assert shown("# Roof", status, "## Task 1: Saw", "Text.", "## Task 2: Nail [WIP]") == [
        "done Task 1: Saw",
        "inProgress Task 2: Nail",
    ]


@pytest.mark.parametrize(
    "status",
    [
        "Status: Phase 1 done",
        "Status: Done up to phase 2",
        "Status: Completed 80 %",
        "Status: Implemented, except the tiles: 3 of 5",
        "Status: ready",
        "State: done",
    ],
)
def test_one_that_is_done_in_part_has_not(status: str) -> None:
    assert shown("# Roof", status, "## Phase 1", "1. Saw") == ["todo Saw"]


@pytest.mark.parametrize("mark", ["Status: ", "> Status: ", "> **Note.** "])
def test_such_a_status_is_reported_where_no_task_is_done(mark: str) -> None:
    text = f"# Roof\n\n{mark}phases 0-1 are implemented\n\n## Phase 0\n\n## Phase 1\n"
    remarks = check_markdown(parse_markdown(text), text)
    assert [(one.place.line, one.message) for one in remarks if one.code == "status-not-read"] == [
        (2, "this status is not read, and no task is done; write the states at the tasks")
    ]
    done = text.replace("## Phase 0", "## Phase 0 [DONE]")
    assert GuessCause.UNREAD_STATUS not in causes_in(*done.split("\n"))


def test_a_status_elsewhere_is_not_that_of_the_document() -> None:
    assert shown("# Roof", "1. Saw", "Status: done") == ["todo Saw"]
    assert shown("## Roof", "Status: done", "## Phase 1", "1. Saw")[-1] == "todo Saw"


def test_its_tasks_can_be_opened_again() -> None:
    text = "# Roof\nStatus: done\n## Task 1: Saw\nText.\n## Task 2: Nail\n"
    first, second = parse_markdown(text).plan.tasks
    opened = parse_markdown(untick_task(text, first.id)).plan
    assert [(task.title, task.state.value) for task in opened.tasks] == [
        ("Task 1: Saw", "todo"),
        (second.title, "done"),
    ]


def test_open_boxes_of_such_a_document_are_reported() -> None:
    text = "# Roof\nStatus: done\n## Phase 1\n- [ ] Saw\n- [x] Nail\n"
    (remark,) = check_markdown(parse_markdown(text), text)
    assert remark.message == (
        "1 open task is below a heading that is done (Roof); tick it, or change the heading"
    )


@pytest.mark.parametrize(
    "line",
    [
        "All tasks completed!",
        "## Execution complete",
        "**✅ All phases are done**",
        "所有任务已完成",
    ],
)
def test_a_line_that_says_that_all_is_done_is_reported_with_open_tasks(line: str) -> None:
    text = f"# Roof\n- [ ] Saw\n- [x] Nail\n\n{line}\n"
    (remark,) = check_markdown(parse_markdown(text), text)
    assert (remark.place.line, remark.message) == (
        4,
        "this line says that all tasks are done, and some are open; tick them, or change it",
    )
    assert causes_in(*text.replace("[ ]", "[x]").split("\n")) == {}
    assert causes_in(*text.replace("[ ]", "[-]").split("\n")) == {}


def test_a_status_below_a_rule_is_not_that_of_the_last_heading() -> None:
    lines = ("# Roof", "## Tasks", "- [x] Saw", "## Start", "Read.", "", "---", "", "Status: ready")
    assert plan_of(*lines).tasks[-1].title == "Saw"
    assert shown("## Task 1: a", "- b", "  ---", "", "Status: done") == ["done Task 1: a"]


WRAPPED = "\n```markdown\r\n# T\r\n- [ ] a\n```bash\nx\n```\n- [ ] b\n```\n\n"


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        pytest.param(WRAPPED, ["a", "b"], id="with-a-fence-in-it"),
        pytest.param("~~~~md\n- [ ] a\n~~~~", ["a"], id="other-fences"),
        pytest.param("```markdown\n- [ ] a\n```\n- [ ] b\n", ["b"], id="not-the-whole-text"),
        pytest.param("```markdown\n- [ ] a\n", [], id="not-closed"),
        pytest.param("```sh\n- [ ] a\n```\n", [], id="of-code"),
        pytest.param("a\n\n```md\n- [ ] a\n```\n", [], id="behind-text"),
    ],
)
def test_a_whole_text_in_a_fence_of_markdown_is_read(text: str, titles: list[str]) -> None:
    assert [task.title for task in parse_markdown(text).plan.tasks] == titles


def test_a_text_in_a_fence_is_edited_in_place_and_followed_over_keys() -> None:
    parsed = parse_markdown(WRAPPED)
    ticked = tick_task(WRAPPED, parsed.plan.tasks[1].id)
    assert ticked == WRAPPED.replace("[ ] b", "[x] b")
    opening = WRAPPED.index("```")
    for change in ((opening, opening + 11, ""), (len(WRAPPED), len(WRAPPED), "- [ ] c\n")):
        text = WRAPPED[: change[0]] + change[2] + WRAPPED[change[1] :]
        again = reparse_markdown(parsed, change)
        assert again.plan.tasks == parse_markdown(text).plan.tasks
        back = (change[0], change[0] + len(change[2]), WRAPPED[change[0] : change[1]])
        assert reparse_markdown(again, back).plan.tasks == parsed.plan.tasks


def test_labels_behind_that_for_criteria_divide_them_up_to_one_for_tasks() -> None:
    lines = ("# P", "## A", "**Acceptance criteria:**", "", "**Path 1:**", "- [ ] a", "",
             "**Path 2:**", "- [ ] b", "", "**Tasks:**", "- [ ] c", "## B", "- [ ] d")  # fmt: skip
    tasks = plan_of(*lines).tasks
    assert [task.title for task in tasks if task.is_criterion] == ["a", "b"]


@pytest.mark.parametrize("label", ["معايير القبول", "Acceptanskriterier", "Elfogadási kritériumok"])
def test_criteria_have_labels_in_more_languages(label: str) -> None:
    tasks = plan_of(
        "# P", "## 1", "- [ ] a", "", f"**{label}:**", "- [ ] b", "## 2", "- [ ] c"
    ).tasks
    assert [task.title for task in tasks if task.is_criterion] == ["b"]
