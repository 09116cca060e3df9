"""Which work trees a server has open: by folders, by documents, several, none, and gone ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editor.conftest import StartEditor
from tests.editor.editor_client import Editor
from tests.editor.scripted_run import NEXT_RUN, RUN, made_run
from tests.engine.project_builder import git, make_repository

pytestmark = pytest.mark.slow


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "one")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "two", ["Another task"])


def change_folders(editor: Editor, *, added: list[Path], removed: list[Path]) -> None:
    def named(folders: list[Path]) -> list[dict[str, str]]:
        return [{"uri": folder.as_uri(), "name": folder.name} for folder in folders]

    event = {"added": named(added), "removed": named(removed)}
    editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})


async def titles(editor: Editor, **params: object) -> list[str]:
    state = await editor.request("ralph/state", params)
    return [row["title"] for row in state["plan"]["tasks"]]


class TestFolders:
    async def test_each_has_its_own_run(self, edit: StartEditor, one: Path, two: Path) -> None:
        editor = await edit(one, two)
        await editor.subscribe(workspace=one.as_uri())
        await editor.subscribe(workspace=two.as_uri())
        with made_run(one) as first, made_run(two, NEXT_RUN) as second:
            first.notes(1)
            second.notes(2)
            await editor.event("noteAdded", seq=3, run=RUN)
            await editor.event("noteAdded", seq=4, run=NEXT_RUN)
        told = {(each["workspace"], each["run"]) for each in editor.all_told("ralph/event")}
        assert told == {(one.as_uri(), RUN), (two.as_uri(), NEXT_RUN)}

    async def test_one_of_several_has_to_be_named(
        self, edit: StartEditor, one: Path, two: Path
    ) -> None:
        editor = await edit(one, two)
        assert await titles(editor, workspace=two.as_uri()) == ["Another task"]
        refused = await editor.refusal("ralph/state")
        assert refused.data == {"code": "workspace-missing"}
        assert one.as_uri() in refused.message
        assert two.as_uri() in refused.message

    async def test_one_that_is_not_open_is_refused(self, edit: StartEditor, one: Path) -> None:
        editor = await edit(one)
        for uri in ("file:///nowhere", "untitled:new", (one / "sub").as_uri()):
            for name in ("state", "subscribe", "stop"):
                refused = await editor.refusal(f"ralph/{name}", {"workspace": uri})
                assert (refused.code, refused.data) == (-32803, {"code": "workspace-missing"})
                assert f"the folder {uri} is not open here" in refused.message

    async def test_they_come_and_go(self, edit: StartEditor, one: Path, two: Path) -> None:
        editor = await edit(one)
        await editor.subscribe()
        change_folders(editor, added=[two], removed=[one])
        assert await titles(editor) == ["Another task"]
        refused = await editor.refusal("ralph/state", {"workspace": one.as_uri()})
        assert "is not open here" in refused.message
        with made_run(one) as run:
            run.notes(1)
            change_folders(editor, added=[one], removed=[two])
            await editor.subscribe()
            await editor.event("noteAdded")

    async def test_one_that_is_no_repository_says_what_to_do_and_may_become_one(
        self, edit: StartEditor, tmp_path: Path
    ) -> None:
        folder = tmp_path / "plain"
        folder.mkdir()
        editor = await edit(folder)
        for params in ({}, {"workspace": folder.as_uri()}):
            refused = await editor.refusal("ralph/start", params)
            assert refused.data == {"code": "workspace-missing"}
            assert refused.message == (
                f"{folder} is not in a git work tree; open your repository, or create one with "
                "git init"
            )
        make_repository(folder)
        assert await titles(editor) == ["First task"]

    async def test_none_at_all_says_so(self, edit: StartEditor) -> None:
        editor = await edit()
        refused = await editor.refusal("ralph/state")
        assert "no git work tree is open" in refused.message

    async def test_one_inside_of_a_work_tree_means_that(self, edit: StartEditor, one: Path) -> None:
        (one / "sub").mkdir()
        (one / "link").symlink_to(one / "sub")
        editor = await edit(one / "sub", one / "link")
        assert await titles(editor) == ["First task"]
        for folder in (one, one / "sub", one / "link"):
            assert await titles(editor, workspace=folder.as_uri()) == ["First task"]
        state = await editor.request("ralph/state")
        assert state["plan"]["uri"].endswith("/one/%40fix_plan.md")

    async def test_two_of_one_work_tree_are_reported_as_one(
        self, edit: StartEditor, one: Path
    ) -> None:
        sub = one / "sub"
        sub.mkdir()
        editor = await edit(one, sub)
        for folder in (one, sub):
            begun = await editor.subscribe(workspace=folder.as_uri())
            assert begun["workspace"] == one.as_uri()
        with made_run(one) as run:
            run.notes(1)
            await editor.event("noteAdded")
            assert {each["workspace"] for each in editor.all_told("ralph/event")} == {one.as_uri()}
            # The one that it is named by goes: the loop is reported by the other's name.
            change_folders(editor, added=[], removed=[one])
            begun = await editor.subscribe(workspace=sub.as_uri(), afterSeq=3)
            assert begun["workspace"] == sub.as_uri()
            run.notes(1)
            event = await editor.event("noteAdded", seq=4)
            assert event["text"]
        assert editor.all_told("ralph/event")[-1]["workspace"] == sub.as_uri()

    async def test_a_linked_work_tree_is_a_separate_one(
        self, edit: StartEditor, one: Path, tmp_path: Path
    ) -> None:
        linked = tmp_path / "linked"
        git(one, "worktree", "add", "-q", str(linked))
        editor = await edit(one, linked)
        await editor.subscribe(workspace=linked.as_uri())
        with made_run(linked) as run:
            run.notes(1)
            await editor.event("noteAdded")
        assert "run" not in await editor.request("ralph/state", {"workspace": one.as_uri()})


class TestDocuments:
    async def test_a_plan_that_no_folder_named_opens_its_work_tree(
        self, edit: StartEditor, one: Path
    ) -> None:
        with made_run(one):
            editor = await edit()
            editor.open(one / "@fix_plan.md")
            assert await titles(editor) == ["First task"]
            state = await editor.request("ralph/state", {"workspace": one.as_uri()})
            assert state["run"]["run"] == RUN

    async def test_any_other_document_opens_nothing(
        self, edit: StartEditor, one: Path, tmp_path: Path
    ) -> None:
        (one / "README.md").write_text("# Read me\n", encoding="utf-8")
        (tmp_path / "alone.md").write_text("- [ ] a\n", encoding="utf-8")
        editor = await edit()
        editor.open(one / "README.md")
        editor.open(tmp_path / "alone.md")
        refused = await editor.refusal("ralph/state")
        assert "no git work tree is open" in refused.message

    async def test_the_open_text_is_the_plan(self, edit: StartEditor, one: Path) -> None:
        editor = await edit(one)
        editor.open(one / "@fix_plan.md", "- [ ] Not saved yet\n")
        assert await titles(editor) == ["Not saved yet"]

    async def test_further_plans_are_found_where_the_options_name_them(
        self, edit: StartEditor, one: Path
    ) -> None:
        (one / "@fix_plan.md").unlink()
        (one / "docs").mkdir()
        (one / "docs/TODO.md").write_text("- [ ] Far away\n", encoding="utf-8")
        editor = await edit(one, options={"planFiles": ["docs/*.md", "/absolute"]})
        assert await titles(editor) == ["Far away"]
        state = await editor.request("ralph/state")
        assert state["plan"]["path"] == "docs/TODO.md"

    async def test_settings_say_where_the_plan_is(self, edit: StartEditor, one: Path) -> None:
        (one / "todo.md").write_text("- [ ] Elsewhere\n", encoding="utf-8")
        editor = await edit(one)
        await editor.subscribe(view=True)
        assert await titles(editor) == ["First task"]
        (one / ".ralph").mkdir()
        config = one / ".ralph/config.toml"
        config.write_text('[paths]\nplan = "todo.md"\n', encoding="utf-8")
        await editor.view(lambda state: state["plan"]["path"] == "todo.md")
        so_far = len(editor.told)
        config.write_text("[paths", encoding="utf-8")
        await editor.view(lambda state: state["plan"]["path"] == "@fix_plan.md", since=so_far)
        assert "config.toml:1: " in editor.log()
