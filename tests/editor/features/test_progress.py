"""Runs as work-done progress: begun, told on, ended; only for clients that want it.

That cancelling it stops a run is shown with a real one, in ``test_feature_server``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.editor.features import progress
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.run.events import EventBase, QuestionAsked, RunEnded
from ralph_ls.protocol.run.values import EndReason, Phase
from tests.editor.in_process_editor import VS_CODE, Desk, Message, View, Views, picture_of
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
) -> Desk:
    desk = Desk(Views([view]), options)
    await desk.initialize(capabilities)
    return desk


WORKING = (started(), begins(1, CHOOSE), phase(Phase.RUNNING))


def show(desk: Desk, view: View, *events: EventBase, **fields: Any) -> None:
    view.now = picture_of(events, **fields)
    desk.views.change(view)


async def told(desk: Desk) -> list[dict[str, Any]]:
    """Every value of the progress so far."""
    await desk.quiet()
    values = [m["params"]["value"] for m in desk.sent if m.get("method") == "$/progress"]
    desk.sent.clear()
    return values


def begin(message: str, **more: Any) -> Message:
    title = f"Ralph: run {RUN}"
    return {"kind": "begin", "title": title, "cancellable": True, "message": message, **more}


async def test_a_run_from_its_beginning_to_its_end(view: View) -> None:
    desk = await make_desk(view)
    show(desk, view, started())
    assert await told(desk) == [begin("starting")]
    show(desk, view, *WORKING)
    message = "iteration 1 of 20 · Choose the storage engine"
    assert await told(desk) == [{"kind": "report", "cancellable": True, "message": message}]
    show(desk, view, *WORKING)
    assert await told(desk) == []
    question = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    show(desk, view, *WORKING, question, phase(Phase.PARKED, "decide"))
    [report] = await told(desk)
    assert report["message"] == "iteration 1 of 20 · waits for an answer to: which?"
    end = event(RunEnded, reason=EndReason.LIMIT, exit_code=1, message="1 of 1 used up")
    show(desk, view, *WORKING, ends(1), end)
    assert await told(desk) == [{"kind": "end", "message": "limit: 1 of 1 used up"}]
    desk.views.change(view)
    assert await told(desk) == []


async def test_a_dead_engine_ends_it(view: View) -> None:
    desk = await make_desk(view)
    show(desk, view, *WORKING)
    await told(desk)
    show(desk, view, *WORKING, live=False, phase=Phase.CRASHED)
    assert await told(desk) == [{"kind": "end", "message": "its engine is gone"}]


async def test_the_next_run_is_another_work(view: View) -> None:
    desk = await make_desk(view)
    show(desk, view, *WORKING)
    await told(desk)
    state = view.now.state
    assert state is not None
    follower = state.model_copy(update={"run": "20260131T130000Z-0a1b"})
    view.now = replace(view.now, state=follower)
    desk.views.change(view)
    values = await told(desk)
    assert [value["kind"] for value in values] == ["end", "begin"]
    assert "message" not in values[0]


async def test_a_work_tree_that_goes_takes_it_away(view: View) -> None:
    desk = await make_desk(view)
    show(desk, view, *WORKING)
    await told(desk)
    desk.views.views = []
    desk.views.change(view)
    assert await told(desk) == [{"kind": "end"}]


async def test_a_finished_run_shows_nothing(view: View) -> None:
    desk = await make_desk(view)
    show(desk, view, *WORKING, live=False, phase=Phase.CRASHED)
    show(desk, view)
    assert await told(desk) == []


async def test_a_client_may_not_want_it(view: View) -> None:
    desk = await make_desk(view, EditorOptions(progress=False))
    show(desk, view, *WORKING)
    assert await told(desk) == []


async def test_a_client_that_cannot_show_it_is_not_asked(view: View) -> None:
    desk = await make_desk(view, capabilities=None)
    show(desk, view, *WORKING)
    await desk.quiet()
    assert desk.sent == []


async def test_where_nothing_may_be_changed_it_cannot_be_cancelled(view: View) -> None:
    desk = await make_desk(view, EditorOptions(read_only=True))
    show(desk, view, *WORKING)
    [value] = await told(desk)
    assert value["cancellable"] is False


async def test_a_client_that_refuses_is_not_asked_again_for_that_run(view: View) -> None:
    desk = await make_desk(view)
    desk.shows_progress = False
    show(desk, view, *WORKING)
    request = await desk.told(CREATE)
    desk.refuse(request)
    show(desk, view, *WORKING, ends(1))
    assert await told(desk) == []
    assert desk.sent == []


async def test_an_unknown_token_cancels_nothing(view: View) -> None:
    desk = await make_desk(view)
    show(desk, view, *WORKING)
    await told(desk)
    desk.notify("window/workDoneProgress/cancel", {"token": "another"})
    assert await told(desk) == []
