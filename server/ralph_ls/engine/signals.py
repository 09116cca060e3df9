"""Signals to an engine: each that would end the process ends the run instead, with all it started.

One rule for everything that can be caught: where the system's default is to end a process, the run
is stopped at once, the agent's tree with it, and the journal says by what. Only the first Ctrl-C
lets the iteration come to its end. What stops a process for a while (Ctrl-Z) stops the engine
alone and takes nothing from the agent's time; a crash of the interpreter itself (``SIGSEGV`` and
its like, also when somebody sends them), ``SIGKILL`` and ``SIGSTOP`` cannot be answered, so the
keeper and the next start settle what they leave.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ralph_ls.core.loop.machine.run_flow import BY_CTRL_C, BY_TERM

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
"""Who stopped the run, by the signal's name; what a system does not have is left out."""


def listen_to_signals(deliver: Callable[[str], None]) -> None:
    """From now on signals stop the run: ``deliver`` gets who stopped it, in the loop's thread."""
    loop = asyncio.get_running_loop()
    for number, by in _numbered().items():
        if signal.getsignal(number) is signal.SIG_IGN:
            # Ignored by whoever started us, as nohup does it: that wish holds.
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
def hearing_of_children() -> Iterator[None]:
    """Be told of children's ends, also where the caller had those ignored.

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
