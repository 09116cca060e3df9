"""Programs of others that are asked something: where they lie, and how one is run.

One that the work tree brings is never run. Each command is a list of words and never a line for a
shell; it has a time limit, and its whole process group ends with it. This module must never know
what an answer means.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple


class Printed(NamedTuple):
    """How a program ended, and what it said."""

    code: int
    stdout: str
    stderr: str


class Ending:
    """Ends what is being run, from another thread, and all that is run with it later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._over = threading.Event()

    def wait(self, seconds: float) -> bool:
        """Wait so long, or until all is to end; whether it is."""
        return self._over.wait(seconds)

    def end_in(self, seconds: float) -> None:
        """End it after so many seconds; who is done by then has been answered."""
        timer = threading.Timer(seconds, self.end)
        timer.daemon = True
        timer.start()

    def end(self) -> None:
        """End it at once; whoever waits finds it ended by a signal."""
        with self._lock:
            self._over.set()
            for process in self._running:
                _kill(process)

    @contextlib.contextmanager
    def around(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Know of a process as long as it runs."""
        with self._lock:
            self._running.add(process)
            if self._over.is_set():
                _kill(process)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)


def find_outside(name: str, root: Path, path: str) -> str | None:
    """Where a program lies on this PATH, but none that the work tree ``root`` brings.

    Relative entries of PATH are passed over: they would let a repository bring the program.
    """
    real_root = os.path.realpath(root)
    searched = [
        entry
        for entry in path.split(os.pathsep)
        if Path(entry).is_absolute() and not _lies_in(entry, real_root)
    ]
    found = shutil.which(name, path=os.pathsep.join(searched)) if searched else None
    return None if found is None or _lies_in(found, real_root) else found


@functools.lru_cache(maxsize=4)
def programs_on_path(path: str) -> frozenset[str]:
    """The names of the programs on this PATH; relative entries are passed over."""
    found: set[str] = set()
    for folder in filter(os.path.isabs, path.split(os.pathsep)):
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            found.update(one.name for one in entries if os.access(one.path, os.X_OK))
    return frozenset(found)


def run_program(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_seconds: float,
    largest_answer: int,
    ending: Ending | None = None,
    typed: str = "",
) -> Printed:
    """Run it to its end; what is ``typed`` is all of its input, and its answer is cut.

    It writes into files, not pipes: a daemon that it leaves behind would keep a pipe open. Raises
    ``OSError`` where it cannot be run, and ``subprocess.TimeoutExpired``.
    """
    # In a session of its own, so that Ctrl-C reaches the loop and not what is half done.
    with (
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        stdin.write(typed.encode())
        stdin.seek(0)
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=stdin if typed else subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=sys.platform != "win32",
        )
        try:
            with (ending or Ending()).around(process):
                code = process.wait(timeout_seconds)
        except BaseException:
            _kill(process)
            process.wait()
            raise
        return Printed(code, _read_back(stdout, largest_answer), _read_back(stderr, largest_answer))


def _lies_in(path: str, real_root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(real_root)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _read_back(file: BinaryIO, largest: int) -> str:
    file.seek(0)
    return file.read(largest).decode("utf-8", errors="replace")
