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
        ("ready-for-review", TaskState.IN_PROGRESS, None),
        ("completed", TaskState.DONE, None),
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


KEYS = """development_status:
  epic-1: in-progress
  1-1-basket: done
  1-2b-list: backlog
  "1.3-total": review
  story-1-4-mail: done
  fix-login: backlog
  login: backlog
  TD-1-1-types: ready-for-dev   # 2 points
  epic-1-retrospective: optional
  late: odd
  supp-epic-1: in-progress
  se1-5-new-editor: backlog
  se1-6-epic-list: backlog
  hotfix-1-2-crash: in-review
  bug-7-crash: odd-one
  g-01-log-in: backlog
  supp-epic-1-retrospective: optional
  team-retrospective: optional
  EPIC-two: backlog
  # no-story: backlog
  last_updated: 2026-01-31
  next-review: 2026-02-01
  nested:
    status: done
    2-1-inner: backlog
  epic-3:
    title: done
  empty-one:  # to do
other:
  fix-other: done
"""


def test_every_key_but_epics_and_retrospectives_is_a_story() -> None:
    parsed = parse_text(KEYS)
    assert [(one.id, one.title, one.section) for one in parsed.plan.tasks] == [
        ("1-1-basket", "Story 1.1: Basket", "Epic 1"),
        ("1-2b-list", "Story 1.2b: List", "Epic 1"),
        ("1.3-total", "Story 1.3: Total", "Epic 1"),
        ("story-1-4-mail", "Story 1.4: Mail", "Epic 1"),
        ("fix-login", "Fix login", "Epic 1"),
        ("login", "Login", "Epic 1"),
        ("TD-1-1-types", "Story TD-1-1: Types", "Epic 1"),
        ("se1-5-new-editor", "Story se1-5: New editor", "supp-epic-1"),
        ("se1-6-epic-list", "Story se1-6: Epic list", "supp-epic-1"),
        ("hotfix-1-2-crash", "Story hotfix-1-2: Crash", "supp-epic-1"),
        ("bug-7-crash", "Bug 7 crash", "supp-epic-1"),
        ("g-01-log-in", "Story g-01: Log in", "supp-epic-1"),
        ("2-1-inner", "Story 2.1: Inner", "Epic 2"),
    ]
    assert [(one.code, one.line, one.message[:23]) for one in parsed.problems] == [
        ("story-status-unknown", 16, "the status odd-one is u"),
        ("story-not-read", 24, "nested is not read, for"),
        ("story-not-read", 29, "empty-one is not read, "),
    ]
    for one, (start, end) in zip(parsed.problems, parsed.spans, strict=True):
        assert KEYS.splitlines()[one.line - 1][start:end] in {"odd-one", "nested", "empty-one"}


@pytest.mark.parametrize("state", [TaskState.TODO, TaskState.DONE, TaskState.BLOCKED])
def test_a_story_with_any_key_is_edited(state: TaskState) -> None:
    for task in parse_text(KEYS).plan.tasks:
        check_state_edit(parse_text, with_state, KEYS, task.id, state)
        without = with_task_of(KEYS, "development_status:\n", task.id)
        assert with_task_of(without, KEYS, task.id) == KEYS


def test_stories_without_an_epic_have_a_section() -> None:
    (task,) = parse_text("development_status:\n  se1-5-two: backlog\n").plan.tasks
    assert (task.id, task.section) == ("se1-5-two", "Stories")


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


@given(
    st.text()
    | st.text().map(lambda text: f"development_status:\n  1-1-a: {text}")
    | st.text().map(lambda text: f"development_status:\n  {text}: done")
)
def test_reading_never_raises(text: str) -> None:
    parse_text(text)
    assert why_broken(f"x{text}") or "\n" in text or "\r" in text
