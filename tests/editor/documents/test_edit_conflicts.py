"""The user edits the plan in an editor while an agent edits it on the disk."""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.document.quick_fixes import EDIT_CONFLICT_CODE
from ralph_ls.editor.documents.snapshot import KEPT_OFFERS, EditConflict, MergeBase, text_of
from ralph_ls.editor.documents.workspace_edits import line_edits
from ralph_ls.editor.lsp.workspace import OpenDocument
from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.project.plan_file import LARGEST_TEXT, UserSave, read_saves, text_hash
from tests.editor.conftest import StartEditor
from tests.editor.in_process_editor import NEOVIM, VS_CODE, InProcessEditor, Message, View, Views
from tests.engine.project_builder import make_repository
from tests.engine.ralph_runner import wait_until

PLAN = "- [ ] A-1: a\n- [ ] A-2: b\n"
TYPED = "- [ ] A-0: new\n"
ON_DISK = "- [ ] A-1: a\n- [x] A-2: b\n"
BOTH = TYPED + ON_DISK


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "@fix_plan.md"
    path.write_text(PLAN, encoding="utf-8")
    return path


class TestLastCommon:
    def test_one_writer_alone_is_left_alone(self, plan: Path) -> None:
        common = MergeBase(PLAN, read=text_of)
        assert common.conflict(PLAN, plan) is None
        assert common.conflict(TYPED + PLAN, plan) is None
        plan.write_text(ON_DISK, encoding="utf-8")
        assert common.conflict(PLAN, plan) is None

    def test_with_both_the_base_is_what_they_had_in_common(self, plan: Path) -> None:
        common = MergeBase(PLAN, read=text_of)
        assert common.conflict(PLAN, plan) is None
        plan.write_text(ON_DISK, encoding="utf-8")
        assert common.conflict(TYPED + PLAN, plan) == EditConflict(base=PLAN, theirs=ON_DISK)

    def test_what_was_loaded_again_is_common(self, plan: Path) -> None:
        common = MergeBase(PLAN, read=text_of)
        common.conflict(PLAN, plan)
        plan.write_text(ON_DISK, encoding="utf-8")
        common.conflict(PLAN, plan)
        common.changed(ON_DISK)
        assert common.saved(BOTH) == ON_DISK

    def test_what_was_not_saved_when_it_was_opened_is_the_users(self, plan: Path) -> None:
        common = MergeBase(TYPED + PLAN, read=text_of)
        assert common.conflict(TYPED + PLAN, plan) is None
        plan.write_text(ON_DISK, encoding="utf-8")
        assert common.conflict(TYPED + PLAN, plan) == EditConflict(base=PLAN, theirs=ON_DISK)

    def test_a_merge_that_was_taken_is_seen_and_others_are_not(self, plan: Path) -> None:
        common = MergeBase(PLAN, read=text_of)
        common.conflict(PLAN, plan)
        plan.write_text(ON_DISK, encoding="utf-8")
        conflict = common.conflict(TYPED + PLAN, plan)
        assert conflict is not None
        for number in range(KEPT_OFFERS):
            common.offer(f"{number}\n{PLAN}", conflict, PlanKind.MARKDOWN)
        assert common.offer(TYPED + PLAN, conflict, PlanKind.MARKDOWN).text == BOTH
        assert common.conflict(TYPED + PLAN, plan) == conflict
        common.changed(BOTH)
        assert common.conflict(BOTH, plan) is None
        assert common.saved(BOTH) == ON_DISK

    def test_a_file_that_is_gone_or_has_a_mark_is_no_change(self, plan: Path) -> None:
        common = MergeBase(PLAN, read=text_of)
        plan.write_text("\ufeff" + PLAN, encoding="utf-8")
        assert common.conflict(PLAN, plan) is None
        assert common.conflict(TYPED + PLAN, plan) is None
        plan.unlink()
        assert common.conflict(TYPED + PLAN, plan) is None


LINES = st.lists(st.sampled_from(["a\n", "b\n", "é𝄞\r\n", "c\r", "\n", "𝄞"]), max_size=6)


@given(LINES, LINES, st.sampled_from(list(types.PositionEncodingKind)))
def test_edits_make_the_one_of_the_other(
    before: list[str], after: list[str], encoding: types.PositionEncodingKind
) -> None:
    old, new = "".join(before), "".join(after)
    document = OpenDocument("file:///p", source=old, position_codec=PositionCodec(encoding))
    for edit in reversed(line_edits(old, new, encoding)):
        document.apply_change(
            types.TextDocumentContentChangePartial(range=edit.range, text=edit.new_text)
        )
    assert document.source == new


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def merges(in_process: InProcessEditor, uri: str, told: Message) -> list[Message]:
    params = {
        "textDocument": {"uri": uri},
        "range": told["range"],
        "context": {"diagnostics": [told], "only": ["quickfix"]},
    }
    return await in_process.request("textDocument/codeAction", params) or []


