"""A plan of stories in an editor: what is shown at its lines, and the edits that it is offered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.run.events import GuardReverted, IterationStarted
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import Baseline, TaskRef
from tests.editor.in_process_editor import InProcessEditor, Message, View, picture_of, run_files
from tests.unit.core.plan.stories.story_builder import DONE, RETURNED, WAITING, story, text_of
from tests.unit.core.views.document_contexts import ends, event, reports, shows, started

pytestmark = pytest.mark.asyncio

STORIES = text_of(
    story("US-1", **DONE),
    story("US-2", **RETURNED),
    story("US-3", dependsOn=["US-2"]),
    story("US-4", passes=True, **WAITING),
)
LINES = [nth for nth, line in enumerate(STORIES.splitlines()) if line == "    {"]
"""On which each story begins."""


@pytest.fixture
def view(tmp_path: Path) -> View:
    (tmp_path / "ralph").mkdir()
    (tmp_path / "ralph/tasks.json").write_text(STORIES, encoding="utf-8")
    view = View(tmp_path.resolve(), plan="ralph/tasks.json")
    view.kind = PlanKind.STORIES
    return view


def open_plan(editor: InProcessEditor, view: View, text: str = STORIES) -> str:
    assert view.plan_path is not None
    return editor.open(view.plan_path, text)


def words_at(remark: Message, text: str = STORIES) -> str:
    where = remark["range"]
    line = text.splitlines()[where["start"]["line"]]
    words: str = line[where["start"]["character"] : where["end"]["character"]]
    return words


def begins(number: int, story_id: str) -> IterationStarted:
    named = TaskRef(id=story_id, title=f"Story {story_id}")
    return event(IterationStarted, iteration=number, task=named, baseline=Baseline())


async def actions_at(
    editor: InProcessEditor, uri: str, line: int, *remarks: Message
) -> list[Message]:
    where = {"line": line, "character": 4}
    found: list[Message] = await editor.request(
        "textDocument/codeAction",
        {
            "textDocument": {"uri": uri},
            "range": {"start": where, "end": where},
            "context": {"diagnostics": list(remarks), "triggerKind": 1},
        },
    )
    return found


def applied(action: Message, text: str = STORIES) -> Any:
    """The file as it is after an action, read as JSON."""
    (change,) = action["edit"]["documentChanges"]
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for edit in sorted(change["edits"], key=_start_of, reverse=True):
        begin, end = edit["range"]["start"], edit["range"]["end"]
        first = starts[begin["line"]] + begin["character"]
        last = starts[end["line"]] + end["character"]
        text = f"{text[:first]}{edit['newText']}{text[last:]}"
    return json.loads(text)


def _start_of(edit: Message) -> tuple[int, int]:
    start = edit["range"]["start"]
    return start["line"], start["character"]


async def test_faults_and_the_report_are_at_the_values_that_they_are_about(
    editor: InProcessEditor, view: View
) -> None:
    view.now = picture_of(
        [
            started(),
            begins(1, "US-2"),
            reports(1, STATUS="IN_PROGRESS", TESTS_STATUS="FAILING"),
            shows(1),
            ends(1),
        ]
    )
    uri = open_plan(editor, view)
    told = {one["code"]: one for one in (await editor.published(uri))["diagnostics"]}
    assert words_at(told["story-passes-unreviewed"]) == "true"
    assert words_at(told["report"]) == "Story US-2"
    assert words_at(told["tests-failing"]) == "Story US-2"
    assert "duplicate-task" not in told


async def test_text_that_is_no_json_says_where(editor: InProcessEditor, view: View) -> None:
    uri = open_plan(editor, view, '{"userStories": [}\n')
    (told,) = [
        one for one in (await editor.published(uri))["diagnostics"] if one["code"] == "json-syntax"
    ]
    assert told["range"]["start"] == {"line": 0, "character": 17}


async def test_lenses_say_whose_turn_a_story_is(editor: InProcessEditor, view: View) -> None:
    uri = open_plan(editor, view)
    found = await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    told = [(one["range"]["start"]["line"], one["command"]["title"]) for one in found]
    assert told == [
        (0, "Start loop"),
        (LINES[1], "Run only this task"),
        (LINES[1], "changes requested in review 1: Name the key"),
    ]


async def test_a_hover_shows_a_story_in_full(editor: InProcessEditor, view: View) -> None:
    uri = open_plan(editor, view)

    async def hover(line: int) -> str:
        params = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 8}}
        found = await editor.request("textDocument/hover", params)
        value: str = found["contents"]["value"]
        return value

    returned = await hover(LINES[1] + 2)
    assert returned.splitlines()[0] == "**Story US-2**"
    assert "- Review: changes requested in review 1" in returned
    assert "- Feedback: Name the key" in returned
    assert "- Criteria:\n  - US-2 holds" in returned
    assert "- Waits for US-2 (Story US-2)" in await hover(LINES[2])


async def test_stories_are_symbols_and_fold(editor: InProcessEditor, view: View) -> None:
    uri = open_plan(editor, view)
    about = {"textDocument": {"uri": uri}}
    symbols = await editor.request("textDocument/documentSymbol", about)
    assert [one["name"] for one in symbols] == [f"US-{n} Story US-{n}" for n in range(1, 5)]
    assert symbols[0]["selectionRange"]["start"]["line"] == LINES[0] + 2
    folds = await editor.request("textDocument/foldingRange", about)
    assert [fold["startLine"] for fold in folds] == LINES


async def test_a_story_is_passed_opened_returned_noted_and_moved(
    editor: InProcessEditor, view: View
) -> None:
    uri = open_plan(editor, view)
    done = {one["title"]: one for one in await actions_at(editor, uri, LINES[0])}
    assert {"Reopen task", "Request changes", "Add a note", "Move task down"} < done.keys()
    assert "Move task up" not in done
    again = applied(done["Reopen task"])["userStories"][0]
    assert (again["passes"], again["reviewStatus"], again["reviewCount"]) == (False, None, 0)
    returned = applied(done["Request changes"])["userStories"][0]
    assert (returned["reviewStatus"], returned["reviewFeedback"]) == ("changes_requested", "…")
    in_review = {one["title"]: one for one in await actions_at(editor, uri, LINES[1])}
    passed = applied(in_review["Mark task as done"])["userStories"][1]
    assert (passed["passes"], passed["reviewStatus"]) == (True, "approved")
    reset = applied(in_review["Reset for retry"])["userStories"][1]
    assert reset["notes"] == "Reset for retry"
    moved = applied(in_review["Move task up"])["userStories"]
    assert [one["id"] for one in moved] == ["US-2", "US-1", "US-3", "US-4"]
    blocked = in_review["Block task"]
    assert "cannot mark US-2 as blocked" in blocked["disabled"]["reason"]
    assert "Run only this task" in in_review


async def test_what_the_guard_restored_can_be_kept(
    editor: InProcessEditor, view: View, tmp_path: Path
) -> None:
    files = run_files(tmp_path / "state")
    (files.folder / "kept.json").write_text(
        STORIES.replace('"priority": 1', '"priority": 7'), encoding="utf-8"
    )
    reverted = event(
        GuardReverted,
        iteration=1,
        path="ralph/tasks.json",
        what=Forbidden.PRIORITY,
        tasks=(TaskRef(id="US-3", title="Story US-3"),),
        n_tasks=1,
        kept="kept.json",
    )
    view.now = picture_of(
        [started(), begins(1, "US-3"), reverted, shows(1), ends(1)], run_files=files
    )
    uri = open_plan(editor, view)
    remarks = (await editor.published(uri))["diagnostics"]
    (remark,) = [one for one in remarks if one["code"] == "guard-reverted"]
    assert words_at(remark) == "Story US-3"
    found = await actions_at(editor, uri, remark["range"]["start"]["line"], remark)
    keep = next(one for one in found if one["title"].startswith("Keep the agent's priority"))
    assert [one["priority"] for one in applied(keep)["userStories"]] == [1, 1, 7, 1]


async def test_the_user_and_an_agent_both_write(editor: InProcessEditor, view: View) -> None:
    uri = open_plan(editor, view)
    assert view.plan_path is not None
    await editor.published(uri)
    editor.type(uri, 2, 1, '  "branch": "mine",\n')
    await editor.quiet()
    agents = STORIES.replace('"title": "Story US-3"', '"title": "Agent\'s"')
    view.plan_path.write_text(agents, encoding="utf-8")
    editor.views.change(view)
    remarks: list[Message] = []
    while not any(one["code"] == "plan-changed-on-disk" for one in remarks):
        remarks = (await editor.published(uri))["diagnostics"]
    remark = next(one for one in remarks if one["code"] == "plan-changed-on-disk")
    text = STORIES.replace("{\n", '{\n  "branch": "mine",\n', 1)
    found = await actions_at(editor, uri, 0, remark)
    merge = next(one for one in found if one["title"].startswith("Merge the changes"))
    merged = applied(merge, text)
    assert merged["userStories"][2]["title"] == "Agent's"
    assert merged["branch"] == "mine"
