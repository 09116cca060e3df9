"""What a build iteration may not do to issues, and the commands that put it back."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.beads.commands import (
    BeadsCommand,
    claim_command,
    close_command,
    note_stuck,
    recreate_commands,
    reopen_command,
    replan_commands,
    retry_command,
)
from ralph_ls.core.plan.formats.beads.guard import (
    BeadsViolation,
    find_beads_violations,
    revert_commands,
)
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.formats.beads.snapshot import BeadsSnapshot, take_snapshot
from tests.fakes import bd
from tests.fakes.bd_database import BdError, Database
from tests.unit.core.plan.beads.test_queue import snapshot_of

NOON = datetime(2026, 1, 28, 13, 30, 0, 5, tzinfo=timezone(timedelta(hours=1)))
A = {"id": "a", "title": "A", "priority": 1, "issue_type": "bug", "acceptance_criteria": "- [ ] x"}


def told(violations: tuple[BeadsViolation, ...]) -> list[tuple[str, str, str]]:
    return [(one.what.value, one.issue.id, one.text) for one in violations]


def undone(before: BeadsSnapshot, after: BeadsSnapshot) -> list[BeadsCommand]:
    return list(revert_commands(before, after, find_beads_violations(before, after)))


@pytest.mark.parametrize(
    ("now", "violation", "command"),
    [
        pytest.param({"priority": 4}, ("priority", "a", "4"), ("--priority", "1"), id="priority"),
        pytest.param({"issue_type": "chore"}, ("type", "a", "chore"), ("--type", "bug"), id="type"),
        pytest.param(
            {"acceptance_criteria": "- [ ] y"},
            ("criteria", "a", "- [ ] y"),
            ("--acceptance", "- [ ] x"),
            id="criteria",
        ),
        pytest.param(
            {"acceptance_criteria": ""},
            ("criteria", "a", ""),
            ("--acceptance", "- [ ] x"),
            id="no criteria",
        ),
        pytest.param(
            {"status": "deferred"}, ("skipped", "a", "deferred"), ("--status", "open"), id="put off"
        ),
    ],
)
def test_what_is_forbidden_is_found_and_undone(
    now: dict[str, Any], violation: tuple[str, str, str], command: BeadsCommand
) -> None:
    before, after = snapshot_of(A), snapshot_of({**A, **now})
    assert told(find_beads_violations(before, after)) == [violation]
    assert undone(before, after) == [("update", "a", *command)]
    assert find_beads_violations(before, after, decided={(violation[0], "a")}) == ()


@pytest.mark.parametrize(
    "now",
    [
        pytest.param({"title": "B", "description": "more", "notes": "n"}, id="texts"),
        pytest.param({"acceptance_criteria": "- [x]  x\n"}, id="a tick"),
        pytest.param({"status": "closed", "close_reason": "r"}, id="closed"),
        pytest.param({"status": "blocked"}, id="blocked"),
        pytest.param({"status": "in_progress", "assignee": "me"}, id="claimed"),
        pytest.param({"needs": ["b"]}, id="a dependency"),
        pytest.param({"parent": "b"}, id="a parent"),
        pytest.param({"labels": ["l"]}, id="a label"),
    ],
)
def test_what_is_allowed_is_left_alone(now: dict[str, Any]) -> None:
    before = snapshot_of(A)
    after = snapshot_of({**A, **now}, {"id": "b", "priority": 0, "acceptance_criteria": "new"})
    assert undone(before, after) == []


def test_what_was_put_off_or_closed_before_may_be_put_off() -> None:
    for status in ("deferred", "closed"):
        before = snapshot_of({**A, "status": status})
        assert find_beads_violations(before, snapshot_of({**A, "status": "deferred"})) == ()


def test_a_dropped_dependency_comes_back_as_it_was() -> None:
    others = ({"id": "b"}, {"id": "c"})
    before = snapshot_of({"id": "a", "needs": ["b"], "parts": ["c"]}, *others)
    after = snapshot_of({"id": "a"}, *others)
    assert told(find_beads_violations(before, after)) == [("dependency", "a", "")] * 2
    assert undone(before, after) == [
        ("dep", "add", "a", "b", "--type", "blocks"),
        ("dep", "add", "a", "c", "--type", "parent-child"),
    ]


def test_a_dependency_that_became_another_kind_is_replaced() -> None:
    before = snapshot_of({"id": "a", "needs": ["b"]}, {"id": "b"})
    related = {"id": "a", "dependencies": [{"depends_on_id": "b", "type": "related"}]}
    after = snapshot_of(related, {"id": "b"})
    assert told(find_beads_violations(before, after)) == [("dependency", "a", "b (related)")]
    assert undone(before, after) == [
        ("dep", "remove", "a", "b"),
        ("dep", "add", "a", "b", "--type", "blocks"),
    ]


def test_what_an_agent_added_makes_room_for_what_it_dropped() -> None:
    before = snapshot_of({"id": "a", "needs": ["b"]}, {"id": "b"}, {"id": "c", "needs": ["a"]})
    after = snapshot_of({"id": "a"}, {"id": "b", "needs": ["c"]}, {"id": "c", "needs": ["a"]})
    assert undone(before, after) == [
        ("dep", "remove", "b", "c"),
        ("dep", "add", "a", "b", "--type", "blocks"),
    ]


def test_a_ring_that_was_there_before_is_nobodys_offence() -> None:
    before = snapshot_of({"id": "a", "needs": ["b"]}, {"id": "b", "needs": ["a"]})
    after = snapshot_of({"id": "a"}, {"id": "b", "needs": ["a"]})
    assert undone(before, after) == [("dep", "add", "a", "b", "--type", "blocks")]


def test_a_loose_dependency_comes_back_whatever_was_added() -> None:
    link = {"dependencies": [{"depends_on_id": "b", "type": "related"}]}
    before = snapshot_of({"id": "a", **link}, {"id": "b"})
    after = snapshot_of({"id": "a"}, {"id": "b", "needs": ["a"]})
    assert undone(before, after) == [("dep", "add", "a", "b", "--type", "related")]


def test_a_deleted_issue_is_made_again_with_all_that_hung_on_it() -> None:
    before = snapshot_of({**A, "needs": ["b"]}, {"id": "b"}, {"id": "c", "needs": ["a"]})
    after = snapshot_of({"id": "b"}, {"id": "c"})
    assert told(find_beads_violations(before, after)) == [("dropped", "a", "")]
    made = ("create", "A", "--id", "a", "--type", "bug", "--priority", "1")
    assert undone(before, after) == [
        (*made, "--acceptance", "- [ ] x"),
        ("dep", "add", "a", "b", "--type", "blocks"),
        ("dep", "add", "c", "a", "--type", "blocks"),
    ]


@pytest.mark.parametrize(
    ("fields", "commands"),
    [
        pytest.param({}, [], id="open"),
        pytest.param({"status": "in_progress"}, [("update", "a", "--status", "in_progress")]),
        pytest.param({"notes": "n"}, [("update", "a", "--notes", "n")], id="notes"),
        pytest.param(
            {"status": "closed", "close_reason": "r"},
            [("close", "a", "--reason", "r")],
            id="closed",
        ),
        pytest.param({"status": "closed"}, [("close", "a", "--reason", "Closed")], id="no reason"),
    ],
)
def test_an_issue_is_made_again_as_it_stood(
    fields: dict[str, Any], commands: list[BeadsCommand]
) -> None:
    made, *rest = recreate_commands(BeadsIssue(id="a", title="--force", **fields))
    assert made == (
        *("create", "--title", "--force", "--id", "a", "--type", "task", "--priority", "2"),
    )
    assert rest == commands


def test_labels_and_texts_are_made_again() -> None:
    issue = BeadsIssue(
        id="a", title="t", labels=("x", "y"), design="d", description="e", assignee="me"
    )
    (made,) = recreate_commands(issue)
    words = ("--description", "e", "--design", "d", "--assignee", "me", "--labels", "x,y")
    assert made[-8:] == words


@pytest.mark.parametrize(
    ("notes", "written"),
    [("", "NEW"), ("old\n", "old\nNEW"), ("NEW", "NEW"), ("old\nNEW", "old\nNEW")],
)
def test_a_note_keeps_what_was_noted(notes: str, written: str) -> None:
    issue = BeadsIssue(id="a", title="t", notes=notes.replace("NEW", "Reset for retry"))
    command = ("update", "a", "--status", "open", "--notes")
    assert retry_command(issue) == (*command, written.replace("NEW", "Reset for retry"))


def test_the_notes_of_a_stuck_issue_are_bs() -> None:
    issue = BeadsIssue(id="a", title="t")
    stuck = "STUCK: Failed after 3 attempts at 2026-01-28T12:30:00Z. Moving to next issue."
    assert note_stuck(issue, 3, NOON) == ("update", "a", "--notes", stuck)
    quoted = f"{stuck} Last error: E1"
    assert note_stuck(issue, 3, NOON, quote="last error: E1")[3] == quoted
    blocked = "STUCK: Blocked at 2026-01-28T12:30:00Z: no key. Moving to next issue."
    assert note_stuck(issue, 1, NOON, reason="no\nkey.") == ("update", "a", "--notes", blocked)


def test_what_is_in_progress_is_opened_for_planning() -> None:
    issues = snapshot_of(A, {"id": "b", "status": "in_progress"}).issues
    command = ("update", "b", "--status", "open", "--notes", "Reset for replanning")
    assert replan_commands(issues) == (command,)


def test_other_commands() -> None:
    assert claim_command("a") == ("update", "a", "--claim")
    assert close_command("a", "r") == ("close", "a", "--reason", "r")
    again = ("update", "a", "--status", "in_progress", "--notes", "it fails")
    assert reopen_command(BeadsIssue(id="a", title="t"), "it\nfails") == again


_IDS = ("bd-0", "bd-1", "bd-2", "bd-3")
_ID = st.sampled_from(_IDS)
_ORDERS = st.one_of(
    st.tuples(st.just("update"), _ID, st.just("--priority"), st.sampled_from("01234")),
    st.tuples(st.just("update"), _ID, st.just("--type"), st.sampled_from(["bug", "chore"])),
    st.tuples(st.just("update"), _ID, st.just("--acceptance"), st.sampled_from(["", "- [x] a"])),
    st.tuples(st.just("update"), _ID, st.just("--status"), st.sampled_from(bd.STATUSES)),
    st.tuples(st.just("close"), _ID, st.just("--reason"), st.just("r")),
    st.tuples(st.just("delete"), _ID, st.just("--force")),
    st.tuples(st.just("create"), st.just("new"), st.just("--id"), st.just("bd-9")),
    st.tuples(st.just("dep"), st.just("add"), st.sampled_from([*_IDS, "bd-9"]), _ID),
    st.tuples(
        *(st.just("dep"), st.just("add"), _ID, _ID, st.just("--type")),
        st.sampled_from(["related", "parent-child"]),
    ),
    st.tuples(st.just("dep"), st.just("remove"), _ID, _ID),
)


def obey(database: Database, orders: list[tuple[str, ...]]) -> None:
    for order in orders:
        try:
            bd.answer(database, order)
        except BdError:
            continue


def seen(database: Database) -> BeadsSnapshot:
    found = [
        {**issue, "dependencies": [{"depends_on_id": a, "type": b} for a, b in links]}
        for issue in database.issues.values()
        for links in [issue["dependencies"]]
    ]
    return take_snapshot(found)


@given(st.lists(_ORDERS, max_size=12), st.lists(_ORDERS, max_size=12))
def test_what_is_restored_leaves_nothing_forbidden(
    people: list[tuple[str, ...]], agent: list[tuple[str, ...]]
) -> None:
    database = Database(Path("nowhere"))
    for issue_id in _IDS:
        database.add({"id": issue_id, "acceptance_criteria": "- [ ] a"})
    obey(database, people)
    before = seen(database)
    obey(database, agent)
    after = seen(database)
    for command in undone(before, after):
        bd.answer(database, command)
    assert find_beads_violations(before, seen(database)) == ()
    kept = {issue.id for issue in after.issues}
    assert kept <= set(database.issues)
