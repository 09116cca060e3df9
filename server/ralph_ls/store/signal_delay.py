"""Delay of signals while a program is being started.

A signal that ends this process also ends the programs that it runs. One that came between a
program's start and its entry in the registry would miss it, so it is delivered after that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator


class _Starts:
    """The starts that are under way in any thread, and the signal that waits for them."""

    lock = threading.RLock()
    n_now = 0
    waiting: int | None = None


def put_off(number: int, _frame: object = None) -> bool:
    """Keep a signal for later, where a program is being started; whether it was kept."""
    with _Starts.lock:
        if _Starts.n_now:
            _Starts.waiting = number
        return _Starts.n_now > 0


@contextlib.contextmanager
def signals_put_off() -> Iterator[None]:
    """What would end this process comes after the block, in whichever thread that is."""
    is_main = threading.current_thread() is threading.main_thread()
    raises = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with _Starts.lock:
        _Starts.n_now += 1
    if raises:
        signal.signal(signal.SIGINT, put_off)
    try:
        yield
    finally:
        if raises:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        with _Starts.lock:
            _Starts.n_now -= 1
            waiting = None
            if not _Starts.n_now:
                waiting, _Starts.waiting = _Starts.waiting, None
        if waiting is not None:
            _deliver(waiting)


def _deliver(number: int) -> None:
    """Send it to the main thread, which runs the handlers and may wait for this very thread."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        os.kill(os.getpid(), number)
