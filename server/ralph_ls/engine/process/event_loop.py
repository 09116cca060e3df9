"""Event loop of the engine: ends although a thread of it may hang, and turns signals into stops.

Blocking work (git, parsing, hashing) runs in threads. A thread that waits for a file on a dead
network disk cannot be ended, and Python would wait for it when the loop closes and again at exit.
So the threads are daemons, and are waited for only a moment.

A signal whose default is to end a process stops the run at once, with the agent's process tree, and
the journal names the signal. Only the first Ctrl-C lets the iteration finish. Ctrl-Z stops the
engine alone and does not count towards the agent's time limits. A crash of the interpreter
(``SIGSEGV`` and similar), ``SIGKILL`` and ``SIGSTOP`` cannot be handled; the keeper and the next
start settle what they leave behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

from ralph_ls.core.loop.machine.run_flow import BY_CTRL_C, BY_TERM

Given = ParamSpec("Given")
Value = TypeVar("Value")

MOST_THREADS = 32

PATIENCE = 1.0
"""Seconds that the threads get at the end to finish what they do; no program runs by then."""


def run_to_end(work: Coroutine[Any, Any, Value]) -> Value:
    """Run ``work`` in a new event loop, like ``asyncio.run``, with daemon threads."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(DaemonThreads())
        return runner.run(work)


class DaemonThreads(ThreadPoolExecutor):
    """An executor whose threads are not awaited at the end of the process."""

    # A subclass, since the event loop takes no other executor as its default.

    def __init__(self) -> None:
        super().__init__(max_workers=MOST_THREADS)
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._workers: list[threading.Thread] = []
        self._idle = threading.Semaphore(0)
        self._guard = threading.Lock()
        self._is_closed = False

    def submit(
        self, fn: Callable[Given, Value], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Future[Value]:
        """Run it in a thread."""
        future: Future[Value] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                value = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - raised where the future is awaited
                future.set_exception(error)
            else:
                future.set_result(value)

        with self._guard:
            if self._is_closed:
                raise RuntimeError("the engine's event loop is over")
            self._tasks.put(work)
            if not self._idle.acquire(blocking=False) and len(self._workers) < MOST_THREADS:
                worker = threading.Thread(target=self._live, name="engine work", daemon=True)
                self._workers.append(worker)
                worker.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Refuse new work, and wait for running work, at most ``PATIENCE`` for each."""
        del cancel_futures
        with self._guard:
            if not self._is_closed:
                self._is_closed = True
                for _ in self._workers:
                    self._tasks.put(None)
        if wait:
            for worker in self._workers:
                worker.join(PATIENCE)

    def _live(self) -> None:
        while (work := self._tasks.get()) is not None:
            work()
            self._idle.release()


STOPS: Mapping[str, str] = {
    "SIGINT": BY_CTRL_C,
    "SIGTERM": BY_TERM,
    "SIGHUP": "a closed terminal",
    "SIGQUIT": "Ctrl-\\",
    "SIGBREAK": "Ctrl-Break",
    "SIGXCPU": "the limit of CPU time",
    "SIGPWR": "a power failure",
    **{
        f"SIG{name}": f"a {name} signal"
        for name in ("USR1", "USR2", "ALRM", "VTALRM", "PROF", "IO", "STKFLT", "EMT", "LOST")
    },
}
"""Cause of a stop, by the signal's name; signals that the system does not have are skipped."""


def listen_to_signals(deliver: Callable[[str], None]) -> None:
    """From now on signals stop the run: ``deliver`` gets who stopped it, in the loop's thread."""
    loop = asyncio.get_running_loop()
    for number, by in _numbered().items():
        if signal.getsignal(number) is signal.SIG_IGN:
            # Ignored by the caller, as nohup does: it stays ignored.
            continue
        if sys.platform == "win32":
            # Proactor loops have no add_signal_handler; the handler runs in the main thread.
            signal.signal(number, lambda *_, by=by: loop.call_soon_threadsafe(partial(deliver, by)))
        else:
            loop.add_signal_handler(number, deliver, by)


def _numbered() -> dict[signal.Signals | int, str]:
    known: dict[signal.Signals | int, str] = {
        number: by for name, by in STOPS.items() if (number := getattr(signal, name, None))
    }
    if sys.platform != "win32":
        # Real-time signals have no names; what is sent by them ends a process as well.
        real_time = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)
        known |= {number: f"signal {number}" for number in real_time}
    return known


@contextlib.contextmanager
def receiving_child_signals() -> Iterator[None]:
    """Receive ``SIGCHLD``, also where the caller ignores it.

    A daemon that ignores ``SIGCHLD`` passes that on, and no exit code would reach us.
    """
    number = getattr(signal, "SIGCHLD", None)
    if number is None or signal.getsignal(number) is not signal.SIG_IGN:
        yield
        return
    signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_IGN)
