"""Reapers: processes that adopt an agent's orphans, so that they can be ended.

A process that forks twice, calls ``setsid`` and clears its environment has no parent, group or
marker by which it could be recognised. On Linux it is reparented to the nearest ancestor that is a
child subreaper. Each agent has its own reaper as such an ancestor, so its descendants are exactly
the processes that the agent started; git, ``gh`` and hooks are other children of the engine. The
agent has its own session, streams, exit code and signals, as if the engine had started it; its exit
status is sent through a pipe.

A nursery (``reaper_main``), started once, forks the reapers: its forks are nearly free, while those
of the engine take several milliseconds. A reaper ignores all signals but ``SIGKILL`` and exits with
the last process below it. When the engine is killed, the reaper stays as long as a process of the
agent lives; the next start finds it by a file in the run's folder.

The engine is a subreaper itself, so that commands from such orphans are recognised as coming from
inside. On other systems orphans belong to the first process, and only the marker identifies them.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from ralph_ls.engine.process import reaper_main
from ralph_ls.engine.process.process_tree import is_alive, start_identity
from ralph_ls.store.files import PRIVATE_FILE
from ralph_ls.store.own_python import own_command

PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Context in which orphaned descendants of this process are adopted, where the system can."""
    is_set = _set_subreaper(adopt=True)
    try:
        yield
    finally:
        if is_set:
            reap_adopted()
            _set_subreaper(adopt=False)


def reap_adopted() -> int:
    """Reap adopted processes that have ended, and no child that is awaited here.

    A child of ours is in our session or leads another, so one that does neither is adopted.
    An adopted one that leads a session stays until the engine ends. Returns how many were reaped.
    """
    if sys.platform == "win32" or not hasattr(os, "waitid"):
        return 0
    n_reaped = 0
    with contextlib.suppress(OSError):
        while (pid := _ended_child()) is not None and _is_adopted(pid):
            os.waitpid(pid, os.WNOHANG)
            n_reaped += 1
    return n_reaped


def _ended_child() -> int | None:
    """A child that has ended and was not waited for yet; it is left as it is."""
    found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return None if found is None else found.si_pid


def _is_adopted(pid: int) -> bool:
    return os.getsid(pid) not in {os.getsid(0), pid}


def _set_subreaper(*, adopt: bool) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, int(adopt), 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


FILE = "reaper"
"""In the run's folder: pid and start time of the reaper that was started last."""

PATIENCE = 20.0
"""Seconds for the nursery to start an agent; one that was stopped is replaced."""

HAS_REAPERS = sys.platform.startswith("linux")


class Listener(Protocol):
    """Callbacks of the owner of an agent process."""

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """The agent has printed something."""

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """All writers of that stream are gone."""

    def agent_exited(self, status: int | None) -> None:
        """The agent has ended, as ``os.waitpid`` says; None where its reaper was killed."""

    def process_exited(self) -> None:
        """Its reaper is gone, and so is everything below it."""


