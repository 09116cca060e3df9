"""A run on its own branch: created at the start, left at the end where that loses nothing.

See docs/rules.md#work-branch.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.engine.issue.request_project import CLARITY, FULFILS
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project

pytestmark = pytest.mark.slow


def branch_of(root: Path) -> str:
    return git(root, "branch", "--show-current").strip()


def test_auto_names_the_task_and_says_how_to_merge(project: Project) -> None:
    project.plan("Fix the login: it fails").agent("work; commit")
    home = branch_of(project.repository)
    done = project.run("1", "--branch", "auto")
    assert branch_of(project.repository) == home
    made = [name for name in git(project.repository, "branch").split() if "ralph/" in name]
    (name,) = made
    assert name.startswith("ralph/20")
    assert name.endswith("-fix-the-login-it-fails")
    assert f"Branch: {name}\n" in done.stdout
    assert f"1 commit on {name}; back on {home}. To merge: git merge {name}" in done.stdout
    assert "main-branch" not in done.stdout
    git(project.repository, "merge", "-q", name)
    assert (project.repository / "work.txt").exists()
    # The same task on the same day gets another name.
    project.run("1", "--branch", "auto")
    assert f"{name}-2" in git(project.repository, "branch")


def test_changes_of_the_user_move_along_and_back(project: Project) -> None:
    project.plan(files={"mine.txt": "1\n"}).agent("echo x >new; git add new; git commit -qm New")
    (project.repository / "mine.txt").write_text("2\n", encoding="utf-8")
    done = project.run("1", "--branch", "my-work")
    assert "1 commit on my-work; back on" in done.stdout
    assert (project.repository / "mine.txt").read_text("utf-8") == "2\n"
    assert not (project.repository / "new").exists()
    refused = project.run("1", "--branch", "my-work")
    assert refused.exit_code == 64
    assert "uncommitted changes keep the run from switching to my-work: mine.txt" in refused.stderr


def test_what_the_agent_left_uncommitted_keeps_the_branch_and_a_resume_goes_on_there(
    project: Project,
) -> None:
    project.plan().agent("work")
    home = branch_of(project.repository)
    done = project.run("1", "--branch", "my-work")
    assert branch_of(project.repository) == "my-work"
    assert "still on my-work, because these are not committed: work.txt" in done.stdout
    assert f"then: git switch {home} && git merge my-work" in done.stdout
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "Mine")
    git(project.repository, "switch", "-q", home)
    project.agent("work; commit")
    resumed = project.run("--resume", "--max-iterations", "2")
    assert "Branch: my-work\n" in resumed.stdout
    assert "2 commits on my-work; back on" in resumed.stdout
    assert branch_of(project.repository) == home


def test_a_killed_engine_leaves_the_branch_to_a_resume(project: Project) -> None:
    project.plan().agent("sleep 60")
    home = branch_of(project.repository)
    started = project.start("1", "--branch", "my-work")
    started.wait_for("agentStarted")
    live = project.tell("status").stdout
    assert f"Branch:      my-work; at its end the run switches back to {home}\n" in live
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    left = project.tell("status").stdout
    assert f"my-work; the engine ended before it switched back to {home}." in left.replace(
        "\n", " "
    )
    assert branch_of(project.repository) == "my-work"
    project.agent("work; commit")
    resumed = project.run("--resume")
    words = f"on my-work; back on {home}. To merge: git merge my-work"
    assert words in resumed.stdout
    assert words in project.tell("status").stdout
    assert words in json.loads(project.tell("status", "--json").stdout)["branch"]
    assert branch_of(project.repository) == home


def test_a_head_that_was_moved_is_left_alone(project: Project) -> None:
    project.plan().agent("work; commit; git switch -q -c elsewhere")
    done = project.run("1", "--branch", "my-work")
    assert branch_of(project.repository) == "elsewhere"
    assert "the work is on my-work; HEAD was moved to elsewhere and stays there" in done.stdout


def test_a_start_that_is_refused_leaves_no_branch(project: Project) -> None:
    project.plan().agent("work")
    home = branch_of(project.repository)
    refused = project.ralph(
        project.repository, "run", "--branch", "my-work", "--agent-command", "./nowhere"
    )
    assert refused.exit_code == 5
    assert git(project.repository, "branch").split() == ["*", home]


def test_a_detached_head_is_returned_to(project: Project) -> None:
    project.agent(CLARITY + FULFILS)
    git(project.repository, "switch", "-q", "--detach")
    commit = git(project.repository, "rev-parse", "HEAD").strip()
    done = project.run("-p", "Paint it blue", "--branch", "auto")
    assert done.exit_code == 0
    assert git(project.repository, "rev-parse", "HEAD").strip() == commit
    assert "-paint-it-blue" in git(project.repository, "branch")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--branch", "a..b"), "cannot be the name of a branch"),
        (("--branch", "x", "--resume"), "a run keeps its branch"),
        (("--branch", "taken"), "the branch taken cannot be checked out"),
    ],
)
def test_what_cannot_be_switched_to_is_refused(
    project: Project, tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    project.plan().agent("work")
    git(project.repository, "worktree", "add", "-q", "-b", "taken", str(tmp_path / "other"))
    refused = project.run(*flags)
    assert refused.exit_code == 64
    assert words in refused.stderr


def test_without_a_commit_there_is_nothing_to_start_from(project: Project) -> None:
    project.agent("work")
    root = project.kept.parent / "empty"
    root.mkdir()
    git(root, "init", "-q")
    (root / "@fix_plan.md").write_text("- [ ] one\n", encoding="utf-8")
    refused = project.ralph(root, "run", "--branch", "auto", "--agent-command", project.command)
    assert refused.exit_code == 64
    assert "--branch needs a first commit to start from" in refused.stderr
