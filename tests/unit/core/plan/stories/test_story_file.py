"""Story files: their content, the plan that they form, and their problems."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.stories.story_file import ReviewStatus, read_stories
from ralph_ls.core.plan.formats.stories.tasks import parse_stories, story_field_span
from ralph_ls.core.plan.lint.remarks import LineSpan
from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.queries import count_tasks, newly_done, parsed_plan_to_json
from ralph_ls.protocol.task_words import Priority, TaskState
from tests.unit.core.plan.stories.story_builder import (
    DONE,
    RETURNED,
    WAITING,
    stories_of,
    story,
    text_of,
)

PRD = """\
{
  "branchName": "ralph/login",
  "userStories": [
    {
      "id": "US-001",
      "title": "Log  in",
      "acceptanceCriteria": ["Typecheck passes", "It works"],
      "priority": 1,
      "passes": true,
      "notes": ""
    },
    {"id": 2, "title": "Log out", "priority": "high", "passes": false, "owner": {"name": "Ada"}}
  ]
}
"""


def problems(text: str, *, skip_review: bool = False) -> list[tuple[str, int, str]]:
    """Code, line and the place that is marked in it."""
    parsed = parse_stories(text, skip_review=skip_review)
    lines = text.splitlines() or [""]
    return [
        (one.code, one.line, lines[one.line - 1][slice(*span)])
        for one, span in zip(parsed.problems, parsed.spans, strict=True)
    ]


def test_the_common_kind_with_fewer_fields_is_read() -> None:
    known = read_stories(PRD)
    assert known.findings == ()
    assert known.stories.branch == "ralph/login"
    first, second = known.stories.stories
    assert (first.id, first.title, first.passes, first.rank) == ("US-001", "Log in", True, 1)
    assert first.criteria == ("Typecheck passes", "It works")
    assert (second.id, second.priority, second.rank) == ("2", Priority.P0, 1)
    assert (second.status, second.n_reviews, second.feedback) == (None, 0, "")


def test_all_fields_are_read() -> None:
    stories = stories_of(
        story("A", **RETURNED, dependsOn=["B", 3, "B"]), project="Shop", description="Sell things"
    )
    (one,) = stories.stories
    assert (stories.project, stories.description) == ("Shop", "Sell things")
    assert stories.verify_commands == ("make test",)
    assert one.status is ReviewStatus.CHANGES_REQUESTED
    assert (one.n_reviews, one.feedback, one.depends_on) == (1, "Name the key", ("B", "3"))


def test_a_plan_has_the_stories_as_tasks_with_their_places() -> None:
    plan = parse_stories(PRD).plan
    first, second = plan.tasks
    assert (first.kind, first.state, first.line, first.end_line) == (
        TaskKind.STORY, TaskState.DONE, 3, 10,
    )  # fmt: skip
    assert first.mark is not None
    assert PRD[slice(*first.mark)] == "true"
    assert PRD[second.start : second.end].startswith('    {"id": 2')
    assert plan.at_line(7) == first


def test_a_story_without_passes_has_no_mark() -> None:
    (task,) = parse_stories('[{"id": "A", "title": "a"}]').plan.tasks
    assert task.mark is None


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        pytest.param({}, TaskState.TODO, id="fresh"),
        pytest.param(WAITING, TaskState.IN_PROGRESS, id="in-review"),
        pytest.param(RETURNED, TaskState.IN_PROGRESS, id="returned"),
        pytest.param(DONE, TaskState.DONE, id="approved"),
        pytest.param({"passes": True}, TaskState.DONE, id="passes-without-a-review"),
    ],
)
def test_the_task_state_of_a_story(fields: dict[str, object], state: TaskState) -> None:
    assert [task.state for task in parse_stories(text_of(story("A", **fields))).plan.tasks] == [
        state
    ]


def test_stories_are_counted_by_passes() -> None:
    plan = parse_stories(text_of(story("A", **DONE), story("B", **WAITING), story("C"))).plan
    assert (
        count_tasks(plan).done_required,
        count_tasks(plan).required,
        count_tasks(plan).open_required,
    ) == (1, 3, 2)


def test_what_became_done_between_two_texts_is_reported() -> None:
    before = parse_stories(text_of(story("A", **WAITING), story("B"))).plan
    after = parse_stories(text_of(story("A", **DONE), story("B"))).plan
    assert newly_done(before, after) == ("A",)


def test_a_bare_list_of_stories_is_read() -> None:
    assert [
        task.id for task in parse_stories('[{"id": "A", "title": "a", "passes": true}]').plan.tasks
    ] == ["A"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("", [("json-syntax", 1, "")], id="empty"),
        pytest.param("{}", [("stories-shape", 1, "{")], id="no-stories"),
        pytest.param('{"userStories": {}}', [("stories-shape", 1, '"userStories"')], id="no-list"),
        pytest.param("3", [("stories-shape", 1, "3")], id="number"),
        pytest.param("[3]", [("story-field-type", 1, "3")], id="story-is-number"),
        pytest.param('[{"title": "a"}]', [("story-field-missing", 1, "{")], id="no-id"),
        pytest.param('[{"id": "", "title": "a"}]', [("story-field-missing", 1, "{")],
                     id="empty-id"),
        pytest.param('[{"id": true, "title": "a"}]', [("story-field-type", 1, "true")],
                     id="bad-id"),
        pytest.param('[{"id": "A"}]', [("story-field-missing", 1, "{")], id="no-title"),
        pytest.param('[{"id": "A", "title": 3}]', [("story-field-type", 1, "3")], id="bad-title"),
        pytest.param('[{"id": "A", "title": "a", "passes": "yes"}]',
                     [("story-field-type", 1, '"yes"')], id="passes"),
        pytest.param('[{"id": "A", "title": "a", "reviewStatus": "done"}]',
                     [("story-field-value", 1, '"done"')], id="status"),
        pytest.param('[{"id": "A", "title": "a", "reviewStatus": [1]}]',
                     [("story-field-value", 1, "[1]")], id="status-list"),
        pytest.param('[{"id": "A", "title": "a", "reviewCount": -1}]',
                     [("story-field-value", 1, "-1")], id="negative-count"),
        pytest.param('[{"id": "A", "title": "a", "reviewCount": true}]',
                     [("story-field-type", 1, "true")], id="bool-count"),
        pytest.param('[{"id": "A", "title": "a", "reviewCount": 1.5}]',
                     [("story-field-type", 1, "1.5")], id="half-count"),
        pytest.param('[{"id": "A", "title": "a", "priority": "soon"}]',
                     [("story-field-value", 1, '"soon"')], id="priority-word"),
        pytest.param('[{"id": "A", "title": "a", "priority": true}]',
                     [("story-field-type", 1, "true")], id="priority-bool"),
        pytest.param('[{"id": "A", "title": "a", "priority": []}]',
                     [("story-field-type", 1, "[]")], id="priority-list"),
        pytest.param('[{"id": "A", "title": "a", "dependsOn": "B"}]',
                     [("story-field-type", 1, '"B"')], id="depends-text"),
        pytest.param('[{"id": "A", "title": "a", "acceptanceCriteria": ["x", {}, true]}]',
                     [("story-field-type", 1, "{}"), ("story-field-type", 1, "true")],
                     id="criteria"),
        pytest.param('[{"id": "A", "title": "a", "notes": 1, "description": [\n]}]',
                     [("story-field-type", 1, "1"), ("story-field-type", 1, "[")], id="texts"),
        pytest.param('[{"id": "A", "title": "a"},\n {"id": "A", "title": "b"}]',
                     [("story-id-duplicate", 2, '"A"')], id="duplicate"),
        pytest.param('[{"id": "A", "id": "B", "title": "a"}]',
                     [("json-duplicate-key", 1, '"id"')], id="key-twice"),
        pytest.param('[{"id": "A", "title": "a",}]', [("json-syntax", 1, ",")], id="syntax"),
        pytest.param('[{"id": null, "title": null, "notes": null}]',
                     [("story-field-missing", 1, "{"), ("story-field-missing", 1, "{")], id="null"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_should_be_is_reported_with_its_place(
    text: str, told: list[tuple[str, int, str]]
) -> None:
    assert problems(text) == told


def test_a_repeated_id_gets_a_number_that_is_free() -> None:
    ids = ["A", "A-2", "A", "A"]
    assert [one.id for one in stories_of(*map(story, ids)).stories] == ["A", "A-2", "A-3", "A-4"]


def test_a_story_without_an_id_is_called_by_its_title() -> None:
    (task,) = parse_stories('[{"title": "Log in"}]').plan.tasks
    assert len(task.id) == 8


def test_half_characters_are_shown_in_no_id() -> None:
    parsed = parse_stories(r'[{"id": "\ud800", "title": "\ud800", "dependsOn": ["\ud801"]}]')
    assert parsed.plan.tasks[0].id == "?"
    json.dumps(parsed_plan_to_json(parsed)).encode()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({**WAITING, "passes": True}, ["story-passes-unreviewed"], id="unreviewed"),
        pytest.param({**RETURNED, "passes": True}, ["story-passes-unreviewed"], id="returned"),
        pytest.param({"passes": True}, ["story-passes-unreviewed"], id="never reviewed"),
        pytest.param({"reviewStatus": "approved"}, ["story-approved-not-passing"], id="approved"),
        pytest.param({"reviewStatus": "changes_requested", "reviewFeedback": " "},
                     ["story-feedback-missing"], id="feedback"),
        pytest.param({"dependsOn": ["Z"]}, ["story-dependency-unknown"], id="unknown"),
        pytest.param({"dependsOn": ["A"]}, ["story-dependency-cycle"], id="itself"),
        pytest.param(DONE, [], id="done"),
        pytest.param(RETURNED, [], id="changes"),
    ],
)  # fmt: skip
def test_what_must_hold_between_fields_is_reported(
    fields: dict[str, object], told: list[str]
) -> None:
    assert [code for code, _, _ in problems(text_of(story("A", **fields)))] == told


def test_where_reviews_are_skipped_a_story_may_pass_without_one() -> None:
    assert problems(text_of(story("A", **{**WAITING, "passes": True})), skip_review=True) == []


@pytest.mark.parametrize(
    ("needs", "rings"),
    [
        pytest.param({"A": ["B"], "B": ["C"], "C": []}, [], id="chain"),
        pytest.param({"A": ["B", "C"], "B": ["C"], "C": ["D"], "D": []}, [], id="diamond"),
        pytest.param({"A": ["C"], "B": ["A"], "C": ["B"]}, ["A → C → B → A"], id="ring"),
        pytest.param({"A": ["B"], "C": ["B"], "B": ["C"]}, ["C → B → C"], id="into-a-ring"),
        pytest.param({"A": ["B", "C"], "B": ["A"], "C": ["A"]}, ["A → B → A"], id="two-in-one"),
        pytest.param({"A": ["B"], "B": ["A"], "C": ["D"], "D": ["C"]},
                     ["A → B → A", "C → D → C"], id="two"),
    ],
)  # fmt: skip
def test_stories_that_wait_for_each_other_are_named(
    needs: dict[str, list[str]], rings: list[str]
) -> None:
    text = text_of(*(story(name, dependsOn=names) for name, names in needs.items()))
    told = [
        one.message for one in parse_stories(text).problems if one.code == "story-dependency-cycle"
    ]
    assert [message.removeprefix("these wait for each other: ") for message in told] == [
        f"{ring}; remove a dependency" for ring in rings
    ]


def test_dependencies_of_other_tools_count_too() -> None:
    (one,) = read_stories('[{"id": "A", "title": "a", "dependencies": ["B"]}]').stories.stories
    assert one.depends_on == ("B",)


@pytest.mark.parametrize(
    ("story_id", "key", "place"),
    [
        pytest.param("US-001", None, LineSpan(line=3, start=4, end=5), id="story"),
        pytest.param("US-001", "passes", LineSpan(line=8, start=16, end=20), id="field"),
        pytest.param("US-001", "reviewStatus", None, id="no-such-field"),
        pytest.param("US-009", None, None, id="no-such-story"),
    ],
)
def test_the_places_of_a_story_and_its_fields(
    story_id: str, key: str | None, place: LineSpan | None
) -> None:
    assert story_field_span(read_stories(PRD).stories, story_id, key) == place


@given(
    st.lists(
        st.sampled_from(
            ['{"userStories": [', '{"id": "A", ', '"title": "x", ', '"passes": true', '"passes": 1',
             "}", "]", "}]}", ",", "\n", '"reviewStatus": "approved"', '"dependsOn": ["A"]',
             '{"id": "A"}', "null", '"reviewCount": -3', '"priority": 1e999']
        ),
        max_size=20,
    ).map("".join)
)  # fmt: skip
def test_reading_never_fails_and_marks_places_within_lines(text: str) -> None:
    parsed = parse_stories(text)
    lines = text.split("\n")
    for one, (start, end) in zip(parsed.problems, parsed.spans, strict=True):
        assert 0 <= start <= end <= len(lines[one.line - 1])
    ids = [task.id for task in parsed.plan.tasks]
    assert len(set(ids)) == len(ids)


def test_files_of_tools_without_reviews_have_none_that_is_missing() -> None:
    plain = {"id": "A", "title": "a", "passes": True}
    text = json.dumps({"features": [plain, plain | {"id": "B"}]}, indent=1)
    assert parse_stories(text).problems == ()
    for field, code in [
        ('"branch_name": "a",', "stories-branch-missing"),
        ('"reviewStatus": null,', "story-passes-unreviewed"),
    ]:
        known = text.replace('"id": "B",', f'"id": "B", {field}')
        assert code in {one.code for one in parse_stories(known).problems}


def test_a_file_without_a_branch_is_reported_and_a_bare_list_is_not() -> None:
    stories = json.dumps([story("A")])
    (told,) = parse_stories(f'{{"userStories": {stories}}}').problems
    assert (told.code, told.line) == ("stories-branch-missing", 1)
    assert parse_stories(f'{{"branchName": "", "userStories": {stories}}}').problems == ()
    assert parse_stories(stories).problems == ()


def test_where_reviews_are_skipped_a_story_passes_without_one() -> None:
    text = text_of(story("A", passes=True))
    assert parse_stories(text, skip_review=True).problems == ()


@pytest.mark.slow
def test_many_stories_with_one_id_are_read_in_no_more_time_than_others() -> None:
    n_stories = 20_000
    found = read_stories(
        f'{{"userStories":[{",".join(["{}"] * n_stories)}]}}'.replace(
            "{}", '{"id":"S","title":"a"}'
        )
    ).stories.stories
    assert [one.id for one in found[:3]] == ["S", "S-2", "S-3"]
    assert found[-1].id == f"S-{n_stories}"


def test_an_id_that_looks_like_a_numbered_one_stays_its_own() -> None:
    text = text_of(story("S"), story("S-2"), story("S"), story("S"), story("S-2"))
    assert [one.id for one in read_stories(text).stories.stories] == [
        "S",
        "S-2",
        "S-3",
        "S-4",
        "S-2-2",
    ]
