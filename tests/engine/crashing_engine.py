"""Real engines that die where the test says: right after an event has reached the journal.

Run by the tests as ``python -m tests.engine.crashing_engine``. It has imported all that ``ralph``
needs, reads one order a line from its stdin, and forks a separate process for each, so that
hundreds of engines cost little more than what they do. An order is one JSON object:

- ``folder``, ``arguments`` and ``environment``: where and how ``ralph`` is called;
- ``killAt``: the ``seq`` of the event with which the process kills itself; 0: none;
- ``bytes``: how much of that event's line is written before; null: the whole line;
- ``output``: the file that gets what it prints.

Each is answered with its exit code once it is gone, or the negative number of its signal.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ralph_ls.cli.main import main as ralph
from ralph_ls.protocol.run.events import EventBase, dump_event
from ralph_ls.store.files import write_all
from ralph_ls.store.run.journal import Journal
from tests.engine.forked_ralph import load


def main() -> None:
    # What every engine would do again is done once, and shared by all.
    load()
    gc.freeze()
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _be_ralph(order)
        _, status = os.waitpid(pid, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _be_ralph(order: dict[str, Any]) -> NoReturn:
    exit_code = 1
    try:
        # A separate group, which the test can clear, and not the terminal's.
        os.setsid()
        _redirect(Path(order["output"]))
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        if order["killAt"]:
            Journal.append = _deadly(order["killAt"], order["bytes"])  # type: ignore[method-assign]
        exit_code = ralph(order["arguments"])
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - nothing may get back into the loop of orders
        traceback.print_exc()
    finally:
        os._exit(exit_code)


def _redirect(output: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(null, 0)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


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


if __name__ == "__main__":
    main()
