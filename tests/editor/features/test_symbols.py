"""Symbols and folds as a client gets them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.editor.documents.loop_documents import SMALL_TEXT
from tests.editor.in_process_editor import NEOVIM, InProcessEditor, Message, View, Views
from tests.editor.sample_workspace import PLAN, ask, desk_on, open_file, span, work_tree

pytestmark = pytest.mark.asyncio

SYMBOLS, FOLDS = "documentSymbol", "foldingRange"


@pytest.fixture
def view(tmp_path: Path) -> View:
    return work_tree(tmp_path)


def tree(found: list[Message]) -> list[object]:
    return [(one["name"], *tree(one["children"])) for one in found]


@pytest.mark.parametrize(
    ("encodings", "end"),
    [(["utf-8"], 53), (["utf-16"], 43), (["utf-32"], 42), ([], 43)],
)
async def test_a_plan_is_a_tree_whose_places_are_the_clients(
    view: View, encodings: list[str], end: int
) -> None:
    editor = await desk_on(view, encodings=encodings)
    [plan] = await ask(editor, SYMBOLS, open_file(editor, view, "@fix_plan.md"))
    assert tree([plan]) == [
        (
            "計画 🚀",
            (
                "High Priority",
                ("US-001 見積もり 🚀 see specs/login.md",),
                ("🚀 US-002: Pay", ("Inner",)),
                ("US-002 Twice",),
            ),
        )
    ]
    law = plan["children"][0]["children"][0]
    assert (law["detail"], law["tags"], law["kind"]) == ("done · P0", [1], 24)
    assert span(law["selectionRange"]) == (2, 6, 2, end)
    assert span(law["range"]) == (2, 0, 2, end)
    assert "tags" not in plan["children"][0]["children"][1]


async def test_specifications_and_what_was_done_have_symbols_too(view: View) -> None:
    editor = await desk_on(view)
    login = open_file(editor, view, "specs/login.md")
    done = open_file(editor, view, "PROGRESS.md")
    assert tree(await ask(editor, SYMBOLS, login)) == [("Login",)]
    assert tree(await ask(editor, SYMBOLS, done)) == [
        ("Done", ("US-001 見積もり (US-009)",), ("US-009 🚀",))
    ]


async def test_a_client_without_trees_gets_a_list(view: View) -> None:
    editor = await desk_on(view, capabilities=None)
    uri = open_file(editor, view, "@fix_plan.md")
    found = await ask(editor, SYMBOLS, uri)
    assert [(one["name"], one.get("containerName")) for one in found][:3] == [
        ("計画 🚀", None),
        ("High Priority", "計画 🚀"),
        ("US-001 見積もり 🚀 see specs/login.md", "High Priority · done · P0"),
    ]
    assert {one["location"]["uri"] for one in found} == {uri}


async def test_what_is_typed_is_seen_and_what_is_closed_is_as_saved(view: View) -> None:
    editor = await desk_on(view)
    for name in ("@fix_plan.md", "specs/pay.md"):
        uri = open_file(editor, view, name)
        editor.type(uri, 2, 0, "# New\n")
        assert (await ask(editor, SYMBOLS, uri))[0]["name"] in {"New", "計画 🚀"}
        assert "New" in str(await ask(editor, SYMBOLS, uri))
        editor.close(uri)
        assert "New" not in str(await ask(editor, SYMBOLS, uri))


async def test_a_big_specification_is_looked_over_beside_the_loop(view: View) -> None:
    editor = await desk_on(view)
    text = f"# Part\n{'long ' * 100}\n" * 50
    assert len(text) > SMALL_TEXT
    assert len(await ask(editor, SYMBOLS, open_file(editor, view, "specs/pay.md", text))) == 50


async def test_other_documents_have_none(view: View) -> None:
    editor = await desk_on(view)
    (view.root / "specs/archive").mkdir()
    for name in ("README.md", "specs/archive/old.md", ".ralph/decide.txt", "specs/gone.md"):
        uri = (view.root / name).as_uri()
        if name != "specs/gone.md":
            editor.open(view.root / name, PLAN)
        assert await ask(editor, SYMBOLS, uri) is None
    elsewhere = editor.open(view.root.parent / "specs" / "x.md", PLAN)
    assert await ask(editor, SYMBOLS, elsewhere) is None


async def test_a_nested_work_tree_has_its_own_files(view: View, tmp_path: Path) -> None:
    (view.root / "specs/inner").mkdir()
    inner = View(view.root / "specs/inner", plan=None)
    editor = InProcessEditor(Views([view, inner]))
    await editor.initialize()
    uri = open_file(editor, inner, "login.md", "# Not ours\n")
    assert await ask(editor, SYMBOLS, uri) is None
    uri = open_file(editor, inner, "specs/login.md", "# Theirs\n")
    assert tree(await ask(editor, SYMBOLS, uri)) == [("Theirs",)]


async def test_tasks_are_found_in_the_plans_of_all_work_trees(view: View, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    editor = InProcessEditor(Views([view, View(other.resolve(), plan=None)]))
    await editor.initialize()

    async def names(query: str) -> list[str]:
        found = await editor.request("workspace/symbol", {"query": query})
        return [one["name"] for one in found]

    assert await names("us-002") == ["🚀 US-002: Pay", "US-002 Twice"]
    assert await names("TWICE us") == ["US-002 Twice"]
    assert await names("High") == []
    assert len(await names("")) == 4


async def test_sections_tasks_and_fences_can_be_folded(view: View) -> None:
    editor = await desk_on(view, capabilities=NEOVIM)
    found = await ask(editor, FOLDS, open_file(editor, view, "@fix_plan.md"))
    lines = [(one["startLine"], one["endLine"]) for one in found]
    assert lines == [(0, 9), (1, 9), (3, 5), (6, 8)]
    [matter, login] = await ask(editor, FOLDS, open_file(editor, view, "specs/login.md"))
    assert matter == {"startLine": 0, "endLine": 4, "kind": "region"}
    assert login == {"startLine": 5, "endLine": 6}


async def test_a_client_that_takes_few_folds_gets_the_longest(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    able = {"textDocument": {"foldingRange": {"rangeLimit": 2}}}
    await editor.request("initialize", {"capabilities": able})
    editor.notify("initialized", {})
    found = await ask(editor, FOLDS, open_file(editor, view, "@fix_plan.md"))
    assert [(one["startLine"], one["endLine"]) for one in found] == [(0, 9), (1, 9)]


async def test_a_selection_grows_in_the_clients_columns(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-16"])
    uri = open_file(editor, view, "@fix_plan.md")
    places = [{"line": 2, "character": 8}, {"line": 99, "character": 0}]
    found, nowhere = await ask(editor, "selectionRange", uri, positions=places)
    assert span(found["range"]) == (2, 6, 2, 43)
    assert span(found["parent"]["range"]) == (2, 0, 2, 43)
    assert span(found["parent"]["parent"]["range"])[:2] == (1, 0)
    assert (span(nowhere["range"]), nowhere.get("parent")) == ((99, 0, 99, 0), None)


async def test_other_files_have_no_selections(view: View) -> None:
    editor = await desk_on(view)
    (view.root / "notes.txt").write_text("- [ ] One\n", encoding="utf-8")
    uri = open_file(editor, view, "notes.txt")
    assert await ask(editor, "selectionRange", uri, positions=[{"line": 0, "character": 0}]) is None
