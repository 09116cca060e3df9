"""Supervisor: runs programs to their end, each as a process group with a time limit.

Every program that this process waits for is run here: git for reads, ``bd``, ``gh``, the hook of an
agent that ``doctor`` checks, the command that stops a sandbox. Each has a separate session, and so
a process group; one that takes too long, or that a stop ends, gets TERM and then KILL with
everything below it. A registry has all running programs, so that one order ends them, whichever
thread waits. A process that not even KILL ends (it hangs in the kernel) is given up and reported,
never waited for.

Agents, validation scripts, commands of ``on_*``, commits and pushes run in the event loop
(`engine.process`) and register themselves in the same registry.

A signal that ends this process also ends its programs. One that arrives between a program's start
and its registration would miss it, so signals are delayed until then.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast


class _PendingStarts:
    """Starts in progress in any thread, and the signal that waits for them."""

    lock = threading.RLock()
    n_now = 0
    waiting: int | None = None


def delay_signal(number: int, _frame: object = None) -> bool:
    """Delay a signal while a program is being started; returns whether it was delayed."""
    with _PendingStarts.lock:
        if _PendingStarts.n_now:
            _PendingStarts.waiting = number
        return _PendingStarts.n_now > 0


@contextlib.contextmanager
def signals_delayed() -> Iterator[None]:
    """Delay ending signals until after the block, in any thread."""
    is_main = threading.current_thread() is threading.main_thread()
    raises = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _PendingStarts.lock:
        _PendingStarts.n_now += 1
    if raises:
        signal.signal(signal.SIGINT, delay_signal)
    try:
        yield
    finally:
        if raises:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with _PendingStarts.lock:
            _PendingStarts.n_now -= 1
            waiting = None
            if not _PendingStarts.n_now:
                waiting, _PendingStarts.waiting = _PendingStarts.waiting, None
        if waiting is not None:
            _deliver(waiting)


def _deliver(number: int) -> None:
    """Send it to the main thread, which runs the handlers and may wait for this thread."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        os.kill(os.getpid(), number)


if TYPE_CHECKING:
    import psutil

GRACE_SECONDS = 0.3
"""Seconds between TERM and KILL; git needs a moment to remove its lock files."""

ASK_AFTER = 2.0
"""Seconds after which a running program is checked for waiting for ever."""

KILL_PATIENCE = 1.0
"""Seconds to wait for a killed process before it is given up."""

_SLICE = 0.05
"""Seconds between two checks where the system has no event for a process's end."""

_POLL_INTERVAL = 0.005
"""Seconds between two checks of ending processes."""


class FinishedProgram(NamedTuple):
    """Exit code and output of a program."""

    code: int
    """Negative where a signal ended it."""
    stdout: bytes
    stderr: bytes


class SurvivingProcess(NamedTuple):
    """A process that survived KILL."""

    pid: int
    name: str
    """The program and its first arguments, for the user."""


