"""Texts as the client has them, else as they are on the disk; each parsed once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ralph_ls.core.plan.model import ParsedPlan, PlanKind
from ralph_ls.core.plan.parse import markdown
from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.editor.documents.loop_documents import SMALL_TEXT, DocumentEvent
from ralph_ls.editor.documents.snapshot import (
    KEPT_PARSES,
    DocumentSnapshot,
    ParseCache,
    PlanParseOptions,
    uri_of,
)
from ralph_ls.editor.lsp.workspace import OpenDocument
from ralph_ls.protocol.run.values import Phase
from tests.editor.in_process_editor import InProcessEditor, View, picture_of
from tests.unit.core.views.document_contexts import CHOOSE, PID, begins, phase, started

pytestmark = pytest.mark.asyncio

SAVED, TYPED = "- [ ] saved\n", "- [ ] typed\n"
PLAIN = PlanParseOptions(PlanKind.MARKDOWN)


@pytest.fixture
def view(tmp_path: Path) -> View:
    (tmp_path / "@fix_plan.md").write_text(SAVED, encoding="utf-8")
    return View(tmp_path.resolve())


def whole(sight: DocumentSnapshot) -> DocumentSnapshot:
    return sight


def titles(sight: DocumentSnapshot | None) -> list[str]:
    assert sight is not None
    return [task.title for task in sight.seen.plan.tasks]


async def test_a_file_that_is_not_open_is_read(editor: InProcessEditor, view: View) -> None:
    sight = await editor.documents.read(view, FileKind.PLAN, whole)
    assert sight is not None
    assert (titles(sight), sight.version) == (["saved"], None)
    assert sight.uri == (view.root / "@fix_plan.md").as_uri()


async def test_an_open_text_wins_over_the_file(editor: InProcessEditor, view: View) -> None:
    assert view.plan_path is not None
    uri = editor.open(view.plan_path, TYPED, version=7)
    sight = await editor.documents.read(view, FileKind.PLAN, whole)
    assert sight is not None
    assert (titles(sight), sight.version, sight.uri) == (["typed"], 7, uri)
    assert editor.documents.seen(view, FileKind.PLAN).text == TYPED
    editor.type(uri, 8, 0, "- [ ] new\n")
    assert titles(await editor.documents.read(view, FileKind.PLAN, whole)) == ["new", "typed"]
    editor.close(uri)
    assert titles(await editor.documents.read(view, FileKind.PLAN, whole)) == ["saved"]


async def test_a_document_opened_through_a_link_is_the_file(
    editor: InProcessEditor, view: View, tmp_path: Path
) -> None:
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(view.root)
    uri = editor.open(link / "@fix_plan.md", TYPED)
    sight = await editor.documents.read(view, FileKind.PLAN, whole)
    assert sight is not None
    assert (titles(sight), sight.uri) == (["typed"], uri)


async def test_files_of_a_folder_opened_through_a_link_are_called_so(
    view: View, tmp_path: Path
) -> None:
    link = tmp_path.with_name(f"{tmp_path.name}-link")
    link.symlink_to(view.root)
    linked = View(view.root, uri=link.as_uri())
    path = view.root / ".ralph" / "decide.txt"
    assert uri_of(linked, path) == f"{link.as_uri()}/.ralph/decide.txt"
    within = View(view.root, uri=(view.root / "sub").as_uri())
    assert uri_of(within, path) == path.as_uri()


async def test_a_file_that_is_not_there_is_not_looked_at(
    editor: InProcessEditor, view: View
) -> None:
    assert await editor.documents.read(view, FileKind.DECIDE, whole) is None
    seen = editor.documents.seen(view, FileKind.DECIDE)
    assert (seen.text, seen.file) == ("", FileKind.DECIDE)
    view.plan = None
    assert await editor.documents.read(view, FileKind.PLAN, whole) is None
    assert editor.documents.seen(view, FileKind.PLAN).parsed == ParsedPlan(plan=seen.plan)


async def test_what_is_no_file_is_not_waited_for(editor: InProcessEditor, view: View) -> None:
    view.plan = "folder"
    (view.root / "folder").mkdir()
    assert await editor.documents.read(view, FileKind.PLAN, whole) is None


async def test_bytes_that_are_no_text_can_be_shown(editor: InProcessEditor, view: View) -> None:
    (view.root / "@fix_plan.md").write_bytes(b"- [ ] caf\xe9\n")
    assert titles(await editor.documents.read(view, FileKind.PLAN, whole)) == [
        "caf\N{REPLACEMENT CHARACTER}"
    ]


async def test_the_run_is_given_with_the_text(editor: InProcessEditor, view: View) -> None:
    view.now = picture_of([started(), begins(1, CHOOSE), phase(Phase.RUNNING)])
    seen = editor.documents.seen(view, FileKind.PLAN)
    assert (seen.state, seen.phase, seen.pid) == (view.now.state, Phase.RUNNING, PID)
    view.now = picture_of([started()], live=False, phase=Phase.CRASHED)
    assert editor.documents.seen(view, FileKind.PLAN).pid is None


async def test_no_run_is_given_with_a_further_plan(editor: InProcessEditor, view: View) -> None:
    editor.views.further = {"other.md"}
    view.now = picture_of([started(), begins(1, CHOOSE)])
    uri = editor.open(view.root / "docs" / "other.md", TYPED)
    sight = await editor.documents.read(view, FileKind.PLAN, whole, uri=uri)
    assert sight is not None
    assert (sight.further_plan, sight.seen.state, sight.run_files) == ("docs/other.md", None, None)
    assert titles(sight) == ["typed"]


async def test_a_plan_that_is_not_saved_yet_is_the_plan(
    editor: InProcessEditor, view: View
) -> None:
    view.plan = None
    uri = editor.open(view.root / "fix_plan.md", TYPED)
    sight = await editor.documents.read(view, FileKind.PLAN, whole, uri=uri)
    assert sight is not None
    assert (titles(sight), sight.further_plan) == (["typed"], None)


async def test_the_files_of_a_work_tree_each_once(editor: InProcessEditor, view: View) -> None:
    assert view.plan_path is not None
    files = editor.documents.files_of(view, editor.views)
    assert files == {
        view.plan_path.as_uri(): FileKind.PLAN,
        view.decide_path.as_uri(): FileKind.DECIDE,
        view.blocked_path.as_uri(): FileKind.BLOCKED,
    }
    editor.views.further = {"other.md"}
    editor.open(view.root / "other.md", TYPED)
    editor.open(view.root / "README.md", TYPED)
    opened = editor.open(view.decide_path, "", uri="file://" + str(view.decide_path))
    files = editor.documents.files_of(view, editor.views)
    assert files == {
        view.plan_path.as_uri(): FileKind.PLAN,
        (view.root / "other.md").as_uri(): FileKind.PLAN,
        opened: FileKind.DECIDE,
        view.blocked_path.as_uri(): FileKind.BLOCKED,
    }
    view.plan = None
    assert len(editor.documents.files_of(view, editor.views)) == 3


async def test_edits_are_passed_on_in_their_order_and_a_bad_listener_harms_none(
    editor: InProcessEditor, view: View, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[DocumentEvent] = []

    def fail(uri: str, edit: DocumentEvent) -> None:
        raise ValueError("no")

    editor.documents.on_edit(fail)
    editor.documents.on_edit(lambda uri, edit: told.append(edit))
    uri = editor.open(view.root / "@fix_plan.md", TYPED)
    editor.type(uri, 2, 0, "a")
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    editor.close(uri)
    assert told == [
        DocumentEvent.OPENED,
        DocumentEvent.CHANGED,
        DocumentEvent.SAVED,
        DocumentEvent.CLOSED,
    ]
    assert [r.getMessage() for r in caplog.records] == ["reporting an edit failed: ValueError: no"]


async def test_an_open_document_is_changed_our_way(editor: InProcessEditor, view: View) -> None:
    uri = editor.open(view.root / "@fix_plan.md", "a\x0cb\nc\n")
    editor.type(uri, 2, 1, "X")
    document = editor.server.workspace.get_text_document(uri)
    assert isinstance(document, OpenDocument)
    assert document.source == "a\x0cb\nXc\n"


async def test_a_big_text_is_looked_at_beside_the_loop(editor: InProcessEditor, view: View) -> None:
    def thread(sight: DocumentSnapshot) -> threading.Thread:
        return threading.current_thread()

    uri = editor.open(view.root / "@fix_plan.md", TYPED)
    read = editor.documents.read
    assert await read(view, FileKind.PLAN, thread, uri=uri) is threading.main_thread()
    editor.type(uri, 2, 0, "x" * SMALL_TEXT + "\n")
    assert await read(view, FileKind.PLAN, thread, uri=uri) is not threading.main_thread()


class TestParses:
    @pytest.fixture
    def parsed(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The texts that are parsed from now on."""
        texts: list[str] = []
        parse, reparse = markdown.parse_markdown, markdown.reparse_markdown

        def counted(text: str, *, optional_sections: tuple[str, ...] = ()) -> ParsedPlan:
            texts.append(text)
            return parse(text, optional_sections=optional_sections)

        def counted_again(previous: ParsedPlan, change: tuple[int, int, str]) -> ParsedPlan:
            texts.append(change[2])
            return reparse(previous, change)

        monkeypatch.setattr(markdown, "parse_markdown", counted)
        monkeypatch.setattr(markdown, "reparse_markdown", counted_again)
        return texts

    async def test_a_keystroke_parses_once_whatever_is_asked(
        self, editor: InProcessEditor, view: View, parsed: list[str]
    ) -> None:
        uri = editor.open(view.root / "@fix_plan.md", TYPED)
        document = {"textDocument": {"uri": uri}}
        await editor.quiet()
        parsed.clear()
        editor.type(uri, 2, 0, "- [ ] new\n")
        at = {"line": 0, "character": 0}
        await editor.request("textDocument/codeLens", document)
        await editor.request("textDocument/hover", {**document, "position": at})
        where = {"start": at, "end": at}
        # An edit of a task is read as the plan would be with it, so those are not asked for.
        context = {"diagnostics": [], "only": ["quickfix"]}
        ask = {**document, "range": where, "context": context}
        await editor.request("textDocument/codeAction", ask)
        editor.views.change(view)
        await editor.quiet()
        assert len(parsed) == 1, "and only the part that changed"
        assert len(parsed[0]) <= len("- [ ] new\n")

    async def test_two_threads_parse_one_text_once(self, parsed: list[str]) -> None:
        parses, text = ParseCache(), "- [ ] a task\n" * 3000
        together = threading.Barrier(4)
        plans: list[ParsedPlan] = []

        def work() -> None:
            together.wait()
            plans.append(parses.parse(Path("/p.md"), text, PLAIN))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert parsed == [text]
        assert all(plan is plans[0] for plan in plans)

    async def test_a_plan_that_is_typed_in_is_the_plan_that_it_becomes(self) -> None:
        parses, path, sections = ParseCache(), Path("/p.md"), ("Later",)
        how = PlanParseOptions(PlanKind.MARKDOWN, sections)
        text = "# Plan\n" + "".join(f"- [ ] Mend part {number}\n" for number in range(300))
        for at, key in (
            (0, "x"), (900, "```\n"), (2000, "\n```\n"), (7, "## Later\n"), (1500, "- [x] 新\n"),
            (400, "<!--"), (len(text), "\n- [&] odd"), (404, ""), (3, "\r\n"),
        ):  # fmt: skip
            text = text[:at] + key + text[at + (key == "") * 4 :]
            typed = parses.parse(path, text, how)
            whole = markdown.parse_markdown(text, optional_sections=sections)
            assert (typed.plan, typed.problems) == (whole.plan, whole.problems)
            assert typed.plan.tally() == whole.plan.tally()

    async def test_other_sections_are_another_plan(self, parsed: list[str]) -> None:
        parses, text = ParseCache(), "## Later\n- [ ] a\n"
        plain = parses.parse(Path("/p.md"), text, PLAIN)
        optional = parses.parse(
            Path("/p.md"), text, PlanParseOptions(PlanKind.MARKDOWN, ("Later",))
        )
        assert [one.plan.tasks[0].optional for one in (plain, optional)] == [False, True]

    async def test_only_the_newest_are_remembered(self, parsed: list[str]) -> None:
        parses = ParseCache()
        for number in range(KEPT_PARSES + 1):
            parses.parse(Path(f"/{number}.md"), "- [ ] a\n", PLAIN)
        parses.parse(Path("/1.md"), "- [ ] a\n", PLAIN)
        assert len(parsed) == KEPT_PARSES + 1
        parses.parse(Path("/0.md"), "- [ ] a\n", PLAIN)
        assert len(parsed) == KEPT_PARSES + 2


async def test_before_any_run_the_settings_say_which_tasks_are_optional(
    editor: InProcessEditor, view: View
) -> None:
    (view.root / "@fix_plan.md").write_text("- [ ] a\n\n## Future work\n- [ ] b\n", "utf-8")
    view.optional = ("Future",)
    sight = await editor.documents.read(view, FileKind.PLAN, whole)
    assert sight is not None
    assert [task.optional for task in sight.seen.plan.tasks] == [False, True]
