"""BMAD: stories are read from the sprint status; an edit changes one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.bmad.operations import (
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

FILE = Path("tests/data/plan_formats/bmad/_bmad-output/implementation-artifacts/sprint-status.yaml")
SPRINT = FILE.read_bytes().decode()
PAY = "1-2-pay-by-card"


def test_reads_the_stories_and_nothing_else() -> None:
    plan = parse_text(SPRINT).plan
    assert states(plan) == {
        "1-1-basket-with-a-total": "done", PAY: "todo", "1-3-receipt-by-mail": "todo"
    }  # fmt: skip
    pay = plan.by_id()[PAY]
    assert (pay.title, pay.section) == ("Story 1.2: Pay by card", "Epic 1")
    assert pay.mark is not None
    assert SPRINT[slice(*pay.mark)] == "ready-for-dev"
    assert why_broken(SPRINT) == ""
    assert why_broken("a: b").startswith("the list development_status is missing")
    assert needs_of(SPRINT) == {}
    assert protected_fields(SPRINT)[PAY] == {}


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        ("backlog", TaskState.TODO, None),
        ("drafted", TaskState.TODO, None),
        ("'in-progress'", TaskState.IN_PROGRESS, None),
        ("review # again", TaskState.IN_PROGRESS, None),
        ('"done"', TaskState.DONE, None),
        ("blocked  # blocked by no licence", TaskState.BLOCKED, "no licence"),
        ("blocked # no key", TaskState.BLOCKED, "no key"),
        ("odd", TaskState.BLOCKED, None),
        ("deferred", TaskState.SKIPPED, None),
    ],
)
def test_every_status_has_a_state(status: str, state: TaskState, reason: str | None) -> None:
    parsed = parse_text(f"development_status:\n  2-1-a: {status}\n  2-1-a: done\n")
    (task,) = parsed.plan.tasks
    assert (task.state, task.blocked_by) == (state, reason)
    assert [problem.code for problem in parsed.problems] == (
        ["story-status-unknown"] if status == "odd" else []
    )


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_a_state_changes_one_line(ending: str, mark: str, indent: str) -> None:
    text = mark + SPRINT.rstrip("\n").replace("  1", f"{indent}1").replace("\n", ending)
    after = with_state(text, PAY, TaskState.DONE)
    line = f"{indent}1-2-pay-by-card: ready-for-dev # cards of three providers{ending}"
    assert changed_lines(text, after) == [(line, line.replace("ready-for-dev", "done"))]
    assert with_state(after, PAY, TaskState.TODO) == text


def test_the_reason_of_a_blocked_story_is_a_comment() -> None:
    text = "development_status:\n  1-1-a: 'backlog'\n"
    blocked = with_state(text, "1-1-a", TaskState.BLOCKED, "no\nkey")
    assert blocked == "development_status:\n  1-1-a: 'blocked'  # blocked by no key\n"
    again = with_state(blocked, "1-1-a", TaskState.BLOCKED, "x")
    assert again == "development_status:\n  1-1-a: 'blocked'  # blocked by x\n"
    assert with_state(again, "1-1-a", TaskState.DONE) == text.replace("backlog", "done")


def test_refuses_what_it_cannot_write() -> None:
    with pytest.raises(RalphError, match="no status for a skipped story"):
        with_state(SPRINT, PAY, TaskState.SKIPPED)
    with pytest.raises(RalphError, match="see the ids in: ralph plan"):
        with_state(SPRINT, "9-9-a", TaskState.DONE)


@pytest.mark.parametrize("task_id", [PAY, "1-3-receipt-by-mail"])
@pytest.mark.parametrize("state", TaskState)
def test_an_edit_gives_one_story_its_state(task_id: str, state: TaskState) -> None:
    if state is not TaskState.SKIPPED:
        check_state_edit(parse_text, with_state, SPRINT, task_id, state)


@pytest.mark.parametrize("task_id", ["1-1-basket-with-a-total", PAY, "1-3-receipt-by-mail"])
def test_a_removed_story_comes_back_where_it_was(task_id: str) -> None:
    without = with_task_of(SPRINT, "development_status:\n", task_id)
    assert task_id not in parse_text(without).plan.by_id()
    assert with_task_of(without, SPRINT, task_id) == SPRINT
    assert with_note(SPRINT, task_id, "n") == SPRINT


@given(st.text() | st.text().map(lambda text: f"development_status:\n  1-1-a: {text}"))
def test_reading_never_raises(text: str) -> None:
    parse_text(text)
    assert why_broken(f"x{text}") or "\n" in text or "\r" in text
