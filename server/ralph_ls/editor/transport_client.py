"""Whether the client that started us still lives: a server must not outlive its editor.

A closed pipe tells it most of the time. It does not where the pipe was inherited by a third
process, which holds it open; then only the client's process id does (LSP, ``processId``).
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable

CHECK_INTERVAL = 5.0
"""Seconds between two looks, where the system cannot wake us when a process ends."""


def watch_client(pid: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    """Call ``on_gone`` in the running loop as soon as ``pid`` is gone; gives what ends the watch.

    Linux wakes us. Elsewhere we look every few seconds, since nothing tells.
    """
    if pid <= 0 or not _shares_our_numbers():
        return _nothing
    if sys.platform == "linux":
        try:
            return _wait_for_end(os.pidfd_open(pid), on_gone)
        except ProcessLookupError:
            on_gone()
            return _nothing
        except OSError:
            pass  # An old kernel, or a sandbox that forbids it.
    return _look_again_and_again(pid, on_gone)


def _shares_our_numbers() -> bool:
    """False in a container whose client stands outside: its process id means nothing in here."""
    return sys.platform == "win32" or os.getppid() != 0


def _wait_for_end(descriptor: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        nonlocal descriptor
        if descriptor >= 0:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            descriptor = -1

    def end() -> None:
        stop()
        on_gone()

    loop.add_reader(descriptor, end)
    return stop


def _look_again_and_again(pid: int, on_gone: Callable[[], None]) -> Callable[[], None]:
    loop = asyncio.get_running_loop()
    is_alive = _window_on(pid)
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        if is_alive():
            timer = loop.call_later(CHECK_INTERVAL, look)
        else:
            on_gone()

    def stop() -> None:
        if timer is not None:
            timer.cancel()

    look()
    return stop


def _window_on(pid: int) -> Callable[[], bool]:
    """A way to see whether the process lives, which changes nothing about it."""
    if sys.platform == "win32":  # Here signal 0 is Ctrl-C; a handle also survives a reused id.
        import ctypes

        synchronize, still_running = 0x00100000, 0x102
        kernel = ctypes.WinDLL("kernel32")
        handle = kernel.OpenProcess(synchronize, False, pid)
        return lambda: bool(handle) and kernel.WaitForSingleObject(handle, 0) == still_running
    return lambda: _takes_signals(pid)


def _takes_signals(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # It lives, and belongs to somebody else.
    return True


def _nothing() -> None:
    """There is no watch to end."""
