"""Superpowers: a heading is a task, its boxes are its steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.superpowers.operations import (
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

PLANS = Path("tests/data/plan_formats/superpowers/docs/superpowers/plans")
SHOP = (PLANS / "2026-01-05-checkout.md").read_bytes().decode()


def test_reads_tasks_and_their_steps() -> None:
    plan = parse_text(SHOP).plan
    assert states(plan) == {"1": "done", "2": "todo", "3": "todo"}
    pay = plan.by_id()["2"]
    assert (pay.title, pay.section) == ("Pay by card", "Checkout Implementation Plan")
    assert pay.criteria == ("Step 1: Write the failing test", "Step 2: Implement")
    assert pay.words is not None
    line, start, end = pay.words
    assert SHOP.split("\n")[line][start:end] == "Pay by card"
    assert needs_of(SHOP) == {}
    assert why_broken(SHOP) == ""
    assert why_broken("# Plan\n- a").startswith("it has no task; begin each with a heading")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        pytest.param("## Task 1: a ✅\n## Task 2 - b (DONE)\n### [x] Task 3. c\n## Task 4 d [done]",
                     ["done"] * 4, id="finished-headings"),
        pytest.param("### [ ] Task 1: a\n- [x] s\n- [ ] t", ["inProgress"], id="begun"),
        pytest.param("### Task 1: a\n- [x] s\n- [x] t\n## Notes\n- [ ] other", ["done"], id="ends"),
        pytest.param("### Task 1: a\n#### Steps\n- [ ] s", ["todo"], id="deeper-heading"),
        pytest.param("### Task 1:\n~~~\n### Task 2: x\n- [ ] y\n~~~\n### Task 1: b",
                     ["todo", "todo"], id="fence"),
        pytest.param("### Task 1: a\n```markdown\n```bash\nx\n```\n### Task 9: y\n```\n- [x] b",
                     ["done"], id="fence-in-a-quoted-document"),
        pytest.param("### Task 1: a\nBlocked by: no key\n\n", ["blocked"], id="blocked"),
        pytest.param("### Task 1: a\nBlocked by: no key\nIt came.", ["todo"], id="no-more"),
        pytest.param("### Tasks 1: a\n### Task: b\n- c", [], id="no-task"),
        pytest.param("## Tasks\n- [x] a\n- [ ] b\n  - [x] c\n## Done when\n- d",
                     ["done", "inProgress"], id="boxes-without-headings"),
    ],
)  # fmt: skip
def test_reads_the_shapes_of_a_task(text: str, read: list[str]) -> None:
    assert list(states(parse_text(text).plan).values()) == read


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_finished_task_has_all_its_steps_ticked(ending: str, mark: str) -> None:
    text = mark + SHOP.rstrip("\n").replace("\n", ending)
    after = with_state(text, "2", TaskState.DONE)
    lines = [
        f"- [ ] **Step 1: Write the failing test**{ending}",
        f"- [ ] **Step 2: Implement**{ending}",
    ]
    assert changed_lines(text, after) == [(line, line.replace("[ ]", "[x]")) for line in lines]
    assert with_state(after, "2", TaskState.TODO) == text


def test_a_task_without_steps_is_done_by_its_heading() -> None:
    after = with_state(SHOP, "3", TaskState.DONE)
    assert changed_lines(SHOP, after) == [
        ("### Task 3: Receipt by mail\n", "### Task 3: Receipt by mail ✅\n")
    ]
    assert with_state(after, "3", TaskState.TODO) == SHOP
    boxed = "### [x] Task 1: a"
    assert with_state(boxed, "1", TaskState.TODO) == "### [ ] Task 1: a"
    assert with_state(SHOP, "3", TaskState.IN_PROGRESS) == SHOP


def test_a_blocked_task_ends_with_the_reason() -> None:
    blocked = with_state(SHOP, "2", TaskState.BLOCKED, "no licence")
    task = parse_text(blocked).plan.by_id()["2"]
    assert (task.state, task.blocked_by) == (TaskState.BLOCKED, "no licence")
    assert "Blocked by: x\n" in with_state(blocked, "2", TaskState.BLOCKED, "x")
    assert with_state(blocked, "2", TaskState.TODO) == SHOP
    noted = with_note(SHOP, "3", "n")
    assert noted == SHOP + "n\n" or noted.rstrip().endswith("n")
    assert with_note(noted, "3", "n") == noted


def test_a_finished_task_that_is_blocked_is_open() -> None:
    blocked = with_state(SHOP, "1", TaskState.BLOCKED, "x")
    assert parse_text(blocked).plan.by_id()["1"].state is TaskState.BLOCKED
    begun = with_state(SHOP, "2", TaskState.IN_PROGRESS)
    assert (
        with_state(with_state(begun, "2", TaskState.BLOCKED), "2", TaskState.IN_PROGRESS) == begun
    )
    assert parse_text("```\na\n```\n### Task 1: a").plan.tasks[0].id == "1"


def test_refuses_what_it_cannot_write() -> None:
    with pytest.raises(RalphError, match="no form for a skipped task"):
        with_state(SHOP, "2", TaskState.SKIPPED)
    with pytest.raises(RalphError, match="see the ids in: ralph plan"):
        with_state(SHOP, "9", TaskState.DONE)


@pytest.mark.parametrize("task_id", ["1", "2", "3"])
@pytest.mark.parametrize("state", TaskState)
def test_an_edit_gives_one_task_its_state(task_id: str, state: TaskState) -> None:
    if state is not TaskState.SKIPPED and (task_id, state) != ("3", TaskState.IN_PROGRESS):
        check_state_edit(parse_text, with_state, SHOP, task_id, state)


@pytest.mark.parametrize("task_id", ["1", "2", "3"])
def test_a_removed_task_comes_back_where_it_was(task_id: str) -> None:
    without = with_task_of(SHOP, "", task_id)
    assert task_id not in states(parse_text(without).plan)
    back = with_task_of(without, SHOP, task_id)
    assert states(parse_text(back).plan) == states(parse_text(SHOP).plan)
    assert sorted(back.splitlines()) == sorted(SHOP.splitlines())


def test_protects_title_and_steps() -> None:
    before = protected_fields(SHOP)["2"]
    assert protected_fields(with_state(SHOP, "2", TaskState.DONE))["2"] == before
    for old, new in [("Pay by card", "Pay"), ("Step 2: Implement", "Step 2: Skip")]:
        assert (
            protected_fields(SHOP.replace(old, new))["2"][Forbidden.CRITERIA]
            != before[Forbidden.CRITERIA]
        )


@given(
    st.lists(
        st.sampled_from(["### Task 1: a", "## ", "- [ ] b", "- [x] c", " ✅", "```", "\n", "\r\n",
                         "Blocked by: d", "\ufeff"])
    ).map("".join)
)  # fmt: skip
def test_reading_never_raises(text: str) -> None:
    for task in parse_text(text).plan.tasks:
        assert with_state(text, task.id, task.state) == text
    protected_fields(text)


BOXES = """\
# Kettle Implementation Plan

