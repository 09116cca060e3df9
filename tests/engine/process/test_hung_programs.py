"""Whatever program hangs, and whichever way the run is stopped: it ends in time and leaves nothing.

What hangs here is deaf: it ignores every polite signal, and so does what it started in a separate
session. Each kind of program meets each kind of stop.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from ralph_ls.engine.process.running_process import END_SECONDS
from ralph_ls.store.run.lock import is_held
from tests.engine.project_builder import git, write_agent
from tests.engine.ralph_runner import Project, Started, told, wait_until

pytestmark = pytest.mark.slow

SLACK = 2.0
"""Seconds that a busy machine takes for what is not waiting: the last writes, the interpreter."""

DEAF = """\
#!/bin/sh
trap '' TERM INT HUP QUIT
setsid sh -c 'trap "" TERM INT HUP QUIT; echo $$ >>"{kept}/pids"; : >"{kept}/deaf"; \
sleep 600; sleep 600'
sleep 600
"""
WORKS = "work; report 'STATUS: IN_PROGRESS'"


@pytest.fixture(autouse=True)
def _no_leftovers(project: Project) -> Iterator[None]:
    yield
    for pid in pids(project):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def looking(project: Project, deaf: Path) -> Mapping[str, str]:
    """A filter hangs when git looks at what the agent did."""
    project.plan(files={"a.txt": "one\n", ".gitattributes": "a.txt filter=stuck\n"})
    project.agent("echo two >a.txt; touch -d @1 a.txt")
    # Its entry in the index is older than the index, so git need not look into it until then.
    os.utime(project.file("a.txt"), (1000, 1000))
    git(project.repository, "update-index", "--refresh")
    git(project.repository, "config", "--global", "filter.stuck.clean", str(deaf))
    return {}


def preparing(project: Project, deaf: Path) -> Mapping[str, str]:
    """The same before the run has begun."""
    looking(project, deaf)
    project.file("a.txt").write_text("two\n", encoding="utf-8")
    os.utime(project.file("a.txt"), (1, 1))
    return {}


def agent(project: Project, deaf: Path) -> Mapping[str, str]:
    project.agent(f"exec {deaf}")
    return {}


def validation(project: Project, deaf: Path) -> Mapping[str, str]:
    script = project.file(".ralph/validate.sh")
    _settle_by(project, "")
    script.write_text(deaf.read_text(encoding="utf-8"), encoding="utf-8")
    script.chmod(0o755)
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "Validate")
    assert project.tell("allow", "--yes").exit_code == 0
    return {}


def commit_hook(project: Project, deaf: Path) -> Mapping[str, str]:
    _settle_by(project, 'commits = "loop"\n')
    folder = project.file(".git/hooks")
    folder.mkdir(exist_ok=True)
    (folder / "pre-commit").symlink_to(deaf)
    return {}


def push(project: Project, deaf: Path) -> Mapping[str, str]:
    _settle_by(project, 'commits = "loop"\npush = true\n')
    git(project.repository, "remote", "add", "origin", "ssh://nowhere.invalid/repository")
    git(project.repository, "config", "core.sshCommand", str(deaf))
    return {}


def question(project: Project, deaf: Path) -> Mapping[str, str]:
    """The command hangs after the run's end, which waits for it."""
    project.agent("say '<promise>DECIDE: Which one?</promise>'")
    _settle_by(project, f'notify.command = ["{deaf}"]\n')
    assert project.tell("allow", "--yes").exit_code == 0
    return {}


def question_while_parked(project: Project, deaf: Path) -> Mapping[str, str]:
    project.agent("say '<promise>DECIDE: Which one?</promise>'")
    _settle_by(project, f'notify.command = ["{deaf}"]\non_halt = "wait"\n')
    assert project.tell("allow", "--yes").exit_code == 0
    return {}


def issues(project: Project, deaf: Path) -> Mapping[str, str]:
    """``bd`` hangs."""
    project.file(".beads").mkdir()
    _settle_by(project, 'profile = "beads"\n')
    (project.kept / "path").mkdir()
    (project.kept / "path/bd").symlink_to(deaf)
    return {"PATH": os.pathsep.join([str(project.kept / "path"), os.environ["PATH"]])}


