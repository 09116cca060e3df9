"""Semantic tokens as a client gets them, and when it is asked to get them again."""

from __future__ import annotations

import pytest

from ralph_ls.editor.features.semantic_tokens import MODIFIERS, TYPES
from ralph_ls.protocol.run.values import Phase
from tests.editor.in_process_editor import NEOVIM, InProcessEditor, View, Views, picture_of
from tests.unit.core.views.document_contexts import CHOOSE, PLAN, READ, begins, phase, started

pytestmark = pytest.mark.asyncio

REFRESH = "workspace/semanticTokens/refresh"


async def looks(editor: InProcessEditor, uri: str) -> list[tuple[int, int, int, str, list[str]]]:
    """Line, start, length, type and modifiers of each token."""
    params = {"textDocument": {"uri": uri}}
    data = (await editor.request("textDocument/semanticTokens/full", params))["data"]
    found, line, start = [], 0, 0
    for at in range(0, len(data), 5):
        below, after, length, kind, bits = data[at : at + 5]
        line, start = line + below, after + (0 if below else start)
        names = [name for nth, name in enumerate(MODIFIERS) if bits >> nth & 1]
        found.append((line, start, length, TYPES[kind].value, names))
    return found


async def test_each_state_has_a_colour_of_every_theme(editor: InProcessEditor, view: View) -> None:
    view.now = picture_of([started(), begins(1, CHOOSE), phase(Phase.RUNNING)])
    assert view.plan_path is not None
    found = await looks(editor, editor.open(view.plan_path, PLAN))
    assert found[0] == (READ, 6, 12, "comment", ["deprecated", "done"])
    assert (CHOOSE, 6, 25, "function", ["current"]) in found
    assert {(kind, *names) for *_, kind, names in found} == {
        ("comment", "deprecated", "done"),
        ("function", "current"),
        ("keyword", "blocked"),
    }


@pytest.mark.parametrize(("encoding", "length"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
async def test_lengths_are_in_the_units_of_the_client(
    view: View, encoding: str, length: int
) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(encodings=[encoding])
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, "- [x] 🚀 é\n")
    assert [one[:3] for one in await looks(editor, uri)] == [(0, 6, length)]


async def test_a_client_is_asked_to_look_again_when_the_run_changes(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(NEOVIM)
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    await looks(editor, uri)
    view.now = picture_of([started(), begins(1, CHOOSE), phase(Phase.RUNNING)])
    editor.views.change(view)
    editor.reply(await editor.told(REFRESH))
    assert (CHOOSE, 6, 25, "function", ["current"]) in await looks(editor, uri)


async def test_other_documents_have_none(editor: InProcessEditor, view: View) -> None:
    uri = editor.open(view.root / "README.md", PLAN)
    params = {"textDocument": {"uri": uri}}
    assert await editor.request("textDocument/semanticTokens/full", params) is None
