"""Shapes of prd.json: other tools' names and words are read, and written again as they are."""

from __future__ import annotations

import json

import pytest

from ralph_ls.core.plan.formats.stories.edits import pass_story, reopen_story
from ralph_ls.core.plan.formats.stories.guard import guard_stories
from ralph_ls.core.plan.formats.stories.merge import merge_stories
from ralph_ls.core.plan.formats.stories.review_cycle import ReviewRules
from ralph_ls.core.plan.formats.stories.story_file import read_stories
from ralph_ls.core.plan.formats.stories.tasks import choose_story, parse_stories
from ralph_ls.protocol.run.values import Mode

WORDS = """{
  "name": "Shop",
  "stories": [
    {"id": "S1", "name": "Basket", "status": "completed", "acceptance_criteria": ["a total"]},
    {"id": "S2", "name": "Pay", "status": "open", "depends_on": ["S1"]},
    {"id": "S3", "name": "Mail", "status": "in_progress", "depends_on": ["S2"]},
    {"id": "S4", "name": "Fax", "status": "skipped"},
    {"id": "S5", "name": "Post", "status": "blocked"}
  ]
}
"""


def states(text: str) -> dict[str, str]:
    return {task.id: task.state.value for task in parse_stories(text).plan.tasks}


def only(story: dict[str, object], key: str = "userStories") -> tuple[str, str, tuple[str, ...]]:
    (task,) = parse_stories(json.dumps({key: [story]})).plan.tasks
    return task.title, task.state.value, task.criteria


@pytest.mark.parametrize(
    ("story", "read"),
    [
        pytest.param({"id": "US-1", "title": "t", "acceptanceCriteria": ["c"], "passes": True,
                      "priority": 1, "notes": "", "completionNotes": "x", "dependsOn": []},
                     ("t", "done", ("c",)), id="ours-and-more"),
        pytest.param({"id": 3, "category": "functional", "description": "A user logs in",
                      "steps": ["open", "log in"], "passes": False},
                     ("A user logs in", "todo", ("open", "log in")), id="description-and-steps"),
        pytest.param({"id": "1", "name": "n", "acceptance": ["c"], "done": True},
                     ("n", "done", ("c",)), id="done"),
        pytest.param({"id": "1", "story": "s", "status": "Not-Started", "passes": True},
                     ("s", "done", ()), id="our-name-first"),
        pytest.param({"id": "1", "title": "t", "status": "odd"}, ("t", "todo", ()), id="odd"),
        pytest.param({"id": "1", "title": "t", "status": "passing"}, ("t", "done", ()),
                     id="passing"),
        pytest.param({"id": "1", "task": "t", "status": "已完成"}, ("t", "done", ()), id="chinese"),
        pytest.param({"id": "1", "description": "d " * 100},
                     ("d " * 59 + "d…", "todo", ()), id="long"),
    ],
)  # fmt: skip
def test_reads_the_fields_of_other_tools(
    story: dict[str, object], read: tuple[str, str, tuple[str, ...]]
) -> None:
    assert only(story) == read


@pytest.mark.parametrize("key", ["userStories", "stories", "features", "tasks", "items"])
def test_reads_the_lists_of_other_tools(key: str) -> None:
    assert only({"id": "1", "title": "t"}, key) == ("t", "todo", ())


@pytest.mark.parametrize(
    "text",
    [
        '{"features": ["Fast", "Small"]}',
        '{"tasks": []}',
        '{"items": {"a": 1}}',
        '{"userStories": {}}',
    ],
)
def test_a_list_of_anything_else_is_none_of_stories(text: str) -> None:
    parsed = parse_stories(text)
    assert parsed.plan.tasks == ()
    assert "stories-shape" in [problem.code for problem in parsed.problems]


def test_an_id_may_have_another_name() -> None:
    known = read_stories(json.dumps({"project": {"a": 1}, "tasks": [{"taskId": 7, "name": "t"}]}))
    assert [story.id for story in known.stories.stories] == ["7"]
    assert [finding.code for finding in known.findings] == ["story-field-type"]


def test_reads_states_in_words() -> None:
    assert states(WORDS) == {
        "S1": "done", "S2": "todo", "S3": "inProgress", "S4": "skipped", "S5": "blocked"
    }  # fmt: skip
    assert read_stories(WORDS).stories.project == "Shop"
    choice = choose_story(read_stories(WORDS).stories)
    assert choice.mode is Mode.BUILD
    assert choice.story is not None
    assert choice.story.id == "S2"
    last = choose_story(read_stories(pass_story(pass_story(WORDS, "S2"), "S3")).stories)
    assert last.story is None


def test_a_story_is_ticked_in_the_words_of_its_file() -> None:
    after = pass_story(WORDS, "S2")
    assert after == WORDS.replace('"Pay", "status": "open"', '"Pay", "status": "completed"')
    assert reopen_story(after, "S2") == WORDS
    alone = '[{"id": "1", "title": "t", "status": "pending"}]'
    assert pass_story(alone, "1") == alone.replace("pending", "done")
    assert reopen_story(pass_story(alone, "1"), "1") == alone.replace("pending", "open")
    flag = '[{"id": "1", "title": "t", "done": false}]'
    assert pass_story(flag, "1") == flag.replace("false", "true")


def test_the_guard_restores_the_field_that_the_file_has() -> None:
    rules = ReviewRules(mode=Mode.BUILD, skip_review=True)
    agents = WORDS.replace('["a total"]', "[]").replace('"depends_on": ["S1"]', '"depends_on": []')
    assert guard_stories(WORDS, agents, rules).text == WORDS
    done = WORDS.replace('"Pay", "status": "open"', '"Pay", "status": "done"')
    assert guard_stories(WORDS, done, rules).text == done
    new = '{"id": "S6", "name": "New", "status": "done"}'
    added = WORDS.replace('"status": "blocked"}', f'"status": "blocked"}},\n    {new}')
    assert states(guard_stories(WORDS, added, rules).text)["S6"] == "todo"


def test_two_writers_are_merged_under_the_names_of_the_file() -> None:
    mine = WORDS.replace('"Pay"', '"Pay by card"')
    theirs = pass_story(WORDS, "S2")
    merged = merge_stories(WORDS, mine, theirs)
    assert merged.text == pass_story(mine, "S2")
    assert merged.conflicts == ()


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (
            {"a b": [{"id": "1"}], "texts": ["x"]},
            (
                "; there is a list a b with 1 object; if they are the work, call it userStories, "
                "or give each a title and a status"
            ),
        ),
        ({"a": {"b": [{"c": 1}]}}, "; add it, with an id and a title for each story"),
    ],
)  # fmt: skip
def test_a_file_without_the_list_is_told_which_it_has(file: dict[str, object], says: str) -> None:
    (problem,) = (one for one in parse_stories(json.dumps(file)).problems if one.code != "no-tasks")
    assert (problem.code, problem.message) == (
        "stories-shape",
        f"the list userStories is missing{says}",
    )
