"""Backlog.md: a folder is read in the order of the board; an edit changes one document."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.backlog_md.document_edits import with_status
from ralph_ls.core.plan.formats.backlog_md.operations import (
    needs_of,
    parse_text,
    protected_fields,
    why_broken,
    with_note,
    with_state,
    with_task_of,
)
from ralph_ls.core.plan.formats.plan_folder import join_files, split_files
from ralph_ls.core.plan.model import Task
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.formats.format_laws import changed_lines, check_state_edit, states

PROJECT = Path("tests/data/plan_formats/backlog.md")
SHOP = join_files(
    {
        str(file.relative_to(PROJECT)): file.read_bytes().decode()
        for file in (PROJECT / "backlog/tasks").iterdir()
    }
)
PAY = next(file for file in split_files(SHOP) if "Pay" in file.path)


def document(*lines: str, body: str = "") -> str:
    """A document with these lines of front matter."""
    return "\n".join(["---", *lines, "---", "", body])


def folder(**documents: str) -> str:
    return join_files({f"backlog/tasks/{name}.md": text for name, text in documents.items()})


def only(text: str) -> Task:
    (task,) = parse_text(text).plan.tasks
    return task


def test_reads_the_tasks_of_a_folder() -> None:
    plan = parse_text(SHOP).plan
    assert states(plan) == {"TASK-1": "done", "TASK-2": "todo"}
    pay = plan.by_id()["TASK-2"]
    assert pay.title == "Pay by card: a payment that was refused leaves the order unpaid"
    assert pay.criteria == (
        "An order is paid once, also after a double click",
        "`make test` passes",
    )
    assert pay.priority == "P1"
    assert pay.mark is not None
    assert SHOP[slice(*pay.mark)] == "To Do"
    assert pay.words is not None
    line, start, end = pay.words
    assert SHOP.split("\n")[line][start:end] == pay.title
    assert SHOP[pay.start : pay.end] == "---"
    assert SHOP.split("\n")[pay.end_line] == "<!-- AC:END -->"
    assert needs_of(SHOP) == {"TASK-2": ("TASK-1",)}
    assert why_broken(SHOP) == ""


@pytest.mark.parametrize(
    ("status", "state", "reason"),
    [
        ("To Do", TaskState.TODO, None),
        ("'To Do'", TaskState.TODO, None),
        ('"todo" # first', TaskState.TODO, None),
        ("in-progress", TaskState.IN_PROGRESS, None),
        ("Done", TaskState.DONE, None),
        ("Won't do", TaskState.SKIPPED, None),
        ("Blocked", TaskState.BLOCKED, None),
        ("In Review", TaskState.BLOCKED, "its status is In Review"),
        ("", TaskState.TODO, None),
        ("''", TaskState.TODO, None),
    ],
)
def test_every_status_has_a_state(status: str, state: TaskState, reason: str | None) -> None:
    task = only(document("id: task-1", "title: a", f"status: {status}"))
    assert (task.state, task.blocked_by) == (state, reason)


def test_what_is_no_task_is_passed_over() -> None:
    text = folder(readme="# How we work\n", notes=document("title: x"), open="---\nid: a")
    assert parse_text(text).plan.tasks == ()
    assert why_broken(text) == "no file in it is a task; write one with: backlog task create TITLE"
    assert why_broken("")


def test_a_document_without_an_id_has_that_of_its_name() -> None:
    assert only(folder(**{"task-12 - Pay by card": document("status: Done")})).id == "task-12"


def test_an_id_that_is_there_twice_is_reported() -> None:
    parsed = parse_text(folder(a=document("id: task-1"), b=document("id: task-1", "title: b")))
    assert [task.id for task in parsed.plan.tasks] == ["task-1", "task-1-2"]
    (problem,) = parsed.problems
    assert (problem.code, problem.message) == (
        "task-id-duplicate",
        "backlog/tasks/b.md has the id task-1 of backlog/tasks/a.md; give one of them another",
    )


def test_a_file_named_like_a_task_that_is_none_is_reported() -> None:
    names = {"task-1 - Pay": document("status: Done"), "task-2 - Ship": "# Ship\n", "notes": "x\n"}
    parsed = parse_text(folder(**names))
    assert [task.id for task in parsed.plan.tasks] == ["task-1"]
    (problem,) = parsed.problems
    assert problem.code == "task-unreadable"
    assert problem.message.startswith(
        "backlog/tasks/task-2 - Ship.md is not read: it does not begin"
    )


def test_the_order_is_that_of_the_board_then_of_numbers_with_subtasks_behind_their_task() -> None:
    names = {
        "10": (), "2": (), "2.10": (), "2.9": ("parent_task_id: TASK-2", "dependencies: [task-2]"),
        "3": ("ordinal: 2000",),
        "4": ("ordinal: 1000.5",), "5": ("parent_task_id: 3", "milestone: m-1"),
        "6": ("ordinal: x",),
    }  # fmt: skip
    text = folder(**{f"t{nth}": document(f"id: task-{nth}", *more) for nth, more in names.items()})
    plan = parse_text(text).plan
    assert [task.id.removeprefix("task-") for task in plan.tasks] == [
        "4", "3", "5", "2", "2.9", "2.10", "6", "10"
    ]  # fmt: skip
    assert [(task.parent, task.depth) for task in plan.tasks if task.parent] == [
        ("task-3", 1), ("task-2", 1), ("task-2", 1)
    ]  # fmt: skip
    assert needs_of(text) == {"task-2": ("task-2.10", "task-2.9"), "task-3": ("task-5",)}


def test_tasks_that_contain_each_other_are_read_once_each() -> None:
    text = folder(
        a=document("id: task-1", "parent_task_id: task-2"),
        b=document("id: task-2", "parent_task_id: task-1", "dependencies: [task-2, 9, 1]"),
    )
    assert {task.id for task in parse_text(text).plan.tasks} == {"task-1", "task-2"}
    assert needs_of(text) == {"task-2": ("task-1",)}


class TestState:
    """The status, and what goes with it, is written in one document."""

    @pytest.mark.parametrize(
        ("line", "after"),
        [
            ("status: To Do", "status: In Progress"),
            ("status: 'To Do'", "status: 'In Progress'"),
            ('status:   "To Do"  # x', 'status:   "In Progress"  # x'),
            ("status: ''", "status: 'In Progress'"),
            ("status:", "status: In Progress"),
        ],
    )
    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    @pytest.mark.parametrize("mark", ["", "\ufeff"])
    def test_the_way_it_is_quoted_stays(
        self, line: str, after: str, ending: str, mark: str
    ) -> None:
        text = mark + document("id: task-1", line, "title: 領収書", body="x").replace("\n", ending)
        edited = with_state(text, "task-1", TaskState.IN_PROGRESS)
        assert changed_lines(text, edited) == [(line + ending, after + ending)]

    def test_a_document_without_a_status_gets_one(self) -> None:
        text = document("id: task-1")
        assert with_state(text, "task-1", TaskState.TODO) == text
        assert with_state(text, "task-1", TaskState.DONE) == document("id: task-1", "status: Done")

    def test_the_words_of_the_project_are_used(self) -> None:
        text = folder(
            a=document("id: task-1", "status: Backlog"),
            b=document("id: task-2", 'status: "It\'s: shipped"'),
            c=document("id: task-3", "status: Shipped"),
            d=document("id: task-4", "status: Blocked"),
        )
        assert "status: Shipped" in with_state(text, "task-1", TaskState.DONE).split("task-2")[0]
        assert "Backlog" in with_state(text, "task-3", TaskState.TODO).split("task-3")[1]
        blocked = with_state(text, "task-1", TaskState.BLOCKED, "no key")
        task = parse_text(blocked).plan.by_id()["task-1"]
        assert (task.state, task.blocked_by) == (TaskState.BLOCKED, "no key")
        assert blocked.count("status: Blocked") == 2
        assert "Blocked by" not in with_state(text, "task-1", TaskState.BLOCKED)

    def test_a_finished_task_has_its_boxes_ticked(self) -> None:
        after = with_state(SHOP, "TASK-2", TaskState.DONE)
        assert changed_lines(SHOP, after)[1:] == [
            ("status: To Do\n", "status: Done\n"),
            ("- [ ] #1 An order is paid once, also after a double click\n",
             "- [x] #1 An order is paid once, also after a double click\n"),
            ("- [ ] #2 `make test` passes\n", "- [x] #2 `make test` passes\n"),
        ]  # fmt: skip

    def test_a_blocked_task_has_its_reason_in_its_notes_and_loses_it_again(self) -> None:
        blocked = with_state(SHOP, "TASK-2", TaskState.BLOCKED, "no licence")
        task = parse_text(blocked).plan.by_id()["TASK-2"]
        assert (task.state, task.blocked_by) == (TaskState.BLOCKED, "no licence")
        assert "status: To Do" in blocked
        assert with_state(blocked, "TASK-2", TaskState.BLOCKED) == blocked
        again = with_state(blocked, "TASK-2", TaskState.BLOCKED, "no database")
        assert "no licence" not in again
        opened = with_state(again, "TASK-2", TaskState.TODO)
        assert parse_text(opened).plan.by_id()["TASK-2"].state is TaskState.TODO
        assert with_state(SHOP, "TASK-1", TaskState.BLOCKED).count("status: To Do") == 2

    def test_a_box_that_is_ticked_stays(self) -> None:
        half = SHOP.replace("[ ] #1", "[x] #1")
        after = with_state(half, "TASK-2", TaskState.DONE)
        assert after.count("[x]") == 3

    def test_a_skipped_task_is_archived_by_its_tool(self) -> None:
        with pytest.raises(RalphError, match="backlog task archive TASK-2"):
            with_state(SHOP, "TASK-2", TaskState.SKIPPED)
        used = folder(a=document("id: task-1"), b=document("id: task-2", "status: Cancelled"))
        assert "status: Cancelled\n---\n\n" in with_state(used, "task-1", TaskState.SKIPPED)

    @pytest.mark.parametrize("status", ["It's done: #1", 'a "b" \\'])
    def test_a_status_is_quoted_where_it_must_be(self, status: str) -> None:
        quoted = status.replace("\\", "\\\\").replace('"', '\\"')
        for line in ("status: To Do", "status: 'To Do'", 'status: "To Do"'):
            text = document("id: task-1", line)
            after = with_status(text, status)
            task = only(after)
            assert task.blocked_by == f"its status is {status}"
        assert f'status: "{quoted}"' in after

    @pytest.mark.parametrize("task_id", ["TASK-1", "TASK-2"])
    @pytest.mark.parametrize("state", TaskState)
    def test_an_edit_gives_one_task_its_state(self, task_id: str, state: TaskState) -> None:
        if state is not TaskState.SKIPPED:
            check_state_edit(parse_text, with_state, SHOP, task_id, state)

    def test_an_unknown_task_is_refused(self) -> None:
        with pytest.raises(RalphError, match="no task TASK-9; see the ids in: ralph plan"):
            with_state(SHOP, "TASK-9", TaskState.DONE)


class TestNotes:
    """A line of notes is added where the tool has them."""

    @pytest.mark.parametrize(
        ("body", "after"),
        [
            pytest.param("", "\n## Implementation Notes\n\n<!-- SECTION:NOTES:BEGIN -->\nn\n"
                         "<!-- SECTION:NOTES:END -->\n", id="none"),
            pytest.param("## Implementation Notes\n\nold\n\n## Next\n",
                         "## Implementation Notes\n\nold\nn\n\n## Next\n", id="without-marks"),
            pytest.param("## implementation notes", "## implementation notes\n\nn", id="empty"),
            pytest.param("## Implementation Notes\n\n<!-- SECTION:NOTES:BEGIN -->\n"
                         "<!-- SECTION:NOTES:END -->\n## Next\n",
                         "## Implementation Notes\n\n<!-- SECTION:NOTES:BEGIN -->\nn\n"
                         "<!-- SECTION:NOTES:END -->\n## Next\n", id="marks"),
            pytest.param("a<!-- SECTION:NOTES:END -->", "a\nn\n<!-- SECTION:NOTES:END -->",
                         id="marks-in-a-line"),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    def test_one_line_is_added_once(self, body: str, after: str, ending: str) -> None:
        text = document("id: task-1", body=body).replace("\n", ending)
        wanted = document("id: task-1", body=after).replace("\n", ending)
        assert with_note(text, "task-1", "n") == wanted
        assert with_note(wanted, "task-1", "n") == wanted

    def test_a_document_that_ends_without_a_line_ending_keeps_its_last_line(self) -> None:
        noted = with_note("---\nid: task-1\n---\nlast", "task-1", "n")
        assert noted.startswith("---\nid: task-1\n---\nlast\n\n## Implementation Notes\n")

    def test_a_reason_is_removed_as_it_came(self) -> None:
        text = document("id: task-1", body="## Implementation Notes\n\nold\n\n## Next\n")
        blocked = with_state(text, "task-1", TaskState.BLOCKED, "why")
        assert with_state(blocked, "task-1", TaskState.TODO) == text


def test_protects_what_a_task_demands() -> None:
    before = protected_fields(SHOP)["TASK-2"]
    for old, new, what in [
        ("Pay by card", "Pay", Forbidden.CRITERIA),
        ("double click", "click", Forbidden.CRITERIA),
        ("priority: medium", "priority: low", Forbidden.PRIORITY),
        ("- TASK-1", "- TASK-3", Forbidden.DEPENDENCY),
    ]:
        after = protected_fields(PAY.text.replace(old, new))["TASK-2"]
        assert {kind for kind in before if before[kind] != after[kind]} == {what}
    assert protected_fields(with_state(PAY.text, "TASK-2", TaskState.DONE))["TASK-2"] == before


def test_a_task_is_written_as_in_another_text() -> None:
    agents = folder(**{"task-1 - renamed": document("id: TASK-1", "title: less")})
    for task_id in ("TASK-1", "TASK-2"):
        agents = with_task_of(agents, SHOP, task_id)
    assert agents == SHOP
    files = {file.path: file.text for file in split_files(SHOP)}
    files[PAY.path] = PAY.text.replace("double click", "click")
    assert with_task_of(join_files(files), SHOP, "TASK-2") == SHOP
    assert with_task_of(SHOP, folder(), "TASK-2").count("===") == 1
    assert with_task_of(SHOP, SHOP, "TASK-9") == SHOP


@given(st.text() | st.text().map(lambda text: f"---\nid: a\nstatus: {text}\n---\n{text}"))
def test_reading_never_raises(text: str) -> None:
    for task in parse_text(text).plan.tasks:
        assert with_state(text, task.id, task.state) == text or task.state is TaskState.SKIPPED
    needs_of(text)
    protected_fields(text)
    why_broken(text)