class Supervisor:
    """Registry of running programs; one order ends all of them and any started later."""

    def __init__(self) -> None:
        # A signal handler may run while this thread holds it.
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._programs: set[subprocess.Popen[bytes]] = set()
        self._survivors: dict[int, tuple[SurvivingProcess, psutil.Process | None]] = {}
        self._unreaped: list[subprocess.Popen[bytes]] = []
        self._wakeup: int | None = None
        self.read_seconds: float | None = None
        """Time limit of git's reads in seconds; None for the default."""

    @property
    def is_over(self) -> bool:
        """Whether the order to end was given."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the time or the order to end; returns whether the order was given."""
        return self._over.wait(seconds)

    def end_in(self, seconds: float) -> None:
        """End everything after so many seconds."""
        timer = threading.Timer(seconds, self.end)
        timer.daemon = True
        timer.start()

    def end(self) -> None:
        """End everything now, in any thread; idempotent."""
        with self._lock:
            self._over.set()
            if self._wakeup is not None:
                os.eventfd_write(self._wakeup, 1)

    def kill(self) -> None:
        """End everything synchronously, for a process that exits without joining its threads."""
        self.end()
        with self._lock:
            programs = list(self._programs)
        for process in programs:
            end_family(process, "")

    @contextlib.contextmanager
    def track(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Register a running program during the block."""
        with self._lock:
            self._programs.add(process)
        try:
            yield
        finally:
            with self._lock:
                self._programs.discard(process)

    def pids(self) -> frozenset[int]:
        """Pids of programs that were started here and not reaped yet, so that they are ours."""
        with self._lock:
            return frozenset(process.pid for process in self._programs)

    def gave_up(
        self, survivors: Iterable[SurvivingProcess], program: subprocess.Popen[bytes] | None = None
    ) -> None:
        """Record processes that survived KILL, and the ``program`` that they belong to."""
        import psutil

        for one in survivors:
            process = None
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(one.pid)
            with self._lock:
                self._survivors[one.pid] = (one, process)
        if program is not None and program.returncode is None:
            with self._lock:
                self._unreaped.append(program)

    def survivors(self) -> tuple[SurvivingProcess, ...]:
        """The processes that are still alive after KILL."""
        with self._lock:
            known = list(self._survivors.values())
            self._unreaped = [program for program in self._unreaped if program.poll() is None]
        return tuple(one for one, process in known if process is not None and _lives(process))

    def wakeup(self) -> int | None:
        """A descriptor that becomes readable with ``end``; None where the system has none."""
        if not hasattr(os, "eventfd"):
            return None
        with self._lock:
            if self._wakeup is None:
                self._wakeup = os.eventfd(int(self._over.is_set()), os.EFD_CLOEXEC)
            return self._wakeup

    def __del__(self) -> None:
        if self._wakeup is not None:
            with contextlib.suppress(OSError):
                os.close(self._wakeup)


class _Here:
    """The active registry: that of the process, or of its run."""

    supervisor = Supervisor()


def current() -> Supervisor:
    """The active registry: that of this process, or of its run."""
    return _Here.supervisor


@contextlib.contextmanager
def run_supervisor() -> Iterator[Supervisor]:
    """A registry for one run; at its end all of its programs have ended."""
    before, mine = _Here.supervisor, Supervisor()
    _Here.supervisor = mine
    try:
        yield mine
    finally:
        mine.end()
        _Here.supervisor = before


def run(
    words: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    seconds: float,
    stdin: bytes = b"",
    supervisor: Supervisor | None = None,
    waits_forever: Callable[[], bool] = lambda: False,
) -> FinishedProgram:
    """Run a program to its end; ``stdin`` is its whole input.

    ``waits_forever`` is called once, after ``ASK_AFTER`` seconds; if it returns True, the program
    is ended like after a timeout.

    The output goes to files, not pipes, which a daemon left behind would keep open. Raises
    ``OSError`` where it cannot be run, and ``subprocess.TimeoutExpired`` after it was ended for
    taking longer than ``seconds``. If a stop ended it, or came before the start, its code is that
    of the signal.
    """
    here = current()
    supervisors = [here] if supervisor is None else [here, supervisor]
    if any(one.is_over for one in supervisors):
        return FinishedProgram(-signal.SIGTERM, b"", b"")
    with _file() as given, _file() as stdout, _file() as stderr:
        given.write(stdin)
        given.seek(0)
        process: subprocess.Popen[bytes] | None = None
        with contextlib.ExitStack() as known:
            try:
                with signals_delayed():
                    # In a separate session, so that Ctrl-C only reaches the loop.
                    process = subprocess.Popen(
                        words,
                        cwd=cwd,
                        env=dict(environment),
                        stdin=given if stdin else subprocess.DEVNULL,
                        stdout=stdout,
                        stderr=stderr,
                        start_new_session=sys.platform != "win32",
                    )
                    known.enter_context(here.track(process))
                waited = seconds
                at_first = min(seconds, ASK_AFTER)
                is_in_time = _wait(process, at_first, supervisors)
                if not is_in_time and not any(one.is_over for one in supervisors):
                    waited = at_first if waits_forever() else waited
                    is_in_time = _wait(process, waited - at_first, supervisors)
            except BaseException:
                if process is not None:
                    here.gave_up(end_family(process, _name_of(words)), process)
                raise
            if not is_in_time:
                here.gave_up(end_family(process, _name_of(words)), process)
        if not is_in_time and not any(one.is_over for one in supervisors):
            raise subprocess.TimeoutExpired(list(words), waited)
        code = -signal.SIGKILL if process.returncode is None else process.returncode
        return FinishedProgram(code, _read_back(stdout), _read_back(stderr))


def _wait(
    process: subprocess.Popen[bytes], seconds: float, supervisors: Sequence[Supervisor]
) -> bool:
    """Wait for its end, its timeout or an order to end; whether it ended by itself."""
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(process.pid)
            try:
                _poll(descriptor, seconds, supervisors)
            finally:
                os.close(descriptor)
            # Not reaped before its group is signalled, so that its pid is not reused.
            return not _lives_unreaped(process) and process.wait() is not None
    for _ in range(math.ceil(seconds / _SLICE)):
        if any(one.is_over for one in supervisors):
            break
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_SLICE)
            return True
    return False


def _poll(descriptor: int, seconds: float, supervisors: Sequence[Supervisor]) -> None:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    for one in supervisors:
        poller.register(cast(int, one.wakeup()), select.POLLIN)
    poller.poll(math.ceil(seconds * 1000))


def _lives_unreaped(process: subprocess.Popen[bytes]) -> bool:
    if not hasattr(os, "waitid"):
        return process.poll() is None
    try:
        found = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        # Another thread has reaped it.
        return False
    return found is None


def end_programs_with_process() -> None:
    """Make signals that end this process end its programs first.

    Those are in separate sessions, so neither the terminal nor the caller would end them. Call it
    in the main thread; signals with a handler, and ignored ones, are not changed.
    """
    for name in ("SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end_by_signal)


def _end_by_signal(number: int, _frame: object) -> None:
    if delay_signal(number):
        return
    current().kill()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def end_family(process: subprocess.Popen[bytes], name: str) -> list[SurvivingProcess]:
    """End a process group leader and everything below it: TERM, then KILL.

    ``name`` is shown to the user. Returns the survivors. The process is reaped.
    """
    if sys.platform == "win32":
        process.kill()
        process.wait()
        return []
    family = _below(process.pid)
    _signal(process.pid, family, signal.SIGTERM)
    # A stopped process handles TERM only after CONT.
    _signal(process.pid, family, signal.SIGCONT)
    _wait_for_all(process, family, GRACE_SECONDS)
    family += [one for one in _below(process.pid) if one not in family]
    _signal(process.pid, family, signal.SIGKILL)
    _wait_for_all(process, family, KILL_PATIENCE)
    lost = [SurvivingProcess(one.pid, name) for one in family if _lives(one)]
    if process.poll() is None:
        lost.append(SurvivingProcess(process.pid, name))
    return lost


def _name_of(words: Sequence[str]) -> str:
    return " ".join([Path(words[0]).name, *words[1:3]])


def _below(pid: int) -> list[psutil.Process]:
    """Its descendants, also in other sessions; unknown once it is gone."""
    import psutil

    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def _signal(group: int, others: Iterable[psutil.Process], number: int) -> None:
    import psutil

    # The leader is not reaped yet, so the group id is not reused.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for one in others:
        with contextlib.suppress(psutil.Error):
            one.send_signal(number)


def _wait_for_all(
    process: subprocess.Popen[bytes], others: Sequence[psutil.Process], seconds: float
) -> None:
    """Wait until all of them are dead, without reaping the first."""
    pause = threading.Event()
    for _ in range(math.ceil(seconds / _POLL_INTERVAL)):
        if not _lives_unreaped(process) and not any(map(_lives, others)):
            return
        pause.wait(_POLL_INTERVAL)


def _lives(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _file() -> BinaryIO:
    """A file in memory where supported, so that reads work with a full disk."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("ralph"), "w+b")
    import tempfile

    return cast(BinaryIO, tempfile.TemporaryFile())


def _read_back(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()
