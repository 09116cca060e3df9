"""Ctrl-C and a closed terminal, whatever is under way: the run ends and nothing is left behind.

Whatever is under way here is deaf: it ignores every polite signal, and so does what it started in
a session of its own. What obeys is in ``test_orphans.py``, the plain ends are in
``test_endings.py``.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.engine.cases import Scene, told, wait_until
from tests.engine.loop import git, marked_processes, newest_run
from tests.unit.cli.terminal import CTRL_C, in_terminal

pytestmark = pytest.mark.slow

WORKS = "work; report 'STATUS: IN_PROGRESS'"
DEAF = """\
#!/bin/sh
trap '' TERM INT HUP
setsid sh -c 'trap "" TERM INT HUP; echo $$ >>"$KEPT/pids"; : >"$KEPT/deaf"; sleep 600; sleep 600'
sleep 600
"""


def agent(scene: Scene, deaf: Path) -> None:
    scene.agent(f"exec {deaf}")


def validation(scene: Scene, deaf: Path) -> None:
    script = scene.file(".ralph/validate.sh")
    script.parent.mkdir()
    script.write_text(deaf.read_text(encoding="utf-8"), encoding="utf-8")
    script.chmod(0o755)
    git(scene.repository, "add", "-A")
    git(scene.repository, "commit", "-qm", "Validate")
    assert scene.tell("allow", "--yes").exit_code == 0


def hook(scene: Scene, deaf: Path) -> None:
    _settle_by(scene, 'commits = "loop"\n')
    folder = scene.file(".git/hooks")
    folder.mkdir(exist_ok=True)
    (folder / "pre-commit").symlink_to(deaf)


def push(scene: Scene, deaf: Path) -> None:
    _settle_by(scene, 'commits = "loop"\npush = true\n')
    git(scene.repository, "remote", "add", "origin", "ssh://nowhere.invalid/repository")
    git(scene.repository, "config", "core.sshCommand", str(deaf))


def _settle_by(scene: Scene, config: str) -> None:
    scene.file(".ralph").mkdir()
    scene.file(".ralph/config.toml").write_text(config, encoding="utf-8")
    git(scene.repository, "add", "-A")
    git(scene.repository, "commit", "-qm", "Settings")


@pytest.mark.parametrize("stage", [agent, validation, hook, push])
def test_nothing_is_left_of_what_is_deaf(
    scene: Scene, stage: Callable[[Scene, Path], None]
) -> None:
    deaf = scene.kept / "deaf.sh"
    deaf.write_text(DEAF, encoding="utf-8")
    deaf.chmod(0o755)
    scene.plan().agent(WORKS)
    stage(scene, deaf)
    running = scene.start("5", env={"KEPT": str(scene.kept)})
    wait_until(scene.kept, (scene.kept / "deaf").exists)
    running.wait_for("agentStarted" if stage is agent else "evidenceGathered")
    running.press_ctrl_c_twice()
    # A third time changes nothing.
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.exit_code == 130
    check_nothing_is_left(scene)
    assert told(done, "runEnded")[0].reason == "stopped"
    assert [event.outcome for event in told(done, "iterationEnded")] == ["stopped"]
    assert "Traceback" not in done.stderr


def test_a_wait_ends_at_once(scene: Scene) -> None:
    scene.agent(WORKS).file(".ralph").mkdir()
    scene.file(".ralph/config.toml").write_text('cooldown = "10m"\n', encoding="utf-8")
    running = scene.start("5")
    running.wait_for("waitStarted")
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.exit_code == 130
    assert [event.outcome for event in told(done, "iterationEnded")] == ["progress"]


@pytest.mark.parametrize("how", ["ctrl-c", "closed"])
def test_in_a_real_terminal(scene: Scene, how: str) -> None:
    deaf = scene.kept / "deaf.sh"
    deaf.write_text(DEAF, encoding="utf-8")
    deaf.chmod(0o755)
    scene.plan()
    agent(scene, deaf)
    command = ("run", "5", "--agent-command", scene.command)
    with in_terminal(scene.repository, *command, environment={"KEPT": str(scene.kept)}) as terminal:
        terminal.wait_for("Phase")
        wait_until(scene.kept, (scene.kept / "deaf").exists)
        if how == "closed":
            terminal.close()
        else:
            terminal.type(CTRL_C)
            terminal.wait_for("Stopping after this iteration; Ctrl-C again stops now")
            terminal.type(CTRL_C)
        assert terminal.wait() == 130
    found = newest_run(scene.repository)
    assert found is not None
    assert found.state.end is not None
    assert found.state.end.by == ("a closed terminal" if how == "closed" else "Ctrl-C")
    check_nothing_is_left(scene)


def check_nothing_is_left(scene: Scene) -> None:
    found = newest_run(scene.repository)
    assert found is not None
    assert marked_processes(found.state.run) == []
    for pid in (scene.kept / "pids").read_text(encoding="utf-8").split():
        assert not is_alive(int(pid))


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
