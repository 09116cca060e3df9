"""What in the files differs from before, no matter who changed it and how."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.engine.git.worktree_state import LoopFiles
from ralph_ls.protocol.run.values import Baseline
from tests.engine.git.repository_builder import OWN, Repository


def test_the_first_commit_is_seen(empty: Repository) -> None:
    before = empty.look()
    commit = empty.commit("a.txt", "b.txt", subject="begin")
    changes = empty.since(before)
    [seen] = changes.commits
    assert (seen.hash, seen.subject, seen.files, seen.repository) == (commit, "begin", 2, "")
    assert (changes.files, changes.paths) == (2, ("a.txt", "b.txt"))


CHANGES = {
    "untracked": ("new.txt", ["new.txt"]),
    "modified": ("a.txt", ["a.txt"]),
    "deep": ("dir/deep/er/x.txt", ["dir/deep/er/x.txt"]),
    "cjk": ("日本/漢字.txt", ["日本/漢字.txt"]),
    "newline": ('two\nlines "quoted".txt', ['two\nlines "quoted".txt']),
    "blanks": (" a  b ", [" a  b "]),
    "pathspec-magic": (":(top)*", [":(top)*"]),
}


@pytest.mark.parametrize("commit", [False, True], ids=["dirty", "committed"])
@pytest.mark.parametrize(("name", "paths"), CHANGES.values(), ids=CHANGES)
def test_a_written_file_is_a_change(
    repository: Repository, name: str, paths: list[str], commit: bool
) -> None:
    before = repository.look()
    repository.write(name, "changed\n")
    if commit:
        repository.commit()
    changes = repository.since(before)
    assert changes.paths == tuple(paths)
    assert [seen.files for seen in changes.commits] == ([1] if commit else [])
    assert changes.fingerprint != before.fingerprint


@pytest.mark.parametrize("commit", [False, True], ids=["dirty", "committed"])
@pytest.mark.parametrize("stage", [False, True], ids=["unstaged", "staged"])
def test_other_changes_are_seen_too(repository: Repository, commit: bool, stage: bool) -> None:
    before = repository.look()
    (repository.root / "a.txt").unlink()
    (repository.root / "b.txt").chmod(0o755)
    (repository.root / "dir" / "c.txt").rename(repository.root / "dir" / "d.txt")
    (repository.root / "link").symlink_to("nowhere")
    if stage:
        repository.git("add", "-A")
    if commit:
        repository.commit()
    else:
        assert repository.look().dirty["a.txt"] == "deleted"
        assert repository.look().dirty["b.txt"].startswith("100755 ")
        assert repository.look().dirty["link"].startswith("120000 ")
    assert repository.since(before).paths == ("a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "link")


def test_a_name_that_is_no_utf8_is_reported_with_escapes(repository: Repository) -> None:
    before = repository.look()
    Path(os.fsdecode(os.fsencode(repository.root) + b"/caf\xe9")).write_text("x", encoding="utf-8")
    assert repository.since(before).paths == ("caf\\xe9",)
    assert Baseline.model_validate_json(repository.look().model_dump_json()) == repository.look()


def test_ignored_files_are_no_change(repository: Repository) -> None:
    repository.commit(".gitignore")
    repository.write(".gitignore", "*.log\nbuild/\n")
    before = repository.look()
    repository.write("x.log")
    repository.write("build/y")
    assert repository.since(before).files == 0


def test_the_loops_own_files_are_no_change(repository: Repository) -> None:
    before = repository.look()
    for name in ("@fix_plan.md", ".ralph/x/y.txt", "logs/1.log", "sub/own.txt"):
        repository.write(name)
    assert repository.look().dirty == {}
    assert repository.look().fingerprint == before.fingerprint
    repository.commit(subject="plan")
    changes = repository.since(before)
    assert [(seen.subject, seen.files) for seen in changes.commits] == [("plan", 0)]
    assert (changes.files, changes.fingerprint) == (0, before.fingerprint)
    # A diff shows them all the same.
    assert changes.own_files == 4
    committed = repository.look()
    repository.write("@fix_plan.md", "- [x] done\n")
    assert repository.since(committed).own_files == 1


def test_a_file_beside_an_own_one_is_counted() -> None:
    assert OWN.covers(".ralph")
    assert OWN.covers("logs/a/b")
    assert not OWN.covers("logs2/a")
    assert not OWN.covers(".ralphrc")
    assert not OWN.covers("x/@fix_plan.md")
    assert not LoopFiles().covers("a")


def test_what_was_dirty_before_and_untouched_does_not_count(repository: Repository) -> None:
    repository.write("a.txt", "mine\n")
    repository.write("mine.txt")
    before = repository.look()
    repository.write("new.txt")
    assert repository.since(before).paths == ("new.txt",)
    repository.write("mine.txt", "theirs\n")
    assert repository.since(before).paths == ("mine.txt", "new.txt")


def test_to_commit_what_was_dirty_is_a_commit_and_changes_no_file(repository: Repository) -> None:
    repository.write("a.txt", "mine\n")
    repository.write("run.sh").chmod(0o755)
    (repository.root / "b.txt").unlink()
    (repository.root / "link").symlink_to("a.txt")
    before = repository.look()
    repository.commit(subject="all of it")
    changes = repository.since(before)
    assert [(seen.subject, seen.files) for seen in changes.commits] == [("all of it", 4)]
    assert changes.files == 0


def test_the_same_holds_where_git_converts_the_line_ends(repository: Repository) -> None:
    repository.git("config", "core.autocrlf", "true")
    (repository.root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    before = repository.look()
    repository.commit()
    assert repository.since(before).files == 0


def test_restoring_a_dirty_file_is_a_change(repository: Repository) -> None:
    repository.write("a.txt", "mine\n")
    repository.write("mine.txt")
    before = repository.look()
    repository.git("checkout", "-q", "a.txt")
    (repository.root / "mine.txt").unlink()
    assert repository.since(before).paths == ("a.txt", "mine.txt")


def test_a_dirty_file_changed_and_committed_is_a_change(repository: Repository) -> None:
    repository.write("a.txt", "mine\n")
    before = repository.look()
    repository.write("a.txt", "theirs\n")
    repository.commit()
    assert repository.since(before).paths == ("a.txt",)


def test_a_change_committed_and_undone_on_the_disk_changes_no_file(repository: Repository) -> None:
    before = repository.look()
    original = (repository.root / "a.txt").read_text()
    repository.write("a.txt", "theirs\n")
    repository.commit()
    repository.write("a.txt", original)
    changes = repository.since(before)
    assert (len(changes.commits), changes.files) == (1, 0)
    repository.write("a.txt", "something else\n")
    assert repository.since(before).paths == ("a.txt",)


def test_a_change_of_the_index_alone_is_none(repository: Repository) -> None:
    before = repository.look()
    repository.git("rm", "-q", "--cached", "a.txt")
    assert repository.look() == before
    repository.write("b.txt", "staged\n")
    repository.git("add", "b.txt")
    repository.write("b.txt", "b.txt begin\n")
    assert repository.look() == before
