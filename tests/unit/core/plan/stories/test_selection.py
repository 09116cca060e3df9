"""What the next iteration is for, and which story is its."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.stories.tasks import choose_story, mode_named, mode_word, waits_for
from ralph_ls.protocol.run.values import Mode
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, stories_of, story

Fields = dict[str, object]


@pytest.mark.parametrize(
    ("stories", "mode", "chosen"),
    [
        pytest.param([story("A"), story("B", **WAITING), story("C", **RETURNED)],
                     Mode.REVIEW_FIX, "C", id="fix-first"),
        pytest.param([story("A"), story("B", **WAITING)], Mode.REVIEW, "B", id="then-review"),
        pytest.param([story("A", **DONE), story("B")], Mode.BUILD, "B", id="then-implement"),
        pytest.param([story("A", **DONE)], Mode.BUILD, None, id="nothing-left"),
        pytest.param([story("A", **{**WAITING, "passes": True}), story("B")],
                     Mode.BUILD, "B", id="what-passes-is-done"),
        pytest.param([story("A", reviewStatus="approved")], Mode.BUILD, "A",
                     id="approved-and-not-passing"),
        pytest.param([story("A", priority=2), story("B", priority=1)], Mode.BUILD, "B", id="rank"),
        pytest.param([story("A", priority=None), story("B", priority=9)], Mode.BUILD, "B",
                     id="no-rank-is-last"),
        pytest.param([story("A", priority="low"), story("B", priority=2)], Mode.BUILD, "B",
                     id="words-are-ranks"),
        pytest.param([story("A", priority=1), story("B", priority=1)], Mode.BUILD, "A", id="order"),
        pytest.param([story("A", dependsOn=["B"]), story("B", priority=7)], Mode.BUILD, "B",
                     id="dependency"),
        pytest.param([story("A", dependsOn=["B"]), story("B", **DONE)], Mode.BUILD, "A",
                     id="dependency-done"),
        pytest.param([story("A", dependsOn=["Z"])], Mode.BUILD, "A", id="dependency-unknown"),
        pytest.param([story("A", dependsOn=["B"]), story("B", dependsOn=["A"])], Mode.BUILD, "A",
                     id="ring"),
        pytest.param([story("A", **WAITING, dependsOn=["B"]), story("B")], Mode.REVIEW, "A",
                     id="a-review-waits-for-nothing"),
    ],
)  # fmt: skip
def test_mode_and_story_of_the_next_iteration(
    stories: list[Fields], mode: Mode, chosen: str | None
) -> None:
    choice = choose_story(stories_of(*stories))
    assert (choice.mode, choice.story and choice.story.id) == (mode, chosen)


def test_without_reviews_every_iteration_implements() -> None:
    stories = stories_of(
        story("A", priority=3),
        story(
            "B",
            **RETURNED,
        ),
    )
    choice = choose_story(stories, skip_review=True)
    assert (choice.mode, choice.story and choice.story.id) == (Mode.BUILD, "B")


def test_what_is_left_out_decides_nothing() -> None:
    stories = stories_of(story("A", **WAITING), story("B"))
    choice = choose_story(stories, left_out={"A"})
    assert (choice.mode, choice.story and choice.story.id) == (Mode.BUILD, "B")


def test_what_waits_for_a_story_that_is_left_out_is_not_taken() -> None:
    stories = stories_of(story("A"), story("B", dependsOn=["A"]))
    assert choose_story(stories, left_out={"A"}).story is None


def test_a_run_for_one_story_takes_no_other() -> None:
    stories = stories_of(story("A", **WAITING), story("B"))
    choice = choose_story(stories, only="B")
    assert (choice.mode, choice.story and choice.story.id) == (Mode.BUILD, "B")


def test_what_waits_for_what() -> None:
    stories = stories_of(story("A", dependsOn=["B", "C", "Z"]), story("B"), story("C", **DONE))
    assert waits_for(stories) == {"A": ("B",)}


def test_modes_are_written_as_the_seed_writes_them() -> None:
    assert [mode_word(mode) for mode in Mode] == ["implement", "plan", "review", "review-fix"]
    assert all(mode_named(mode_word(mode)) is mode for mode in Mode)
    assert (mode_named("build"), mode_named("other")) == (Mode.BUILD, None)
