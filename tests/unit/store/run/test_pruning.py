"""What pruning removes of a run, what it keeps, and what it leaves when it is interrupted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.loop.rules.retention import RunToPrune, StoredRun, choose_runs
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.tables import StateConfig
from ralph_ls.protocol.run.events import Event, RunStarted
from ralph_ls.protocol.run.values import PlanCountsView
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.run import pruning
from ralph_ls.store.run.lock import LockOwner
from ralph_ls.store.run.pruning import (
    KEPT,
    MARK,
    prune_runs,
    read_announced,
    read_pruned,
    save_announced,
    stored_runs,
)
from tests.unit.store.store_builders import at, ended, resumed, to_lines

OLD, OLDER, LAST = "20260131T120000Z-0a1b", "20260130T120000Z-0a1b", "20260201T120000Z-0a1b"
NOW = datetime(2026, 6, 1, tzinfo=UTC)
SETTING = "[state] keep_days = 90"


def started(*, pid: int = 1 << 22) -> RunStarted:
    return RunStarted(
        seq=1,
        at=at(1),
        run=OLD,
        version="0.1.0",
        pid=pid,
        workspace="/work",
        state_dir="/state",
        plan="fix_plan.md",
        counts=PlanCountsView(),
        config=Config(),
    )


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


def write_run(state: StateFolder, run: str, events: Sequence[Event] | None = None) -> Path:
    folder = state.run(run).folder
    folder.mkdir(parents=True)
    lines = to_lines([started(), ended(2)] if events is None else events)
    (folder / "journal.jsonl").write_bytes(lines)
    for name in (*KEPT - {MARK, "journal.jsonl"}, "messages.jsonl", "iteration-001.out"):
        (folder / name).write_text("0123456789")
    scratch = folder / "scratch" / "cache"
    scratch.mkdir(parents=True)
    (scratch / "module").write_text("0123456789")
    scratch.chmod(0o500)
    return folder


def chosen(state: StateFolder) -> Sequence[RunToPrune]:
    return choose_runs(stored_runs(state), StateConfig(), NOW)


def facts(state: StateFolder) -> dict[str, StoredRun]:
    return {one.run: one for one in stored_runs(state)}


def kept_runs(state: StateFolder) -> list[str]:
    return [one.run for one in stored_runs(state) if one.is_kept]


class TestWhatIsRemoved:
    def test_output_goes_and_what_numbers_are_made_from_stays(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        journal = (folder / "journal.jsonl").read_bytes()
        found = facts(state)[OLD]
        assert (found.removable, found.n_files, found.ended_at) == (30, 3, at(2))
        done = prune_runs(state, chosen(state), NOW)
        assert (done.runs, done.files, done.bytes, done.left, done.problem) == (1, 3, 30, 0, None)
        assert {path.name for path in folder.iterdir()} == KEPT
        assert (folder / "journal.jsonl").read_bytes() == journal
        mark = read_pruned(state.run(OLD))
        assert mark is not None
        assert (mark.at, mark.setting, mark.files, mark.bytes) == (NOW, SETTING, 3, 30)
        assert chosen(state) == ()

    def test_a_link_is_removed_and_not_followed(self, state: StateFolder, tmp_path: Path) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").write_text("mine")
        (folder / "elsewhere").symlink_to(precious)
        (folder / "scratch" / "elsewhere").symlink_to(precious)
        prune_runs(state, chosen(state), NOW)
        assert not (folder / "elsewhere").is_symlink()
        assert (precious / "file").read_text() == "mine"


class TestWhatIsKept:
    def test_the_last_run_and_what_is_newer(self, state: StateFolder) -> None:
        for run in (OLDER, OLD):
            write_run(state, run)
        write_run(state, LAST, [])
        assert kept_runs(state) == [OLD, LAST]
        assert [one.stored.run for one in chosen(state)] == [OLDER]

    def test_the_run_that_the_work_tree_names(self, state: StateFolder) -> None:
        for run in (OLDER, OLD, LAST):
            write_run(state, run)
        owner = LockOwner(pid=1, process_start_time=1.0, run=OLDER, state_dir=str(state.folder))
        (state.folder / "ralph.json").write_text(owner.model_dump_json(by_alias=True))
        assert kept_runs(state) == [OLDER, LAST]
        assert [one.run for one in stored_runs(state, kept={OLD}) if one.is_kept] == [
            *(OLDER, OLD, LAST)
        ]

    def test_one_without_an_end_only_while_its_engine_lives(
        self, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_run(state, OLDER, [started(), ended(2), resumed(3)])
        write_run(state, LAST)
        assert kept_runs(state) == [LAST]
        asked: list[object] = []

        def lives(pid: int | None, since: object) -> bool:
            asked.append((pid, since))
            return True

        monkeypatch.setattr(pruning, "is_engine", lives)
        assert kept_runs(state) == [OLDER, LAST]
        assert asked == [(4711, at(3))]

    def test_a_folder_without_a_journal_is_as_old_as_itself(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        (folder / "journal.jsonl").unlink()
        write_run(state, LAST)
        os.utime(folder, (at(5).timestamp(), at(5).timestamp()))
        assert facts(state)[OLD].ended_at == at(5)


class TestInterruption:
    def test_what_was_left_is_removed_by_the_next_pruning(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        prune_runs(state, chosen(state), NOW)
        (folder / "iteration-002.out").write_text("left")
        later = choose_runs(stored_runs(state), StateConfig(keep_days=0, max_bytes=0), NOW)
        assert [one.setting for one in later] == [SETTING]
        done = prune_runs(state, later, at(10**9))
        assert (done.runs, done.files, done.bytes) == (1, 1, 4)
        mark = read_pruned(state.run(OLD))
        assert mark is not None
        assert mark.at == NOW

    def test_a_run_that_was_taken_up_again_since_has_new_output(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        prune_runs(state, chosen(state), at(1))
        (folder / "iteration-002.out").write_text("new")
        assert facts(state)[OLD].pruned_by is None

    def test_time_that_is_up_leaves_the_newer_ones(self, state: StateFolder) -> None:
        for run in (OLDER, OLD, LAST):
            write_run(state, run)
        turns = iter([False] * 3)
        done = prune_runs(state, chosen(state), NOW, is_late=lambda: next(turns, True))
        assert (done.runs, done.left) == (1, 1)
        assert [one.stored.run for one in chosen(state)] == [OLD]
        assert stored_runs(state, is_late=lambda: True) == []

    def test_a_run_with_many_files_is_removed_in_parts(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        for number in range(5):
            (folder / "scratch" / f"{number}").write_text("0")
        turns = iter([False] * 4)
        done = prune_runs(state, chosen(state), NOW, is_late=lambda: next(turns, True))
        assert (done.runs, done.left) == (1, 1)
        assert 0 < facts(state)[OLD].n_files < 6
        assert prune_runs(state, chosen(state), NOW).left == 0

    def test_what_is_gone_meanwhile_is_not_counted(
        self, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        unlink = Path.unlink

        def also_removed_by_another(path: Path) -> None:
            unlink(path)
            if path.name == "iteration-001.out":
                unlink(folder / "messages.jsonl")

        monkeypatch.setattr(Path, "unlink", also_removed_by_another)
        done = prune_runs(state, chosen(state), NOW)
        assert (done.files, done.left, done.problem) == (2, 0, None)

    def test_a_folder_that_cannot_be_listed_is_reported(
        self, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_run(state, OLD)
        write_run(state, LAST)
        to_prune = chosen(state)

        def refuse(path: Path, mode: int) -> None:
            raise PermissionError(1, "Operation not permitted", str(path))

        monkeypatch.setattr(Path, "chmod", refuse)
        monkeypatch.setattr(pruning, "write_atomic", lambda *_, **__: None)
        done = prune_runs(state, to_prune, NOW)
        assert (done.files, done.left) == (2, 1)
        assert done.problem is not None
        assert done.problem.endswith("scratch cannot be removed: Operation not permitted")

    def test_nothing_is_removed_that_no_reader_would_know_of(
        self, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        to_prune = chosen(state)
        (folder / MARK).mkdir()
        done = prune_runs(state, to_prune, NOW)
        assert (done.runs, done.left) == (0, 1)
        assert done.problem is not None
        assert MARK in done.problem
        assert (folder / "iteration-001.out").exists()

    def test_a_file_that_cannot_be_removed_is_reported_and_the_rest_goes(
        self, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        unlink = Path.unlink

        def refuse(path: Path) -> None:
            if path.name == "messages.jsonl":
                raise PermissionError(13, "Permission denied", str(path))
            unlink(path)

        monkeypatch.setattr(Path, "unlink", refuse)
        done = prune_runs(state, chosen(state), NOW)
        assert (done.runs, done.files, done.left) == (1, 2, 1)
        assert done.problem is not None
        assert "messages.jsonl cannot be removed" in done.problem
        assert {path.name for path in folder.iterdir()} == {*KEPT, "messages.jsonl"}

    def test_a_run_that_is_gone_meanwhile_is_no_error(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        write_run(state, LAST)
        to_prune = chosen(state)
        folder.rename(state.folder / "aside")
        done = prune_runs(state, to_prune, NOW)
        assert done.problem is not None


class TestMarks:
    def test_an_announcement_is_for_its_limits(self, state: StateFolder) -> None:
        state.folder.mkdir()
        assert read_announced(state) is None
        save_announced(state, StateConfig(keep_days=7), NOW)
        assert read_announced(state) == StateConfig(keep_days=7)
        (state.folder / pruning.ANNOUNCEMENT).write_text("{")
        assert read_announced(state) is None

    def test_a_mark_that_is_none_is_none(self, state: StateFolder) -> None:
        folder = write_run(state, OLD)
        assert read_pruned(state.run(OLD)) is None
        (folder / MARK).write_text("[]")
        assert read_pruned(state.run(OLD)) is None
