from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.loop.evidence import Changes
from ralph_ls.engine import git_command, git_status
from ralph_ls.engine.git import (
    Cache,
    Head,
    OwnFiles,
    changes_between,
    exclude,
    find_ignored,
    find_tracked,
    read_head,
    take_baseline,
)
from ralph_ls.protocol.errors import RalphError, StateUnusable, WorkspaceMissing
from ralph_ls.protocol.evidence import Baseline
from ralph_ls.store.layout import find_worktree

OWN = OwnFiles(paths=frozenset({"@fix_plan.md", "sub/own.txt"}), folders=(".ralph", "logs/"))


@dataclass
class Repository:
    """A real repository, changed by its person's own git."""

    root: Path
    own: OwnFiles = OWN
    cache: Cache = field(default_factory=Cache)

    def git(self, *arguments: str, **variables: str) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.root,
            env={**os.environ, **variables},
            check=True,
            capture_output=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, name: str, text: str = "text\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, *names: str, subject: str = "work", **variables: str) -> str:
        for name in names:
            self.write(name, f"{name} {subject}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, **variables)
        return self.git("rev-parse", "HEAD")

    def look(self) -> Baseline:
        place = find_worktree(self.root)
        return take_baseline(
            place.root, place.git_dir, place.common_dir, own=self.own, cache=self.cache
        )

    def head(self) -> Head:
        place = find_worktree(self.root)
        return read_head(place.git_dir, place.common_dir)

    def since(self, before: Baseline, *, moment: datetime | None = None) -> Changes:
        return changes_between(self.root, before, self.look(), own=self.own, since=moment)


def make_repository(root: Path, *options: str) -> Repository:
    root.mkdir(parents=True, exist_ok=True)
    repository = Repository(root.resolve())
    repository.git("init", "-q", *options)
    return repository


@pytest.fixture
def empty(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "work")


@pytest.fixture
def repository(empty: Repository) -> Repository:
    empty.commit("a.txt", "b.txt", "dir/c.txt", subject="begin")
    return empty


def test_before_the_first_commit_there_is_a_branch_and_no_head(empty: Repository) -> None:
    assert empty.head() == Head(commit=None, branch="main")
    baseline = empty.look()
    assert (baseline.head, baseline.branch, baseline.dirty) == (None, "main", {})
    assert len(baseline.fingerprint) == 16
    empty.write("new.txt")
    assert list(empty.look().dirty) == ["new.txt"]
    assert empty.look().fingerprint != baseline.fingerprint


def test_the_first_commit_is_seen(empty: Repository) -> None:
    before = empty.look()
    commit = empty.commit("a.txt", "b.txt", subject="begin")
    changes = empty.since(before)
    [seen] = changes.commits
    assert (seen.hash, seen.subject, seen.files, seen.repository) == (commit, "begin", 2, "")
    assert (changes.files, changes.paths) == (2, ("a.txt", "b.txt"))


def test_a_clean_tree_has_nothing_dirty(repository: Repository) -> None:
    baseline = repository.look()
    assert baseline.head == repository.git("rev-parse", "HEAD")
    assert (baseline.dirty, baseline.nested_heads) == ({}, {})
    assert repository.since(baseline) == Changes(fingerprint=baseline.fingerprint)


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


def test_a_name_that_is_no_utf8_is_told_with_escapes(repository: Repository) -> None:
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


def test_a_file_beside_an_own_one_is_counted() -> None:
    assert OWN.covers(".ralph")
    assert OWN.covers("logs/a/b")
    assert not OWN.covers("logs2/a")
    assert not OWN.covers(".ralphrc")
    assert not OWN.covers("x/@fix_plan.md")
    assert not OwnFiles().covers("a")


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


def test_a_dirty_file_put_back_is_a_change(repository: Repository) -> None:
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


def test_a_huge_file_is_told_by_its_ends(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_status, "WHOLE_FILE_LIMIT", 64)
    monkeypatch.setattr(git_status, "SAMPLE", 16)
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


def test_a_file_that_cannot_be_read_is_told_as_such(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(git_status, "_read_regular", refuse)
    repository.write("secret")
    assert repository.look().dirty == {"secret": "unreadable"}


def test_commits_come_oldest_first_with_their_subjects(repository: Repository) -> None:
    before = repository.look()
    first = repository.commit("x", subject="one\nstill the subject\n\nbody")
    second = repository.commit("x", "y", subject="第二")
    third = repository.commit(subject="empty")
    changes = repository.since(before)
    assert [(seen.hash, seen.subject, seen.files) for seen in changes.commits] == [
        (first, "one still the subject", 1),
        (second, "第二", 2),
        (third, "empty", 0),
    ]
    assert changes.paths == ("x", "y")


def test_a_subject_that_is_no_utf8_or_endless_is_mended(repository: Repository) -> None:
    before = repository.look()
    tree, parent = repository.git("rev-parse", "HEAD^{tree}", "HEAD").split()
    header = f"tree {tree}\nparent {parent}\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000"
    written = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=repository.root,
        input=header.encode() + b"\n\ncaf\xe9 " + b"x" * 1000,
        check=True,
        capture_output=True,
    )
    repository.git("reset", "-q", "--soft", written.stdout.decode().strip())
    [seen] = repository.since(before).commits
    assert seen.subject.startswith("caf\N{REPLACEMENT CHARACTER} xxx")
    assert (len(seen.subject), seen.subject[-1]) == (301, "…")


def test_no_file_name_passes_for_a_commit(repository: Repository) -> None:
    before = repository.look()
    repository.write("\x01" + "a" * 40, "x")
    repository.write(":x", "x")
    repository.commit(subject="names")
    assert [seen.subject for seen in repository.since(before).commits] == ["names"]


def test_only_the_newest_commits_are_told(repository: Repository) -> None:
    before = repository.look()
    lines = []
    for number in range(205):
        parent = "from refs/heads/main^0\n" if number == 0 else ""
        lines.append(
            f"commit refs/heads/main\ncommitter A <a@b.c> {2000000000 + number} +0000\n"
            f"data {len(str(number))}\n{number}\n{parent}"
        )
    subprocess.run(
        ["git", "fast-import", "--quiet"],
        cwd=repository.root,
        input="".join(lines).encode(),
        check=True,
    )
    commits = repository.since(before).commits
    assert [seen.subject for seen in commits] == [str(number) for number in range(5, 205)]


def test_a_merge_counts_what_it_brought(repository: Repository) -> None:
    before = repository.look()
    repository.git("checkout", "-qb", "side")
    repository.commit("s1", "s2", subject="side")
    repository.git("checkout", "-q", "main")
    repository.commit("m", subject="main")
    repository.git("merge", "-q", "--no-ff", "-m", "join", "side")
    changes = repository.since(before)
    assert {seen.subject: seen.files for seen in changes.commits} == {
        "side": 2,
        "main": 1,
        "join": 2,
    }
    assert changes.paths == ("m", "s1", "s2")


def test_a_head_moved_backwards_is_no_commit(repository: Repository) -> None:
    repository.commit("x")
    before = repository.look()
    repository.git("reset", "-q", "--hard", "HEAD~1")
    changes = repository.since(before)
    assert (changes.commits, changes.paths) == ((), ("x",))


def test_an_amended_commit_is_a_commit(repository: Repository) -> None:
    repository.commit("x", subject="first")
    before = repository.look()
    repository.write("x", "better")
    repository.git("commit", "-q", "-a", "--amend", "-m", "amended")
    changes = repository.since(before)
    assert [seen.subject for seen in changes.commits] == ["amended"]
    assert changes.paths == ("x",)


def test_a_rebased_history_tells_its_new_commits(repository: Repository) -> None:
    repository.git("checkout", "-qb", "side")
    repository.commit("s", subject="side")
    repository.git("checkout", "-q", "main")
    repository.commit("m", subject="main")
    repository.git("checkout", "-q", "side")
    before = repository.look()
    repository.git("rebase", "-q", "main")
    changes = repository.since(before)
    assert [seen.subject for seen in changes.commits] == ["main", "side"]
    assert changes.paths == ("m",)


OLD_DATE = {"GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
NEW_DATE = {"GIT_COMMITTER_DATE": "2030-01-01T00:00:00Z"}
BETWEEN = datetime(2025, 1, 1, tzinfo=UTC)


def test_commits_that_were_there_before_do_not_count_on_another_branch(
    repository: Repository,
) -> None:
    repository.git("checkout", "-qb", "side")
    repository.commit("s", subject="old", **OLD_DATE)
    repository.git("checkout", "-q", "main")
    before = repository.look()
    repository.git("checkout", "-q", "side")
    assert repository.since(before, moment=BETWEEN).commits == ()
    assert repository.since(before, moment=BETWEEN).paths == ("s",)
    repository.commit("t", subject="new", **NEW_DATE)
    assert [seen.subject for seen in repository.since(before, moment=BETWEEN).commits] == ["new"]
    assert len(repository.since(before).commits) == 2


def test_an_old_date_on_the_same_branch_does_not_hide_a_commit(repository: Repository) -> None:
    before = repository.look()
    repository.commit("x", subject="dated", **OLD_DATE)
    assert [seen.subject for seen in repository.since(before, moment=BETWEEN).commits] == ["dated"]


def test_another_history_on_the_same_branch_counts_by_date(repository: Repository) -> None:
    repository.commit("x", subject="ours")
    repository.git("checkout", "-qb", "upstream", "HEAD~1")
    repository.commit("y", subject="theirs", **OLD_DATE)
    repository.git("checkout", "-q", "main")
    before = repository.look()
    repository.git("reset", "-q", "--hard", "upstream")
    assert repository.since(before, moment=BETWEEN).commits == ()


def test_the_first_commit_counts_whatever_its_date(empty: Repository) -> None:
    before = empty.look()
    empty.commit("x", subject="first", **OLD_DATE)
    assert len(empty.since(before, moment=BETWEEN).commits) == 1


def test_an_old_end_that_was_collected_is_survived(repository: Repository) -> None:
    before = repository.look().model_copy(update={"head": "0123456789" * 4})
    commit = repository.commit("x", subject="new")
    changes = repository.since(before, moment=BETWEEN)
    assert [seen.hash for seen in changes.commits] == [commit]
    assert changes.paths == ()


def test_a_branch_without_history_is_seen(repository: Repository) -> None:
    before = repository.look()
    repository.git("checkout", "-q", "--orphan", "fresh")
    repository.git("rm", "-q", "-r", "-f", ".")
    changes = repository.since(before)
    assert (changes.commits, changes.paths) == ((), ("a.txt", "b.txt", "dir/c.txt"))


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
    repository.cache = Cache()
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

    monkeypatch.setattr("ralph_ls.engine.git.run_git", refuse)


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


def test_a_head_that_git_cannot_tell_is_an_error(repository: Repository) -> None:
    (repository.root / ".git" / "HEAD").write_text("nonsense\n", encoding="utf-8")
    with pytest.raises(WorkspaceMissing):
        repository.head()


def test_a_linked_worktree_has_a_head_of_its_own(repository: Repository, tmp_path: Path) -> None:
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


@pytest.fixture
def with_submodule(repository: Repository, tmp_path: Path) -> tuple[Repository, Repository]:
    upstream = make_repository(tmp_path / "upstream")
    upstream.commit("lib.txt", subject="library")
    repository.git("submodule", "--quiet", "add", str(upstream.root), "sub")
    repository.commit(subject="add submodule")
    return repository, Repository(repository.root / "sub", own=OwnFiles())


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


def test_a_submodule_put_back_is_a_change(with_submodule: tuple[Repository, Repository]) -> None:
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


def test_one_process_is_enough_where_the_commit_is_known(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    really_run = git_command.run_git

    def count(root: Path, *arguments: str, **options: object) -> bytes:
        asked.append(arguments[0])
        return really_run(root, *arguments, **options)  # type: ignore[arg-type]

    for module in ("git", "git_status", "git_history"):
        monkeypatch.setattr(f"ralph_ls.engine.{module}.run_git", count)
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

    monkeypatch.setattr("ralph_ls.engine.git.find_ignored", find_while_others_write)
    assert exclude(repository.root, repository.root / ".git", ["/ours"]) == ("/ours",)
    assert file.read_bytes() == b"/theirs\n/ours\n"


def test_an_exclude_file_that_cannot_be_written_is_told(repository: Repository) -> None:
    subprocess.run(["rm", "-r", repository.root / ".git" / "info"], check=True)
    (repository.root / ".git" / "info").write_text("in the way", encoding="utf-8")
    with pytest.raises(StateUnusable, match="info cannot be made"):
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


def test_gits_own_words_are_told_when_it_fails(repository: Repository) -> None:
    with pytest.raises(RalphError, match=r"git ls-tree failed in .*Not a valid object name"):
        git_command.run_git(repository.root, "ls-tree", "no-such-commit")
    repository.git("checkout", "-q", "--orphan", "other")
    repository.commit("x")
    with pytest.raises(RalphError, match=r"git merge-base failed in .*: it ended with code 1"):
        git_command.run_git(repository.root, "merge-base", "main", "other")


def test_a_machine_without_git_is_told_what_to_install(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(repository.root))
    with pytest.raises(RalphError, match="install git"):
        git_command.run_git(repository.root, "status")
