"""Calling ``crash_engine``: engines that die where a test wants them to."""

from __future__ import annotations

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.project_builder import ROOT

KILLED = -signal.SIGKILL
"""What an engine that killed itself ends with."""


class Driver:
    """A process that turns orders into engines, one after the other."""

    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self._process = process
        self.output = output

    def ralph(
        self, folder: Path, *arguments: str, kill_at: int = 0, n_bytes: int | None = None
    ) -> int:
        order = {
            "folder": str(folder),
            "arguments": arguments,
            "environment": dict(os.environ),
            "killAt": kill_at,
            "bytes": n_bytes,
            "output": str(self.output),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def driver(output: Path) -> Iterator[Driver]:
    """What the engines print goes to ``output``."""
    yield Driver(_engines(), output)


@functools.cache
def _engines() -> subprocess.Popen[str]:
    """The one process that forks dying engines for all tests of this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.crashing_engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT)])},
    )
    atexit.register(_end, process)
    return process


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    process.wait()
