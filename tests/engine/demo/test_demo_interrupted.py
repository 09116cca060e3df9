"""Any step may be the last before a kill: a second run always ends as an undisturbed one would."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_ls.engine.demo import repository as demo_repository
from ralph_ls.engine.demo.project import required_tasks_done, suite_passes
from ralph_ls.engine.demo.repository import GitBusy, commit, open_repository, remove_left_locks
from ralph_ls.engine.demo.sample import FileKeepsChanging, read_text, rewrite, tick
from ralph_ls.engine.demo.script import REPAIRS, SampleRepair
from tests.engine.demo.sample_project import (
    AGENT,
    agent_environment,
    git,
    open_titles,
    report_of,
    run_agent,
    run_to_the_end,
    subjects,
)

ALL_SUBJECTS = sorted(f"demo: {repair.subject}" for repair in REPAIRS)


def assert_it_ends_well(folder: Path) -> None:
    run_to_the_end(folder)
    assert suite_passes(folder)
    assert required_tasks_done(folder)
    assert sorted(subjects(folder)[1:]) == ALL_SUBJECTS
    assert git(folder, "status", "--porcelain", "--ignored") == ""
    assert not list((folder / ".git").rglob("*.lock"))


def edit(folder: Path, repair: SampleRepair, *, n_edits: int | None = None) -> None:
    for one in repair.edits[:n_edits]:
        assert rewrite(folder, one.file, one.made_in)


def killed_between_two_edits(folder: Path, repair: SampleRepair) -> None:
    edit(folder, repair, n_edits=1)


def killed_before_the_tick(folder: Path, repair: SampleRepair) -> None:
    edit(folder, repair)


def killed_before_the_commit(folder: Path, repair: SampleRepair) -> None:
    edit(folder, repair)
    assert tick(folder, repair.title)


def killed_in_the_commit(folder: Path, repair: SampleRepair) -> None:
    killed_before_the_commit(folder, repair)
    git(folder, "add", "--", *repair.files, "@fix_plan.md")
    (folder / ".git" / "index.lock").touch()


@pytest.mark.slow
@pytest.mark.parametrize(
    "leave",
    [
        killed_between_two_edits,
        killed_before_the_tick,
        killed_before_the_commit,
        killed_in_the_commit,
    ],
    ids=lambda leave: leave.__name__,
)
def test_what_a_killed_iteration_left_is_gone_on_with(
    sample: Path, leave: Callable[[Path, SampleRepair], None]
) -> None:
    for number, repair in enumerate(REPAIRS, start=1):
        if f"demo: {repair.subject}" not in subjects(sample):
            leave(sample, repair)
        # As a loop that starts again would: the task is the first one that is open now.
        titles = open_titles(sample)
        finished = run_agent(sample, f"Task: {titles[0]}\n" if titles else "")
        assert report_of(finished.stdout)["STATUS"] != "BLOCKED"
        assert subjects(sample)[number] == f"demo: {repair.subject}"
        assert git(sample, "status", "--porcelain", "--ignored") == ""
    assert_it_ends_well(sample)


def test_a_repair_that_is_in_place_is_not_made_again(sample: Path) -> None:
    edit(sample, REPAIRS[0])
    finished = run_agent(sample, f"Task: {REPAIRS[0].title}\n")
    assert "already repaired" in finished.stdout
    report = report_of(finished.stdout)
    assert (report["FILES_MODIFIED"], report["TASKS_COMPLETED_THIS_LOOP"]) == ("1", "1")
    assert subjects(sample)[1:] == [f"demo: {REPAIRS[0].subject}"]


@pytest.mark.slow
def test_killed_in_the_last_iteration_between_tick_and_commit(sample: Path) -> None:
    for repair in REPAIRS[:-1]:
        run_agent(sample, f"Task: {repair.title}\n")
    edit(sample, REPAIRS[-1])
    assert tick(sample, REPAIRS[-1].title)
    finished = run_agent(sample)
    report = report_of(finished.stdout)
    assert (report["EXIT_SIGNAL"], report["TASKS_COMPLETED_THIS_LOOP"]) == ("true", "1")
    assert_it_ends_well(sample)


@pytest.mark.slow
def test_a_studied_task_that_was_begun_is_gone_on_with(sample: Path) -> None:
    edit(sample, REPAIRS[2], n_edits=1)
    finished = run_agent(sample, f"Task: {REPAIRS[0].title}\n", RALPH_ITERATION="3")
    assert "I continue from there" in finished.stdout
    assert subjects(sample)[1:] == ["demo: round half a cent up"]
    assert_it_ends_well(sample)


@pytest.mark.slow
def test_killed_for_real_after_every_step_that_it_reports(sample: Path, tmp_path: Path) -> None:
    repair = REPAIRS[4]
    trees: list[str] = []
    is_killed = True
    while is_killed:
        folder = Path(shutil.copytree(sample, tmp_path / f"killed-{len(trees)}"))
        is_killed = killed_after_step(folder, repair, len(trees) + 1)
        if is_killed:
            finished = run_agent(folder, f"Task: {repair.title}\n")
            assert report_of(finished.stdout)["STATUS"] == "IN_PROGRESS"
        assert git(folder, "status", "--porcelain", "--ignored") == ""
        assert subjects(folder)[1] == f"demo: {repair.subject}"
        second = git(folder, "rev-list", "--reverse", "HEAD").split()[1]
        trees.append(git(folder, "rev-parse", f"{second}^{{tree}}"))
    # Task, reading, tests, three edits, tests, tick, commit; and one run that came to its end.
    assert len(trees) == 10
    assert len(set(trees)) == 1


def killed_after_step(folder: Path, repair: SampleRepair, n_steps: int) -> bool:
    """Kill the agent in the pause after its ``n_steps``-th step; False if it has fewer."""
    with subprocess.Popen(
        AGENT,
        cwd=folder,
        env=agent_environment(RALPH_DEMO_PACE="0.05"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        agent.stdin.write(f"Task: {repair.title}\n")
        agent.stdin.close()
        for line in agent.stdout:
            n_steps -= not line.startswith(" ")
            if line.startswith("This report"):
                agent.kill()
                return False
            if n_steps == 0:
                agent.kill()
                return True
    return False


# ---- what a killed git leaves


@pytest.mark.parametrize("name", ["index", "HEAD", "refs/heads/demo"])
def test_the_lock_of_a_killed_git_is_reported_and_removed(sample: Path, name: str) -> None:
    (sample / ".git" / f"{name}.lock").touch()
    finished = run_agent(sample, f"Task: {REPAIRS[0].title}\n")
    assert f"left {Path(name).name}.lock behind" in finished.stdout
    assert subjects(sample)[1:] == [f"demo: {REPAIRS[0].subject}"]
    assert git(sample, "status", "--porcelain") == ""


@pytest.mark.slow
def test_the_lock_of_a_git_that_lives_is_respected(sample: Path) -> None:
    lock = sample / ".git" / "index.lock"
    lock.touch()
    with subprocess.Popen(
        ["git", "cat-file", "--batch-check"],
        cwd=sample,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as living:
        assert living.stdin is not None
        assert living.stdout is not None
        living.stdin.write("HEAD\n")
        living.stdin.flush()
        assert "commit" in living.stdout.readline()
        report = report_of(run_agent(sample, f"Task: {REPAIRS[0].title}\n").stdout)
        living.stdin.close()
    assert lock.exists()
    assert (report["STATUS"], report["TASKS_COMPLETED_THIS_LOOP"]) == ("IN_PROGRESS", "0")
    assert "Another git is running here (index.lock)" in report["RECOMMENDATION"]
    assert len(subjects(sample)) == 1
    run_agent(sample, f"Task: {REPAIRS[1].title}\n")
    assert subjects(sample)[1:] == [f"demo: {repair.subject}" for repair in REPAIRS[:2]]
    assert not lock.exists()


def test_a_lock_that_came_later_is_never_removed(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_repository, "BUSY_WAIT_SECONDS", 0.0)
    repository = open_repository(sample)
    lock = sample / ".git" / "index.lock"
    lock.touch()
    assert remove_left_locks(repository) == (lock,)
    edit(sample, REPAIRS[0])
    with pytest.raises(GitBusy, match=r"index\.lock"):
        commit(repository, REPAIRS[0].files, "demo: too early")
    assert lock.exists()


def test_a_lock_that_another_git_took_again_is_not_an_old_one(sample: Path) -> None:
    lock = sample / ".git" / "index.lock"
    lock.touch()
    repository = open_repository(sample)
    lock.unlink()
    lock.touch()
    os.utime(lock, ns=(1, 1))
    assert remove_left_locks(repository) == (lock,)


# ---- files that change under our hands


def test_what_the_user_saves_meanwhile_is_kept(sample: Path) -> None:
    path = sample / "invoice" / "lines.py"
    edit_made = REPAIRS[0].edits[0]
    saves = iter(["# saved by a person\n"])

    def change(text: str) -> str:
        for line in saves:
            path.write_text(line + text, encoding="utf-8")
        return edit_made.made_in(text)

    assert rewrite(sample, "invoice/lines.py", change)
    text = read_text(sample, "invoice/lines.py")
    assert text is not None
    assert text.startswith("# saved by a person\n")
    assert edit_made.after in text


def test_a_file_that_never_rests_is_given_up(sample: Path) -> None:
    path = sample / "invoice" / "lines.py"

    def change(text: str) -> str:
        path.write_text(text + "#\n", encoding="utf-8")
        return text + "changed\n"

    with pytest.raises(FileKeepsChanging, match=r"invoice/lines\.py"):
        rewrite(sample, "invoice/lines.py", change)
    assert "changed" not in path.read_text(encoding="utf-8")


def test_a_rewritten_file_keeps_its_mode_and_leaves_nothing_beside_it(sample: Path) -> None:
    path = sample / "invoice" / "lines.py"
    path.chmod(0o755)
    edit(sample, REPAIRS[0])
    assert path.stat().st_mode & 0o777 == 0o755
    assert not (sample / ".git" / "ralph-demo.tmp").exists()


@pytest.mark.slow
def test_a_linked_work_tree_of_the_sample_is_worked_in(sample: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(sample, "worktree", "add", "--quiet", "-b", "side", str(linked))
    (sample / ".git" / "worktrees" / "linked" / "index.lock").touch()
    run_agent(linked, f"Task: {REPAIRS[0].title}\n")
    assert subjects(linked)[1:] == [f"demo: {REPAIRS[0].subject}"]
    assert git(linked, "status", "--porcelain", "--ignored") == ""
    assert len(subjects(sample)) == 1
