"""Git's lock files: what a killed git leaves is moved, and what somebody holds is waited for."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.project_builder import PATIENCE, Completed, end_marked, git
from tests.engine.ralph_runner import Scene, told, wait_until, warnings

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


def lock(scene: Scene, name: str) -> Path:
    path = scene.repository / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"held\n")
    return path


def moved(scene: Scene, start: int = 1) -> dict[str, bytes]:
    folder = scene.run_folder() / f"locks-{start:03d}"
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
def test_what_the_agent_left_is_moved_and_the_next_iteration_commits(scene: Scene) -> None:
    locks = " ".join(f'".git/{name}"' for name in KINDS)
    scene.plan().agent(
        f"""
        if [ "$RALPH_START" = 1 ]; then
            work; git add -A
            for lock in {locks}; do mkdir -p "$(dirname "$lock")"; echo left >"$lock"; done
            kill -9 $$
        fi
        {FINISHES}
        """
    )
    done = scene.run()
    assert done.exit_code == 0, done.stdout
    assert moved(scene) == dict.fromkeys(KINDS, b"left\n")
    assert "git-locks-moved" in warnings(done)
    assert ".git/index.lock" in message(done, "git-locks-moved")
    assert "git-locks-moved" in done.stdout
    assert list((scene.repository / ".git").rglob("*.lock")) == [
        scene.repository / ".git/ralph.lock"
    ]
    logs = (scene.repository / ".ralph" / "logs").glob("*.log")
    assert any("moved out of the way" in path.read_text(encoding="utf-8") for path in logs)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKING)
def test_a_lock_from_before_the_run_is_waited_for_then_blocks_it(scene: Scene, name: str) -> None:
    scene.plan().agent(FINISHES)
    path = lock(scene, name)
    done = scene.run(env=SOON)
    assert done.exit_code == BLOCKED
    assert path.read_bytes() == b"held\n"
    assert "iterationStarted" not in done.kinds()
    said = message(done, "git-locked")
    assert f"{path} (there for " in said
    assert said.endswith(f"rm {path}")
    path.unlink()
    assert scene.tell("run", "--resume").exit_code == 0


@pytest.mark.slow
def test_a_lock_of_another_branch_from_before_the_run_holds_up_nobody(scene: Scene) -> None:
    scene.plan().agent(FINISHES)
    path = lock(scene, "refs/heads/other.lock")
    assert scene.run(env=SOON).exit_code == 0
    assert path.read_bytes() == b"held\n"


@pytest.mark.slow
def test_a_lock_that_goes_away_holds_up_the_run_no_longer_than_that(scene: Scene) -> None:
    scene.plan().agent(FINISHES)
    path = lock(scene, "index.lock")
    running = scene.start(env={"RALPH_GIT_LOCK_WAIT": "60s"})
    running.wait_for("warned", code="waiting-for-git")
    path.unlink()
    done = running.wait()
    assert done.exit_code == 0
    assert "git-locked" not in warnings(done)


@pytest.mark.slow
def test_the_commit_that_a_user_is_writing_is_never_disturbed(scene: Scene, tmp_path: Path) -> None:
    """``git commit`` in an editor holds ``index.lock`` without an open descriptor."""
    scene.plan().agent(f'[ "$RALPH_START" != 1 ] || {{ wait_here; kill -9 $$; }}\n{FINISHES}')
    scene.make_gate()
    running = scene.start(env=SOON)
    running.wait_for("agentStarted")
    (scene.repository / "users.txt").write_text("mine\n", encoding="utf-8")
    git(scene.repository, "add", "users.txt")
    os.mkfifo(tmp_path / "begun")
    os.mkfifo(tmp_path / "done")
    editor = f"sh -c 'echo Mine >\"$1\"; : >{tmp_path}/begun; read -r _ <{tmp_path}/done' -"
    command = ["git", "commit", "-q", "-a"]
    environment = {**os.environ, "GIT_EDITOR": editor}
    with users_git(command, scene.repository, environment) as commit:
        (tmp_path / "begun").read_bytes()
        assert (scene.repository / ".git/index.lock").exists()
        scene.open_gate()
        done = running.wait(2 * PATIENCE)
        assert done.exit_code == BLOCKED
        assert f"git commit (pid {commit.pid}) works there" in message(done, "git-locked")
        (tmp_path / "done").write_text("\n", encoding="utf-8")
        assert commit.wait(PATIENCE) == 0
    assert git(scene.repository, "log", "-1", "--format=%s").strip() == "Mine"
    assert "users.txt" in git(scene.repository, "show", "--name-only", "--format=", "HEAD")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
@pytest.mark.parametrize("whose", ["agent", "before", "later"])
def test_a_resume_moves_what_the_agent_of_a_killed_engine_left(
    scene: Scene, name: str, whose: str
) -> None:
    scene.plan().agent(
        f"""
        if [ "$RALPH_START" = 1 ]; then
            [ {whose} != agent ] || echo held >.git/{name}
            wait_here
        fi
        {FINISHES}
        """
    )
    scene.make_gate()
    if whose == "before":
        # One that keeps nobody from beginning, but is not the agent's either.
        path = lock(scene, "refs/heads/other.lock")
    running = scene.start()
    running.wait_for("agentStarted")
    wait_until(scene.kept, (scene.kept / "here").exists)
    running.kill()
    if whose == "later":
        end_marked(scene.repository)
        # From now on the keeper of the dead engine knows when the agent had gone.
        wait_until(scene.run_folder(), (scene.run_folder() / "last-look.json").exists)
        path = lock(scene, name)
    done = scene.ralph(scene.repository, "run", "--resume", env=SOON)
    if whose == "later":
        assert done.exit_code == BLOCKED
        assert path.exists()
        assert "git-locks-moved" not in warnings(done)
    elif whose == "before":
        assert done.exit_code == 0, done.stdout
        assert path.exists()
    else:
        assert done.exit_code == 0, done.stdout
        assert moved(scene) == {name: b"held\n"}
        assert "git-locks-moved" in warnings(done)


@pytest.mark.slow
def test_what_the_loops_own_git_leaves_when_it_is_killed_is_moved(scene: Scene) -> None:
    scene.plan(files={"IMPLEMENTATION_PLAN.md": "# Plan\n\n- [ ] First task\n"})
    hook = scene.repository / ".git/hooks/reference-transaction"
    hook.write_text(
        f'#!/bin/sh\n[ "$1" = prepared ] && [ ! -e "{scene.kept}/once" ] || exit 0\n'
        f': >"{scene.kept}/once"\nkill -9 $PPID\n',
        encoding="utf-8",
    )
    hook.chmod(0o755)
    scene.agent("work; report 'STATUS: IN_PROGRESS'")
    done = scene.run("2", "--profile", "spec", env={"RALPH_PUSH": "false"})
    assert done.exit_code == 1, done.stdout
    assert sorted(moved(scene)) == ["HEAD.lock", "refs/heads/main.lock"]
    assert "git-locks-moved" in warnings(done)
    assert len(told(done, "committed")) == 1
    assert not (scene.repository / ".git/HEAD.lock").exists()
