"""What is wrong with what stories say, although the file can be read."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.plan.formats.dispatch import check_plan, parse_plan
from ralph_ls.core.plan.formats.stories.evidence import check_stories
from ralph_ls.core.plan.formats.stories.review_cycle import AT_CAP
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from tests.unit.core.plan.stories.story_builder import DONE, WAITING, stories_of, story, text_of

PASSED = DONE | {"notes": "Seen"}


def codes(**fields: Any) -> list[str]:
    return [one.code.value for one in check_stories(stories_of(story("A", **fields)))]


def test_a_vague_criterion_is_reported_at_its_place() -> None:
    given = story("A", acceptanceCriteria=["`make test` passes", "It works  correctly", 7])
    stories = stories_of(given, story("B", acceptanceCriteria=["done"], **PASSED))
    (one,) = check_stories(stories)
    line = stories.text.splitlines()[one.place.line]
    assert line[one.place.start : one.place.end] == '"It works  correctly"'
    assert (one.code.value, one.task) == ("criteria-vague", "A")
    assert "“It works correctly” cannot be checked" in one.message


@pytest.mark.parametrize("criteria", ["done", 1, {"a": "done"}])
def test_criteria_that_are_no_list_are_left_to_the_reader(criteria: object) -> None:
    assert codes(acceptanceCriteria=criteria) == []


@pytest.mark.parametrize("criteria", [None, [], [" "]])
def test_a_story_without_criteria_is_reported(criteria: object) -> None:
    stories = stories_of(story("A", acceptanceCriteria=criteria))
    (one,) = check_stories(stories)
    assert (one.code.value, one.task) == ("criteria-missing", "A")
    assert stories.text.splitlines()[one.place.line].strip().startswith('"acceptanceCriteria"')


def test_what_is_missing_is_reported_where_the_story_begins() -> None:
    given = story("A", **PASSED)
    del given["acceptanceCriteria"], given["notes"]
    (one,) = check_stories(stories_of(given))
    # Without notes in any story, there is no place for evidence.
    assert one.code.value == "criteria-missing"
    stories = stories_of(given, story("B"))
    found = check_stories(stories)
    assert {one.code.value for one in found} == {"criteria-missing", "close-without-evidence"}
    places = {(one.place.line, one.place.end - one.place.start) for one in found}
    assert places == {(stories.text.splitlines().index("    {"), 1)}


@pytest.mark.parametrize("notes", ["", " ", None])
def test_a_story_that_passes_without_a_word_is_reported(notes: object) -> None:
    assert codes(**(PASSED | {"notes": notes})) == ["close-without-evidence"]
    assert codes(**WAITING, notes=notes) == []


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ("- [ ] It is fast", "its notes say that “It is fast” was not verified"),
        ("- [x] It is fast (make bench - exit 2)", "the command for “It is fast” failed"),
        ("Seen.\nVerified: done", "only “done” in its notes says how it was verified"),
        ("Closed:", "nothing in its notes says how it was verified"),
    ],
)
def test_a_story_that_passes_and_whose_notes_deny_it_is_reported(notes: str, words: str) -> None:
    stories = stories_of(story("A", **(PASSED | {"notes": notes})))
    (one,) = check_stories(stories)
    assert (one.code.value, one.task) == ("close-without-evidence", "A")
    assert words in one.message
    line = stories.text.splitlines()[one.place.line]
    assert line.strip().startswith('"notes"')


@pytest.mark.parametrize(
    "notes",
    [
        "Took two days",
        "- [x] It is fast (make bench - exit 0)\n- [x] It is round",
        "- [x] It (make a - exit 1)\n- [x] It (make a - exit 0)",
        "Verified: done\nVerified: make test (exit 0)",
        "- [x] `make no` exits 2 (make no - exit 2)",
    ],
)
def test_a_story_that_passes_is_left_alone_where_nothing_speaks_against_it(notes: object) -> None:
    assert codes(**(PASSED | {"notes": notes})) == []


def test_one_without_approval_is_reported() -> None:
    assert codes(**PASSED, reviewFeedback=f"{AT_CAP} Name the key") == ["close-without-evidence"]
    assert codes(reviewFeedback=f"{AT_CAP} Name the key") == []


def test_an_open_story_may_have_notes_of_a_failed_check() -> None:
    assert codes(notes="- [ ] It is fast (make bench - exit 2)") == []


def test_it_is_one_of_the_checks_of_a_plan() -> None:
    text = text_of(story("A", acceptanceCriteria=["done"]))
    parsed = parse_plan(text, PlanKind.STORIES)
    expected = check_plan(parsed, text, PlanKind.STORIES)
    assert [one.code.value for one in expected] == ["criteria-vague"]
    assert check_plan(ParsedPlan(plan=Plan()), text, PlanKind.STORIES) == expected
