"""Each edit by example: opening, unblocking, notes, commits, adding, moving, priorities."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import (
    add_task_note,
    attach_commit,
    unblock_task,
    untick_task,
)
from ralph_ls.core.plan.edit.task_order import add_task, move_task, set_priority
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import Priority


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [x] A-1: a\r\n", "- [ ] A-1: a\r\n", id="box"),
        pytest.param("\ufeff*\t[X] A-1: a", "\ufeff*\t[ ] A-1: a", id="bom-tab-capital"),
        pytest.param("- [x] [BLOCKED] A-1: a", "- [ ] [BLOCKED] A-1: a", id="blocked-again"),
        pytest.param("- [ ] ~~A-1: a~~\n", "- [ ] A-1: a\n", id="struck"),
        pytest.param("1. [DONE] A-1: a\n2. b\n", "1. A-1: a\n2. b\n", id="tag"),
        pytest.param("1. A-1: a [DONE]\n", "1. A-1: a\n", id="tag-at-the-end"),
        pytest.param("1. ~~A-1: a~~\n", "1. A-1: a\n", id="struck-without-a-box"),
        pytest.param("1. ~~A-1: a~~ (in May)\n", "1. A-1: a\n", id="struck-with-a-remark"),
        pytest.param("- ✅ A-1: a\n", "- ⬜ A-1: a\n", id="emoji"),
        pytest.param("- 🟢 ~~A-1: a~~\n", "- 🔴 A-1: a\n", id="emoji-and-struck"),
        pytest.param("- [ ] A-1: a\n", "- [ ] A-1: a\n", id="open"),
        pytest.param("- [-] A-1: a\n", "- [-] A-1: a\n", id="skipped"),
    ],
)
def test_opening_a_task_again(before: str, after: str) -> None:
    assert untick_task(before, "A-1") == after


def test_what_is_done_for_its_heading_has_to_be_moved() -> None:
    told = (
        r"A-1 on line 2 .*'- A-1: a'.* cannot be reopened in its section .*; "
        "move it out of the section 'Completed', or edit"
    )
    with pytest.raises(RalphError, match=told):
        untick_task("# Completed\n- A-1: a\n", "A-1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: k\n  - Needs: l\n  - note\n",
            "- [ ] A-1: a\n  - note\n",
            id="as-it-was-blocked",
        ),
        pytest.param("- [!] A-1: a\r\n", "- [ ] A-1: a\r\n", id="box"),
        pytest.param("- [~] A-1: a [BLOCKED: k]", "- [~] A-1: a", id="in-progress"),
        pytest.param(
            "# P\n1. [BLOCKED] A-1: a\n   Needs: l", "# P\n1. A-1: a", id="at-the-end-of-the-text"
        ),
        pytest.param(
            "- [!] A-1: a\n  - Blocked by: k\n    - since May\n  - Needs: l\n    more\n",
            "- [ ] A-1: a\n  - Blocked by: k\n    - since May\n  - Needs: l\n    more\n",
            id="a-reason-with-a-story-stays",
        ),
        pytest.param("- [ ] A-1: a\n", "- [ ] A-1: a\n", id="not-blocked"),
        pytest.param(
            "- [ ] A-1: a\n  - Status: blocked\n  - Blocked by: k\n",
            "- [ ] A-1: a\n  - Status: todo\n",
            id="status",
        ),
        pytest.param(
            "- [!] A-1: a\n  - **Status:** Blocked\n",
            "- [ ] A-1: a\n  - **Status:** Todo\n",
            id="box-and-status",
        ),
        pytest.param(
            "- [!] A-1: a\n  - [ ] Blocked by: k\n  - Needs: l\n",
            "- [ ] A-1: a\n  - [ ] Blocked by: k\n",
            id="a-task-is-no-reason",
        ),
    ],
)
def test_unblocking(before: str, after: str) -> None:
    assert unblock_task(before, "A-1") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [ ] A-1: a", "- [ ] A-1: a\n  - n o", id="first"),
        pytest.param(
            "- [ ] A-1: a\r\n\t- one\r\n\t- two\r\n",
            "- [ ] A-1: a\r\n\t- one\r\n\t- two\r\n\t- n o\r\n",
            id="below-earlier-ones",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - one\n  - two\n    - of two\n",
            "- [ ] A-1: a\n  - one\n  - n o\n  - two\n    - of two\n",
            id="above-one-with-a-story",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - Criteria:\n    - c\n",
            "- [ ] A-1: a\n  - n o\n  - Criteria:\n    - c\n",
            id="above-criteria",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - [ ] b\n", "- [ ] A-1: a\n  - n o\n  - [ ] b\n", id="above-tasks"
        ),
        pytest.param(
            "- [ ] A-1: a\n  - - b\n", "- [ ] A-1: a\n  - n o\n  - - b\n", id="above-lists"
        ),
    ],
)
def test_a_note_is_nested(before: str, after: str) -> None:
    assert add_task_note(before, "A-1", " n\no ") == after


def test_a_note_is_read_as_nothing_else() -> None:
    plan = "- [ ] A-1: a\n"
    assert add_task_note(plan, "A-1", "Blocked by: k") == f"{plan}  - Note: Blocked by: k\n"
    assert add_task_note(plan, "A-1", "[ ] more <!--") == f"{plan}  - Note: [ ] more <! --\n"
    assert add_task_note(plan, "A-1", "\n") == plan


def test_a_commit_is_attached_once() -> None:
    plan = "- [x] A-1: a\n  - n\n"
    once = attach_commit(plan, "A-1", "abc1234")
    assert once == "- [x] A-1: a\n  - Commit: abc1234\n  - n\n"
    assert attach_commit(once, "A-1", "abc1234def") == once
    twice = "- [x] A-1: a\n  - Commit: 99999\n  - Commit: abc1234\n  - n\n"
    assert attach_commit(once, "A-1", "99999") == twice


@pytest.mark.parametrize("commit", ["", "abc", "not a hash", "abc123g"])
def test_what_is_no_hash_is_refused(commit: str) -> None:
    with pytest.raises(RalphError, match="is not a commit hash; give"):
        attach_commit("- [x] A-1: a\n", "A-1", commit)


LIST = "# Plan\n\n1. A-1: a\n   - n\n2. A-2: b\n3. A-3: c\n5. A-5: e\n\nEnd.\n"


@pytest.mark.parametrize(
    ("before", "where", "after"),
    [
        pytest.param(
            LIST,
            {"after": "A-1"},
            "# Plan\n\n1. A-1: a\n   - n\n2. new\n3. A-2: b\n4. A-3: c\n5. A-5: e\n\nEnd.\n",
            id="numbers-go-on-up-to-a-gap",
        ),
        pytest.param(
            "1. A-1: a\n1. A-2: b\n1. A-3: c",
            {"after": "A-1"},
            "1. A-1: a\n1. new\n1. A-2: b\n1. A-3: c",
            id="all-ones",
        ),
        pytest.param(
            "08) [x] A-1: a\n09) [ ] A-2: b\n",
            {"after": "A-1"},
            "08) [x] A-1: a\n09) [ ] new\n10) [ ] A-2: b\n",
            id="zeros",
        ),
        pytest.param("- [x] A-1: a", {"after": "A-1"}, "- [x] A-1: a\n- [ ] new", id="no-newline"),
        pytest.param(
            "# Issues Discovered\n- [BUG] A-1: a\n",
            {"after": "A-1"},
            "# Issues Discovered\n- [BUG] A-1: a\n- [BUG] new\n",
            id="bug",
        ),
        pytest.param(
            "- [ ] b\r\n\t*  [x] A-1: a\r\n",
            {"after": "A-1"},
            "- [ ] b\r\n\t*  [x] A-1: a\r\n\t*  [ ] new\r\n",
            id="nested-tab-crlf",
        ),
        pytest.param(
            "# A\n- [ ] a\n# B\n## C\n- [ ] c\n",
            {"section": " b "},
            "# A\n- [ ] a\n# B\n\n- [ ] new\n\n## C\n- [ ] c\n",
            id="empty-section",
        ),
        pytest.param(
            "# A\n- [ ] a\n\n# B\n\nWords.\n",
            {"section": "B"},
            "# A\n- [ ] a\n\n# B\n\nWords.\n\n- [ ] new\n",
            id="below-words",
        ),
        pytest.param(
            "```\n# B\n```\n# B\n* [ ] a\n  - n\n",
            {"section": "# B"},
            "```\n# B\n```\n# B\n* [ ] a\n  - n\n* [ ] new\n",
            id="end-of-a-section",
        ),
        pytest.param(
            "# Low\n\n# P0\n\n# Done\n1. [x] b\n",
            {"priority": Priority.P0},
            "# Low\n\n# P0\n\n- [ ] new\n\n# Done\n1. [x] b\n",
            id="priority",
        ),
        pytest.param(
            "- [ ] [LOW] a\n",
            {"priority": Priority.P0},
            "- [ ] [LOW] a\n- [ ] [HIGH] new\n",
            id="priority-tag",
        ),
        pytest.param(
            "- [ ] a\n\n## Completed\n- [x] b\n",
            {},
            "- [ ] a\n- [ ] new\n\n## Completed\n- [x] b\n",
            id="not-below-completed",
        ),
        pytest.param("", {}, "- [ ] new\n", id="nothing"),
        pytest.param("# Plan\n", {}, "# Plan\n\n- [ ] new\n", id="no-task"),
        pytest.param("Words.", {}, "Words.\n\n- [ ] new", id="no-task-no-newline"),
    ],
)
def test_adding(before: str, where: dict[str, object], after: str) -> None:
    assert add_task(before, " new\n", **where) == after  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({"after": "A-9"}, "no task 'A-9'.*ralph plan"),
        ({"section": "Z"}, "no section 'Z' with tasks; it has: 'Plan'"),
    ],
)
def test_adding_says_what_is_missing(where: dict[str, str], told: str) -> None:
    with pytest.raises(RalphError, match=told):
        add_task("# Plan\n- [ ] A-1: a\n# Notes\n", "new", **where)  # type: ignore[arg-type]


def test_adding_needs_a_title_and_an_open_task() -> None:
    with pytest.raises(RalphError, match="has no title"):
        add_task("- [ ] a\n", " \n")
    with pytest.raises(RalphError, match="'~~new~~' cannot be added on line 2"):
        add_task("- [ ] a\n", "~~new~~")
    with pytest.raises(RalphError, match="it has: none"):
        add_task("- [ ] a\n", "new", section="B")


@pytest.mark.parametrize(
    ("before", "where", "after"),
    [
        pytest.param(
            LIST,
            {"before": "A-2"},
            "# Plan\n\n1. A-1: a\n   - n\n2. A-5: e\n3. A-2: b\n5. A-3: c\n\nEnd.\n",
            id="numbers-stay-where-they-are",
        ),
        pytest.param(
            "3. A-1: a\n12. A-5: e\n",
            {"before": "A-1"},
            "3. A-5: e\n12. A-1: a\n",
            id="numbers-of-other-lengths",
        ),
        pytest.param(
            "- [ ] A-5: e\n- [ ] A-1: a",
            {"after": "A-1"},
            "- [ ] A-1: a\n- [ ] A-5: e",
            id="to-the-end-without-newline",
        ),
        pytest.param(
            "\ufeff- [ ] A-1: a\r\n- [ ] A-5: e\n",
            {"before": "A-1"},
            "\ufeff- [ ] A-5: e\n- [ ] A-1: a\r\n",
            id="bom-and-mixed-endings",
        ),
        pytest.param(
            "- [ ] A-1: a\n\n- [ ] b\n\n- [ ] A-5: e\n  - n\n\nEnd.\n",
            {"before": "A-1"},
            "- [ ] A-5: e\n  - n\n\n- [ ] A-1: a\n\n- [ ] b\n\nEnd.\n",
            id="blank-lines-go-along",
        ),
        pytest.param(
            "- [ ] A-5: e\n  - n\n- [ ] b\n\t+ [ ] A-1: a\n",
            {"after": "A-1"},
            "- [ ] b\n\t+ [ ] A-1: a\n\t+ [ ] A-5: e\n\t  - n\n",
            id="indented-as-its-neighbour",
        ),
        pytest.param(
            "## TODO\n1. A-5: e\n\n# P0\n- [ ] A-1: a\n",
            {"after": "A-1"},
            "## TODO\n\n# P0\n- [ ] A-1: a\n- [ ] A-5: e\n",
            id="gets-a-box",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-5: e\n",
            {"after": "A-1"},
            "- [ ] A-1: a\n- [ ] A-5: e\n",
            id="is-there",
        ),
        pytest.param("- [ ] A-5: e\n", {"after": "A-5"}, "- [ ] A-5: e\n", id="itself"),
    ],
)
def test_moving(before: str, where: dict[str, str], after: str) -> None:
    assert move_task(before, "A-5", **where) == after


def test_moving_into_itself_or_nowhere_is_refused() -> None:
    plan = "- [ ] A-1: a\n  - [ ] A-2: b\n"
    with pytest.raises(RalphError, match="A-2, which is nested in it; choose"):
        move_task(plan, "A-1", after="A-2")
    for where in ({}, {"before": "A-1", "after": "A-1"}):
        with pytest.raises(RalphError, match="either before or after"):
            move_task(plan, "A-2", **where)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [ ] [LOW] A-1: a\n", "- [ ] [HIGH] A-1: a\n", id="tag"),
        pytest.param("- [ ] A-1: a [P2]", "- [ ] A-1: a [P0]", id="tag-at-the-end"),
        pytest.param(
            "- [ ] A-1: a\n- [x] [LOW PRIORITY] b\n",
            "- [ ] [HIGH PRIORITY] A-1: a\n- [x] [LOW PRIORITY] b\n",
            id="in-the-plan's-words",
        ),
        pytest.param("- [ ]A-1: a\n", "- [ ] [P0] A-1: a\n", id="no-space"),
        pytest.param(
            "# Low\n\n- [ ] A-1: a\n  - n\n\n# High\n\n- [ ] b\n",
            "# Low\n\n# High\n\n- [ ] b\n\n- [ ] A-1: a\n  - n\n",
            id="section",
        ),
        pytest.param(
            "# Low\n- [ ] [BUG] A-1: a\n  - Severity: low\n# High\n",
            "# Low\n- [ ] [P0] [BUG] A-1: a\n  - Severity: low\n# High\n",
            id="no-section-helps",
        ),
        pytest.param(
            "# Low\n- [ ] A-1: a\n# High\n", "# Low\n# High\n\n- [ ] A-1: a\n", id="empty-section"
        ),
        pytest.param("# Low\n- [ ] A-1: a\n", "# Low\n- [ ] [P0] A-1: a\n", id="no-such-section"),
        pytest.param(
            "# P\n- [ ] A-1: a\n# High\n",
            "# P\n- [ ] [P0] A-1: a\n# High\n",
            id="from-no-such-section",
        ),
        pytest.param("- [ ] [P0] A-1: a\n", "- [ ] [P0] A-1: a\n", id="has-it"),
    ],
)
def test_setting_a_priority(before: str, after: str) -> None:
    assert set_priority(before, "A-1", Priority.P0) == after
