"""What git would wait for is found: at the well-known places at once, elsewhere by a search."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.external import git_command, supervisor
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_safety import (
    OWN_FILES,
    TREE_FILES,
    find_blocking_input,
    require_git_can_read,
)
from ralph_ls.store.files import LARGEST_FILE
from tests.engine.project_builder import git, make_repository

KNOWN = [*TREE_FILES, *(f".git/{name}" for name in OWN_FILES)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "a", files={"src/a": "a", ".gitignore": "*.pyc\n"})


def replace_by_pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def test_an_ordinary_work_tree_is_read(root: Path) -> None:
    require_git_can_read(root)
    assert find_blocking_input(root) is None
    (root / ".gitignore").unlink()
    (root / ".gitignore").mkdir()
    assert run_git(root, "status", "--porcelain") == b" D .gitignore\n"


@pytest.mark.parametrize("name", KNOWN)
def test_git_is_not_started_where_it_would_wait(root: Path, name: str) -> None:
    replace_by_pipe(root / name)
    with pytest.raises(StateUnusable) as refused:
        run_git(root, "status")
    assert refused.value.message == (
        f"{root / name} is a named pipe, not a regular file, and git cannot work with it; remove "
        "it, or replace it with a file"
    )
    assert find_blocking_input(root) == refused.value.message


def test_a_link_to_a_device_and_a_huge_file_are_refused(root: Path) -> None:
    exclude = root / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.unlink(missing_ok=True)
    exclude.symlink_to("/dev/zero")
    with pytest.raises(StateUnusable, match="exclude is a device, not a regular file"):
        run_git(root, "status")
    exclude.unlink()
    with exclude.open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(StateUnusable, match="exclude is larger than 16 MB"):
        run_git(root, "status")


def test_the_folder_of_a_linked_work_tree_is_inspected(root: Path, tmp_path: Path) -> None:
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    replace_by_pipe(root / ".git/worktrees/linked/index")
    with pytest.raises(StateUnusable, match="linked/index is a named pipe"):
        run_git(tmp_path / "linked", "status")
    require_git_can_read(root)
    replace_by_pipe(root / ".git/packed-refs")
    with pytest.raises(StateUnusable, match="linked/index is a named pipe"):
        run_git(tmp_path / "linked", "status")
    with pytest.raises(StateUnusable, match="packed-refs is a named pipe"):
        run_git(root, "status")


@pytest.mark.parametrize(
    "name", ["src/deep/.gitignore", "src/.gitattributes", ".git/refs/heads/other"]
)
def test_one_deeper_in_the_tree_is_found_by_a_search(root: Path, name: str) -> None:
    replace_by_pipe(root / name)
    require_git_can_read(root)
    assert (find_blocking_input(root) or "").startswith(f"{root / name} is a named pipe")


def test_a_pipe_that_git_does_not_read_is_none_of_them(root: Path) -> None:
    replace_by_pipe(root / "src/pipe")
    replace_by_pipe(root / ".git/pipe")
    assert find_blocking_input(root) is None
    assert run_git(root, "status", "--porcelain") == b""
    assert find_blocking_input(root / "none") is None


def test_git_that_does_not_answer_is_ended_and_what_it_waits_for_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_command, "READ_SECONDS", 0.5)
    replace_by_pipe(root / "src/.gitignore")
    with pytest.raises(RalphError) as failed:
        run_git(root, "status", "--porcelain", "--untracked-files=all")
    assert failed.value.message == (
        f"git status --porcelain --untracked-files=all did not finish within 0.5 s in {root}, so "
        f"it was ended: {root / 'src/.gitignore'} is a named pipe, not a regular file, and git "
        "cannot work with it; remove it, or replace it with a file"
    )


def test_what_git_would_wait_for_is_searched_for_long_before_its_time_is_over(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "ASK_AFTER", 0.5)
    replace_by_pipe(root / "src/.gitignore")
    with pytest.raises(RalphError) as failed:
        run_git(root, "status", "--porcelain", "--untracked-files=all")
    assert "did not finish within 0.5 s" in failed.value.message
    assert f"{root / 'src/.gitignore'} is a named pipe" in failed.value.message
