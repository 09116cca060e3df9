from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import WorkspaceMissing
from ralph_ls.store.layout import (
    RUN_ID,
    StateFolder,
    Worktree,
    find_worktree,
    new_run_id,
    state_folder,
    state_root,
)
from tests.unit.store.store_builders import RUN, git, repository


class TestFindWorktree:
    @pytest.mark.parametrize("below", ["", "src", "src/deep", "not made yet", ".git/hooks"])
    def test_a_repository_is_found_from_anywhere_in_it(self, tmp_path: Path, below: str) -> None:
        root = repository(tmp_path / "a project")
        (root / "src" / "deep").mkdir(parents=True)
        found = find_worktree(root / below)
        assert found == Worktree(root=root, git_dir=root / ".git", common_dir=root / ".git")

    def test_the_root_is_the_real_one_when_reached_through_a_link(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "project")
        (tmp_path / "alias").symlink_to(root)
        assert find_worktree(tmp_path / "alias").root == root

    def test_a_linked_work_tree_has_a_separate_git_directory(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "project")
        git(root, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
        (tmp_path / "linked" / "src").mkdir()
        found = find_worktree(tmp_path / "linked" / "src")
        assert found.root == tmp_path / "linked"
        assert found.git_dir == root / ".git" / "worktrees" / "linked"
        assert found.common_dir == root / ".git"

    def test_a_submodule_is_a_separate_work_tree(self, tmp_path: Path) -> None:
        library = repository(tmp_path / "library")
        root = repository(tmp_path / "project")
        allow = "protocol.file.allow=always"
        git(root, "-c", allow, "submodule", "--quiet", "add", str(library), "vendor/library")
        found = find_worktree(root / "vendor" / "library")
        assert found.root == root / "vendor" / "library"
        assert found.git_dir == root / ".git" / "modules" / "vendor" / "library"
        assert found.common_dir == found.git_dir

    def test_it_agrees_with_git(self, tmp_path: Path) -> None:
        root = repository(tmp_path / "project")
        git(root, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
        for folder in (root, tmp_path / "linked"):
            found = find_worktree(folder)
            assert str(found.root) == git(folder, "rev-parse", "--show-toplevel")
            assert str(found.git_dir) == git(folder, "rev-parse", "--absolute-git-dir")
            common_dir = git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
            assert str(found.common_dir) == common_dir

    def test_where_there_is_none_it_says_what_to_do(self, tmp_path: Path) -> None:
        with pytest.raises(WorkspaceMissing, match=r"is not in a git work tree; .*git init"):
            find_worktree(tmp_path)

    @pytest.mark.parametrize("content", ["", "gitdir: ../gone\n", "a note to myself\n"])
    def test_a_git_file_that_leads_nowhere_is_none(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / ".git").write_text(content, encoding="utf-8")
        with pytest.raises(WorkspaceMissing):
            find_worktree(tmp_path / "project")

    def test_a_git_folder_without_a_head_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "project" / ".git").mkdir(parents=True)
        with pytest.raises(WorkspaceMissing):
            find_worktree(tmp_path / "project")


class TestState:
    def test_the_root_is_the_folder_that_the_user_names(self, isolated_home: Path) -> None:
        assert state_root({"RALPH_STATE_DIR": "~/runs"}) == isolated_home / "runs"
        assert state_root({"RALPH_STATE_DIR": "runs"}) == Path.cwd() / "runs"

    @pytest.mark.parametrize("environment", [{}, {"RALPH_STATE_DIR": ""}])
    def test_else_it_is_the_users_state_folder(
        self, isolated_home: Path, environment: dict[str, str]
    ) -> None:
        assert state_root(environment) == isolated_home / "state" / "ralph"

    def test_two_work_trees_have_two_folders_and_one_always_the_same(self, tmp_path: Path) -> None:
        def folder(name: str) -> Path:
            root = tmp_path / name
            return state_folder(
                tmp_path, Worktree(root=root, git_dir=root / ".git", common_dir=root / ".git")
            ).folder

        assert folder("a") == folder("a")
        assert folder("a") != folder("b")
        assert folder("a").parent == tmp_path / "worktrees"
        assert len(folder("a").name) == 12

    def test_the_files_of_a_run_are_together(self, tmp_path: Path) -> None:
        state = StateFolder(folder=tmp_path)
        files = state.run(RUN)
        assert state.inbox == tmp_path / "inbox"
        assert {
            files.journal.name: files.journal.parent,
            files.messages.name: files.messages.parent,
            files.snapshot.name: files.snapshot.parent,
            files.engine_errors.name: files.engine_errors.parent,
            files.plan_before.name: files.plan_before.parent,
            files.prompt(7).name: files.prompt(7).parent,
            files.scratch.name: files.scratch.parent,
        } == dict.fromkeys(
            [
                "journal.jsonl",
                "messages.jsonl",
                "state.json",
                "engine.err",
                "plan.before",
                "iteration-007.prompt.md",
                "scratch",
            ],
            tmp_path / "runs" / RUN,
        )

    @pytest.mark.parametrize(
        ("iteration", "attempt", "name"),
        [
            (1, 1, "iteration-001.out"),
            (12, 2, "iteration-012-2.out"),
            (1234, 1, "iteration-1234.out"),
        ],
    )
    def test_an_iterations_output_is_named_by_its_number(
        self, tmp_path: Path, iteration: int, attempt: int, name: str
    ) -> None:
        files = StateFolder(folder=tmp_path).run(RUN)
        assert files.output(iteration, attempt, "out").name == name

    @pytest.mark.parametrize("run", ["", "..", "../../etc", RUN + "/..", RUN.lower(), RUN + "0"])
    def test_what_is_no_run_id_names_no_folder(self, tmp_path: Path, run: str) -> None:
        with pytest.raises(ValueError, match="is not a run id"):
            StateFolder(folder=tmp_path).run(run)

    def test_runs_are_listed_oldest_first_and_nothing_else(self, tmp_path: Path) -> None:
        state = StateFolder(folder=tmp_path)
        assert state.run_ids() == []
        later = "20260201T000000Z-ffff"
        for name in (later, RUN, "lost+found", ".DS_Store"):
            (state.runs / name).mkdir(parents=True)
        assert state.run_ids() == [RUN, later]


class TestRunId:
    def test_it_shows_the_time_in_utc_and_sorts_by_it(self) -> None:
        here = datetime(2026, 1, 31, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))
        run = new_run_id(here)
        assert RUN_ID.fullmatch(run)
        assert run.startswith("20260130T230203Z-")
        assert run < new_run_id(here + timedelta(seconds=1))

    def test_two_of_one_second_differ(self) -> None:
        now = datetime(2026, 1, 31, tzinfo=UTC)
        assert len({new_run_id(now) for _ in range(8)}) > 1


def test_names_that_are_no_text_are_paths_too(tmp_path: Path) -> None:
    root = repository(tmp_path / os.fsdecode(b"caf\xe9"))
    worktree = find_worktree(root)
    assert worktree.root == root
    assert state_folder(tmp_path, worktree).folder.parent == tmp_path / "worktrees"
