"""Submodules, and repositories inside another one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git.worktree_state import LoopFiles
from tests.engine.git.repository_builder import Repository, make_repository


@pytest.fixture
def with_submodule(repository: Repository, tmp_path: Path) -> tuple[Repository, Repository]:
    upstream = make_repository(tmp_path / "upstream")
    upstream.commit("lib.txt", subject="library")
    repository.git("submodule", "--quiet", "add", str(upstream.root), "sub")
    repository.commit(subject="add submodule")
    return repository, Repository(repository.root / "sub", own=LoopFiles())


def test_a_clean_submodule_is_clean(with_submodule: tuple[Repository, Repository]) -> None:
    repository, _ = with_submodule
    baseline = repository.look()
    assert (baseline.dirty, baseline.nested_heads) == ({}, {})


def test_a_change_in_a_submodule_is_one_entry(
    with_submodule: tuple[Repository, Repository],
) -> None:
    repository, submodule = with_submodule
    before = repository.look()
    submodule.write("lib.txt", "changed\n")
    one = repository.look()
    assert list(one.dirty) == ["sub"]
    assert one.nested_heads == {"sub": submodule.git("rev-parse", "HEAD")}
    submodule.write("lib.txt", "changed again\n")
    submodule.write("new.txt")
    two = repository.look()
    assert one.dirty != two.dirty
    changes = repository.since(before)
    assert (changes.commits, changes.paths) == ((), ("sub",))


def test_own_files_in_a_submodule_are_left_out(
    with_submodule: tuple[Repository, Repository],
) -> None:
    repository, submodule = with_submodule
    before = repository.look()
    submodule.write("own.txt")
    assert repository.look() == before


def test_a_commit_in_a_submodule_is_seen(with_submodule: tuple[Repository, Repository]) -> None:
    repository, submodule = with_submodule
    before = repository.look()
    commit = submodule.commit("x.txt", "own.txt", subject="inside")
    changes = repository.since(before)
    [seen] = changes.commits
    assert (seen.hash, seen.subject, seen.files, seen.repository) == (commit, "inside", 1, "sub")
    assert changes.paths == ("sub",)
    # Recorded in the outer repository too, nothing is dirty and both commits are seen.
    repository.commit(subject="outside")
    after = repository.look()
    assert (after.dirty, after.nested_heads) == ({}, {})
    subjects = [seen.subject for seen in repository.since(before).commits]
    assert subjects == ["outside", "inside"]


def test_to_record_a_submodules_new_commit_changes_no_file(
    with_submodule: tuple[Repository, Repository],
) -> None:
    repository, submodule = with_submodule
    submodule.commit("x.txt", subject="inside")
    before = repository.look()
    repository.commit(subject="outside")
    changes = repository.since(before)
    assert [seen.subject for seen in changes.commits] == ["outside"]
    assert changes.files == 0


def test_restoring_a_submodule_is_a_change(with_submodule: tuple[Repository, Repository]) -> None:
    repository, submodule = with_submodule
    submodule.write("lib.txt", "changed\n")
    before = repository.look()
    submodule.git("checkout", "-q", "lib.txt")
    changes = repository.since(before)
    assert (changes.commits, changes.paths) == ((), ("sub",))


def test_a_removed_submodule_is_deleted(with_submodule: tuple[Repository, Repository]) -> None:
    repository, _ = with_submodule
    before = repository.look()
    subprocess.run(["rm", "-r", repository.root / "sub"], check=True)
    assert repository.look().dirty == {"sub": "deleted"}
    repository.commit(subject="without")
    assert [seen.subject for seen in repository.since(before).commits] == ["without"]


def test_a_repository_made_inside_is_one_entry_with_its_commits(repository: Repository) -> None:
    before = repository.look()
    nested = make_repository(repository.root / "tools" / "nested")
    unborn = repository.look()
    assert list(unborn.dirty) == ["tools/nested"]
    assert unborn.nested_heads == {"tools/nested": ""}
    nested.write("a.txt")
    with_file = repository.look()
    commit = nested.commit("b.txt", subject="begin inside")
    after = repository.look()
    assert len({look.fingerprint for look in (before, unborn, with_file, after)}) == 4
    assert after.nested_heads == {"tools/nested": commit}
    for earlier in (before, unborn, with_file):
        changes = repository.since(earlier)
        assert [(seen.hash, seen.repository) for seen in changes.commits] == [
            (commit, "tools/nested")
        ]
        assert changes.paths == ("tools/nested",)
    second = nested.commit("c.txt", subject="go on")
    assert [seen.hash for seen in repository.since(after).commits] == [second]


def test_a_clone_brings_no_commits(repository: Repository, tmp_path: Path) -> None:
    upstream = make_repository(tmp_path / "upstream")
    upstream.commit("lib.txt", subject="library")
    before = repository.look()
    repository.git("clone", "-q", str(upstream.root), "vendor")
    assert repository.since(before).commits == ()
    Repository(repository.root / "vendor").commit("x", subject="ours")
    assert [seen.subject for seen in repository.since(before).commits] == ["ours"]


def test_repositories_are_looked_into_to_a_depth(repository: Repository) -> None:
    folders = ["one", "one/two", "one/two/three", "one/two/three/four", "one/two/three/four/five"]
    nested = [make_repository(repository.root / folder) for folder in folders]
    for inner in nested:
        inner.write("x")
        inner.git("add", "x")
        inner.git("commit", "-q", "-m", "begin")
    before = repository.look()
    assert list(before.dirty) == ["one"]
    assert list(before.nested_heads) == folders[:4]
    nested[3].git("commit", "-q", "--allow-empty", "-m", "deep")
    [seen] = repository.since(before).commits
    assert (seen.subject, seen.repository) == ("deep", "one/two/three/four")
    assert repository.since(before).paths == ("one",)


def test_a_broken_repository_inside_does_no_harm(repository: Repository) -> None:
    nested = make_repository(repository.root / "nested")
    nested.commit("x")
    before = repository.look()
    (nested.root / ".git" / "index").write_bytes(b"no index")
    assert repository.look().dirty == {"nested": "160000 unreadable"}
    changes = repository.since(before)
    assert (changes.commits, changes.paths) == ((), ("nested",))


def test_a_commit_inside_that_cannot_be_read_does_no_harm(repository: Repository) -> None:
    nested = make_repository(repository.root / "nested")
    nested.commit("x")
    before = repository.look()
    (nested.root / ".git" / "refs" / "heads" / "main").write_text("0" * 39 + "1\n")
    changes = repository.since(before)
    assert (changes.commits, changes.paths) == ((), ("nested",))


def test_an_ignored_repository_inside_is_no_evidence(repository: Repository) -> None:
    repository.write(".gitignore", "nested/\n")
    repository.commit(subject="ignore")
    before = repository.look()
    make_repository(repository.root / "nested").commit("x")
    assert repository.since(before) == Changes(fingerprint=before.fingerprint)


def test_the_loops_own_folder_may_be_a_repository(repository: Repository) -> None:
    nested = make_repository(repository.root / ".ralph")
    nested.commit("x")
    before = repository.look()
    assert before.dirty == {}
    assert before == repository.look().model_copy()
