"""Which comment on an issue answers a question."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.notify.github_answers import may_write, new_answers, read_comments

ASKED = datetime(2026, 1, 31, 12, tzinfo=UTC)
GOOD: dict[str, Any] = {
    "id": 5,
    "user": {"login": "grace", "type": "User"},
    "created_at": "2026-01-31T12:00:01Z",
    "updated_at": "2026-01-31T12:00:01Z",
    "performed_via_github_app": None,
    "body": "/ralph answer 1a2b-3\r\nUse SQLite.\r\nIt is small.",
}


def answers(*comments: dict[str, Any], seen: tuple[int, ...] = ()) -> list[str]:
    found = new_answers(
        read_comments(json.dumps(comments)), identity="1a2b-3", asked_at=ASKED, seen=seen
    )
    return [text for _, text in found]


def test_a_comment_that_answers() -> None:
    assert answers(GOOD) == ["Use SQLite.\nIt is small."]


@pytest.mark.parametrize(
    "changed",
    [
        {"body": "/ralph answer 1a2b-4\nUse SQLite."},
        {"body": "/ralph answer 1a2b-3 Use SQLite."},
        {"body": "/ralph answer 1a2b-3\n \n"},
        {"body": "I say\n/ralph answer 1a2b-3\nUse SQLite."},
        {"body": "> /ralph answer 1a2b-3\nUse SQLite."},
        {"body": " /ralph answer 1a2b-3\nUse SQLite."},
        {"body": "/ralph answer 1a2b-3\n" + "x" * 20_001},
        {"body": None},
        {"created_at": "2026-01-31T12:00:00Z", "updated_at": "2026-01-31T12:00:00Z"},
        {"created_at": "2026-01-31T11:59:59Z", "updated_at": "2026-01-31T11:59:59Z"},
        {"updated_at": "2026-01-31T12:00:02Z"},
        {"updated_at": None},
        {"created_at": "yesterday"},
        {"created_at": "2026-01-31T12:00:01", "updated_at": "2026-01-31T12:00:01"},
        {"user": {"login": "robot[bot]", "type": "User"}},
        {"user": {"login": "robot", "type": "Bot"}},
        {"user": {"login": "../../orgs/x", "type": "User"}},
        {"user": None},
        {"user": {"login": 7}},
        {"performed_via_github_app": {"id": 1}},
        {"id": "5"},
        {"id": True},
    ],
)
def test_anything_else_does_not(changed: dict[str, Any]) -> None:
    assert answers({**GOOD, **changed}) == []


def test_a_comment_is_looked_at_once() -> None:
    assert answers(GOOD, seen=(5,)) == []


def test_the_oldest_comes_first_on_whatever_page() -> None:
    later = {**GOOD, "id": 4, "body": "/ralph answer 1a2b-3\nB"}
    later |= {"created_at": "2026-01-31T12:00:09Z", "updated_at": "2026-01-31T12:00:09Z"}
    assert answers(later, GOOD) == ["Use SQLite.\nIt is small.", "B"]
    assert len(read_comments(json.dumps([[GOOD], [later]]))) == 2


@pytest.mark.parametrize("text", ["", "{", "{}", "7", "[7, null, {}]", "[" * 100_000])
def test_what_is_no_list_of_comments(text: str) -> None:
    assert read_comments(text) == ()


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    read_comments(text)
    may_write(text)


@pytest.mark.parametrize(
    ("text", "is_enough"),
    [
        ('{"permission": "write"}', True),
        ('{"permission": "admin"}', True),
        ('{"permission": "read"}', False),
        ('{"permission": "none"}', False),
        ('{"message": "Not Found"}', False),
        ('["write"]', False),
        ("", False),
        ("[" * 100_000, False),
    ],
)
def test_who_may_write(text: str, is_enough: bool) -> None:
    assert may_write(text) is is_enough
