"""Renaming as an answer: where it is offered, and what it says where it is not.

That the answer reaches the run is shown with a real server and a real run, in
``tests.editor.server``.
"""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.decide_file import format_decide, read_halt_files
from ralph_ls.protocol.run.events import QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.editor.in_process_editor import InProcessEditor, Message, View, picture_of
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PLAN,
    ROUND,
    begins,
    event,
    phase,
    started,
)

pytestmark = pytest.mark.asyncio

DECIDE = format_decide("which?", 1, NOON)
REQUEST_FAILED, INVALID_PARAMS = -32803, -32602


def asks(view: View, *, saved: str = DECIDE) -> None:
    question = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    parked = phase(Phase.PARKED, "decide")
    halt = read_halt_files(saved, None)
    view.now = picture_of([started(), begins(1, CHOOSE), question, parked], halt=halt)


def at(uri: str, line: int) -> Message:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": 3}}


async def prepare(editor: InProcessEditor, uri: str, line: int) -> Message | None:
    found: Message | None = await editor.request("textDocument/prepareRename", at(uri, line))
    return found


async def refusal(editor: InProcessEditor, uri: str, line: int, name: str = "SQLite") -> Message:
    answer = await editor.answer("textDocument/rename", {**at(uri, line), "newName": name})
    error: Message = answer["error"]
    return error


@pytest.mark.parametrize("line", [0, CHOOSE])
async def test_a_question_is_answered_by_a_name_that_is_empty_yet(
    editor: InProcessEditor, view: View, line: int
) -> None:
    asks(view)
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    assert await prepare(editor, uri, line) == {
        "range": {
            "start": {"line": line, "character": 0},
            "end": {"line": line, "character": len(PLAN.splitlines()[line])},
        },
        "placeholder": "",
    }


@pytest.mark.parametrize("line", range(len(DECIDE.splitlines()) + 1))
async def test_any_line_of_the_decide_file_will_do(
    editor: InProcessEditor, view: View, line: int
) -> None:
    asks(view)
    uri = editor.open(view.decide_path, DECIDE)
    assert await prepare(editor, uri, line) is not None


async def test_other_lines_other_files_and_other_times_are_no_answers(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    plan = editor.open(view.plan_path, PLAN)
    readme = editor.open(view.root / "README.md", PLAN)
    blocked = editor.open(view.blocked_path, "no keys\n")
    assert await prepare(editor, plan, CHOOSE) is None
    asks(view)
    for uri, line in ((plan, ROUND), (readme, CHOOSE), (blocked, 0)):
        assert await prepare(editor, uri, line) is None
        error = await refusal(editor, uri, line)
        assert (error["code"], error["data"]) == (REQUEST_FAILED, {"code": "no-engine"})
        assert error["message"].startswith("there is no open question on this line")


async def test_an_answered_question_is_not_asked_again(editor: InProcessEditor, view: View) -> None:
    asks(view, saved=f"{DECIDE}SQLite\n")
    assert view.plan_path is not None
    assert await prepare(editor, editor.open(view.plan_path, PLAN), CHOOSE) is None


@pytest.mark.parametrize("name", ["", "  \n "])
async def test_an_empty_name_is_no_answer(editor: InProcessEditor, view: View, name: str) -> None:
    asks(view)
    assert view.plan_path is not None
    error = await refusal(editor, editor.open(view.plan_path, PLAN), CHOOSE, name)
    assert error["code"] == INVALID_PARAMS
    assert error["data"]["problems"][0]["field"] == "text"
