"""What a file of stories says of closed stories; every byte that is not meant stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.core.plan.formats.stories.evidence import (
    story_closings,
    story_commands,
    write_story_verification,
)
from ralph_ls.core.plan.formats.stories.story_file import read_stories
from ralph_ls.core.plan.verification.criterion_checks import NOT_ALLOWED
from ralph_ls.protocol.errors import RalphError
from tests.unit.core.plan.verification.criterion_cases import checked, verification

LINES = "Acceptance criteria verified:\n- [x] Tests pass (make test - exit 0)"
PASSED = verification("US-1", checked("Tests pass (`make test`)", "make test"))
FAILED = verification("US-1", checked("Tests pass (`make test`)", "make test", 1))
WHY = "Verification failed: Tests pass (make test - exit 1)"


def file(*stories: dict[str, Any], verify: list[str] | None = None) -> str:
    named = [{"id": "US-1", "title": "One", **story} for story in stories]
    whole = {"verifyCommands": verify or [], "userStories": named}
    return json.dumps(whole, ensure_ascii=False, indent=4)


def story(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["userStories"][0]
    return found


NEW = {"acceptanceCriteria": ["Tests pass (`make test`)"], "passes": False, "reviewStatus": None}
IN_REVIEW = {**NEW, "reviewStatus": "needs_review"}
ASKED = {**NEW, "reviewStatus": "changes_requested", "reviewFeedback": "Mend it"}
APPROVED = {**NEW, "passes": True, "reviewStatus": "approved", "reviewCount": 1}


@pytest.mark.parametrize(
    ("before", "after", "is_run"),
    [
        pytest.param(NEW, IN_REVIEW, True, id="implemented"),
        pytest.param(NEW, {**NEW, "passes": True}, True, id="passed"),
        pytest.param(IN_REVIEW, APPROVED, True, id="approved"),
        pytest.param(ASKED, IN_REVIEW, True, id="fixed"),
        pytest.param(IN_REVIEW, ASKED, False, id="changes requested"),
        pytest.param(IN_REVIEW, {**IN_REVIEW, "notes": "x"}, False, id="no move"),
        pytest.param(NEW, NEW, False, id="open"),
    ],
)
def test_stories_that_pass_or_are_for_review_are_run(
    before: dict[str, Any], after: dict[str, Any], is_run: bool
) -> None:
    found = story_closings(file(before), file(after, verify=["npm test"]), ["US-1"])
    assert [one.task.id for one in found] == (["US-1"] if is_run else [])
    if found:
        assert [check.command for check in found[0].checks] == ["make test", "npm test"]


def test_one_that_came_in_passed_is_run_and_one_that_names_nothing_is_not() -> None:
    assert story_closings(file(), file({**APPROVED}), ["US-1"])[0].task.title == "One"
    assert (
        story_closings(file(), file({**APPROVED, "acceptanceCriteria": ["Fast"]}), ["US-1"]) == ()
    )


def test_what_the_user_passed_is_not_run() -> None:
    assert story_closings(file(IN_REVIEW), file(APPROVED), []) == ()


def test_what_allow_shows_is_of_all_stories_and_the_file() -> None:
    text = file(NEW, {**APPROVED, "id": "US-2"}, verify=["npm test", "npm test && x"])
    assert story_commands(text) == ("make test", "npm test")
    assert story_commands("no json") == ()


def test_the_evidence_is_in_the_notes() -> None:
    text = file({**IN_REVIEW, "notes": "Earlier."})
    after = write_story_verification(text, PASSED, skip_review=False)
    assert story(after) == {**story(text), "notes": f"Earlier.\n{LINES}"}
    assert write_story_verification(after, PASSED, skip_review=False) == after
    without = write_story_verification(file(IN_REVIEW), PASSED, skip_review=False)
    assert story(without)["notes"] == LINES


@pytest.mark.parametrize("given", [IN_REVIEW, APPROVED])
def test_one_that_was_refuted_continues_as_if_changes_were_requested(given: dict[str, Any]) -> None:
    text = file(given)
    after = write_story_verification(text, FAILED, skip_review=False)
    assert story(after) == {
        **story(text),
        "passes": False,
        "reviewStatus": "changes_requested",
        "reviewFeedback": WHY,
    }
    assert read_stories(after).findings == ()


@pytest.mark.parametrize(
    ("given", "skip_review"),
    [({**NEW, "passes": True}, True), ({**NEW, "passes": True}, False), (APPROVED, True)],
)
def test_without_a_review_it_is_open_again_with_a_note(
    given: dict[str, Any], skip_review: bool
) -> None:
    after = story(write_story_verification(file(given), FAILED, skip_review=skip_review))
    assert (after["passes"], after["reviewStatus"], after["notes"]) == (False, None, WHY)


def test_one_that_was_not_run_changes_nothing() -> None:
    text = file(IN_REVIEW)
    seen = verification("US-1", checked("It", "make test", None, not_run=NOT_ALLOWED))
    assert write_story_verification(text, seen, skip_review=False) == text


def test_a_story_that_is_gone_is_refused() -> None:
    with pytest.raises(RalphError):
        write_story_verification(file(), PASSED, skip_review=False)
