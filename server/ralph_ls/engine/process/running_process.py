"""Running process: one agent process, its group, streams, time limits and end.

Whatever the agent does is an input of the loop, never an exception: it may exit, crash, hang, flood
its output, close its pipes or leave daemons behind, and ``wait`` returns which. Output is passed on
as bytes, redacted, and not interpreted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.process.process_tree import TreeEnd, end_tree, start_identity
from ralph_ls.engine.process.reaper import HAS_REAPERS, ReapedAgent, remember_reaper
from ralph_ls.engine.process.streams import OutputStream, own_group, stdin_for, why_not_started
from ralph_ls.protocol.errors import AgentUnavailable
from ralph_ls.store.external.supervisor import SurvivingProcess, current

STDIN, STDOUT, STDERR = 0, 1, 2
Value = TypeVar("Value")

DRAIN_SECONDS = 0.5
"""Seconds for which a pipe is read that another process holds open after the tree has ended."""

REAPER_PATIENCE = 0.1
"""Seconds that a reaper gets to exit; it exits at once when nothing is below it."""

HELD_UP = 5.0
"""A timer that is this many seconds late means that this process, or its container, was stopped."""

GRACE_SECONDS = 1.5
"""Between TERM and KILL, so that Ctrl-C ends a run within two seconds."""

STOP_SECONDS = GRACE_SECONDS + 0.4
"""Seconds that a stopped engine waits for other programs, including the end of its agent."""

POLL_SECONDS = STOP_SECONDS + 0.4
"""As ``STOP_SECONDS``, for the inspection of the work tree, which follows the agent's end."""

END_SECONDS = POLL_SECONDS + 0.4
"""Seconds after which a stopped engine waits for nothing any more."""

OnOutput = Callable[[str, bytes], None]
"""Called in the event loop with ``stdout`` or ``stderr`` and redacted bytes, never empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything that starting a process needs."""

    argv: tuple[str, ...]
    """The program, as ``find_program`` gave it, and its arguments."""
    cwd: Path
    environment: Mapping[str, str]
    stdin: bytes | None
    """Written, then closed; None: there is nothing to read (the null device)."""
    stdout_path: Path
    """File for the redacted bytes; created again, readable by its owner alone."""
    stderr_path: Path
    marker: str
    """The value of ``RALPH_ITERATION_ID`` in ``environment``."""
    timeout_seconds: float | None
    """From start to exit; None or 0: no limit."""
    idle_timeout_seconds: float | None
    """Without a byte on either stream; None or 0: no limit."""
    grace_seconds: float = 5.0
    """Between TERM and KILL."""
    is_agent: bool = False
    """Its descendants are tracked by a reaper and ended with it."""
    may_leave: bool = False
    """Processes that it leaves running are the user's, such as an agent that keeps a key for git;
    they are ended only where the process itself is stopped."""
    keep: frozenset[str] = frozenset()
    """Daemons that are left running."""
    reaper_folder: Path | None = None
    """Folder of the file that names the agent's reaper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessExit:
    """Result of an agent's process; everything that it started has ended too."""

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
    """Something had to be killed."""
    kept: tuple[str, ...] = ()
    """Daemons that were left running, each as ``name (pid)``."""
    n_left_out: int = 0
    """Bytes of its output that no file keeps."""
    write_error: str | None = None
    """The first reason why a log file is incomplete."""


