"""Code actions: the remedy of a remark, and running one task alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.protocol.breaker import Breaker, BreakerState
from ralph_ls.protocol.events import (
    BlockedRaised,
    CircuitBreakerStateChange,
    EventBase,
    GuardReverted,
    QuestionAsked,
)
from ralph_ls.protocol.options import EditorOptions
from ralph_ls.protocol.run_words import Phase
from ralph_ls.store.layout import RunFiles
from tests.editor.desk import VS_CODE, Desk, Message, View, Views, picture_of
from tests.unit.views.sights import (
    CHOOSE,
    COMMIT,
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
    shows,
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
    desk: Desk,
    view: View,
    lines: tuple[int, int],
    *,
    only: Sequence[str] | None = None,
    **more: Any,
) -> list[Message]:
    """The actions at these lines, for the remarks that the client was told of them."""
    assert view.plan_path is not None
    uri = view.plan_path.as_uri()
    if not desk.documents.is_open(uri):
        desk.open(view.plan_path, PLAN)
    await desk.quiet()
    told = [m for m in desk.sent if m.get("method") == "textDocument/publishDiagnostics"]
    remarks = [
        one
        for one in (told[-1]["params"]["diagnostics"] if told else [])
        if lines[0] <= one["range"]["start"]["line"] <= lines[1]
    ]
    context: dict[str, Any] = {
        "diagnostics": [*remarks, *more.get("others", ())],
        "triggerKind": more.get("trigger", AUTOMATIC),
    }
    if only is not None:
        context["only"] = list(only)
    first, last = ({"line": line, "character": 0} for line in lines)
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": first, "end": last},
        "context": context,
    }
    found: list[Message] = await desk.request("textDocument/codeAction", params)
    return found


def fixes(found: list[Message]) -> list[tuple[str, str, Any, list[str]]]:
    return [
        (
            one["title"],
            one["command"]["command"],
            one["command"]["arguments"][0],
            [remark["code"] for remark in one["diagnostics"]],
        )
        for one in found
        if one.get("kind") == "quickfix"
    ]


async def test_a_question_can_be_answered(desk: Desk, view: View) -> None:
    view.now = picture_of(asked(), halt=HaltFiles(question="which?"))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(desk, view, (CHOOSE, CHOOSE))) == [
        ("Answer…", "ralph.answer", named, ["question-waiting"])
    ]


async def test_without_an_engine_the_answer_goes_on_with_the_run(desk: Desk, view: View) -> None:
    view.now = picture_of(asked(), live=False, halt=HaltFiles(question="which?"))
    named = {"workspace": view.uri, "run": RUN, "continue": True}
    assert fixes(await ask(desk, view, (CHOOSE, CHOOSE))) == [
        ("Answer and continue…", "ralph.answer", named, ["question-waiting"])
    ]


async def test_a_blocker_can_be_called_resolved(desk: Desk, view: View) -> None:
    view.now = picture_of(blocked(), halt=HaltFiles(blocked="no keys"))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(desk, view, (CHOOSE, CHOOSE))) == [
        ("Mark blocker as resolved", "ralph.resume", named, ["run-blocked"])
    ]


@pytest.mark.parametrize(
    ("state", "code"),
    [(BreakerState.OPEN, "breaker-open"), (BreakerState.HALF_OPEN, "breaker-half-open")],
)
async def test_a_breaker_can_be_reset(
    desk: Desk, view: View, state: BreakerState, code: str
) -> None:
    view.now = picture_of(breaker(state))
    named = {"workspace": view.uri, "run": RUN}
    assert fixes(await ask(desk, view, (0, 0))) == [("Reset breaker", "ralph.reset", named, [code])]


async def test_a_dead_engine_can_be_followed_by_another(desk: Desk, view: View) -> None:
    view.now = picture_of([started(), begins(1, CHOOSE)], live=False, phase=Phase.CRASHED)
    named = {"workspace": view.uri, "run": RUN, "continue": True}
    assert fixes(await ask(desk, view, (0, 0))) == [
        ("Resume run", "ralph.resume", named, ["engine-gone"])
    ]


async def test_remarks_of_others_and_of_another_day_have_no_remedy(desk: Desk, view: View) -> None:
    nowhere = {"line": 0, "character": 0}
    remark = {"range": {"start": nowhere, "end": nowhere}, "message": "m", "code": "breaker-open"}
    others = [{**remark, "source": "ralph"}, {**remark, "source": "spell"}, remark]
    assert await ask(desk, view, (0, 0), others=others) == []


async def test_an_open_task_can_be_run_alone(desk: Desk, view: View) -> None:
    [action, *_] = await ask(desk, view, (ROUND, ROUND + 1))
    assert action == {
        "title": "Run only this task",
        "command": {
            "title": "Run only this task",
            "command": "ralph.runTask",
            "arguments": [{"workspace": view.uri, "task": task(ROUND).id}],
        },
    }


@pytest.mark.parametrize("lines", [(READ, READ), (ROUND, CHOOSE), (0, 0), (1, 99)])
async def test_done_or_several_or_no_tasks_cannot(
    desk: Desk, view: View, lines: tuple[int, int]
) -> None:
    assert "Run only this task" not in [one["title"] for one in await ask(desk, view, lines)]


@pytest.mark.parametrize("lines", [(ROUND, CHOOSE), (0, 0), (1, 99)])
async def test_several_or_no_tasks_are_not_edited(
    desk: Desk, view: View, lines: tuple[int, int]
) -> None:
    assert await ask(desk, view, lines, only=["refactor"]) == []


async def asked_of(
    desk: Desk, view: View, text: str, *, line: int = 0, trigger: int = INVOKED
) -> dict[str, Message]:
    """The edits of the plan's task on a line, by title."""
    assert view.plan_path is not None
    uri = view.plan_path.as_uri()
    if not desk.documents.is_open(uri):
        desk.open(view.plan_path, text)
    at = {"line": line, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": [], "only": ["refactor"], "triggerKind": trigger},
    }
    found = await desk.request("textDocument/codeAction", params)
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
        pytest.param("- [x] a\n", {"Open task again": [([(0, 3), (0, 4)], " ")]}, id="done"),
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
async def test_the_state_of_a_task_is_edited_where_it_stands(
    desk: Desk, view: View, text: str, edits: dict[str, list[tuple[Any, str]]]
) -> None:
    found = await asked_of(desk, view, text, trigger=AUTOMATIC)
    changes = {title: one["edit"]["documentChanges"] for title, one in found.items()}
    assert {title: edits_in(change) for title, [change] in changes.items()} == edits
    assert {change["textDocument"]["version"] for [change] in changes.values()} == {1}


