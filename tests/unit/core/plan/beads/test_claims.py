"""Issues claimed by others, and failed issues that planning changed."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.plan.formats.beads.commands import block_command
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.formats.beads.snapshot import (
    changed_by_planning,
    claimed_by_others,
    claiming_actor,
)
from tests.unit.core.plan.beads.test_queue import held, ids, queue_of, snapshot_of


@pytest.mark.parametrize(
    ("around", "git_name", "name"),
    [
        ({"BD_ACTOR": "a", "BEADS_ACTOR": "b", "USER": "c"}, "git", "a"),
        ({"BD_ACTOR": "", "BEADS_ACTOR": "b"}, "git", "b"),
        ({"USER": "c"}, "git", "git"),
        ({"USER": "c", "USERNAME": "d"}, "", "c"),
        ({"USERNAME": "d"}, None, "d"),
        ({}, None, None),
    ],
)
def test_claims_are_made_under_the_name_that_bd_takes(
    around: dict[str, str], git_name: str | None, name: str | None
) -> None:
    assert claiming_actor(around, git_name) == name


ISSUES: tuple[dict[str, Any], ...] = (
    {"id": "a", "assignee": "Ada", "status": "in_progress"},
    {"id": "b", "assignee": "Bob\n", "status": "in_progress"},
    {"id": "c", "assignee": "Bob"},
    {"id": "d", "assignee": "Bob", "status": "closed"},
    {"id": "e"},
)


def test_what_others_were_given_or_have_claimed_is_theirs() -> None:
    assert claimed_by_others(snapshot_of(*ISSUES), {"Ada"}) == {
        "b": "assigned to Bob",
        "c": "assigned to Bob",
    }


def test_no_issue_is_taken_by_others_where_the_own_name_is_unknown() -> None:
    assert claimed_by_others(snapshot_of(*ISSUES), ()) == {}


class TestQueue:
    def test_what_is_taken_is_held(self) -> None:
        queue = queue_of({"id": "a"}, {"id": "b"}, taken={"a": "assigned to Bob"})
        assert ids(queue) == ["b"]
        assert held(queue) == [("a", "taken", "assigned to Bob")]

    @pytest.mark.parametrize(
        ("issue", "by"),
        [
            ({"id": "a", "status": "blocked"}, "blocked"),
            ({"id": "a", "needs": ["b"]}, "waiting"),
            ({"id": "a", "parts": []}, "taken"),
        ],
    )
    def test_a_reason_that_says_more_comes_first(self, issue: dict[str, Any], by: str) -> None:
        queue = queue_of(issue, {"id": "b"}, taken={"a": "assigned to Bob"})
        assert [one[1] for one in held(queue)] == [by]

    @pytest.mark.parametrize("offered", [["b"], ["a", "b"]])
    def test_that_it_is_not_offered_says_less(self, offered: list[str]) -> None:
        queue = queue_of({"id": "a"}, {"id": "b"}, ready=offered, taken={"a": "assigned to Bob"})
        assert [one[1] for one in held(queue)] == ["taken"]


FAILED = "STUCK: Failed after 3 attempts at x. Moving to next issue."
GIVEN_UP = "STUCK: Blocked at x: no key. Moving to next issue."


@pytest.mark.parametrize(
    ("notes", "why"),
    [
        ("", "set aside after 3 attempts"),
        (FAILED, "set aside after 3 attempts"),
        (f"{FAILED} The last error: E1", "set aside after 3 attempts; the last error: E1"),
        (f"mine\n{GIVEN_UP}\nmine", "given up: no key"),
        (f"{GIVEN_UP}\n{FAILED}", "set aside after 3 attempts"),
    ],
)
def test_why_an_issue_was_set_aside_is_in_its_notes(notes: str, why: str) -> None:
    queue = queue_of({"id": "a", "notes": notes}, set_aside={"a": 3})
    assert held(queue) == [("a", "stuck", why)]


class TestPlanning:
    @pytest.mark.parametrize(
        ("after", "found"),
        [
            pytest.param(({"id": "a"}, {"id": "b"}), (), id="nothing"),
            pytest.param(({"id": "a", "priority": 0}, {"id": "b"}), ("a",), id="changed"),
            pytest.param(({"id": "a", "needs": ["b"]}, {"id": "b"}), ("a",), id="waits"),
            pytest.param(({"id": "b"},), ("a",), id="deleted"),
            pytest.param(
                ({"id": "a"}, {"id": "b"}, {"id": "c", "parts": ["a"]}), ("a",), id="split"
            ),
            pytest.param(({"id": "a"}, {"id": "b", "priority": 0}), (), id="another"),
        ],
    )
    def test_what_it_changed_it_has_dealt_with(
        self, after: tuple[dict[str, Any], ...], found: tuple[str, ...]
    ) -> None:
        before = snapshot_of({"id": "a"}, {"id": "b"})
        assert changed_by_planning(before, snapshot_of(*after), ("a",)) == found


def test_an_issue_is_marked_as_blocked_with_what_it_needs() -> None:
    issue = BeadsIssue(id="bd-1", title="t", notes="mine")
    assert block_command(issue, "no\nkey.", "a key") == (
        "update",
        "bd-1",
        "--status",
        "blocked",
        "--notes",
        "mine\nBlocked by: no key. Needs: a key",
    )
