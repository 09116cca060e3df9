"""Hovers as a client gets them: markdown with links, or plain words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editor.in_process_editor import (
    VS_CODE,
    InProcessEditor,
    Message,
    View,
    Views,
    picture_of,
    run_files,
)
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    PLAN,
    READ,
    ROUND,
    begins,
    ends,
    reports,
    shows,
    started,
)

pytestmark = pytest.mark.asyncio


@pytest.fixture
def view(tmp_path: Path) -> View:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
    view = View((tmp_path / "w").resolve())
    files = run_files(tmp_path / "run")
    files.output(1, 1, "out").write_text("said", encoding="utf-8")
    view.now = picture_of(
        [
            started(),
            begins(1, READ),
            reports(1, STATUS="IN_PROGRESS"),
            shows(1, files=2, commit=COMMIT, done=(READ,)),
            ends(1),
        ],
        run_files=files,
    )
    return view


async def ask(view: View, line: int, *, capabilities: str | None = VS_CODE) -> Message | None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(capabilities)
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    position = {"line": line, "character": 0}
    params = {"textDocument": {"uri": uri}, "position": position}
    found: Message | None = await editor.request("textDocument/hover", params)
    return found


async def test_the_first_line_answers_the_questions_about_a_run_and_shows_what_happened_lately(
    view: View,
) -> None:
    hover = await ask(view, 0)
    assert hover is not None
    headings = [line.split("**")[1] for line in hover["contents"]["value"].splitlines()]
    answered = ["Running", "Doing", "Last change", "Needs you", "Next"]
    assert headings == [*answered, "Recently"]
    assert "**Next**: nothing; it continues on its own" in hover["contents"]["value"]


async def test_a_task_leads_to_the_output_of_its_agent(view: View) -> None:
    hover = await ask(view, READ)
    assert hover is not None
    assert hover["contents"]["kind"] == "markdown"
    text = hover["contents"]["value"]
    assert text.startswith("**Read the law**\n\n- State: done")
    assert view.now.run_files is not None
    output = view.now.run_files.output(1, 1, "out").as_uri()
    assert text.splitlines()[-1] == f"[output of iteration 1](<{output}>)"


async def test_a_client_without_markdown_gets_the_words(view: View) -> None:
    hover = await ask(view, READ, capabilities=None)
    assert hover is not None
    assert hover["contents"]["kind"] == "plaintext"
    assert hover["contents"]["value"].startswith("Read the law\n\n- State: done")
    assert "(<" not in hover["contents"]["value"]


async def test_a_task_that_nobody_tried_leads_nowhere(view: View) -> None:
    hover = await ask(view, CHOOSE)
    assert hover is not None
    assert "](<" not in hover["contents"]["value"]


async def test_a_note_of_a_task_shows_its_task(view: View) -> None:
    hover = await ask(view, ROUND + 1)
    assert hover is not None
    assert hover["contents"]["value"].startswith("**Round half a cent up**")


async def test_between_the_tasks_there_is_nothing(view: View) -> None:
    assert await ask(view, 1) is None


async def test_other_documents_have_none(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize()
    uri = editor.open(view.root / "README.md", PLAN)
    params = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
    assert await editor.request("textDocument/hover", params) is None
