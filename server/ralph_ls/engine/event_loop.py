"""The engine's event loop, which ends although a thread of it may hang.

What blocks (git, parsing, hashing) runs in threads. One that waits for a file on a dead network
disk cannot be ended by anybody, and Python would wait for it at the loop's end and once more at its
own. Here the threads are daemons, and at the end they are waited for only a moment.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

Given = ParamSpec("Given")
Value = TypeVar("Value")

MOST_THREADS = 32

PATIENCE = 1.0
"""Seconds that the threads get at the end to finish what they do; no program runs by then."""


def run_to_end(work: Coroutine[Any, Any, Value]) -> Value:
    """Run ``work`` in an event loop of its own, as ``asyncio.run`` does, in daemon threads."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(DaemonThreads())
        return runner.run(work)


class DaemonThreads(ThreadPoolExecutor):
    """An executor that nobody waits for at the end of the process."""

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
            except BaseException as error:  # noqa: BLE001 - whoever waits for the future gets it
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
        """Take no more, and wait for what runs, but no longer than ``PATIENCE`` for each."""
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
