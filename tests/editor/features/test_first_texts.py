"""What people write for a loop, in the real server: all that helps them, in plain LSP.

Each feature has separate tests; here it is asked over a pipe, in a folder that nobody trusts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.editor_client import NEOVIM, Editor
from tests.editor.sample_workspace import at, span
from tests.engine.ralph_runner import Project

pytestmark = pytest.mark.slow

PLAN, DONE = "IMPLEMENTATION_PLAN.md", "docs/DONE.md"
TEXT = "# Plan\n- [x] US-001: Read specs/login.md\n- [ ] Pay\n  - Blocked by: US-001\n"
SPEC = "---\nstatus: active\ntags: [US-001]\n---\n# Login\n"
CONFIG = 'profile = "spec"\nagent = "demo"\n\n[paths]\nprogress = "docs/DONE.md"\n'


async def ask(editor: Editor, method: str, uri: str, **more: Any) -> Any:
    params = {"textDocument": {"uri": uri}, **more}
    return await editor.request(f"textDocument/{method}", params)


@pytest.fixture
def plan(loops: Project) -> Path:
    loops.plan(
        files={
            PLAN: TEXT,
            DONE: "# Done\n- [x] US-001: Read\n",
            "specs/login.md": SPEC,
            ".ralph/config.toml": CONFIG,
        }
    )
    return loops.file(PLAN)


async def test_a_client_gets_the_capabilities(edit: StartEditor, plan: Path) -> None:
    editor = await edit(plan.parent, capabilities=NEOVIM)
    able = editor.capabilities
    assert able["completionProvider"]["triggerCharacters"] == ["[", ":", ",", "/", " "]
    assert able["renameProvider"] == {"prepareProvider": True}
    for name in (
        "documentSymbol",
        "workspaceSymbol",
        "foldingRange",
        "documentLink",
        "definition",
        "references",
        "documentHighlight",
    ):
        assert able[f"{name}Provider"] not in (None, False), name


async def test_all_of_it_works_where_nobody_trusts_the_folder(
    edit: StartEditor, plan: Path
) -> None:
    editor = await edit(plan.parent, options={"readOnly": True})
    uri = editor.open(plan)
    spec = editor.open(plan.parent / "specs/login.md")
    [section] = await ask(editor, "documentSymbol", uri)
    assert [one["name"] for one in section["children"]] == ["US-001 Read specs/login.md", "Pay"]
    folds = await ask(editor, "foldingRange", spec)
    assert (folds[0]["startLine"], folds[0]["endLine"]) == (0, 3)
    links = await ask(editor, "documentLink", uri)
    assert [one["target"] for one in links] == [spec, f"{uri}#L2"]
    found = await ask(editor, "completion", uri, position={"line": 3, "character": 16})
    assert [one["label"] for one in found["items"]] == ["US-001"]
    task = await ask(editor, "definition", spec, position={"line": 2, "character": 8})
    assert (task["uri"], span(task["range"])) == (uri, (1, 6, 1, 33))
    edited = await editor.request("textDocument/rename", {**at(spec, 2, 8), "newName": "PAY-7"})
    assert [
        (Path(one["textDocument"]["uri"]).name, len(one["edits"]))
        for one in edited["documentChanges"]
    ] == [(PLAN, 2), ("DONE.md", 1), ("login.md", 1)]
    [symbol] = await editor.request("workspace/symbol", {"query": "pay"})
    assert symbol["location"]["uri"] == uri
