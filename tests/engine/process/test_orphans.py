"""Nothing that an agent has started outlives its iteration, however its engine or itself ends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from ralph_ls.protocol.run.events import AgentExited, IterationEnded, RunEnded, RunResumed, Warned
from ralph_ls.protocol.run.values import Outcome
from tests.engine.crash_driver import KILLED, Driver
from tests.engine.project_builder import (
    DONE,
    Completed,
    end_marked,
    events_of,
    make_repository,
    marked_processes,
    newest_run,
    write_agent,
    write_python_agent,
)
from tests.engine.ralph_runner import Ralph

ALL_DONE = {"@fix_plan.md": "- [x] The only task\n"}

# The first one starts a grandchild in a separate session, reports both pids, and stays; a later one
# reports which of the two it still finds.
STAYS = """
import json, os, signal, subprocess, sys

def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

FOLDER = os.path.dirname(sys.argv[0])
if os.path.exists(FOLDER + "/pids"):
    with open(FOLDER + "/pids") as file:
        pids = json.load(file)
    with open(FOLDER + "/found", "w") as file:
        json.dump([pid for pid in pids if lives(pid)], file)
    print("RALPH_STATUS:\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\nEND_RALPH_STATUS")
    sys.exit()
IGNORES = {ignores}
if IGNORES:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
waits = "import signal; signal.pause()"
daemon = subprocess.Popen([sys.executable, "-SEc", waits], start_new_session=True)
with open(FOLDER + "/pids", "w") as file:
    json.dump([os.getpid(), daemon.pid], file)
with open(FOLDER + "/ready", "w") as file:
    file.write("ready")
while True:
    signal.pause()
