"""Edits of tasks that are headings, rows of a table, or items with an emoji."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ralph_ls.core.plan.edit.state_markup import DONE, OPEN, StateWord, reword_state
from ralph_ls.core.plan.edit.task_edits import (
    add_task_note,
    attach_commit,
    block_task,
    tick_task,
    unblock_task,
    untick_task,
)
from ralph_ls.core.plan.edit.task_order import add_task, move_task, set_priority
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import Priority
from tests.unit.core.plan.plan_assertions import PLANS, plan_of

HEADED = "# Plan\n\n### 1.1 🟢 Lexer\n\n### 1.2 🔴 Parser\nWords.\n"
TABLE = "| Task | Done |\n|---|---|\n| Read | [x] |\n| Write | [ ] |\n"
WIDE = (
    "| # | ID | Task | Status | Priority | Notes | Commit |\n"
    "|---|----|------|--------|----------|-------|--------|\n"
    "| 1 | US-001 | Read | ✅ DONE | High | | abc1234 |\n"
    "| 4 | US-002 | Write | *In progress* | low | see \\| | |\n"
)


def last(text: str) -> str:
    return parse_markdown(text).plan.tasks[-1].id


def test_a_heading_is_edited() -> None:
    ticked = tick_task(HEADED, last(HEADED))
    assert ticked == HEADED.replace("🔴", "🟢")
    assert untick_task(ticked, last(ticked)) == HEADED
    blocked = block_task(HEADED, last(HEADED), "key")
    assert blocked == HEADED.replace("Parser\n", "Parser [BLOCKED]\n- Blocked by: key\n\n")
    assert unblock_task(blocked, last(blocked)) == HEADED.replace("Parser\n", "Parser\n\n")
    assert "Parser\n- n\n\nWords" in add_task_note(HEADED, last(HEADED), "n")
    assert add_task(HEADED, "New", after=last(HEADED)).endswith("Words.\n### ⬜ New\n")
    with pytest.raises(
        RalphError, match=r"given the priority P0 .*; move it below a heading with that"
    ):
        set_priority(HEADED, last(HEADED), Priority.P0)


@pytest.mark.parametrize(
    ("line", "ticked", "opened"),
    [
        ("### ⬜ A", "### ✅ A", "### ⬜ A"),
        ("### ☐ A", "### ☑ A", "### ☐ A"),
        ("### A (🟡 In progress)", "### A (🟢 Done)", "### A (🔴 Todo)"),
        ("### 1 [ ] A", "### 1 [x] A", "### 1 [ ] A"),
        ("### A\n\nStatus: ⏳ Open", "### A\n\nStatus: ✅ Done", "### A\n\nStatus: ⬜ Todo"),
        ("### A\nStatus: open\n- b", "### A\nStatus: done\n- b", "### A\nStatus: todo\n- b"),
        ("### A\nStatus: [ ] open", "### A\nStatus: [x] done", "### A\nStatus: [ ] todo"),
        (
            "### A\n**S**: U | **Status**: [ ] Not Started | m",
            "### A\n**S**: U | **Status**: [x] Done | m",
            "### A\n**S**: U | **Status**: [ ] Todo | m",
        ),
        ("### A [WIP]", "### A [WIP] [DONE]", "### A [WIP]"),
    ],
)  # fmt: skip
def test_the_state_of_a_heading_is_written_its_own_way(line: str, ticked: str, opened: str) -> None:
    task = last(line)
    assert tick_task(line, task) == ticked
    assert untick_task(ticked, task) == opened


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("## ~~A~~\n", "## ⬜ A\n"),
        ("\ufeff### A [DONE]\n\n### 🔴 B\n", "\ufeff### 🔴 A\n\n### 🔴 B\n"),
    ],
)
def test_a_heading_that_is_opened_gets_a_state(text: str, opened: str) -> None:
    assert untick_task(text, parse_markdown(text).plan.tasks[0].id) == opened


def test_a_heading_is_blocked_by_its_own_sign() -> None:
    text = "### ⛔ A\nBlocked by: k\n\nWords."
    assert unblock_task(text, last(text)) == "### ⬜ A\n\nWords."
    assert tick_task(text, last(text)) == "### ✅ A\nBlocked by: k\n\nWords."


def test_a_row_is_edited() -> None:
    ticked = tick_task(TABLE, last(TABLE))
    assert ticked == TABLE.replace("[ ]", "[x]")
    assert untick_task(ticked, last(ticked)) == TABLE
    blocked = block_task(TABLE, last(TABLE), "k|y")
    assert blocked == TABLE.replace("Write", "[BLOCKED: k/y] Write")
    assert block_task(blocked, last(blocked), "k/y") == blocked
    assert unblock_task(blocked, last(blocked)) == TABLE
    assert block_task(TABLE, last(TABLE), "") == TABLE.replace("Write", "[BLOCKED] Write")
    for edit in (add_task_note, attach_commit):
        with pytest.raises(RalphError, match=r"table row, and the table has no column .* add one"):
            edit(TABLE, last(TABLE), "abc1234")
    tagged = set_priority(TABLE, last(TABLE), Priority.P0)
    assert tagged == TABLE.replace("Write", "[P0] Write")
    assert add_task(TABLE, "New | one", after=last(TABLE)) == f"{TABLE}| New \\| one | [ ] |\n"
    assert add_task(TABLE, "New").startswith(TABLE)


@pytest.mark.parametrize(
    ("reason", "tag"), [("-", '"-"'), ("- :", '"- :"'), ("by", '"by"'), ("[x", "(x")]
)
def test_a_reason_is_what_its_tag_can_hold(reason: str, tag: str) -> None:
    blocked = block_task(TABLE, last(TABLE), reason)
    assert blocked == TABLE.replace("Write", f"[BLOCKED: {tag}] Write")
    assert parse_markdown(blocked).plan.tasks[-1].blocked_by == tag
    assert block_task(blocked, last(blocked), reason) == blocked
    assert unblock_task(blocked, last(blocked)) == TABLE


FOUR = "- [ ] Fix login\n" * 4


@pytest.mark.parametrize("above", ["", FOUR])
@pytest.mark.parametrize("reason", ["-", "[", "by", "no key"])
@pytest.mark.parametrize("end", ["", "\n", "\n[ ] Other\n"])
def test_a_box_without_a_list_marker_is_blocked(above: str, reason: str, end: str) -> None:
    text = f"{above}[ ] Fix login{end}"
    task = parse_markdown(text).plan.tasks[above.count("\n")]
    blocked = block_task(text, task.id, reason)
    assert blocked == f"{above}[ ] [BLOCKED] Fix login\n  - Blocked by: {reason}{end}"
    assert parse_markdown(blocked).plan.by_id()[task.id].blocked_by == reason
    assert block_task(blocked, task.id, reason) == blocked
    assert unblock_task(blocked, task.id) == text


def test_what_is_added_to_a_box_without_a_list_marker_is_nested() -> None:
    text = "[ ] a\nmore\n\n[ ] b\n"
    task = parse_markdown(text).plan.tasks[0].id
    assert add_task_note(text, task, "n") == text.replace("more\n", "more\n  - n\n")
    noted = attach_commit(text, task, "abc1234")
    assert noted == text.replace("more\n", "more\n  - Commit: abc1234\n")
    assert [one.end_line for one in parse_markdown(noted).plan.tasks] == [2, 4]


def test_the_columns_of_a_table_are_used() -> None:
    assert tick_task(WIDE, "US-002") == WIDE.replace("*In progress*", "*Done*")
    assert untick_task(WIDE, "US-001") == WIDE.replace("✅ DONE", "⬜ TODO")
    assert set_priority(WIDE, "US-001", Priority.P1) == WIDE.replace("High", "Medium")
    assert set_priority(WIDE, "US-002", Priority.P0) == WIDE.replace("low", "high")
    assert add_task_note(WIDE, "US-001", "n|o") == WIDE.replace("High | |", "High | n\\|o |")
    assert add_task_note(WIDE, "US-002", "no") == WIDE.replace("see \\|", "see \\|; no")
    assert attach_commit(WIDE, "US-001", "abc12") == WIDE
    assert attach_commit(WIDE, "US-001", "9999") == WIDE.replace("abc1234", "abc1234, 9999")
    assert add_task(WIDE, "New", after="US-001") == WIDE.replace(
        "| 4 |", "| 5 |        | New  | ⬜ TODO |      | |         |\n| 4 |"
    )


def test_a_short_row_has_no_more_cells() -> None:
    text = "| Task | Done | Priority | Notes |\n|---|---|---|---|\n| A | [ ] |\n| B | [x] | P1 |\n"
    first = parse_markdown(text).plan.tasks[0].id
    assert set_priority(text, first, Priority.P0) == text.replace("| A |", "| [P0] A |")
    with pytest.raises(RalphError, match="no column for a note"):
        add_task_note(text, first, "n")
    assert set_priority(text, last(text), Priority.P2) == text.replace("P1", "P2")


def test_a_cell_without_a_space_is_filled() -> None:
    text = "Task|Done|Priority|Notes|\n-|-|-|-|\nA|[ ]|||\n"
    assert set_priority(text, last(text), Priority.P0) == text.replace("|||", "|P0||")
    assert add_task_note(text, last(text), "n") == text.replace("|||", "||n|")


def test_numbered_rows_continue() -> None:
    text = "\ufeff| # | Task | Done |\n|-|-|-|\n| 7 | A | [ ] |\n| x | B | [x] |\n"
    first = parse_markdown(text).plan.tasks[0].id
    after = add_task(text, "New", after=first)
    assert after == text.replace("| x |", "| 8 | New | [ ] |\n| x |")


def test_an_item_with_an_emoji_keeps_it_first() -> None:
    text = "- 🚧 Split\n  - Status: in progress\n- ✅ Read\n"
    first = parse_markdown(text).plan.tasks[0].id
    assert tick_task(text, first) == "- ✅ Split\n  - Status: done\n- ✅ Read\n"
    blocked = block_task(text, first, "k")
    assert blocked.startswith("- 🚧 [BLOCKED] Split\n  - Blocked by: k\n  - Status:")
    assert unblock_task(blocked, first) == text
    assert set_priority(text, first, Priority.P0).startswith("- 🚧 [P0] Split\n")


def test_a_reason_that_no_line_can_hold_goes_into_the_tag() -> None:
    text = "### 1 🔴 A\n```\n"
    blocked = block_task(text, last(text), "k")
    assert parse_markdown(blocked).plan.tasks[0].blocked_by == "k"


@pytest.mark.parametrize(
    ("said", "word", "written"),
    [
        ("✅ Complete", OPEN, "⬜ Todo"),
        ("**In progress**", DONE, "**Done**"),
        ("todo", DONE, "done"),
        ("TODO", DONE, "DONE"),
        (" 🟡 ", DONE, " 🟢 "),
        ("", DONE, ""),
    ],
)
def test_a_word_keeps_its_case(said: str, word: StateWord, written: str) -> None:
    assert reword_state(said, word) == written


EDITS: dict[str, Callable[[str, str], str]] = {
    "tick": tick_task,
    "untick": untick_task,
    "block": lambda text, task: block_task(text, task, "no key", "a key"),
    "unblock": unblock_task,
    "note": lambda text, task: add_task_note(text, task, "a note"),
    "attach_commit": lambda text, task: attach_commit(text, task, "abc1234"),
    "add": lambda text, task: add_task(text, "Brand new", after=task),
    "set_priority": lambda text, task: set_priority(text, task, Priority.P1),
    "move": lambda text, task: move_task(text, task, before=parse_markdown(text).plan.tasks[0].id),
}
REFUSED = {
    ("emoji_headings.md", "set_priority"): 9,
    ("fix_plan.md", "untick"): 1,
    ("numbered.md", "untick"): 2,
    ("table.md", "note"): 7,
    ("table.md", "attach_commit"): 7,
    ("table.md", "move"): 2,
}
"""How often an edit cannot be made of a task of a sample; every other one can."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize(
    "name",
    [
        "crlf_tabs.md",
        "emoji_headings.md",
        "fix_plan.md",
        "implementation_plan.md",
        "numbered.md",
        "statuses.md",
        "table.md",
    ],
)
def test_every_edit_of_every_dialect_is_made_or_refused_in_words(name: str, edit: str) -> None:
    text = (PLANS / name).read_bytes().decode("utf-8")
    refused = []
    for task in parse_markdown(text).plan.tasks:
        try:
            edited = EDITS[edit](text, task.id)
        except RalphError as error:
            refused.append(error.message)
            continue
        now = parse_markdown(edited).plan.find(task.id)
        assert now is not None
        assert now.title == task.title
        assert edited.count("\n") - edited.count("\r\n") == (
            0 if "\r\n" in text else edited.count("\n")
        )
    assert len(refused) == REFUSED.get((name, edit), 0), refused


def test_a_box_without_a_marker_is_written_in_place() -> None:
    text = "## Open\n[ ] One\n    more\n[ ] Two\n"
    first, second = plan_of(*text.split("\n")).tasks
    assert tick_task(text, first.id) == "## Open\n[x] One\n    more\n[ ] Two\n"
    blocked = block_task(text, second.id, "a key")
    assert blocked.startswith("## Open\n[ ] One\n    more\n")
    (still, other) = plan_of(*blocked.split("\n")).tasks
    assert (still.state, other.state, other.blocked_by) == ("todo", "blocked", "a key")
