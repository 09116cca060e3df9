"""Committed stories that hold what no agent may do, and those that merely lag behind."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.stories.guard import committed_offences
from ralph_ls.core.plan.formats.stories.story_file import read_stories
from tests.unit.core.plan.stories.story_builder import DONE, WAITING, story, text_of

FRESH = text_of(story("a"), story("b"))


def judged(committed: str, *, start: str = FRESH, tree: str = FRESH) -> list[str]:
    return list(
        committed_offences(
            read_stories(start), read_stories(committed), read_stories(tree)
        ).values()
    )


@pytest.mark.parametrize(
    ("committed", "start", "tree"),
    [
        pytest.param(FRESH, FRESH, FRESH, id="nothing happened"),
        pytest.param(FRESH, FRESH, text_of(story("a", **DONE), story("b")), id="behind"),
        pytest.param(
            text_of(story("a", **WAITING), story("b")),
            FRESH,
            text_of(story("a", **DONE), story("b", **DONE)),
            id="between",
        ),
        pytest.param(
            text_of(story("a", **DONE), story("b")),
            text_of(story("a", **DONE), story("b")),
            FRESH,
            id="as it was at the start",
        ),
        pytest.param(text_of(story("a")), FRESH, text_of(story("a")), id="accepted"),
        pytest.param(text_of(story("a"), story("b"), story("c")), FRESH, FRESH, id="one more"),
        pytest.param("{", "{", FRESH, id="broken at the start"),
        pytest.param("{", FRESH, "{", id="broken in the work tree"),
    ],
)
def test_what_lags_behind_or_was_accepted_holds_nothing(
    committed: str, start: str, tree: str
) -> None:
    assert judged(committed, start=start, tree=tree) == []


@pytest.mark.parametrize(
    ("committed", "words"),
    [
        pytest.param("{", ["it cannot be read as a story file"], id="unusable"),
        pytest.param(text_of(story("a")), ["b (story-deleted)"], id="a deleted story"),
        pytest.param(
            text_of(story("a"), story("b"), verifyCommands=["true"]),
            ["the file (verify-commands-changed)"],
            id="other commands",
        ),
        pytest.param(
            text_of(story("a", acceptanceCriteria=["x"]), story("b")),
            ["a (story-criteria-changed)"],
            id="other criteria",
        ),
        pytest.param(text_of(story("a", passes=True), story("b")), ["a passes"], id="passes"),
        pytest.param(
            text_of(story("a", reviewStatus="approved"), story("b")),
            ["a is approved"],
            id="approved",
        ),
        pytest.param(
            text_of(story("a", reviewCount=2), story("b")),
            ["a was reviewed 2 times, not 0"],
            id="reviewed more often",
        ),
        pytest.param(
            text_of(story("a"), story("b", reviewStatus="x")),
            ["reviewStatus is not one of null, needs_review, changes_requested, approved"],
            id="a fault",
        ),
    ],
)
def test_what_is_ahead_of_the_work_tree_is_named(committed: str, words: list[str]) -> None:
    assert judged(committed) == words


def test_a_new_story_that_passes_is_ahead() -> None:
    tree = text_of(story("a"), story("b"), story("c"))
    committed = text_of(story("a"), story("b"), story("c", **DONE))
    assert judged(committed, tree=tree)
