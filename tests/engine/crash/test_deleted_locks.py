"""Deleted locks: an agent that cleans up where a run keeps its files neither ends nor loses it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_ls.store.layout import state_folder, state_root
from ralph_ls.store.run.lock import EARLIER_LOCK, LOCK
from tests.engine.project_builder import Running, git, worktree_of
from tests.engine.ralph_runner import Project, Ralph, remove_at_once, told

BUSY = 5


def state_of(repository: Path) -> Path:
    return state_folder(state_root(os.environ), worktree_of(repository)).folder


def no_locks(repository: Path) -> None:
    for path in (repository / ".git").glob("*.lock"):
        path.unlink()


def nothing_of_ralph(repository: Path) -> None:
    for path in (repository / ".git").glob("ralph*"):
        path.unlink()


def nothing_untracked(repository: Path) -> None:
    git(repository, "clean", "-qfdx")


def no_state(repository: Path) -> None:
    # In one step, since the engine may still write into it.
    remove_at_once(state_of(repository))


def neither(repository: Path) -> None:
    nothing_of_ralph(repository)
    no_state(repository)


WORKS = """
[ "$RALPH_START" != 1 ] || wait_here
work; mark x "First task"; commit
report "STATUS: COMPLETE" "EXIT_SIGNAL: true"
"""


def begin(project: Project) -> Running:
    project.plan().agent(WORKS)
    project.make_gate()
    running = project.start()
    running.wait_for("agentStarted")
    return running


def test_no_glob_for_the_locks_of_git_matches_ours() -> None:
    assert not Path(LOCK).match("*.lock")
    assert Path(EARLIER_LOCK).match("*.lock")


@pytest.mark.slow
@pytest.mark.parametrize("delete", [no_locks, nothing_of_ralph, nothing_untracked, no_state])
def test_a_second_start_is_refused_whatever_was_deleted(
    project: Project, ralph: Ralph, delete: Callable[[Path], None]
) -> None:
    running = begin(project)
    # It must not be the first engine's own look that keeps the second one out.
    running.signal(signal.SIGSTOP)
    delete(project.repository)
    refused = ralph(project.repository, "run", "--agent-command", project.command)
    running.signal(signal.SIGCONT)
    assert refused.exit_code == BUSY
    assert f"another engine (pid {running.pid})" in refused.stderr
    project.open_gate()
    done = running.wait()
    assert done.exit_code == 0, done.stderr
    assert {(exited.exit_code, exited.signal) for exited in told(done, "agentExited")} == {
        (0, None)
    }
    assert [getattr(event, "seq", 0) for event in done.events] == [*range(1, len(done.events) + 1)]
    assert not (project.repository / "@fix_plan.md").read_text(encoding="utf-8").count("[ ]")


@pytest.mark.slow
@pytest.mark.parametrize("delete", [no_locks, nothing_of_ralph, no_state])
def test_what_was_deleted_is_back_at_once_and_reported(
    project: Project, delete: Callable[[Path], None]
) -> None:
    running = begin(project)
    delete(project.repository)
    warned = running.wait_for("warned", code="own-files-deleted")
    assert "written again" in str(getattr(warned, "message", ""))
    git_dir = project.repository / ".git"
    assert {"ralph.lock", "ralph.json", LOCK} <= {path.name for path in git_dir.iterdir()}
    assert project.tell("status").exit_code == 0
    assert project.tell("stop", "--now").exit_code == 0
    assert running.wait().exit_code == 130


@pytest.mark.slow
def test_an_engine_ends_when_another_one_has_taken_its_place(
    project: Project, ralph: Ralph
) -> None:
    running = begin(project)
    running.signal(signal.SIGSTOP)
    neither(project.repository)
    second = project.start()
    second.wait_for("agentStarted")
    running.signal(signal.SIGCONT)
    first = running.process.wait(60)
    assert first == BUSY
    second.signal(signal.SIGTERM)
    done = second.wait()
    assert done.exit_code == 143
    assert f"another engine (pid {second.pid}) took over" in running.wait().stdout
