"""Whatever the words of a title are, each edit of its task is written so that it is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit import task_edits, task_order, user_edits
from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import Priority, TaskState

FORMS = (
    "# Plan\n\n- [ ] {}\n- [ ] other\n",
    "- [x] other\n\n1. [ ] {}\n",
    "# Plan\n\n## Tasks\n\n- {}\n- other\n",
    "## High Priority\n\n1. {}\n2. other\n",
    "- {}\n- other\n",
    "# Plan\n\n- {} (WIP)\n- other (done)\n",
    "# Plan\n\n1. 🚧 {}\n2. ✅ other\n",
    "# Plan\n\n### Task 1: {}\n\nWords.\n\n### Task 2: other\n\nWords.\n",
    "| Task | Status |\n|---|---|\n| {} | todo |\n| other | done |\n",
    "| Task | Status |\n|---|---|\n| {} | ✅ Done |\n| other | todo |\n",
)
PIECES = (
    "a", "Parse it", "!", "?", "-", "\u2013", "…", ":", "::", ":1", "1", "1.", "1)", "#", ">", "*",
    "+",
    "~", "`", "_", "\\", "[", "]", "(", ")", "{}", "<b>", "[link](url)", "[a]", "US-1:", "http://x",
    "é", "中文", "/", ",", ".", ";", "^", "=", "&", "$", "%", "@", "'", '"',
)  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)
titles = pieces.map(" ".join) | pieces.map("".join)


def the_task(text: str) -> Task | None:
    """The task in the place of the form; None where the title makes it another plan."""
    tasks = parse_markdown(text).plan.tasks
    found = [one for one in tasks if not one.title.endswith("other")]
    return found[0] if (len(tasks), len(found)) == (2, 1) else None


@pytest.mark.parametrize("form", FORMS)
@given(title=titles)
def test_each_edit_is_possible_and_is_read_back(form: str, title: str) -> None:
    text = form.replace("{}", title)
    task = the_task(text)
    if task is None:
        return
    opened = user_edits.retry_task(text, task.id)
    edits = {
        TaskState.TODO: opened,
        TaskState.DONE: task_edits.tick_task(opened, task.id),
        TaskState.BLOCKED: task_edits.block_task(opened, task.id, "no key"),
    }
    for state, edited in edits.items():
        for wanted, again in (
            (state, edited),
            (TaskState.TODO, user_edits.retry_task(edited, task.id)),
        ):
            now = parse_markdown(again).plan.find(task.id)
            assert now is not None
            assert (now.title, now.state) == (task.title, wanted)
    if task.kind is not TaskKind.ROW:
        assert "A note" in task_edits.add_task_note(opened, task.id, "A note")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [ ] a (WIP)", "- [ ] a", id="remark-behind-a-box"),
        pytest.param("- [ ] [BLOCKED]: a", "- [ ] a", id="tag-with-a-colon"),
        pytest.param(
            "# T\n\n## X\n\nWords.\n\n- a (WIP)\n- b (done)\n- c",
            "# T\n\n## X\n\nWords.\n\n- a (TODO)\n- b (done)\n- c",
            id="in-a-list-that-needs-its-states",
        ),
        pytest.param("- WIP: a\n- done: b", "- a\n- done: b", id="in-front"),
        pytest.param("### Task 1: a (done)\n\nWords.", "### Task 1: a\n\nWords.", id="heading"),
        pytest.param(
            "| Task | Status |\n|---|---|\n| a (WIP) | todo |",
            "| Task | Status |\n|---|---|\n| a | todo |",
            id="row",
        ),
    ],
)
def test_a_state_in_the_words_is_opened_there(before: str, after: str) -> None:
    plan = parse_markdown(before).plan
    text = user_edits.retry_task(before, plan.tasks[0].id)
    lines = [line for line in text.splitlines() if user_edits.RETRY_NOTE not in line]
    assert [line for line in lines if line] == [line for line in after.splitlines() if line]


def test_a_state_in_the_words_of_a_row_is_cut_by_a_tick() -> None:
    text = "| Task | Status |\n|---|---|\n| [WIP] a | todo |\n"
    assert task_edits.tick_task(text, parse_markdown(text).plan.tasks[0].id) == (
        "| Task | Status |\n|---|---|\n| a | done |\n"
    )


@pytest.mark.parametrize(
    ("line", "title", "state"),
    [
        ("- [DONE] :1", ":1", TaskState.DONE),
        ("- [BLOCKED] !", "!", TaskState.BLOCKED),
        ("- [BLOCKED: no key] a", "a", TaskState.BLOCKED),
        ("- [DONE]: a", "a", TaskState.DONE),
        ("- (done): a", "a", TaskState.DONE),
        ("- done: a", "a", TaskState.DONE),
    ],
)
def test_a_tag_is_no_remark_before_a_colon(line: str, title: str, state: TaskState) -> None:
    (task, _) = parse_markdown(f"## Tasks\n\n{line}\n- b\n").plan.tasks
    assert (task.title, task.state) == (title, state)


def test_a_heading_with_closing_marks_keeps_them_at_its_end() -> None:
    text = "## Task 1: a ##\n\nWords.\n"
    task = parse_markdown(text).plan.tasks[0]
    assert task_edits.tick_task(text, task.id) == "## Task 1: a [DONE] ##\n\nWords.\n"


def test_a_priority_is_written_behind_a_state_in_front() -> None:
    text = "## Tasks\n\n- done: a\n- b\n"
    task = parse_markdown(text).plan.tasks[0]
    after = task_order.set_priority(text, task.id, Priority.P0)
    assert after == "## Tasks\n\n- done: [P0] a\n- b\n"


def test_a_title_that_is_a_state_gets_no_priority() -> None:
    text = "- [ ] (WIP)\n"
    with pytest.raises(RalphError, match="cannot be given the priority"):
        task_order.set_priority(text, parse_markdown(text).plan.tasks[0].id, Priority.P0)
