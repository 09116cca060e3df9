"""Git's lock files: what a killed git leaves is moved, and what somebody holds is waited for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.project_builder import PATIENCE, Completed, end_marked, git
from tests.engine.ralph_runner import Project, told, wait_until, warnings

BLOCKED = 2

KINDS = [
    "index.lock",
    "HEAD.lock",
    "refs/heads/main.lock",
    "refs/heads/other.lock",
    "packed-refs.lock",
    "config.lock",
    "shallow.lock",
    "objects/info/commit-graph.lock",
    "objects/maintenance.lock",
]
"""Lock files of git, relative to its directory."""

BLOCKING = [name for name in KINDS if "objects" not in name and "other" not in name]

FINISHES = """
work; mark x "First task"; commit
report "STATUS: COMPLETE" "EXIT_SIGNAL: true"
"""

SOON = {"RALPH_GIT_LOCK_WAIT": "1s"}


def lock(project: Project, name: str) -> Path:
    path = project.repository / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"held\n")
    return path


def moved(project: Project, start: int = 1) -> dict[str, bytes]:
    folder = project.run_folder() / f"locks-{start:03d}"
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@contextmanager
def users_git(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, cwd=folder, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def message(done: Completed, code: str) -> str:
    (found,) = [event for event in told(done, "warned") if event.code == code]
    return str(found.message)


@pytest.mark.slow
def test_what_the_agent_left_is_moved_and_the_next_iteration_commits(project: Project) -> None:
    locks = " ".join(f'".git/{name}"' for name in KINDS)
    project.plan().agent(
        f"""
        if [ "$RALPH_START" = 1 ]; then
            work; git add -A
            for lock in {locks}; do mkdir -p "$(dirname "$lock")"; echo left >"$lock"; done
            kill -9 $$
        fi
        {FINISHES}
        """
    )
    done = project.run()
    assert done.exit_code == 0, done.stdout
    assert moved(project) == dict.fromkeys(KINDS, b"left\n")
    assert "git-locks-moved" in warnings(done)
    assert ".git/index.lock" in message(done, "git-locks-moved")
    assert "git-locks-moved" in done.stdout
    assert list((project.repository / ".git").rglob("*.lock")) == [
        project.repository / ".git/ralph.lock"
    ]
    logs = (project.repository / ".ralph" / "logs").glob("*.log")
    assert any("moved away" in path.read_text(encoding="utf-8") for path in logs)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKING)
def test_a_lock_from_before_the_run_is_waited_for_then_blocks_it(
    project: Project, name: str
) -> None:
    project.plan().agent(FINISHES)
    path = lock(project, name)
    done = project.run(env=SOON)
    assert done.exit_code == BLOCKED
    assert path.read_bytes() == b"held\n"
    assert "iterationStarted" not in done.kinds()
    said = message(done, "git-locked")
    assert f"{path} (there for " in said
    assert said.endswith(f"rm {path}")
    path.unlink()
    assert project.tell("run", "--resume").exit_code == 0


@pytest.mark.slow
def test_a_lock_of_another_branch_from_before_the_run_holds_up_nobody(project: Project) -> None:
    project.plan().agent(FINISHES)
    path = lock(project, "refs/heads/other.lock")
    assert project.run(env=SOON).exit_code == 0
    assert path.read_bytes() == b"held\n"


@pytest.mark.slow
def test_a_lock_that_goes_away_holds_up_the_run_no_longer_than_that(project: Project) -> None:
    project.plan().agent(FINISHES)
    path = lock(project, "index.lock")
    running = project.start(env={"RALPH_GIT_LOCK_WAIT": "60s"})
    running.wait_for("warned", code="waiting-for-git")
    path.unlink()
    done = running.wait()
    assert done.exit_code == 0
    assert "git-locked" not in warnings(done)


@pytest.mark.slow
def test_the_commit_that_a_user_is_writing_is_never_disturbed(
    project: Project, tmp_path: Path
) -> None:
    """``git commit`` in an editor holds ``index.lock`` without an open descriptor."""
    project.plan().agent(f'[ "$RALPH_START" != 1 ] || {{ wait_here; kill -9 $$; }}\n{FINISHES}')
    project.make_gate()
    running = project.start(env=SOON)
    running.wait_for("agentStarted")
    (project.repository / "users.txt").write_text("mine\n", encoding="utf-8")
    git(project.repository, "add", "users.txt")
    os.mkfifo(tmp_path / "begun")
    os.mkfifo(tmp_path / "done")
    editor = f"sh -c 'echo Mine >\"$1\"; : >{tmp_path}/begun; read -r _ <{tmp_path}/done' -"
    command = ["git", "commit", "-q", "-a"]
    environment = {**os.environ, "GIT_EDITOR": editor}
    with users_git(command, project.repository, environment) as commit:
        (tmp_path / "begun").read_bytes()
        assert (project.repository / ".git/index.lock").exists()
        project.open_gate()
        done = running.wait(2 * PATIENCE)
        assert done.exit_code == BLOCKED
        assert f"git commit (pid {commit.pid}) is using it" in message(done, "git-locked")
        (tmp_path / "done").write_text("\n", encoding="utf-8")
        assert commit.wait(PATIENCE) == 0
    assert git(project.repository, "log", "-1", "--format=%s").strip() == "Mine"
    assert "users.txt" in git(project.repository, "show", "--name-only", "--format=", "HEAD")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
@pytest.mark.parametrize("whose", ["agent", "before", "later"])
def test_a_resume_moves_what_the_agent_of_a_killed_engine_left(
    project: Project, name: str, whose: str
) -> None:
    project.plan().agent(
        f"""
        if [ "$RALPH_START" = 1 ]; then
            [ {whose} != agent ] || echo held >.git/{name}
            wait_here
        fi
        {FINISHES}
        """
    )
    project.make_gate()
    if whose == "before":
        # One that keeps nobody from beginning, but is not the agent's either.
        path = lock(project, "refs/heads/other.lock")
    running = project.start()
    running.wait_for("agentStarted")
    wait_until(project.kept, (project.kept / "here").exists)
    running.kill()
    if whose == "later":
        end_marked(project.repository)
        # From now on the keeper of the dead engine knows when the agent had gone.
        wait_until(project.run_folder(), (project.run_folder() / "last-look.json").exists)
        path = lock(project, name)
    done = project.ralph(project.repository, "run", "--resume", env=SOON)
    if whose == "later":
        assert done.exit_code == BLOCKED
        assert path.exists()
        assert "git-locks-moved" not in warnings(done)
    elif whose == "before":
        assert done.exit_code == 0, done.stdout
        assert path.exists()
    else:
        assert done.exit_code == 0, done.stdout
        assert moved(project) == {name: b"held\n"}
        assert "git-locks-moved" in warnings(done)


@pytest.mark.slow
def test_what_the_loops_own_git_leaves_when_it_is_killed_is_moved(project: Project) -> None:
    project.plan(files={"IMPLEMENTATION_PLAN.md": "# Plan\n\n- [ ] First task\n"})
    hook = project.repository / ".git/hooks/reference-transaction"
    hook.write_text(
        f'#!/bin/sh\n[ "$1" = prepared ] && [ ! -e "{project.kept}/once" ] || exit 0\n'
        f': >"{project.kept}/once"\nkill -9 $PPID\n',
        encoding="utf-8",
    )
    hook.chmod(0o755)
    project.agent("work; report 'STATUS: IN_PROGRESS'")
    done = project.run("2", "--profile", "spec", env={"RALPH_PUSH": "false"})
    assert done.exit_code == 1, done.stdout
    assert sorted(moved(project)) == ["HEAD.lock", "refs/heads/main.lock"]
    assert "git-locks-moved" in warnings(done)
    assert len(told(done, "committed")) == 1
    assert not (project.repository / ".git/HEAD.lock").exists()
