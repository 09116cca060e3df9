"""Issues of GitHub: requests, and answers of every shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.plan.formats.github.issues import (
    QueueQuery,
    issue_request,
    page_request,
    read_milestone,
    read_page,
    read_states,
    states_request,
)
from tests.fakes import github_queue

QUERY = QueueQuery(owner="ada", name="invoice", label='a "b"', milestone=7)


def page(**issue: Any) -> str:
    node = github_queue.shown("ada/invoice", 12, issue)
    facts = {"nameWithOwner": "ada/invoice", "issues": {"totalCount": 3, "nodes": [node]}}
    return json.dumps({"data": {"viewer": {"login": "ada"}, "repository": facts}})


def test_a_page_is_asked_for_by_label_and_milestone() -> None:
    asked = json.loads(page_request(QUERY, "c1"))
    assert asked["variables"] == {"owner": "ada", "name": "invoice", "after": "c1"}
    assert r'filterBy: {labels: ["a \"b\""], milestoneNumber: "7"}' in asked["query"]
    assert "blockedBy" in asked["query"]


def test_an_old_server_is_not_asked_for_dependencies() -> None:
    asked = json.loads(page_request(QueueQuery(owner="ada", name="invoice", native=False)))
    assert "blockedBy" not in asked["query"]
    assert "filterBy" not in asked["query"]


def test_one_issue_and_states_have_no_place_in_a_list() -> None:
    for asked in (issue_request(QUERY, 12), states_request(QUERY, (12, 13))):
        read = json.loads(asked)
        assert read["variables"] == {"owner": "ada", "name": "invoice"}
        assert "$after" not in read["query"]


def test_an_issue_is_read_with_all_that_decides_about_it() -> None:
    found = read_page(
        page(
            title=" Letters\r\n get lost ",
            body="a\r\nb",
            author="ada",
            edited={"by": "grace", "at": "2026-01-02T00:00:00Z"},
            labels=["ralph"],
            milestone="Version 2",
            assignees=["ada"],
            blocked_by={"7": "OPEN", "8": "CLOSED"},
            events=[
                {"kind": "LabeledEvent", "actor": "ada", "at": "2026-01-01T00:00:00Z", "name": "x"},
                {
                    "kind": "MilestonedEvent",
                    "actor": "a",
                    "at": "2026-01-01T00:00:00Z",
                    "name": "v",
                },
                {"kind": "RenamedTitleEvent", "actor": None, "at": "nonsense"},
                {"kind": "RenamedTitleEvent", "actor": None, "at": "2026-01-01T00:00:00"},
            ],
        )
    )
    assert found is not None
    (issue,) = found.issues
    assert (issue.title, issue.body, issue.number) == ("Letters get lost", "a\nb", 12)
    assert (issue.author, issue.editor, issue.milestone) == ("ada", "grace", "Version 2")
    assert (issue.labels, issue.assignees) == (("ralph",), ("ada",))
    assert issue.waits_for == {7: True, 8: False}
    assert [(one.kind, one.name) for one in issue.events] == [
        ("LabeledEvent", "x"),
        ("MilestonedEvent", "v"),
    ]
    assert (found.total, found.viewer, found.after) == (3, "ada", None)


def test_a_dependency_elsewhere_is_left_out() -> None:
    node = github_queue.shown("ada/invoice", 12, {"blocked_by": {"7": "OPEN"}})
    node["blockedBy"]["nodes"][0]["repository"]["nameWithOwner"] = "ada/other"
    node["subIssues"]["nodes"] = [{"number": "8"}]
    answer = {"data": {"repository": {"issue": node}}}
    found = read_page(json.dumps(answer))
    assert found is not None
    assert found.issues[0].waits_for == {}


def test_comments_are_read_without_hidden_ones() -> None:
    comments = [{"body": "a"}, {"body": "b", "hidden": True}, {"body": "c", "at": ""}]
    node = github_queue.shown("ada/invoice", 12, {"comments": comments})
    found = read_page(json.dumps({"data": {"repository": {"issue": node}}}))
    assert found is not None
    assert [one.body for one in found.comments] == ["a"]


def test_the_next_page_begins_where_this_one_ends() -> None:
    listed = {"pageInfo": {"hasNextPage": True, "endCursor": "c2"}, "nodes": [None, {"number": 0}]}
    found = read_page(json.dumps({"data": {"repository": {"issues": listed}}}))
    assert found is not None
    assert (found.after, found.issues, found.total) == ("c2", (), 1)


@pytest.mark.parametrize(
    "answer", ["", "[]", "nonsense", "[" * 100_000, '{"data": null}', '{"data": {"repository": 1}}']
)
def test_an_answer_of_another_shape_is_none(answer: str) -> None:
    assert read_page(answer) is None
    assert read_states(answer) == {}
    assert read_milestone(answer, "Version 2") is None


def test_states_are_those_of_issues_that_are_there() -> None:
    numbers = {"n7": {"closed": False}, "n8": {"closed": True}, "n9": None, "name": {}}
    assert read_states(json.dumps({"data": {"repository": numbers}})) == {7: True, 8: False}


@pytest.mark.parametrize(
    ("listed", "number"),
    [
        ([{"title": "version 2", "number": 7}], 7),
        ([1, {"title": "Version 2", "number": "7"}], None),
        ([{"title": "Version 3", "number": 8}], None),
    ],
)
def test_a_milestone_is_found_by_its_title(listed: list[Any], number: int | None) -> None:
    assert read_milestone(json.dumps(listed), "Version 2 ") == number
