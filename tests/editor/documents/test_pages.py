"""Texts are looked over once, and those that were looked at long ago are forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.core.views.document.page import Page
from ralph_ls.editor.documents.project_documents import (
    CACHED_DOCUMENTS,
    ProjectContext,
    ProjectDocument,
    ProjectDocuments,
)
from tests.editor.in_process_editor import InProcessEditor, View
from tests.editor.sample_workspace import desk_on, open_file, work_tree

pytestmark = pytest.mark.asyncio


@pytest.fixture
def view(tmp_path: Path) -> View:
    return work_tree(tmp_path)


def pages_of(editor: InProcessEditor) -> ProjectDocuments:
    """As each feature makes its own."""
    return ProjectDocuments(editor.server, editor.views, editor.documents)


def page(shown: ProjectDocument) -> Page:
    return shown.page


@pytest.mark.parametrize("name", ["@fix_plan.md", "specs/login.md", "PROGRESS.md"])
async def test_a_text_is_looked_over_once_for_all_features(view: View, name: str) -> None:
    editor = await desk_on(view)
    uri = open_file(editor, view, name)
    first = await pages_of(editor).read(uri, page)
    assert first is not None
    assert await pages_of(editor).read(uri, page) is first
    assert await pages_of(editor).read_around(uri, lambda around: around.here.page) is first
    editor.type(uri, 2, 0, "x")
    after = await pages_of(editor).read(uri, page)
    assert after is not None
    assert after.text == f"x{first.text}"


async def test_what_was_done_is_read_once_for_all_features_too(view: View) -> None:
    editor = await desk_on(view)
    uri = open_file(editor, view, "@fix_plan.md")

    def done(around: ProjectContext) -> Page | None:
        return None if around.progress is None else around.progress.page

    first = await pages_of(editor).read_around(uri, done)
    assert first is not None
    assert await pages_of(editor).read_around(uri, done) is first


async def test_pages_of_long_ago_are_forgotten(view: View) -> None:
    editor = await desk_on(view)
    uri = open_file(editor, view, "specs/login.md")
    first = await pages_of(editor).read(uri, page)
    for number in range(CACHED_DOCUMENTS):
        other = open_file(editor, view, f"specs/{number}.md", "# Other\n")
        await pages_of(editor).read(other, page)
    assert await pages_of(editor).read(uri, page) is not first
