"""Opening again what is in progress: small edits, a note, and nothing else changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit.user_edits import RESET_NOTE, reset_in_progress
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import TaskState

NOTE = f"- {RESET_NOTE}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [~] a\n", f"- [ ] a\n  {NOTE}\n", id="a box"),
        pytest.param("- [~] a", f"- [ ] a\n  {NOTE}", id="no last line ending"),
        pytest.param(
            "\ufeff1. [~] a\r\n2. [ ] b\r\n",
            f"\ufeff1. [ ] a\r\n   {NOTE}\r\n2. [ ] b\r\n",
            id="CRLF",
        ),
        pytest.param(
            "## Tasks\n\n1. [IN PROGRESS] a\n", f"## Tasks\n\n1. a\n   {NOTE}\n", id="a tag"
        ),
        pytest.param("- [ ] **[wip]** a\n", f"- [ ] a\n  {NOTE}\n", id="a bold tag"),
        pytest.param(
            "- [~] a\n  - [x] b\n\n  more\n- [x] c\n",
            f"- [ ] a\n  - [x] b\n\n  more\n  {NOTE}\n- [x] c\n",
            id="notes and nested ones stay",
        ),
        pytest.param(
            "- [~] a\n\t- [~] b\n",
            f"- [ ] a\n\t- [ ] b\n\t  {NOTE}\n  {NOTE}\n",
            id="nested, with a tab",
        ),
        pytest.param("- [x] [WIP] done\n- [ ] b\n", "- [x] [WIP] done\n- [ ] b\n", id="none is"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_the_edit_is_small(before: str, after: str) -> None:
    reset = reset_in_progress(before)
    assert reset.text == after
    assert reset.left == ()
    assert len(reset.opened) == after.count(NOTE)


def test_what_says_it_twice_is_left_alone_and_reported() -> None:
    text = "- [~] [WIP] a\n- [~] b\n"
    reset = reset_in_progress(text)
    assert reset.text == f"- [~] [WIP] a\n- [ ] b\n  {NOTE}\n"
    assert (reset.opened, reset.left) == (("b",), ("a",))


def test_a_note_that_would_be_read_as_work_is_left_out() -> None:
    text = "# Bugs discovered\n- [~] a\n  <!--\n"
    reset = reset_in_progress(text)
    assert reset.opened == ("a",)
    assert [task.title for task in parse_markdown(reset.text).plan.tasks] == ["a"]


LINES = st.lists(
    st.sampled_from(
        """- [~] a
- [ ] b
  - [~] c
1. [WIP] d
## Tasks
text

```
\t- [~] e
<!-- x
-->
| [~] | row |
### 1.1 f
- [~] [IN PROGRESS] g
Status: WIP""".splitlines()
    )
)


@given(LINES, st.sampled_from(["\n", "\r\n"]))
def test_only_what_is_in_progress_changes_and_only_to_open(lines: list[str], ending: str) -> None:
    text = ending.join(lines)
    reset = reset_in_progress(text)
    before, after = parse_markdown(text).plan, parse_markdown(reset.text).plan
    assert [task.id for task in after.tasks] == [task.id for task in before.tasks]
    changed = [
        (old.state, new.state)
        for old, new in zip(before.tasks, after.tasks, strict=True)
        if old.state is not new.state
    ]
    assert changed == [(TaskState.IN_PROGRESS, TaskState.TODO)] * len(reset.opened)
    assert len(reset.left) == sum(task.state is TaskState.IN_PROGRESS for task in after.tasks)
    assert reset_in_progress(reset.text).text == reset.text
    kept = [line for line in reset.text.split(ending) if line.strip() != NOTE]
    assert len(kept) == len(lines or [""])


@given(st.text())
def test_it_never_fails(text: str) -> None:
    reset = reset_in_progress(text)
    assert reset.opened or reset.text == text