def sandbox(project: Project, deaf: Path) -> Mapping[str, str]:
    """What ends the agent in its sandbox hangs."""
    _settle_by(
        project,
        f'[sandbox]\nprefix = ["env"]\nstop = ["{deaf}"]\n',
    )
    assert project.tell("allow", "--yes").exit_code == 0
    write_agent(project.kept / "bin", ': >"$kept/deaf"; exec sleep 1000')
    project.agent(': >"$kept/deaf"; exec sleep 1000')
    return {}


def _settle_by(project: Project, config: str) -> None:
    project.file(".ralph").mkdir(exist_ok=True)
    project.file(".ralph/config.toml").write_text(config, encoding="utf-8")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "Settings")


def stop_now(project: Project, running: Started) -> None:
    # It is refused where the run has ended, and what it waits for is ended all the same.
    assert project.tell("stop", "--now").exit_code in {0, 1}, running


def ctrl_c(_scene: Project, running: Started) -> None:
    running.signal(signal.SIGINT)


def by_signal(number: signal.Signals) -> Callable[[Project, Started], None]:
    def stop(_scene: Project, running: Started) -> None:
        running.signal(number)

    return stop


STOPS: Mapping[str, Callable[[Project, Started], None]] = {
    "stop-now": stop_now,
    "ctrl-c": ctrl_c,
    "term": by_signal(signal.SIGTERM),
    "quit": by_signal(signal.SIGQUIT),
    "hup": by_signal(signal.SIGHUP),
}
STAGES = (
    looking,
    preparing,
    agent,
    validation,
    commit_hook,
    push,
    question,
    question_while_parked,
    issues,
    sandbox,
)
BEFORE_RUN = {preparing, issues}
"""Where no engine listens yet, so that nobody can be asked to stop it and a signal ends it."""
WITHOUT_ITERATION = BEFORE_RUN | {question, question_while_parked}


@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
def test_nothing_is_left_and_nobody_waits(
    project: Project, stage: Callable[[Project, Path], Mapping[str, str]], how: str
) -> None:
    if how == "stop-now" and stage in BEFORE_RUN:
        how = "term"
    deaf = project.kept / "deaf.sh"
    deaf.write_text(DEAF.format(kept=project.kept), encoding="utf-8")
    deaf.chmod(0o755)
    if stage not in {looking, preparing}:
        project.plan().agent(WORKS)
    around = stage(project, deaf)
    running = project.start("5", env=around)
    wait_until(project.kept, (project.kept / "deaf").exists)
    if stage is agent or stage is sandbox:
        running.wait_for("agentStarted")
    if how == "ctrl-c" and stage not in WITHOUT_ITERATION:
        # The first one waits for the iteration's end.
        running.signal(signal.SIGINT)
        running.wait_for("phaseChanged", phase="stopping")
    began = time.monotonic()
    STOPS[how](project, running)
    done = running.wait(30)
    took = time.monotonic() - began
    assert took < END_SECONDS + SLACK
    left = {pid for pid in pids(project) if is_alive(pid)}
    assert left == set()
    wait_until(project.kept, lambda: below(project) == [], seconds=2 * SLACK)
    assert "Traceback" not in done.stderr
    if stage not in BEFORE_RUN:
        assert not is_held(project.file(".git"))
        assert len(told(done, "runEnded")) == 1


def pids(project: Project) -> list[int]:
    try:
        return [int(pid) for pid in (project.kept / "pids").read_text(encoding="utf-8").split()]
    except FileNotFoundError:
        return []


def below(project: Project) -> list[str]:
    """Processes that work in the repository or were started with its files."""
    found = []
    for process in psutil.process_iter(["cmdline", "cwd", "status"]):
        info = process.info
        words = shlex.join(info["cmdline"] or [])
        is_here = info["cwd"] == str(project.repository) or str(project.kept) in words
        if is_here and info["status"] != psutil.STATUS_ZOMBIE:
            found.append(words)
    return found


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
