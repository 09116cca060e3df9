"""A state folder belongs to one work tree, wherever that was moved and however it was copied."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_folder
from ralph_ls.store.run.lock import EngineLock, LockOwner
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import (
    RECORD,
    every_worktree,
    find_state,
    record_worktree,
    root_of,
)
from tests.unit.core.views.run_states import run_started
from tests.unit.store.store_builders import to_lines

RUN = "20260131T120000Z-0a1b"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "state"


def repository(folder: Path) -> Worktree:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return find_worktree(folder)


def run_in(root: Path, worktree: Worktree, run: str = RUN) -> StateFolder:
    """What a run leaves: a journal, the owner in the git directory, and the record."""
    state = find_state(root, worktree)
    files = state.run(run)
    files.folder.mkdir(parents=True)
    started = run_started().model_copy(update={"run": run, "workspace": str(worktree.root)})
    files.journal.write_bytes(to_lines([started]))
    owner = LockOwner(pid=4711, process_start_time=1.0, run=run, state_dir=str(state.folder))
    EngineLock(worktree.git_dir).claim(owner)
    record_worktree(state, worktree)
    return state


def run_shown(root: Path, worktree: Worktree) -> str | None:
    found = find_run(worktree, find_state(root, worktree))
    return None if found is None else found.state.run


class TestFindState:
    def test_a_work_tree_without_runs_has_the_folder_of_its_path(
        self, root: Path, tmp_path: Path
    ) -> None:
        one = repository(tmp_path / "one")
        assert find_state(root, one) == state_folder(root, one)
        assert run_in(root, one) == find_state(root, one) == state_folder(root, one)

    def test_a_moved_one_keeps_its_folder(self, root: Path, tmp_path: Path) -> None:
        state = run_in(root, repository(tmp_path / "one"))
        two = find_worktree((tmp_path / "one").rename(tmp_path / "two"))
        assert find_state(root, two) == state
        assert root_of(state) == two.root
        assert run_shown(root, two) == RUN
        # And back again.
        one = find_worktree((tmp_path / "two").rename(tmp_path / "one"))
        assert find_state(root, one) == state
        assert root_of(state) == one.root

    def test_a_copy_shows_no_run_of_the_original(self, root: Path, tmp_path: Path) -> None:
        one = repository(tmp_path / "one")
        state = run_in(root, one)
        two = find_worktree(shutil.copytree(one.root, tmp_path / "two"))
        assert find_state(root, two) == state_folder(root, two) != state
        assert run_shown(root, two) is None
        assert find_state(root, one) == state
        later = "20260131T130000Z-ffff"
        run_in(root, two, later)
        assert (run_shown(root, one), run_shown(root, two)) == (RUN, later)

    def test_a_copy_is_none_in_another_state_root_either(self, root: Path, tmp_path: Path) -> None:
        one = repository(tmp_path / "one")
        run_in(root, one)
        two = find_worktree(shutil.copytree(one.root, tmp_path / "two"))
        elsewhere = tmp_path / "elsewhere"
        assert run_shown(elsewhere, two) is None
        assert run_shown(elsewhere, one) == RUN

    def test_who_comes_to_a_path_after_it_has_a_separate_folder(
        self, root: Path, tmp_path: Path
    ) -> None:
        state = run_in(root, repository(tmp_path / "one"))
        two = find_worktree((tmp_path / "one").rename(tmp_path / "two"))
        assert find_state(root, two) == state
        one = repository(tmp_path / "one")
        fresh = run_in(root, one, "20260131T130000Z-ffff")
        assert fresh != state
        assert fresh.folder.parent == state.folder.parent
        copy = find_worktree(shutil.copytree(two.root, tmp_path / "three"))
        assert [run_shown(root, each) for each in (one, two, copy)] == [
            "20260131T130000Z-ffff",
            RUN,
            None,
        ]

    @pytest.mark.parametrize("broken", [b"", b"[]", b'{"root": ""}', b'{"root": "\\u0000"}', b"{"])
    def test_without_a_record_the_journal_says_whose_it_is(
        self, root: Path, tmp_path: Path, broken: bytes
    ) -> None:
        one = repository(tmp_path / "one")
        state = run_in(root, one)
        (state.folder / RECORD).write_bytes(broken)
        assert root_of(state) == one.root
        assert find_state(root, one) == state
        two = find_worktree(one.root.rename(tmp_path / "two"))
        assert find_state(root, two) == state
        assert json.loads((state.folder / RECORD).read_bytes()) == {"root": str(two.root)}

    def test_an_owner_without_its_run_is_ignored(self, root: Path, tmp_path: Path) -> None:
        state = run_in(root, repository(tmp_path / "one"))
        shutil.rmtree(state.runs)
        two = find_worktree((tmp_path / "one").rename(tmp_path / "two"))
        assert find_state(root, two) == state_folder(root, two)


def test_every_work_tree_that_is_still_there_is_listed_once(root: Path, tmp_path: Path) -> None:
    assert list(every_worktree(root)) == []
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    states = {run_in(root, tree).folder: tree.root for tree in (one, two)}
    run_in(root, repository(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")
    (root / "worktrees" / "lost").mkdir()
    shutil.copytree(one.root, tmp_path / "copy")
    found = list(every_worktree(root))
    assert {state.folder: tree.root for tree, state in found} == states
