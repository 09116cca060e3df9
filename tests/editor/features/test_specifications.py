"""Specifications: an active one whose tasks are all done is reported, with a quick fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editor.sample_workspace import ask, desk_on, open_file, span, work_tree

pytestmark = pytest.mark.asyncio

CODE = "spec-active-with-all-tasks-done"
INDEX = (
    "# Index\n\n## Active Specifications\n\n### Login (login.md)\n- **Status:** Active\n\n"
    "## Implemented Specifications\n\n### Pay (pay.md)\n"
)


@pytest.mark.parametrize(
    ("name", "where"),
    [("specs/login.md", (1, 0, 1, 14)), ("specs/README.md", (4, 0, 4, 20))],
)
async def test_it_is_reported_where_it_says_active_and_the_fix_changes_both_files(
    tmp_path: Path, name: str, where: tuple[int, int, int, int]
) -> None:
    (tmp_path / "w").mkdir()
    view = work_tree(tmp_path / "w")
    (view.root / "specs/README.md").write_text(INDEX, encoding="utf-8")
    editor = await desk_on(view)
    uri = open_file(editor, view, name)
    (shown,) = (await editor.published(uri))["diagnostics"]
    assert (shown["code"], shown["severity"], span(shown["range"])) == (CODE, 2, where)
    assert "run its tests, and if they pass" in shown["message"]

    asking = {"range": shown["range"], "context": {"diagnostics": [shown]}}
    (action,) = await ask(editor, "codeAction", uri, **asking)
    assert action["title"] == "Mark login.md as implemented (its tests pass)"
    changed = {
        one["textDocument"]["uri"].rpartition("/")[2]: "".join(
            edit["newText"] for edit in one["edits"]
        )
        for one in action["edit"]["documentChanges"]
    }
    assert set(changed) == {"login.md", "README.md"}
    assert changed["login.md"].startswith("status: implemented\n")
    assert "updated: " in changed["login.md"]
    assert (
        "### Login (login.md)\n- **Status:** Implemented\n- **Completed:** "
        in (changed["README.md"])
    )


async def test_remarks_go_with_the_document_and_the_fix_with_its_remark(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    view = work_tree(tmp_path / "w")
    editor = await desk_on(view)
    uri = open_file(editor, view, "specs/login.md")
    (shown,) = (await editor.published(uri))["diagnostics"]
    asking = {"range": shown["range"], "context": {"diagnostics": []}}
    assert await ask(editor, "codeAction", uri, **asking) == []
    refactor = {**asking, "context": {"diagnostics": [shown], "only": ["refactor"]}}
    assert await ask(editor, "codeAction", uri, **refactor) is None
    editor.close(uri)
    assert (await editor.published(uri))["diagnostics"] == []
