"""Completions as a client gets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.editor.in_process_editor import InProcessEditor, Message, View, Views
from tests.editor.sample_workspace import PLAN, at, desk_on, open_file, span, work_tree

SNIPPET = 2

pytestmark = pytest.mark.asyncio


@pytest.fixture
def view(tmp_path: Path) -> View:
    return work_tree(tmp_path)


async def complete(editor: InProcessEditor, uri: str, line: int, character: int) -> list[Message]:
    found = await editor.request("textDocument/completion", at(uri, line, character))
    assert not found["isIncomplete"]
    items: list[Message] = found["items"]
    assert [one["sortText"] for one in items] == sorted(one["sortText"] for one in items)
    return items


@pytest.mark.parametrize(
    ("encodings", "cursor"),
    [(["utf-8"], 24), (["utf-16"], 20), (["utf-32"], 19), ([], 20)],
)
async def test_tasks_are_offered_where_the_client_counts_them(
    view: View, encodings: list[str], cursor: int
) -> None:
    editor = await desk_on(view, encodings=encodings)
    uri = open_file(editor, view, "@fix_plan.md", f"{PLAN}- [ ] Last\n  - Needs: 日,🚀, US-\n")
    items = await complete(editor, uri, PLAN.count("\n") + 1, cursor)
    assert [one["label"] for one in items][-1] == "US-001"
    [first] = [one for one in items if one["label"] == "US-001"]
    assert (first["tags"], first["kind"]) == ([1], 18)
    assert first["detail"] == "見積もり 🚀 see specs/login.md (done · P0)"
    assert first["textEdit"]["newText"] == "US-001"
    assert span(first["textEdit"]["range"])[1::2] == (cursor - len("US-"), cursor)


async def test_what_is_typed_a_moment_ago_is_known(view: View) -> None:
    editor = await desk_on(view)
    uri = open_file(editor, view, "@fix_plan.md")
    editor.type(uri, 2, 0, "- [ ] NEW-1: Fresh\n- [ ] Then\n  - After: \n")
    items = await complete(editor, uri, 2, 11)
    assert items[0]["label"] == "NEW-1"


async def test_tags_front_matter_and_specifications(view: View) -> None:
    editor = await desk_on(view)
    plan = open_file(editor, view, "@fix_plan.md", "- [ ] [\n- [ ] specs/\n")
    [blocked] = [one for one in await complete(editor, plan, 0, 7) if "BLOCKED" in one["label"]]
    assert blocked["textEdit"]["newText"] == "[BLOCKED] "
    assert blocked["insertTextFormat"] == SNIPPET
    unsaved = open_file(editor, view, "specs/new.md", "---\n\nstatus: \ndependencies: \n---\n")
    labels = [one["label"] for one in await complete(editor, plan, 1, 12)]
    assert labels == ["specs/login.md", "specs/new.md", "specs/pay.md"]
    assert [one["label"] for one in await complete(editor, unsaved, 1, 0)] == [
        "created",
        "updated",
        "tags",
        "supersedes",
    ]
    statuses = await complete(editor, unsaved, 2, 8)
    assert [one["label"] for one in statuses][:2] == ["active", "implemented"]
    names = await complete(editor, unsaved, 3, 14)
    assert [one["label"] for one in names] == ["login.md", "pay.md"]


@pytest.mark.parametrize("able", [True, False])
async def test_a_title_is_where_the_client_can_show_it(view: View, *, able: bool) -> None:
    editor = InProcessEditor(Views([view]))
    item: dict[str, Any] = {"labelDetailsSupport": True} if able else {}
    document = {"completion": {"completionItem": item}} if able else {}
    await editor.request("initialize", {"capabilities": {"textDocument": document}})
    editor.notify("initialized", {})
    uri = open_file(editor, view, "@fix_plan.md", "- [x] US-1: a\n- [ ] b\n  - Needs: \n")
    [found] = await complete(editor, uri, 2, 11)
    assert found.keys().isdisjoint({"tags", "insertTextFormat"})
    shown = (found.get("detail"), (found.get("labelDetails") or {}).get("description"))
    assert shown == ((None, "a (done)") if able else ("a (done)", None))


async def test_what_would_mean_something_in_a_snippet_is_kept(view: View) -> None:
    (view.root / "specs/a $1}.md").write_text("", encoding="utf-8")
    editor = await desk_on(view)
    uri = open_file(editor, view, "@fix_plan.md", "specs/\n")
    [found] = [one for one in await complete(editor, uri, 0, 6) if "$" in one["label"]]
    assert found["textEdit"]["newText"] == "specs/a \\$1\\}.md"


async def test_much_is_offered_in_parts(view: View) -> None:
    editor = await desk_on(view)
    tasks = "".join(f"- [ ] US-{number}: Do\n" for number in range(300))
    uri = open_file(editor, view, "@fix_plan.md", f"{tasks}- [ ] x\n  - Needs: \n")
    found = await editor.request("textDocument/completion", at(uri, 301, 11))
    assert (found["isIncomplete"], len(found["items"])) == (True, 200)


async def test_without_a_plan_or_elsewhere(view: View) -> None:
    view.plan = None
    editor = await desk_on(view)
    spec = open_file(editor, view, "specs/login.md", "---\nstatus: \n---\n")
    assert await complete(editor, spec, 1, 8) != []
    assert await complete(editor, spec, 99, 8) == []
    readme = open_file(editor, view, "README.md", "- [")
    assert await editor.request("textDocument/completion", at(readme, 0, 3)) is None


async def test_a_checklist_continues_on_a_new_line(view: View) -> None:
    editor = await desk_on(view)
    text = f"{PLAN}1. [ ] 🚀 Last\n"
    uri, line = open_file(editor, view, "@fix_plan.md", text), text.count("\n")

    async def typed() -> Any:
        params = {**at(uri, line, 0), "ch": "\n", "options": {"tabSize": 2, "insertSpaces": True}}
        return await editor.request("textDocument/onTypeFormatting", params)

    [edit] = await typed()
    assert (span(edit["range"]), edit["newText"]) == ((line, 0, line, 0), "2. [ ] ")
    editor.type(uri, 2, line, "Words\n")
    line += 1
    assert await typed() == []
