"""One agent process: started in a group of its own, fed, listened to, timed, and ended as a tree.

What the agent does is an input for the loop, never an exception: it may exit, crash, hang, flood,
close its pipes or leave daemons behind, and ``wait`` tells which. This module must never know what
an agent's output means; it passes bytes on, redacted, as they come.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from ralph_ls.core.redact import Redactor, StreamRedactor
from ralph_ls.engine.process_tree import Ended, end_tree, start_identity
from ralph_ls.protocol.errors import AgentUnavailable, StateUnusable
from ralph_ls.store.files import PRIVATE_FILE, write_all

STDIN, STDOUT, STDERR = 0, 1, 2
Value = TypeVar("Value")

DRAIN_SECONDS = 0.5
"""How long a pipe is read on when a stranger holds it open after the agent and its tree ended."""

HELD_UP = 5.0
"""A timer that is so many seconds late tells that this process was stopped, or its container."""

GRACE_SECONDS = 1.5
"""Between TERM and KILL, so that Ctrl-C ends a run within two seconds."""

STOP_SECONDS = GRACE_SECONDS + 0.4
"""What an engine that is stopped may spend on what it asks others for, its agent's end included."""

LOOK_SECONDS = STOP_SECONDS + 0.4
"""As ``STOP_SECONDS``, for looking at the tree: git is asked after the agent's end."""

END_SECONDS = LOOK_SECONDS + 0.4
"""When an engine that is stopped waits for nothing any more, whatever holds it up."""

OnOutput = Callable[[str, bytes], None]
"""Called in the event loop with ``stdout`` or ``stderr`` and redacted bytes, never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How to start an agent."""

    argv: tuple[str, ...]
    """The program, as ``find_program`` gave it, and its arguments."""
    cwd: Path
    environment: Mapping[str, str]
    stdin: bytes | None
    """Written, then closed; None: there is nothing to read (the null device)."""
    stdout_path: Path
    """Where the redacted bytes go; made afresh, for the owner alone."""
    stderr_path: Path
    marker: str
    """What ``RALPH_ITERATION_ID`` is in ``environment``."""
    timeout_seconds: float | None
    """From start to exit; None or 0: no limit."""
    idle_timeout_seconds: float | None
    """Without a byte on either stream; None or 0: no limit."""
    grace_seconds: float = 5.0
    """Between TERM and KILL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExit:
    """How an agent's process ended; by now all that it started is gone too."""

    exit_code: int | None
    """None when a signal ended it."""
    signal: int | None
    timed_out: bool
    idle: bool
    overspent: bool
    """``end_overspent`` was called before it exited by itself."""
    stopped: bool
    """``stop`` was called before it exited by itself."""
    seconds: float
    stdout_bytes: int
    """Redacted bytes, as they were given to ``on_output`` and to the file."""
    stderr_bytes: int
    leftovers: int
    """Processes that outlived the agent and had to be ended."""
    killed: bool
    """It came to a KILL."""
    write_error: str | None = None
    """Why a log file is not whole; the first reason, where there were several."""


