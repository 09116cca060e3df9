"""Engine output: the files of the work tree that our own standard streams are written to.

``ralph run --json > out.json`` in the repository creates a file that grows with every event, and
so does ``ralph run | tee out.log``; neither is anybody's work. A file is identified by the device
and inode of a stream, a file behind a pipe by its newest bytes. A file that was once identified
stays so under each of its names.

The streams are those of the process, so there is one ``OUTPUT`` a process, to which renderers
report what they write.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ralph_ls.store.files import open_regular

KEPT_BYTES = 256 << 10
"""Newest bytes that are remembered, and compared with the end of a file."""

KEPT_LINES = 64
"""Newest lines of ours that are remembered."""

LAUNCHER_FILES = "RALPH_OUTPUT_FILES"
"""Variable by which the starter of a detached engine passes the files of its streams."""

STREAMS = (1, 2)


class EngineOutput:
    """Output of this process, and the files that it is written to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest = bytearray()
        self._total = 0
        self._lines: deque[int] = deque(maxlen=KEPT_LINES)
        """Offsets of our lines in everything that was written."""
        self._known: set[tuple[int, int]] = set()
        self._found: set[Path] = set()

    def record_output(self, data: bytes, *, ours: bool) -> None:
        """Remember what was written to a standard stream; ``ours``: with our line first."""
        with self._lock:
            if ours:
                self._lines.append(self._total)
            self._total += len(data)
            self._newest += data
            if len(self._newest) > 2 * KEPT_BYTES:
                del self._newest[:-KEPT_BYTES]

    def paths(self, root: Path, streams: Iterable[int] = STREAMS) -> frozenset[str]:
        """Files of the work tree that streams are written to, relative to it."""
        for stream in streams:
            with suppress(OSError):
                status = os.fstat(stream)
                if stat.S_ISREG(status.st_mode):
                    self._take(_stream_path(stream), _identity(status))
        for name in filter(None, os.environ.get(LAUNCHER_FILES, "").split(os.pathsep)):
            with suppress(OSError):
                self._take(Path(name), _identity(Path(name).stat()))
        real = Path(os.path.realpath(root))
        return frozenset(
            path.relative_to(real).as_posix() for path in self._found if path.is_relative_to(real)
        )

    def is_behind_pipe(self, path: Path) -> bool:
        """Whether a file contains what was written to a pipe; remembered from then on."""
        if not self._lines:
            return False
        try:
            status = path.lstat()
            if not stat.S_ISREG(status.st_mode):
                return False
            if _identity(status) not in self._known and not self._ends_like_output(path):
                return False
        except OSError:
            return False
        self._take(path, _identity(status))
        return True

    def has_pipe(self, streams: Iterable[int] = STREAMS) -> bool:
        """Whether a stream is a pipe, so that its reader may write a file."""
        for stream in streams:
            with suppress(OSError):
                mode = os.fstat(stream).st_mode
                if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
                    return True
        return False

    def _take(self, path: Path | None, identity: tuple[int, int]) -> None:
        if path is None:
            return
        with suppress(OSError):
            real = Path(os.path.realpath(path))
            if _identity(real.stat()) == identity:
                self._known.add(identity)
                self._found.add(real)

    def _ends_like_output(self, path: Path) -> bool:
        with open_regular(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(-min(file.tell(), KEPT_BYTES), os.SEEK_END)
            tail = file.read(KEPT_BYTES)
        with self._lock:
            start = self._total - len(self._newest)
            lines = [line - start for line in self._lines if line >= start]
            newest = bytes(self._newest)
        # The reader of the pipe may lag behind, so any of our lines may be its last one.
        for begin, after in zip(lines, [*lines[1:], len(newest)], strict=True):
            found = tail.rfind(newest[begin:after])
            if found >= 0 and newest.startswith(tail[found:], begin):
                return True
        return False


OUTPUT = EngineOutput()
"""Output of this process."""


def launcher_variable(streams: Iterable[int] = STREAMS) -> dict[str, str]:
    """Variable for a detached engine with the files of this process's streams."""
    found: list[str] = []
    for stream in streams:
        with suppress(OSError):
            if (
                stat.S_ISREG(os.fstat(stream).st_mode)
                and (path := _stream_path(stream)) is not None
            ):
                found.append(str(path))
    return {LAUNCHER_FILES: os.pathsep.join(found)} if found else {}


def _stream_path(stream: int) -> Path | None:
    """Present path of a stream's file, even after a rename."""
    if sys.platform == "darwin":
        import fcntl

        name = fcntl.fcntl(stream, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")
        return Path(os.fsdecode(name))
    with suppress(OSError):
        return Path(f"/proc/self/fd/{stream}").readlink()
    return None


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
