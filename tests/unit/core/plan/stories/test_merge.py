"""Two write one file of stories: both changes are kept, and the file stays JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.dispatch import merge_plans as merge_any
from ralph_ls.core.plan.formats.stories.merge import merge_stories
from ralph_ls.core.plan.model import PlanKind
from tests.unit.core.plan.stories.story_builder import DONE, WAITING, story, text_of

BASE = text_of(story("US-1"), story("US-2"))


def test_what_only_one_changed_is_taken() -> None:
    mine = text_of(story("US-1", title="Other words"), story("US-2"))
    theirs = text_of(story("US-1", **WAITING), story("US-2"), story("US-3"), branchName="b")
    merged = merge_stories(BASE, mine, theirs)
    both = story("US-1", title="Other words", **WAITING)
    assert json.loads(merged.text) == {
        "project": "Shop",
        "verifyCommands": ["make test"],
        "branchName": "b",
        "userStories": [both, story("US-2"), story("US-3")],
    }
    assert merged.conflicts == ()


def test_of_a_field_that_both_changed_mine_stays_and_the_notes_say_theirs() -> None:
    mine = text_of(story("US-1", priority=2), story("US-2"), project="Mine")
    theirs = text_of(story("US-1", priority=3), story("US-2"), project="Theirs")
    merged = merge_stories(BASE, mine, theirs)
    said = json.loads(merged.text)
    assert said["project"] == "Mine"
    assert said["userStories"][0]["priority"] == 2
    assert said["userStories"][0]["notes"] == "Changed by another at the same time: 3"
    assert [(one.mine, one.theirs) for one in merged.conflicts] == [
        ('"Mine"', '"Theirs"'),
        ("2", "3"),
    ]


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (text_of(story("US-1", notes="n"), story("US-2")), text_of(story("US-1")), ["US-1"]),
        (text_of(story("US-1"), story("US-2", notes="n")), text_of(story("US-1")), None),
        (text_of(story("US-2")), text_of(story("US-1"), story("US-2", notes="n")), ["US-2"]),
        (text_of(story("US-2")), text_of(story("US-1", **DONE), story("US-2")), None),
        (text_of(), text_of(story("US-1"), story("US-2"), story("US-3")), ["US-3"]),
        (text_of(), text_of(story("US-1"), story("US-2", notes="n")), ["US-2"]),
        (
            text_of(story("US-1"), story("US-2"), story("US-4")),
            text_of(story("US-3"), story("US-1"), story("US-2")),
            ["US-3", "US-1", "US-2", "US-4"],
        ),
    ],
)
def test_a_story_that_one_removed_goes_unless_the_other_changed_it(
    mine: str, theirs: str, expected: list[str] | None
) -> None:
    merged = json.loads(merge_stories(BASE, mine, theirs).text)
    ids = [one["id"] for one in merged["userStories"]]
    assert ids == (["US-1", "US-2"] if expected is None else expected)


def test_both_changed_it_alike() -> None:
    same = text_of(story("US-1", **DONE), story("US-2"), project="New")
    mine = text_of(story("US-1", **DONE), story("US-2", notes="n"), project="New")
    merged = merge_stories(BASE, mine, same)
    assert merged.text == mine
    assert merged.conflicts == ()


def test_both_brought_the_same_story_with_other_words() -> None:
    mine = text_of(story("US-1"), story("US-2"), story("US-3", title="Mine"))
    theirs = text_of(story("US-1"), story("US-2"), story("US-3", title="Theirs"))
    merged = json.loads(merge_stories(BASE, mine, theirs).text)
    assert merged["userStories"][2]["title"] == "Mine"
    assert "Theirs" in merged["userStories"][2]["notes"]


@pytest.mark.parametrize("text", ['{"userStories": [', "[]", "{}"])
def test_what_is_no_file_of_stories_stays_as_it_is_typed(text: str) -> None:
    theirs = text_of(story("US-1", **DONE))
    merged = merge_stories(BASE, text, theirs)
    assert merged.text == text
    assert len(merged.conflicts) == 1


def test_where_one_changed_nothing_the_other_is_taken() -> None:
    theirs = text_of(story("US-1", **DONE))
    assert merge_stories(BASE, BASE, theirs).text == theirs
    assert merge_stories(BASE, theirs, BASE).text == theirs
    assert merge_stories(BASE, theirs, theirs).text == theirs


def test_other_plans_are_merged_by_their_lines() -> None:
    merged = merge_any(PlanKind.MARKDOWN, "- [ ] a\n", "- [x] a\n", "- [ ] a\n- [ ] b\n")
    assert merged.text == "- [x] a\n- [ ] b\n"
    stories = merge_any(PlanKind.STORIES, BASE, BASE, text_of())
    assert stories.text == text_of()


STORY_TEXTS = st.lists(
    st.builds(
        story,
        st.sampled_from(["US-1", "US-2", "US-3"]),
        priority=st.integers(1, 2),
        notes=st.sampled_from(["", "n"]),
    ),
    max_size=3,
    unique_by=lambda one: str(one["id"]),
).map(lambda found: text_of(*found))


@given(STORY_TEXTS, STORY_TEXTS, STORY_TEXTS)
def test_a_merge_is_always_a_file_of_stories(base: str, mine: str, theirs: str) -> None:
    merged = json.loads(merge_stories(base, mine, theirs).text)
    ids = [one["id"] for one in merged["userStories"]]
    assert len(ids) == len(set(ids))
