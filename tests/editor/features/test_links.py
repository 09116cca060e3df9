"""Links as a client gets them: only to what is there, and never out of the work tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editor.in_process_editor import InProcessEditor, View, Views
from tests.editor.sample_workspace import ask, desk_on, open_file, span, work_tree

pytestmark = pytest.mark.asyncio

LINK = "documentLink"


@pytest.fixture
def view(tmp_path: Path) -> View:
    (tmp_path / "w").mkdir()
    return work_tree(tmp_path / "w")


async def links(editor: InProcessEditor, uri: str) -> list[tuple[tuple[int, int, int, int], str]]:
    found = await ask(editor, LINK, uri)
    return [(span(one["range"]), one["target"].rpartition("/")[2]) for one in found]


@pytest.mark.parametrize(
    ("encodings", "login", "first"),
    [
        (["utf-8"], (39, 53), (21, 27)),
        (["utf-16"], (29, 43), (19, 25)),
        (["utf-32"], (28, 42), (18, 24)),
    ],
)
async def test_a_plan_leads_to_specifications_and_to_the_tasks_that_it_names(
    view: View, encodings: list[str], login: tuple[int, int], first: tuple[int, int]
) -> None:
    editor = await desk_on(view, encodings=encodings)
    uri = open_file(editor, view, "@fix_plan.md")
    found = await ask(editor, LINK, uri)
    assert found[0]["target"] == (view.root / "specs/login.md").as_uri()
    assert span(found[0]["range"]) == (2, login[0], 2, login[1])
    meant = [one for one in found if one["range"]["start"]["line"] == 4]
    assert span(meant[0]["range"]) == (4, first[0], 4, first[1])
    assert meant[0]["target"] == f"{uri}#L3"
    assert meant[0]["tooltip"] == "US-001 見積もり 🚀 see specs/login.md"
    assert [one["target"].rpartition("#")[2] for one in meant] == ["L3", "L10"]


async def test_front_matter_and_what_was_done_lead_to_the_plan_and_to_each_other(
    view: View,
) -> None:
    editor = await desk_on(view, encodings=["utf-16"])
    assert await links(editor, open_file(editor, view, "specs/login.md")) == [
        ((2, 11, 2, 17), "%40fix_plan.md#L3"),
        ((3, 15, 3, 21), "pay.md"),
    ]
    assert await links(editor, open_file(editor, view, "PROGRESS.md")) == []


async def test_nothing_leads_out_of_the_work_tree(view: View) -> None:
    (view.root.parent / "secret.md").write_text("x", encoding="utf-8")
    (view.root / "out.md").symlink_to(view.root.parent / "secret.md")
    (view.root / "in.md").symlink_to(view.root / "specs/pay.md")
    text = f"out.md in.md ../secret.md {view.root.parent}/secret.md [a](../secret.md) specs gone.md"
    editor = await desk_on(view)
    uri = open_file(editor, view, "@fix_plan.md", f"{text} {'x' * 300}.md\n")
    assert await links(editor, uri) == [((0, 7, 0, 12), "in.md")]


async def test_a_link_may_name_a_place_in_a_file_and_be_quoted(view: View) -> None:
    (view.root / "a b.txt").write_text("x", encoding="utf-8")
    editor = await desk_on(view)
    uri = open_file(editor, view, "@fix_plan.md", "[a](a%20b.txt#L2) pay.md#税 [b](<pay.md>)\n")
    targets = [target for _, target in await links(editor, uri)]
    assert targets == ["a%20b.txt#L2", "pay.md#%E7%A8%8E", "pay.md"]


async def test_a_file_that_is_open_is_called_as_the_client_calls_it(view: View) -> None:
    editor = await desk_on(view)
    pay = (view.root / "specs/pay.md").as_uri().replace("pay", "%70ay")
    editor.open(view.root / "specs/pay.md", "", uri=pay)
    uri = open_file(editor, view, "@fix_plan.md", "pay.md\n")
    [link] = await ask(editor, LINK, uri)
    assert link["target"] == pay


async def test_without_a_plan_files_are_linked_all_the_same(view: View) -> None:
    view.plan = None
    editor = InProcessEditor(Views([view]))
    await editor.initialize(None)
    uri = open_file(editor, view, "specs/login.md")
    assert await links(editor, uri) == [((3, 15, 3, 21), "pay.md")]
    assert await ask(editor, LINK, open_file(editor, view, "README.md", "specs/pay.md")) is None
    gone = (view.root / "specs/gone.md").as_uri()
    assert await ask(editor, LINK, gone) is None
