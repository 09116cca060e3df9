"""Which commits an iteration has brought."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime

from tests.engine.git.repository_builder import Repository


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


def test_a_subject_that_is_no_utf8_or_endless_is_repaired(repository: Repository) -> None:
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


def test_only_the_newest_commits_are_listed(repository: Repository) -> None:
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


def test_a_rebased_history_lists_its_new_commits(repository: Repository) -> None:
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
