"""A story of BMAD: the boxes of its section of tasks are read and edited, and its status counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.formats.bmad import story
from ralph_ls.core.plan.formats.bmad.story import (
    check_story,
    is_surely_story,
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    why_foreign,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.formats.text_operations import guard_text
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

MARKER = "<promise>X</promise>"
SAMPLE = Path("tests/data/plan_formats/bmad-story/docs/stories/1.2.pay-by-card.md")
PAY = SAMPLE.read_bytes().decode()
HEAD = "# Story 1.1: Basket\n\n## Status\n{status}\n\n## Tasks / Subtasks\n"
REVIEW = "\n## QA Results\n### Improvements Checklist\n- [ ] Consider a cache\n- [x] Named it\n"
LIST = (
    "- [x] Task 1: Total (AC: 1)\n  - [x] 1.1 With tax\n- [ ] Task 2: Mail\n  - [ ] 2.1 Text\n"
    "  - [ ] Sender\n\n### Review Follow-ups (AI)\n- [ ] [AI-Review][High] Log it\n"
)
OPEN = HEAD.format(status="In Progress") + LIST + REVIEW
DONE = HEAD.format(status="Done") + LIST + REVIEW
SENDER, LOG = (
    next(one.id for one in parse_text(OPEN).plan.tasks if name in one.title)
    for name in ("Sender", "Log it")
)


def test_reads_the_boxes_of_the_tasks_and_no_others() -> None:
    plan = parse_text(OPEN).plan
    assert states(plan) == {
        "1": "done", "1.1": "done", "2": "todo", "2.1": "todo", SENDER: "todo", LOG: "todo",
    }  # fmt: skip
    tasks = plan.by_id()
    assert [tasks[one].parent for one in ("1.1", "2.1", SENDER, LOG)] == ["1", "2", "2", None]
    assert (tasks["2"].title, tasks["2"].section) == ("Task 2: Mail", "Tasks / Subtasks")
    assert [OPEN[one.start : one.end].strip()[:5] for one in plan.tasks] == ["- [x]"] * 2 + [
        "- [ ]"
    ] * 4
    assert all(OPEN.splitlines()[one.line] == OPEN[one.start : one.end] for one in plan.tasks)
    assert needs_of(OPEN) == {}


@pytest.mark.parametrize(
    "heading",
    ["## Tasks / Subtasks", "## Tasks", "### 4. Tasks/Subtasks:", "## Tasks & Subtasks",
     "## **Dev Tasks and Sub-tasks**", "## 📋 Implementation Tasks", "# Tasks / Subtasks (AI)"],
)  # fmt: skip
def test_the_section_is_known_by_its_names(heading: str) -> None:
    text = f"- [ ] a\n{heading}\n- [ ] b\n# QA Results\n- [ ] c\n"
    assert [task.title for task in parse_text(text).plan.tasks] == ["b"]


@pytest.mark.parametrize(
    "text",
    ["# Story\n## Phase 1: a\n- [ ] b\n- [x] c\n", "## Tasks for users\n- [ ] b\n- [x] c\n",
     "```\n## Tasks\n```\n- [ ] b\n- [x] c\n"],
)  # fmt: skip
def test_a_story_without_that_section_is_read_as_a_whole(text: str) -> None:
    assert {task.title: task.state.value for task in parse_text(text).plan.tasks} == {
        "b": "todo", "c": "done"
    }  # fmt: skip
    assert all(one.code.value != "box-not-read" for one in check_story(text, MARKER))


@pytest.mark.parametrize(
    ("status", "is_done"),
    [
        ("## Status\nDone", True),
        ("## Status\n\n**Done** ✅", True),
        ("## Status: Completed", True),
        ("Status: done", True),
        ("**Status:** Complete - merged 2026-01-31", True),
        ("- **Story Status**: ✅ Done", True),
        ("# Status\r\nDone", True),
        ("## Status\nReady for Review", False),
        ("Status: Approved\n\n## Status\nDone", False),
        ("## Status\n## Notes\nDone", False),
        ("Status\nDone", False),
        ("Status is done", False),
        ("```\nStatus: Done\n```", False),
        ("Status: Done (pending QA)", False),
        ("", False),
    ],
)
def test_a_story_that_is_done_is_finished(status: str, *, is_done: bool) -> None:
    text = f"# Story 1.1: a\n{status}\n## Tasks\n- [ ] b\n- [-] c\n"
    assert [task.state.value for task in parse_text(text).plan.tasks] == [
        "done" if is_done else "todo", "skipped"
    ]  # fmt: skip
    found = [(one.code.value, one.message) for one in check_story(text, MARKER)]
    message = (
        "1 open task of a story that is done is read as done (b); tick it, or change the status "
        "of the story"
    )
    assert (("open-under-completed", message) in found) == is_done


def test_the_open_tasks_of_a_done_story_are_reported_once() -> None:
    (remark,) = check_story(DONE, MARKER)
    assert remark.message.startswith("4 open tasks of a story that is done are read as done (Task")
    assert DONE.splitlines()[remark.place.line] == "- [ ] Task 2: Mail"
    assert check_story(DONE.replace("[ ]", "[x]"), MARKER) == ()


@pytest.mark.parametrize(
    ("status", "n_remarks"), [("Approved", 1), ("ready-for-dev", 1), ("Ready for Review", 0)]
)
def test_a_status_from_before_its_tasks_were_done_is_reported(status: str, n_remarks: int) -> None:
    text = f"# Story 1.1: A\n## Status\n{status}\n## Tasks / Subtasks\n- [x] Task 1: a\n"
    found = [one for one in check_story(text, MARKER) if one.code.value == "ticked-under-open"]
    assert len(found) == n_remarks
    for one in found:
        assert (one.place.line, one.place.start, one.place.end) == (2, 0, len(status))
        assert one.message.startswith(f"the status of the story is {status}, and all its tasks")
    assert check_story(text.replace("[x]", "[ ]"), MARKER) == ()


def test_open_boxes_elsewhere_are_reported_with_a_count() -> None:
    found = [one for one in check_story(OPEN, MARKER) if one.code.value == "box-not-read"]
    (message,) = [one.message for one in found]
    assert message == (
        "1 open box outside Tasks / Subtasks is no task (section Improvements Checklist); "
        "write it below Tasks / Subtasks to have it done"
    )
    line = OPEN.splitlines()[found[0].place.line]
    assert line[found[0].place.start : found[0].place.end] == "- [ ] Consider a cache"
    more = f"## Acceptance Criteria\n- [ ] x\n## Notes\n- [ ] y\n{OPEN}## DoD\n- [ ] z\n"
    assert (
        "2 open boxes outside Tasks / Subtasks are no tasks (section Notes, Improvements "
        "Checklist); write each that is one below Tasks / Subtasks to have it done"
    ) in [one.message for one in check_story(more, MARKER)]


def test_remarks_on_tasks_name_them() -> None:
    text = "## Tasks\n- [ ] Task 1: a\n- [ ] Task 1: a\n"
    assert {one.task for one in check_story(text, MARKER)} >= {"1-2"}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_tick_changes_one_box(ending: str, mark: str) -> None:
    text = mark + OPEN.replace("\n", ending)
    after = with_state(text, "2.1", TaskState.DONE)
    line = f"  - [ ] 2.1 Text{ending}"
    assert changed_lines(text, after) == [(line, line.replace("[ ]", "[x]"))]
    assert with_state(after, "2.1", TaskState.TODO) == text


@pytest.mark.parametrize("text", [OPEN, DONE, PAY], ids=["open", "done", "sample"])
@pytest.mark.parametrize("state", TaskState)
def test_an_edit_gives_one_task_its_state(text: str, state: TaskState) -> None:
    for task in parse_text(text).plan.tasks:
        after = check_state_edit(parse_text, with_state, text, task.id, state)
        again = check_state_edit(parse_text, with_state, after, task.id, TaskState.IN_PROGRESS)
        check_state_edit(parse_text, with_state, again, task.id, TaskState.DONE)
        assert after.endswith(text[text.index("## Dev Notes" if text is PAY else "## QA") :])


def test_a_done_story_is_taken_up_again() -> None:
    opened = with_state(DONE, "2.1", TaskState.TODO)
    assert opened.startswith(HEAD.format(status="InProgress"))
    assert with_state(DONE, "2.1", TaskState.DONE) == DONE
    assert check_story(opened, MARKER)[-1].code.value == "box-not-read"


def test_a_blocked_task_has_its_reason_below_it() -> None:
    blocked = with_state(OPEN, "2.1", TaskState.BLOCKED, "no licence")
    task = parse_text(blocked).plan.by_id()["2.1"]
    assert (task.state, task.blocked_by) == (TaskState.BLOCKED, "no licence")
    assert with_state(blocked, "2.1", TaskState.TODO) == OPEN
    noted = with_note(OPEN, LOG, "a note")
    assert noted.startswith(OPEN[: OPEN.index("\n## QA")].rstrip() + "\n  - a note\n")


def test_refuses_what_it_cannot_write() -> None:
    with pytest.raises(RalphError, match="see the ids in: ralph plan"):
        with_state(OPEN, "9", TaskState.DONE)
    without = "## Tasks\n1. Parse\n2. Print\n"
    (first, _) = parse_text(without).plan.tasks
    with pytest.raises(RalphError, match="has no box; write one before its title"):
        with_state(without, first.id, TaskState.SKIPPED)


def test_protects_title_and_criteria() -> None:
    before = protected_fields(PAY)
    (task,) = [one for one in parse_text(PAY).plan.tasks if one.title == "Retry safely"]
    assert "Tests pass" in before[task.id][Forbidden.CRITERIA]
    assert protected_fields(PAY.replace("Tests pass", "x"))[task.id] != before[task.id]


def guarded(old: str, new: str) -> str:
    return guard_text(story, OPEN, OPEN.replace(old, new), PlanPowers()).text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Task 2: Mail", "Task 2: Letter"),
        ("  - [ ] Sender", "  - [ ] Sender later"),
        ("  - [ ] Sender\n", ""),
        ("- [ ] [AI-Review][High] Log it\n", ""),
        ("- [ ] Task 2: Mail", "- [-] Task 2: Mail"),
        (LIST, ""),
        (OPEN[OPEN.index("## Tasks") :], ""),
    ],
    ids=["labelled", "reworded", "dropped", "last", "skipped", "all", "section"],
)
def test_what_an_agent_may_not_change_is_restored(old: str, new: str) -> None:
    text = guarded(old, new)
    assert states(parse_text(text).plan) == states(parse_text(OPEN).plan)
    assert [one.title for one in parse_text(text).plan.tasks] == [
        one.title for one in parse_text(OPEN).plan.tasks
    ]


def test_what_an_agent_may_change_stays() -> None:
    ticked = OPEN.replace("- [ ] 2.1", "- [x] 2.1").replace("In Progress", "Review")
    added = ticked.replace("  - [ ] Sender\n", "  - [ ] Sender\n  - [ ] Subject\n")
    assert guard_text(story, OPEN, added, PlanPowers()).text == added


@pytest.mark.parametrize("index", range(6))
def test_a_removed_task_comes_back_where_it_was(index: int) -> None:
    task_id = parse_text(OPEN).plan.tasks[index].id
    without = with_task_of(OPEN, "", task_id)
    assert task_id not in states(parse_text(without).plan)
    assert states(parse_text(with_task_of(without, OPEN, task_id)).plan) == states(
        parse_text(OPEN).plan
    )


@pytest.mark.parametrize(
    ("text", "broken", "foreign", "sure"),
    [
        (OPEN, False, False, True),
        (PAY, False, False, True),
        ("# Epic 4.2: a\n## User Story\n- [ ] b\n", False, False, False),
        ("# Notes\n## Tasks / Subtasks\n- [ ] b\n", False, False, False),
        ("# Notes\n- [ ] b\n", False, True, False),
        ("# Story 1.1: a\n## Tasks\n", False, True, True),
        ("# Story 1.1: a\n", True, True, False),
        ("", True, True, False),
    ],
)
def test_whose_a_document_is(text: str, *, broken: bool, foreign: bool, sure: bool) -> None:
    assert bool(why_broken(text)) == broken
    assert bool(why_foreign(text)) == foreign
    assert is_surely_story(text) == sure


@given(
    st.lists(
        st.sampled_from(
            ["# Story 1.1: a", "## Status", "Done", "Status: x", "## Tasks", "- [ ] b", "\n",
             "\r\n", "  - [x] Task 1: c", "1. d", "```", "## QA",
             "- [ ] [BLOCKED] e", "  - Blocked by: f"]
        )
    ).map("".join)
)  # fmt: skip
def test_reading_never_raises(text: str) -> None:
    for task in parse_text(text).plan.tasks:
        assert with_state(text, task.id, task.state) == text
    protected_fields(text)
    check_story(text, MARKER)
