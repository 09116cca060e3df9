"""The user's edits of one task: blocked, unblocked, moved, tried again."""

from __future__ import annotations

from functools import partial

import pytest

from ralph_ls.core.plan.edit.user_edits import (
    RETRY_NOTE,
    byte_exact,
    describe_user_edit,
    retry_task,
    user_edit,
)
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.task_words import TaskState

NOTE = f"- {RETRY_NOTE}"


def id_of(text: str, title: str = "a") -> str:
    return next(task.id for task in parse_markdown(text).plan.tasks if task.title == title)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [ ] a\n- [ ] b\n", f"- [ ] a\n  {NOTE}\n- [ ] b\n", id="open"),
        pytest.param("[x] a\n[ ] b\n", f"[ ] a\n  {NOTE}\n[ ] b\n", id="without a list marker"),
        pytest.param("- [x] a\n", f"- [ ] a\n  {NOTE}\n", id="done"),
        pytest.param("- [~] a\n", f"- [ ] a\n  {NOTE}\n", id="in progress"),
        pytest.param("- [ ] [WIP] a\n", f"- [ ] a\n  {NOTE}\n", id="a tag"),
        pytest.param("- [-] a\n", f"- [ ] a\n  {NOTE}\n", id="skipped"),
        pytest.param(
            "- [ ] [BLOCKED] a\n  - Blocked by: keys\n", f"- [ ] a\n  {NOTE}\n", id="blocked"
        ),
        pytest.param(
            "- [x] [BLOCKED] a\n  - Blocked by: keys\n",
            f"- [ ] a\n  {NOTE}\n",
            id="done and blocked",
        ),
        pytest.param("- [x] a\r\n", f"- [ ] a\r\n  {NOTE}\r\n", id="other line endings"),
        pytest.param(
            f"- [x] a\n  {NOTE}\n", f"- [ ] a\n  {NOTE}\n", id="the note stands there already"
        ),
        pytest.param(
            "| Task | Done |\n|---|---|\n| a | [x] |\n",
            "| Task | Done |\n|---|---|\n| a | [ ] |\n",
            id="a row without a place for notes",
        ),
    ],
)
def test_a_task_is_opened_and_says_so(before: str, after: str) -> None:
    assert retry_task(before, id_of(before)) == after


def test_a_task_that_cannot_be_opened_where_it_is_is_refused() -> None:
    text = "## Completed\n\n- a\n"
    with pytest.raises(RalphError, match="cannot be reopened in its section"):
        retry_task(text, id_of(text))


def test_a_task_is_blocked_with_a_reason_or_by_the_user() -> None:
    text = "- [ ] a\n"
    blocked = user_edit(TaskEdit.BLOCK, id_of(text), reason=" needs keys ")(text)
    assert blocked == "- [ ] [BLOCKED] a\n  - Blocked by: needs keys\n"
    assert "Blocked by: the user" in user_edit(TaskEdit.BLOCK, id_of(text), reason=" ")(text)
    unblocked = user_edit(TaskEdit.UNBLOCK, id_of(text))(blocked)
    assert unblocked == text


@pytest.mark.parametrize(
    ("edit", "text", "words"),
    [
        (TaskEdit.BLOCK, "- [x] a\n", "is done, so it cannot be blocked"),
        (TaskEdit.UNBLOCK, "- [ ] a\n", "is not blocked"),
        (TaskEdit.MOVE, "- [ ] b\n", "no task"),
    ],
)
def test_what_cannot_be_done_says_why(edit: TaskEdit, text: str, words: str) -> None:
    task_id = id_of("- [ ] a\n")
    with pytest.raises(RalphError, match=words):
        user_edit(edit, task_id)(text)


def test_a_task_is_moved_before_another_or_to_the_end_of_its_list() -> None:
    text = "## P0\n- [ ] a\n- [ ] b\n- [ ] c\n## P1\n- [ ] d\n"
    up = user_edit(TaskEdit.MOVE, id_of(text, "c"), before=id_of(text, "a"))(text)
    assert up == "## P0\n- [ ] c\n- [ ] a\n- [ ] b\n## P1\n- [ ] d\n"
    last = user_edit(TaskEdit.MOVE, id_of(text, "a"))(text)
    assert last == "## P0\n- [ ] b\n- [ ] c\n- [ ] a\n## P1\n- [ ] d\n"
    assert user_edit(TaskEdit.MOVE, id_of(text, "c"))(text) == text


@pytest.mark.parametrize("edit", TaskEdit)
def test_each_edit_has_words_for_what_became_of_the_task(edit: TaskEdit) -> None:
    assert describe_user_edit(edit)


class TestBytesThatAreNoText:
    def test_the_task_is_found_by_the_id_that_viewers_know(self) -> None:
        data = b"- [x] caf\xe9\n- [ ] b\n"
        shown = data.decode("utf-8", "replace")
        task_id = parse_markdown(shown).plan.tasks[0].id
        change = byte_exact(lambda known: partial(retry_task, task_id=known), task_id)
        changed = change(data.decode("utf-8", "surrogateescape"))
        after = changed.encode("utf-8", "surrogateescape")
        assert after == b"- [ ] caf\xe9\n  - Reset for retry\n- [ ] b\n"

    def test_plain_text_is_changed_as_it_is(self) -> None:
        text = "- [x] a\n"
        change = byte_exact(lambda known: partial(retry_task, task_id=known), id_of(text))
        assert parse_markdown(change(text)).plan.tasks[0].state is TaskState.TODO

    def test_a_task_that_is_not_there_is_refused(self) -> None:
        change = byte_exact(lambda known: partial(retry_task, task_id=known), "nobody")
        with pytest.raises(RalphError, match="nobody"):
            change("- [x] caf\udce9\n")
