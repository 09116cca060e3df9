"""What a work tree is at one moment: its head, and what of it is dirty."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git import status
from ralph_ls.engine.git.worktree_state import Head
from ralph_ls.protocol.errors import RalphError, WorkspaceMissing
from tests.engine.git.repository_builder import Repository, make_repository


def test_before_the_first_commit_there_is_a_branch_and_no_head(empty: Repository) -> None:
    assert empty.head() == Head(commit=None, branch="main")
    baseline = empty.look()
    assert (baseline.head, baseline.branch, baseline.dirty) == (None, "main", {})
    assert len(baseline.fingerprint) == 16
    empty.write("new.txt")
    assert list(empty.look().dirty) == ["new.txt"]
    assert empty.look().fingerprint != baseline.fingerprint


def test_a_clean_tree_has_nothing_dirty(repository: Repository) -> None:
    baseline = repository.look()
    assert baseline.head == repository.git("rev-parse", "HEAD")
    assert (baseline.dirty, baseline.nested_heads) == ({}, {})
    assert repository.since(baseline) == Changes(fingerprint=baseline.fingerprint)


def test_what_an_editor_keeps_beside_an_open_file_is_no_change(repository: Repository) -> None:
    baseline = repository.look()
    for name in (".plan.md.swp", "dir/.c.txt.swo", ".#plan.md", "dir/#c.txt#", "a.txt~", "4913"):
        repository.write(name)
    assert repository.look() == baseline
    # Others like them are changes, and so is one that is committed.
    likes = [".swp", "plan.swp.md", "14913", "~a", "a#b"]
    for name in likes:
        repository.write(name)
    assert sorted(repository.look().dirty) == sorted(likes)
    repository.git("add", "-f", "a.txt~")
    assert "a.txt~" in repository.look().dirty


def test_a_state_seen_before_has_its_fingerprint_again(repository: Repository) -> None:
    first = repository.look()
    repository.write("a.txt", "other\n")
    dirty = repository.look()
    repository.commit()
    committed = repository.look()
    assert len({first.fingerprint, dirty.fingerprint, committed.fingerprint}) == 3
    repository.git("reset", "-q", "--soft", "HEAD~1")
    assert repository.look().fingerprint == dirty.fingerprint
    repository.git("checkout", "-q", "-f", "HEAD")
    repository.git("reset", "-q", "--hard")
    assert repository.look().fingerprint == first.fingerprint
    repository.commit("a.txt", subject="other")
    repository.commit("a.txt", subject="begin")
    assert repository.look().head != first.head
    assert repository.look().fingerprint == first.fingerprint


def test_by_content_a_commit_is_no_new_state(repository: Repository) -> None:
    repository.by_content = True
    first = repository.look()
    assert first.fingerprint == repository.look().fingerprint
    repository.write("a.txt", "other\n")
    repository.write("new.txt")
    dirty = repository.look()
    repository.commit()
    committed = repository.look()
    assert len(dirty.fingerprint) == 16
    assert dirty.fingerprint == committed.fingerprint != first.fingerprint
    repository.git("rm", "-q", "new.txt")
    repository.git("checkout", "-q", "HEAD~1", "--", "a.txt")
    assert repository.look().fingerprint == first.fingerprint
    repository.commit()
    assert repository.look().fingerprint == first.fingerprint


def test_by_content_an_empty_repository_has_a_fingerprint_too(empty: Repository) -> None:
    empty.by_content = True
    before = empty.look().fingerprint
    empty.write("new.txt")
    after = empty.look().fingerprint
    assert (len(before), before != after) == (16, True)
    empty.commit()
    assert empty.look().fingerprint == after


def test_the_loops_own_files_are_distinguished(repository: Repository) -> None:
    repository.write("@fix_plan.md")
    repository.write("a.txt", "other\n")
    repository.write(".ralph/new.txt")
    seen = repository.look()
    assert (list(seen.dirty), list(seen.own)) == (["a.txt"], [".ralph/new.txt", "@fix_plan.md"])


def test_a_merge_conflict_is_dirty(repository: Repository) -> None:
    repository.git("checkout", "-qb", "side")
    repository.commit("a.txt", subject="side")
    repository.git("checkout", "-q", "main")
    repository.commit("a.txt", subject="main")
    before = repository.look()
    with pytest.raises(subprocess.CalledProcessError):
        repository.git("merge", "-q", "side")
    assert repository.since(before).paths == ("a.txt",)
    repository.write("a.txt", "a.txt main\n")
    assert repository.look().dirty == {}


def test_a_file_that_became_a_folder_or_a_pipe_is_deleted(repository: Repository) -> None:
    for name in ("a.txt", "b.txt"):
        (repository.root / name).unlink()
    repository.write("a.txt/inside.txt")
    os.mkfifo(repository.root / "b.txt")
    dirty = repository.look().dirty
    assert (dirty["a.txt"], dirty["b.txt"]) == ("deleted", "deleted")
    assert "a.txt/inside.txt" in dirty


def test_a_huge_file_is_known_by_its_ends(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "WHOLE_FILE_LIMIT", 64)
    monkeypatch.setattr(status, "SAMPLE", 16)
    path = repository.write("huge", "x" * 200)
    os.utime(path, ns=(0, 1))
    first = repository.look().dirty["huge"]
    for changed in ("y" + "x" * 199, "x" * 199 + "y", "x" * 201):
        repository.write("huge", changed)
        os.utime(path, ns=(0, 1))
        assert repository.look().dirty["huge"] != first
    repository.write("huge", "x" * 200)
    os.utime(path, ns=(0, 1))
    assert repository.look().dirty["huge"] == first


def test_a_file_that_cannot_be_read_is_reported_as_such(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(status, "open_regular", refuse)
    repository.write("secret")
    assert repository.look().dirty == {"secret": "unreadable"}


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_the_head_is_read_from_files(
    repository: Repository, packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.git("checkout", "-qb", "feature/日本")
    repository.git("branch", "feature/日本2", "HEAD")
    commit = repository.commit("x")
    if packed:
        repository.git("pack-refs", "--all")
        assert not (repository.root / ".git" / "refs" / "heads" / "feature" / "日本").exists()
    refuse_git(monkeypatch)
    assert repository.head() == Head(commit=commit, branch="feature/日本")


def test_a_detached_head_has_no_branch(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.git("checkout", "-q", "--detach")
    commit = repository.git("rev-parse", "HEAD")
    refuse_git(monkeypatch)
    assert repository.head() == Head(commit=commit, branch=None)


def refuse_git(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("git was asked")

    monkeypatch.setattr("ralph_ls.engine.git.worktree_state.run_git", refuse)


def test_an_unusual_head_is_asked_of_git(repository: Repository) -> None:
    commit = repository.git("rev-parse", "HEAD")
    refs = repository.root / ".git" / "refs" / "heads"
    (refs / "alias").write_text("ref: refs/heads/main\n", encoding="utf-8")
    repository.git("symbolic-ref", "HEAD", "refs/heads/alias")
    assert repository.head().commit == commit
    head = repository.root / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")
    assert repository.head() == Head(commit=commit, branch="main")
    head.unlink()
    head.write_text("ref: refs/heads/.invalid\n", encoding="utf-8")
    # What a repository with reftables has there, which this git may not know.
    with pytest.raises(RalphError, match="git symbolic-ref failed"):
        repository.head()


def test_a_head_that_git_cannot_name_is_an_error(repository: Repository) -> None:
    (repository.root / ".git" / "HEAD").write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(WorkspaceMissing):
        repository.head()


def test_a_linked_worktree_has_a_separate_head(repository: Repository, tmp_path: Path) -> None:
    repository.git("worktree", "add", "-q", "-b", "linked", str(tmp_path / "linked"))
    linked = Repository((tmp_path / "linked").resolve())
    assert linked.head() == Head(commit=repository.head().commit, branch="linked")
    before, main_before = linked.look(), repository.look()
    commit = linked.commit("x", subject="in the linked one")
    linked.git("pack-refs", "--all")
    assert linked.head().commit == commit
    assert [seen.hash for seen in linked.since(before).commits] == [commit]
    assert repository.since(main_before) == Changes(fingerprint=main_before.fingerprint)


def test_a_bisection_in_a_linked_worktree_is_its_own(
    repository: Repository, tmp_path: Path
) -> None:
    repository.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    linked = Repository((tmp_path / "linked").resolve())
    commit = repository.git("rev-parse", "HEAD")
    linked.git("update-ref", "refs/worktree/mine", commit)
    linked.git("symbolic-ref", "HEAD", "refs/worktree/mine")
    assert linked.head() == Head(commit=commit, branch="refs/worktree/mine")


def test_a_repository_with_sha256_is_read_alike(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "long", "--object-format=sha256")
    commit = repository.commit("a.txt")
    assert (len(commit), repository.head().commit) == (64, commit)
    repository.write("b.txt")
    before = repository.look()
    repository.commit()
    changes = repository.since(before)
    assert (len(changes.commits), changes.files) == (1, 0)