class RunningProcess(asyncio.SubprocessProtocol):
    """An agent that was started; made by ``start``, and told by the event loop what happens."""

    def __init__(self, launch: Launch, redactor: Redactor, on_output: OnOutput) -> None:
        self.pid = 0
        self.start_time = 0.0
        """Seconds since the epoch, as ``is_alive`` takes it; 0 if it was gone before we looked."""
        self.group: int | None = None
        """The process group; None where the system has none."""
        self._launch = launch
        self._loop = asyncio.get_running_loop()
        self._streams = {
            STDOUT: _Stream("stdout", launch.stdout_path, redactor, on_output),
            STDERR: _Stream("stderr", launch.stderr_path, redactor, on_output),
        }
        self._transport: asyncio.SubprocessTransport
        self._stdin: asyncio.WriteTransport | None = None
        self._started_at = self._printed_at = self._loop.time()
        self._exited: asyncio.Future[float] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._reasons: set[str] = set()
        self._ending: asyncio.Task[Ended] | None = None
        self._result: asyncio.Task[ProcessExit]

    async def wait(self) -> ProcessExit:
        """Wait until the agent and all that it started are gone; any number may wait.

        Never raises for what the process does. To give up waiting does not end the process.
        """
        return await asyncio.shield(self._result)

    def stop(self) -> None:
        """Begin to end the whole tree at once; ``wait`` tells when it is done. Idempotent."""
        self._end("stopped")

    def end_overspent(self) -> None:
        """As ``stop``, because it used up more than it may."""
        self._end("overspent")

    async def launch(self) -> None:
        """Start it; see ``start``."""
        with contextlib.ExitStack() as on_failure:
            for stream in self._streams.values():
                stream.open()
                on_failure.callback(stream.close)
            try:
                read_end, write_end = _stdin_for(self._launch)
                if write_end is not None:
                    on_failure.callback(os.close, write_end)
                try:
                    await self._spawn(read_end)
                finally:
                    if write_end is not None:
                        os.close(read_end)
            except (OSError, ValueError) as error:
                raise AgentUnavailable(_why_not_started(self._launch, error)) from error
            on_failure.pop_all()
        self._result = self._loop.create_task(self._accompany(), name=f"agent {self.pid}")
        await self._feed(write_end)

    async def _spawn(self, stdin: int) -> None:
        await self._loop.subprocess_exec(
            lambda: self,
            *self._launch.argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._launch.cwd,
            env=dict(self._launch.environment),
            **_own_group(),
        )

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process lives."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid()
        self.group = None if sys.platform == "win32" else self.pid
        self.start_time = start_identity(self.pid) or 0.0
        self._started_at = self._printed_at = self._loop.time()
        if limit := self._launch.timeout_seconds:
            self._timers["timeout"] = self._loop.call_later(limit, self._time_is_up)
        if limit := self._launch.idle_timeout_seconds:
            self._watch_idleness(limit)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._printed_at = self._loop.time()
        self._streams[fd].take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd in self._streams:
            self._streams[fd].is_open = False
        if not any(stream.is_open for stream in self._streams.values()):
            _set_once(self._drained, None)

    def process_exited(self) -> None:
        """The process is gone, though what it started may live."""
        _set_once(self._exited, self._loop.time())

    # How it comes to an end.

    def _time_is_up(self) -> None:
        """End it; but first it gets the time in which we stood still, and it perhaps with us."""
        missed = self._missed("timeout")
        if missed > HELD_UP:
            self._timers["timeout"] = self._loop.call_later(missed, self._time_is_up)
        else:
            self._end("timed out")

    def _missed(self, timer: str) -> float:
        """Seconds between the time at which a timer should have fired and now."""
        return self._loop.time() - self._timers[timer].when()

    def _watch_idleness(self, limit: float) -> None:
        """One timer that looks when it fires: output comes too often to set one for each piece."""
        if "idle" in self._timers and self._missed("idle") > HELD_UP:
            # Nobody listened meanwhile, so nobody knows that it was silent.
            self._printed_at = self._loop.time()
        left = self._printed_at + limit - self._loop.time()
        if left <= 0:
            self._end("idle")
        else:
            self._timers["idle"] = self._loop.call_later(left, self._watch_idleness, limit)

    def _end(self, reason: str) -> None:
        if self._exited.done():
            return
        self._reasons.add(reason)
        if self._ending is None:
            ending = self._in_thread_end_tree(pid=self.pid)
            self._ending = self._loop.create_task(ending, name=f"ending agent {self.pid}")

    async def _in_thread_end_tree(self, *, pid: int | None) -> Ended:
        return await asyncio.to_thread(
            end_tree,
            group=self.group,
            marker=self._launch.marker,
            grace_seconds=self._launch.grace_seconds,
            pid=pid,
        )

    async def _accompany(self) -> ProcessExit:
        try:
            return await self._settle()
        except asyncio.CancelledError:
            # The event loop is closing, since nobody else holds this task: nothing outlives it.
            pid = None if self._exited.done() else self.pid
            await self._in_thread_end_tree(pid=pid)
            await asyncio.wait((self._exited,))
            raise
        finally:
            self._close()

    async def _settle(self) -> ProcessExit:
        await asyncio.wait((self._exited,))
        for timer in self._timers.values():
            timer.cancel()
        ended = Ended() if self._ending is None else await self._ending
        left = await self._in_thread_end_tree(pid=None)
        await asyncio.wait((self._drained,), timeout=DRAIN_SECONDS)
        self._close()
        return_code = cast(int, self._transport.get_returncode())
        errors = [stream.error for stream in self._streams.values() if stream.error]
        return ProcessExit(
            exit_code=return_code if return_code >= 0 else None,
            signal=-return_code if return_code < 0 else None,
            timed_out="timed out" in self._reasons,
            idle="idle" in self._reasons,
            overspent="overspent" in self._reasons,
            stopped="stopped" in self._reasons,
            seconds=self._exited.result() - self._started_at,
            stdout_bytes=self._streams[STDOUT].n_bytes,
            stderr_bytes=self._streams[STDERR].n_bytes,
            leftovers=left.terminated,
            killed=bool(ended.killed or left.killed),
            write_error=errors[0] if errors else None,
        )

    def _close(self) -> None:
        if self._stdin is not None and self._stdin.get_write_buffer_size():
            # What nobody read must not wait for a reader any longer.
            self._stdin.abort()
        self._transport.close()
        for stream in self._streams.values():
            stream.close()

    async def _feed(self, write_end: int | None) -> None:
        """Write the prompt beside the reading; whether the agent reads it is its own affair."""
        if self._launch.stdin is None:
            return
        if write_end is None:
            pipe = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(STDIN))
        else:
            file = os.fdopen(write_end, "wb", buffering=0)
            pipe, _ = await self._loop.connect_write_pipe(asyncio.BaseProtocol, file)
        self._stdin = pipe
        pipe.write(self._launch.stdin)
        pipe.write_eof()


