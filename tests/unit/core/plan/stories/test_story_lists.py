"""Lists of stories at any level: which are read, and that each edit stays within its story."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.json_text import value_of
from ralph_ls.core.plan.formats.stories.edits import (
    append_story_note,
    move_story,
    pass_story,
    reopen_story,
)
from ralph_ls.core.plan.formats.stories.guard import guard_stories
from ralph_ls.core.plan.formats.stories.merge import merge_stories
from ralph_ls.core.plan.formats.stories.review_cycle import ReviewRules
from ralph_ls.core.plan.formats.stories.story_file import read_stories
from ralph_ls.core.plan.formats.stories.tasks import choose_story, parse_stories
from ralph_ls.core.setup.plans import add_stories
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.run.values import Mode

ALONE = ReviewRules(mode=Mode.BUILD, skip_review=True)

PHASES = """{
  "project": {"name": "Shop"},
  "phases": [
    {
      "name": "Base",
      "status": "in_progress",
      "tasks": [
        {"id": "1.1", "title": "Basket", "status": "done"},
        {"id": "1.2", "title": "Pay", "status": "pending", "priority": 7}
      ]
    },
    {
      "name": "Mail",
      "status": "pending",
      "tasks": [
        {"id": "2.1", "title": "Letters", "status": "pending", "priority": 1}
      ]
    }
  ]
}
"""


def task(story_id: str, status: object = "pending", **fields: object) -> dict[str, object]:
    return {"id": story_id, "title": f"Story {story_id}", "status": status, **fields}


def read(file: object) -> list[str]:
    """Each task as its id, its state and its section."""
    tasks = parse_stories(json.dumps(file)).plan.tasks
    return [f"{one.id} {one.state.value} {one.section}".strip() for one in tasks]


def codes(file: object) -> list[str]:
    known = {"stories-branch-missing", "story-passes-unreviewed"}
    problems = parse_stories(json.dumps(file)).problems
    return [problem.code for problem in problems if problem.code not in known]


@pytest.mark.parametrize(
    ("file", "tasks"),
    [
        pytest.param({"phases": [{"name": "A", "tasks": [task("1", "done")]},
                                 {"tasks": [task("2")]}]},
                     ["1 done A", "2 todo phases 2"], id="phases"),
        pytest.param({"epics": [{"title": "Log in", "status": "in_progress",
                                 "stories": [{"id": "S", "name": "s", "passes": True}]}]},
                     ["S done Log in"], id="epics-with-a-state"),
        pytest.param({"milestones": [{"id": "M1", "epics": ["E1"], "name": "m", "status": "done"}],
                      "epics": [{"name": "e", "tasks": [task("1")]}]},
                     ["1 todo e"], id="milestones-of-epics"),
        pytest.param({"plan": {"phases": {"one": {"tasks": [task("1")]},
                                          "two": {"tasks": [task("2")]}}}},
                     ["1 todo one", "2 todo two"], id="phases-by-id"),
        pytest.param({"tasks": {"T1": {"title": "t", "status": "done"}, "T2": {"title": "u"}}},
                     ["T1 done", "T2 todo"], id="tasks-by-id"),
        pytest.param({"userStories": {"US-1": {"title": "t", "passes": True}}},
                     ["US-1 done"], id="our-list-by-id"),
        pytest.param({"prd": {"title": "P", "userStories": [task("1")]}},
                     ["1 todo P"], id="wrapped"),
        pytest.param({"epics": [{"features": [{"name": "f", "stories": [task("1", "passing")]}]}]},
                     ["1 done f"], id="two-levels"),
        pytest.param({"features": [{"name": "f", "tasks": [task("1"), task("2", "done")]}]},
                     ["1 todo f", "2 done f"], id="features-without-states"),
        pytest.param({"features": [task("F", tasks=[task("1", "done")])]},
                     ["F todo"], id="features-with-states"),
        pytest.param({"phases": [{"name": "p", "subtasks": [task("1")]}]},
                     ["1 todo p"], id="subtasks-of-phases"),
        pytest.param({"tasks": [task("1", subtasks=[task("1")])]}, ["1 todo"], id="subtasks"),
        pytest.param({"phases": [{"name": "p", "tasks": [{"id": "1", "title": "t"}]}]},
                     ["1 todo p"], id="no-states-at-all"),
        pytest.param({"phases": [{"id": "p", "name": "p", "status": "Done", "tasks": ["a"]},
                                 {"id": "q", "name": "q", "status": "Pending", "tasks": ["b"]}]},
                     ["p done", "q todo"], id="phases-are-the-stories"),
        pytest.param({"backlog": {"items": [task("1")]}, "now": {"tasks": [task("2")]}},
                     ["1 todo backlog", "2 todo now"], id="several"),
        pytest.param({"phases": [{"name": "p", "status": "deferred", "tasks": [task("1")]},
                                 {"name": "q", "tasks": [task("2", "blocked")]}]},
                     ["1 skipped p", "2 blocked q"], id="deferred-phase"),
        pytest.param({"stories": [], "tasks": [task("1")]}, ["1 todo"], id="first-that-has-any"),
        pytest.param({"a": {"b": {"c": {"d": {"e": {"f": {"g": {"tasks": [task("1")]}}}}}}}},
                     ["1 todo a"], id="as-deep-as-it-may-be"),
        pytest.param({"h": {"a": {"b": {"c": {"d": {"e": {"f": {"g": {"tasks": [task("1")]}}}}}}}}},
                     [], id="too-deep"),
    ],
)  # fmt: skip
def test_reads_lists_at_any_level(file: object, tasks: list[str]) -> None:
    assert read(file) == tasks


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ({"requirements": [task("1")]}, ["stories-list-guessed"]),
        (
            {"active": [task("1", parts=[task("x")])], "backlog": [{"id": "2", "title": "t"}]},
            ["stories-not-read", "stories-list-guessed"],
        ),
        ({"bugs": [task("1")], "chores": [task("2")]}, ["stories-shape"]),
        ({"userStories": [task("1")], "bugs": [task("2")]}, ["stories-not-read"]),
        ({"userStories": [task("1")], "people": [{"name": "Ada"}]}, []),
        ({"userStories": [task("1", agents=[task("a")])]}, []),
        ({"phases": [{"tasks": [task("1"), "write it"]}]}, ["story-field-type"]),
        ({"tasks": [task("1", "odd")]}, ["story-status-unknown"]),
        ({"tasks": [task("1", "a sentence that says how it went until now")]}, []),
        ({"tasks": [{"title": "a"}, {"title": "b"}]}, ["story-field-missing"]),
        ({"tasks": {"1": task("A"), "2": task("A")}}, ["story-id-duplicate"]),
        ({"tasks": {"A": {"title": "t"}, "b": {"id": "A"}}},
         ["story-field-missing", "story-id-duplicate"]),
        ({"tasks": {"A": {"title": "t"}, "b": {"id": 1, "title": "u", "taskId": "A"}}}, []),
    ],
)  # fmt: skip
def test_says_what_it_guessed_or_left_out(file: object, found: list[str]) -> None:
    assert sorted(codes(file)) == sorted(found)


def test_a_missing_list_is_named_with_the_largest_that_there_is() -> None:
    file = {"people": [{"a": 1}], "chores": [task("1"), task("2")], "bugs": [task("3")]}
    (problem,) = parse_stories(json.dumps(file)).problems
    assert problem.message == (
        "the list userStories is missing; there is a list chores with 2 objects; if they are the "
        "work, call it userStories, or give each a title and a status"
    )


def test_phases_are_done_one_after_another() -> None:
    text, taken = PHASES, []
    while (story := choose_story(read_stories(text).stories).story) is not None:
        taken.append(story.id)
        text = pass_story(text, story.id)
    assert taken == ["1.2", "2.1"]
    assert read_stories(text).stories.project == "Shop"


@pytest.mark.parametrize(
    ("depends", "needs"),
    [("FEAT-1", ("FEAT-1",)), ("A1, B2", ("A1", "B2")), ("waiting for the law", ()), ([1], ("1",))],
)
def test_reads_what_a_story_waits_for(depends: object, needs: tuple[str, ...]) -> None:
    text = json.dumps([task("1", blocked_by=depends)])
    (story,) = read_stories(text).stories.stories
    assert story.depends_on == needs


def test_a_flag_and_a_status_are_ticked_together() -> None:
    text = json.dumps([task("1", "in_progress", passes=False), task("2", "closed", passes=True)])
    states = [one.state.value for one in parse_stories(text).plan.tasks]
    assert states == ["inProgress", "done"]
    ticked = text.replace("false", "true").replace("in_progress", "closed")
    assert pass_story(text, "1") == ticked
    assert reopen_story(ticked, "1") == text.replace("in_progress", "open")
    odd = json.dumps([task("1", "odd", passes=False)])
    assert pass_story(odd, "1") == odd.replace("false", "true")


def test_a_deleted_story_is_restored_in_its_phase() -> None:
    (story,) = [one for one in read_stories(PHASES).stories.stories if one.id == "2.1"]
    without = PHASES[: story.node.start].rstrip() + PHASES[story.node.end :].lstrip()
    assert read(json.loads(without)) == ["1.1 done Base", "1.2 todo Base"]
    assert guard_stories(PHASES, without, ALONE).text == PHASES
    # Without its phase, the whole file is restored.
    whole = json.loads(PHASES)
    del whole["phases"][1]
    assert guard_stories(PHASES, json.dumps(whole), ALONE).text == PHASES
    by_id = json.dumps({"tasks": {name: {"title": name} for name in "abc"}})
    for name in "abc":
        rest = json.loads(by_id)
        del rest["tasks"][name]
        assert json.loads(guard_stories(by_id, json.dumps(rest), ALONE).text) == json.loads(by_id)
    as_list = json.dumps({"tasks": [{"id": "a", "title": "a"}]})
    assert guard_stories(by_id, as_list, ALONE).text == by_id


def test_a_story_moves_within_its_phase_and_to_another_one() -> None:
    assert read(json.loads(move_story(PHASES, story_id="2.1", before="1.2"))) == [
        "1.1 done Base", "2.1 todo Base", "1.2 todo Base"
    ]  # fmt: skip
    assert read(json.loads(move_story(PHASES, story_id="1.1", before="2.1"))) == [
        "1.2 todo Base", "1.1 done Mail", "2.1 todo Mail"
    ]  # fmt: skip
    assert read(json.loads(move_story(PHASES, story_id="1.1", before=None))) == [
        "1.2 todo Base", "2.1 todo Mail", "1.1 done Mail"
    ]  # fmt: skip
    assert read(json.loads(move_story(PHASES, story_id="2.1", before="1.1"))) == [
        "2.1 todo Base", "1.1 done Base", "1.2 todo Base"
    ]  # fmt: skip
    by_id = json.dumps({"tasks": {name: {"title": name} for name in "abc"}})
    moved = move_story(by_id, story_id="c", before="a")
    assert list(json.loads(moved)["tasks"]) == ["c", "a", "b"]
    mixed = json.dumps({"a": {"tasks": {"x": task("x")}}, "b": {"tasks": [task("y")]}})
    with pytest.raises(RalphError, match="an object by id"):
        move_story(mixed, story_id="x", before="y")


def test_two_writers_of_phases_are_merged() -> None:
    mine = append_story_note(PHASES, "1.2", "Ask Ada")
    theirs = pass_story(PHASES, "1.2").replace('"status": "in_progress"', '"status": "done"')
    merged = merge_stories(PHASES, mine, theirs)
    assert merged.conflicts == ()
    assert json.loads(merged.text)["phases"][0]["status"] == "done"
    assert read(json.loads(merged.text))[1] == "1.2 done Base"
    assert "Ask Ada" in merged.text
    # A new story comes into its phase, and a removed one goes.
    more = json.loads(PHASES)
    more["phases"][1]["tasks"].append(task("2.2"))
    del more["phases"][0]["tasks"][0]
    merged = merge_stories(PHASES, mine, json.dumps(more))
    assert read(json.loads(merged.text)) == ["1.2 todo Base", "2.1 todo Mail", "2.2 todo Mail"]
    # Another phase is no change of stories: mine stays, and the other one is shown.
    more["phases"].append({"name": "New", "tasks": []})
    merged = merge_stories(PHASES, mine, json.dumps(more))
    assert merged.text == mine
    assert len(merged.conflicts) == 1
    apart = json.dumps({"phases": {"a": {"x": {"y": 1}, "tasks": [task("1")]}}, "odd": [1]})
    other = apart.replace("Story 1", "Story one")
    assert merge_stories(apart, apart.replace("odd", "even"), other).text == other.replace(
        "odd", "even"
    )
    by_id = json.dumps({"tasks": {"a": {"title": "a"}}})
    as_list = json.dumps({"tasks": [{"id": "a", "title": "b"}]})
    assert merge_stories(by_id, by_id.replace('"a"}', '"c"}'), as_list).conflicts


def test_a_story_is_added_in_the_form_of_the_file() -> None:
    item = DraftItem(title="Refunds")
    assert read(json.loads(add_stories(PHASES, [item]).text))[-1] == "US-004 todo Mail"
    by_id = json.dumps({"tasks": {"a": {"title": "a"}}})
    assert read(json.loads(add_stories(by_id, [item]).text)) == ["a todo", "US-002 todo"]


FLAGS = ("passes", "done", "completed", "status", None)


@st.composite
def files(draw: st.DrawFn) -> Any:
    """A file with stories below groups, in lists or by id, with or without states."""
    flag = draw(st.sampled_from(FLAGS))
    by_id = draw(st.booleans())
    numbers = iter(range(100))

    def stories() -> object:
        found = {}
        for _ in range(draw(st.integers(0 if flag else 1, 3))):
            done = draw(st.booleans())
            name = f"S{next(numbers)}"
            state: dict[str, object] = {} if flag is None else {flag: done}
            if flag == "status":
                state = {flag: "done" if done else "todo"}
            found[name] = {"id": name, draw(st.sampled_from(["title", "name"])): name, **state}
        return found if by_id and found else list(found.values())

    inner = draw(st.sampled_from(["tasks", "stories", "items"]))
    groups = [{"name": f"G{n}", inner: stories()} for n in range(draw(st.integers(1, 3)))]
    outer = draw(st.sampled_from(["phases", "epics", "areas"]))
    return draw(st.sampled_from([{outer: groups}, {"plan": {outer: groups}}, groups[0]]))


def stories_in(file: object) -> Iterator[dict[str, Any]]:
    """Every object with an id, in order."""
    values = file.values() if isinstance(file, dict) else file if isinstance(file, list) else ()
    if isinstance(file, dict) and "id" in file:
        yield file
    for value in values:
        yield from stories_in(value)


@given(file=files(), indent=st.sampled_from([None, 2, "\t"]))
def test_ticking_changes_nothing_but_the_state_of_its_story(file: Any, indent: Any) -> None:
    text = json.dumps(file, indent=indent)
    known = read_stories(text).stories
    assert [story.id for story in known.stories] == [one["id"] for one in stories_in(file)]
    for story in known.stories:
        after = pass_story(text, story.id)
        now = read_stories(after).stories
        assert [one.passes for one in now.stories] == [
            one.passes or one.id == story.id for one in known.stories
        ]
        same = [
            value_of(one.node) for one in now.stories if one.id != story.id
        ]  # fmt: skip
        assert same == [value_of(one.node) for one in known.stories if one.id != story.id]
        assert after.startswith(text[: story.node.start])
        assert after.endswith(text[story.node.end :])
        assert guard_stories(text, after, ALONE).text == after
