"""Calling ``crash_engine``: engines that die where a test wants them to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.loop import ROOT

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
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engine.crash_engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT)])},
    ) as process:
        try:
            yield Driver(process, output)
        finally:
            assert process.stdin is not None
            process.stdin.close()
