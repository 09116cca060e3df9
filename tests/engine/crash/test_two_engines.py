"""One engine per work tree: the second one learns which one is there, and disturbs nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ralph_ls.store.run.lock import EngineLock, LockOwner
from tests.engine.project_builder import (
    DONE,
    Running,
    git,
    journal_of,
    make_repository,
    newest_run,
    worktree_of,
    write_agent,
)
from tests.engine.ralph_runner import Ralph

ALL_DONE = {"@fix_plan.md": "- [x] The only task\n", "sub/folder/file": "text\n"}
BUSY = 5


@dataclass(frozen=True)
class Waiter:
    """An agent that says that it has begun, and ends when it is let go."""

    folder: Path
    command: str

    def wait_until_begun(self) -> None:
        assert (self.folder / "begun").read_text(encoding="utf-8") == "begun\n"

    def let_go(self) -> None:
        (self.folder / "go").write_text("go\n", encoding="utf-8")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", files=ALL_DONE)


@pytest.fixture
def waiter(tmp_path: Path) -> Waiter:
    folder = tmp_path / "waiter"
    body = f"echo begun >'{folder}/begun'\nread -r _ <'{folder}/go'\n{DONE}"
    command = write_agent(folder, body)
    for name in ("begun", "go"):
        os.mkfifo(folder / name)
    return Waiter(folder, command)


@pytest.fixture
def quick(tmp_path: Path) -> str:
    return write_agent(tmp_path / "quick", DONE)


@contextmanager
def busy(ralph: Ralph, repository: Path, waiter: Waiter) -> Iterator[Running]:
    """An engine whose agent waits; it must come to its end undisturbed."""
    running = ralph.start(repository, "run", "--agent-command", waiter.command)
    waiter.wait_until_begun()
    running.wait_for("agentStarted")
    yield running
    waiter.let_go()
    done = running.wait()
    assert done.exit_code == 0
    assert done.kinds().count("runStarted") == 1
    assert done.kinds().count("runResumed") == 0


@pytest.mark.slow
def test_a_second_engine_is_refused_with_pid_and_run_wherever_it_is_started(
    ralph: Ralph, repository: Path, waiter: Waiter, quick: str, tmp_path: Path
) -> None:
    (tmp_path / "alias").symlink_to(repository)
    places = [repository, repository / "sub/folder", tmp_path / "alias/sub"]
    with busy(ralph, repository, waiter) as running:
        found = newest_run(repository)
        assert found is not None
        size = journal_of(repository).stat().st_size
        for place in places:
            refused = ralph(place, "run", "--agent-command", quick)
            assert refused.exit_code == BUSY
            assert refused.stdout == ""
            assert refused.stderr == (
                f"ralph: another engine (pid {running.pid}) owns this work tree with run "
                f"{found.state.run}; follow it with ralph watch, or end it with: ralph stop\n"
            )
        assert journal_of(repository).stat().st_size == size


@pytest.mark.slow
def test_no_way_of_starting_leads_past_the_first_engine(
    ralph: Ralph, repository: Path, waiter: Waiter, quick: str
) -> None:
    with busy(ralph, repository, waiter) as running:
        for start in (["--resume"], ["--json"], ["5", "--detach"]):
            refused = ralph(repository, "run", *start, "--agent-command", quick)
            assert refused.exit_code == BUSY
            assert refused.stdout == ""
            assert f"(pid {running.pid})" in refused.stderr


@pytest.mark.slow
def test_another_state_folder_makes_no_second_engine_and_finds_the_first(
    ralph: Ralph, repository: Path, waiter: Waiter, quick: str, tmp_path: Path
) -> None:
    elsewhere = {"RALPH_STATE_DIR": str(tmp_path / "elsewhere")}
    with busy(ralph, repository, waiter) as running:
        refused = ralph(repository, "run", "--agent-command", quick, env=elsewhere)
        assert refused.exit_code == BUSY
        assert f"(pid {running.pid})" in refused.stderr
        status = ralph(repository, "status", "--json", env=elsewhere)
        assert status.exit_code == 0
        assert '"live": true' in status.stdout


@pytest.mark.slow
def test_a_linked_work_tree_runs_at_the_same_time(
    ralph: Ralph, repository: Path, waiter: Waiter, quick: str, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", str(linked))
    with busy(ralph, repository, waiter):
        assert ralph(linked, "run", "--agent-command", quick).exit_code == 0
        assert ralph(linked, "status").stdout != ralph(repository, "status").stdout
    assert git(repository, "status", "--porcelain") == ""
    assert git(linked, "status", "--porcelain") == ""


@pytest.mark.slow
def test_of_two_starts_at_the_same_moment_one_is_refused(
    ralph: Ralph, repository: Path, waiter: Waiter
) -> None:
    command = ["run", "--agent-command", waiter.command]
    engines = [ralph.start(repository, *command) for _ in range(2)]
    waiter.wait_until_begun()
    found = newest_run(repository)
    assert found is not None
    (first,) = [engine for engine in engines if engine.pid == found.state.pid]
    (second,) = [engine for engine in engines if engine is not first]
    refused = second.wait()
    assert refused.exit_code == BUSY
    assert "another engine" in refused.stderr
    assert "owns this work tree" in refused.stderr
    waiter.let_go()
    assert first.wait().exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "waits_for", "exit_code"),
    [
        ("DECIDE:Which colour?", "an answer to: Which colour?", 3),
        ("BLOCKED:No key", "the blocker to be resolved: No key", 2),
    ],
)
def test_a_refusal_says_what_a_parked_run_waits_for(
    ralph: Ralph, tmp_path: Path, quick: str, promise: str, waits_for: str, exit_code: int
) -> None:
    repository = make_repository(tmp_path / "repository")
    asker = write_agent(tmp_path / "asker", f"echo '<promise>{promise}</promise>'")
    command = ["run", "--on-halt", "wait", "--agent-command", asker]
    running = ralph.start(repository, *command)
    running.wait_for("phaseChanged", phase="parked")
    refused = ralph(repository, "run", "--agent-command", quick)
    assert refused.exit_code == BUSY
    assert f"(pid {running.pid})" in refused.stderr
    assert refused.stderr.endswith(f". That run is waiting for {waits_for}\n")
    assert ralph(repository, "stop").exit_code == 0
    assert running.wait().exit_code == exit_code


@pytest.mark.slow
def test_an_engine_that_is_only_just_starting_is_not_taken_for_the_last_one(
    ralph: Ralph, repository: Path, quick: str, tmp_path: Path
) -> None:
    git_dir = worktree_of(repository).git_dir
    with EngineLock(git_dir) as lock:
        lock.claim(
            LockOwner(
                pid=os.getpid(),
                # The process with this number was another one.
                process_start_time=1.0,
                run="20260131T120000Z-0a1b",
                state_dir=str(tmp_path),
            )
        )
        refused = ralph(repository, "run", "--agent-command", quick)
    assert refused.exit_code == BUSY
    assert refused.stderr == (
        "ralph: another engine owns this work tree; follow it with: ralph watch\n"
    )
