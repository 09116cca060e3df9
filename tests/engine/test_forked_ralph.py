"""The helper that forks ``ralph`` for tests."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.engine.forked_ralph import ForkedProcess
from tests.engine.project_builder import make_repository, start_ralph, write_agent


def test_a_process_that_is_gone_before_its_end_is_reported_can_be_killed() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    status, reported = os.pipe()
    os.write(reported, b"%d\n" % gone.pid)
    forked = ForkedProcess(status)
    assert forked.poll() is None
    forked.kill()
    os.write(reported, b"%d\n" % -signal.SIGKILL)
    assert forked.wait() == -signal.SIGKILL
    os.close(reported)
    forked.close()


def test_several_threads_may_wait_for_its_end() -> None:
    status, reported = os.pipe()
    os.write(reported, b"1\n")
    forked = ForkedProcess(status)
    with ThreadPoolExecutor(max_workers=4) as pool:
        waits = [pool.submit(forked.wait, 60) for _ in range(4)]
        os.write(reported, b"0\n")
        # As what forks it does; a thread that comes late finds the end of the pipe.
        os.close(reported)
        assert [one.result() for one in waits] == [0] * 4
    forked.close()


VARYING = {
    r"\d{8}T\d{6}Z-[0-9a-f]{4}": "RUN",
    r"\[\d+\]": "[NUMBER]",
    r"#\d+ \(deleted\)": "SCRATCH",
    r"\b\d+s\b": "DURATION",
    r"\b[0-9a-f]{7,12}\b": "HASH",
    r"RALPH_(SCRATCH|HOOK_SOCKET|MCP_SOCKET)=.*": "FOLDER",
    r"RALPH_MCP_TICKET=.*": "TICKET",
}
"""What differs from one start to the next, whatever started it."""


def play(folder: Path, *, real: bool) -> dict[str, object]:
    """One run in the same place, and all that its process, its agent and its user see of it."""
    shutil.rmtree(os.environ["RALPH_STATE_DIR"], ignore_errors=True)
    repository = make_repository(folder / "repository")
    agent = write_agent(
        folder / "bin",
        f'cd {shlex.quote(str(folder))}; env | sort >env; read -r _ <go; echo "done"',
    )
    os.mkfifo(folder / "go")
    with start_ralph(repository, "run", "1", "--agent-command", agent, real=real) as running:
        running.wait_for("agentStarted")
        with (folder / "go").open("w", encoding="utf-8") as go:
            seen = look_at(running.pid)
            go.write("go\n")
        done = running.wait()
    environ = (folder / "env").read_text(encoding="utf-8")
    shutil.rmtree(folder)
    texts = {"out": done.stdout, "err": done.stderr, "env": environ, "files": "\n".join(seen)}
    for pattern, name in VARYING.items():
        texts = {kind: re.sub(pattern, name, text) for kind, text in texts.items()}
    return {**texts, "code": done.exit_code, "kinds": done.kinds()}


TRANSIENT = ("pipe:", "socket:")


def look_at(pid: int) -> list[str]:
    """Where it is, its session and group, its signals, and what it holds open all the time.

    Pipes come and go, and one that is forked has a socket more, for what it launches.
    """
    process = Path("/proc", str(pid))
    status = (process / "status").read_text(encoding="utf-8").splitlines()
    open_files = []
    for descriptor in (process / "fd").iterdir():
        # Some are open for a moment, as files of the run are.
        with contextlib.suppress(FileNotFoundError):
            open_files.append(str(descriptor.readlink()))
    return [
        str((process / "cwd").readlink()),
        str((os.getsid(pid) == pid, os.getpgid(pid) == pid)),
        *(line for line in status if line.startswith(("SigBlk", "SigIgn", "SigCgt", "Umask"))),
        *sorted(one for one in open_files if "/runs/" not in one and not one.startswith(TRANSIENT)),
    ]


@pytest.mark.slow
def test_what_is_forked_is_as_what_is_started(tmp_path: Path) -> None:
    assert play(tmp_path / "it", real=False) == play(tmp_path / "it", real=True)