async def test_in_a_long_plan_the_cursor_alone_asks_for_no_edit(desk: Desk, view: View) -> None:
    text = "- [ ] a\n" * 3000
    assert await asked_of(desk, view, text, trigger=AUTOMATIC) == {}
    assert "Mark task as done" in await asked_of(desk, view, text)


async def test_who_asks_is_shown_every_edit(desk: Desk, view: View) -> None:
    text = "- [ ] [P1] z\n- [ ] a\n  - n\n- [ ] b\n"
    found = await asked_of(desk, view, text, line=1)
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


async def test_the_commit_of_a_finished_task_can_be_attached(desk: Desk, view: View) -> None:
    shown = shows(1, done=(CHOOSE,), commit=COMMIT)
    view.now = picture_of([started(), begins(1, CHOOSE), shown])
    found = await asked_of(desk, view, PLAN, line=CHOOSE)
    [change] = found["Attach commit abc1234"]["edit"]["documentChanges"]
    assert [text for _, text in edits_in(change)] == ["  - Commit: abc1234\n"]


async def test_what_cannot_be_done_says_why(view: View) -> None:
    text = "# Done\n- a\n"
    for able in (True, False):
        desk = Desk(Views([view]))
        await desk.request("initialize", {"capabilities": able_to(disabledSupport=able)})
        desk.notify("initialized", {})
        found = await asked_of(desk, view, text, line=1)
        refused = {
            title: one["disabled"]["reason"] for title, one in found.items() if "disabled" in one
        }
        assert ("Open task again" in refused) is able
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
    desk = Desk(Views([view]))
    edits = {
        "documentChanges": True,
        "resourceOperations": ["create"],
        "changeAnnotationSupport": {},
    }
    await desk.request("initialize", {"capabilities": able_to(edits=edits)})
    desk.notify("initialized", {})
    edit = (await asked_of(desk, view, DONE_PLAN))[MOVE]["edit"]
    made, log, plan = edit["documentChanges"]
    uri = (view.root / "PROGRESS.md").as_uri()
    assert made == {"kind": "create", "uri": uri, "options": {"ignoreIfExists": True}}
    assert log["textDocument"] == {"uri": uri, "version": None}
    assert edits_in(log) == [([(0, 0), (0, 0)], "# Progress Log\n\n## 2026-01-31\n- [x] a\n")]
    assert edits_in(plan) == [([(0, 0), (1, 0)], "")]
    [asked] = {one["annotationId"] for change in (log, plan) for one in change["edits"]}
    assert edit["changeAnnotations"] == {asked: {"label": MOVE, "needsConfirmation": True}}


