"""Task Master: tasks, subtasks and tags are read; an edit changes one value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.formats.plan_format import PLAN_MISSING
from ralph_ls.core.plan.formats.task_master import operations
from ralph_ls.core.plan.formats.task_master.operations import (
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    why_foreign,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.formats.task_master.task_file import (
    current_tag,
    read_task_file,
    tags_in,
)
from ralph_ls.core.plan.formats.text_operations import guard_text
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

PROJECT = Path("tests/data/plan_formats/task-master/.taskmaster/tasks/tasks.json")
SHOP = PROJECT.read_bytes().decode()


def tasks_of(*tasks: dict[str, Any], **head: object) -> str:
    return json.dumps({"tasks": tasks, **head}, ensure_ascii=False, indent=2)


def codes(text: str) -> list[str]:
    return [problem.code for problem in parse_text(text).problems]


def test_reads_tasks_and_subtasks_in_the_order_of_the_file() -> None:
    plan = parse_text(SHOP).plan
    assert states(plan) == {
        "1": "done", "2": "inProgress", "2.1": "done", "2.2": "todo", "3": "todo"
    }  # fmt: skip
    pay = plan.by_id()["2.2"]
    assert (pay.parent, pay.depth, pay.section, pay.priority) == ("2", 1, "Checkout", "P0")
    assert pay.criteria == ("A refused card leaves the order unpaid",)
    assert pay.mark is not None
    assert SHOP[slice(*pay.mark)] == '"pending"'
    assert plan.by_id()["1"].section == ""
    (dev,) = parse_text('{"dev": {"tasks": [{"id": 1, "title": "a"}]}}').plan.tasks
    assert dev.section == "dev"
    assert not parse_text(SHOP).problems


def test_a_task_waits_for_its_subtasks_and_they_for_what_it_waits_for() -> None:
    assert needs_of(SHOP) == {
        "2": ("1", "2.1", "2.2"), "2.1": ("1",), "2.2": ("2.1", "1"), "3": ("2",)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param('{"tasks": [{"id": 1, "title": "a"}]}', ["1"], id="without-tags"),
        pytest.param('[{"id": "7", "title": "a"}]', ["7"], id="list"),
        pytest.param('{"dev": {"tasks": [{"title": "a"}]}, "master": {"tasks": [{"id": 1}]}}',
                     ["1"], id="master-first"),
        pytest.param('{"x": 1, "dev": {"tasks": [{"id": 4, "title": "a"}]}, "b": {"tasks": []}}',
                     ["4"], id="first-tag"),
        pytest.param('{"tasks": [{"id": 5.10, "title": "a"}]}', ["5.10"], id="number-as-written"),
        pytest.param('{"tasks": [{"id": 1}, {"id": 1, "title": "a"}]}', ["1", "1-2"],
                     id="id-twice"),
        pytest.param('{"tasks": [{"title": "Pay"}]}', ["9350872d"], id="without-id"),
        pytest.param('{"tasks": [{"id": true, "title": "Pay"}]}', ["9350872d"], id="id-no-word"),
        pytest.param('{"tasks": [{"id": 1, "title": "a", "subtasks": [{"id": "1.2"}, {"id": 3}]}]}',
                     ["1", "1.2", "1.3"], id="full-id-of-a-subtask"),
        pytest.param('{"tasks": ["a", {"id": 1, "title": "a", "subtasks": null}]}', ["1"],
                     id="no-object"),
        pytest.param(tasks_of({"id": 1, "title": "a", "subtasks": [{"id": 1, "subtasks": [{}]}]}),
                     ["1", "1.1"], id="two-levels-only"),
        pytest.param('{"master": [{"id": 1, "title": "a", "status": "todo"}], "x": [{"id": 2}, 3]}',
                     ["1"], id="tag-without-an-object"),
        pytest.param("{}", [], id="no-tasks"),
        pytest.param("", [], id="empty"),
    ],
)  # fmt: skip
def test_reads_every_shape_of_the_file(text: str, ids: list[str]) -> None:
    assert [task.id for task in parse_text(text, "").plan.tasks] == ids


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        ("pending", TaskState.TODO, None),
        ("In Progress", TaskState.IN_PROGRESS, None),
        ("in_progress", TaskState.IN_PROGRESS, None),
        ("done", TaskState.DONE, None),
        ("completed", TaskState.DONE, None),
        ("deferred", TaskState.SKIPPED, None),
        ("cancelled", TaskState.SKIPPED, None),
        ("blocked", TaskState.BLOCKED, None),
        ("review", TaskState.BLOCKED, "waits for your review: set it to done, or to pending"),
        ("testing", TaskState.BLOCKED, "its status testing"),
        (None, TaskState.TODO, None),
    ],
)
def test_every_status_has_a_state(status: object, state: TaskState, reason: str | None) -> None:
    task = parse_text(tasks_of({"id": 1, "title": "a", "status": status})).plan.tasks[0]
    assert (task.state, task.blocked_by) == (state, reason)


def test_nothing_is_open_below_a_finished_task() -> None:
    inner = [{"id": 1, "title": "b", "status": "pending"}, {"id": 2, "status": "cancelled"}]
    text = tasks_of(
        {"id": 1, "title": "a", "status": "done", "subtasks": inner},
        {"id": 2, "title": "a", "status": "deferred", "subtasks": inner},
    )
    plan = parse_text(text).plan
    assert states(plan) == {
        "1": "done", "1.1": "done", "1.2": "skipped",
        "2": "skipped", "2.1": "skipped", "2.2": "skipped",
    }  # fmt: skip


ONE_BELOW = "tasks that are done, and counts as done (1.1); set it to done, or open the task again"
MORE_BELOW = (
    "tasks that are done, and count as done (1.2, 1.3, 1.4 and 1 more); set them to done, "
    "or open the task again"
)


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        (["done", "cancelled"], ""),
        (
            ["pending"],
            f"1 open subtask is below {ONE_BELOW}",
        ),
        (
            ["done", "in-progress", None, "odd", "review"],
            f"4 open subtasks are below {MORE_BELOW}",
        ),
        (
            [None],
            f"1 open subtask is below {ONE_BELOW}",
        ),
    ],
)
def test_open_subtasks_of_tasks_that_are_done_are_reported_once(
    statuses: list[str | None], message: str
) -> None:
    inner = [
        {"id": nth, "title": "b"} | ({"status": word} if word else {})
        for nth, word in enumerate(statuses, 1)
    ]
    text = tasks_of({"id": 1, "title": "a", "status": "done", "subtasks": inner})
    found = [one for one in parse_text(text).problems if one.code == "subtasks-read-as-done"]
    assert [one.message for one in found] == [message] * bool(message)
    given_up = tasks_of({"id": 1, "title": "a", "status": "cancelled", "subtasks": inner})
    assert "subtasks-read-as-done" not in codes(given_up)


BARE = json.dumps(
    {
        "master": [
            {"id": 1, "title": "a", "status": "todo", "subtasks": [{"id": 1, "title": "s"}]},
            {"id": 2, "title": "b", "status": "todo", "dependencies": [1]},
        ],
        "dev": [{"id": 1, "title": "c", "status": "todo"}],
        "labels": ["x"],
    },
    indent=1,
)


class TestBareListAsTag:
    """A tag that is a list itself, without an object around it."""

    @pytest.mark.parametrize("task_id", ["1", "1.1", "2", "dev:1"])
    def test_its_tasks_are_edited_and_restored(self, task_id: str) -> None:
        done = with_state(BARE, task_id, TaskState.DONE)
        assert parse_text(done).plan.by_id()[task_id].state is TaskState.DONE
        assert "note" in with_note(BARE, task_id, "note")
        without = with_task_of(BARE, '{"master": [], "dev": {"tasks": []}}', task_id)
        assert task_id not in parse_text(without).plan.by_id()
        back = with_task_of(without, BARE, task_id)
        assert json.loads(back) == json.loads(BARE)

    def test_it_is_the_tools_and_its_other_tags_are_reported(self) -> None:
        assert (tags_in(BARE), why_broken(BARE), why_foreign(BARE)) == (("master", "dev"), "", "")
        assert [one.code for one in parse_text(BARE, "").problems] == ["task-tag-left"]

    def test_what_an_agent_removes_comes_back_and_its_tick_stays(self) -> None:
        ticked = json.loads(with_state(BARE, "2", TaskState.DONE))
        guarded = guard_text(operations, BARE, json.dumps(ticked | {"dev": []}), PlanPowers())
        assert [(one.what.value, one.task.id) for one in guarded.violations] == [
            ("dropped", "dev:1")
        ]
        assert json.loads(guarded.text) == ticked
        gone = guard_text(operations, BARE, '{"master": [], "dev": []}', PlanPowers())
        assert gone.text == BARE


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["json-syntax"]),
        ('{"tasks": [}', ["json-syntax"]),
        ('{"a": {"tasks": 1}}', ["tasks-shape"]),
        ('{"tasks": [1]}', ["task-type"]),
        ('{"tasks": [{"id": 1}, {"id": 2, "title": "a"}]}', ["task-title-missing"]),
        ('{"tasks": [{"id": "T1", "name": "Case", "expected": {}}]}', ["tasks-shape"]),
        ('{"a": {"tasks": [1]}, "b": {"tasks": [{"id": 1, "title": " "}]}}', ["tasks-shape"]),
        (tasks_of({"id": 1, "title": "a"}, {"id": 1, "title": "b"}), ["task-id-duplicate"]),
        (tasks_of({"id": 1, "title": "a", "status": "odd"}), ["task-status-unknown"]),
        (tasks_of({"id": 1, "title": "a", "dependencies": [9, None, "8.1"]}),
         ["task-dependency-unknown"] * 2),
    ],
)  # fmt: skip
def test_reports_what_it_cannot_read(text: str, found: list[str]) -> None:
    assert codes(text) == found
    assert len(parse_text(text).spans) == len(found)


@pytest.mark.parametrize("has_object", [True, False])
def test_tags_may_be_one_level_deeper(has_object: bool) -> None:
    tasks = [{"id": 1, "title": "a", "status": "pending"}, {"id": 2, "title": "b"}]
    text = json.dumps({"tags": {"master": {"tasks": tasks} if has_object else tasks}})
    assert [task.id for task in parse_text(text).plan.tasks] == ["1", "2"]
    ticked = with_state(text, "1", TaskState.DONE)
    assert ticked == text.replace('"pending"', '"done"')


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("not_started", TaskState.TODO),
        ("Finished", TaskState.DONE),
        ("in progress", TaskState.IN_PROGRESS),
        ("on hold", TaskState.BLOCKED),
        ("odd", TaskState.BLOCKED),
    ],
)
def test_words_of_other_tools_have_a_state_too(status: str, state: TaskState) -> None:
    (task,) = parse_text(tasks_of({"id": 1, "title": "a", "status": status})).plan.tasks
    assert task.state is state


def test_a_subtask_may_need_a_task_whose_number_no_sibling_has() -> None:
    parts = [{"id": 1, "title": "c"}, {"id": 2, "title": "d", "dependencies": [1, 5, 6, 9]}]
    tasks = [{"id": 5, "title": "a"}, {"id": 6, "title": "b", "subtasks": parts}]
    tagged = json.dumps({"x": {"tasks": []}, "y": {"tasks": tasks}})
    for text, tag in ((tasks_of(*tasks), ""), (tagged, "y:")):
        needs = read_task_file(text).tasks[-1].needs
        assert [name.removeprefix(tag) for name in needs] == ["6.1", "5", "6.6", "6.9"]
        assert all(name.startswith(tag) for name in needs)


def test_tasks_of_other_tags_are_reported() -> None:
    tags = {
        "master": {"tasks": [{"id": 1, "title": "a"}]},
        "dev": {"tasks": [{"id": 1}, {"id": 2, "status": "done"}, {"id": 3, "status": "odd"}]},
        "old": {"tasks": [{"id": 1, "status": "done"}]},
        "meta": 1,
        "next": {"tasks": [{"id": 1}, {"id": 2, "status": "in-progress"}]},
    }
    problem, more = parse_text(json.dumps(tags, indent=1), "").problems
    assert more.message.startswith("the tag next has 2 open tasks, and only")
    assert problem.message == (
        "the tag dev has 1 open task, and only the tag master is read; "
        "work on it with: ralph run --plan dev"
    )
    found = [one.code for one in parse_text(json.dumps(tags), "next").problems]
    assert found.count("task-tag-left") == 2


@pytest.mark.parametrize(
    ("state", "tag"),
    [
        ('{"currentTag": "dev"}', "dev"),
        ('{"currentTag": 1}', ""),
        ("[1]", ""),
        ("", ""),
    ],
)
def test_the_current_tag(state: str, tag: str) -> None:
    assert current_tag(state) == tag


TAGS = {
    "auth": {"tasks": [{"id": 1, "title": "log in"}, {"title": "log out"}]},
    "master": {"tasks": [{"id": 1, "title": "pay"}], "metadata": {"created": "today"}},
    "shop": {
        "tasks": [
            {"id": 1, "title": "list", "subtasks": [{"id": 1, "title": "a"}, {"id": "1.2"}]},
            {"id": 2, "title": "cart", "dependencies": [1, "1.2"]},
        ]
    },
    "notes": 1,
}


def ids(text: str, tag: str | None) -> list[str]:
    return [task.id for task in parse_text(text, tag).plan.tasks]


def test_one_tag_is_read_and_its_ids_name_it() -> None:
    text = json.dumps(TAGS)
    assert ids(text, "") == ids(text, "master") == ["1"]
    assert ids(text, "shop") == ["shop:1", "shop:1.1", "shop:1.2", "shop:2"]
    assert ids(text, "auth")[0] == "auth:1"
    assert ids(text, None) == [*ids(text, "auth"), "1", *ids(text, "shop")]
    assert needs_of(text)["shop:2"] == ("shop:1", "shop:1.2")
    assert tags_in(text) == ("auth", "master", "shop")
    assert tags_in("[]") == tags_in("") == ()


def test_a_tag_that_is_not_there_is_no_plan() -> None:
    parsed = parse_text(json.dumps(TAGS), "gone")
    assert not parsed.plan.tasks
    (problem,) = parsed.problems
    assert problem.code == PLAN_MISSING
    assert problem.message == "there is no tag gone; the tags are: auth, master, shop"
    assert ids(tasks_of({"id": 1, "title": "a"}), "gone") == ["1"], (
        "a file without tags is one plan"
    )


def test_an_edit_finds_its_task_in_any_tag() -> None:
    text = json.dumps(TAGS, indent=2)
    done = with_state(text, "shop:1.1", TaskState.DONE)
    assert [task.id for task in parse_text(done).plan.tasks if task.state is TaskState.DONE] == [
        "shop:1.1"
    ]
    before, after = text.splitlines(), done.splitlines()
    assert sum(line not in before for line in after) <= 2
    assert with_task_of(done, text, "shop:1.1") == text
    lost = text.replace('"title": "cart"', '"title": "trolley"')
    assert with_task_of(lost, text, "shop:2") == text


def test_an_edit_finds_its_task_in_a_tag_that_is_a_bare_list() -> None:
    text = '{"dev": [{"id": 1, "title": "a", "status": "pending"}]}'
    done = with_state(text, "1", TaskState.DONE)
    assert done == text.replace("pending", "done")


def test_a_task_of_a_tag_that_is_gone_stays_away() -> None:
    text = json.dumps(TAGS)
    rest = json.dumps({"master": TAGS["master"]})
    assert with_task_of(rest, text, "shop:2") == rest
    assert with_task_of(rest, text, "shop:1.1") == rest


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SHOP, ""),
        ('{"tasks": []}', ""),
        ('{\n"tasks": [,]}', "line 2: a value is missing before the comma"),
        ("{}", ("line 1: the list tasks is missing; "
               "write one in Task Master with: task-master parse-prd")),
    ],
)  # fmt: skip
def test_says_why_a_text_is_no_task_file(text: str, why: str) -> None:
    assert why_broken(text) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (SHOP, ""),
        (tasks_of({"id": 1, "title": "a", "status": "todo", "subtasks": ["b"]}), ""),
        ('{"tasks": [{"id": 1, "title": "a", "status": "done"', ""),
        ('# "title" and "status" of what was JSON', ""),
        (tasks_of({"id": 1, "title": "a"}), "no task has a title and a status, as in Task Master"),
        ('{"tasks": []}', "no task has a title and a status, as in Task Master"),
        ('[{"id": "1", "description": "b", "status": "todo"}]',
         "line 1: no task has a title, so they are not those of Task Master"),
        ("{}", ("line 1: the list tasks is missing; "
                "write one in Task Master with: task-master parse-prd")),
    ],
)  # fmt: skip
def test_says_why_a_file_is_another_programs(text: str, why: str) -> None:
    assert why_foreign(text) == why


def test_a_repeated_problem_is_one_with_a_count() -> None:
    text = json.dumps([{"id": 1, "title": "a", "subtasks": ["b"] * 12}, 2, "c"], indent=1)
    (problem,) = parse_plan(text, PlanKind.TASK_MASTER).problems
    assert problem.message == (
        "a subtask must be an object; this is not read "
        "(14 like this, on lines 6, 7, 8, 9, 10, 11, 12, 13 and 6 more)"
    )
    few = json.dumps([{"id": 1, "title": "a", "subtasks": ["b"] * 3}], indent=1)
    parsed = parse_plan(few, PlanKind.TASK_MASTER)
    assert [one.line for one in parsed.problems] == [6, 7, 8]
    assert len(parsed.spans) == 3


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_a_state_changes_one_line(ending: str, mark: str, indent: str) -> None:
    text = mark + SHOP.rstrip("\n").replace("  ", indent).replace("\n", ending)
    after = with_state(text, "3", TaskState.DONE)
    ((old, new),) = changed_lines(text, after)
    assert (old.strip(), new.strip()) == ('"status": "pending",', '"status": "done",')
    assert with_state(after, "3", TaskState.TODO) == text


@given(
    st.sampled_from(["1", "2", "2.1", "2.2", "3"]),
    st.sampled_from(list(TaskState)),
)
def test_an_edit_gives_one_task_its_state(task_id: str, state: TaskState) -> None:
    if task_id != "2" or state not in {TaskState.DONE, TaskState.SKIPPED}:
        check_state_edit(parse_text, with_state, SHOP, task_id, state)


def test_a_blocked_task_has_its_reason_in_its_details_and_loses_it_again() -> None:
    blocked = with_state(SHOP, "1", TaskState.BLOCKED, "no licence")
    assert parse_text(blocked).plan.by_id()["1"].blocked_by == "no licence"
    assert r"One migration per table.\nBlocked by: no licence" in blocked
    again = with_state(blocked, "1", TaskState.BLOCKED, "no database")
    assert r"per table.\nBlocked by: no database" in again
    assert with_state(again, "1", TaskState.BLOCKED) == again
    assert with_state(again, "1", TaskState.DONE) == SHOP


def test_a_subtask_that_is_open_again_opens_its_task() -> None:
    text = tasks_of(
        {"id": 1, "title": "a", "status": "done", "subtasks": [{"id": 1, "title": "b"}]}
    )
    after = parse_text(with_state(text, "1.1", TaskState.TODO)).plan
    assert states(after) == {"1": "inProgress", "1.1": "todo"}


def test_a_note_is_a_line_of_the_details_once() -> None:
    once = with_note(SHOP, "2.2", "line 1\ttab “quoted”")
    assert with_note(once, "2.2", "line 1\ttab “quoted”") == once
    task = read_task_file(once).by_id()["2.2"]
    assert task.fields["details"].node.scalar == "line 1\ttab “quoted”"
    added = with_note('{"tasks": [{"id": 1, "title": "a"}]}', "1", "n")
    assert added == '{"tasks": [{"id": 1, "title": "a", "details": "n"}]}'


def test_refuses_an_edit_that_it_would_have_to_guess() -> None:
    with pytest.raises(RalphError, match="no task 9; see the ids in: ralph plan"):
        with_state(SHOP, "9", TaskState.DONE)
    with pytest.raises(RalphError, match="line 1 of the plan is not valid JSON"):
        with_state("{", "1", TaskState.DONE)


def test_protects_what_a_task_demands() -> None:
    before = protected_fields(SHOP)
    assert before["2"][Forbidden.DEPENDENCY] == "1"
    for old, new, kind in [
        ('"Checkout"', '"Out"', Forbidden.CRITERIA),
        ("paid once", "paid", Forbidden.CRITERIA),
        ('"low"', '"high"', Forbidden.PRIORITY),
    ]:
        after = protected_fields(SHOP.replace(old, new))
        found = {kind for task in before for kind in before[task]
                 if before[task][kind] != after[task][kind]}  # fmt: skip
        assert found == {kind}
    assert protected_fields(with_state(SHOP, "3", TaskState.BLOCKED, "x")) == before


class TestCopy:
    """A task is written as in another text."""

    @pytest.mark.parametrize("task_id", ["1", "2", "2.1", "2.2", "3"])
    def test_a_removed_task_comes_back_where_it_was(self, task_id: str) -> None:
        without = with_task_of(SHOP, '{"tasks": []}', task_id)
        assert task_id not in parse_text(without).plan.by_id()
        back = with_task_of(without, SHOP, task_id)
        assert parse_text(back).plan.tasks == parse_text(SHOP).plan.tasks
        assert json.loads(back) == json.loads(SHOP)

    def test_a_changed_task_is_restored_and_its_subtasks_stay(self) -> None:
        agents = with_state(SHOP.replace('"Checkout"', '"Nothing"'), "2.2", TaskState.DONE)
        assert with_task_of(agents, SHOP, "2") == with_state(SHOP, "2.2", TaskState.DONE)

    def test_a_task_without_subtasks_is_restored(self) -> None:
        plain = tasks_of({"id": 1, "title": "a"})
        assert with_task_of(plain.replace('"a"', '"b"'), plain, "1") == plain

    def test_new_subtasks_stay(self) -> None:
        plain = tasks_of({"id": 1, "title": "a"})
        expanded = tasks_of({"id": 1, "title": "b", "subtasks": [{"id": 1, "title": "c"}]})
        after = parse_text(with_task_of(expanded, plain, "1")).plan
        assert [task.title for task in after.tasks] == ["a", "c"]

    def test_a_subtask_comes_back_with_its_list_or_its_task(self) -> None:
        full = tasks_of({"id": 1, "title": "a", "subtasks": [{"id": 1, "title": "c"}]})
        for left in ({"id": 1, "title": "a"}, {"id": 1, "title": "a", "subtasks": []}):
            back = with_task_of(tasks_of(left), full, "1.1")
            assert json.loads(back) == json.loads(full)
        assert json.loads(with_task_of(tasks_of(), full, "1.1")) == json.loads(full)

    def test_what_neither_has_changes_nothing(self) -> None:
        assert with_task_of(SHOP, SHOP, "9") == SHOP
        assert with_task_of("{}", SHOP, "1") == "{}"


@given(st.text())
def test_reading_never_raises(text: str) -> None:
    parse_text(text)
    needs_of(text)
    protected_fields(text)
    assert why_broken(text)
