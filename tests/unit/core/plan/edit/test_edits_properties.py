"""What holds for every edit of every plan: it does what is meant to one task, or is refused."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.text_diff import text_changes
from ralph_ls.core.plan.edit import task_edits, task_order
from ralph_ls.core.plan.edit.progress_log import ProgressMove, move_finished
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import Priority, TaskState
from tests.unit.core.plan.plan_assertions import plan_texts

_LINES = (
    "# Plan",
    "## Completed",
    "## High Priority",
    "### 1.1 🟢 Lexer",
    "### 1.2 🔴 Parser",
    "### 2 Linker (✅ Complete)",
    "### [ ] US-003: Printer",
    "### [x] Reader",
    "### ~~Writer~~",
    "### Checker [DONE]",
    "### ⛔ Signer",
    "### Sender",
    "**Status:** ⏳ In progress (60%)",
    "- Status: Done",
    "  - **Status**: blocked",
    "Blocked by: no key",
    "Words.",
    "",
    "",
    "| # | Task | Status | Priority | Notes | Commit |",
    "| Task | Done |",
    "|---|---|---|---|---|---|",
    "|---|---|",
    "| 1 | Read | ✅ Done | High | | |",
    "| 2 | US-7 | *In progress* | | see | abc1234 |",
    "| 3 | Write \\| print | todo | low |",
    "| Send | [ ] |",
    "| [BLOCKED: no key] Post | [x] |",
    "| [!] | Mail |",
    "1. Keep the session alive",
    "3. ✅ Rename the module",
    "4. ~~Move the tests~~ (done in abc1234)",
    "- 🚧 Split the store",
    "- [ ] Boxed",
    "2. [TODO] Seal it",
    "### Task 1: Parse ✅",
    "### Task 2: Link",
)
dialect_texts = st.builds(
    lambda bom, lines, ending, last: bom + ending.join(lines) + last,
    st.sampled_from(("", "", "\ufeff")),
    st.lists(st.sampled_from(_LINES), max_size=12),
    st.sampled_from(("\n", "\n", "\r\n", "\r")),
    st.sampled_from(("", "\n")),
)
any_texts = st.one_of(plan_texts, dialect_texts, st.text(alphabet="-*+[] x~`#<!>\n\r\t1.:ab|✅🔴"))


def tried(edit: Callable[[], str]) -> str | None:
    """The new text, or None where the edit was refused in words that say what to do."""
    try:
        return edit()
    except RalphError as error:
        refused = error.message
    assert "; " in refused
    assert not refused.endswith(".")
    return None


def told(plan: Plan, but: Task | None = None) -> list[tuple[str, str, TaskState]]:
    name = None if but is None else but.id
    return [(task.id, task.title, task.state) for task in plan.tasks if task.id != name]


def drawn(text: str, data: st.DataObject) -> Task | None:
    tasks = parse_markdown(text).plan.tasks
    return data.draw(st.sampled_from(tasks)) if tasks else None


def changed_lines(before: str, after: str) -> list[str]:
    old = Counter(line for _, line in lines_of(before))
    new = Counter(line for _, line in lines_of(after))
    return list((old - new).elements())


@given(any_texts, st.data())
def test_ticking_and_opening_again_leaves_the_text_as_it_was(
    text: str, data: st.DataObject
) -> None:
    task = drawn(text, data)
    if task is None or task.state is TaskState.DONE:
        return
    ticked = tried(lambda: task_edits.tick_task(text, task.id))
    if ticked is None:
        assert task.kind is not TaskKind.ITEM or task.title.startswith(":")
        return
    opened = tried(lambda: task_edits.untick_task(ticked, task.id))
    assert opened is not None
    after = parse_markdown(opened).plan
    now = after.find(task.id)
    assert now is not None
    assert now.state is not TaskState.DONE
    assert told(after, task) == told(parse_markdown(text).plan, task)
    if task.mark is not None and text[slice(*task.mark)] == " ":
        assert opened == text


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("- [ ] Boxed", "### ⛔ Signer"), id="emoji-heading-beside-the-last-box"),
        pytest.param(
            ("### Task 1: Parse ✅", "- [ ] Boxed", "### Task 2: Link"), id="named-headings"
        ),
        pytest.param(("1. Keep the session alive", "- 🚧 Split the store"), id="one-of-two-states"),
        pytest.param(("- 🚧 Split the store", "1. Keep it", "2. Send it"), id="one-of-three"),
    ],
)
def test_a_tick_or_a_block_makes_no_other_line_a_task(lines: tuple[str, ...]) -> None:
    text = "\n".join((*lines, ""))
    plan = parse_markdown(text).plan
    for task in (one for one in plan.tasks if one.state is TaskState.TODO):
        ticked = task_edits.tick_task(text, task.id)
        blocked = task_edits.block_task(text, task.id, "no key")
        for edited in (ticked, blocked):
            assert told(parse_markdown(edited).plan, task) == told(plan, task)


@given(any_texts, st.data())
def test_opening_a_task_changes_its_line_alone(text: str, data: st.DataObject) -> None:
    task = drawn(text, data)
    if task is None:
        return
    opened = tried(lambda: task_edits.untick_task(text, task.id))
    if opened is None:
        return
    after = parse_markdown(opened).plan
    now = after.find(task.id)
    assert now is not None
    assert now.state is not TaskState.DONE
    assert told(after, task) == told(parse_markdown(text).plan, task)
    changed = [change.start for change in text_changes(text, opened)]
    where = {sum(start <= at for start, _ in lines_of(text)) - 1 for at in changed}
    assert all(task.line <= line <= task.end_line for line in where)
    assert len(where) <= 2


@given(any_texts, st.text(max_size=12), st.data())
def test_unblocking_undoes_blocking(text: str, reason: str, data: st.DataObject) -> None:
    task = drawn(text, data)
    if task is None or task.state is not TaskState.TODO or task.blocked_by is not None:
        return
    if "needs:" in text.lower():
        return  # An older need goes with the block that it explains.
    if "blocked by:" in text.lower():
        return  # An older reason that nothing was blocked for goes with the new one.
    blocked = tried(lambda: task_edits.block_task(text, task.id, reason))
    if blocked is None:
        # A tag before a mark alone, as in ``- !``, would be the whole item, and takes a colon.
        is_odd = re.search(r"\w", task.title) is None or task.title.startswith(":")
        assert task.kind is not TaskKind.ITEM or is_odd
        return
    unblocked = task_edits.unblock_task(blocked, task.id)
    if task.kind is TaskKind.HEADING:
        # A blank line parts the reason from the words below it, and stays.
        assert unblocked.split() == text.split()
    else:
        # A tag needs a space before it, where the writer forgot the one after the box.
        assert unblocked.replace("] ", "]") == text.replace("] ", "]")


@given(any_texts, st.data())
def test_unblocking_changes_one_task(text: str, data: st.DataObject) -> None:
    task = drawn(text, data)
    if task is None:
        return
    edited = tried(lambda: task_edits.unblock_task(text, task.id))
    if edited is None:
        return
    after = parse_markdown(edited).plan
    now = after.find(task.id)
    assert now is not None
    assert now.state is not TaskState.BLOCKED
    assert told(after, task) == told(parse_markdown(text).plan, task)
    if task.state is not TaskState.BLOCKED:
        assert edited == text


@given(any_texts, st.text(alphabet="<!-`~[]x #:>|*_\\\n\r\t&a1.", max_size=20), st.data())
def test_a_note_adds_and_changes_no_task(text: str, said: str, data: st.DataObject) -> None:
    task = drawn(text, data)
    if task is None:
        return
    edited = tried(lambda: task_edits.add_task_note(text, task.id, said))
    if edited is not None:
        assert told(parse_markdown(edited).plan) == told(parse_markdown(text).plan)
        rest = iter(edited)
        assert all(character in rest for character in text)


@given(any_texts, st.data())
def test_a_commit_adds_once_and_changes_no_task(text: str, data: st.DataObject) -> None:
    task = drawn(text, data)
    if task is None:
        return
    edited = tried(lambda: task_edits.attach_commit(text, task.id, "abc1234"))
    if edited is not None:
        assert told(parse_markdown(edited).plan) == told(parse_markdown(text).plan)
        assert "abc1234" in edited
        assert task_edits.attach_commit(edited, task.id, "abc1234") == edited


@given(any_texts, st.sampled_from([None, *Priority]), st.booleans(), st.data())
def test_adding_adds_one_open_task(
    text: str, priority: Priority | None, is_after: bool, data: st.DataObject
) -> None:
    task = drawn(text, data) if is_after else None
    after = None if task is None else task.id
    edited = tried(lambda: task_order.add_task(text, "Brand new", after=after, priority=priority))
    if edited is None:
        return
    old, new = parse_markdown(text).plan, parse_markdown(edited).plan
    came = Counter(task.title for task in new.tasks) - Counter(task.title for task in old.tasks)
    assert list(came) == ["Brand new"]
    assert told(old) == [one for one in told(new) if one[1] != "Brand new"]
    if priority is not None:
        assert {t.priority for t in new.tasks if t.title == "Brand new"} == {priority}


@given(any_texts, st.booleans(), st.data())
def test_moving_keeps_every_task_and_changes_the_order_alone(
    text: str, is_before: bool, data: st.DataObject
) -> None:
    task, target = drawn(text, data), drawn(text, data)
    if task is None or target is None:
        return
    where = {"before": target.id} if is_before else {"after": target.id}
    edited = tried(lambda: task_order.move_task(text, task.id, **where))
    if edited is None:
        return
    old, new = parse_markdown(text).plan, parse_markdown(edited).plan
    assert Counter((t.title, t.state) for t in old.tasks) == Counter(
        (t.title, t.state) for t in new.tasks
    )
    assert text.startswith("\ufeff") == edited.startswith("\ufeff")
    assert text.count("\r") == edited.count("\r")


@given(any_texts, st.sampled_from(Priority), st.data())
def test_a_priority_is_set_or_refused(text: str, priority: Priority, data: st.DataObject) -> None:
    task = drawn(text, data)
    if task is None:
        return
    edited = tried(lambda: task_order.set_priority(text, task.id, priority))
    if edited is None:
        return
    old, new = parse_markdown(text).plan, parse_markdown(edited).plan
    assert Counter((t.title, t.state) for t in old.tasks) == Counter(
        (t.title, t.state) for t in new.tasks
    )
    assert any(t.title == task.title and t.priority is priority for t in new.tasks)


@given(any_texts, st.one_of(any_texts, st.just("")))
def test_the_log_takes_what_leaves_the_plan_and_loses_nothing(text: str, log: str) -> None:
    found: list[ProgressMove] = []

    def take() -> str:
        found.append(move_finished(text, log, day="2026-02-03"))
        return ""

    if tried(take) is None:
        return
    [moved] = found
    plan = parse_markdown(text).plan
    left = parse_markdown(moved.plan).plan
    n_gone = len(plan.tasks) - len(left.tasks)
    assert (n_gone > 0) == bool(moved.ids)
    rest = iter(moved.log)
    # Of a log that is only white space nothing has to stay.
    kept = log if log.strip() else ""
    assert all(character in rest for character in kept), "the old log is still there, in order"
    assert moved.plan.startswith("\ufeff") == text.startswith("\ufeff")
    # What could not go along does not go now.
    found.clear()
    text, log = moved.plan, moved.log
    assert tried(take) is None or found == [(text, log, ())]


@given(any_texts, any_texts)
def test_changes_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    edited = before
    changes = text_changes(before, after)
    for change in reversed(changes):
        edited = edited[: change.start] + change.text + edited[change.end :]
    assert edited == after
    assert all(one.end <= two.start for one, two in pairwise(changes))
    assert bool(changes) == (before != after)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_changes_are_as_small_as_can_be(newline: str) -> None:
    before = newline.join(["- [ ] a", "- [ ] b", "- [ ] c", ""])
    after = newline.join(["- [x] a", "- [ ] b", "  - n", "- [ ] c", ""])
    first, second = text_changes(before, after)
    assert (first.start, first.end, first.text) == (3, 4, "x")
    assert second.start == second.end
    assert second.text == f"  - n{newline}"