async def start(launch: Launch, *, redactor: Redactor, on_output: OnOutput) -> RunningProcess:
    """Start the agent; its output flows into the files and to ``on_output`` from now on.

    Raises ``AgentUnavailable`` where the system refuses to start the program, with what to do, and
    ``StateUnusable`` where a log file cannot be made.
    """
    running = RunningProcess(launch, redactor, on_output)
    await running.launch()
    return running


class _Stream:
    """One of the two output streams: redacted, written to its file, passed on."""

    def __init__(self, name: str, path: Path, redactor: Redactor, on_output: OnOutput) -> None:
        self.is_open = True
        self.n_bytes = 0
        self.error: str | None = None
        self._name = name
        self._path = path
        self._redactor = StreamRedactor(redactor)
        self._on_output = on_output
        self._descriptor: int | None = None

    def open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        try:
            self._descriptor = os.open(self._path, flags, PRIVATE_FILE)
        except OSError as error:
            raise StateUnusable(
                f"the log file {self._path} cannot be made: {error.strerror}; "
                "free some space or mend the permissions, then try again"
            ) from error

    def take(self, data: bytes) -> None:
        self._pass_on(self._redactor.feed(data))

    def close(self) -> None:
        """Write what was held back, and close the file; idempotent."""
        self._pass_on(self._redactor.finish())
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _pass_on(self, data: bytes) -> None:
        if not data:
            return
        self.n_bytes += len(data)
        if self._descriptor is not None and self.error is None:
            try:
                write_all(self._descriptor, data)
            except OSError as error:
                # A full disk must not end the agent. The file stays cut here: bytes written after
                # a gap would be read as if they followed.
                self.error = f"{self._path} cannot be written: {error.strerror}"
        self._on_output(self._name, data)


def _stdin_for(launch: Launch) -> tuple[int, int | None]:
    """What the process reads from, and where we write: a real pipe, which we make.

    Before Python 3.12 asyncio would make a socket, and ``cat /dev/stdin`` cannot open one. On
    Windows only asyncio can make a pipe that it can write to.
    """
    if launch.stdin is None:
        return subprocess.DEVNULL, None
    if sys.platform == "win32":
        return subprocess.PIPE, None
    return os.pipe()


def _own_group() -> dict[str, Any]:
    """The arguments which give the process a group, and on POSIX a session, of its own."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _why_not_started(launch: Launch, error: OSError | ValueError) -> str:
    program = launch.argv[0]
    if isinstance(error, ValueError):
        return f"{program} cannot be started: {error}; mend the agent's argv or env"
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR if not launch.cwd.is_dir():
            return f"{program} cannot be started in {launch.cwd}: there is no such folder"
        case errno.ENOENT if shutil.which(program) is not None:
            return (
                f"{program} cannot be started: the interpreter that its first line names "
                "does not exist; mend that line, or install the interpreter"
            )
        case errno.ENOENT | errno.ENOTDIR:
            return f"{program} does not exist; mend the agent's argv, or choose another agent"
        case errno.EACCES | errno.EPERM:
            return f"{program} may not be executed; run: chmod +x {program}"
        case errno.E2BIG:
            return (
                f"{program} cannot be started: its arguments and environment are too long; "
                'give the prompt with prompt = "stdin" or "file"'
            )
        case errno.ENOEXEC:
            return (
                f"{program} is no program for this system; "
                "a script needs a first line such as #!/bin/sh"
            )
        case _:
            return f"{program} cannot be started: {error.strerror}; try again when that is mended"


def _set_once(future: asyncio.Future[Value], value: Value) -> None:
    if not future.done():
        future.set_result(value)
