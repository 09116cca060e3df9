"""Git's lock files: found where they matter, and never moved from under somebody."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_ls.store.external.git_locks import (
    find_blocking,
    find_locks,
    find_running_git,
    move_lock,
    read_lock,
    removal_of,
)
from ralph_ls.store.layout import Worktree, find_worktree


@pytest.fixture
def place(tmp_path: Path) -> Worktree:
    root = tmp_path / "repository"
    root.mkdir()
    run(root, "init", "-q", "-b", "main")
    run(root, "commit", "-q", "--allow-empty", "-m", "The beginning")
    return find_worktree(root)


@pytest.fixture
def linked(place: Worktree) -> Worktree:
    run(place.root, "worktree", "add", "-q", "-b", "side", "../linked")
    return find_worktree(place.root.parent / "linked")


def run(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"held\n")
    return path


@contextmanager
def working(folder: Path, *words: str, **environment: str) -> Iterator[int]:
    """A git that waits for its input."""
    command = ["git", *words, "hash-object", "--stdin"]
    around = {**os.environ, **environment}
    with subprocess.Popen(command, cwd=folder, env=around, stdin=subprocess.PIPE) as process:
        try:
            wait_for_name(process.pid)
            yield process.pid
        finally:
            process.kill()


def wait_for_name(pid: int) -> None:
    """Until the process is git, with its words, and no longer what it was forked from."""
    import psutil

    process = psutil.Process(pid)
    while process.name() != "git" or len(process.cmdline()) < 2:
        os.sched_yield()


class TestFinding:
    def test_what_is_there_and_not_ours(self, place: Worktree) -> None:
        git_dir = place.git_dir
        names = (
            *("index.lock", "refs/heads/a/b.lock", "objects/pack/multi-pack-index.lock"),
            *("modules/lib/index.lock", "modules/lib/HEAD"),
        )
        made = [make(git_dir / name) for name in names]
        for name in ("ralph.lock", "logs/HEAD.lock", "objects/ab/cd.lock"):
            make(git_dir / name)
        assert set(find_locks(place)) == set(made) - {git_dir / "modules/lib/HEAD"}

    def test_those_of_the_main_work_tree_are_none_of_a_linked_one(
        self, place: Worktree, linked: Worktree
    ) -> None:
        make(place.git_dir / "index.lock")
        own = make(linked.git_dir / "index.lock")
        shared = make(place.git_dir / "refs/heads/side.lock")
        packed = make(place.git_dir / "packed-refs.lock")
        assert set(find_locks(linked)) == {own, shared, packed}
        assert own not in find_locks(place)

    def test_only_those_of_this_branch_keep_git_from_working(self, place: Worktree) -> None:
        mine = make(place.git_dir / "refs/heads/main.lock")
        make(place.git_dir / "refs/heads/other.lock")
        assert [lock.path for lock in find_blocking(place, "main")] == [mine]
        assert find_blocking(place, None) == []

    def test_a_folder_of_that_name_is_none(self, place: Worktree) -> None:
        (place.git_dir / "index.lock").mkdir()
        assert read_lock(place.git_dir / "index.lock") is None


class TestAtWork:
    def test_a_git_in_the_work_tree_or_a_linked_one_is_found(
        self, place: Worktree, linked: Worktree
    ) -> None:
        for folder in (place.root, place.git_dir, linked.root):
            with working(folder) as pid:
                found = find_running_git(place)
                assert found is not None
                assert (found.pid, found.command) == (pid, "git hash-object")

    @pytest.mark.parametrize("by", ["-C", "--git-dir", "GIT_DIR"])
    def test_a_git_elsewhere_that_names_it_is_found(
        self, place: Worktree, tmp_path: Path, by: str
    ) -> None:
        words: Mapping[str, tuple[str, ...]] = {
            "-C": ("-C", str(place.root)),
            "--git-dir": (f"--git-dir={place.git_dir}",),
            "GIT_DIR": (),
        }
        environment = {"GIT_DIR": str(place.git_dir)} if by == "GIT_DIR" else {}
        with working(tmp_path, *words[by], **environment) as pid:
            found = find_running_git(place)
            assert found is not None
            assert found.pid == pid

    def test_a_git_elsewhere_is_not(self, place: Worktree, tmp_path: Path) -> None:
        with working(tmp_path):
            assert find_running_git(place) is None

    def test_one_that_only_reads_is_not(self, place: Worktree) -> None:
        command = ["git", "cat-file", "--batch"]
        with subprocess.Popen(command, cwd=place.root, stdin=subprocess.PIPE) as process:
            wait_for_name(process.pid)
            assert find_running_git(place) is None
            process.kill()


class TestMoving:
    def test_it_keeps_what_it_holds(self, place: Worktree, tmp_path: Path) -> None:
        make(place.git_dir / "refs/heads/a.lock")
        (lock,) = find_locks(place).values()
        moved = move_lock(lock, place, tmp_path / "kept")
        assert moved == tmp_path / "kept/refs/heads/a.lock"
        assert moved.read_bytes() == b"held\n"
        assert find_locks(place) == {}

    def test_another_file_of_that_name_stays(self, place: Worktree, tmp_path: Path) -> None:
        path = make(place.git_dir / "index.lock")
        (lock,) = find_locks(place).values()
        other = replace(lock, file=(lock.file[0], lock.file[1] + 1))
        assert move_lock(other, place, tmp_path / "kept") is None
        assert path.read_bytes() == b"held\n"
        assert not (tmp_path / "kept").exists()

    def test_the_command_that_removes_them_can_be_typed(self) -> None:
        assert removal_of([Path("/a b/index.lock")]) == "rm '/a b/index.lock'"