## Tasks

- [x] **Cut** the lid
- [ ] Solder the spout
  - [ ] Heat the iron
- [ ] Cut the lid

## Done when

- It whistles
"""


def test_boxes_are_tasks_where_no_heading_is_one() -> None:
    cut, solder, again = parse_text(BOXES).plan.tasks
    assert [cut.title, solder.title, again.title] == [
        "Cut the lid", "Solder the spout", "Cut the lid",
    ]  # fmt: skip
    assert again.id == f"{cut.id}-2"
    assert (cut.criteria, solder.criteria) == ((), ("Heat the iron",))
    assert (solder.section, solder.line, solder.end_line) == ("Tasks", 5, 6)
    done = with_state(BOXES, solder.id, TaskState.DONE)
    assert [line for _, line in changed_lines(BOXES, done)] == [
        *("- [x] Solder the spout\n", "  - [x] Heat the iron\n"),
    ]
    blocked = with_state(done, solder.id, TaskState.BLOCKED, "no tin")
    assert parse_text(blocked).plan.by_id()[solder.id].blocked_by == "no tin"
    assert with_state(blocked, solder.id, TaskState.TODO) == BOXES
    with pytest.raises(RalphError, match="skipped task"):
        with_state(BOXES, again.id, TaskState.SKIPPED)
