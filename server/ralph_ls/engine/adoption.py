"""Orphans of what the engine started: they become the engine's own children, so it stays known.

A process that forks twice loses its parent, and with a clean environment every trace of the agent
that it came from. On Linux the engine asks for such orphans (a "child subreaper"): they descend
from it for as long as it lives, and control from inside is refused to them as well. Elsewhere the
system hands them to its first process, and only the marker in their environment tells.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator

PR_SET_CHILD_SUBREAPER = 36
"""From ``linux/prctl.h``."""


@contextlib.contextmanager
def adopting_orphans() -> Iterator[None]:
    """Adopt orphaned descendants of this process meanwhile, where the system can."""
    is_set = _set_subreaper(adopt=True)
    try:
        yield
    finally:
        if is_set:
            reap_adopted()
            _set_subreaper(adopt=False)


def reap_adopted() -> int:
    """Collect adopted processes that have ended, and no child that somebody here waits for.

    A child of ours is in our session or leads one of its own, so one that does neither is adopted.
    An adopted one that leads a session stays until the engine ends. How many were collected.
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
