"""What people do to stories, and what a save of theirs has decided."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.plan.formats.stories.edits import (
    move_story,
    note_on_story,
    request_changes,
    retry_story,
    story_edit,
    user_decisions,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, story, text_of

THREE = text_of(story("US-1"), story("US-2"), story("US-3"))


def ids_in(text: str) -> list[str]:
    return [one["id"] for one in json.loads(text)["userStories"]]


def fields_of(text: str, story_id: str) -> dict[str, Any]:
    stories = json.loads(text)["userStories"]
    found: dict[str, Any] = next(one for one in stories if one["id"] == story_id)
    return found


@pytest.mark.parametrize(
    ("story_id", "before", "expected"),
    [
        ("US-1", "US-3", ["US-2", "US-1", "US-3"]),
        ("US-1", None, ["US-2", "US-3", "US-1"]),
        ("US-3", "US-1", ["US-3", "US-1", "US-2"]),
        ("US-3", "US-2", ["US-1", "US-3", "US-2"]),
        ("US-2", None, ["US-1", "US-3", "US-2"]),
        ("US-1", "US-2", ["US-1", "US-2", "US-3"]),
        ("US-2", "US-2", ["US-1", "US-2", "US-3"]),
        ("US-3", None, ["US-1", "US-2", "US-3"]),
    ],
)
def test_a_story_is_moved_and_nothing_else_changes(
    story_id: str, before: str | None, expected: list[str]
) -> None:
    moved = story_edit(TaskEdit.MOVE, story_id, before=before)(THREE)
    assert ids_in(moved) == expected
    assert sorted(line.rstrip(",") for line in moved.splitlines()) == sorted(
        line.rstrip(",") for line in THREE.splitlines()
    )
    assert move_story(moved, story_id=story_id, before=before) == moved
    if ids_in(THREE) == expected:
        assert moved == THREE


@pytest.mark.parametrize("edit", [TaskEdit.BLOCK, TaskEdit.UNBLOCK])
def test_a_file_of_stories_has_no_word_for_blocked(edit: TaskEdit) -> None:
    with pytest.raises(RalphError, match="add what it waits for to its dependsOn"):
        story_edit(edit, "US-1")(THREE)
    with pytest.raises(RalphError, match="no story 'US-9'"):
        story_edit(edit, "US-9")(THREE)


def test_a_reset_opens_a_story_and_says_so_once() -> None:
    text = text_of(story("US-1", **RETURNED))
    once = retry_story(text, "US-1")
    fields = fields_of(once, "US-1")
    assert (fields["reviewStatus"], fields["reviewCount"]) == (None, 0)
    assert fields["notes"] == "Reset for retry"
    assert retry_story(once, "US-1") == once


def test_the_user_reviews() -> None:
    text = request_changes(text_of(story("US-1", **DONE)), "US-1", "Name the key")
    fields = fields_of(text, "US-1")
    assert fields["passes"] is False
    assert fields["reviewStatus"] == "changes_requested"
    assert fields["reviewCount"] == 2
    assert fields["reviewFeedback"] == "Name the key"
    assert fields_of(note_on_story(text, "US-1", "see the log"), "US-1")["notes"] == "see the log"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {}, set()),
        ({}, WAITING, {"reviewStatus"}),
        (WAITING, RETURNED, {"reviewStatus", "reviewCount", "reviewFeedback"}),
        ({}, {"acceptanceCriteria": ["other"]}, {"acceptanceCriteria"}),
        ({}, {"priority": 2}, {"priority"}),
        ({"dependsOn": ["US-2"]}, {}, {"dependsOn"}),
        ({}, {"title": "Other words", "notes": "n"}, set()),
    ],
)
def test_what_a_save_has_decided(
    before: dict[str, object], after: dict[str, object], expected: set[str]
) -> None:
    texts = [text_of(story("US-1", **fields), story("US-2")) for fields in (before, after)]
    assert set(user_decisions(*texts)) == {(name, "US-1") for name in expected}


def test_what_a_save_has_decided_about_the_file_and_whole_stories() -> None:
    before = text_of(story("US-1"), story("US-2"))
    after = text_of(story("US-1"), story("US-3", **DONE), verifyCommands=["make"])
    assert set(user_decisions(before, after)) == {
        ("verifyCommands", ""),
        ("", "US-2"),
        ("passes", "US-3"),
        ("reviewStatus", "US-3"),
        ("reviewCount", "US-3"),
        ("reviewFeedback", "US-3"),
    }
    less = json.dumps({"userStories": [{"id": "US-1", "title": "One"}]})
    more = json.dumps({"userStories": [{"id": "US-1", "title": "One", "passes": True}]})
    assert user_decisions(less, more) == (("passes", "US-1"),)
