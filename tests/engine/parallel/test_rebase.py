"""Rebase of a lane's commits without a work tree, and the making and removing of lanes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ralph_ls.core.loop.lanes import LaneRebased
from ralph_ls.engine.git.worktree_state import LoopFiles
from ralph_ls.engine.parallel.lane_merge import rebase_lane
from ralph_ls.engine.parallel.lane_worktree import (
    LaneTree,
    branch_commit,
    changed_files,
    copy_files,
    has_worktree,
    make_lane,
    move_lane,
    remove_lane,
    require_no_branch_tree,
)
from ralph_ls.engine.parallel.merge_branch import MergeBranch
from ralph_ls.engine.parallel.rebase import REPAIR, Rebase, require_merge_tree
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.layout import StateFolder, find_worktree
from tests.engine.project_builder import git, make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {"shared.txt": "base\n", "log.md": "begin\n", ".gitignore": ".env\n"}
    return make_repository(tmp_path / "repository", ["One", "Two"], files=files)


def join(base: str, ours: str, theirs: str) -> str:
    return ours + theirs.removeprefix(base)


def commit(root: Path, message: str, **files: str) -> str:
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message, "--author", "Grace <grace@example.com>")
    return git(root, "rev-parse", "HEAD").strip()


@pytest.fixture
def lane(repository: Path, tmp_path: Path) -> Path:
    path = tmp_path / "lanes" / "run" / "one"
    make_lane(repository, path, "ralph/run/one", "HEAD")
    return path


def test_a_merge_that_an_engine_did_not_live_to_record_counts_its_commits(
    repository: Path, lane: Path, tmp_path: Path
) -> None:
    onto = git(repository, "rev-parse", "HEAD").strip()
    commit(lane, "First", one_txt="1\n")
    tip = commit(lane, "Second", two_txt="2\n")
    tree = LaneTree(
        worktree=find_worktree(lane), state=StateFolder(folder=tmp_path), branch="ralph/run/one"
    )
    branch = cast(MergeBranch, SimpleNamespace(rebase=lambda: Rebase(root=repository), name="s"))
    view = LaneView(
        lane=1,
        task=TaskRef(id="1", title="One"),
        branch=tree.branch,
        worktree=str(lane),
        started_at=datetime(2026, 1, 31, tzinfo=UTC),
        onto=onto,
        head=tip,
    )
    # The branch is at the lane's end, and the journal says only that it was about to move there.
    assert rebase_lane(branch, tree, tip, view) == LaneRebased(
        task="1", onto=tip, head=tip, commits=2
    )


class TestRebase:
    def test_what_follows_the_end_already_stays_as_it_is(
        self, repository: Path, lane: Path
    ) -> None:
        onto = git(repository, "rev-parse", "HEAD").strip()
        tip = commit(lane, "One", one_txt="1\n")
        done = Rebase(root=repository).rebase(onto, tip)
        assert (done.head, done.commits, done.conflicts) == (tip, 1, ())
        assert Rebase(root=repository).rebase(tip, onto).head == tip

    def test_commits_keep_author_and_message_and_logs_keep_all_lines(
        self, repository: Path, lane: Path
    ) -> None:
        onto = commit(repository, "Other", other_txt="o\n", log_md="begin\nother\n")
        commit(lane, "First", one_txt="1\n")
        tip = commit(lane, "Second", two_txt="2\n", log_md="begin\nmine\n")
        rebase = Rebase(root=repository, merges={"log.md": join, "gone.md": join})
        done = rebase.rebase(onto, tip)
        assert (done.commits, done.conflicts) == (2, ())
        told = git(repository, "log", "--format=%an %s", f"{onto}..{done.head}").splitlines()
        assert told == ["Grace Second", "Grace First"]
        assert rebase.text_at(done.head, "log.md") == "begin\nother\nmine\n"
        assert rebase.text_at(done.head, "gone.md") is None
        assert rebase.changes(onto, done.head, ["two.txt"])
        assert not rebase.changes(onto, done.head, ["other.txt"])
        assert not rebase.changes(onto, done.head, [])

    def test_a_commit_that_the_branch_has_too_is_left_out(
        self, repository: Path, lane: Path
    ) -> None:
        onto = commit(repository, "Same", one_txt="1\n")
        tip = commit(lane, "Same again", one_txt="1\n")
        assert Rebase(root=repository).rebase(onto, tip).head == onto

    def test_a_merge_of_the_agent_becomes_one_commit(self, repository: Path, lane: Path) -> None:
        commit(lane, "Mine", one_txt="1\n")
        onto = commit(repository, "Other", other_txt="o\n")
        git(lane, "merge", "-q", "--no-edit", git(repository, "branch", "--show-current").strip())
        onto = commit(repository, "More", more_txt="m\n")
        done = Rebase(root=repository).rebase(onto, git(lane, "rev-parse", "HEAD").strip())
        assert done.commits == 1
        assert git(repository, "rev-list", "--merges", f"{onto}..{done.head}") == ""

    def test_a_conflict_is_put_on_the_end_with_markers_and_squashed_once_it_is_resolved(
        self, repository: Path, lane: Path
    ) -> None:
        onto = commit(repository, "Other", shared_txt="theirs\n")
        tip = commit(lane, "Mine", shared_txt="mine\n")
        rebase = Rebase(root=repository)
        assert rebase.rebase(onto, tip).conflicts == ("shared.txt",)
        repair, applied = rebase.repair_commit(onto, tip, ["@fix_plan.md", "no-plan.md"])
        assert applied.conflicts == ("shared.txt",)
        assert rebase.has_markers(onto, repair, ["shared.txt"]) == ("shared.txt",)
        assert rebase.has_markers(onto, repair, []) == ()
        assert f"{REPAIR}: {tip}" in git(repository, "log", "-1", "--format=%B", repair)
        worktree = find_worktree(lane)
        place = LaneTree(worktree=worktree, state=StateFolder(folder=lane), branch="b")
        move_lane(place, repair)
        assert place.head() == repair
        resolved = commit(lane, "Resolved", shared_txt="both\n")
        assert rebase.has_markers(onto, resolved, ["shared.txt"]) == ()
        done = rebase.rebase(onto, resolved)
        assert (done.commits, done.conflicts) == (1, ())
        assert git(repository, "log", "-1", "--format=%s", done.head).strip() == "Mine"
        later = commit(repository, "Later", shared_txt="later\n")
        assert rebase.rebase(later, resolved).conflicts == ("shared.txt",)

    def test_histories_without_a_common_commit_are_refused(self, repository: Path) -> None:
        tree = git(repository, "rev-parse", "HEAD^{tree}").strip()
        other = git(repository, "commit-tree", tree, "-m", "Other").strip()
        with pytest.raises(RalphError, match="have no commit in common"):
            Rebase(root=repository).merge_base("HEAD", other)

    def test_this_git_can_merge_without_a_work_tree(self, repository: Path) -> None:
        require_merge_tree(repository)


class TestLane:
    def test_is_made_once_and_removed_with_its_branch(self, repository: Path, lane: Path) -> None:
        head = git(repository, "rev-parse", "HEAD").strip()
        assert has_worktree(lane)
        assert branch_commit(repository, "ralph/run/one") == head
        (lane / "kept.txt").write_text("k\n", encoding="utf-8")
        make_lane(repository, lane, "ralph/run/one", "HEAD")
        assert changed_files(lane, LoopFiles()) == ["kept.txt"]
        assert changed_files(lane, LoopFiles(paths=frozenset({"kept.txt"}))) == []
        remove_lane(repository, lane, "ralph/run/one")
        assert not lane.exists()
        assert branch_commit(repository, "ralph/run/one") is None
        assert not lane.parent.exists()
        remove_lane(repository, lane, "ralph/run/one")

    def test_that_git_did_not_finish_is_made_again(self, repository: Path, lane: Path) -> None:
        (find_worktree(lane).git_dir / "locked").write_text("initializing", encoding="utf-8")
        assert not has_worktree(lane)
        make_lane(repository, lane, "ralph/run/one", "HEAD")
        assert has_worktree(lane)
        assert (lane / "shared.txt").read_text(encoding="utf-8") == "base\n"

    def test_that_the_user_has_locked_stays(self, repository: Path, lane: Path) -> None:
        git(repository, "worktree", "lock", "--reason", "mine", str(lane))
        assert has_worktree(lane)

    def test_is_not_moved_over_a_change(self, repository: Path, lane: Path) -> None:
        target = commit(repository, "Other", shared_txt="theirs\n")
        (lane / "shared.txt").write_text("edited\n", encoding="utf-8")
        place = LaneTree(worktree=find_worktree(lane), state=StateFolder(folder=lane), branch="b")
        with pytest.raises(RalphError, match="uncommitted changes are in the way"):
            move_lane(place, target)
        assert (lane / "shared.txt").read_text(encoding="utf-8") == "edited\n"

    def test_gets_copies_of_what_git_ignores(self, repository: Path, lane: Path) -> None:
        (repository / ".env").write_text("TOKEN=1\n", encoding="utf-8")
        copy_files(repository, lane, [".env", "missing"])
        assert (lane / ".env").stat().st_mode & 0o777 == 0o600
        (lane / ".env").write_text("TOKEN=2\n", encoding="utf-8")
        copy_files(repository, lane, [".env"])
        assert (lane / ".env").read_text(encoding="utf-8") == "TOKEN=2\n"
        (repository / "plain").write_text("p\n", encoding="utf-8")
        with pytest.raises(UsageError, match="which git does not ignore"):
            copy_files(repository, lane, ["plain"])

    def test_a_branch_that_is_checked_out_is_not_merged_into(self, repository: Path) -> None:
        current = git(repository, "branch", "--show-current").strip()
        with pytest.raises(UsageError, match="is checked out in"):
            require_no_branch_tree(repository, current)
        require_no_branch_tree(repository, "other")