async def test_finished_tasks_go_to_a_log_as_it_stands_in_the_editor(
    desk: Desk, view: View
) -> None:
    uri = desk.open(view.root / "PROGRESS.md", "# Log\n\n## 2026-01-31\n- [x] 🔑\n")
    edit = (await asked_of(desk, view, DONE_PLAN))[MOVE]["edit"]
    log, plan = edit["documentChanges"]
    assert log["textDocument"] == {"uri": uri, "version": 1}
    assert edits_in(log) == [([(3, 0), (3, 0)], "- [x] a\n")]
    assert edits_in(plan) == [([(0, 0), (1, 0)], "")]


async def test_where_no_file_can_be_made_the_log_has_to_be_there(view: View) -> None:
    desk = Desk(Views([view]))
    await desk.request("initialize", {"capabilities": able_to(disabledSupport=True)})
    desk.notify("initialized", {})
    told = (await asked_of(desk, view, DONE_PLAN))[MOVE]["disabled"]["reason"]
    assert told.startswith("there is no PROGRESS.md, and this editor lets nobody make files; make")
    log = view.root / "PROGRESS.md"
    log.write_text("# Log\n", encoding="utf-8")
    edit = (await asked_of(desk, view, DONE_PLAN))[MOVE]["edit"]
    assert list(edit["changes"]) == [log.as_uri(), (view.root / "@fix_plan.md").as_uri()]


async def test_what_is_nested_in_open_work_stays(view: View) -> None:
    desk = Desk(Views([view]))
    await desk.request("initialize", {"capabilities": able_to(disabledSupport=True)})
    desk.notify("initialized", {})
    (view.root / "PROGRESS.md").touch()
    found = await asked_of(desk, view, "- [ ] a\n  - [x] b\n", line=1)
    assert "goes with that one" in found[MOVE]["disabled"]["reason"]


async def test_only_what_is_asked_for(desk: Desk, view: View) -> None:
    view.now = picture_of(asked(), halt=HaltFiles(question="which?"))
    titles = {
        kind: [one["title"] for one in await ask(desk, view, (CHOOSE, CHOOSE), only=[kind])]
        for kind in ("quickfix", "quickfix.other", "refactor", "")
    }
    assert titles == {
        "quickfix": ["Answer…"],
        "quickfix.other": [],
        "refactor": ["Mark task as done", "Block task"],
        "": ["Answer…", "Run only this task", "Mark task as done", "Block task"],
    }


async def test_a_client_that_knows_commands_alone_gets_commands(view: View) -> None:
    desk = Desk(Views([view]))
    await desk.initialize(None)
    [command] = await ask(desk, view, (ROUND, ROUND))
    assert command["command"] == "ralph.runTask"


async def test_a_client_with_commands_of_its_own_gets_those(view: View) -> None:
    desk = Desk(Views([view]), EditorOptions(command_prefix="ralphLoop.lens"))
    await desk.initialize(VS_CODE)
    [action, *_] = await ask(desk, view, (ROUND, ROUND))
    assert action["command"]["command"] == "ralphLoop.lens.runTask"


