"""A reverted change of a story is applied because the user accepts it."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.stories.guard import accept_agent_story_edit
from ralph_ls.protocol.run.iteration_events import Forbidden
from tests.unit.core.plan.stories.story_builder import DONE, story, text_of

NOW = text_of(story("US-1", notes="later", dependsOn=["US-2"]), story("US-2"))


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        (Forbidden.REVIEW, DONE),
        (Forbidden.CRITERIA, {"acceptanceCriteria": ["less"]}),
        (Forbidden.PRIORITY, {"priority": 9}),
        (Forbidden.DEPENDENCY, {"dependsOn": []}),
    ],
)
def test_only_what_it_is_about_is_taken(what: Forbidden, fields: dict[str, object]) -> None:
    agents = text_of(story("US-1", **{"dependsOn": ["US-2"], **fields}), story("US-2"))
    kept = accept_agent_story_edit(NOW, agents, what, "US-1")
    wanted = {"notes": "later", "dependsOn": ["US-2"], **fields}
    assert kept.text == text_of(story("US-1", **wanted), story("US-2"))


def test_a_story_that_was_dropped_goes() -> None:
    kept = accept_agent_story_edit(NOW, "", Forbidden.DROPPED, "US-2")
    assert '"US-2"' not in kept.text.replace('"dependsOn": [\n        "US-2"\n      ]', "")
    assert (
        accept_agent_story_edit(text_of(story("US-1")), "", Forbidden.DROPPED, "US-1").text
        == text_of()
    )


@pytest.mark.parametrize(
    ("what", "agents", "story_id", "why"),
    [
        (Forbidden.REVIEW, NOW, "US-9", "no longer in the plan"),
        (Forbidden.REVIEW, text_of(story("US-1")), "US-2", "has no such story"),
        (Forbidden.CHANGED, NOW, "US-1", "the whole file"),
        (
            Forbidden.PRIORITY,
            '{"userStories": [{"id": "US-1", "title": "One"}]}',
            "US-1",
            "had removed priority",
        ),
    ],
)
def test_what_cannot_be_says_why(what: Forbidden, agents: str, story_id: str, why: str) -> None:
    assert why in accept_agent_story_edit(NOW, agents, what, story_id).refusal


def test_a_field_that_neither_has_is_left_alone() -> None:
    short = '{"userStories": [{"id": "US-1", "title": "One"}]}'
    assert accept_agent_story_edit(short, short, Forbidden.REVIEW, "US-1").text == short
