"""Agents that are Python code, and what is read from them: for the tests of ``engine/process``."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.process.reaper import prepare_nursery
from ralph_ls.engine.process.running_process import Launch, ProcessExit, RunningProcess, start

# A separate one for each process of tests: it ends whatever carries it.
MARKER = f"20260131T120000Z-{secrets.token_hex(8)}/7"
SECRET = "hunter2-hunter2"

SLEEP = "signal.pause()"
STUBBORN = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say('ready')
while True: signal.pause()
"""
# A grandchild in a separate session, with or without our pipes, that writes its pid to a file.
DAEMON = """
import subprocess
subprocess.Popen(
    [sys.executable, '-I', '-S', '-c', {code!r}], env={env}, stdin={stdin},
    stdout={pipe}, stderr={pipe}, start_new_session=True, pass_fds=[],
)
while not os.path.exists('daemon.pid'): os.sched_yield()
say('left')
"""
TELL_PID = """
import os, signal
open('pid.new', 'w').write(str(os.getpid()))
os.rename('pid.new', 'daemon.pid')
signal.pause()
"""


@dataclass
class Heard:
    """What was passed on while the agent ran."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def on_output(self, stream: str, data: bytes) -> None:
        assert data
        getattr(self, stream).extend(data)
        self.arrived.set()

    async def until(self, text: bytes) -> None:
        while text not in self.stdout:
            self.arrived.clear()
            await self.arrived.wait()


@dataclass
class Agent:
    """Python code as an agent, in a separate folder."""

    folder: Path
    heard: Heard = field(default_factory=Heard)

    async def start(self, code: str, **changes: object) -> RunningProcess:
        prelude = (
            "import os, signal, sys\n"
            "def say(text): os.write(1, text.encode() + b'\\n')\n"
            "def complain(text): os.write(2, text.encode() + b'\\n')\n"
        )
        argv = (sys.executable, "-I", "-S", "-c", prelude + code)
        return await start(
            launch_of(self.folder, argv, **changes),
            redactor=Redactor({"A_PASSWORD": SECRET}),
            on_output=self.heard.on_output,
        )

    async def run(self, code: str, **changes: object) -> ProcessExit:
        return await (await self.start(code, **changes)).wait()

    @property
    def stdout_file(self) -> bytes:
        return (self.folder / "iteration-001.out").read_bytes()

    @property
    def stderr_file(self) -> bytes:
        return (self.folder / "iteration-001.err").read_bytes()

    @property
    def daemon(self) -> int:
        return int((self.folder / "daemon.pid").read_text())


def launch_of(folder: Path, argv: tuple[str, ...], **changes: object) -> Launch:
    values: dict[str, object] = {
        "argv": argv,
        "cwd": folder,
        "environment": {"PATH": os.environ["PATH"], "RALPH_ITERATION_ID": MARKER},
        "stdin": None,
        "stdout_path": folder / "iteration-001.out",
        "stderr_path": folder / "iteration-001.err",
        "marker": MARKER,
        "timeout_seconds": None,
        "idle_timeout_seconds": None,
        "grace_seconds": 60.0,
        "is_agent": True,
        **changes,
    }
    return Launch(**values)  # type: ignore[arg-type]


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def open_files() -> int:
    # It stays for later agents.
    prepare_nursery()
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def daemon(
    *,
    pipe: str,
    environment: Mapping[str, str] | None = None,
    stdin: str = "subprocess.DEVNULL",
    code: str = TELL_PID,
) -> str:
    env = None if environment is None else dict(environment)
    return DAEMON.format(code=code, pipe=pipe, env=env, stdin=stdin)
