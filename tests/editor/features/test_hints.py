"""Inlay hints as a client gets them, and when it is asked to request them again."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.editor.push import refresh
from ralph_ls.protocol.lsp.options import EditorOptions, InlayHintOptions
from ralph_ls.protocol.run.events import EvidenceGathered, IterationStarted
from ralph_ls.protocol.run.values import Baseline, Evidence, TaskRef
from tests.editor.in_process_editor import (
    NEOVIM,
    VS_CODE,
    InProcessEditor,
    Message,
    View,
    Views,
    picture_of,
)
from tests.unit.core.views.document_contexts import (
    COMMIT,
    PLAN,
    READ,
    ROUND,
    RUN,
    begins,
    event,
    shows,
    started,
)

pytestmark = pytest.mark.asyncio

REFRESH = "workspace/inlayHint/refresh"
WHOLE = (0, 99)


def open_plan(editor: InProcessEditor, view: View, text: str = PLAN) -> str:
    assert view.plan_path is not None
    return editor.open(view.plan_path, text)


async def ask(editor: InProcessEditor, uri: str, lines: tuple[int, int] = WHOLE) -> list[Message]:
    first, last = lines
    part = {
        "start": {"line": first, "character": 0},
        "end": {"line": last, "character": 0},
    }
    found: list[Message] = await editor.request(
        "textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": part}
    )
    return found


def finished(view: View, *lines: int) -> None:
    """A run did the tasks on these lines, one an iteration; the first with a commit."""
    events: list[Any] = [started()]
    for number, line in enumerate(lines, start=1):
        commit = COMMIT if number == 1 else None
        events += [begins(number, line), shows(number, files=1, commit=commit, done=(line,))]
    view.now = picture_of(events)


def places(found: list[Message]) -> list[tuple[int, int]]:
    return [(hint["position"]["line"], hint["position"]["character"]) for hint in found]


async def test_a_client_of_any_kind_gets_plain_text(editor: InProcessEditor, view: View) -> None:
    finished(view, READ)
    assert await ask(editor, open_plan(editor, view)) == [
        {
            "position": {"line": READ, "character": len("- [x] Read the law")},
            "label": "done in #1 · abc1234",
            "tooltip": f"Done in iteration 1, commit {COMMIT}",
            "paddingLeft": True,
        }
    ]


async def test_a_client_with_its_own_commands_opens_the_commit(
    editor: InProcessEditor, view: View
) -> None:
    editor.options = EditorOptions(command_prefix="ralphLoop.lens")
    finished(view, READ, ROUND)
    text = PLAN.replace("- [ ] **Round**", "- [x] **Round**")
    read, rounded = await ask(editor, open_plan(editor, view, text))
    [part] = read["label"]
    assert part["value"] == "done in #1 · abc1234"
    assert part["command"] == {
        "title": "Open Commit",
        "command": "ralphLoop.lens.openCommit",
        "arguments": [{"workspace": view.uri, "run": RUN, "start": 1, "commit": COMMIT}],
    }
    assert rounded["label"] == "done in #2"


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
async def test_a_place_is_counted_as_the_client_counts(
    view: View, encoding: str, units: int
) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(VS_CODE, encodings=[encoding])
    assigned = TaskRef(id=title_id("Feed the 🦀"), title="Feed the 🦀")
    evidence = Evidence(files=1, tasks_done=(assigned.id,), progress=True)
    begun = event(IterationStarted, iteration=1, task=assigned, baseline=Baseline())
    view.now = picture_of(
        [started(), begun, event(EvidenceGathered, iteration=1, evidence=evidence)]
    )
    uri = open_plan(editor, view, "- [x] Feed the 🦀\n")
    assert places(await ask(editor, uri)) == [(0, len("- [x] Feed the ") + units)]


async def test_only_those_of_the_part_that_is_shown_are_sent(
    editor: InProcessEditor, view: View
) -> None:
    finished(view, READ, ROUND)
    uri = open_plan(editor, view, PLAN.replace("- [ ] **Round**", "- [x] **Round**"))
    assert [line for line, _ in places(await ask(editor, uri, (0, READ)))] == []
    assert [line for line, _ in places(await ask(editor, uri, (READ, ROUND)))] == [READ]
    assert [line for line, _ in places(await ask(editor, uri, (ROUND, 99)))] == [ROUND]


async def test_hints_can_be_switched_off(editor: InProcessEditor, view: View) -> None:
    editor.options = EditorOptions(inlay_hints=InlayHintOptions(enabled=False))
    finished(view, READ)
    assert await ask(editor, open_plan(editor, view)) == []


async def test_other_documents_have_none(editor: InProcessEditor, view: View) -> None:
    assert await ask(editor, editor.open(view.root / "README.md", PLAN)) is None


@pytest.mark.slow
class TestRefresh:
    @pytest.fixture
    async def editor(self, view: View) -> InProcessEditor:
        """The available capabilities of VS Code are older than hints."""
        editor = InProcessEditor(Views([view]))
        await editor.initialize(NEOVIM)
        return editor

    async def test_a_task_that_becomes_done_asks_for_a_refresh(
        self, editor: InProcessEditor, view: View
    ) -> None:
        await ask(editor, open_plan(editor, view))
        finished(view, READ)
        editor.views.change(view)
        editor.reply(await editor.told(REFRESH))

    async def test_it_asks_for_a_refresh_though_the_client_asked_for_another_part(
        self, editor: InProcessEditor, view: View
    ) -> None:
        await ask(editor, open_plan(editor, view), (0, 1))
        finished(view, READ)
        editor.views.change(view)
        editor.reply(await editor.told(REFRESH))

    async def test_a_change_that_nobody_sees_is_not(
        self, editor: InProcessEditor, view: View
    ) -> None:
        uri = open_plan(editor, view)
        finished(view, READ)
        await ask(editor, uri)
        editor.views.change(view)
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_a_client_without_refresh_support_gets_no_refresh(self, view: View) -> None:
        editor = InProcessEditor(Views([view]))
        await editor.initialize(None)
        await ask(editor, open_plan(editor, view))
        finished(view, READ)
        editor.views.change(view)
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_a_closed_document_is_not_asked_for_again(
        self, editor: InProcessEditor, view: View
    ) -> None:
        uri = open_plan(editor, view)
        await ask(editor, uri)
        editor.close(uri)
        finished(view, READ)
        editor.views.change(view)
        await editor.quiet()
        assert [m for m in editor.sent if m.get("method") == REFRESH] == []

    async def test_a_client_that_never_answers_is_asked_again(
        self, editor: InProcessEditor, view: View, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(refresh, "ANSWER_PATIENCE", 0.01)
        await ask(editor, open_plan(editor, view))
        finished(view, READ)
        editor.views.change(view)
        await editor.told(REFRESH)
        view.now = picture_of([started()])
        editor.views.change(view)
        editor.reply(await editor.told(REFRESH))
