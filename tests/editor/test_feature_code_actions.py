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
    QuestionAsked,
)
from ralph_ls.protocol.options import EditorOptions
from ralph_ls.protocol.run_words import Phase
from tests.editor.desk import VS_CODE, Desk, Message, View, Views, picture_of
from tests.unit.views.sights import (
    CHOOSE,
    NOON,
    PLAN,
    READ,
    ROUND,
    RUN,
    begins,
    event,
    phase,
    started,
    task,
)

pytestmark = pytest.mark.asyncio


@pytest.fixture
def view(tmp_path: Path) -> View:
    (tmp_path / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
    return View(tmp_path.resolve())


@pytest.fixture
async def desk(view: View) -> Desk:
    desk = Desk(Views([view]))
    await desk.initialize()
    return desk


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
    context: dict[str, Any] = {"diagnostics": [*remarks, *more.get("others", ())]}
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
    [action] = await ask(desk, view, (ROUND, ROUND + 1))
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
    assert await ask(desk, view, lines) == []


async def test_only_what_is_asked_for(desk: Desk, view: View) -> None:
    view.now = picture_of(asked(), halt=HaltFiles(question="which?"))
    titles = {
        kind: [one["title"] for one in await ask(desk, view, (CHOOSE, CHOOSE), only=[kind])]
        for kind in ("quickfix", "quickfix.other", "refactor", "")
    }
    assert titles == {
        "quickfix": ["Answer…"],
        "quickfix.other": [],
        "refactor": [],
        "": ["Answer…", "Run only this task"],
    }


async def test_a_client_that_knows_commands_alone_gets_commands(view: View) -> None:
    desk = Desk(Views([view]))
    await desk.initialize(None)
    [command] = await ask(desk, view, (ROUND, ROUND))
    assert command["command"] == "ralph.runTask"


async def test_a_client_with_commands_of_its_own_gets_those(view: View) -> None:
    desk = Desk(Views([view]), EditorOptions(command_prefix="ralphLoop.lens"))
    await desk.initialize(VS_CODE)
    [action] = await ask(desk, view, (ROUND, ROUND))
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
    [action] = await desk.request("textDocument/codeAction", params)
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
