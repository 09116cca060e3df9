"""Ids of tasks in a client: where they lead, where they occur, and renaming them everywhere.

That a rename is an answer where a question waits is shown in ``test_rename``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.decide_file import format_decide, read_halt_files
from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.protocol.run.events import QuestionAsked
from ralph_ls.protocol.run.values import Phase, TaskRef
from tests.editor.in_process_editor import InProcessEditor, Message, View, Views, picture_of
from tests.editor.sample_workspace import (
    LOGIN,
    PLAN,
    PROGRESS,
    ask,
    at,
    desk_on,
    open_file,
    span,
    work_tree,
)
from tests.unit.core.views.document_contexts import NOON, begins, event, phase, started

pytestmark = pytest.mark.asyncio

REQUEST_FAILED = -32803
OWN, MEANT = 3, 2


@pytest.fixture
def view(tmp_path: Path) -> View:
    return work_tree(tmp_path)


async def rename(editor: InProcessEditor, uri: str, line: int, character: int, name: str) -> Any:
    params = {**at(uri, line, character), "newName": name}
    return await editor.request("textDocument/rename", params)


async def prepare(editor: InProcessEditor, uri: str, line: int, character: int) -> Any:
    return await editor.request("textDocument/prepareRename", at(uri, line, character))


async def refusal(editor: InProcessEditor, uri: str, line: int, character: int, name: str) -> str:
    params = {**at(uri, line, character), "newName": name}
    error: Message = (await editor.answer("textDocument/rename", params))["error"]
    assert error["code"] == REQUEST_FAILED
    message: str = error["message"]
    return message


def spans(edit: Message) -> list[tuple[str, int | None, list[tuple[int, int, int, int]]]]:
    """Name, version and ranges of each document that an edit changes."""
    return [
        (
            change["textDocument"]["uri"].rpartition("/")[2],
            change["textDocument"]["version"],
            [span(one["range"]) for one in change["edits"]],
        )
        for change in edit["documentChanges"]
    ]


def change(text: str, edits: list[Message]) -> str:
    """A text of ASCII and what UTF-32 counts, with edits of single lines."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda one: span(one["range"]), reverse=True):
        line, start, _, end = span(edit["range"])
        lines[line] = f"{lines[line][:start]}{edit['newText']}{lines[line][end:]}"
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("encodings", "meant", "tag"),
    [
        (["utf-8"], (21, 27), (13, 19)),
        (["utf-16"], (19, 25), (11, 17)),
        (["utf-32"], (18, 24), (10, 16)),
    ],
)
async def test_an_id_is_renamed_everywhere_at_once(
    view: View, encodings: list[str], meant: tuple[int, int], tag: tuple[int, int]
) -> None:
    editor = await desk_on(view, encodings=encodings)
    plan = open_file(editor, view, "@fix_plan.md")
    edit = await rename(editor, plan, 4, meant[1], "PAY-7")
    assert spans(edit) == [
        ("%40fix_plan.md", 1, [(2, 8, 2, 14), (4, meant[0], 4, meant[1])]),
        ("PROGRESS.md", None, [(1, 6, 1, 12)]),
        ("login.md", None, [(2, tag[0], 2, tag[1])]),
    ]