class Nursery:
    """The process that starts agents for this one."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                own_command("-S", str(reaper_main.__file__)),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._channel = ours
        self._channel.settimeout(PATIENCE)

    def send(self, words: Sequence[bytes], descriptors: Sequence[int]) -> None:
        """Request an agent; raises ``OSError`` where the nursery does not take the request."""
        data = b"\0".join(words)
        socket.send_fds(self._channel, [reaper_main.HEAD.pack(len(data))], list(descriptors))
        self._channel.sendall(data)

    def close(self) -> None:
        """End it; reapers that it has started live on."""
        self._channel.close()
        self._process.kill()
        self._process.wait()


_nurseries: dict[int, Nursery] = {}


def prepare_nursery() -> None:
    """Start the nursery, which takes a moment, before an agent needs it; idempotent."""
    if HAS_REAPERS and os.getpid() not in _nurseries:
        # A process that was forked from one with a nursery does not have one.
        _nurseries.clear()
        _nurseries[os.getpid()] = Nursery()


def dismiss_nursery() -> None:
    """End the nursery; idempotent."""
    nursery = _nurseries.pop(os.getpid(), None)
    if nursery is not None:
        nursery.close()


atexit.register(dismiss_nursery)


class ReapedAgent:
    """An agent below a reaper: the pipes to both."""

    def __init__(self, listener: Listener) -> None:
        self.pid = 0
        self.reaper_pid = 0
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._pipe = -1
        self._lines = b""
        self._started: asyncio.Future[int] = self._loop.create_future()
        self._has_status = False
        self._is_connected = False
        self._held: list[Callable[[], None]] = []
        self._transports: list[asyncio.BaseTransport] = []

    async def start(
        self, argv: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: int
    ) -> None:
        """Start it; raises ``OSError`` or ``ValueError`` as ``subprocess.Popen`` does."""
        words = _words(argv, cwd, environment)
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            ends: list[int] = []
            for _ in range(3):
                ends += os.pipe()
                ours.callback(os.close, ends[-2])
                theirs.callback(os.close, ends[-1])
            if stdin < 0:
                stdin = os.open(os.devnull, os.O_RDONLY)
                theirs.callback(os.close, stdin)
            out, out_end, err, err_end, self._pipe, status_end = ends
            _request(words, (stdin, out_end, err_end, status_end))
            theirs.close()
            os.set_blocking(self._pipe, False)
            self._loop.add_reader(self._pipe, self._receive)
            ours.callback(self._loop.remove_reader, self._pipe)
            try:
                async with asyncio.timeout(PATIENCE):
                    problem = await self._started
            except TimeoutError:
                dismiss_nursery()
                raise
            if problem:
                raise OSError(problem, os.strerror(problem), argv[0])
            ours.pop_all()
        for fd, end in ((1, out), (2, err)):
            made = await self._loop.connect_read_pipe(
                lambda fd=fd: _Pipe(self._listener, fd),  # type: ignore[misc]
                os.fdopen(end, "rb", buffering=0),
            )
            self._transports.append(made[0])
        # The caller learns the pid before it learns the end.
        self._is_connected = True
        for callback in self._held:
            self._loop.call_soon(callback)

    def close(self) -> None:
        """Close the pipes; idempotent."""
        for transport in self._transports:
            transport.close()
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = -1

    def _receive(self) -> None:
        """Handle the reaper's messages: the agent's start, its exit status, the reaper's end."""
        is_over = False
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._pipe, 256):
                self._lines += data
            is_over = True
        while b"\n" in self._lines:
            line, _, self._lines = self._lines.partition(b"\n")
            if not self.pid:
                self.reaper_pid, self.pid = map(int, line.split())
            elif not self._started.done():
                self._started.set_result(int(line))
            elif not self._has_status:
                self._has_status = True
                self._report(partial(self._listener.agent_exited, int(line)))
        if not is_over:
            return
        self._loop.remove_reader(self._pipe)
        if not self._started.done():
            if not self.pid:
                message = "the process that starts agents is gone"
                self._started.set_exception(ConnectionError(message))
                return
            # The agent ran, and killed its reaper before that could report it.
            self._started.set_result(0)
        if not self._has_status:
            self._has_status = True
            self._report(partial(self._listener.agent_exited, None))
        self._report(self._listener.process_exited)

    def _report(self, callback: Callable[[], None]) -> None:
        if self._is_connected:
            callback()
        else:
            self._held.append(callback)


class _Pipe(asyncio.Protocol):
    """One of the agent's streams."""

    def __init__(self, listener: Listener, fd: int) -> None:
        self._listener = listener
        self._fd = fd

    def data_received(self, data: bytes) -> None:
        self._listener.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.pipe_connection_lost(self._fd, exc)


def _words(argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> list[bytes]:
    given = [str(cwd), *argv, *(f"{name}={value}" for name, value in environment.items())]
    if any("\0" in one for one in given):
        raise ValueError("embedded null byte")
    program = argv[0]
    if os.sep not in program:
        program = shutil.which(program, path=environment.get("PATH", os.defpath)) or program
    folder, *rest = map(os.fsencode, given)
    return [folder, os.fsencode(program), b"%d" % len(argv), *rest]


def _request(words: Sequence[bytes], descriptors: Sequence[int]) -> None:
    prepare_nursery()
    try:
        _nurseries[os.getpid()].send(words, descriptors)
    except OSError:
        # It was ended or stopped from outside: replace it.
        dismiss_nursery()
        prepare_nursery()
        _nurseries[os.getpid()].send(words, descriptors)


def remember_reaper(folder: Path, pid: int) -> None:
    """Record the reaper for the next start, in case this engine is killed."""
    with contextlib.suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(folder / FILE, flags, PRIVATE_FILE)
        try:
            os.write(descriptor, f"{pid} {start_identity(pid) or 0.0!r}\n".encode())
        finally:
            os.close(descriptor)


def living_reaper(folder: Path) -> int | None:
    """The pid of the reaper that was noted last, where it still lives."""
    try:
        pid, start = (folder / FILE).read_text(encoding="ascii").split()
        return int(pid) if is_alive(int(pid), float(start)) else None
    except (OSError, ValueError):
        return None
