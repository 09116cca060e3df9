"""Structured sources, of one file and of a folder: located, read, marked, closed and guarded."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_ls.core.loop.effects import SetTaskAside
from ralph_ls.core.plan.verification.criterion_checks import (
    CheckOutcome,
    CriterionCheck,
    TaskVerification,
)
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.plan.selection import source_of
from ralph_ls.engine.plan.source import WatchedIteration
from ralph_ls.engine.plan.structured import FileSource, FolderSource, StructuredSource
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable, RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import Mode, TaskRef
from ralph_ls.store.project.config_file import LoadedSettings

DATA = Path("tests/data/plan_formats")
TODO = "todo.txt"
FOLDER = "backlog/tasks"
PAY = FOLDER + "/task-2 - Pay-by-card.md"
BUILD = WatchedIteration(mode=Mode.BUILD)


def file_source(root: Path) -> FileSource:
    shutil.copytree(DATA / TODO, root, dirs_exist_ok=True)
    return FileSource(root, Config(), TODO, {})


def folder_source(root: Path) -> FolderSource:
    shutil.copytree(DATA / "backlog.md", root, dirs_exist_ok=True)
    return FolderSource(root, Config(), FOLDER, {})


def settings(path: str | None, task: str | None = None) -> LoadedSettings:
    paths = {} if path is None else {"plan": path}
    config = Config.model_validate({"task": task, "paths": paths})
    return LoadedSettings(config=config, from_file={}, overrides={})


def open_task(source: StructuredSource) -> TaskRef:
    task = next(one for one in source.parse(source.read()).plan.tasks if one.state == "todo")
    return TaskRef(id=task.id, title=task.title)


def set_aside(source: StructuredSource, task: TaskRef) -> str:
    return source.set_aside(SetTaskAside(task=task, reason="no key", needs="a key"))


@pytest.mark.parametrize(
    ("before", "after"),
    [("- [ ] a\n- [ ] b\n", "a\nx b\n"), ("a\nb\n", "- [ ] a\n"), ("- [ ] a\n", "- [ ] a\nx b\n")],
)
def test_a_plan_keeps_its_format(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / TODO).write_text(before, encoding="utf-8")
    # After a crash the source is chosen by what the agent left.
    for source in (
        FileSource(tmp_path, Config(), TODO, {}),
        source_of(tmp_path, Config(), TODO, {}),
        MarkdownSource(tmp_path, Config(), TODO, {}),
    ):
        done = source.guarded(before, after, BUILD)
        assert (done.text, [one.what.value for one in done.offences]) == (before, ["changed"])
        assert "a plan keeps its format during a run" in done.notices[0].message


class TestLocating:
    def test_a_file_and_a_folder(self, tmp_path: Path) -> None:
        texts = [file_source(tmp_path).read(), folder_source(tmp_path).read()]
        found = [
            FileSource.locate(tmp_path, settings(TODO), {}, resume=False),
            FolderSource.locate(tmp_path, settings(FOLDER, "TASK-2"), {}, resume=False),
        ]
        assert [(one.path, one.text) for one in found] == [(TODO, texts[0]), (FOLDER, texts[1])]

    def test_what_is_not_there(self, tmp_path: Path) -> None:
        folder_source(tmp_path)
        with pytest.raises(PlanMissing, match="name the folder of yours with --plan"):
            FolderSource.locate(tmp_path, settings("elsewhere"), {}, resume=False)
        with pytest.raises(RalphError, match="TASK-9"):
            FolderSource.locate(tmp_path, settings(FOLDER, "TASK-9"), {}, resume=False)

    def test_a_plan_without_tasks(self, tmp_path: Path) -> None:
        (tmp_path / TODO).write_text("\n", encoding="utf-8")
        with pytest.raises(PlanMissing, match=r"has no tasks; add some with todo\.txt"):
            FileSource.locate(tmp_path, settings(TODO), {}, resume=False)

    def test_a_plan_that_cannot_be_read_is_no_empty_one(self, tmp_path: Path) -> None:
        source = folder_source(tmp_path)
        for path in (tmp_path / FOLDER).iterdir():
            path.write_text("no task\n", encoding="utf-8")
        with pytest.raises(PlanUnusable, match="no file in it is a task"):
            source.read()


@pytest.mark.parametrize("make", [file_source, folder_source])
class TestEditing:
    def test_a_task_that_is_set_aside_is_blocked(self, make: type, tmp_path: Path) -> None:
        source = make(tmp_path)
        task = open_task(source)
        text = set_aside(source, task)
        assert source.read() == text
        assert source.parse(text).plan.by_id()[task.id].state == "blocked"

    def test_a_task_that_is_gone_is_not_marked(self, make: type, tmp_path: Path) -> None:
        source = make(tmp_path)
        before = source.read()
        assert set_aside(source, TaskRef(id="gone", title="Gone")) == before

    def test_a_refuted_task_is_open_again(self, make: type, tmp_path: Path) -> None:
        source = make(tmp_path)
        done = next(one for one in source.parse(source.read()).plan.tasks if one.state == "done")
        check = CriterionCheck(criterion="it works", command="make", argv=("make",))
        refuted = TaskVerification(
            task=TaskRef(id=done.id, title=done.title),
            checked=(CheckOutcome(check=check, exit_code=2),),
        )
        written = source.close([refuted], source.read())
        assert [one.reopened for one in written.verifications] == [True]
        assert source.parse(written.text).plan.by_id()[done.id].state == "todo"

    def test_what_cannot_be_written_is_reported(self, make: type, tmp_path: Path) -> None:
        source = make(tmp_path)
        check = CriterionCheck(criterion="it works", command="make", argv=("make",))
        unknown = TaskVerification(
            task=TaskRef(id="gone", title="Gone"),
            checked=(CheckOutcome(check=check, exit_code=2),),
        )
        written = source.close([unknown], source.read())
        assert [one.code for one in written.notices] == ["verify-not-written"]
        assert [one.reopened for one in written.verifications] == [False]


class TestGuarding:
    def test_an_offence_names_its_file(self, tmp_path: Path) -> None:
        source = folder_source(tmp_path)
        before = source.read()
        (tmp_path / PAY).unlink()
        guarded = source.guarded(before, source.read(), BUILD)
        assert guarded.text == before
        assert [(one.what, one.path) for one in guarded.offences] == [(Forbidden.DROPPED, PAY)]
        # Writing is the guard's, which keeps what the agent left.
        assert not (tmp_path / PAY).exists()

    def test_a_file_has_no_other_name(self, tmp_path: Path) -> None:
        source = file_source(tmp_path)
        before = source.read()
        guarded = source.guarded(before, before.split("\n")[0] + "\n", BUILD)
        assert {one.path for one in guarded.offences} == {""}
        assert source.files_of(before) == {TODO: before}
        assert source.text_of({TODO: before}) == before

    def test_a_restored_line_that_is_done_has_the_day(self, tmp_path: Path) -> None:
        source = file_source(tmp_path)
        before = source.read()
        after = before.replace("(A) 2026-01-05 Pay", "x Pay").replace(" dep:basket", "")
        today = replace(BUILD, today="2026-01-07")
        ticked = before.replace("(A) 2026-01-05", "x 2026-01-07 2026-01-05").replace(
            "dep:basket", "dep:basket pri:A"
        )
        assert source.guarded(before, after, today).text == ticked

    def test_the_files_of_a_text(self, tmp_path: Path) -> None:
        source = folder_source(tmp_path)
        text = source.read()
        assert sorted(source.files_of(text)) == list(source.own_files)
        assert source.text_of(source.files_of(text)) == text

    def test_what_head_has_and_the_tree_has_not(self, tmp_path: Path) -> None:
        source = folder_source(tmp_path)
        start = source.read()
        (tmp_path / PAY).unlink()
        committed = source.read()
        assert list(source.held(start, committed, start, "")) == [("dropped", "TASK-2")]
        assert source.held(start, committed, committed, "") == {}
