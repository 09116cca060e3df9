"""What git knows of two commits and of files in them, for a view of an iteration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.lsp.row_methods import FileAtResult
from ralph_ls.protocol.run.values import ChangeStatus
from ralph_ls.store.external import git_objects
from ralph_ls.store.external.git_objects import commits_between, empty_tree, file_at, files_between
from tests.engine.git.repository_builder import Repository

LONG = "".join(f"line {number}\n" for number in range(50))


def seen(repository: Repository, base: str, head: str | None) -> list[tuple[str, str, str | None]]:
    found = files_between(repository.root, base, head)
    return [(one.path, one.status.value, one.old_path) for one in found]


def test_files_are_added_changed_removed_renamed_and_made_links(repository: Repository) -> None:
    repository.write("changed", "a\n")
    repository.write("removed", "gone\n")
    repository.write("old name", LONG)
    repository.write("becomes a link", "a\n")
    base = repository.commit("all")
    repository.write("changed", "b\n")
    (repository.root / "removed").unlink()
    (repository.root / "old name").rename(repository.root / "new näme")
    (repository.root / "becomes a link").unlink()
    (repository.root / "becomes a link").symlink_to("changed")
    repository.write("added", "new\n")
    head = repository.commit("more", subject="more")
    assert seen(repository, base, head) == [
        ("added", "added", None),
        ("becomes a link", "typeChanged", None),
        ("changed", "modified", None),
        ("more", "added", None),
        ("new näme", "renamed", "old name"),
        ("removed", "deleted", None),
    ]
    assert [one.subject for one in commits_between(repository.root, base, head)] == ["more"]


def test_binary_files_are_reported_also_renamed_ones(repository: Repository) -> None:
    data = os.urandom(500) + b"\0"
    (repository.root / "old").write_bytes(data)
    base = repository.commit("one")
    (repository.root / "old").rename(repository.root / "new")
    (repository.root / "other").write_bytes(b"\0")
    repository.write("text", "a\n")
    head = repository.commit("two")
    found = {one.path: one.binary for one in files_between(repository.root, base, head)}
    assert found == {"new": True, "other": True, "text": False, "two": False}
    (repository.root / "new").write_bytes(data + b"more")
    (repository.root / "fresh").write_bytes(b"\0")
    (repository.root / "link").symlink_to("fresh")
    now = {one.path: one.binary for one in files_between(repository.root, head, None)}
    assert now == {"fresh": True, "link": False, "new": True}


def test_the_work_tree_is_held_against_a_commit_with_its_new_files(repository: Repository) -> None:
    base = repository.commit("one")
    repository.write("one", "changed\n")
    repository.write(".gitignore", "ignored\n")
    repository.write("ignored", "x\n")
    repository.write("folder/new", "x\n")
    assert seen(repository, base, None) == [
        (".gitignore", "added", None),
        ("folder/new", "added", None),
        ("one", "modified", None),
    ]


def test_before_the_first_commit_there_was_nothing(repository: Repository) -> None:
    head = repository.commit("one")
    base = empty_tree(head)
    assert ("one", "added", None) in seen(repository, base, head)
    assert commits_between(repository.root, base, head)[0].subject == "work"
    assert file_at(repository.root, base, "one") == FileAtResult()
    assert len(empty_tree("0" * 64)) == 64


def test_settings_of_the_repository_neither_run_nor_hide_anything(
    repository: Repository, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >>'{ran}'\n", encoding="utf-8")
    program.chmod(0o755)
    base = repository.commit("one")
    repository.write(".gitattributes", "*.txt diff=evil\n")
    repository.write("a.txt", "changed\n")
    head = repository.commit("two")
    for name, value in {
        "diff.external": str(program),
        "diff.evil.command": str(program),
        "diff.evil.textconv": str(program),
        "diff.renames": "false",
        "diff.noprefix": "true",
        "core.fsmonitor": str(program),
        "core.pager": str(program),
        "log.showSignature": "true",
        "gpg.program": str(program),
        "color.ui": "always",
    }.items():
        repository.git("config", name, value)
    paths = [one.path for one in files_between(repository.root, base, head)]
    assert "a.txt" in paths
    repository.write("a.txt", "changed again\n")
    assert [one.path for one in files_between(repository.root, head, None)] == ["a.txt"]
    assert len(commits_between(repository.root, base, head)) == 1
    assert file_at(repository.root, head, "a.txt").text == "changed\n"
    assert not ran.exists()


class TestFileAt:
    def test_it_is_given_as_it_was(self, repository: Repository) -> None:
        repository.write("ü [1].txt", "früher\r\n")
        first = repository.commit("one")
        repository.write("ü [1].txt", "")
        second = repository.commit("two")
        assert file_at(repository.root, first, "ü [1].txt").text == "früher\r\n"
        assert file_at(repository.root, second, "ü [1].txt") == FileAtResult(text="", size=0)

    def test_a_pattern_is_a_name_like_any_other(self, repository: Repository) -> None:
        commit = repository.commit("one")
        assert file_at(repository.root, commit, "o*") == FileAtResult()
        assert file_at(repository.root, commit, ":(glob)*") == FileAtResult()

    def test_what_is_no_text_or_too_large_is_reported_and_not_sent(
        self, repository: Repository, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(git_objects, "LARGEST_FILE", 10)
        (repository.root / "binary").write_bytes(b"a\0b")
        repository.write("large", "12345678901")
        (repository.root / "latin").write_bytes(b"caf\xe9")
        commit = repository.commit("one")
        assert file_at(repository.root, commit, "binary") == FileAtResult(binary=True, size=3)
        assert file_at(repository.root, commit, "large") == FileAtResult(size=11)
        assert file_at(repository.root, commit, "latin").text == "caf\ufffd"

    def test_a_folder_is_none_a_link_is_its_target_and_a_submodule_its_commit(
        self, repository: Repository
    ) -> None:
        repository.write("folder/a", "x")
        (repository.root / "link").symlink_to("/etc/passwd")
        inner = repository.commit("one")
        repository.git("update-index", "--add", "--cacheinfo", f"160000,{inner},sub")
        repository.git("commit", "--quiet", "-m", "two")
        head = repository.git("rev-parse", "HEAD").strip()
        assert file_at(repository.root, head, "folder") == FileAtResult()
        assert file_at(repository.root, head, "link").text == "/etc/passwd"
        assert file_at(repository.root, head, "sub").text == f"Subproject commit {inner}\n"

    @pytest.mark.parametrize("path", ["/etc/passwd", "../a", "a/../../b", ".git/config", "", "a\0"])
    def test_it_stays_in_the_repository(self, repository: Repository, path: str) -> None:
        commit = repository.commit("one")
        with pytest.raises(UsageError, match="is not a path in the repository"):
            file_at(repository.root, commit, path)

    def test_a_commit_that_is_gone_is_reported(self, repository: Repository) -> None:
        repository.commit("one")
        with pytest.raises(RalphError):
            file_at(repository.root, "0" * 39 + "1", "one")
        with pytest.raises(RalphError):
            files_between(repository.root, "0" * 39 + "1", None)


def test_every_letter_of_git_has_its_word() -> None:
    assert {*git_objects.STATUSES.values(), ChangeStatus.MODIFIED} == set(ChangeStatus)
