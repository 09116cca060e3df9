"""Files of stories that the tests of this folder make up."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ralph_ls.core.plan.formats.stories.story_file import StoryFile, read_stories


def story(story_id: str, **fields: object) -> dict[str, object]:
    """A story with all its fields, fresh where they are not given."""
    fresh: dict[str, object] = {
        "id": story_id,
        "title": f"Story {story_id}",
        "description": "",
        "acceptanceCriteria": [f"{story_id} holds"],
        "priority": 1,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": None,
        "notes": "",
        "dependsOn": [],
    }
    return fresh | fields


def text_of(*stories: Mapping[str, object], **head: object) -> str:
    first = {"project": "Shop", "branchName": "", "verifyCommands": ["make test"]}
    whole = {**first, **head, "userStories": stories}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def stories_of(*stories: Mapping[str, object], **head: object) -> StoryFile:
    return read_stories(text_of(*stories, **head)).stories


WAITING: dict[str, object] = {"reviewStatus": "needs_review"}
RETURNED: dict[str, object] = {
    "reviewStatus": "changes_requested",
    "reviewCount": 1,
    "reviewFeedback": "Name the key",
}
DONE: dict[str, object] = {"passes": True, "reviewStatus": "approved", "reviewCount": 1}
