"""The edits of a plan's tasks that a client is offered: their state, their place, their log."""

from __future__ import annotations

from typing import Any

import pytest

from tests.editor.in_process_editor import InProcessEditor, Message, View, Views, picture_of
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    PLAN,
    begins,
    shows,
    started,
)

pytestmark = pytest.mark.asyncio

INVOKED, AUTOMATIC = 1, 2


async def asked_of(
    editor: InProcessEditor, view: View, text: str, *, line: int = 0, trigger: int = INVOKED
) -> dict[str, Message]:
    """The edits of the plan's task on a line, by title."""
    assert view.plan_path is not None
    uri = view.plan_path.as_uri()
    if not editor.documents.is_open(uri):
        editor.open(view.plan_path, text)
    at = {"line": line, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": [], "only": ["refactor"], "triggerKind": trigger},
    }
    found = await editor.request("textDocument/codeAction", params)
    assert {one["kind"] for one in found} <= {"refactor.rewrite"}
    return {one["title"]: one for one in found}


def edits_in(change: Message) -> list[tuple[Any, str]]:
    """Where each edit begins and ends, and what it puts there."""
    return [
        (
            [(edge["line"], edge["character"]) for edge in edit["range"].values()],
            edit["newText"],
        )
        for edit in change["edits"]
    ]


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        pytest.param(
            "- [ ] a\r\n",
            {
                "Mark task as done": [([(0, 3), (0, 4)], "x")],
                "Block task": [
                    ([(0, 6), (0, 6)], "[BLOCKED] "),
                    ([(1, 0), (1, 0)], "  - Blocked by: \r\n"),
                ],
            },
            id="open",
        ),
        pytest.param("- [x] a\n", {"Reopen task": [([(0, 3), (0, 4)], " ")]}, id="done"),
        pytest.param("- [-] a\n", {"Mark task as done": [([(0, 3), (0, 4)], "x")]}, id="skipped"),
        pytest.param(
            "- [ ] [BLOCKED] 🔑\n  - Blocked by: 🔑\n  - b\n",
            {
                "Unblock task": [([(0, 6), (0, 16)], ""), ([(1, 0), (2, 0)], "")],
                "Mark task as done": [([(0, 3), (0, 4)], "x")],
            },
            id="blocked",
        ),
        pytest.param(
            "1. ~~a~~ 🔑 b\n2. [ ] c\n",
            {
                "Mark task as done": [([(0, 3), (0, 3)], "[DONE] ")],
                "Block task": [
                    ([(0, 3), (0, 3)], "[BLOCKED] "),
                    ([(1, 0), (1, 0)], "   - Blocked by: \n"),
                ],
            },
            id="no-box",
        ),
    ],
)
async def test_the_state_of_a_task_is_edited_in_its_place(
    editor: InProcessEditor, view: View, text: str, edits: dict[str, list[tuple[Any, str]]]
) -> None:
    found = await asked_of(editor, view, text, trigger=AUTOMATIC)
    changes = {title: one["edit"]["documentChanges"] for title, one in found.items()}
    assert {title: edits_in(change) for title, [change] in changes.items()} == edits
    assert {change["textDocument"]["version"] for [change] in changes.values()} == {1}


LONG = "".join(f"- [ ] Task {nth}\n" for nth in range(2000))


@pytest.mark.slow
async def test_in_a_long_plan_the_cursor_alone_asks_for_no_edit(view: View) -> None:
    editor = await unresolving(view)
    assert await asked_of(editor, view, LONG, trigger=AUTOMATIC) == {}
    assert "edit" in (await asked_of(editor, view, LONG))["Mark task as done"]


async def unresolving(view: View) -> InProcessEditor:
    """An editor that takes actions whole."""
    editor = InProcessEditor(Views([view]))
    able: Message = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    capabilities = {"textDocument": {"codeAction": able}}
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    result = await editor.request("initialize", params)
    assert result["capabilities"]["codeActionProvider"]["resolveProvider"]
    editor.notify("initialized", {})
    return editor


@pytest.mark.slow
async def test_in_a_long_plan_the_edit_of_a_chosen_action_is_resolved(
    editor: InProcessEditor, view: View
) -> None:
    found = await asked_of(editor, view, LONG, line=1)
    assert [title for title, one in found.items() if "edit" in one] == []
    automatic = await asked_of(editor, view, LONG, line=1, trigger=AUTOMATIC)
    assert automatic.keys() == {"Mark task as done", "Block task"}
    whole = await asked_of(await unresolving(view), view, LONG, line=1)
    assert found.keys() == whole.keys()
    for title, one in found.items():
        resolved = await editor.request("codeAction/resolve", one)
        assert resolved["title"] == title
        (edited,) = resolved["edit"]["documentChanges"]
        assert [edited["edits"]] == [*whole[title]["edit"]["changes"].values()]


