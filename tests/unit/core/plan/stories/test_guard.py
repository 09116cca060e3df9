"""Putting illegal moves back: nothing illegal is left, and what was legal stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.json_text import DEEPEST
from ralph_ls.core.plan.formats.stories.guard import MOST_SMALL_EDITS, guard_stories
from ralph_ls.core.plan.formats.stories.review_cycle import MoveCode, ReviewRules, check_moves
from ralph_ls.core.plan.formats.stories.story_file import read_stories
from ralph_ls.protocol.run.values import Mode
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, story, text_of

Fields = dict[str, Any]
BUILD = ReviewRules(mode=Mode.BUILD)


def guarded(before: str, after: str, rules: ReviewRules = BUILD) -> tuple[str, list[MoveCode]]:
    outcome = guard_stories(before, after, rules)
    return outcome.text, [move.code for move in outcome.moves]


def test_what_is_legal_stays() -> None:
    after = text_of(story("A", **WAITING, notes="done so far"), story("B"))
    assert guarded(text_of(story("A")), after) == (after, [])


def test_an_illegal_review_goes_back_and_the_rest_stays() -> None:
    before = text_of(story("A"), story("B"))
    after = text_of(story("A", **DONE, notes="I am done"), story("B", **WAITING))
    assert guarded(before, after) == (
        text_of(story("A", notes="I am done"), story("B", **WAITING)),
        [MoveCode.IMPLEMENT],
    )


def test_fields_that_were_not_there_are_as_of_a_fresh_story() -> None:
    before = '[{"id": "A", "title": "a", "passes": false}]'
    after = '[{"id": "A", "title": "a", "passes": true, "reviewStatus": "approved"}]'
    assert guarded(before, after)[0] == (
        '[{"id": "A", "title": "a", "passes": false, "reviewStatus": null}]'
    )


def test_fields_that_were_taken_away_come_back() -> None:
    before = text_of(story("A", **RETURNED))
    after = text_of({"id": "A", "title": "Story A", "acceptanceCriteria": ["A holds"]})
    text, codes = guarded(before, after, ReviewRules(mode=Mode.REVIEW_FIX))
    assert codes == [MoveCode.PRIORITY, MoveCode.REVIEW_FIX]
    (now,) = json.loads(text)["userStories"]
    assert now == {key: value for key, value in story("A", **RETURNED).items() if key in now}


def test_a_new_story_becomes_fresh() -> None:
    before, after = text_of(story("A")), text_of(story("A"), story("B", **DONE))
    assert guarded(before, after) == (text_of(story("A"), story("B")), [MoveCode.NOT_FRESH])


def test_values_come_back_as_they_were_written() -> None:
    before = '[{"id": "A", "title": "a", "acceptanceCriteria": [ "x" ], "priority": 1.0}]'
    after = '[{"id": "A", "title": "a", "acceptanceCriteria": ["y", "x"], "priority": 9}]'
    assert guarded(before, after) == (before, [MoveCode.CRITERIA, MoveCode.PRIORITY])


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        pytest.param('"dependsOn": [ "B" ]', '"dependsOn": []', '"dependsOn": [ "B" ]',
                     id="as-it-was"),
        pytest.param('"dependsOn": ["B"]', '"dependsOn": ["C"]', '"dependsOn": ["B", "C"]',
                     id="with-what-came"),
        pytest.param('"dependencies": ["B"]', '"x": 1', '"x": 1, "dependencies": ["B"]', id="gone"),
        pytest.param('"dependencies": ["B"]', '"dependsOn": []', '"dependsOn": ["B"]',
                     id="renamed"),
    ],
)  # fmt: skip
def test_dropped_dependencies_come_back(before: str, after: str, wanted: str) -> None:
    texts = [f'[{{"id": "A", "title": "a", {one}}}]' for one in (before, after, wanted)]
    assert guarded(texts[0], texts[1]) == (texts[2], [MoveCode.DEPENDENCY])


@pytest.mark.parametrize(
    ("ids", "left"),
    [("ABC", "AB"), ("ABC", "BC"), ("ABC", "AC"), ("ABC", "B"), ("ABC", ""), ("A", ""),
     ("ABCD", "AD")],
)  # fmt: skip
@pytest.mark.parametrize("indent", [None, 2])
def test_deleted_stories_come_back_where_they_were(ids: str, left: str, indent: int | None) -> None:
    before, after = (
        json.dumps({"userStories": [story(one) for one in names]}, indent=indent)
        for names in (ids, left)
    )
    assert guarded(before, after)[0] == before


def test_a_deleted_story_is_restored_behind_its_neighbour() -> None:
    before = text_of(story("A"), story("B"))
    after = text_of(story("A", notes="n"), story("N"))
    assert guarded(before, after)[0] == text_of(story("A", notes="n"), story("B"), story("N"))


def test_the_commands_that_verify_come_back() -> None:
    before = text_of(story("A"))
    assert guarded(before, text_of(story("A"), verifyCommands=["true"])) == (
        before, [MoveCode.VERIFY],
    )  # fmt: skip
    bare = '{"userStories": [{"id": "A", "title": "a"}], "verifyCommands": ["rm"]}'
    text, _ = guarded('[{"id": "A", "title": "a"}]', bare)
    assert json.loads(text)["verifyCommands"] == []
    assert guarded(before, json.dumps([story("A")]))[0] == before


@pytest.mark.parametrize(
    "after",
    ['{"userStories": [', "", '{"stories": []}', text_of(story("A", passes="yes")),
     text_of(story("A"), story("A"))],
)  # fmt: skip
def test_a_broken_file_is_restored_whole(after: str) -> None:
    before = text_of(story("A"))
    outcome = guard_stories(before, after, BUILD)
    assert (outcome.text, outcome.moves) == (before, ())
    assert outcome.broken


def test_a_file_with_very_many_illegal_moves_is_restored_whole() -> None:
    ids = [f"S{number}" for number in range(MOST_SMALL_EDITS + 1)]
    before = text_of(*map(story, ids))
    text, codes = guarded(before, text_of(story("N")))
    assert (text, len(codes)) == (before, len(ids))


def test_what_is_no_story_keeps_its_place() -> None:
    assert guarded('[1, {"id": "A", "title": "a"}]', "[1]")[0] == '[{"id": "A", "title": "a"}, 1]'


def test_where_small_edits_do_not_help_the_file_is_restored_whole() -> None:
    # One level more around it, and the story that comes back is nested too deeply to be read.
    deep = "[" * (DEEPEST - 2) + "]" * (DEEPEST - 2)
    before = f'[{{"id": "A", "title": "a", "x": {deep}}}]'
    assert guarded(before, '{"userStories": []}') == (before, [MoveCode.DELETED])


def test_a_file_that_was_broken_before_is_left_to_the_user() -> None:
    assert guarded("[", "[{") == ("[{", [])


def test_what_was_left_undone_is_reported_and_changes_nothing() -> None:
    text = text_of(story("A", **WAITING))
    assert guarded(text, text, ReviewRules(mode=Mode.REVIEW)) == (text, [MoveCode.NONE_REVIEWED])
    fix = text_of(story("A", **RETURNED))
    assert guarded(fix, fix, ReviewRules(mode=Mode.REVIEW_FIX)) == (fix, [MoveCode.NONE_FIXED])


SOME = st.fixed_dictionaries(
    {},
    optional={
        "passes": st.booleans(),
        "reviewStatus": st.sampled_from([None, "needs_review", "changes_requested", "approved"]),
        "reviewCount": st.integers(0, 2),
        "reviewFeedback": st.sampled_from([None, "", "x", "[AUTO-APPROVED AT CAP] x"]),
        "priority": st.sampled_from([1, 2, None, "high"]),
        "acceptanceCriteria": st.sampled_from([[], ["x"], ["x", "y"]]),
        "dependsOn": st.lists(st.sampled_from(["A", "B", "C"]), unique=True),
        "dependencies": st.lists(st.sampled_from(["A", "B", "C"]), unique=True),
        "notes": st.just("n"),
    },
)
ITEM = st.tuples(st.sampled_from(["A", "B", "C", "D", "A-2", None, 3]), SOME) | st.just(7)
FILES = st.tuples(
    st.lists(st.tuples(st.sampled_from("ABCD"), SOME), unique_by=lambda one: one[0])
    | st.lists(ITEM, max_size=4),
    st.sampled_from([None, [], ["make test"]]),
    st.sampled_from([None, 2]),
    st.booleans(),
)


def _text(file: Any) -> str:
    items, commands, indent, is_bare = file
    stories = [
        one if isinstance(one, int) else {"id": one[0], "title": str(one[0]), **one[1]}
        for one in items
    ]
    head = {} if commands is None else {"verifyCommands": commands}
    return json.dumps(stories if is_bare else {"userStories": stories, **head}, indent=indent)


@given(
    FILES, FILES, st.sampled_from(Mode), st.booleans(), st.booleans(), st.sampled_from([1, 2, 5])
)
def test_nothing_illegal_is_left_after_guarding(
    before: Any, after: Any, mode: Mode, skips: bool, halts: bool, cap: int
) -> None:
    rules = ReviewRules(mode=mode, skip_review=skips, halts=halts, review_cap=cap)
    was, now = _text(before), _text(after)
    outcome = guard_stories(was, now, rules)
    left = check_moves(read_stories(was).stories, read_stories(outcome.text).stories, rules)
    assert [move for move in left if not move.is_omission] == []
    assert guard_stories(was, outcome.text, rules).text == outcome.text
    if not outcome.moves and not outcome.broken:
        assert outcome.text == now
