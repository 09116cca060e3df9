"""Real engines that die where the test says: right after an event has reached the journal.

A program for ``forked_ralph``, called by ``crash_driver``. Before the arguments of ``ralph`` it
takes the ``seq`` of the event with which it kills itself, 0 for none, and how many bytes of that
event's line are written before, empty for the whole line.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

from ralph_ls.cli.main import main as ralph
from ralph_ls.protocol.run.events import EventBase, dump_event
from ralph_ls.store.files import write_all
from ralph_ls.store.run.journal import Journal


def main() -> int:
    kill_at, n_bytes, *arguments = sys.argv[1:]
    if int(kill_at):
        Journal.append = _deadly(  # type: ignore[method-assign]
            int(kill_at), int(n_bytes) if n_bytes else None
        )
    return ralph(arguments)


def _deadly(seq: int, n_bytes: int | None) -> Any:
    """``Journal.append`` that lives until the event with this number is in the file, or partly."""
    whole = Journal.append

    def append(journal: Journal, events: Sequence[EventBase]) -> None:
        for event in events:
            if event.seq != seq or n_bytes is None:
                whole(journal, [event])
            else:
                write_all(journal._descriptor, dump_event(event)[:n_bytes])
            if event.seq == seq:
                os.kill(os.getpid(), signal.SIGKILL)

    return append
