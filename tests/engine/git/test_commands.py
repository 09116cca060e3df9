"""How git is asked: safely, seldom, and with words for what goes wrong."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ralph_ls.engine.git.changes import changes_between
from ralph_ls.engine.git.worktree_state import (
    GitStateCache,
    exclude,
    find_ignored,
    find_tracked,
    take_baseline,
)
from ralph_ls.protocol.errors import RalphError, StateUnusable, WorkspaceMissing
from ralph_ls.store.external import git_command
from ralph_ls.store.layout import find_worktree
from tests.engine.git.repository_builder import OWN, Repository, make_repository


def test_settings_of_the_repository_do_not_change_what_is_read(repository: Repository) -> None:
    settings = {
        "status.showUntrackedFiles": "no",
        "status.renames": "copies",
        "diff.renames": "copies",
        "diff.ignoreSubmodules": "all",
        "diff.noprefix": "true",
        "log.date": "iso",
        "log.showRoot": "false",
        "log.abbrevCommit": "true",
        "color.ui": "always",
        "core.abbrev": "4",
        "format.pretty": "oneline",
        "i18n.logOutputEncoding": "ISO-8859-1",
    }
    for name, value in settings.items():
        repository.git("config", name, value)
    before = repository.look()
    repository.git("mv", "a.txt", "z.txt")
    commit = repository.commit("ü", subject="Ümlaut")
    repository.write("untracked")
    changes = repository.since(before)
    assert [(seen.hash, seen.subject, seen.files) for seen in changes.commits] == [
        (commit, "Ümlaut", 3)
    ]
    assert changes.paths == ("a.txt", "untracked", "z.txt", "ü")


def test_nothing_that_a_repository_names_is_run(repository: Repository, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 >> '{ran}'\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    repository.commit("signed", subject="to be verified")
    before = repository.look()
    repository.write("a.txt", "changed")
    repository.commit("b.txt", subject="changed")
    hooks = repository.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit"):
        (hooks / name).write_bytes(program.read_bytes())
        (hooks / name).chmod(0o755)
    for name, value in {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(hooks),
        "core.pager": str(program),
        "core.askPass": str(program),
        "gpg.program": str(program),
        "log.showSignature": "true",
        "diff.external": str(program),
        "diff.x.textconv": str(program),
        "diff.x.command": str(program),
    }.items():
        repository.git("config", name, value)
    (repository.root / ".git" / "info" / "attributes").write_text("* diff=x\n", encoding="utf-8")
    repository.write("c.txt", "changed")
    assert repository.since(before).files == 3
    assert not ran.exists()
    # The trap is a real one: a plain look walks into it.
    repository.git("status")
    assert ran.exists()


def test_looking_leaves_the_repository_as_it_is(repository: Repository) -> None:
    # An index whose times are out of date is what git would otherwise write again.
    os.utime(repository.root / "a.txt", (1, 1))
    index = repository.root / ".git" / "index"
    before = (index.stat().st_mtime_ns, index.read_bytes())
    (repository.root / ".git" / "index.lock").touch()
    assert repository.look().dirty == {}
    assert (index.stat().st_mtime_ns, index.read_bytes()) == before


def test_variables_that_redirect_git_are_not_followed(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_repository(tmp_path / "other")
    other.commit("elsewhere")
    repository.write("a.txt", "changed\n")
    expected = repository.look()
    repository.cache = GitStateCache()
    for name, value in {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(other.root / ".git" / "index"),
        "GIT_COMMON_DIR": str(other.root / ".git"),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git" / "objects"),
        "GIT_NAMESPACE": "other",
        "GIT_PREFIX": "dir/",
    }.items():
        monkeypatch.setenv(name, value)
    assert repository.look() == expected


def test_one_process_is_enough_where_the_commit_is_known(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    really_run = git_command.run_git

    def count(root: Path, *arguments: str, **options: object) -> bytes:
        asked.append(arguments[0])
        return really_run(root, *arguments, **options)  # type: ignore[arg-type]

    for module in ("engine.git.worktree_state", "engine.git.status", "store.external.git_command"):
        monkeypatch.setattr(f"ralph_ls.{module}.run_git", count)
    first = repository.look()
    assert asked == ["status", "ls-tree"]
    repository.write("a.txt", "changed\n")
    second = repository.look()
    assert asked == ["status", "ls-tree", "status"]
    changes_between(repository.root, first, second, own=OWN)
    assert asked == ["status", "ls-tree", "status"]
    repository.commit()
    before = list(asked)
    after = repository.look()
    changes_between(repository.root, first, after, own=OWN)
    assert asked[len(before) :] == ["status", "ls-tree", "diff-tree", "log"]
    before = list(asked)
    changes_between(repository.root, first, after, own=OWN)
    assert asked == before, "what is known of objects stays true"


def test_without_a_cache_the_same_is_seen(repository: Repository) -> None:
    place = find_worktree(repository.root)
    fresh = take_baseline(place.root, place.git_dir, place.common_dir, own=OWN)
    assert fresh == repository.look() == repository.look()


def test_patterns_are_added_to_the_exclude_file_once(repository: Repository) -> None:
    common_dir = repository.root / ".git"
    file = common_dir / "info" / "exclude"
    file.write_bytes(b"# caf\xe9\r\n/mine")
    patterns = ["/.ralph/logs/", "/decide.txt", "/decide.txt"]
    assert exclude(repository.root, common_dir, patterns) == ("/.ralph/logs/", "/decide.txt")
    assert file.read_bytes() == b"# caf\xe9\r\n/mine\n/.ralph/logs/\n/decide.txt\n"
    assert exclude(repository.root, common_dir, patterns) == ()
    repository.write(".ralph/logs/x")
    repository.write("decide.txt")
    assert repository.git("status", "--porcelain") == ""


def test_what_is_ignored_already_is_not_added(repository: Repository) -> None:
    repository.write(".gitignore", ".ralph/\n")
    added = exclude(repository.root, repository.root / ".git", ["/.ralph/logs/", "/decide.txt"])
    assert added == ("/decide.txt",)


def test_an_exclude_file_is_made_where_there_is_none(
    repository: Repository, tmp_path: Path
) -> None:
    subprocess.run(["rm", "-r", repository.root / ".git" / "info"], check=True)
    repository.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = find_worktree(tmp_path / "linked")
    assert exclude(linked.root, linked.common_dir, ["/x"]) == ("/x",)
    assert (repository.root / ".git" / "info" / "exclude").read_bytes() == b"/x\n"
    Repository(linked.root).write("x")
    assert Repository(linked.root).look().dirty == {}


def test_an_exclude_file_changed_meanwhile_is_read_again(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = repository.root / ".git" / "info" / "exclude"
    file.write_bytes(b"")
    really_find = find_ignored
    intruder = [b"/theirs\n"]

    def find_while_others_write(root: Path, paths: list[str]) -> frozenset[str]:
        if intruder:
            file.write_bytes(intruder.pop())
        return really_find(root, paths)

    monkeypatch.setattr("ralph_ls.engine.git.worktree_state.find_ignored", find_while_others_write)
    assert exclude(repository.root, repository.root / ".git", ["/ours"]) == ("/ours",)
    assert file.read_bytes() == b"/theirs\n/ours\n"


def test_an_exclude_file_that_cannot_be_written_is_reported(repository: Repository) -> None:
    subprocess.run(["rm", "-r", repository.root / ".git" / "info"], check=True)
    (repository.root / ".git" / "info").write_text("in the way", encoding="utf-8")
    with pytest.raises(StateUnusable, match="info cannot be created"):
        exclude(repository.root, repository.root / ".git", ["/x"])


def test_ignored_and_tracked_files_are_found(repository: Repository) -> None:
    repository.write(".gitignore", "*.log\nout/\n")
    paths = ["a.txt", "x.log", "out/", "dir/y.log", "dir"]
    assert find_ignored(repository.root, paths) == {"x.log", "out/", "dir/y.log"}
    assert find_ignored(repository.root, ['two\nlines "q".log']) == {'two\nlines "q".log'}
    assert find_ignored(repository.root, []) == frozenset()
    assert find_ignored(repository.root, ["../outside"]) == frozenset()
    assert find_tracked(repository.root, paths) == ("a.txt", "dir/c.txt")
    assert find_tracked(repository.root, []) == ()
    assert find_tracked(repository.root, ["*"]) == ()


def test_outside_a_repository_there_is_nothing_to_see(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceMissing, match="git init"):
        git_command.run_git(tmp_path, "status")


def test_gits_own_words_are_reported_when_it_fails(repository: Repository) -> None:
    with pytest.raises(RalphError, match=r"git ls-tree failed in .*Not a valid object name"):
        git_command.run_git(repository.root, "ls-tree", "no-such-commit")
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit("x")
    with pytest.raises(RalphError, match=r"git merge-base failed in .*: it ended with code 1"):
        git_command.run_git(repository.root, "merge-base", "main", "other")


def test_a_machine_without_git_gets_a_message_what_to_install(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(repository.root))
    with pytest.raises(RalphError, match="install git"):
        git_command.run_git(repository.root, "status")
