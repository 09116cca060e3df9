"""Plans of other tools in the editor: every format with every feature of tasks."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import pytest_asyncio

from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.formats.plan_format import PlanStorage
from ralph_ls.core.plan.formats.registry import FORMATS, format_of_file, is_at
from ralph_ls.core.plan.model import PlanKind, Task
from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.editor.worktree.snapshot import LoopPaths, find_loop_paths, kind_of, loop_folders
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.layout import Worktree
from tests.editor.in_process_editor import InProcessEditor, Message, View, Views

DATA = Path("tests/data/plan_formats")
PLANS = [kind for kind, known in FORMATS.items() if known.files and (DATA / kind.value).is_dir()]
STATES = {
    "Mark task as done": TaskState.DONE,
    "Block task": TaskState.BLOCKED,
    "Skip task": TaskState.SKIPPED,
}
REFUSED = {
    (PlanKind.BACKLOG, TaskState.SKIPPED): "Backlog.md has no status for a skipped task",
    (PlanKind.GSD, TaskState.SKIPPED): "a roadmap has no form for a skipped task",
    (PlanKind.SUPERPOWERS, TaskState.SKIPPED): "this plan has no form for a skipped task",
    (PlanKind.BMAD, TaskState.SKIPPED): "BMAD has no status for a skipped story",
    (PlanKind.ORG, TaskState.BLOCKED): "no keyword for a task that is blocked",
    (PlanKind.ORG, TaskState.SKIPPED): "no keyword for a task that is skipped",
}


def sample(kind: PlanKind, root: Path) -> Path:
    """The file of a format's sample that has an open task, below ``root``."""
    shutil.copytree(DATA / kind.value, root, dirs_exist_ok=True)
    found = sorted(
        path
        for path in root.rglob("*")
        if path.is_file() and is_at(path.relative_to(root).as_posix(), FORMATS[kind])
    )
    return next(path for path in found if _open_tasks(path, kind))


def _open_tasks(path: Path, kind: PlanKind) -> list[Task]:
    tasks = parse_plan(path.read_bytes().decode(), kind).plan.tasks
    return [task for task in tasks if task.state is TaskState.TODO]