async def both_write(plan: Path, client: str | None) -> tuple[InProcessEditor, str]:
    view = View(plan.parent)
    in_process = InProcessEditor(Views([view]))
    await in_process.initialize(client)
    uri = in_process.open(plan, PLAN)
    await in_process.quiet()
    write(plan, ON_DISK)
    in_process.type(uri, 2, 0, TYPED)
    in_process.views.change(view)
    await in_process.quiet()
    return in_process, uri


def remarks(in_process: InProcessEditor) -> list[Message]:
    told = [m for m in in_process.sent if m.get("method") == "textDocument/publishDiagnostics"]
    found = told[-1]["params"]["diagnostics"] if told else []
    return [one for one in found if one["code"] == EDIT_CONFLICT_CODE]


@pytest.mark.asyncio
@pytest.mark.parametrize("client", [VS_CODE, NEOVIM])
async def test_the_merge_is_offered_and_taken_with_the_least_edits(plan: Path, client: str) -> None:
    in_process, uri = await both_write(plan, client)
    (told,) = remarks(in_process)
    assert (told["severity"], told["range"]["start"]["line"]) == (2, 0)
    (action,) = await merges(in_process, uri, told)
    if client == VS_CODE:
        (change,) = action["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": uri, "version": 2}
        (edit,) = change["edits"]
    else:
        (edit,) = action["edit"]["changes"][uri]
    assert edit["newText"] == "- [x] A-2: b\n"
    params: dict[str, Any] = {"range": edit["range"], "text": edit["newText"]}
    document = {"uri": uri, "version": 3}
    in_process.notify(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [params]}
    )
    await in_process.quiet()
    assert remarks(in_process) == []
    assert read(plan) == ON_DISK


@pytest.mark.asyncio
async def test_a_client_that_knows_only_commands_is_informed_and_offered_nothing(
    plan: Path,
) -> None:
    in_process, uri = await both_write(plan, None)
    (told,) = remarks(in_process)
    assert await merges(in_process, uri, told) == []


@pytest.mark.asyncio
async def test_conflicts_are_counted(plan: Path) -> None:
    view = View(plan.parent)
    in_process = InProcessEditor(Views([view]))
    await in_process.initialize()
    typed = PLAN.replace("A-1: a", "A-1: one").replace("[ ]", "[-]")
    uri = in_process.open(plan, PLAN)
    await in_process.quiet()
    change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": typed}]}
    in_process.notify("textDocument/didChange", change)
    write(plan, PLAN.replace("[ ]", "[x]"))
    in_process.views.change(view)
    await in_process.quiet()
    (told,) = remarks(in_process)
    (action,) = await merges(in_process, uri, told)
    assert action["title"].endswith(" (2 conflicts, shown with both sides)")


@pytest.mark.slow
@pytest.mark.asyncio
async def test_what_the_user_saves_is_kept_for_the_engine(
    edit: StartEditor, tmp_path: Path
) -> None:
    began = datetime.now(UTC)
    long = "#" * (LARGEST_TEXT + 1)
    files = {"@fix_plan.md": PLAN, ".ralph/config.toml": "", ".ralph/long.toml": ""}
    root = make_repository(tmp_path / "one", files=files)
    editor = await edit(root)
    plan = root / "@fix_plan.md"
    settings = [root / ".ralph/config.toml", root / ".ralph/long.toml"]
    for path in (plan, root / "README.md", tmp_path / "elsewhere.toml", *settings):
        uri = editor.open(path, PLAN)
        text = long if path.name == "long.toml" else ON_DISK
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}
        editor.notify("textDocument/didChange", change)
        editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    state = state_folder(state_root(os.environ), find_worktree(root))
    state.folder.mkdir(parents=True, exist_ok=True)
    wait_until(state.folder, lambda: bool(read_saves(state, "@fix_plan.md", since=began)))
    (saved,) = read_saves(state, "@fix_plan.md", since=began)
    assert saved == UserSave(
        at=saved.at,
        path="@fix_plan.md",
        before=text_hash(PLAN),
        sha256=text_hash(ON_DISK),
        ticked=("A-2",),
    )
    assert stat.S_IMODE(state.saves.stat().st_mode) == 0o600
    wait_until(state.folder, lambda: state.saves.read_bytes().count(b"\n") == 3)
    (kept,) = read_saves(state, ".ralph/config.toml", since=began)
    assert (kept.sha256, kept.text) == (text_hash(ON_DISK), ON_DISK)
    (kept,) = read_saves(state, ".ralph/long.toml", since=began)
    assert (kept.sha256, kept.text) == (text_hash(long), None)
