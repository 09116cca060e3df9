"""Edits of a file of stories: the value changes, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.text_diff import text_changes
from ralph_ls.core.plan.formats.stories.edits import (
    append_story_note,
    pass_story,
    reopen_story,
    reset_stories_in_progress,
    reset_story,
    set_fields,
)
from ralph_ls.protocol.errors import RalphError
from tests.unit.core.plan.stories.story_builder import (
    DONE,
    RETURNED,
    WAITING,
    stories_of,
    story,
    text_of,
)

Fields = dict[str, Any]

ODD = (
    '\ufeff[\r\n\t{ "id":"A" ,"title" : "café \\u00e9", "x":{"passes":1},\r\n  "passes":false }  ]'
)


def test_one_value_changes_and_nothing_else() -> None:
    after = set_fields(ODD, "A", {"passes": True})
    (change,) = text_changes(ODD, after)
    assert ODD[: change.start] + change.text + ODD[change.end :] == after
    assert after == ODD.replace('"passes":false', '"passes":true')


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param('[{"id": "A"}]', '[{"id": "A", "notes": "n"}]', id="one-line-of-one"),
        pytest.param('[{"id": "A", "title": "a"}]', '[{"id": "A", "title": "a", "notes": "n"}]',
                     id="one-line"),
        pytest.param('[{ "id":"A" }]', '[{ "id":"A", "notes":"n" }]', id="spaces"),
        pytest.param('[{\n  "id": "A",\n  "title": "a"\n}]',
                     '[{\n  "id": "A",\n  "title": "a",\n  "notes": "n"\n}]', id="lines"),
        pytest.param('[{\r\n\t"id": "A"\r\n}]', '[{\r\n\t"id": "A",\r\n\t"notes": "n"\r\n}]',
                     id="crlf-and-tab"),
        pytest.param('[{"id": "A"\n, "title": "a"}]',
                     '[{"id": "A"\n, "title": "a"\n, "notes": "n"}]', id="comma-first"),
        pytest.param('[{"id": "A", "notes": "old", "notes": "older"}]',
                     '[{"id": "A", "notes": "old", "notes": "n"}]', id="the-last-one-counts"),
    ],
)  # fmt: skip
def test_a_new_field_has_the_form_of_the_one_before_it(text: str, after: str) -> None:
    assert set_fields(text, "A", {"notes": "n"}) == after


def test_a_story_that_says_nothing_at_all_can_be_given_a_field() -> None:
    (task,) = stories_of({}).stories
    assert set_fields('{"userStories": [{ }]}', task.id, {"passes": False}) == (
        '{"userStories": [{"passes": false}]}'
    )


def test_a_value_that_is_there_already_is_left_as_it_is_written() -> None:
    text = '[{"id": "A", "reviewCount": 0, "passes": false, "notes": "\\u00e9"}]'
    assert set_fields(text, "A", {"reviewCount": 0, "passes": False, "notes": "é"}) == text


def test_true_is_not_taken_for_one() -> None:
    assert set_fields('[{"id": "A", "passes": 1}]', "A", {"passes": True}) == (
        '[{"id": "A", "passes": true}]'
    )


def test_texts_are_written_without_escapes() -> None:
    after = set_fields(text_of(story("A")), "A", {"notes": 'é "x"\n\ud800'})
    assert '"notes": "é \\"x\\"\\n?"' in after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param({}, {"passes": True}, id="fresh"),
        pytest.param(WAITING, {"passes": True, "reviewStatus": "approved"}, id="in-review"),
        pytest.param(DONE, DONE, id="done"),
    ],
)
def test_the_user_lets_a_story_pass(before: Fields, after: Fields) -> None:
    assert pass_story(text_of(story("A", **before)), "A") == text_of(story("A", **after))


def test_a_story_is_opened_again() -> None:
    assert reopen_story(text_of(story("A", **RETURNED)), "A") == text_of(story("A"))
    text = '[{"id": "A", "passes": true}]'
    assert reopen_story(text, "A") == '[{"id": "A", "passes": false}]'


def test_notes_grow_by_a_line_and_not_twice() -> None:
    once = append_story_note(text_of(story("A", notes="first")), "A", "second")
    assert once == text_of(story("A", notes="first\nsecond"))
    assert append_story_note(once, "A", "second") == once
    assert append_story_note('[{"id": "A"}]', "A", "n") == '[{"id": "A", "notes": "n"}]'


def test_a_story_is_reset_for_another_try() -> None:
    assert reset_story(text_of(story("A", **DONE)), "A") == text_of(
        story("A", notes="Reset for retry")
    )


def test_before_planning_what_is_in_progress_is_opened() -> None:
    text = text_of(story("A", **DONE), story("B", **WAITING), story("C", **RETURNED), story("D"))
    opened = reset_stories_in_progress(text)
    note = "Reset for replanning"
    assert opened.titles == ("Story B", "Story C")
    assert opened.text == text_of(
        story("A", **DONE), story("B", notes=note), story("C", notes=note), story("D")
    )


def test_a_story_that_is_not_there_cannot_be_changed() -> None:
    with pytest.raises(RalphError, match="the plan has no story 'Z'; list the stories"):
        set_fields(text_of(story("A")), "Z", {"passes": True})


def test_a_text_that_is_no_json_is_not_changed() -> None:
    with pytest.raises(RalphError, match="line 2 of the plan is not valid JSON: remove this comma"):
        set_fields('[{"id": "A"}\n,]', "A", {"passes": True})


@given(
    st.lists(st.sampled_from(["A", "B", "C"]), min_size=1, max_size=3, unique=True),
    st.dictionaries(
        st.sampled_from(["passes", "reviewStatus", "reviewCount", "notes", "new"]),
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
        min_size=1,
    ),
    st.sampled_from([None, 1, "\t"]),
)
def test_an_edit_says_what_json_says_and_is_undone_by_the_other_one(
    ids: list[str], values: Fields, indent: int | str | None
) -> None:
    stories = [story(one) for one in ids]
    text = json.dumps(stories, indent=indent, ensure_ascii=False)
    after = set_fields(text, ids[-1], values)
    stories[-1] |= values
    assert after == json.dumps(stories, indent=indent, ensure_ascii=False)
