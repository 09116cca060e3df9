"""Lessons in an editor: listed, decided on by request, by code action and by command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.store.lessons.lesson_files import user_folder
from tests.editor.conftest import StartEditor
from tests.editor.editor_client import Editor
from tests.engine.project_builder import make_repository

pytestmark = pytest.mark.slow

LESSON = "---\nscope: everywhere\n---\n\n# Use the red button\n\nThe green one does nothing.\n"


def lesson_of_user(name: str = "button") -> Path:
    path = user_folder(os.environ) / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LESSON, encoding="utf-8")
    return path


async def actions(editor: Editor, uri: str, **context: Any) -> dict[str, Any]:
    """The commands of the code actions on the first line, by title."""
    where = {"line": 0, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": where, "end": where},
        "context": {"diagnostics": [], **context},
    }
    found = await editor.request("textDocument/codeAction", params)
    return {one["title"]: one["command"] for one in found or ()}


async def test_a_lesson_is_accepted_and_removed_by_its_code_actions(
    edit: StartEditor, tmp_path: Path
) -> None:
    path = lesson_of_user()
    editor = await edit(make_repository(tmp_path / "here", ["A task"]))
    uri = editor.open(path, LESSON)
    offered = await actions(editor, uri)
    assert list(offered) == ["Accept this lesson into prompts", "Remove this lesson"]
    accept = offered["Accept this lesson into prompts"]
    done = await editor.command(accept["command"].removeprefix("ralph."), *accept["arguments"])
    assert done["lessons"] == ["button"]
    (shown,) = (await editor.request("ralph/lessons"))["lessons"]
    assert (shown["status"], shown["place"]) == ("accepted", "user")
    offered = await actions(editor, uri, only=["source.ralph.lesson"])
    assert list(offered) == ["Remove this lesson"]
    remove = offered["Remove this lesson"]
    await editor.command(remove["command"].removeprefix("ralph."), *remove["arguments"])
    assert not path.exists()
    assert await actions(editor, uri) == {}


async def test_what_is_not_saved_is_not_accepted(edit: StartEditor, tmp_path: Path) -> None:
    path = lesson_of_user()
    editor = await edit(make_repository(tmp_path / "here", ["A task"]))
    uri = editor.open(path, f"{LESSON}More.\n")
    accept = (await actions(editor, uri))["Accept this lesson into prompts"]
    refused = await editor.refusal("ralph/decideLesson", accept["arguments"][0])
    assert "the lesson button changed since it was shown" in refused.message
    unnamed = {"action": "accept", "path": str(path)}
    assert "sha256" in (await editor.refusal("ralph/decideLesson", unnamed)).message


async def test_nothing_is_decided_in_a_folder_that_is_not_trusted(
    edit: StartEditor, tmp_path: Path
) -> None:
    path = lesson_of_user()
    here = make_repository(tmp_path / "here", ["A task"])
    editor = await edit(here, options={"readOnly": True})
    (shown,) = (await editor.request("ralph/lessons"))["lessons"]
    order = {"action": "accept", "path": str(path), "sha256": shown["sha256"]}
    for method, params in (("ralph/decideLesson", order), ("ralph/learn", {})):
        assert (await editor.refusal(method, params)).data == {"code": "read-only"}


async def test_learning_without_a_history_proposes_nothing(
    edit: StartEditor, tmp_path: Path
) -> None:
    editor = await edit(make_repository(tmp_path / "here", ["A task"]))
    learned = await editor.command("learn")
    assert (learned["runs"], learned["proposals"]) == (0, [])
