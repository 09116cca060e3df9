"""Ctrl-C and a closed terminal, whatever is under way: the run ends and nothing is left behind.

Whatever is under way here is deaf: it ignores every polite signal, and so does what it started in
a separate session. What obeys is in ``test_orphans.py``, the plain ends are in
``test_endings.py``.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import psutil
import pytest

from tests.engine.project_builder import DONE, git, marked_processes, newest_run
from tests.engine.ralph_runner import Project, told, wait_until
from tests.unit.cli.terminal import CTRL_C, in_terminal

pytestmark = pytest.mark.slow

WORKS = "work; report 'STATUS: IN_PROGRESS'"
DEAF = """\
#!/bin/sh
trap '' TERM INT HUP
setsid sh -c 'trap "" TERM INT HUP; echo $$ >>"$KEPT/pids"; : >"$KEPT/deaf"; sleep 600; sleep 600'
sleep 600
"""


def agent(project: Project, deaf: Path) -> None:
    project.agent(f"exec {deaf}")


def validation(project: Project, deaf: Path) -> None:
    script = project.file(".ralph/validate.sh")
    script.parent.mkdir()
    script.write_text(deaf.read_text(encoding="utf-8"), encoding="utf-8")
    script.chmod(0o755)
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "Validate")
    assert project.tell("allow", "--yes").exit_code == 0


def hook(project: Project, deaf: Path) -> None:
    _settle_by(project, 'commits = "loop"\n')
    folder = project.file(".git/hooks")
    folder.mkdir(exist_ok=True)
    (folder / "pre-commit").symlink_to(deaf)


def push(project: Project, deaf: Path) -> None:
    _settle_by(project, 'commits = "loop"\npush = true\n')
    git(project.repository, "remote", "add", "origin", "ssh://nowhere.invalid/repository")
    git(project.repository, "config", "core.sshCommand", str(deaf))


def _settle_by(project: Project, config: str) -> None:
    project.file(".ralph").mkdir()
    project.file(".ralph/config.toml").write_text(config, encoding="utf-8")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "Settings")


@pytest.mark.parametrize("stage", [agent, validation, hook, push])
def test_nothing_is_left_of_what_is_deaf(
    project: Project, stage: Callable[[Project, Path], None]
) -> None:
    deaf = project.kept / "deaf.sh"
    deaf.write_text(DEAF, encoding="utf-8")
    deaf.chmod(0o755)
    project.plan().agent(WORKS)
    stage(project, deaf)
    running = project.start("5", env={"KEPT": str(project.kept)})
    wait_until(project.kept, (project.kept / "deaf").exists)
    running.wait_for("agentStarted" if stage is agent else "evidenceGathered")
    running.press_ctrl_c_twice()
    # A third time changes nothing.
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.exit_code == 130
    check_nothing_is_left(project)
    assert told(done, "runEnded")[0].reason == "stopped"
    assert [event.outcome for event in told(done, "iterationEnded")] == ["stopped"]
    assert "Traceback" not in done.stderr


def test_a_wait_ends_at_once(project: Project) -> None:
    project.agent(WORKS).file(".ralph").mkdir()
    project.file(".ralph/config.toml").write_text('cooldown = "10m"\n', encoding="utf-8")
    running = project.start("5")
    running.wait_for("waitStarted")
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.exit_code == 130
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]


@pytest.mark.parametrize("how", ["ctrl-c", "closed"])
def test_in_a_real_terminal(project: Project, how: str) -> None:
    deaf = project.kept / "deaf.sh"
    deaf.write_text(DEAF, encoding="utf-8")
    deaf.chmod(0o755)
    project.plan()
    agent(project, deaf)
    command = ("run", "5", "--agent-command", project.command)
    with in_terminal(
        project.repository, *command, environment={"KEPT": str(project.kept)}
    ) as terminal:
        terminal.wait_for("Phase")
        wait_until(project.kept, (project.kept / "deaf").exists)
        if how == "closed":
            terminal.close()
        else:
            terminal.type(CTRL_C)
            terminal.wait_for("Stopping after this iteration; press Ctrl-C again to stop now")
            terminal.type(CTRL_C)
        assert terminal.wait() == 130
    found = newest_run(project.repository)
    assert found is not None
    assert found.state.end is not None
    assert found.state.end.by == ("a closed terminal" if how == "closed" else "Ctrl-C")
    check_nothing_is_left(project)


def check_nothing_is_left(project: Project) -> None:
    found = newest_run(project.repository)
    assert found is not None
    assert marked_processes(found.state.run) == []
    for pid in (project.kept / "pids").read_text(encoding="utf-8").split():
        assert not is_alive(int(pid))


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


ENDS: Mapping[str, int] = {
    "SIGTERM": 143,
    **dict.fromkeys(
        ("SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGIO"),
        130,
    ),
    **dict.fromkeys(("SIGXCPU", "SIGPWR", "SIGSTKFLT", "SIGRTMIN", "SIGRTMAX"), 130),
}
"""What ends a run at once, and with which code."""

PASSES = ("SIGPIPE", "SIGXFSZ", "SIGCHLD", "SIGURG", "SIGWINCH", "SIGCONT")
"""What changes nothing."""

STOPS = ("SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGSTOP")
"""What stops the engine alone, until it is continued."""

CRASHES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGKILL")
"""What nobody can answer: the next start settles what is left."""

STAYS = 'echo $$ >>"$kept/pids"; : >"$kept/deaf"; exec sleep 600'


def test_each_signal_has_its_place_in_the_tables() -> None:
    named = {number.name for number in signal.Signals}
    real_time = {name for name in named if name.startswith("SIGRT")}
    aliases = {"SIGCLD", "SIGPOLL", "SIGIOT"}
    tables = {"SIGINT", *ENDS, *PASSES, *STOPS, *CRASHES}
    assert named | {"SIGSTKFLT"} <= tables | real_time | aliases


@pytest.mark.parametrize("name", ENDS)
def test_what_would_end_a_process_ends_the_run_and_the_agent(project: Project, name: str) -> None:
    number = getattr(signal, name, None)
    assert number is not None or name == "SIGSTKFLT"
    project.agent(STAYS)
    running = project.start("5")
    running.wait_for("agentStarted")
    wait_until(project.kept, (project.kept / "deaf").exists)
    running.signal(cast(signal.Signals, number or 16))
    done = running.wait(20)
    assert done.exit_code == ENDS[name]
    (ended,) = told(done, "runEnded")
    assert (ended.reason, ended.exit_code) == ("stopped", ENDS[name])
    assert ended.by
    assert len(told(done, "agentExited")) == 1
    check_nothing_is_left(project)


@pytest.mark.parametrize("name", [*PASSES, *STOPS])
def test_what_ends_no_process_ends_no_run(project: Project, name: str) -> None:
    project.make_gate()
    project.agent(f"wait_here; {WORKS}")
    running = project.start("1")
    running.wait_for("agentStarted")
    wait_until(project.kept, (project.kept / "here").exists)
    running.signal(getattr(signal, name))
    running.signal(signal.SIGCONT)
    project.open_gate()
    done = running.wait(20)
    assert done.exit_code == 1
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]


@pytest.mark.parametrize("name", CRASHES)
def test_what_cannot_be_answered_is_settled_by_the_next_start(project: Project, name: str) -> None:
    project.agent(STAYS)
    running = project.start("5")
    running.wait_for("agentStarted")
    wait_until(project.kept, (project.kept / "deaf").exists)
    running.signal(getattr(signal, name))
    assert running.process.wait(20) == -getattr(signal, name)
    (pid,) = map(int, (project.kept / "pids").read_text(encoding="utf-8").split())
    assert is_alive(pid)
    project.agent(DONE)
    done = project.run("1", "--resume")
    assert not is_alive(pid)
    assert told(done, "runResumed")[0].orphans_ended == 1
