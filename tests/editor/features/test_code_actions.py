"""Code actions: the remedy of a remark, and running one task alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.run.events import (
    BlockedRaised,
    CircuitBreakerStateChange,
    EventBase,
    GuardReverted,
    QuestionAsked,
    Warned,
)
from ralph_ls.protocol.run.values import Breaker, BreakerState, Phase, RemovedTask, TaskRef
from ralph_ls.store.layout import RunFiles
from tests.editor.in_process_editor import (
    VS_CODE,
    InProcessEditor,
    Message,
    View,
    Views,
    picture_of,
)
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    LETTER,
    NOON,
    PLAN,
    PRINT,
    READ,
    ROUND,
    RUN,
    TITLES,
    begins,
    event,
    phase,
    started,
    task,
)

pytestmark = pytest.mark.asyncio

INVOKED, AUTOMATIC = 1, 2


def asked() -> list[EventBase]:
    question = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    return [started(), begins(1, CHOOSE), question, phase(Phase.PARKED, "decide")]


def blocked() -> list[EventBase]:
    raised = event(BlockedRaised, iteration=1, reason="no keys", path="b")
    return [started(), begins(1, CHOOSE), raised, phase(Phase.PARKED, "blocked")]


def breaker(state: BreakerState) -> list[EventBase]:
    known = Breaker(state=state, reason="no progress")
    moved = event(
        CircuitBreakerStateChange,
        iteration=None,
        from_state=BreakerState.CLOSED,
        to_state=state,
        reason="no progress",
        breaker=known,
    )
    return [started(), begins(1, CHOOSE), moved, phase(Phase.RUNNING)]


async def ask(
    editor: InProcessEditor,
    view: View,
    lines: tuple[int, int],
    *,
    only: Sequence[str] | None = None,
    **more: Any,
) -> list[Message]:
    """The actions at these lines, for the remarks that the client was sent for them."""
    assert view.plan_path is not None
    uri = view.plan_path.as_uri()
    last = more.get("last", (lines[1], 0))
    if not editor.documents.is_open(uri):
        editor.open(view.plan_path, PLAN)
    await editor.quiet()
    told = [m for m in editor.sent if m.get("method") == "textDocument/publishDiagnostics"]
    remarks = [
        one
        for one in (told[-1]["params"]["diagnostics"] if told else [])
        if lines[0] <= one["range"]["start"]["line"] <= lines[1]
    ]
    context: dict[str, Any] = {
        "diagnostics": [] if more.get("blind") else [*remarks, *more.get("others", ())],
        "triggerKind": more.get("trigger", AUTOMATIC),
    }
    if only is not None:
        context["only"] = list(only)
    first = {"line": lines[0], "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": first, "end": {"line": last[0], "character": last[1]}},
        "context": context,
    }
    found: list[Message] = await editor.request("textDocument/codeAction", params)
    return found


def fixes(found: list[Message]) -> list[tuple[str, str, Any, list[str]]]:
    return [
        (
            one["title"],
            one["command"]["command"],
            one["command"]["arguments"][0],
            [remark["code"] for remark in one.get("diagnostics", ())],
        )
        for one in found
        if one.get("kind") == "quickfix" and "command" in one
    ]


def commands(found: list[Message]) -> dict[str, str]:
    """The commands of these actions by their titles."""
    return {one["title"]: one["command"]["command"] for one in found if "command" in one}


async def test_a_question_can_be_answered(editor: InProcessEditor, view: View) -> None:
    view.now = picture_of(asked(), halt=HaltFiles(question="which?"))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(editor, view, (CHOOSE, CHOOSE))) == [
        ("Answer…", "ralph.answer", named, ["question-waiting"])
    ]


async def test_without_an_engine_the_answer_continues_the_run(
    editor: InProcessEditor, view: View
) -> None:
    view.now = picture_of(asked(), live=False, halt=HaltFiles(question="which?"))
    named = {"workspace": view.uri, "run": RUN, "continue": True}
    assert fixes(await ask(editor, view, (CHOOSE, CHOOSE))) == [
        ("Answer and continue…", "ralph.answer", named, ["question-waiting"])
    ]


async def test_a_blocker_can_be_called_resolved(editor: InProcessEditor, view: View) -> None:
    view.now = picture_of(blocked(), halt=HaltFiles(blocked="no keys"))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(editor, view, (CHOOSE, CHOOSE))) == [
        ("Mark blocker as resolved", "ralph.resume", named, ["run-blocked"])
    ]


@pytest.mark.parametrize(
    ("state", "code"),
    [(BreakerState.OPEN, "breaker-open"), (BreakerState.HALF_OPEN, "breaker-half-open")],
)
async def test_a_breaker_can_be_reset(
    editor: InProcessEditor, view: View, state: BreakerState, code: str
) -> None:
    view.now = picture_of(breaker(state))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(editor, view, (0, 0))) == [
        ("Reset breaker", "ralph.reset", named, [code])
    ]


async def test_a_dead_engine_can_be_followed_by_another(
    editor: InProcessEditor, view: View
) -> None:
    view.now = picture_of([started(), begins(1, CHOOSE)], live=False, phase=Phase.CRASHED)
    named = {"workspace": view.uri, "run": RUN, "continue": True}
    assert fixes(await ask(editor, view, (0, 0))) == [
        ("Resume run", "ralph.resume", named, ["engine-gone"])
    ]


async def test_remarks_of_the_client_alone_offer_no_remedy(
    editor: InProcessEditor, view: View
) -> None:
    nowhere = {"line": 0, "character": 0}
    remark = {"range": {"start": nowhere, "end": nowhere}, "message": "m", "code": "breaker-open"}
    others = [{**remark, "source": "ralph"}, {**remark, "source": "spell"}, remark]
    assert fixes(await ask(editor, view, (0, 0), others=others)) == []


async def test_a_remedy_needs_no_diagnostics_of_the_client(
    editor: InProcessEditor, view: View
) -> None:
    view.now = picture_of(breaker(BreakerState.OPEN))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(editor, view, (0, 0), blind=True)) == [
        ("Reset breaker", "ralph.reset", named, [])
    ]


async def test_an_open_task_can_be_run_alone(editor: InProcessEditor, view: View) -> None:
    [action, *_] = await ask(editor, view, (ROUND, ROUND + 1), last=(ROUND + 1, 4))
    assert action == {
        "title": "Run only this task",
        "kind": "source.ralph.task",
        "command": {
            "title": "Run only this task",
            "command": "ralph.runTask",
            "arguments": [{"workspace": view.uri, "task": task(ROUND).id}],
        },
    }


@pytest.mark.parametrize("lines", [(READ, READ), (ROUND, CHOOSE + 1), (0, 0), (1, 99)])
async def test_done_or_several_or_no_tasks_cannot(
    editor: InProcessEditor, view: View, lines: tuple[int, int]
) -> None:
    assert "Run only this task" not in [one["title"] for one in await ask(editor, view, lines)]


@pytest.mark.parametrize("lines", [(ROUND, CHOOSE + 1), (0, 0), (1, 99)])
async def test_several_or_no_tasks_are_not_edited(
    editor: InProcessEditor, view: View, lines: tuple[int, int]
) -> None:
    assert await ask(editor, view, lines, only=["refactor"]) == []


async def test_only_what_is_asked_for(editor: InProcessEditor, view: View) -> None:
    view.now = picture_of(asked(), halt=HaltFiles(question="which?"))
    task_controls = [
        "Run only this task",
        "Skip task for this run",
        "Reset task: open it and forget its attempts",
        "Show the log of iteration 1",
        "Show the changes of iteration 1",
    ]
    edits = ["Mark task as done", "Block task"]
    titles = {
        kind: [one["title"] for one in await ask(editor, view, (CHOOSE, CHOOSE), only=[kind])]
        for kind in ("quickfix", "quickfix.other", "refactor", "source", "source.ralph.run", "")
    }
    assert titles == {
        "quickfix": ["Answer…"],
        "quickfix.other": [],
        "refactor": edits,
        "source": task_controls,
        "source.ralph.run": [],
        "": ["Answer…", *task_controls, *edits],
    }


async def test_a_client_that_knows_commands_alone_gets_commands(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(None)
    [command] = await ask(editor, view, (ROUND, ROUND))
    assert command["command"] == "ralph.runTask"


async def test_a_client_with_its_own_commands_gets_those(view: View) -> None:
    editor = InProcessEditor(Views([view]), EditorOptions(command_prefix="ralphLoop.lens"))
    await editor.initialize(VS_CODE)
    [action, *_] = await ask(editor, view, (ROUND, ROUND))
    assert action["command"]["command"] == "ralphLoop.lens.runTask"


async def test_a_task_of_a_further_plan_is_run_from_there(
    editor: InProcessEditor, view: View
) -> None:
    editor.views.further = {"other.md"}
    uri = editor.open(view.root / "other.md", "- [ ] a\n")
    at = {"line": 0, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    [action, *_] = await editor.request("textDocument/codeAction", params)
    assert action["command"]["arguments"][0]["plan"] == "other.md"


async def test_other_documents_have_none(editor: InProcessEditor, view: View) -> None:
    uri = editor.open(view.root / "README.md", PLAN)
    at = {"line": 0, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    assert await editor.request("textDocument/codeAction", params) is None


async def test_a_remark_on_the_plan_is_settled_by_an_edit(
    editor: InProcessEditor, view: View
) -> None:
    [action] = await ask(editor, view, (PRINT, PRINT), only=["quickfix"])
    assert view.plan_path is not None
    at = {"line": PRINT + 1, "character": 0}
    document = {"uri": view.plan_path.as_uri(), "version": 1}
    edit = {"range": {"start": at, "end": at}, "newText": "  - Blocked by: \n"}
    assert action["title"] == "Add a line for the reason"
    assert [one["code"] for one in action["diagnostics"]] == ["blocked-without-reason"]
    assert action["edit"] == {"documentChanges": [{"textDocument": document, "edits": [edit]}]}


async def test_boxes_are_added_where_the_reading_was_a_guess(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    editor.open(view.plan_path, "# Plan\n\n### Task 1: Log in\n\n### Task 2: Log out\n")
    [action] = await ask(editor, view, (2, 2), only=["quickfix"])
    assert action["title"] == "Add a box to each of these tasks"
    assert [(one["code"], one["severity"], one["message"]) for one in action["diagnostics"]] == [
        (
            "headings-read-as-tasks",
            3,
            (
                "2 headings are read as tasks (Task 1: Log in, Task 2: Log out); add a box to "
                "each, as in: ### [ ] Task 1: Log in"
            ),
        )
    ]
    (change,) = action["edit"]["documentChanges"]
    (edit,) = change["edits"]
    assert edit == {
        "range": {"start": {"line": 2, "character": 4}, "end": {"line": 4, "character": 3}},
        "newText": "[ ] Task 1: Log in\n\n### [ ]",
    }


async def test_a_client_without_versions_gets_the_edit_alone(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    able: dict[str, Any] = {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    }
    await editor.request("initialize", {"capabilities": {"textDocument": able}})
    editor.notify("initialized", {})
    [action] = await ask(editor, view, (PRINT, PRINT), only=["quickfix"])
    assert view.plan_path is not None
    assert list(action["edit"]["changes"]) == [view.plan_path.as_uri()]


async def test_a_client_that_knows_commands_alone_is_offered_no_edit(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(None)
    assert await ask(editor, view, (PRINT, PRINT)) == []


async def test_a_remark_that_is_elsewhere_meanwhile_has_no_edit(
    editor: InProcessEditor, view: View
) -> None:
    nowhere = {"line": PRINT, "character": 0}
    where = {"start": nowhere, "end": nowhere}
    moved = {"range": where, "message": "m", "code": "blocked-without-reason", "source": "ralph"}
    found = await ask(editor, view, (PRINT - 2, PRINT - 2), others=[moved], only=["quickfix"])
    assert "Add a line for the reason" not in [one["title"] for one in found]


async def test_places_are_counted_as_the_client_counts(editor: InProcessEditor, view: View) -> None:
    assert view.plan_path is not None
    text = "- [x] **US-007** 🚀\n- [ ] b\n  - 🚀\n  - After: 🚀, US-07\n"
    uri = editor.open(view.plan_path, text)
    [remark] = (await editor.published(uri))["diagnostics"]
    params = {
        "textDocument": {"uri": uri},
        "range": remark["range"],
        "context": {"diagnostics": [remark], "only": ["quickfix"]},
    }
    [action] = await editor.request("textDocument/codeAction", params)
    [change] = action["edit"]["documentChanges"]
    where = {"start": {"line": 3, "character": 15}, "end": {"line": 3, "character": 20}}
    assert change["edits"] == [{"range": where, "newText": "US-007"}]


def put_back(view: View, folder: Path, what: str, line: int, agents: str) -> None:
    (folder / "reverted").mkdir(parents=True)
    (folder / "reverted/plan").write_text(agents, encoding="utf-8")
    told = event(
        GuardReverted,
        iteration=1,
        path="@fix_plan.md",
        what=what,
        tasks=(task(line),),
        n_tasks=1,
        kept="reverted/plan",
    )
    view.now = picture_of([started(), begins(1, CHOOSE), told], run_files=RunFiles(folder=folder))


async def test_what_was_restored_can_be_kept_as_the_agent_had_it(
    editor: InProcessEditor, view: View, tmp_path: Path
) -> None:
    agents = PLAN.replace("every total is right", "all is well")
    put_back(view, tmp_path / "run", "criteria", ROUND, agents)
    [action] = await ask(editor, view, (ROUND, ROUND), only=["quickfix"])
    assert action["title"] == "Keep the agent's criteria: Round half a cent up"
    (change,) = action["edit"]["documentChanges"]
    begin, end = ({"line": ROUND + at, "character": 0} for at in (1, 2))
    assert change["edits"] == [
        {"range": {"start": begin, "end": end}, "newText": "  - Done when: all is well\n"}
    ]


async def test_a_task_that_was_finished_under_other_words_can_be_reopened(
    editor: InProcessEditor, view: View
) -> None:
    gone = RemovedTask(
        task=TaskRef(id="Z-1", title="Ship"), text="## Nice to have\n- [ ] Z-1: Ship"
    )
    told = event(Warned, iteration=1, code="finished-in-other-words", message="left", removed=gone)
    view.now = picture_of([started(), begins(1, CHOOSE), told])
    found = await ask(editor, view, (CHOOSE, CHOOSE), only=["quickfix"])
    [action] = [one for one in found if one["title"].startswith("Reopen")]
    assert action["title"] == "Reopen Ship"
    (change,) = action["edit"]["documentChanges"]
    place = {"line": LETTER, "character": 0}
    assert change["edits"] == [
        {"range": {"start": place, "end": place}, "newText": "- [ ] Z-1: Ship\n"}
    ]


async def test_what_cannot_be_kept_is_refused_in_words_where_the_client_shows_them(
    view: View, tmp_path: Path
) -> None:
    agents = PLAN.replace(TITLES[CHOOSE], "Something else").replace("Round", "Square")
    put_back(view, tmp_path / "run", "skipped", CHOOSE, agents)
    for is_shown in (True, False):
        editor = InProcessEditor(Views([view]))
        literal: Message = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
        able: dict[str, Any] = {"codeAction": {**literal, "disabledSupport": is_shown}}
        await editor.request("initialize", {"capabilities": {"textDocument": able}})
        editor.notify("initialized", {})
        found = await ask(editor, view, (CHOOSE, CHOOSE), only=["quickfix"])
        reasons = [one["disabled"]["reason"] for one in found]
        refusal = "the agent's version of the plan has no such task"
        assert reasons == ([refusal] if is_shown else [])