def applied(text: str, action: Message) -> str:
    """The text after the edits of an action."""
    (change,) = action["edit"]["documentChanges"]
    lines = text.splitlines(keepends=True)

    def at(place: dict[str, int]) -> int:
        line = (lines[place["line"] :] or [""])[0].encode("utf-16-le")
        ahead = line[: 2 * place["character"]].decode("utf-16-le")
        return len("".join(lines[: place["line"]])) + len(ahead)

    for edit in sorted(change["edits"], key=lambda one: at(one["range"]["start"]), reverse=True):
        start, end = at(edit["range"]["start"]), at(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text


async def actions(editor: InProcessEditor, uri: str, line: int) -> dict[str, Message]:
    at = {"line": line, "character": 0}
    params = {
        "textDocument": {"uri": uri},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": [], "only": ["refactor"], "triggerKind": 1},
    }
    return {one["title"]: one for one in await editor.request("textDocument/codeAction", params)}


Opened = tuple[Path, InProcessEditor]


@pytest_asyncio.fixture
async def opened(kind: PlanKind, tmp_path: Path) -> AsyncIterator[Opened]:
    """A file of the sample, open in an editor."""
    path = sample(kind, tmp_path)
    views = Views([View(tmp_path, plan=None)])
    views.further = {path.name}
    editor = InProcessEditor(views)
    await editor.initialize()
    editor.open(path, path.read_bytes().decode())
    yield path, editor
    await editor.quiet()


@pytest.mark.parametrize("kind", PLANS)
def test_its_files_are_known_wherever_the_loop_works(kind: PlanKind, tmp_path: Path) -> None:
    path = sample(kind, tmp_path)
    git = tmp_path / ".git"
    folders = loop_folders(Worktree(root=tmp_path, git_dir=git, common_dir=git), {})
    paths = LoopPaths(
        plan=None, decide=tmp_path / "d", blocked=tmp_path / "b", progress=tmp_path / "p"
    )
    assert kind_of(path, paths, folders) is FileKind.PLAN
    assert kind_of(tmp_path / "README.md", paths, folders) is None


@pytest.mark.asyncio
async def test_a_todo_txt_in_markdown_is_edited_as_markdown(tmp_path: Path) -> None:
    todo = tmp_path / "TODO.txt"
    text = "# Shop\n\n- [ ] Pay by card\n- [ ] Log in\n"
    todo.write_text(text, encoding="utf-8")
    git = tmp_path / ".git"
    folders = loop_folders(Worktree(root=tmp_path, git_dir=git, common_dir=git), {})
    assert find_loop_paths(folders).plan == todo
    views = Views([View(tmp_path, plan=None)])
    views.further = {todo.name}
    editor = InProcessEditor(views)
    await editor.initialize()
    editor.open(todo, text)
    offered = await actions(editor, todo.as_uri(), 3)
    assert applied(text, offered["Mark task as done"]).endswith("- [ ] Pay by card\n- [x] Log in\n")
    assert "[BLOCKED] Log in" in applied(text, offered["Block task"])
    # What the user types decides, before it is saved.
    editor.close(todo.as_uri())
    editor.open(todo, "Pay by card\nLog in\n")
    offered = await actions(editor, todo.as_uri(), 1)
    assert applied("Pay by card\nLog in\n", offered["Mark task as done"]).endswith(" Log in\n")
    await editor.quiet()


def test_a_file_of_another_program_is_no_plan(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    folders = loop_folders(Worktree(root=tmp_path, git_dir=git, common_dir=git), {})
    todo = tmp_path / "todo.txt"
    for text, kind in [("Notes:\nNo pricing. No fluff.\n", None), ("Buy milk\n", FileKind.PLAN)]:
        todo.write_text(text, encoding="utf-8")
        assert kind_of(todo, find_loop_paths(folders), folders) is kind


def test_the_current_tag_of_task_master_is_the_plan(tmp_path: Path) -> None:
    tasks = tmp_path / ".taskmaster/tasks/tasks.json"
    tasks.parent.mkdir(parents=True)
    tasks.write_text('{"master": {"tasks": []}, "dev": {"tasks": []}}', encoding="utf-8")
    git = tmp_path / ".git"
    folders = loop_folders(Worktree(root=tmp_path, git_dir=git, common_dir=git), {})
    state = tmp_path / ".taskmaster/state.json"
    for tag in ("dev", "master"):
        state.write_text(f'{{"currentTag": "{tag}"}}', encoding="utf-8")
        found = find_loop_paths(folders)
        assert (found.plan, found.tag) == (tasks, tag)


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", PLANS)
class TestFeatures:
    async def test_the_state_of_a_task_is_edited_in_its_form(
        self, kind: PlanKind, opened: Opened
    ) -> None:
        path, editor = opened
        text, uri = path.read_bytes().decode(), path.as_uri()
        task = _open_tasks(path, kind)[-1]
        offered = await actions(editor, uri, task.line)
        is_markdown = FORMATS[kind].is_markdown
        for title, state in STATES.items():
            if title not in offered and is_markdown:
                continue
            if (why := REFUSED.get((kind, state))) is not None:
                assert why in offered[title]["disabled"]["reason"]
                continue
            after = applied(text, offered[title])
            now = parse_plan(after, kind).plan.by_id()[task.id]
            assert (now.state, now.title) == (state, task.title)
            if (kind, state) == (PlanKind.TODO_TXT, TaskState.DONE):
                today = editor.views.time.astimezone().date()
                assert after == f"{text[: task.start]}x {today} {text[task.start :]}"
        assert "disabled" not in offered["Add a note"]

    async def test_a_finished_task_is_reopened(self, kind: PlanKind, opened: Opened) -> None:
        path, editor = opened
        task = _open_tasks(path, kind)[-1]
        text = path.read_bytes().decode()
        done = (await actions(editor, path.as_uri(), task.line))["Mark task as done"]
        text = applied(text, done)
        editor.close(path.as_uri())
        editor.open(path, text)
        place = parse_plan(text, kind).plan.by_id()[task.id]
        again = (await actions(editor, path.as_uri(), place.line))["Reopen task"]
        now = parse_plan(applied(text, again), kind).plan.by_id()[task.id]
        assert now.state is TaskState.TODO

    async def test_tasks_are_shown(self, kind: PlanKind, opened: Opened) -> None:
        path, editor = opened
        uri = {"textDocument": {"uri": path.as_uri()}}
        task = _open_tasks(path, kind)[-1]
        lenses = await editor.request("textDocument/codeLens", uri)
        commands = [one["command"] for one in lenses]
        plan = PurePosixPath(path.relative_to(editor.views.views[0].root))
        folder = FORMATS[kind].storage is PlanStorage.FOLDER
        wanted = str(plan.parent if folder else plan)
        assert {one["arguments"][0].get("plan") for one in commands if one["arguments"]} == {wanted}
        at = {**uri, "position": {"line": task.line, "character": 2}}
        assert _words(await editor.request("textDocument/hover", at))
        symbols = await editor.request("textDocument/documentSymbol", uri)
        assert task.title in str(symbols)


def _words(hover: Any) -> str:
    return "" if hover is None else str(hover["contents"])


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("specs/002-login/tasks.md", PlanKind.SPEC_KIT),
        ("backlog/tasks/task-1 - A.md", PlanKind.BACKLOG),
        ("openspec/changes/archive/tasks.md", PlanKind.MARKDOWN),
        ("notes/tasks.md", PlanKind.MARKDOWN),
    ],
)
def test_the_place_gives_the_format(path: str, kind: PlanKind) -> None:
    assert format_of_file(path, PlanKind.MARKDOWN).name is kind
