"""Lesson files: problems at their lines, and decisions as code actions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.lessons.lesson_files import digest_of, lesson_folders, write_accepted
from tests.editor.in_process_editor import InProcessEditor, View, Views
from tests.editor.sample_workspace import ask, work_tree

pytestmark = pytest.mark.asyncio

LESSON = "---\nscope: everywhere\n---\n\n# Red\n\nGreen fails.\n"
ACCEPT, REJECT = "Accept this lesson into prompts", "Reject this lesson"
REMOVE = "Remove this lesson"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


class Desk:
    """An editor with a work tree, and the folders of its lessons."""

    def __init__(self, folder: Path) -> None:
        (folder / "tree").mkdir()
        self.view: View = work_tree(folder / "tree")
        root = self.view.root
        git = root / ".git"
        self.state = StateFolder(folder=folder / "state" / "worktrees" / "a")
        worktree = Worktree(root=root, git_dir=git, common_dir=git)
        self.view.folders = cast(Any, SimpleNamespace(worktree=worktree, state=self.state))
        views = Views([self.view])
        views.environment = {
            "RALPH_STATE_DIR": str(folder / "state"),
            "RALPH_LESSONS_DIR": str(folder / "own"),
        }
        self.own = folder / "own"
        self.folders = lesson_folders(views.environment, worktree, self.state)
        self.editor = InProcessEditor(views)

    async def actions(self, path: Path, text: str = LESSON) -> dict[str, Any]:
        """The arguments of the actions on this file, by title."""
        write(path, LESSON)
        uri = self.editor.open(path, text)
        where = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
        found = await ask(self.editor, "codeAction", uri, range=where, context={"diagnostics": []})
        return {one["title"]: one["command"]["arguments"][0] for one in found or ()}


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path)
    await made.editor.initialize()
    return made


async def test_each_place_has_its_actions(desk: Desk) -> None:
    assert list(await desk.actions(desk.own / "red.md")) == [ACCEPT, REMOVE]
    proposed = desk.state.folder / "lessons" / "red.md"
    assert list(await desk.actions(proposed)) == [ACCEPT, REJECT]
    in_tree = desk.view.root / ".ralph" / "lessons" / "red.md"
    assert list(await desk.actions(in_tree)) == [ACCEPT, REMOVE]
    for other in ("notes/red.md", "docs/lessons/red.md", ".ralph/lessons/deep/red.md"):
        assert await desk.actions(desk.view.root / other) == {}


async def test_the_hash_is_that_of_the_text_in_the_editor(desk: Desk) -> None:
    found = await desk.actions(desk.own / "red.md", f"{LESSON}More.\n")
    assert found[ACCEPT] == {
        "workspace": desk.view.uri,
        "path": str(desk.own / "red.md"),
        "action": "accept",
        "sha256": digest_of(f"{LESSON}More.\n".encode()),
    }


async def test_what_is_accepted_is_only_removed(desk: Desk) -> None:
    write_accepted(desk.folders.record, {"red": digest_of(LESSON.encode())})
    assert list(await desk.actions(desk.own / "red.md")) == [REMOVE]


async def test_problems_are_at_their_lines(desk: Desk) -> None:
    text = "---\nscope: everywere\n{}\n---\n\n# 漢字\n"
    path = desk.own / "red.md"
    write(path, text)
    uri = desk.editor.open(path, text)
    found = (await desk.editor.published(uri))["diagnostics"]
    assert [(one["range"]["start"]["line"], one["code"]) for one in found] == [
        (2, "lesson-invalid"),
        (0, "lesson-invalid"),
    ]
    assert found[1]["message"] == "unknown scope 'everywere'; did you mean everywhere?"
