"""Opening the full screen, and leaving the terminal as it was however it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.screen.app import OtherRun, RalphScreen, ScreenEnd
from ralph_ls.cli.show.keyboard import is_foreground
from ralph_ls.store.external.foreground_process import ForegroundChannel

__all__ = ["ScreenEnd", "show_screen"]

PATIENCE = 3.0
"""Seconds that a signal leaves for restoring a terminal that may be gone."""


def show_screen(
    place: CommandWorktree,
    *,
    find_others: Callable[[], Sequence[OtherRun]],
    in_run: int | None,
) -> ScreenEnd:
    """Show the full screen until it is left; returns why.

    ``in_run``: the process above this one is the run, which Ctrl-C stops and whose end ends it; it
    takes orders over the socket with this descriptor. A signal that ended the screen ends this
    process, once the terminal is restored.
    """
    parent, is_beside = os.getppid(), in_run is not None
    app = RalphScreen(
        place,
        find_others=find_others,
        interrupt=(lambda: os.kill(parent, signal.SIGINT)) if is_beside else None,
        suspend=(lambda: _suspend_with(parent)) if is_beside else None,
        give=None if in_run is None else ForegroundChannel(in_run).ask,
        is_over=(lambda: os.getppid() != parent) if is_beside else bool,
        on_signal=_end_soon,
    )
    end = app.run()
    if app.signal is not None:
        signal.signal(app.signal, signal.SIG_DFL)
        os.kill(os.getpid(), app.signal)
    if app.failure is not None:
        sys.stderr.write(f"ralph: the full screen failed ({_place_of(app.failure)}); ")
        sys.stderr.write("this is the plain form\n")
        return ScreenEnd.FAILED
    return ScreenEnd.LEFT if end is None else end


def _suspend_with(run: int) -> None:
    """Suspend the run and this process; a job continued in the background waits for ``fg``."""
    os.kill(run, signal.SIGTSTP)
    while True:
        os.kill(os.getpid(), signal.SIGSTOP)
        if is_foreground():
            return


def _end_soon(number: int) -> None:
    """End this process even where the terminal is gone and restoring it blocks."""
    timer = threading.Timer(PATIENCE, os._exit, (128 + number,))
    timer.daemon = True
    timer.start()


def _place_of(error: BaseException) -> str:
    """``feed.py:120``: where in our code, for a report."""
    where = error.__traceback__
    name, line = "", 0
    while where is not None:
        name, line = Path(where.tb_frame.f_code.co_filename).name, where.tb_lineno
        where = where.tb_next
    return f"{type(error).__name__} in {name}:{line}"
