"""``attempts.txt``: the user may edit it, and several engines may write it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project import project_state
from ralph_ls.store.project.project_state import (
    LARGEST_FILE,
    ProjectState,
    find_project,
    forget_attempts,
    forget_project_attempts,
    merge_attempts,
    read_attempts,
)
from tests.engine.project_builder import git


@pytest.fixture
def project(tmp_path: Path) -> ProjectState:
    return ProjectState(folder=tmp_path / "state" / "projects" / "0123456789ab")


def write(project: ProjectState, text: str) -> None:
    project.folder.mkdir(parents=True, exist_ok=True)
    project.attempts.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "attempts"),
    [
        ("", {}),
        ("bd-1:1\nbd-2:3\n", {"bd-1": 1, "bd-2": 3}),
        ("bd-1:1\r\n  bd-2 : 2  \n\n", {"bd-1": 1, "bd-2": 2}),
        ("a:b:2\n", {"a:b": 2}),
        ("bd-1:1\nbd-1:2\n", {"bd-1": 2}),
        ("bd-1:0\n", {}),
        ("# mine\nbd-1\n:3\nbd-2:-1\nbd-3:x\nbd-4:9999999\n", {}),
        ("a task:2\n", {"a task": 2}),
        ("\x00:1\na\x1bb:2\n\xff:3\n", {"\xff": 3}),
    ],
)
def test_reads_what_is_a_count(project: ProjectState, text: str, attempts: dict[str, int]) -> None:
    write(project, text)
    assert read_attempts(project) == attempts


def test_no_file_counts_nothing(project: ProjectState) -> None:
    assert read_attempts(project) == {}


@pytest.mark.parametrize(
    ("there", "before", "after", "now"),
    [
        pytest.param(None, {}, {"a": 1}, "a:1\n", id="the first"),
        pytest.param("a:1\n", {"a": 1}, {"a": 2}, "a:2\n", id="one more"),
        pytest.param("a:2\nb:1\n", {"a": 2, "b": 1}, {"b": 1}, "b:1\n", id="done"),
        pytest.param("a:2\n", {"a": 2}, {}, "", id="the last is done"),
        pytest.param("a:2\nb:3\n", {"a": 2}, {"a": 3}, "a:3\nb:3\n", id="another clone's stays"),
        pytest.param("a:3\n", {"a": 2}, {"a": 3}, "a:4\n", id="another clone tried it too"),
        pytest.param("", {"a": 2, "b": 1}, {"a": 3, "b": 1}, "a:1\n", id="reset meanwhile"),
        pytest.param("a:1\n", {"a": 2}, {"a": 3}, "a:2\n", id="lowered meanwhile"),
        pytest.param("a:2\n", {"a": 2}, {"b": 3}, "b:3\n", id="renamed"),
        pytest.param("a:2\n", {"a": 2}, {"a": 1}, "a:1\n", id="given back"),
        pytest.param("a:1\n", {"a": 1}, {}, "", id="the first is given back"),
        pytest.param("", {"a": 3}, {"a": 2}, "", id="reset, then given back"),
        pytest.param("# x\na:1\n", {"a": 1}, {"a": 2}, "a:2\n", id="what says nothing goes"),
        pytest.param("a:1\n", {"a": 1}, {"a": 2, "\nb": 1}, "a:2\n", id="no id of two lines"),
    ],
)
def test_an_iteration_brings_only_what_it_changed(
    project: ProjectState,
    there: str | None,
    before: Mapping[str, int],
    after: Mapping[str, int],
    now: str,
) -> None:
    if there is not None:
        write(project, there)
    merge_attempts(project, before, after)
    assert project.attempts.read_text(encoding="utf-8") == now


def test_a_task_that_is_called_otherwise_now_keeps_its_attempts(project: ProjectState) -> None:
    write(project, "a:1\nother:1\n")
    merge_attempts(project, {"b": 1}, {"b": 2}, {"a": "b", "gone": "c"})
    assert read_attempts(project) == {"b": 2, "other": 1}
    merge_attempts(project, {"d": 2}, {"d": 2}, {"b": "d"})
    assert read_attempts(project) == {"d": 2, "other": 1}


def test_without_a_change_nothing_is_written(project: ProjectState) -> None:
    merge_attempts(project, {"a": 1}, {"a": 1})
    assert not project.folder.exists()
    assert not forget_attempts(project, "a")
    assert not project.folder.exists()


def test_only_the_owner_may_read_it(project: ProjectState) -> None:
    merge_attempts(project, {}, {"a": 1})
    assert project.attempts.stat().st_mode & 0o777 == 0o600
    assert project.folder.stat().st_mode & 0o777 == 0o700


def test_a_task_can_be_forgotten(project: ProjectState) -> None:
    write(project, "a:3\nb:1\n")
    assert forget_attempts(project, "a")
    assert project.attempts.read_text(encoding="utf-8") == "b:1\n"


def test_many_engines_at_once_lose_nothing(project: ProjectState) -> None:
    def settle(number: int) -> None:
        merge_attempts(project, {}, {"shared": 1, f"own-{number}": 1})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(settle, range(24)))
    own = {f"own-{number}": 1 for number in range(24)}
    assert read_attempts(project) == {"shared": 24, **own}


class TestTrouble:
    def test_a_lock_that_nobody_lets_go_is_reported(
        self, project: ProjectState, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(project_state, "LOCK_PATIENCE", 0)
        write(project, "a:1\n")
        with (
            FileLock(project.folder / ".attempts.lock"),
            pytest.raises(StateUnusable, match="another process has been writing"),
        ):
            forget_attempts(project, "a")

    def test_a_lock_that_cannot_be_made_is_reported(self, project: ProjectState) -> None:
        (project.folder / ".attempts.lock").mkdir(parents=True)
        with pytest.raises(StateUnusable, match=r"attempts\.txt cannot be written"):
            merge_attempts(project, {}, {"a": 1})

    def test_a_file_that_is_none_is_reported(self, project: ProjectState) -> None:
        project.attempts.mkdir(parents=True)
        with pytest.raises(StateUnusable, match="not a regular file"):
            read_attempts(project)

    def test_so_is_one_that_is_too_large(self, project: ProjectState) -> None:
        write(project, "x" * (LARGEST_FILE + 1))
        with pytest.raises(StateUnusable, match="larger than"):
            read_attempts(project)


class TestWithoutAnEngine:
    def test_the_project_of_a_work_tree_is_found(self, tmp_path: Path) -> None:
        root = tmp_path / "repository"
        root.mkdir()
        git(root, "init", "-q")
        state = StateFolder(folder=tmp_path / "state" / "worktrees" / "0123456789ab")
        project = find_project(root, state)
        write(project, "a:3\n")
        assert forget_project_attempts(root, state, "a")
        assert not forget_project_attempts(root, state, "a")
        assert read_attempts(project) == {}

    def test_where_no_project_has_any_git_is_not_asked(self, tmp_path: Path) -> None:
        state = StateFolder(folder=tmp_path / "state" / "worktrees" / "0123456789ab")
        assert not forget_project_attempts(tmp_path / "no repository", state, "a")
