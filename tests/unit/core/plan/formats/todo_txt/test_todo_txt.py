"""todo.txt: a line is a task; an edit changes one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.formats.registry import format_of_text
from ralph_ls.core.plan.formats.text_operations import guard_text
from ralph_ls.core.plan.formats.todo_txt import operations
from ralph_ls.core.plan.formats.todo_txt.operations import (
    is_markdown,
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    why_foreign,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import Priority, TaskState
from tests.unit.core.plan.formats.format_laws import check_state_edit, states

SHOP = Path("tests/data/plan_formats/todo.txt/todo.txt").read_bytes().decode()


def only(line: str) -> tuple[str, TaskState, Priority | None, str | None]:
    (task,) = parse_text(line).plan.tasks
    return task.title, task.state, task.priority, task.blocked_by


def test_reads_a_task_a_line() -> None:
    plan = parse_text(SHOP).plan
    assert list(states(plan).values()) == ["done", "todo", "todo", "todo"]
    basket, pay, mail, call = plan.tasks
    assert (basket.id, basket.title, basket.section) == (
        "basket",
        "Basket with a total +shop",
        "shop",
    )
    assert [task.priority for task in plan.tasks] == ["P0", "P0", "P2", None]
    assert mail.title == "領収書 by mail +mail see https://example.com/mail"
    assert needs_of(SHOP) == {pay.id: ("basket",)}
    assert call.words == (3, 0, len("Call the bank @phone"))
    assert why_broken(SHOP) == ""


PROSE = (
    "it is prose, and a todo.txt has one task a line; mark tasks, such as: "
    "(A) Call the bank +shop @phone"
)
MARKDOWN = (
    "it has lines in Markdown, and a todo.txt has one task a line; "
    "write all of its tasks in one of the two forms"
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ""),
        ("\n(A) Call the bank", ""),
        ("Call\nMail +shop", ""),
        ("Buy milk\n", ""),
        ("Buy milk\nCall the bank\n\nPaint the fence\n", ""),
        ("Paint the fence behind the house.\nAsk the bank about the new card.\n", ""),
        ("修复登录。\n更新文档。\n", ""),
        ("修复登录。\n\n更新文档。\n", PROSE),
        ("任务\uff1a\n修复登录\n", PROSE),
        ("# Plan\n- [ ] a", MARKDOWN),
        ("This is going to be real documentation.\nNo pricing. No fluff.\n\nTables\nid\n", PROSE),
        ("Tasks:\nparser\nlexer\n", PROSE),
        ("domain\n→ hosts\n-> ports\n", PROSE),
        ("Call the bank " * 9, PROSE),
        ("We decided to move to Postgres.\n\nBob said +1 to it\n", PROSE),
        # One line in the form of the tool says what the rest is.
        ("x 2026-01-02 Call the bank\nAsk about the card. Then order it.\n", ""),
    ],
)
def test_says_why_a_text_is_no_todo_txt(text: str, why: str) -> None:
    assert why_broken(text) == why
    read = parse_text(text)
    found = [(one.code, one.message) for one in read.problems if one.code == "not-todo-txt"]
    assert found == [("not-todo-txt", why)] * bool(why)
    assert bool(read.plan.tasks) is (bool(text) and not why)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nBuy milk", "1 line is read as a task, and none has a mark"),
        ("Buy milk\nCall the bank", "2 lines are read as tasks, and none has a mark"),
        ("Buy milk\nCall +bank", ""),
        ("\n \n", ""),
    ],
)
def test_lines_without_any_mark_are_tasks_that_are_reported(text: str, message: str) -> None:
    read = parse_text(text)
    assert [(one.code, one.message) for one in read.problems] == (
        [("lines-read-as-tasks", f"{message} such as: (A) Call the bank +shop @phone")]
        if message
        else []
    )
    if message:
        line = text.split("\n")[read.problems[0].line - 1]
        assert line[slice(*read.spans[0])] == "Buy milk"


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("- [ ] Call the bank\n", True),
        ("\ufeff* Call the bank\n", True),
        ("Shop\n\n1. Call the bank\n", True),
        ("# Shop\n\nNothing is left to do here.\n", True),
        # What an agent ticks is still Markdown.
        ("- [x] Call the bank\n", True),
        ("Buy milk\n", False),
        ("Notes:\nNo pricing. No fluff.\n", False),
        ("", False),
        # In Markdown these tasks would be lost.
        ("(A) Call the bank +shop\n- the one in town\n", False),
        ("x Call the bank\n- [ ] Buy milk\n", False),
        ("2026-01-02 Call the bank\n- Buy milk\n", False),
        ("- [ ] Buy milk\n\n2026-01-02 They had none.\n", True),
    ],
)
def test_a_list_in_markdown_is_read_as_markdown(text: str, *, is_list: bool) -> None:
    assert is_markdown(text) is is_list
    assert format_of_text(PlanKind.TODO_TXT, text).is_markdown is is_list


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- [ ] Call the bank\n", ""),
        ("Buy milk\n", ""),
        ("# Shop\n\nNothing.\n", "it is Markdown without a task, such as: - [ ] Call the bank"),
        ("x Call the bank\n- [ ] Buy milk\n", MARKDOWN),
    ],
)
def test_a_text_without_a_task_is_no_plan(text: str, why: str) -> None:
    assert why_foreign(text) == why


def test_marks_the_line_that_is_no_todo_txt() -> None:
    read = parse_text("Parser:\n  [ ] comments\n")
    assert (read.problems[0].line, read.spans) == (2, ((0, len("  [ ] comments")),))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("x a", ("a", TaskState.DONE, None, None)),
        ("x 2026-01-02 2026-01-01 a pri:B", ("a", TaskState.DONE, Priority.P1, None)),
        ("X a", ("X a", TaskState.TODO, None, None)),
        ("xylophone", ("xylophone", TaskState.TODO, None, None)),
        ("\ufeff(B) 2026-01-01 a  b", ("a b", TaskState.TODO, Priority.P1, None)),
        ("(b) a", ("(b) a", TaskState.TODO, None, None)),
        ("a status:doing", ("a", TaskState.IN_PROGRESS, None, None)),
        ("a status:cancelled", ("a", TaskState.SKIPPED, None, None)),
        ("a status:odd due:2026-01-01", ("a due:2026-01-01", TaskState.TODO, None, None)),
        ("a blocked:no_key", ("a", TaskState.BLOCKED, None, "no key")),
        ("a blocked:yes", ("a", TaskState.BLOCKED, None, None)),
        ("a @Waiting", ("a", TaskState.BLOCKED, None, None)),
        ("id:7", ("id:7", TaskState.TODO, None, None)),
    ],
)
def test_reads_states_priorities_and_values(
    line: str, read: tuple[str, TaskState, Priority | None, str | None]
) -> None:
    assert only(line) == read


def test_equal_lines_have_different_ids() -> None:
    first, second = parse_text("a id:1\n\n  \na id:1").plan.tasks
    assert (first.id, second.id) == ("1", "1-2")


@pytest.mark.parametrize(
    ("line", "day", "done"),
    [
        ("a", "2026-01-02", "x 2026-01-02 a"),
        ("a", "", "x a"),
        ("(A) 2026-01-01 a +b", "2026-01-02", "x 2026-01-02 2026-01-01 a +b pri:A"),
        ("\ufeffa status:doing", "2026-01-02", "\ufeffx 2026-01-02 a"),
        ("a blocked:x @waiting", "", "x a"),
    ],
)
@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_ticking_writes_the_form_of_the_tool(line: str, day: str, done: str, ending: str) -> None:
    text = f"{line}{ending}{'b' if ending else ''}"
    task_id = parse_text(text).plan.tasks[0].id
    after = with_state(text, task_id, TaskState.DONE, "", day)
    assert after == f"{done}{ending}{'b' if ending else ''}"
    opened = with_state(after, task_id, TaskState.TODO)
    assert only(opened.split("\n")[0].strip("\r"))[1] is TaskState.TODO


@pytest.mark.parametrize(
    "text", ["(A) 2026-01-01 a +b\n", "(A) a", "2026-01-01 a\r\n", "a due:2026-01-09", "\ufeffa"]
)
def test_a_ticked_line_is_open_again_as_it_was(text: str) -> None:
    (task,) = parse_text(text).plan.tasks
    after = with_state(text, task.id, TaskState.DONE, "", "2026-01-02")
    assert with_state(after, task.id, TaskState.TODO) == text


@pytest.mark.parametrize(
    ("line", "opened"),
    [
        ("x a", "a"),
        ("x 2026-01-02 a pri:C", "(C) a"),
        ("x 2026-01-02 2026-01-01 a", "2026-01-01 a"),
        ("x 2026-01-02\t2026-01-01 2026-01-01", "2026-01-01 2026-01-01"),
    ],
)
def test_a_single_date_is_that_of_completion(line: str, opened: str) -> None:
    (task,) = parse_text(line).plan.tasks
    assert with_state(line, task.id, TaskState.TODO) == opened


def test_a_restored_task_that_is_done_has_its_day() -> None:
    before, after = "(A) 2026-01-01 a id:1 dep:2\n", "x 2026-01-02 a id:1\n"
    done = guard_text(operations, before, after, PlanPowers(), "2026-01-02")
    assert done.text == "x 2026-01-02 2026-01-01 a id:1 dep:2 pri:A\n"
    assert guard_text(operations, before, done.text, PlanPowers()).violations == ()


def test_a_blocked_task_has_its_reason() -> None:
    blocked = with_state("a id:1", "1", TaskState.BLOCKED, "no  licence")
    assert blocked == "a id:1 blocked:no_licence"
    assert with_state(blocked, "1", TaskState.BLOCKED) == blocked
    assert with_state(blocked, "1", TaskState.BLOCKED, "x") == "a id:1 blocked:x"
    assert with_state("a id:1", "1", TaskState.BLOCKED) == "a id:1 blocked:yes"


@given(st.integers(0, 3), st.sampled_from(list(TaskState)))
def test_an_edit_gives_one_task_its_state(nth: int, state: TaskState) -> None:
    task_id = parse_text(SHOP).plan.tasks[nth].id
    check_state_edit(parse_text, with_state, SHOP, task_id, state)


def test_protects_what_a_task_demands() -> None:
    before = protected_fields("(A) a id:1 dep:2\nb id:2")
    for line, kind in [
        ("(A) b id:1 dep:2", Forbidden.CRITERIA),
        ("(B) a id:1 dep:2", Forbidden.PRIORITY),
        ("(A) a id:1", Forbidden.DEPENDENCY),
    ]:
        after = protected_fields(f"{line}\nb id:2")
        assert {one for one in before["1"] if before["1"][one] != after["1"][one]} == {kind}


class TestCopy:
    """A line is written as in another text."""

    def test_a_removed_line_comes_back_where_it_was(self) -> None:
        for task in parse_text(SHOP).plan.tasks:
            without = with_task_of(SHOP, "", task.id)
            assert len(without.splitlines()) == 3
            assert with_task_of(without, SHOP, task.id) == SHOP
            assert with_note(SHOP, task.id, "n") == SHOP

    @pytest.mark.parametrize(
        ("text", "other", "after"),
        [
            ("", "a id:1", "a id:1"),
            ("b", "a id:1\nb", "a id:1\nb"),
            ("b id:2", "b id:2\na id:1", "b id:2\na id:1"),
            ("b id:2\r\nc", "b id:2\r\na id:1", "b id:2\r\na id:1\r\nc"),
            ("c\rb id:2", "b id:2\ra id:1", "c\rb id:2\na id:1"),
            ("a id:2", "a id:2", "a id:2"),
        ],
    )
    def test_line_endings_are_kept(self, text: str, other: str, after: str) -> None:
        assert with_task_of(text, other, "1") == after


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    parse_text(text)
    needs_of(text)
    protected_fields(text)