async def test_what_is_resolved_fits_the_text_of_that_moment(
    editor: InProcessEditor, view: View
) -> None:
    found = await asked_of(editor, view, LONG, line=1)
    done = found["Mark task as done"]
    assert view.plan_path is not None
    uri = view.plan_path.as_uri()
    editor.change(uri, 2, f"# Plan\n\n{LONG}")
    resolved = await editor.request("codeAction/resolve", done)
    [change] = resolved["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 2
    assert edits_in(change) == [([(3, 3), (3, 4)], "x")]
    editor.change(uri, 3, "# Plan\n\n" + LONG.replace("Task 1\n", "Other\n"))
    error = (await editor.answer("codeAction/resolve", done))["error"]
    assert error["code"] == -32803
    assert "the plan has changed" in error["message"]


async def test_an_action_that_has_its_command_is_resolved_to_itself_and_strange_data_is_refused(
    editor: InProcessEditor, view: View
) -> None:
    action = {"title": "Start loop", "command": {"title": "Start loop", "command": "ralph.start"}}
    assert await editor.request("codeAction/resolve", action) == action
    for data in ("x", {"uri": "file:///elsewhere/plan.md", "task": "a"}):
        error = (await editor.answer("codeAction/resolve", {**action, "data": data}))["error"]
        assert error["code"] == -32602


async def test_who_asks_is_shown_every_edit(editor: InProcessEditor, view: View) -> None:
    text = "- [ ] [P1] z\n- [ ] a\n  - n\n- [ ] b\n"
    found = await asked_of(editor, view, text, line=1)
    changes = {title: edits_in(one["edit"]["documentChanges"][0]) for title, one in found.items()}
    assert {title: [text for _, text in edits] for title, edits in changes.items()} == {
        "Mark task as done": ["x"],
        "Block task": ["[BLOCKED] ", "  - Blocked by: \n"],
        "Add a note": ["  - \n"],
        "Add a task below": ["- [ ] New task\n"],
        "Move task up": ["", "- [ ] [P1] z\n"],
        "Move task down": ["- [ ] b\n", ""],
        "Set priority P0": ["[P0] "],
        "Set priority P1": ["[P1] "],
        "Set priority P2": ["[P2] "],
    }


async def test_the_commit_of_a_finished_task_can_be_attached(
    editor: InProcessEditor, view: View
) -> None:
    shown = shows(1, done=(CHOOSE,), commit=COMMIT)
    view.now = picture_of([started(), begins(1, CHOOSE), shown])
    found = await asked_of(editor, view, PLAN, line=CHOOSE)
    [change] = found["Attach commit abc1234"]["edit"]["documentChanges"]
    assert [text for _, text in edits_in(change)] == ["  - Commit: abc1234\n"]


async def test_what_cannot_be_done_says_why(view: View) -> None:
    text = "# Done\n- a\n"
    for able in (True, False):
        editor = InProcessEditor(Views([view]))
        await editor.request("initialize", {"capabilities": able_to(disabledSupport=able)})
        editor.notify("initialized", {})
        found = await asked_of(editor, view, text, line=1)
        refused = {
            title: one["disabled"]["reason"] for title, one in found.items() if "disabled" in one
        }
        assert ("Reopen task" in refused) is able
        assert all("; " in reason for reason in refused.values())
        assert "Add a note" in found


def able_to(*, edits: Message | None = None, **actions: Any) -> Message:
    """Capabilities of a client for actions and edits."""
    literal: Message = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    return {
        "textDocument": {"codeAction": {**literal, **actions}},
        "workspace": {"workspaceEdit": edits or {}},
    }


DONE_PLAN = "- [x] a\n- [ ] b\n"
MOVE = "Move finished tasks to PROGRESS.md"


async def test_finished_tasks_go_to_a_log_that_is_made(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    edits = {
        "documentChanges": True,
        "resourceOperations": ["create"],
        "changeAnnotationSupport": {},
    }
    await editor.request("initialize", {"capabilities": able_to(edits=edits)})
    editor.notify("initialized", {})
    edit = (await asked_of(editor, view, DONE_PLAN))[MOVE]["edit"]
    made, log, plan = edit["documentChanges"]
    uri = (view.root / "PROGRESS.md").as_uri()
    assert made == {"kind": "create", "uri": uri, "options": {"ignoreIfExists": True}}
    assert log["textDocument"] == {"uri": uri, "version": None}
    assert edits_in(log) == [([(0, 0), (0, 0)], "# Progress Log\n\n## 2026-01-31\n- [x] a\n")]
    assert edits_in(plan) == [([(0, 0), (1, 0)], "")]
    [asked] = {one["annotationId"] for change in (log, plan) for one in change["edits"]}
    assert edit["changeAnnotations"] == {asked: {"label": MOVE, "needsConfirmation": True}}


async def test_finished_tasks_go_to_a_log_as_it_is_in_the_editor(
    editor: InProcessEditor, view: View
) -> None:
    uri = editor.open(view.root / "PROGRESS.md", "# Log\n\n## 2026-01-31\n- [x] 🔑\n")
    edit = (await asked_of(editor, view, DONE_PLAN))[MOVE]["edit"]
    log, plan = edit["documentChanges"]
    assert log["textDocument"] == {"uri": uri, "version": 1}
    assert edits_in(log) == [([(3, 0), (3, 0)], "- [x] a\n")]
    assert edits_in(plan) == [([(0, 0), (1, 0)], "")]


async def test_where_no_file_can_be_made_the_log_has_to_be_there(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.request("initialize", {"capabilities": able_to(disabledSupport=True)})
    editor.notify("initialized", {})
    told = (await asked_of(editor, view, DONE_PLAN))[MOVE]["disabled"]["reason"]
    assert told.startswith(
        "there is no PROGRESS.md, and this editor cannot create files for ralph; create"
    )
    log = view.root / "PROGRESS.md"
    log.write_text("# Log\n", encoding="utf-8")
    edit = (await asked_of(editor, view, DONE_PLAN))[MOVE]["edit"]
    assert list(edit["changes"]) == [log.as_uri(), (view.root / "@fix_plan.md").as_uri()]


async def test_what_is_nested_in_open_work_stays(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.request("initialize", {"capabilities": able_to(disabledSupport=True)})
    editor.notify("initialized", {})
    (view.root / "PROGRESS.md").touch()
    found = await asked_of(editor, view, "- [ ] a\n  - [x] b\n", line=1)
    assert "goes with its parent" in found[MOVE]["disabled"]["reason"]