"""


@dataclass(frozen=True)
class Stayer:
    """An agent that never ends by itself, and what it has reported."""

    folder: Path
    command: str

    def wait_until_ready(self) -> list[int]:
        """The pids of the agent and of its daemon, once both live."""
        assert (self.folder / "ready").read_text(encoding="utf-8") == "ready"
        pids = json.loads((self.folder / "pids").read_text(encoding="utf-8"))
        assert all(psutil.pid_exists(pid) for pid in pids)
        return [int(pid) for pid in pids]

    def found(self) -> list[int]:
        """Which of them the next agent still saw."""
        return list(json.loads((self.folder / "found").read_text(encoding="utf-8")))


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    repository = make_repository(tmp_path / "repository", files=ALL_DONE)
    yield repository
    end_marked(repository)


@pytest.fixture
def stayer(tmp_path: Path) -> Stayer:
    return make_stayer(tmp_path / "agent")


def make_stayer(folder: Path, *, ignores_term: bool = False) -> Stayer:
    body = STAYS.replace("{ignores}", repr(ignores_term))
    command = write_python_agent(folder, body)
    os.mkfifo(folder / "ready")
    return Stayer(folder, command)


def kill_engine_under(ralph: Ralph, repository: Path, stayer: Stayer) -> list[int]:
    """Start a run and kill its engine; the pids of what it leaves."""
    running = ralph.start(repository, "run", "--agent-command", stayer.command)
    pids = stayer.wait_until_ready()
    running.wait_for("agentStarted")
    running.kill()
    assert all(is_alive(pid) for pid in pids)
    return pids


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def nothing_is_left(repository: Path, pids: list[int]) -> bool:
    found = newest_run(repository)
    assert found is not None
    return not marked_processes(found.state.run) and not any(is_alive(pid) for pid in pids)


def exits(done: Completed) -> list[AgentExited]:
    return [event for event in done.events if isinstance(event, AgentExited)]


@pytest.mark.slow
def test_a_resume_ends_what_a_killed_engine_left_before_anything_else(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    stubborn = make_stayer(tmp_path / "agent", ignores_term=True)
    pids = kill_engine_under(ralph, repository, stubborn)
    done = ralph(repository, "run", "--resume")
    assert done.exit_code == 0
    assert stubborn.found() == []
    assert nothing_is_left(repository, pids)
    (resumed,) = [event for event in done.events if isinstance(event, RunResumed)]
    assert resumed.orphans_ended == 2
    assert "ended 2 processes of its dead engine" in done.stdout
    ended = [event for event in done.events if isinstance(event, IterationEnded)]
    assert [(event.iteration, event.outcome) for event in ended] == [
        (1, Outcome.LOST),
        (1, Outcome.NO_PROGRESS),
    ]


@pytest.mark.slow
def test_a_new_run_ends_and_reports_what_a_killed_engine_left(
    ralph: Ralph, repository: Path, stayer: Stayer
) -> None:
    pids = kill_engine_under(ralph, repository, stayer)
    done = ralph(repository, "run", "--agent-command", stayer.command)
    assert done.exit_code == 0
    assert stayer.found() == []
    assert nothing_is_left(repository, pids)
    told = [event.message for event in done.events if isinstance(event, Warned)]
    assert "ended 2 processes that the agent of a killed engine had left running" in told
    ended = [event for event in done.events if isinstance(event, IterationEnded)]
    assert [event.iteration for event in ended] == [1]


@pytest.mark.slow
def test_even_a_start_that_is_refused_ends_what_a_killed_engine_left(
    ralph: Ralph, repository: Path, stayer: Stayer
) -> None:
    pids = kill_engine_under(ralph, repository, stayer)
    refused = ralph(repository, "run", "--resume", "--plan", "missing.md")
    assert refused.exit_code != 0
    assert "missing.md" in refused.stderr
    assert nothing_is_left(repository, pids)


@pytest.mark.slow
def test_an_agent_whose_start_never_reached_the_journal_is_found_by_its_marker(
    ralph: Ralph, repository: Path, stayer: Stayer, tmp_path: Path
) -> None:
    engines = Driver(tmp_path / "output")
    ordinary = make_repository(tmp_path / "ordinary", files=ALL_DONE)
    quick = write_agent(tmp_path / "quick", DONE)
    assert engines.ralph(ordinary, "run", "--agent-command", quick) == 0
    kinds = [getattr(event, "kind", "") for event in events_of(ordinary)]
    seq = kinds.index("agentStarted") + 1
    arguments = ["run", "--agent-command", stayer.command]
    assert engines.ralph(repository, *arguments, kill_at=seq, n_bytes=0) == KILLED
    assert "agentStarted" not in {getattr(e, "kind", "") for e in events_of(repository)}
    pids = stayer.wait_until_ready()
    assert all(is_alive(pid) for pid in pids)
    assert engines.ralph(repository, "run", "--resume") == 0
    assert stayer.found() == []
    assert nothing_is_left(repository, pids)


@pytest.mark.slow
def test_a_validation_that_outlived_its_engine_is_ended_too(ralph: Ralph, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    script = f"""#!/bin/sh
        if [ -e {tmp_path}/second ]; then exit 0; fi
        : >{tmp_path}/second
        sleep 1000 &
        echo $$ $! >{tmp_path}/ready
        wait
    """
    repository = make_repository(
        tmp_path / "repository", files={**ALL_DONE, ".ralph/validate.sh": script}
    )
    (repository / ".ralph/validate.sh").chmod(0o755)
    assert ralph(repository, "allow", "--yes").exit_code == 0
    agent = write_agent(tmp_path / "agent", DONE)
    running = ralph.start(repository, "run", "--agent-command", agent)
    pids = [int(pid) for pid in (tmp_path / "ready").read_text(encoding="utf-8").split()]
    running.kill()
    done = ralph(repository, "run", "--resume")
    assert done.exit_code == 0
    assert nothing_is_left(repository, pids)
    (resumed,) = [event for event in done.events if isinstance(event, RunResumed)]
    assert resumed.orphans_ended == 2
    # The agent had come to its end, so nothing of it is lost or done again.
    assert [event.iteration for event in exits(done)] == [1]
    assert done.kinds().count("validated") == 1


@pytest.mark.slow
def test_what_an_agent_leaves_running_is_ended_and_reported_and_the_run_continues(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    agent = write_agent(
        tmp_path / "agent",
        f"sleep 1000 & echo $! >>{tmp_path}/pids\n"
        f"setsid sleep 1000 >/dev/null 2>&1 & echo $! >>{tmp_path}/pids\n"
        f"{DONE}",
    )
    done = ralph(repository, "run", "--agent-command", agent)
    assert done.exit_code == 0
    (exited,) = exits(done)
    assert (exited.exit_code, exited.leftovers, exited.stopped) == (0, 2, False)
    assert "The agent left 2 processes running; ralph ended them" in done.stdout
    pids = [int(pid) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split()]
    assert nothing_is_left(repository, pids)


@pytest.mark.slow
def test_stop_now_ends_the_whole_tree_at_once(
    ralph: Ralph, repository: Path, stayer: Stayer
) -> None:
    running = ralph.start(repository, "run", "--agent-command", stayer.command)
    pids = stayer.wait_until_ready()
    asked = ralph(repository, "stop", "--now")
    assert (asked.exit_code, asked.stdout) == (0, "ended the agent\n")
    done = running.wait()
    assert done.exit_code == 130
    check_stopped(repository, pids, done, by="ralph stop")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "exit_code", "by"),
    [
        pytest.param(signal.SIGINT, 130, "Ctrl-C", id="ctrl-c"),
        pytest.param(signal.SIGTERM, 143, "SIGTERM", id="term"),
        pytest.param(signal.SIGHUP, 130, "a closed terminal", id="hangup"),
    ],
)
def test_a_signal_to_the_engine_ends_the_whole_tree(
    ralph: Ralph, repository: Path, stayer: Stayer, number: signal.Signals, exit_code: int, by: str
) -> None:
    running = ralph.start(repository, "run", "--agent-command", stayer.command)
    pids = stayer.wait_until_ready()
    if number is signal.SIGINT:
        running.press_ctrl_c_twice()
    else:
        running.signal(number)
    done = running.wait()
    assert done.exit_code == exit_code
    check_stopped(repository, pids, done, by=by)
    assert f"Exit:        STOPPED (code {exit_code})" in done.stdout


def check_stopped(repository: Path, pids: list[int], done: Completed, *, by: str) -> None:
    """All is gone without the wait that comes before a KILL, and the reason says by whom."""
    assert nothing_is_left(repository, pids)
    (exited,) = exits(done)
    assert (exited.stopped, exited.killed, exited.leftovers) == (True, False, 0)
    (end,) = [event for event in done.events if isinstance(event, RunEnded)]
    assert (end.reason.value, end.by, end.message) == ("stopped", by, f"stopped by {by}")
