"""The review cycle: what an iteration of each kind may do to stories, and what it may not."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.plan.formats.stories.review_cycle import (
    AT_CAP,
    IllegalMove,
    MoveCode,
    ReviewRules,
    check_moves,
    count_findings,
    given_reviews,
    moved_reviews,
)
from ralph_ls.core.plan.formats.stories.story_file import REVIEW_FIELDS
from ralph_ls.protocol.run.values import Mode
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, stories_of, story

Fields = dict[str, Any]
FRESH: Fields = {}
SENT_BACK: Fields = {
    "reviewStatus": "changes_requested", "reviewCount": 1, "reviewFeedback": "Name it",
}  # fmt: skip
FIFTH: Fields = {**WAITING, "reviewCount": 4}
AUTO: Fields = {
    "passes": True, "reviewStatus": "approved", "reviewCount": 5,
    "reviewFeedback": f"{AT_CAP} still slow",
}  # fmt: skip
FIXED: Fields = {**WAITING, "reviewCount": 1, "reviewFeedback": ""}


def judged(before: Fields, after: Fields, mode: Mode, **rules: Any) -> list[MoveCode]:
    """The illegal moves of one story that became another."""
    was, now = stories_of(story("A", **before)), stories_of(story("A", **after))
    return [move.code for move in check_moves(was, now, ReviewRules(mode=mode, **rules))]


def checked(
    before: list[Fields], after: list[Fields], mode: Mode = Mode.BUILD, **rules: Any
) -> tuple[IllegalMove, ...]:
    return check_moves(stories_of(*before), stories_of(*after), ReviewRules(mode=mode, **rules))


@pytest.mark.parametrize(
    ("mode", "before", "after"),
    [
        pytest.param(Mode.BUILD, FRESH, FRESH, id="implement-nothing"),
        pytest.param(Mode.BUILD, FRESH, WAITING, id="implement"),
        pytest.param(Mode.BUILD, {"reviewStatus": "approved"}, WAITING, id="implement-anew"),
        pytest.param(Mode.REVIEW, WAITING, DONE, id="approve"),
        pytest.param(Mode.REVIEW, WAITING, {**DONE, "reviewFeedback": "fine"}, id="approve-gladly"),
        pytest.param(Mode.REVIEW, WAITING, SENT_BACK, id="request-changes"),
        pytest.param(Mode.REVIEW, FIFTH, AUTO, id="approve-at-the-cap"),
        pytest.param(Mode.REVIEW_FIX, RETURNED, FIXED, id="fix"),
        pytest.param(Mode.REVIEW_FIX, RETURNED, {**FIXED, "reviewFeedback": None}, id="fix-null"),
        pytest.param(Mode.PLAN, WAITING, WAITING, id="plan"),
        pytest.param(Mode.REVIEW, DONE, DONE, id="nothing-to-review"),
        pytest.param(Mode.REVIEW_FIX, DONE, DONE, id="nothing-to-fix"),
    ],
)
def test_a_legal_move(mode: Mode, before: Fields, after: Fields) -> None:
    assert judged(before, after, mode) == []


@pytest.mark.parametrize(
    ("mode", "before", "after", "code"),
    [
        pytest.param(Mode.BUILD, FRESH, DONE, MoveCode.IMPLEMENT, id="implement-and-approve"),
        pytest.param(Mode.BUILD, FRESH, {**WAITING, "passes": True}, MoveCode.IMPLEMENT,
                     id="implement-and-pass"),
        pytest.param(Mode.BUILD, FRESH, {**WAITING, "reviewCount": 1}, MoveCode.IMPLEMENT,
                     id="implement-and-count"),
        pytest.param(Mode.BUILD, FRESH, {"passes": True}, MoveCode.IMPLEMENT, id="just-pass"),
        pytest.param(Mode.BUILD, WAITING, DONE, MoveCode.IMPLEMENT, id="review-own-work"),
        pytest.param(Mode.BUILD, DONE, FRESH, MoveCode.FINISHED, id="open-a-finished-one"),
        pytest.param(Mode.REVIEW, DONE, SENT_BACK, MoveCode.FINISHED, id="review-a-finished-one"),
        pytest.param(Mode.REVIEW, WAITING, WAITING, MoveCode.NONE_REVIEWED, id="review-nothing"),
        pytest.param(Mode.REVIEW, FRESH, WAITING, MoveCode.REVIEW, id="implement-in-review"),
        pytest.param(Mode.REVIEW, WAITING, {**DONE, "reviewCount": 0}, MoveCode.REVIEW,
                     id="review-uncounted"),
        pytest.param(Mode.REVIEW, WAITING, {**DONE, "reviewCount": 2}, MoveCode.REVIEW,
                     id="review-counted-twice"),
        pytest.param(Mode.REVIEW, WAITING, {**DONE, "passes": False}, MoveCode.REVIEW,
                     id="approved-without-passes"),
        pytest.param(Mode.REVIEW, WAITING, {**SENT_BACK, "passes": True}, MoveCode.REVIEW,
                     id="changes-with-passes"),
        pytest.param(Mode.REVIEW, WAITING, {"reviewCount": 1}, MoveCode.REVIEW, id="back-to-null"),
        pytest.param(Mode.REVIEW, WAITING, {**SENT_BACK, "reviewFeedback": " "}, MoveCode.FEEDBACK,
                     id="no-feedback"),
        pytest.param(Mode.REVIEW, FIFTH, {**SENT_BACK, "reviewCount": 5}, MoveCode.AT_CAP,
                     id="changes-at-the-cap"),
        pytest.param(Mode.REVIEW, FIFTH, {**AUTO, "reviewFeedback": "ok"}, MoveCode.AT_CAP,
                     id="no-mark-at-the-cap"),
        pytest.param(Mode.REVIEW, FIFTH, {**AUTO, "passes": False}, MoveCode.AT_CAP,
                     id="no-pass-at-the-cap"),
        pytest.param(Mode.REVIEW, WAITING, {**AUTO, "reviewCount": 1}, MoveCode.AT_CAP,
                     id="mark-before-the-cap"),
        pytest.param(Mode.REVIEW_FIX, RETURNED, RETURNED, MoveCode.NONE_FIXED, id="fix-nothing"),
        pytest.param(Mode.REVIEW_FIX, RETURNED, {**RETURNED, **WAITING}, MoveCode.REVIEW_FIX,
                     id="feedback-left"),
        pytest.param(Mode.REVIEW_FIX, RETURNED, {**FIXED, "reviewCount": 0}, MoveCode.REVIEW_FIX,
                     id="count-lost"),
        pytest.param(Mode.REVIEW_FIX, RETURNED, {**DONE, "reviewCount": 2}, MoveCode.REVIEW_FIX,
                     id="fix-and-approve"),
        pytest.param(Mode.REVIEW_FIX, FRESH, WAITING, MoveCode.REVIEW_FIX, id="implement-in-fix"),
        pytest.param(Mode.PLAN, FRESH, WAITING, MoveCode.PLAN, id="implement-in-plan"),
    ],
)  # fmt: skip
def test_an_illegal_move(mode: Mode, before: Fields, after: Fields, code: MoveCode) -> None:
    assert judged(before, after, mode) == [code]


@pytest.mark.parametrize(
    ("before", "after", "codes"),
    [
        pytest.param(FRESH, {"passes": True}, [], id="pass"),
        pytest.param(FRESH, {"passes": True, "reviewStatus": "approved"}, [], id="approve"),
        pytest.param(RETURNED, {**RETURNED, "passes": True}, [], id="what-was-in-review"),
        pytest.param(WAITING, {"passes": True}, [], id="out-of-review"),
        pytest.param(FRESH, WAITING, [MoveCode.IMPLEMENT], id="ask-for-review"),
        pytest.param(FRESH, {"passes": True, **WAITING}, [MoveCode.IMPLEMENT], id="both"),
        pytest.param(FRESH, {"passes": True, "reviewCount": 1}, [MoveCode.IMPLEMENT], id="count"),
    ],
)
def test_moves_without_reviews(before: Fields, after: Fields, codes: list[MoveCode]) -> None:
    assert judged(before, after, Mode.BUILD, skip_review=True) == codes


def test_the_cap_is_a_setting() -> None:
    after = {**AUTO, "reviewCount": 1}
    assert judged(WAITING, after, Mode.REVIEW, review_cap=1) == []
    assert judged(WAITING, DONE, Mode.REVIEW, review_cap=1) == [MoveCode.AT_CAP]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("before", "after"), [(FRESH, WAITING), (WAITING, DONE), (RETURNED, FIXED)]
)
def test_who_ends_with_blocked_or_decide_moves_nothing(
    mode: Mode, before: Fields, after: Fields
) -> None:
    assert judged(before, after, mode, halts=True) == [MoveCode.HALTED]
    assert judged(before, before, mode, halts=True) == []


PASSED: Fields = {"passes": True}


class TestWithoutReviews:
    """A halt leaves what only a review may change; nobody reviews here."""

    def test_a_halt_leaves_a_story_that_passes(self) -> None:
        assert judged(FRESH, PASSED, Mode.BUILD, halts=True, skip_review=True) == []

    def test_a_halt_restores_the_status_alone(self) -> None:
        before, after = [story("A")], [story("A", passes=True, reviewStatus="approved")]
        (move,) = checked(before, after, halts=True, skip_review=True)
        assert (move.code, move.fields) == (MoveCode.HALTED, ("reviewStatus",))

    @pytest.mark.parametrize(
        ("mode", "after"),
        [
            pytest.param(Mode.BUILD, {"passes": True, "reviewCount": 3}, id="a count"),
            pytest.param(Mode.PLAN, PASSED, id="planning"),
        ],
    )
    def test_a_halt_restores_what_is_not_legal(self, mode: Mode, after: Fields) -> None:
        (move,) = checked([story("A")], [story("A", **after)], mode, halts=True, skip_review=True)
        assert move.fields == REVIEW_FIELDS

    def test_a_halt_keeps_a_finished_story_as_it_was(self) -> None:
        assert judged(DONE, FRESH, Mode.BUILD, halts=True, skip_review=True) == [MoveCode.HALTED]


class TestCompleteIsLookedAtFirst:
    def test_where_all_pass_by_legal_moves_nothing_else_is_judged(self) -> None:
        rules = {"halts": True, "completes": True}
        assert judged(WAITING, DONE, Mode.REVIEW, **rules) == []
        assert judged(FRESH, PASSED, Mode.BUILD, skip_review=True, **rules) == []

    @pytest.mark.parametrize(
        "after",
        [
            pytest.param([story("A", **DONE), story("B")], id="one is open"),
            pytest.param([story("A", **DONE), story("B", **PASSED)], id="one passes illegally"),
        ],
    )
    def test_where_it_does_not_hold_the_halt_counts(self, after: list[Fields]) -> None:
        before = [story("A", **WAITING), story("B")]
        found = checked(before, after, Mode.REVIEW, halts=True, completes=True)
        assert {move.code for move in found} == {MoveCode.HALTED}

    def test_without_a_story_the_halt_counts(self) -> None:
        assert checked([], [], halts=True, completes=True) == ()


def test_one_story_moves_in_an_iteration() -> None:
    (move,) = checked([story("A"), story("B")], [story("A", **WAITING), story("B", **WAITING)])
    assert (move.code, move.story) == (MoveCode.SEVERAL, "B")
    assert move.message == (
        "B changed as well as A; one story per iteration, so leave this one as it was"
    )


def test_of_several_the_assigned_one_may_stay() -> None:
    both = [story("A", **WAITING), story("B", **WAITING)]
    (move,) = checked([story("A"), story("B")], both, assigned="B")
    assert move.story == "A"


def test_what_is_restored_is_named() -> None:
    (move,) = checked([story("A")], [story("A", **DONE)])
    assert move.fields == ("passes", "reviewStatus", "reviewCount", "reviewFeedback")
    assert move.message.endswith(
        "; passes changed from false to true, reviewStatus changed from null to approved, "
        "reviewCount changed from 0 to 1"
    )
    (move,) = checked([story("A", **RETURNED)], [story("A", **RETURNED | {"reviewFeedback": "x"})])
    assert move.message.endswith("reviewFeedback changed from other text to other text")


@pytest.mark.parametrize(
    ("after", "code", "story_id"),
    [
        pytest.param([story("B")], MoveCode.DELETED, "A", id="deleted"),
        pytest.param([story("A", acceptanceCriteria=[]), story("B")], MoveCode.CRITERIA, "A",
                     id="criteria"),
        pytest.param([story("A", priority=2), story("B")], MoveCode.PRIORITY, "A", id="priority"),
        pytest.param([story("A", dependsOn=["C"]), story("B")], MoveCode.DEPENDENCY, "A",
                     id="dependency"),
    ],
)  # fmt: skip
def test_what_only_a_plan_iteration_may_do(
    after: list[Fields], code: MoveCode, story_id: str
) -> None:
    before = [story("A", dependsOn=["B"]), story("B")]
    wanted = after if code is MoveCode.DEPENDENCY else [
        {**one, "dependsOn": ["B"]} if one["id"] == "A" else one for one in after
    ]  # fmt: skip
    (move,) = checked(before, wanted)
    assert (move.code, move.story) == (code, story_id)
    assert checked(before, wanted, Mode.PLAN) == ()


def test_a_build_iteration_may_add_stories_dependencies_notes_and_descriptions() -> None:
    before = [story("A")]
    after = [story("B"), story("A", dependsOn=["B"], notes="n", description="d", title="New")]
    assert checked(before, after) == ()


@pytest.mark.parametrize("mode", [Mode.BUILD, Mode.PLAN])
@pytest.mark.parametrize("fields", [DONE, WAITING, {"reviewCount": 1}, {"reviewFeedback": "x"}])
def test_a_new_story_comes_in_fresh(mode: Mode, fields: Fields) -> None:
    (move,) = checked([story("A")], [story("A"), story("B", **fields)], mode)
    assert (move.code, move.story) == (MoveCode.NOT_FRESH, "B")


@pytest.mark.parametrize("mode", list(Mode))
def test_the_commands_that_verify_belong_to_the_user(mode: Mode) -> None:
    was, now = stories_of(story("A")), stories_of(story("A"), verifyCommands=["true"])
    (move,) = check_moves(was, now, ReviewRules(mode=mode))
    assert (move.code, move.fields) == (MoveCode.VERIFY, ("verifyCommands",))


def test_changes_of_the_user_are_no_illegal_moves() -> None:
    before = [story("A"), story("B", acceptanceCriteria=["x"]), story("C")]
    after = [story("A", **DONE), story("B", acceptanceCriteria=["y"])]
    assert len(checked(before, after)) == 3
    theirs = frozenset({("A", "passes"), ("B", "acceptanceCriteria"), ("C", "")})
    assert checked(before, after, user_changes=theirs) == ()


def test_a_move_of_the_user_is_not_the_one_of_the_iteration() -> None:
    before = [story("A"), story("B")]
    after = [story("A", **WAITING), story("B", **WAITING)]
    assert checked(before, after, user_changes=frozenset({("A", "reviewStatus")})) == ()


def test_an_illegal_review_is_reported_once_and_not_also_as_none() -> None:
    codes = [move.code for move in checked([story("A", **WAITING)], [story("A")], Mode.REVIEW)]
    assert codes == [MoveCode.REVIEW]


def test_only_what_is_left_undone_is_an_omission() -> None:
    (undone,) = checked([story("A", **WAITING)], [story("A", **WAITING)], Mode.REVIEW)
    (done,) = checked([story("A")], [], Mode.BUILD)
    assert (undone.is_omission, done.is_omission) == (True, False)


def test_stories_whose_review_changed_are_named() -> None:
    was = stories_of(story("A"), story("B"), story("C", **WAITING))
    now = stories_of(story("A"), story("B", notes="n"), story("C", **DONE), story("D"))
    assert moved_reviews(was, now) == ("C",)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(WAITING, SENT_BACK, (False, False, 1), id="changes"),
        pytest.param(
            WAITING, {**DONE, "reviewFeedback": "- fine"}, (True, False, 0), id="approves"
        ),
        pytest.param(FIFTH, AUTO, (True, True, 1), id="at-the-cap"),
    ],
)
def test_a_review_that_was_given_has_a_result_and_a_number_of_findings(
    before: Fields, after: Fields, expected: tuple[bool, bool, int]
) -> None:
    was = stories_of(story("A", **before), story("B"))
    now = stories_of(story("A", **after), story("B"), story("C", reviewCount=2))
    (found,) = given_reviews(was, now)
    assert (found.task, found.approved, found.at_cap, found.findings) == ("A", *expected)


@pytest.mark.parametrize(
    ("feedback", "findings"),
    [
        ("", 0),
        (AT_CAP, 0),
        ("The total is rounded down", 1),
        ("See:\n- rounds down\n  * no test\n-- no item", 2),
        ("1. Rounds down. 2. No test for 3.5 euros. (3) Slow", 3),
        ("Since version 2. it rounds down", 1),
    ],
)
def test_findings_are_the_points_of_the_feedback(feedback: str, findings: int) -> None:
    assert count_findings(feedback) == findings
