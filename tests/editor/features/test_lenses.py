"""Code lenses as a client gets them, and when it is asked to request them again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.editor.features.lenses import next_minute
from ralph_ls.editor.push import refresh
from ralph_ls.protocol.lsp.options import EditorOptions, LensOptions, TaskLenses
from ralph_ls.protocol.run.events import QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.editor.in_process_editor import NEOVIM, InProcessEditor, Message, View, Views, picture_of
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PLAN,
    RUN,
    begins,
    event,
    phase,
    started,
    task,
)

pytestmark = pytest.mark.asyncio

REFRESH = "workspace/codeLens/refresh"


def open_plan(editor: InProcessEditor, view: View) -> str:
    assert view.plan_path is not None
    return editor.open(view.plan_path, PLAN)


async def ask(editor: InProcessEditor, uri: str) -> list[Message]:
    found: list[Message] = await editor.request(
        "textDocument/codeLens", {"textDocument": {"uri": uri}}
    )
    return found


def running(view: View) -> None:
    view.now = picture_of([started(), begins(1, CHOOSE), phase(Phase.RUNNING)])


def asks(view: View, *, live: bool = True) -> None:
    question = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    parked = phase(Phase.PARKED, "decide")
    halt = HaltFiles(question="which?")
    view.now = picture_of([started(), begins(1, CHOOSE), question, parked], live=live, halt=halt)


def told(found: list[Message]) -> list[tuple[int, str, str, Any]]:
    return [
        (
            lens["range"]["start"]["line"],
            lens["command"]["title"],
            lens["command"]["command"],
            lens["command"].get("arguments"),
        )
        for lens in found
    ]


async def test_a_plan_without_a_run_can_be_started(editor: InProcessEditor, view: View) -> None:
    found = await ask(editor, open_plan(editor, view))
    assert told(found) == [
        (0, "Start loop", "ralph.start", [{"workspace": view.uri}]),
        (7, "blocked: no keys", "", None),
        (8, "blocked: the plan gives no reason", "", None),
    ]


async def test_a_running_plan_can_be_steered(editor: InProcessEditor, view: View) -> None:
    running(view)
    editor.views.time = NOON + timedelta(minutes=9)
    named = {"workspace": view.uri, "run": RUN}
    only = {"workspace": view.uri, "task": task(CHOOSE).id}
    log = {**named, "start": 1}
    assert told(await ask(editor, open_plan(editor, view)))[:5] == [
        (0, "Pause", "ralph.pause", [named]),
        (0, "Stop after this iteration", "ralph.stop", [named]),
        (0, "iteration 1 of 20 · 9 min", "ralph.showLog", [log]),
        (CHOOSE, "Run only this task", "ralph.runTask", [only]),
        (CHOOSE, "attempt 1", "ralph.showLog", [log]),
    ]


async def test_a_client_with_its_own_commands_gets_those(
    editor: InProcessEditor, view: View
) -> None:
    editor.options = EditorOptions(command_prefix="ralphLoop.lens")
    asks(view, live=False)
    named = {"workspace": view.uri, "run": RUN, "continue": True}
    first = told(await ask(editor, open_plan(editor, view)))[0]
    assert first == (0, "Ralph asks: answer and continue…", "ralphLoop.lens.answer", [named])


@pytest.mark.parametrize(
    ("tasks", "lines"),
    [
        (TaskLenses.CURRENT, {0, 6}),
        (TaskLenses.TOUCHED, {0, 6, 7, 8}),
        (TaskLenses.ALL, {0, 4, 6, 7, 8, 10}),
    ],
)
async def test_which_tasks_have_lenses_is_the_clients_choice(
    editor: InProcessEditor, view: View, tasks: TaskLenses, lines: set[int]
) -> None:
    running(view)
    editor.options = EditorOptions(lens=LensOptions(tasks=tasks))
    assert {line for line, *_ in told(await ask(editor, open_plan(editor, view)))} == lines


async def test_lenses_can_be_switched_off(editor: InProcessEditor, view: View) -> None:
    editor.options = EditorOptions(lens=LensOptions(enabled=False))
    assert await ask(editor, open_plan(editor, view)) == []


async def test_a_decide_file_shows_what_became_of_its_answer(
    editor: InProcessEditor, view: View
) -> None:
    asks(view)
    uri = editor.open(view.decide_path, "which?\n---\n## Answer\nthis\n")
    assert told(await ask(editor, uri)) == [(0, "save to answer", "", None)]


async def test_a_further_plan_is_started_by_its_name(editor: InProcessEditor, view: View) -> None:
    editor.views.further = {"other.md"}
    running(view)
    editor.options = EditorOptions(lens=LensOptions(tasks=TaskLenses.ALL))
    uri = editor.open(view.root / "other.md", "- [ ] a\n")
    found = {title: arguments[0] for _, title, _, arguments in told(await ask(editor, uri))}
    assert found["Start loop"] == {"workspace": view.uri, "plan": "other.md"}
    assert found["Run only this task"]["plan"] == "other.md"


async def test_other_documents_have_none(editor: InProcessEditor, view: View) -> None:
    uri = editor.open(view.root / "README.md", PLAN)
    assert await ask(editor, uri) is None


@pytest.mark.slow
class TestRefresh:
    async def test_a_visible_change_asks_for_a_refresh(
        self, editor: InProcessEditor, view: View
    ) -> None:
        await ask(editor, open_plan(editor, view))
        running(view)
        editor.views.change(view)
        editor.reply(await editor.told(REFRESH))

    async def test_a_change_that_nobody_sees_is_not(
        self, editor: InProcessEditor, view: View
    ) -> None:
        uri = open_plan(editor, view)
        running(view)
        await ask(editor, uri)
        await editor.quiet()
        editor.views.change(view)
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_many_changes_are_few_requests(self, editor: InProcessEditor, view: View) -> None:
        uri = open_plan(editor, view)
        await ask(editor, uri)
        running(view)
        editor.views.change(view)
        request = await editor.told(REFRESH)
        for number in range(50):
            (asks if number % 2 else running)(view)
            editor.views.change(view)
            await asyncio.sleep(0)
        asks(view)
        editor.views.change(view)
        editor.reply(request)
        editor.reply(await editor.told(REFRESH))
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_a_client_without_refresh_support_gets_no_refresh(self, view: View) -> None:
        editor = InProcessEditor(Views([view]))
        await editor.initialize(NEOVIM)
        await ask(editor, open_plan(editor, view))
        running(view)
        editor.views.change(view)
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_a_closed_document_is_not_asked_for_again(
        self, editor: InProcessEditor, view: View
    ) -> None:
        uri = open_plan(editor, view)
        await ask(editor, uri)
        editor.close(uri)
        running(view)
        editor.views.change(view)
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_another_work_tree_changes_nothing(
        self, editor: InProcessEditor, view: View
    ) -> None:
        await ask(editor, open_plan(editor, view))
        running(view)
        editor.views.change(View(view.root.parent))
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_a_full_minute_asks_for_a_refresh_and_time_alone_no_oftener(
        self, editor: InProcessEditor, view: View
    ) -> None:
        running(view)
        state = view.now.state
        assert state is not None
        assert state.at is not None
        # The next minute is full in a twentieth of a second.
        editor.views.time = state.at + timedelta(seconds=59.95 - state.active_seconds % 60)
        await ask(editor, open_plan(editor, view))
        editor.views.time += timedelta(seconds=1)
        editor.reply(await editor.told(REFRESH))

    async def test_no_time_runs_while_somebody_is_waited_for(self, view: View) -> None:
        assert next_minute(view.now, NOON) is None
        running(view)
        assert view.now.state is not None
        at = NOON + timedelta(minutes=2)
        assert next_minute(view.now, at) == pytest.approx(60.05)
        assert next_minute(view.now, at + timedelta(seconds=59)) == pytest.approx(1.05)
        for live in (True, False):
            asks(view, live=live)
            assert next_minute(view.now, at) is None

    async def test_a_client_that_never_answers_is_asked_again(
        self, editor: InProcessEditor, view: View, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refresh, "ANSWER_PATIENCE", 0.01)
        await ask(editor, open_plan(editor, view))
        running(view)
        editor.views.change(view)
        await editor.told(REFRESH)
        asks(view)
        editor.views.change(view)
        editor.reply(await editor.told(REFRESH))
