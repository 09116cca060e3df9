"""What a request says: an answer of gh, the text that an agent gets, and its title."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.request import (
    LONGEST_TITLE,
    UNTITLED,
    GithubComment,
    GithubIssue,
    read_github_issue,
    render_issue,
    request_title,
)

ANSWER: dict[str, Any] = {
    "number": 12,
    "title": "Letters  get\nlost",
    "body": "Find out\r\nwhy\rnow",
    "url": "https://github.com/ada/invoice/issues/12",
    "state": "OPEN",
    "comments": [
        {
            "author": {"login": "grace"},
            "authorAssociation": "OWNER",
            "createdAt": "2026-01-31T12:00:00Z",
            "body": "Only on\r\nMondays",
            "isMinimized": False,
        }
    ],
}


def read(**fields: Any) -> GithubIssue:
    issue = read_github_issue(json.dumps({**ANSWER, **fields}))
    assert issue is not None
    return issue


def test_an_issue_is_read_whole() -> None:
    assert read() == GithubIssue(
        number=12,
        title="Letters get lost",
        body="Find out\nwhy\nnow",
        url="https://github.com/ada/invoice/issues/12",
        is_open=True,
        comments=(
            GithubComment(author="grace", role="owner", at="2026-01-31", body="Only on\nMondays"),
        ),
    )


@pytest.mark.parametrize(
    "answer", ["", "null", "[]", "{", "12", '{"title": "x"}', '{"number": true}', "[" * 100_000]
)
def test_what_is_no_issue_is_none(answer: str) -> None:
    assert read_github_issue(answer) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"title": None}, {"title": UNTITLED}),
        ({"body": None}, {"body": ""}),
        ({"state": "closed"}, {"is_open": False}),
        ({"state": None}, {"is_open": True}),
        ({"comments": None}, {"comments": ()}),
        ({"comments": [None, "x", {"isMinimized": True, "body": "spam"}]}, {"comments": ()}),
        ({"title": "\ud800"}, {"title": "?"}),
    ],
)
def test_what_is_missing_or_strange_is_taken_as_nothing(
    fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    issue = read(**fields)
    assert {name: getattr(issue, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("comment", "told"),
    [
        ({"author": None}, ("ghost", "", "")),
        ({"author": {"login": " "}}, ("ghost", "", "")),
        ({"author": {"login": "ada"}, "authorAssociation": "NONE"}, ("ada", "", "")),
        ({"author": {"login": "ada"}, "authorAssociation": "MEMBER"}, ("ada", "member", "")),
        ({"createdAt": "yesterday"}, ("ghost", "", "")),
    ],
)
def test_who_wrote_a_comment(comment: dict[str, Any], told: tuple[str, str, str]) -> None:
    (read_one,) = read(comments=[comment]).comments
    assert (read_one.author, read_one.role, read_one.at) == told


def test_a_pull_request_is_known_by_its_address() -> None:
    assert read(url="https://github.com/ada/invoice/pull/12").is_pull_request
    assert not read().is_pull_request


def test_an_agent_is_given_title_body_and_comments() -> None:
    told = render_issue(read(), limit=10_000)
    assert told.left_out == 0
    assert told.text == (
        "# Letters get lost\n\nFind out\nwhy\nnow\n\n"
        "## Comment by grace, owner, 2026-01-31\n\nOnly on\nMondays"
    )


def test_an_issue_without_a_body_is_its_title() -> None:
    assert render_issue(read(body="", comments=[]), limit=10).text == "# Letters get lost"


def test_the_oldest_comments_are_left_out_first() -> None:
    comments = [{"author": {"login": str(index)}, "body": "é" * 50} for index in range(4)]
    whole = render_issue(read(comments=comments), limit=10_000)
    size = len(whole.text.encode())
    cut = render_issue(read(comments=comments), limit=size - 1)
    assert cut.left_out == 1
    assert "Comment by 0\n" not in cut.text
    assert "Comment by 1\n" in cut.text
    assert render_issue(read(comments=comments), limit=0).left_out == 4


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Paint it blue\nAll of it", "Paint it blue"),
        ("---\n\nPaint it\n# The heading #\nmore", "The heading"),
        ("#\n##  \n- [ ] box", "- [ ] box"),
        ("", UNTITLED),
        ("---\n***", UNTITLED),
        ("# #", UNTITLED),
        ("#hashtag", "#hashtag"),
        ("\t many   spaces\there", "many spaces here"),
        ("x" * 500, "x" * (LONGEST_TITLE - 1) + "…"),
        ("x" * LONGEST_TITLE, "x" * LONGEST_TITLE),
    ],
)
def test_a_title_is_found(text: str, title: str) -> None:
    assert request_title(text) == title


@given(st.text())
def test_every_text_has_a_title(text: str) -> None:
    title = request_title(text)
    assert title
    assert len(title) <= LONGEST_TITLE
    assert "\n" not in title


@given(st.text(), st.recursive(st.none() | st.text() | st.integers(), st.lists))
def test_nothing_that_gh_prints_makes_reading_fail(text: str, value: Any) -> None:
    read_github_issue(text)
    for field in ANSWER:
        read_github_issue(json.dumps({**ANSWER, field: value}))
