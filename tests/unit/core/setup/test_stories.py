"""Plan items as stories: a new file, and one that somebody has."""

from __future__ import annotations

import json

import pytest

from ralph_ls.core.plan.formats.stories.tasks import parse_stories
from ralph_ls.core.setup.plans import add_stories, new_stories
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.task_words import Priority

QUICK = DraftItem(title="Be quick", priority=Priority.P2)
MAIL = DraftItem(
    title="Send  a mail", priority=Priority.P0, detail="- [ ] a test passes\n\n2. no word is lost"
)
FRESH = {"passes": False, "reviewStatus": None, "reviewCount": 0, "reviewFeedback": None}


def test_a_new_file_has_a_fresh_story_for_each_item_the_most_urgent_first() -> None:
    text = new_stories("shop", "Reset passwords", [QUICK, MAIL])
    whole = json.loads(text)
    assert (whole["project"], whole["description"]) == ("shop", "Reset passwords")
    assert whole["verifyCommands"] == []
    first, second = whole["userStories"]
    assert first == {
        "id": "US-001",
        "title": "Send a mail",
        "description": "",
        "acceptanceCriteria": ["a test passes", "no word is lost"],
        "priority": 1,
        **FRESH,
        "notes": "",
    }
    assert (second["id"], second["priority"], second["acceptanceCriteria"]) == ("US-002", 2, [])
    assert parse_stories(text).problems == ()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param('{"userStories": []}', ["US-001"], id="empty"),
        pytest.param("[]\n", ["US-001"], id="a-bare-empty-list"),
        pytest.param(
            '{\r\n\t"userStories": [\r\n\t\t{"id": "US-007", "title": "a", "priority": 4}\r\n\t]}',
            ["US-007", "US-008"],
            id="numbered",
        ),
        pytest.param(
            '[{"id":"x","title":"a"},{"id":"y","title":"b"}]', ["x", "y", "US-003"], id="in-a-line"
        ),
    ],
)
def test_an_item_is_put_behind_the_last_story(text: str, ids: list[str]) -> None:
    written = add_stories(text, [QUICK])
    parsed = parse_stories(written.text)
    assert [task.id for task in parsed.plan.tasks] == ids
    assert {one.code for one in parsed.problems} <= {"stories-branch-missing"}
    assert written.notes == ()
    before = json.loads(text)
    after = json.loads(written.text)
    stories = after if isinstance(after, list) else after["userStories"]
    known = before if isinstance(before, list) else before["userStories"]
    assert stories[:-1] == known
    ranks = [one.get("priority", 0) for one in known]
    assert stories[-1]["priority"] == max(ranks, default=0) + 1


def test_every_byte_of_a_users_file_stays() -> None:
    text = '{\n    "x": 1,\n    "userStories": [\n        {"id": "A", "title": "a"}\n    ]\n}'
    written = add_stories(text, [QUICK]).text
    head, _, rest = written.partition(',\n        {\n          "id": "US-002"')
    assert text.startswith(head)
    assert rest.endswith("\n    ]\n}")


def test_one_that_is_there_already_is_reported() -> None:
    text = new_stories("shop", "", [MAIL])
    written = add_stories(text, [MAIL, QUICK, QUICK])
    assert [task.title for task in parse_stories(written.text).plan.tasks] == [
        "Send a mail",
        "Be quick",
    ]
    assert written.notes == (
        "the plan already has the item 'Send a mail', so it was not added again",
        "the plan already has the item 'Be quick', so it was not added again",
    )


@pytest.mark.parametrize("text", ["", "{", '{"userStories": 1}', "\n7"])
def test_a_file_that_is_none_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(RalphError, match=r"cannot be extended: line \d: .*; fix that first"):
        add_stories(text, [QUICK])
