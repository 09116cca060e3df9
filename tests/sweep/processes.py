"""Processes of a case, found by descent: no marker, no session and no clean environment hides them.

The sweep adopts orphans (Linux: ``PR_SET_CHILD_SUBREAPER``), so whatever any engine, agent or hook
started descends from it until it ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Callable

import psutil

from tests.sweep.violations import Kind, Violation

PR_SET_CHILD_SUBREAPER = 36
GRACE = 5.0
"""Seconds in which the last of a case may end by itself, on a busy machine."""
STEP = 0.005
LOOKS = 5


class Watcher:
    """The descendants of this process."""

    def __init__(self) -> None:
        _adopt_orphans(True)
        self._own: set[int] = set()

    def begin(self) -> None:
        """What runs now belongs to the sweep itself, and to no case."""
        from tests.engine.forked_ralph import fork_server

        fork_server()
        self._own = {process.pid for process in psutil.Process().children(recursive=True)}

    def close(self) -> None:
        """Adopt no more orphans, for a process that continues with something else."""
        _adopt_orphans(False)

    def left(self) -> list[psutil.Process]:
        """Every living descendant that is no part of the sweep."""
        self._reap()
        found = []
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if process.pid not in self._own and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def expect_nothing_left(self, *, seconds: float = GRACE) -> None:
        if not wait_until(self._is_quiet, seconds=seconds) and (left := self.left()):
            shown = "; ".join(describe(process) for process in left)
            raise Violation(Kind.LEFT_OVER, f"left running: {shown}")

    def _is_quiet(self) -> bool:
        """One look may miss a process that forks and ends while the list is being made."""
        for _ in range(LOOKS):
            if self.left():
                return False
            time.sleep(STEP)
        return True

    def end_all(self) -> None:
        """Kill whatever is left, so that no case meets the processes of another one."""
        until = time.monotonic() + GRACE
        while (left := self.left()) and time.monotonic() < until:
            for process in left:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            time.sleep(STEP)

    def _reap(self) -> None:
        for process in psutil.Process().children():
            with contextlib.suppress(psutil.Error, ChildProcessError):
                if process.pid not in self._own and process.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(process.pid, os.WNOHANG)


def _adopt_orphans(does: bool) -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, int(does), 0, 0, 0)


def wait_until(is_so: Callable[[], object], *, seconds: float) -> bool:
    """Poll: processes and kills of others announce themselves to nobody."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return bool(is_so())
        time.sleep(STEP)
    return True


def describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid} {process.status()} {' '.join(process.cmdline())[:200]!r}"
    except psutil.Error:
        return f"{process.pid} (gone)"


def kill(process: psutil.Process) -> bool:
    """Whether it was there to be killed."""
    try:
        process.kill()
    except psutil.Error:
        return False
    return True