async def test_a_task_of_a_further_plan_is_run_from_there(desk: Desk, view: View) -> None:
    desk.views.further = {"other.md"}
    uri = desk.open(view.root / "other.md", "- [ ] a\n")
    at = {"line": 0, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    [action, *_] = await desk.request("textDocument/codeAction", params)
    assert action["command"]["arguments"][0]["plan"] == "other.md"


async def test_other_documents_have_none(desk: Desk, view: View) -> None:
    uri = desk.open(view.root / "README.md", PLAN)
    at = {"line": 0, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": []},
    }
    assert await desk.request("textDocument/codeAction", params) is None


async def test_a_remark_on_the_plan_is_settled_by_an_edit(desk: Desk, view: View) -> None:
    [action] = await ask(desk, view, (PRINT, PRINT), only=["quickfix"])
    assert view.plan_path is not None
    at = {"line": PRINT + 1, "character": 0}
    document = {"uri": view.plan_path.as_uri(), "version": 1}
    edit = {"range": {"start": at, "end": at}, "newText": "  - Blocked by: \n"}
    assert action["title"] == "Add a line for the reason"
    assert [one["code"] for one in action["diagnostics"]] == ["blocked-without-reason"]
    assert action["edit"] == {"documentChanges": [{"textDocument": document, "edits": [edit]}]}


async def test_a_client_without_versions_gets_the_edit_alone(view: View) -> None:
    desk = Desk(Views([view]))
    able: dict[str, Any] = {
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
    }
    await desk.request("initialize", {"capabilities": {"textDocument": able}})
    desk.notify("initialized", {})
    [action] = await ask(desk, view, (PRINT, PRINT), only=["quickfix"])
    assert view.plan_path is not None
    assert list(action["edit"]["changes"]) == [view.plan_path.as_uri()]


async def test_a_client_that_knows_commands_alone_is_offered_no_edit(view: View) -> None:
    desk = Desk(Views([view]))
    await desk.initialize(None)
    assert await ask(desk, view, (PRINT, PRINT)) == []


async def test_a_remark_that_stands_elsewhere_meanwhile_has_no_edit(desk: Desk, view: View) -> None:
    nowhere = {"line": PRINT, "character": 0}
    where = {"start": nowhere, "end": nowhere}
    moved = {"range": where, "message": "m", "code": "blocked-without-reason", "source": "ralph"}
    assert await ask(desk, view, (PRINT - 2, PRINT - 2), others=[moved], only=["quickfix"]) == []


async def test_places_are_counted_as_the_client_counts(desk: Desk, view: View) -> None:
    assert view.plan_path is not None
    text = "- [x] **US-007** 🚀\n- [ ] b\n  - 🚀\n  - After: 🚀, US-07\n"
    uri = desk.open(view.plan_path, text)
    [remark] = (await desk.published(uri))["diagnostics"]
    params = {
        "textDocument": {"uri": uri},
        "range": remark["range"],
        "context": {"diagnostics": [remark], "only": ["quickfix"]},
    }
    [action] = await desk.request("textDocument/codeAction", params)
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


async def test_what_was_put_back_can_be_kept_as_the_agent_had_it(
    desk: Desk, view: View, tmp_path: Path
) -> None:
    agents = PLAN.replace("every total is right", "all is well")
    put_back(view, tmp_path / "run", "criteria", ROUND, agents)
    [action] = await ask(desk, view, (ROUND, ROUND), only=["quickfix"])
    assert action["title"] == "Keep the agent's criteria: Round half a cent up"
    (change,) = action["edit"]["documentChanges"]
    begin, end = ({"line": ROUND + at, "character": 0} for at in (1, 2))
    assert change["edits"] == [
        {"range": {"start": begin, "end": end}, "newText": "  - Done when: all is well\n"}
    ]


async def test_what_cannot_be_kept_is_refused_in_words_where_the_client_shows_them(
    view: View, tmp_path: Path
) -> None:
    agents = PLAN.replace(TITLES[CHOOSE], "Something else").replace("Round", "Square")
    put_back(view, tmp_path / "run", "skipped", CHOOSE, agents)
    for is_shown in (True, False):
        desk = Desk(Views([view]))
        literal: Message = {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}
        able: dict[str, Any] = {"codeAction": {**literal, "disabledSupport": is_shown}}
        await desk.request("initialize", {"capabilities": {"textDocument": able}})
        desk.notify("initialized", {})
        found = await ask(desk, view, (CHOOSE, CHOOSE), only=["quickfix"])
        reasons = [one["disabled"]["reason"] for one in found]
        refusal = "the agent's version of the plan does not have the task"
        assert reasons == ([refusal] if is_shown else [])
