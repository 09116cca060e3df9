"""Who may add to the queue: the author, or who vouches for what the author wrote."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.plan.formats.github.admission import (
    QueueFilter,
    is_login,
    may_triage,
    people_of,
    trusted_comments,
    why_ignored,
)
from ralph_ls.core.plan.formats.github.issues import QueueComment
from tests.unit.core.plan.formats.github_issues import RALPH, day, event, issue, labelled, may


def why(
    wanted: QueueFilter = RALPH, *, viewer: str = "ada", claimed: bool = False, **more: Any
) -> str:
    return why_ignored(issue(**more), wanted, may, viewer=viewer, is_claimed=claimed)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"permission": "admin"}, True),
        ({"permission": "write", "role_name": "maintain"}, True),
        ({"permission": "read", "role_name": "triage"}, True),
        (
            {"permission": "read", "role_name": "own", "user": {"permissions": {"triage": True}}},
            True,
        ),
        ({"permission": "read", "user": {"permissions": {"triage": "yes"}}}, False),
        ({"permission": "read", "user": None}, False),
        ({"permission": "none"}, False),
        ([], False),
    ],
)
def test_a_right_is_known_by_its_name_or_by_the_right_itself(found: Any, expected: bool) -> None:
    assert may_triage(json.dumps(found)) is expected


@pytest.mark.parametrize("answer", ["", "nonsense", "[" * 100_000])
def test_no_answer_is_a_no(answer: str) -> None:
    assert may_triage(answer) is False


@pytest.mark.parametrize(
    ("login", "expected"),
    [("ada", True), ("a-b_c", True), ("a" * 101, False), ("../../x", False), ("", False)],
)
def test_a_login_fits_into_an_address(login: str, expected: bool) -> None:
    assert is_login(login) is expected


def test_an_author_who_may_triage_needs_no_label_of_others() -> None:
    assert why() == ""
    assert why(events=(labelled("mallory"),)) == ""


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"author": "mallory"}, "opened by mallory, and mallory may not triage here; let somebody"),
        ({"author": "bob"}, "opened by bob, and GitHub did not say whether bob may triage here"),
        ({"author": ""}, "opened by somebody whose account is gone, and somebody whose account"),
        (
            {"author": "mallory", "events": (labelled("mallory"),)},
            "opened by mallory, its label was set by mallory, and mallory may not triage here",
        ),
        (
            {"author": "mallory", "events": (labelled("bob"),)},
            "its label was set by bob, and GitHub did not say whether bob may triage here",
        ),
        (
            {"author": "mallory", "events": (labelled(""),)},
            "its label was set by an account that is gone, and an account that is gone may not",
        ),
        (
            {"author": "mallory", "events": (labelled("ada", name="other"),)},
            "opened by mallory, and mallory may not triage here",
        ),
        (
            {"author": "mallory", "events": (labelled("ada", 2), labelled("mallory", 3))},
            "its label was set by mallory",
        ),
        (
            {
                "author": "mallory",
                "events": (labelled("ada"), event("RenamedTitleEvent", "mallory", 3)),
            },
            "mallory changed its text after ada let it in; let somebody who may triage set",
        ),
        (
            {"author": "mallory", "events": (labelled("ada"),), "edited_at": day(3)},
            "an account that is gone changed its text after ada let it in",
        ),
        (
            {
                "author": "mallory",
                "events": (labelled("ada"),),
                "editor": "mallory",
                "edited_at": day(3),
            },
            "mallory changed its text after ada let it in",
        ),
    ],
)
def test_what_strangers_wrote_is_ignored(more: dict[str, Any], expected: str) -> None:
    assert expected in why(**more)


@pytest.mark.parametrize(
    "more",
    [
        {"events": (labelled("grace"),)},
        {"events": (labelled("grace", name="RALPH"),)},
        {"events": (labelled("grace", 3),), "editor": "mallory", "edited_at": day(2)},
        {"events": (labelled("grace", 2),), "editor": "ada", "edited_at": day(3)},
        {"events": (event("RenamedTitleEvent", "mallory", 1), labelled("grace", 2))},
    ],
)
def test_who_may_triage_lets_in_what_strangers_wrote(more: dict[str, Any]) -> None:
    assert why(author="mallory", **more) == ""


def test_a_milestone_lets_in_as_a_label_does() -> None:
    wanted = QueueFilter(milestone="Version 2")
    marked = event("MilestonedEvent", "grace", 2, "version 2")
    assert why(wanted, author="mallory", events=(marked,)) == ""
    assert "set the milestone" in why(wanted, author="mallory")


@pytest.mark.parametrize(
    ("wanted", "assignees", "expected"),
    [
        (RALPH, (), ""),
        (RALPH, ("Ada",), ""),
        (RALPH, ("grace", "ada"), ""),
        (RALPH, ("grace",), "assigned to grace"),
        (QueueFilter(label="ralph", assignee="grace"), ("grace",), ""),
        (QueueFilter(label="ralph", assignee="grace"), ("bob",), "assigned to bob"),
    ],
)
def test_the_work_of_others_is_left_alone(
    wanted: QueueFilter, assignees: tuple[str, ...], expected: str
) -> None:
    assert why(wanted, assignees=assignees) == expected


def test_a_claim_by_label_is_of_others_unless_it_is_ours() -> None:
    wanted = QueueFilter(label="ralph", claim_label="wip")
    assert why(wanted, labels=("ralph", "WIP")) == "labelled wip by another loop or user"
    assert why(wanted, labels=("ralph", "wip"), claimed=True) == ""
    assert why(wanted) == ""


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RALPH, True),
        (QueueFilter(label="Ralph", milestone="version 2", assignee="ADA"), True),
        (QueueFilter(label="other"), False),
        (QueueFilter(milestone="Version 3"), False),
        (QueueFilter(assignee="grace"), False),
        (QueueFilter(), True),
    ],
)
def test_a_queue_takes_what_has_its_label_milestone_and_assignee(
    wanted: QueueFilter, expected: bool
) -> None:
    assert wanted.takes(issue(milestone="Version 2", assignees=("ada",))) is expected


def test_a_queue_is_named_by_what_its_issues_have_in_common() -> None:
    wanted = QueueFilter(label="a", milestone="b", assignee="c")
    assert wanted.words == "with the label a in the milestone b assigned to c"
    assert QueueFilter().words == ""


def test_the_rights_of_those_who_wrote_and_vouch_decide() -> None:
    events = (
        labelled("grace"),
        event("RenamedTitleEvent", "mallory", 3),
        labelled("a b", name="x"),
    )
    assert people_of(issue(events=events, editor="bob"), RALPH) == (
        "ada",
        "grace",
        "bob",
        "mallory",
    )
    assert people_of(issue(author=""), RALPH) == ()


def test_only_comments_of_those_who_may_triage_are_quoted() -> None:
    comments = [
        QueueComment(author="ada", at=day(1), body="a"),
        QueueComment(author="mallory", at=day(2), body="b"),
        QueueComment(author="grace", at=day(3), body="c", editor="mallory"),
        QueueComment(author="grace", at=day(4), body="d", editor="ada"),
        QueueComment(author="", at=day(5), body="e"),
    ]
    assert [one.body for one in trusted_comments(comments, may)] == ["a", "d"]
