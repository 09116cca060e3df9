"""Runs as work-done progress: begun, updated, ended; only for clients that want it.

That cancelling it stops a run is shown with a real one, in ``tests.editor.server``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.editor.features import progress
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.run.events import EventBase, QuestionAsked, RunEnded
from ralph_ls.protocol.run.values import EndReason, Phase, PlanCountsView
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
    NOON,
    RUN,
    begins,
    ends,
    event,
    phase,
    started,
)

pytestmark = pytest.mark.asyncio

CREATE = "window/workDoneProgress/create"


@pytest.fixture(autouse=True)
def _without_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHORTEST_REST", 0.0)


@pytest.fixture
def view(tmp_path: Path) -> View:
    return View(tmp_path.resolve())


async def make_desk(
    view: View, options: EditorOptions | None = None, capabilities: str | None = VS_CODE
) -> InProcessEditor:
    editor = InProcessEditor(Views([view]), options)
    await editor.initialize(capabilities)
    return editor


WORKING = (started(), begins(1, CHOOSE), phase(Phase.RUNNING))


def show(editor: InProcessEditor, view: View, *events: EventBase, **fields: Any) -> None:
    view.now = picture_of(events, **fields)
    editor.views.change(view)


async def told(editor: InProcessEditor) -> list[dict[str, Any]]:
    """Every value of the progress so far."""
    await editor.quiet()
    values = [m["params"]["value"] for m in editor.sent if m.get("method") == "$/progress"]
    editor.sent.clear()
    return values


def begin(message: str, **more: Any) -> Message:
    title = f"Ralph: run {RUN}"
    return {"kind": "begin", "title": title, "cancellable": True, "message": message, **more}


async def test_a_run_from_its_beginning_to_its_end(view: View) -> None:
    editor = await make_desk(view)
    show(editor, view, started())
    assert await told(editor) == [begin("starting")]
    show(editor, view, *WORKING)
    message = "iteration 1 of 20 · Choose the storage engine"
    assert await told(editor) == [{"kind": "report", "cancellable": True, "message": message}]
    show(editor, view, *WORKING)
    assert await told(editor) == []
    question = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    show(editor, view, *WORKING, question, phase(Phase.PARKED, "decide"))
    [report] = await told(editor)
    assert report["message"] == "iteration 1 of 20 · waits for an answer to: which?"
    end = event(RunEnded, reason=EndReason.LIMIT, exit_code=1, message="1 of 1 used up")
    show(editor, view, *WORKING, ends(1), end)
    assert await told(editor) == [{"kind": "end", "message": "limit: 1 of 1 used up"}]
    editor.views.change(view)
    assert await told(editor) == []


async def test_a_dead_engine_ends_it(view: View) -> None:
    editor = await make_desk(view)
    show(editor, view, *WORKING)
    await told(editor)
    show(editor, view, *WORKING, live=False, phase=Phase.CRASHED)
    assert await told(editor) == [{"kind": "end", "message": "its engine is gone"}]


async def test_the_next_run_is_another_work(view: View) -> None:
    editor = await make_desk(view)
    show(editor, view, *WORKING)
    await told(editor)
    state = view.now.state
    assert state is not None
    follower = state.model_copy(update={"run": "20260131T130000Z-0a1b"})
    view.now = replace(view.now, state=follower)
    editor.views.change(view)
    values = await told(editor)
    assert [value["kind"] for value in values] == ["end", "begin"]
    assert "message" not in values[0]


async def test_a_work_tree_that_goes_takes_it_away(view: View) -> None:
    editor = await make_desk(view)
    show(editor, view, *WORKING)
    await told(editor)
    editor.views.views = []
    editor.views.change(view)
    assert await told(editor) == [{"kind": "end"}]


async def test_a_finished_run_shows_nothing(view: View) -> None:
    editor = await make_desk(view)
    show(editor, view, *WORKING, live=False, phase=Phase.CRASHED)
    show(editor, view)
    assert await told(editor) == []


async def test_a_client_may_not_want_it(view: View) -> None:
    editor = await make_desk(view, EditorOptions(progress=False))
    show(editor, view, *WORKING)
    assert await told(editor) == []


async def test_a_client_that_cannot_show_it_is_not_asked(view: View) -> None:
    editor = await make_desk(view, capabilities=None)
    show(editor, view, *WORKING)
    await editor.quiet()
    assert editor.sent == []


async def test_where_nothing_may_be_changed_it_cannot_be_cancelled(view: View) -> None:
    editor = await make_desk(view, EditorOptions(read_only=True))
    show(editor, view, *WORKING)
    [value] = await told(editor)
    assert value["cancellable"] is False


async def test_a_client_that_refuses_is_not_asked_again_for_that_run(view: View) -> None:
    editor = await make_desk(view)
    editor.shows_progress = False
    show(editor, view, *WORKING)
    request = await editor.told(CREATE)
    editor.refuse(request)
    show(editor, view, *WORKING, ends(1))
    assert await told(editor) == []
    assert editor.sent == []


async def test_an_unknown_token_cancels_nothing(view: View) -> None:
    editor = await make_desk(view)
    show(editor, view, *WORKING)
    await told(editor)
    editor.notify("window/workDoneProgress/cancel", {"token": "another"})
    assert await told(editor) == []


async def test_it_says_how_much_is_done_and_what_it_cost(view: View) -> None:
    editor = await make_desk(view)
    view.now = picture_of(WORKING)

    def show_counts(done: int, required: int, cost: float) -> None:
        assert view.now.state is not None
        counts = PlanCountsView(required=required, required_done=done)
        state = view.now.state.model_copy(update={"counts": counts})
        known = replace(view.now.history, cost_usd=cost)
        view.now = replace(view.now, state=state, history=known)
        editor.views.change(view)

    shown = []
    for done, required, cost in ((1, 4, 0.5), (2, 4, 0.5), (2, 8, 1.25), (8, 8, 1.25)):
        show_counts(done, required, cost)
        shown += [
            (value["percentage"], value["message"].rpartition(" · ")[2])
            for value in await told(editor)
        ]
    # A plan that grows takes nothing back.
    assert shown == [(25, "$0.50"), (50, "$0.50"), (50, "$1.25"), (100, "$1.25")]
