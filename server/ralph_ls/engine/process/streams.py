"""Standard streams of a process: input, output file and process group.

Output is redacted, passed on completely, and written to a file up to a limit: an agent that prints
without end would fill the disk, so the file keeps the beginning and the end, with a line between
that says how much is left out.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ralph_ls.core.redaction.redactor import Redactor, StreamRedactor
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import PRIVATE_FILE, write_all


def stdin_for(data: bytes | None) -> tuple[int, int | None]:
    """Standard input of the process, and our end of it: a real pipe.

    Before Python 3.12 asyncio would make a socket, and ``cat /dev/stdin`` cannot open one. On
    Windows only asyncio can make a pipe that it can write to.
    """
    if data is None:
        return subprocess.DEVNULL, None
    if sys.platform == "win32":
        return subprocess.PIPE, None
    return os.pipe()


def own_group() -> dict[str, Any]:
    """Arguments that put the process into a new group, and on POSIX into a new session."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def why_not_started(
    argv: Sequence[str], cwd: Path, error: OSError | ValueError | subprocess.SubprocessError
) -> str:
    """Error message for a program that the system refuses to start, with a remedy."""
    program = argv[0]
    if isinstance(error, subprocess.SubprocessError):
        return f"{program} cannot be started: {error}; try again"
    if isinstance(error, ValueError):
        return f"{program} cannot be started: {error}; fix the agent's argv or env"
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if not cwd.is_dir():
            return f"{program} cannot be started in {cwd}: the folder does not exist"
        case errno.ENOENT if shutil.which(program) is not None:
            return (
                f"{program} cannot be started: the interpreter in its first line does not exist; "
                "fix that line, or install the interpreter"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return f"{program} does not exist; fix the agent's argv, or choose another agent"
        case errno.EACCES | errno.EPERM:
            return f"{program} is not executable; run: chmod +x {program}"
        case errno.E2BIG:
            return (
                f"{program} cannot be started: its arguments and environment are too long; "
                'give the prompt with prompt = "stdin" or "file"'
            )
        case errno.ENOEXEC:
            return (
                f"{program} is not a program for this system; a script needs a first line such as "
                "#!/bin/sh"
            )
        case _:
            return f"{program} cannot be started: {error.strerror}; fix that, then try again"


LARGEST_FILE = 100 << 20
"""Bytes of one stream that a file keeps from its beginning."""

KEPT_TAIL = 1 << 20
"""Bytes of its end that the file keeps besides."""


class OutputStream:
    """One of the two output streams: redacted, written to its file, passed on."""

    def __init__(
        self, name: str, path: Path, redactor: Redactor, on_output: Callable[[str, bytes], None]
    ) -> None:
        self.is_open = True
        self.n_bytes = 0
        self.error: str | None = None
        self._name = name
        self._path = path
        self._redactor = StreamRedactor(redactor)
        self._on_output = on_output
        self._descriptor: int | None = None
        self._n_written = 0
        self._tail = bytearray()

    @property
    def n_left_out(self) -> int:
        """Bytes in the middle that the file does not keep."""
        beyond = self.n_bytes - LARGEST_FILE
        return max(0, beyond - KEPT_TAIL) if beyond > 0 else 0

    def open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            self._descriptor = os.open(self._path, flags, PRIVATE_FILE)
        except OSError as error:
            raise StateUnusable(
                f"the log file {self._path} cannot be created: {error.strerror}; free some space "
                "or fix the permissions, then try again"
            ) from error

    def take(self, data: bytes) -> None:
        self._pass_on(self._redactor.feed(data))

    def close(self) -> None:
        """Write what was held back, and close the file; idempotent."""
        self._pass_on(self._redactor.finish())
        if self._descriptor is not None:
            self._write_tail()
            os.close(self._descriptor)
            self._descriptor = None

    def _pass_on(self, data: bytes) -> None:
        if not data:
            return
        self.n_bytes += len(data)
        room = max(0, LARGEST_FILE - self._n_written)
        self._n_written += len(data)
        self._write(data[:room])
        if len(data) > room:
            self._tail += data[room:]
            if len(self._tail) > 2 * KEPT_TAIL:
                del self._tail[:-KEPT_TAIL]
        self._on_output(self._name, data)

    def _write_tail(self) -> None:
        if self.n_left_out:
            self._write(b"\n... %d bytes left out ...\n" % self.n_left_out)
        self._write(bytes(self._tail[-KEPT_TAIL:]))
        self._tail.clear()

    def _write(self, data: bytes) -> None:
        if not data or self._descriptor is None or self.error is not None:
            return
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            # A full disk must not end the agent. The file stays cut here: bytes written after
            # a gap would be read as if they followed.
            self.error = f"{self._path} cannot be written: {error.strerror}"


class OutputLimit:
    """Limit of an iteration's output in readable logs."""

    def __init__(self, most: int = LARGEST_FILE) -> None:
        self._left = most
        self.n_left_out = 0

    def take(self, data: bytes) -> bytes:
        """The part of these bytes that is logged; the last one ends with a line that says so."""
        if self.n_left_out:
            self.n_left_out += len(data)
            return b""
        if len(data) <= self._left:
            self._left -= len(data)
            return data
        self.n_left_out = len(data) - self._left
        return data[: self._left] + b"\n... the rest of this iteration's output is left out ...\n"


def emit_output_cut(n_left_out: int) -> str:
    """The message about output that was not stored."""
    return (
        f"the agent printed too much in one iteration: {n_left_out / 1000000.0:.0f} MB beyond the "
        f"first {LARGEST_FILE >> 20} MB are not in the log, but ralph read all of it"
    )