class RunningProcess(asyncio.SubprocessProtocol):
    """A started agent; made by ``start``, with callbacks from the event loop."""

    def __init__(self, launch: Launch, redactor: Redactor, on_output: OnOutput) -> None:
        self.pid = 0
        self.start_time = 0.0
        """Seconds since the epoch, as ``is_alive`` takes it; 0 if it was gone before we looked."""
        self.group: int | None = None
        """The process group; None where the system has none."""
        self._launch = launch
        self._loop = asyncio.get_running_loop()
        self._streams = {
            STDOUT: OutputStream("stdout", launch.stdout_path, redactor, on_output),
            STDERR: OutputStream("stderr", launch.stderr_path, redactor, on_output),
        }
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._started_at = self._printed_at = self._loop.time()
        self._exited: asyncio.Future[float] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._reaped: asyncio.Future[None] = self._loop.create_future()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._held_at: float | None = None
        """Since when no time limit runs; None: they run."""
        self._reasons: set[str] = set()
        self._ending: asyncio.Task[TreeEnd] | None = None
        self._reaped_agent: ReapedAgent | None = None
        self._wait_status: int | None = None
        self._reaper_pid: int | None = None
        self._is_given_up = False
        self._result: asyncio.Task[ProcessExit]

    async def wait(self) -> ProcessExit:
        """Wait until the agent and all that it started are gone; any number may wait.

        Never raises for what the process does. To give up waiting does not end the process.
        """
        return await asyncio.shield(self._result)

    def hold_clocks(self) -> None:
        """Let no time limit run until ``release_clocks``; idempotent."""
        if self._held_at is None and not self._exited.done():
            self._held_at = self._loop.time()
            for timer in self._timers.values():
                timer.cancel()

    def release_clocks(self) -> None:
        """Let the time limits run again, with what was left of each; idempotent."""
        held_at, self._held_at = self._held_at, None
        if held_at is None or self._exited.done():
            return
        if "timeout" in self._timers:
            left = max(0.0, self._timers["timeout"].when() - held_at)
            self._timers["timeout"] = self._loop.call_later(left, self._time_is_up)
        if (limit := self._launch.idle_timeout_seconds) and "idle" in self._timers:
            self._printed_at = self._loop.time()
            del self._timers["idle"]
            self._watch_idleness(limit)

    def stop(self) -> None:
        """Begin to end the whole tree at once; ``wait`` returns when it is done. Idempotent."""
        self._end("stopped")

    def end_overspent(self) -> None:
        """Like ``stop``, because a budget is used up."""
        self._end("overspent")

    async def launch(self) -> None:
        """Start it; see ``start``."""
        with contextlib.ExitStack() as on_failure:
            for stream in self._streams.values():
                stream.open()
                on_failure.callback(stream.close)
            try:
                read_end, write_end = stdin_for(self._launch.stdin)
                if write_end is not None:
                    on_failure.callback(os.close, write_end)
                try:
                    await self._spawn(read_end)
                finally:
                    if write_end is not None:
                        os.close(read_end)
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                raise AgentUnavailable(
                    why_not_started(self._launch.argv, self._launch.cwd, error)
                ) from error
            on_failure.pop_all()
        self._result = self._loop.create_task(self._accompany(), name=f"agent {self.pid}")
        await self._feed(write_end)

    async def _spawn(self, stdin: int) -> None:
        if self._launch.is_agent and HAS_REAPERS:
            await self._spawn_reaped(stdin)
            return
        await self._loop.subprocess_exec(
            lambda: self,
            *self._launch.argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._launch.cwd,
            env=dict(self._launch.environment),
            **own_group(),
        )

    async def _spawn_reaped(self, stdin: int) -> None:
        launch, reaped = self._launch, ReapedAgent(self)
        await reaped.start(launch.argv, launch.cwd, launch.environment, stdin)
        self._reaped_agent, self._reaper_pid = reaped, reaped.reaper_pid
        if launch.reaper_folder is not None:
            remember_reaper(launch.reaper_folder, reaped.reaper_pid)
        self._begin(reaped.pid)

    # Callbacks of the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The process lives."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._begin(self._transport.get_pid())

    def _begin(self, pid: int) -> None:
        self.pid = pid
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
        """The process is gone, though what it started may live; or its reaper is."""
        _set_once(self._reaped, None)
        _set_once(self._exited, self._loop.time())

    def agent_exited(self, status: int | None) -> None:
        """Like ``process_exited``, by a reaper; None: the reaper itself was killed."""
        self._wait_status = status
        if status is None and not self._exited.done():
            # The agent's exit status cannot be received any more.
            self._end("lost")
        _set_once(self._exited, self._loop.time())

    # The end of the process.

    def _time_is_up(self) -> None:
        """End it, after adding the time in which this process was stopped."""
        missed = self._missed("timeout")
        if missed > HELD_UP:
            self._timers["timeout"] = self._loop.call_later(missed, self._time_is_up)
        else:
            self._end("timed out")

    def _missed(self, timer: str) -> float:
        """Seconds between the time at which a timer should have fired and now."""
        return self._loop.time() - self._timers[timer].when()

    def _watch_idleness(self, limit: float) -> None:
        """One timer that checks when it fires: output is too frequent for a timer each."""
        if "idle" in self._timers and self._missed("idle") > HELD_UP:
            # Its output was not read meanwhile, so it may not have been silent.
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
            ending = self._end_all()
            self._ending = self._loop.create_task(ending, name=f"ending agent {self.pid}")

    async def _end_all(self) -> TreeEnd:
        ended = await self._in_thread_end_tree(pid=self.pid)
        self._give_up(ended.survivors)
        if self.pid in ended.survivors:
            # Nothing ends it, so its end is not awaited.
            self._is_given_up = True
            _set_once(self._exited, self._loop.time())
        return ended

    async def _in_thread_end_tree(self, *, pid: int | None) -> TreeEnd:
        return await asyncio.to_thread(
            end_tree,
            group=self.group,
            marker=self._launch.marker,
            grace_seconds=self._launch.grace_seconds,
            pid=pid,
            reaper=self._reaper_pid,
            keep=self._launch.keep,
        )

    async def _end_leftovers(self) -> TreeEnd:
        """End processes that outlived it, unless they are the user's."""
        if self._is_given_up or (self._launch.may_leave and not self._reasons):
            return TreeEnd()
        left = await self._in_thread_end_tree(pid=None)
        self._give_up(left.survivors)
        return left

    def _give_up(self, pids: Iterable[int]) -> None:
        name = Path(self._launch.argv[0]).name
        current().gave_up(SurvivingProcess(pid, name) for pid in pids)

    async def _dismiss_reaper(self) -> None:
        """Wait for the reaper to exit, and kill it where a process of the agent is left."""
        if self._reaper_pid is None:
            return
        if not (await asyncio.wait((self._reaped,), timeout=REAPER_PATIENCE))[0]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._reaper_pid, signal.SIGKILL)
            await asyncio.wait((self._reaped,), timeout=1.0)

    def _status(self) -> int:
        """The exit code, or the negative number of a signal."""
        code = None if self._transport is None else self._transport.get_returncode()
        if self._wait_status is not None:
            code = os.waitstatus_to_exitcode(self._wait_status)
        return -signal.SIGKILL if code is None else code

    async def _accompany(self) -> ProcessExit:
        try:
            return await self._settle()
        except asyncio.CancelledError:
            # The event loop is closing, since only it can cancel this task: nothing outlives it.
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
        ended = TreeEnd() if self._ending is None else await self._ending
        left = await self._end_leftovers()
        await asyncio.wait((self._drained,), timeout=DRAIN_SECONDS)
        await self._dismiss_reaper()
        self._close()
        return_code = self._status()
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
            kept=tuple(dict.fromkeys((*ended.kept, *left.kept))),
            n_left_out=sum(stream.n_left_out for stream in self._streams.values()),
            write_error=errors[0] if errors else None,
        )

    def _close(self) -> None:
        if self._stdin is not None and self._stdin.get_write_buffer_size():
            # Unread output must not wait for a reader any longer.
            self._stdin.abort()
        if self._reaped_agent is not None:
            self._reaped_agent.close()
        if self._transport is not None:
            self._transport.close()
        for stream in self._streams.values():
            stream.close()

    async def _feed(self, write_end: int | None) -> None:
        """Write the prompt while output is read; an agent need not read it."""
        if self._launch.stdin is None:
            return
        if write_end is None:
            started = cast(asyncio.SubprocessTransport, self._transport)
            pipe = cast(asyncio.WriteTransport, started.get_pipe_transport(STDIN))
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


def _set_once(future: asyncio.Future[Value], value: Value) -> None:
    if not future.done():
        future.set_result(value)
