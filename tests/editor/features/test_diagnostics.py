"""Diagnostics as a client gets them: where, when, and never twice the same."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.loop.decide_file import format_decide, read_halt_files
from ralph_ls.core.views.document import diagnostics as views
from ralph_ls.protocol.run.events import QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.editor.in_process_editor import InProcessEditor, View, Views, picture_of, run_files
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PLAN,
    RUN,
    begins,
    ends,
    event,
    phase,
    reports,
    started,
)

pytestmark = pytest.mark.asyncio

QUESTION = "SQLite or Postgres?"
DECIDE = ".ralph/decide.txt"


def asks(view: View, *, saved: str = "") -> None:
    """The run of the view asks, and its decide file says so."""
    question = event(QuestionAsked, iteration=1, question=QUESTION, path=DECIDE, asked_at=NOON)
    text = saved or format_decide(QUESTION, 1, NOON)
    view.decide_path.parent.mkdir(exist_ok=True)
    view.decide_path.write_text(text, encoding="utf-8")
    view.now = picture_of(
        [started(), begins(1, CHOOSE), question, phase(Phase.PARKED, "decide")],
        halt=read_halt_files(text, None),
    )


def codes(params: dict[str, Any]) -> list[tuple[int, str]]:
    return [(one["range"]["start"]["line"], one["code"]) for one in params["diagnostics"]]


PLAIN = [(7, "task-blocked"), (8, "task-blocked"), (8, "blocked-without-reason")]
"""What the plan of these tests shows without any run."""


async def test_a_plan_that_nobody_has_open_is_published(
    editor: InProcessEditor, view: View
) -> None:
    editor.views.change(view)
    assert view.plan_path is not None
    params = await editor.published(view.plan_path.as_uri())
    assert codes(params) == PLAIN
    assert "version" not in params
    await editor.quiet()
    assert editor.sent == []


async def test_an_open_plan_is_published_with_its_version(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN, version=3)
    params = await editor.published(uri)
    assert (codes(params), params["version"]) == (PLAIN, 3)


async def test_a_diagnostic_has_all_that_a_client_can_show(
    editor: InProcessEditor, view: View
) -> None:
    asks(view)
    view.now = picture_of(
        [started(), begins(1, CHOOSE), reports(1, STATUS="IN_PROGRESS"), ends(1)],
        run_files=run_files(view.root.parent / "run"),
    )
    assert view.now.run_files is not None
    output = view.now.run_files.output(1, 1, "out")
    output.write_text("said", encoding="utf-8")
    editor.views.change(view)
    assert view.plan_path is not None
    params = await editor.published(view.plan_path.as_uri())
    report = next(one for one in params["diagnostics"] if one["code"] == "report")
    nowhere = {"line": 0, "character": 0}
    assert report == {
        "range": {
            "start": {"line": CHOOSE, "character": 6},
            "end": {"line": CHOOSE, "character": 31},
        },
        "severity": 4,
        "source": "ralph",
        "code": "report",
        "message": "iteration 1 reports IN_PROGRESS",
        "codeDescription": {"href": output.as_uri()},
        "relatedInformation": [
            {
                "location": {"uri": output.as_uri(), "range": {"start": nowhere, "end": nowhere}},
                "message": "output of iteration 1",
            }
        ],
        "data": {"workspace": view.uri, "run": RUN},
    }


async def test_a_client_that_can_show_little_gets_the_words(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(None)
    asks(view)
    editor.views.change(view)
    assert view.plan_path is not None
    params = await editor.published(view.plan_path.as_uri())
    question = next(one for one in params["diagnostics"] if one["code"] == "question-waiting")
    assert set(question) == {"range", "severity", "source", "code", "message"}


@pytest.mark.parametrize(
    ("encodings", "end"), [(["utf-8"], 15), (["utf-16"], 13), (["utf-32"], 12), ([], 13)]
)
async def test_columns_are_the_clients(view: View, encodings: list[str], end: int) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(None, encodings=encodings)
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, "- [!] 🚀 ship")
    params = await editor.published(uri)
    assert params["diagnostics"][0]["range"]["end"] == {"line": 0, "character": end}


async def test_nothing_is_published_twice(editor: InProcessEditor, view: View) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    await editor.published(uri)
    editor.views.change(view)
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    await editor.quiet()
    assert editor.sent == []


async def test_an_edit_is_published_again_since_editors_move_what_they_got(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    before = await editor.published(uri)
    editor.type(uri, 2, 11, "Notes at the end.\n")
    after = await editor.published(uri)
    assert after == {**before, "version": 2}


async def test_a_remark_moves_with_its_task(editor: InProcessEditor, view: View) -> None:
    asks(view)
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    params = await editor.published(uri)
    assert (CHOOSE, "question-waiting") in codes(params)
    editor.type(uri, 2, 0, "- [ ] Something before it\n\n")
    params = await editor.published(uri)
    assert (CHOOSE + 2, "question-waiting") in codes(params)
    assert params["version"] == 2


async def test_a_question_is_shown_in_plan_and_decide_file_until_it_is_answered(
    editor: InProcessEditor, view: View
) -> None:
    asks(view)
    editor.views.change(view)
    assert view.plan_path is not None
    plan, decide = view.plan_path.as_uri(), view.decide_path.as_uri()
    assert (CHOOSE, "question-waiting") in codes(await editor.published(plan))
    assert codes(await editor.published(decide)) == [(0, "question-waiting")]
    asks(view, saved=format_decide(QUESTION, 1, NOON, "SQLite"))
    editor.views.change(view)
    assert codes(await editor.published(plan)) == PLAIN
    params = await editor.published(decide)
    assert codes(params) == [(0, "answer-pending")]
    assert params["diagnostics"][0]["message"].endswith("the loop picks it up in a moment")
    view.decide_path.unlink()
    editor.views.change(view)
    assert codes(await editor.published(decide)) == []


async def test_an_answer_that_is_typed_counts_once_it_is_saved(
    editor: InProcessEditor, view: View
) -> None:
    asks(view)
    uri = editor.open(view.decide_path, view.decide_path.read_text(encoding="utf-8"))
    assert codes(await editor.published(uri)) == [(0, "question-waiting")]
    n_lines = view.decide_path.read_text(encoding="utf-8").count("\n")
    editor.type(uri, 2, n_lines, "SQLite")
    params = await editor.published(uri)
    assert params["diagnostics"][0]["message"] == "save this file to send the answer"


async def test_a_closed_document_is_the_file_again(editor: InProcessEditor, view: View) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, "- [ ] nothing to say\n")
    await editor.quiet()
    assert editor.sent == []
    editor.close(uri)
    assert codes(await editor.published(uri)) == PLAIN


async def test_a_document_under_another_name_takes_its_remarks_with_it(
    editor: InProcessEditor, view: View, tmp_path: Path
) -> None:
    assert view.plan_path is not None
    editor.views.change(view)
    file = view.plan_path.as_uri()
    await editor.published(file)
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(view.root)
    opened = editor.open(link / "@fix_plan.md", PLAN)
    assert codes(await editor.published(opened)) == PLAIN
    assert codes(await editor.published(file)) == []
    editor.close(opened)
    assert codes(await editor.published(opened)) == []
    assert codes(await editor.published(file)) == PLAIN


async def test_a_file_keeps_the_name_that_the_client_gave_it(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    editor.views.change(view)
    ours = view.plan_path.as_uri()
    assert "%40fix_plan.md" in ours
    await editor.published(ours)
    theirs = editor.open(view.plan_path, PLAN, uri=ours.replace("%40", "@"))
    await editor.quiet()
    # Most clients know both names as one, so what is taken back must come first.
    told = [(one["params"]["uri"], codes(one["params"])) for one in editor.sent]
    assert told == [(ours, []), (theirs, PLAIN)]
    editor.sent.clear()
    editor.close(theirs)
    view.plan_path.write_text("- [ ] nothing to say\n", encoding="utf-8")
    editor.views.change(view)
    assert codes(await editor.published(theirs)) == []
    await editor.quiet()
    assert editor.sent == []


async def test_a_document_that_is_opened_again_is_published_again(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    await editor.published(uri)
    editor.close(uri)
    await editor.quiet()
    editor.open(view.plan_path, PLAN, version=1)
    assert codes(await editor.published(uri)) == PLAIN


async def test_a_text_that_was_never_saved_has_nothing_of_the_file(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    editor.views.change(view)
    uri = view.plan_path.as_uri()
    assert codes(await editor.published(uri)) == PLAIN
    editor.open(view.plan_path, "- [ ] nothing to say\n")
    assert codes(await editor.published(uri)) == []


async def test_a_work_tree_that_goes_takes_its_remarks_with_it(
    editor: InProcessEditor, view: View
) -> None:
    asks(view)
    editor.views.change(view)
    assert view.plan_path is not None
    await editor.published(view.plan_path.as_uri())
    await editor.published(view.decide_path.as_uri())
    editor.views.views = []
    editor.views.change(view)
    assert codes(await editor.published(view.plan_path.as_uri())) == []
    assert codes(await editor.published(view.decide_path.as_uri())) == []


async def test_two_work_trees_do_not_mix(tmp_path: Path) -> None:
    views = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
        views.append(View((tmp_path / name).resolve()))
    editor = InProcessEditor(Views(views))
    await editor.initialize()
    asks(views[0])
    for view in views:
        editor.views.change(view)
    for view, expected in zip(views, (True, False), strict=True):
        assert view.plan_path is not None
        found = codes(await editor.published(view.plan_path.as_uri()))
        assert ((CHOOSE, "question-waiting") in found) is expected


async def test_other_documents_are_left_alone(editor: InProcessEditor, view: View) -> None:
    uri = editor.open(view.root / "README.md", PLAN)
    editor.type(uri, 2, 0, "- [!] x\n")
    editor.close(uri)
    await editor.quiet()
    assert editor.sent == []


async def test_typing_fast_publishes_the_first_and_the_last(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, PLAN)
    await editor.published(uri)
    for version in range(2, 52):
        editor.type(uri, version, 0, f"- [ ] [BLOCKED: no key] more {version}\n")
    await editor.quiet()
    versions = [message["params"]["version"] for message in editor.sent]
    assert versions[-1] == 51
    assert len(versions) <= 3
    assert len(editor.sent[-1]["params"]["diagnostics"]) == 50 + len(PLAIN)


async def test_a_failure_is_logged_once_and_the_next_look_works(
    editor: InProcessEditor,
    view: View,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(seen: object) -> None:
        raise ValueError("no")

    assert view.plan_path is not None
    with monkeypatch.context() as broken, caplog.at_level(logging.ERROR):
        broken.setattr(views, "diagnostics", fail)
        uri = editor.open(view.plan_path, PLAN)
        for version in (2, 3):
            await editor.quiet()
            editor.type(uri, version, 0, "\n")
        await editor.quiet()
        assert editor.sent == []
        assert await editor.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert [record.getMessage() for record in caplog.records] == [
        "diagnostics failed: ValueError: no"
    ]
    editor.type(uri, 4, 0, "\n")
    assert [line - 3 for line, _ in codes(await editor.published(uri))] == [7, 8, 8]


TWICE = "- [ ] 見積もりを直す and send it 🚀\n- [ ] 見積もりを直す and send it 🚀\n"


async def test_a_remark_on_the_plan_points_to_the_other_place(
    editor: InProcessEditor, view: View
) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, TWICE)
    [remark] = (await editor.published(uri))["diagnostics"]
    assert (remark["code"], remark["severity"]) == ("duplicate-task", 2)
    assert remark["range"]["end"] == {"line": 1, "character": 28}
    [other] = remark["relatedInformation"]
    assert other == {
        "location": {
            "uri": uri,
            "range": {
                "start": {"line": 0, "character": 6},
                "end": {"line": 0, "character": 28},
            },
        },
        "message": "the other one",
    }


async def test_a_client_without_related_places_gets_the_remark(view: View) -> None:
    editor = InProcessEditor(Views([view]))
    await editor.initialize(None)
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, TWICE)
    [remark] = (await editor.published(uri))["diagnostics"]
    assert "relatedInformation" not in remark
