"""A file beyond the limits of a plan: one diagnostic that says so, and nothing else of it."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ralph_ls.core.plan.model import LARGEST_PLAN, MOST_LINES
from ralph_ls.editor.push.diagnostics import MAX_DIAGNOSTICS
from tests.editor.in_process_editor import InProcessEditor, View

pytestmark = pytest.mark.asyncio

LARGE = "- [ ] task\n" * (LARGEST_PLAN // 11 + 1)
LONG = "- [ ] a\n" * (MOST_LINES + 1)
SMALL = "- [ ] Write it\n- [!] Pay for it\n"
TOO_LARGE = "this file is larger than 16 MB, so it is not read"
TOO_LONG = "this file is longer than 100,000 lines, so it is not read"

WHERE = {"line": 0, "character": 8}
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 50, "character": 0}}
REQUESTS: dict[str, dict[str, Any]] = {
    "codeAction": {"range": RANGE, "context": {"diagnostics": []}},
    "codeLens": {},
    "completion": {"position": WHERE},
    "definition": {"position": WHERE},
    "documentLink": {},
    "documentSymbol": {},
    "foldingRange": {},
    "hover": {"position": WHERE},
    "inlayHint": {"range": RANGE},
    "prepareRename": {"position": WHERE},
    "references": {"position": WHERE, "context": {"includeDeclaration": True}},
}


async def answers(editor: InProcessEditor, uri: str) -> dict[str, Any]:
    """What of a file is shown, by request; nothing of what is empty."""
    document = {"textDocument": {"uri": uri}}
    found: dict[str, Any] = {}
    for name, params in REQUESTS.items():
        answer = await editor.answer(f"textDocument/{name}", {**document, **params})
        if answer.get("result"):
            found[name] = answer["result"]
    return found


async def only_diagnostic(editor: InProcessEditor, uri: str) -> str:
    (one,) = (await editor.published(uri))["diagnostics"]
    assert (one["code"], one["severity"]) == ("file-not-read", 1)
    assert one["range"] == {
        "start": {"line": 0, "character": 0},
        "end": {"line": 0, "character": 0},
    }
    return str(one["message"])


@pytest.mark.parametrize(
    ("text", "why"), [(LARGE, TOO_LARGE), (LONG, TOO_LONG)], ids=["large", "long"]
)
async def test_of_an_open_one_there_is_one_diagnostic_and_nothing_else(
    editor: InProcessEditor, view: View, text: str, why: str
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, text)
    assert await only_diagnostic(editor, uri) == why
    assert await answers(editor, uri) == {}


async def test_one_that_grows_beyond_the_limit_and_back_is_shown_again(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, SMALL)
    assert "file-not-read" not in str(await editor.published(uri))
    editor.type(uri, 2, 1, LONG)
    assert await only_diagnostic(editor, uri) == TOO_LONG
    editor.type(uri, 3, 50_000, "more of it\n")
    assert await only_diagnostic(editor, uri) == TOO_LONG
    assert await answers(editor, uri) == {}
    taken = {"start": {"line": 1, "character": 0}, "end": {"line": MOST_LINES + 3, "character": 0}}
    editor.notify(
        "textDocument/didChange",
        {
            "textDocument": {"uri": uri, "version": 4},
            "contentChanges": [{"range": taken, "text": ""}],
        },
    )
    assert "file-not-read" not in str(await editor.published(uri))
    shown = await answers(editor, uri)
    assert [one["name"] for one in shown["documentSymbol"]] == ["Write it", "Pay for it"]


@pytest.mark.parametrize(
    ("there", "why"),
    [
        ("large", "@fix_plan.md is larger than 16 MB; make it smaller, or remove it"),
        ("long", TOO_LONG),
        (
            "pipe",
            (
                "@fix_plan.md is a named pipe, not a regular file; remove it, or replace it with a "
                "file"
            ),
        ),
        (
            "device",
            "@fix_plan.md is a device, not a regular file; remove it, or replace it with a file",
        ),
    ],
)
async def test_one_on_the_disk_is_reported_too(
    editor: InProcessEditor, view: View, there: str, why: str
) -> None:
    path = view.plan_path
    assert path is not None
    path.unlink(missing_ok=True)
    if there == "pipe":
        os.mkfifo(path)
    elif there == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_text(LARGE if there == "large" else LONG, encoding="utf-8")
    editor.views.change(view)
    assert (await only_diagnostic(editor, path.as_uri())).endswith(why)
    assert await answers(editor, path.as_uri()) == {}


async def test_the_other_documents_are_answered_meanwhile(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    editor.open(view.plan_path, LARGE)
    view.decide_path.parent.mkdir(exist_ok=True)
    decide = editor.open(view.decide_path, "Which one?\n")
    assert (
        await editor.request("textDocument/codeLens", {"textDocument": {"uri": decide}}) is not None
    )


async def test_of_many_diagnostics_the_worst_are_shown(editor: InProcessEditor, view: View) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, "- [ ] again\n" * (MAX_DIAGNOSTICS + 10) + "- [!] Pay\n")
    found = (await editor.published(uri))["diagnostics"]
    assert len(found) == MAX_DIAGNOSTICS + 1
    assert found[-1]["code"] == "more-diagnostics"
    assert found[-1]["message"].endswith("more diagnostics in this file are not shown")
    assert "task-blocked" in {one["code"] for one in found}