async def test_the_renamed_files_say_the_same_of_the_new_id(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-32"])
    plan = open_file(editor, view, "@fix_plan.md")
    spec = open_file(editor, view, "specs/login.md")
    edit = await rename(editor, spec, 2, 12, "PAY-7")
    texts = {"%40fix_plan.md": PLAN, "PROGRESS.md": PROGRESS, "login.md": LOGIN}
    assert [name for name, _, _ in spans(edit)] == [*texts]
    for one in edit["documentChanges"]:
        name = one["textDocument"]["uri"].rpartition("/")[2]
        after = change(texts[name], one["edits"])
        # In fences, and in the text of a specification, it may be anything.
        kept = {"%40fix_plan.md": 1, "PROGRESS.md": 0, "login.md": 1}[name]
        assert after.count("US-001") == kept
        assert len(after) - len(texts[name]) == after.count("PAY-7") * (
            len("PAY-7") - len("US-001")
        )
    assert {one["textDocument"]["version"] for one in edit["documentChanges"]} == {1, None}
    assert plan.endswith("%40fix_plan.md")


async def test_a_rename_begins_with_the_old_id(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-16"])
    plan = open_file(editor, view, "@fix_plan.md")
    found = await prepare(editor, plan, 4, 27)
    assert (span(found["range"]), found["placeholder"]) == ((4, 27, 4, 33), "us-002")
    assert await prepare(editor, plan, 5, 8) is None
    assert await prepare(editor, plan, 7, 2) is None


async def test_what_is_not_saved_yet_is_renamed_too(view: View) -> None:
    editor = await desk_on(view)
    plan = open_file(editor, view, "@fix_plan.md")
    done = open_file(editor, view, "PROGRESS.md", "US-001 and US-001\n")
    editor.type(done, 2, 0, "US-001\n")
    edit = await rename(editor, plan, 2, 9, "PAY-7")
    [progress] = [one for one in spans(edit) if one[0] == "PROGRESS.md"]
    assert progress[1:] == (2, [(0, 0, 0, 6), (1, 0, 1, 6), (1, 11, 1, 17)])
    assert done in {one["textDocument"]["uri"] for one in edit["documentChanges"]}


async def test_a_second_task_with_the_id_gets_a_new_one(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-32"])
    plan = open_file(editor, view, "@fix_plan.md", "- [ ] A-1: a\n- [ ] A-1: b\nA-1\n")
    assert spans(await rename(editor, plan, 1, 7, "A-2"))[0][2] == [(1, 6, 1, 9)]
    assert spans(await rename(editor, plan, 0, 7, "A-2"))[0][2] == [(0, 6, 0, 9), (2, 0, 2, 3)]


async def test_a_client_without_versions_gets_the_edits_alone(view: View) -> None:
    editor = await desk_on(view, capabilities=None)
    plan = open_file(editor, view, "@fix_plan.md")
    edit = await rename(editor, plan, 2, 9, "PAY-7")
    assert [len(edits) for edits in edit["changes"].values()] == [2, 1, 1]


async def test_an_id_of_what_was_done_is_one_too(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-32"])
    done = open_file(editor, view, "PROGRESS.md")
    edit = await rename(editor, done, 2, 8, "PAY-7")
    assert spans(edit) == [("PROGRESS.md", 1, [(1, 20, 1, 26), (2, 6, 2, 12)])]
    found = await editor.request("textDocument/definition", at(done, 1, 22))
    assert (found["uri"], span(found["range"])) == (done, (2, 6, 2, 15))


async def test_a_name_that_is_no_free_id_is_refused(view: View) -> None:
    editor = await desk_on(view)
    plan = open_file(editor, view, "@fix_plan.md")
    assert "cannot be a task id" in await refusal(editor, plan, 2, 9, "pay")
    assert "US-009 is already the id of another task" in await refusal(editor, plan, 2, 9, "US-009")
    assert spans(await rename(editor, plan, 2, 9, "US-001"))[0][2][0] == (2, 8, 2, 14)
    readme = open_file(editor, view, "README.md", "- [ ] US-001: a\n")
    assert "no open question" in await refusal(editor, readme, 0, 8, "PAY-7")


async def test_an_id_that_is_made_of_a_title_cannot_be_renamed(view: View) -> None:
    made = title_id("a")
    editor = await desk_on(view)
    plan = open_file(editor, view, "@fix_plan.md", f"- [ ] a\n- [ ] b\n  - Needs: {made}\n")
    assert await prepare(editor, plan, 2, 12) is None
    assert "no open question" in await refusal(editor, plan, 2, 12, "PAY-7")
    found = await editor.request("textDocument/definition", at(plan, 2, 12))
    assert span(found["range"]) == (0, 6, 0, 7)


async def test_another_plan_is_independent(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    editor.views.further = {"other.md"}
    await editor.initialize()
    other = open_file(editor, view, "other.md", "- [ ] US-001: a\nUS-009\n")
    assert [name for name, _, _ in spans(await rename(editor, other, 0, 8, "US-009"))] == [
        "other.md"
    ]


async def test_an_id_on_the_line_of_a_question_is_no_answer(view: View) -> None:
    question = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    decide = format_decide("which?", 1, NOON)
    begun = begins(1, None)
    task = TaskRef(id="US-001", title="x")
    begun = begun.model_copy(update={"task": task})
    events = [started(), begun, question, phase(Phase.PARKED, "decide")]
    view.now = picture_of(events, halt=read_halt_files(decide, None))
    editor = await desk_on(view)
    plan = open_file(editor, view, "@fix_plan.md")
    assert (await prepare(editor, plan, 2, 3))["placeholder"] == ""
    assert (await prepare(editor, plan, 2, 9))["placeholder"] == "US-001"
    assert "cannot be a task id" in await refusal(editor, plan, 2, 9, "SQLite")


async def test_an_id_leads_to_its_task_from_everywhere(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-32"])
    plan = open_file(editor, view, "@fix_plan.md")
    spec = open_file(editor, view, "specs/login.md")
    done = open_file(editor, view, "PROGRESS.md")
    for uri, line, character in ((plan, 4, 20), (spec, 2, 12), (done, 1, 8)):
        found = await editor.request("textDocument/definition", at(uri, line, character))
        assert (found["uri"], span(found["range"])) == (plan, (2, 6, 2, 42))
    assert await editor.request("textDocument/definition", at(plan, 5, 9)) is None


async def test_all_places_of_an_id_are_listed_with_or_without_its_own(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-32"])
    plan = open_file(editor, view, "@fix_plan.md")

    async def names(character: int, *, own: bool) -> list[tuple[str, int]] | None:
        more = {"position": {"line": 2, "character": character}}
        context = {"includeDeclaration": own}
        found = await ask(editor, "references", plan, **more, context=context)
        if found is None:
            return None
        return [(one["uri"].rpartition("/")[2], one["range"]["start"]["line"]) for one in found]

    assert await names(9, own=False) == [("%40fix_plan.md", 4), ("login.md", 2)]
    assert await names(9, own=True) == [
        ("%40fix_plan.md", 2),
        ("%40fix_plan.md", 4),
        ("PROGRESS.md", 1),
        ("login.md", 2),
    ]
    assert await names(0, own=True) is None


async def test_the_places_in_the_visible_text_are_highlighted(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-32"])
    plan = open_file(editor, view, "@fix_plan.md")
    found = await editor.request("textDocument/documentHighlight", at(plan, 2, 9))
    assert [(span(one["range"]), one["kind"]) for one in found] == [
        ((2, 8, 2, 14), OWN),
        ((4, 18, 4, 24), MEANT),
    ]
    assert await editor.request("textDocument/documentHighlight", at(plan, 0, 0)) is None


async def test_without_a_plan_nothing_is_meant(view: View) -> None:
    view.plan = None
    (view.root / "PROGRESS.md").unlink()
    editor = await desk_on(view)
    spec = open_file(editor, view, "specs/login.md")
    assert await prepare(editor, spec, 2, 12) is None


async def linked(editor: InProcessEditor, uri: str, line: int, character: int) -> Any:
    found = await editor.request("textDocument/linkedEditingRange", at(uri, line, character))
    return found and [span(one) for one in found["ranges"]]


async def test_an_id_that_repeats_is_edited_in_all_places_of_the_page(view: View) -> None:
    editor = await desk_on(view, encodings=["utf-16"])
    uri = open_file(editor, view, "@fix_plan.md")
    both = [(2, 8, 2, 14), (4, 19, 4, 25)]
    assert await linked(editor, uri, 2, 10) == both
    assert await linked(editor, uri, 4, 20) == both
    # Written in another way it would get another text.
    assert await linked(editor, uri, 4, 28) is None
    assert await linked(editor, uri, 0, 1) is None
