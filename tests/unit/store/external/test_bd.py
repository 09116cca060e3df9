"""Running ``bd``: what is asked, in each shape and release, and what is said when it fails."""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from pathlib import Path

import pytest

from ralph_ls.core.plan.formats.beads.commands import note_stuck
from ralph_ls.core.plan.formats.beads.guard import find_beads_violations, revert_commands
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.formats.beads.queue import read_queue
from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused
from ralph_ls.store.external.bd import (
    Bd,
    apply_commands,
    claim_issue,
    find_bd,
    read_snapshot,
    read_statistics,
)
from tests.fakes.bd import install, issues_of, seed
from tests.unit.store.store_builders import at

OLD = "counts no-all no-claim no-limit no-deferred one-shown silent"
ISSUES = (
    {"id": "bd-1", "title": "One", "acceptance_criteria": "- [ ] a", "priority": 1},
    {"id": "bd-2", "needs": ["bd-1"]},
    {"id": "bd-3", "issue_type": "epic"},
    {"id": "bd-3.1", "parent": "bd-3", "status": "in_progress"},
    {"id": "bd-4", "status": "closed", "close_reason": "make test (exit 0)"},
    {"id": "bd-5", "status": "blocked"},
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    seed(folder, *ISSUES)
    return folder


def bd_of(root: Path, **around: str) -> Bd:
    folder = root.parent / "bin"
    install(folder)
    path = os.pathsep.join([str(folder), "relative"])
    return find_bd(root, {"PATH": path, **around})


def program(root: Path, body: str) -> Bd:
    """One that does this instead."""
    path = root.parent / "other" / "bd"
    path.parent.mkdir()
    path.write_text(f"#!{sys.executable} -IS\nimport sys, time\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return find_bd(root, {"PATH": str(path.parent)}, timeout_seconds=30)


@pytest.mark.slow
@pytest.mark.parametrize(
    "around",
    [
        pytest.param({"FAKE_BD_SHAPE": "bare"}, id="bare"),
        pytest.param({"FAKE_BD_SHAPE": "items"}, id="items"),
        pytest.param({"FAKE_BD_SHAPE": "data"}, id="data"),
        pytest.param({"FAKE_BD_OLD": "counts"}, id="counts"),
        pytest.param({"FAKE_BD_OLD": "no-all"}, id="by-status"),
        pytest.param({"FAKE_BD_OLD": OLD}, id="old"),
    ],
)
def test_the_issues_are_the_same_however_they_are_printed(
    root: Path, around: dict[str, str]
) -> None:
    snapshot = read_snapshot(bd_of(root, **around), parent="bd-3")
    assert snapshot.ready == ("bd-1", "bd-3")
    assert snapshot.parent == "bd-3"
    issues = snapshot.by_id()
    assert set(issues) == {str(issue["id"]) for issue in ISSUES}
    assert issues["bd-2"].needs == ("bd-1",)
    assert issues["bd-3.1"].parent == "bd-3"
    assert (issues["bd-1"].criteria, issues["bd-4"].close_reason) == (
        "- [ ] a",
        "make test (exit 0)",
    )
    assert [task.id for task in read_queue(snapshot).ready] == ["bd-3.1"]


@pytest.mark.slow
def test_what_an_agent_did_is_reverted(root: Path) -> None:
    bd = bd_of(root)
    before = read_snapshot(bd)
    apply_commands(
        bd,
        [
            ("update", "bd-1", "--priority", "4", "--acceptance", "none"),
            ("dep", "remove", "bd-2", "bd-1"),
            ("dep", "add", "bd-1", "bd-2"),
            ("delete", "bd-3", "--force"),
            ("close", "bd-3.1", "--reason", "r"),
        ],
    )
    after = read_snapshot(bd, before=before)
    found = find_beads_violations(before, after)
    kinds = sorted(str(one.what) for one in found)
    assert kinds == ["criteria", "dependency", "dropped", "priority"]
    apply_commands(bd, revert_commands(before, after, found))
    now = read_snapshot(bd, before=before)
    assert find_beads_violations(before, now) == ()
    assert now.by_id()["bd-3.1"].is_closed


@pytest.mark.slow
def test_what_no_list_has_is_asked_for_by_itself(root: Path) -> None:
    bd = bd_of(root, FAKE_BD_OLD="silent no-all")
    before = read_snapshot(bd)
    text = (root / ".beads" / "fake.json").read_text()
    (root / ".beads" / "fake.json").write_text(text.replace('"blocked"', '"hooked"'))
    apply_commands(bd, [("delete", "bd-4", "--force")])
    issues = read_snapshot(bd, before=before).by_id()
    assert issues["bd-5"].status == "hooked"
    assert "bd-4" not in issues
    assert "bd-5" not in read_snapshot(bd).by_id()
    assert "bd-5" in read_snapshot(bd_of(root, FAKE_BD_OLD="")).by_id()


@pytest.mark.slow
def test_words_reach_bd_as_they_are(root: Path) -> None:
    bd = bd_of(root)
    issue = BeadsIssue(id="bd-1", title="One", notes="-- $(touch x) `y`\n; 漢字")
    apply_commands(bd, [note_stuck(issue, 3, at(0))])
    note = "STUCK: Failed after 3 attempts at 2026-01-31T12:00:00Z. Moving to next issue."
    assert issues_of(root)["bd-1"]["notes"] == f"{issue.notes}\n{note}"
    assert sorted(path.name for path in root.iterdir()) == [".beads"]


@pytest.mark.slow
@pytest.mark.parametrize("old", ["", "no-claim"])
def test_an_issue_is_claimed(root: Path, old: str) -> None:
    bd = bd_of(root, FAKE_BD_OLD=old)
    claim_issue(bd, BeadsIssue(id="bd-1", title="One"))
    assert issues_of(root)["bd-1"]["status"] == "in_progress"
    claim_issue(bd, BeadsIssue(id="bd-nosuch", title="begun", status="in_progress"))


@pytest.mark.slow
def test_somebody_elses_issue_is_refused(root: Path) -> None:
    seed(root, *ISSUES[1:], {**ISSUES[0], "assignee": "grace"})
    with pytest.raises(IssuesRefused, match="already claimed by grace"):
        claim_issue(bd_of(root), BeadsIssue(id="bd-1", title="One"))


@pytest.mark.slow
def test_the_numbers(root: Path) -> None:
    found = read_statistics(bd_of(root, FAKE_BD_SHAPE="data"))
    assert (found["total_issues"], found["closed_issues"], found["ready_issues"]) == (6, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("old", ["", "silent"])
def test_a_refusal_has_bds_own_words(root: Path, old: str) -> None:
    with pytest.raises(IssuesRefused) as caught:
        apply_commands(bd_of(root, FAKE_BD_OLD=old), [("update", "bd-9", "--notes", "n" * 99)])
    assert caught.value.message.startswith(f"bd update bd-9 --notes … failed in {root}: ")
    assert 'no issue found matching "bd-9"' in caught.value.message


@pytest.mark.slow
@pytest.mark.parametrize("fails", ["list:3 ready:1", "!update:1 dep:3", "update:3 !dep:1"])
def test_what_fails_is_tried_three_times_more(root: Path, fails: str) -> None:
    bd = bd_of(root, FAKE_BD_FAILS=fails)
    apply_commands(
        bd, [("update", "bd-1", "--notes", "n"), ("dep", "add", "bd-1", "bd-5", "--type", "blocks")]
    )
    issue = read_snapshot(bd).by_id()["bd-1"]
    assert (issue.notes, issue.needs) == ("n", ("bd-5",))


@pytest.mark.slow
def test_what_fails_four_times_is_refused(root: Path) -> None:
    bd = bd_of(root, FAKE_BD_FAILS="list:4 update:4")
    with pytest.raises(IssuesRefused, match="database is locked"):
        apply_commands(bd, [("update", "bd-1", "--notes", "n")])
    with pytest.raises(IssuesMissing, match="database is locked"):
        read_snapshot(bd)
    for command in ("list", "update"):
        assert (root / ".beads" / f"fake.{command}.failed").read_bytes() == b"x" * 4


@pytest.mark.slow
def test_release_0_34_loses_no_dependency_of_a_closed_issue(root: Path) -> None:
    bd = bd_of(root, FAKE_BD_VERSION="0.34.0")
    before = read_snapshot(bd, parent="bd-3")
    apply_commands(bd, [("close", one, "--reason", "r") for one in ("bd-1", "bd-2", "bd-3.1")])
    after = read_snapshot(bd, parent="bd-3", before=before)
    assert find_beads_violations(before, after) == ()
    assert [issue.id for issue in after.in_scope()] == ["bd-3.1"]
    assert read_snapshot(bd).by_id()["bd-2"].needs == ()
    assert read_snapshot(bd, whole=["bd-2"]).by_id()["bd-2"].needs == ("bd-1",)


def test_without_a_database_it_says_how_to_make_one(root: Path) -> None:
    (root / ".beads" / "fake.json").unlink()
    (root / ".beads" / "fake.lock").unlink(missing_ok=True)
    (root / ".beads").rmdir()
    with pytest.raises(IssuesMissing) as caught:
        read_snapshot(bd_of(root))
    assert caught.value.message == (
        f"bd has no issues in {root}: no beads database found; run 'bd init' to create a "
        "database; create its database with bd init, or choose another profile with --profile"
    )


def test_where_there_is_no_bd_it_says_so(tmp_path: Path) -> None:
    own = tmp_path / "work"
    install(own / "tools")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bd").symlink_to(own / "tools" / "bd")
    for path in ("", "relative", str(own / "tools"), str(tmp_path / "bin")):
        with pytest.raises(IssuesMissing, match="not found on PATH; install it"):
            find_bd(own, {"PATH": path})


def test_git_variables_of_the_caller_are_not_passed_on(root: Path) -> None:
    bd = bd_of(root, GIT_DIR="/elsewhere", LANG="C")
    assert "GIT_DIR" not in bd.environment
    assert (bd.environment["LANG"], bd.environment["NO_COLOR"]) == ("C", "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("sys.exit(7)", "it ended with code 7", id="no words"),
        pytest.param(
            "sys.stderr.write('warning\\nError: broken\\n'); sys.exit(1)", "broken", id="plain text"
        ),
        pytest.param(
            """print('{"error":"on stdout"}'); sys.exit(1)""", "on stdout", id="error on stdout"
        ),
        pytest.param("""print('{"error":"with 0"}')""", "with 0", id="an error with code 0"),
    ],
)
def test_what_fails_is_reported_kindly(root: Path, body: str, said: str) -> None:
    with pytest.raises(IssuesMissing) as caught:
        read_snapshot(program(root, body))
    assert caught.value.message == (
        f"the issues in {root} cannot be read: bd list --all --limit 0 failed in {root}: {said}; "
        "try it yourself: bd list"
    )


@pytest.mark.slow
def test_an_update_that_prints_nothing_is_refused(root: Path) -> None:
    with pytest.raises(IssuesRefused, match="it printed nothing about the issue"):
        apply_commands(program(root, "pass"), [("update", "bd-1", "--claim")])


@pytest.mark.slow
def test_prose_is_reported_as_odd(root: Path) -> None:
    snapshot = read_snapshot(program(root, "print('No issues found')"))
    assert (snapshot.issues, [one.code for one in snapshot.oddities]) == ((), ["no-json"])


@pytest.mark.slow
def test_one_that_hangs_is_ended_with_all_that_it_started(root: Path) -> None:
    lock = root / "lock"
    bd = program(
        root,
        "import fcntl, os\n"
        f"held = open({str(lock)!r}, 'w'); fcntl.flock(held, fcntl.LOCK_EX)\n"
        "os.fork(); time.sleep(600)",
    )
    quick = Bd(program=bd.program, root=root, environment=bd.environment, timeout_seconds=1)
    with pytest.raises(IssuesMissing, match=r"bd list did not answer within 1 s"):
        read_snapshot(quick)
    with lock.open("w") as file:
        # It is theirs for as long as one of them lives.
        fcntl.flock(file, fcntl.LOCK_EX)


def test_one_that_cannot_be_run_is_reported(root: Path) -> None:
    broken = root.parent / "other" / "bd"
    broken.parent.mkdir()
    broken.write_bytes(b"\x7fELF nothing")
    broken.chmod(0o755)
    with pytest.raises(IssuesMissing, match="cannot be run"):
        read_snapshot(find_bd(root, {"PATH": str(broken.parent)}))


@pytest.mark.slow
def test_a_child_that_stays_behind_keeps_nobody_waiting(root: Path) -> None:
    fifo = root / "fifo"
    os.mkfifo(fifo)
    body = f"import os\nif os.fork():\n    print('{{}}')\nelse:\n    open({str(fifo)!r}).read()"
    assert read_statistics(program(root, body)) == {}
    # Opening it for writing waits for a reader: the child is still there.
    fifo.write_text("go")


def test_what_runs_is_ended_from_another_thread(root: Path) -> None:
    fifo = root / "fifo"
    os.mkfifo(fifo)
    bd = program(root, f"open({str(fifo)!r}).read(); time.sleep(1000)")

    def end() -> None:
        with fifo.open("w"):
            # It reads, so it runs.
            bd.supervisor.end()

    thread = threading.Thread(target=end)
    thread.start()
    with pytest.raises(IssuesMissing, match="ended with code"):
        read_snapshot(bd)
    thread.join()
    with pytest.raises(IssuesRefused):
        apply_commands(bd, [("update", "bd-1")])
