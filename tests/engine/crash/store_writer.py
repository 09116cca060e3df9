"""Engines as far as the store is concerned: they take the lock, claim, and append until they die.

Run by the tests as ``python -m tests.engine.crash.store_writer GIT_DIR STATE_FOLDER``. It reads one
order a line from its stdin and starts a new engine for each, a separate process. That one says
``claimed SEQ PID`` once it owns the run, and when it is gone ``over CODE`` is said of it:

- ``write SEED COUNT`` appends COUNT events of any size, then waits to be killed;
- ``tear SEED COUNT`` does the same, then writes part of a line and kills itself;
- ``finish SEED COUNT`` does the same, then ends the run and lets the lock go.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NoReturn

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    Event,
    NoteAdded,
    RunEnded,
    RunResumed,
    RunStarted,
    dump_event,
)
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.run.journal import Journal, read_journal
from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time

RUN = "20260131T120000Z-0a1b"
LARGEST = 30_000
SYNC_EVERY = 100


def main() -> None:
    git_dir, state = Path(sys.argv[1]), StateFolder(folder=Path(sys.argv[2]))
    for order in sys.stdin:
        reading_end, writing_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writing_end)
            _be_engine(git_dir, state, order, reading_end)
        os.close(reading_end)
        _, status = os.waitpid(pid, 0)
        os.close(writing_end)
        _say("over", os.waitstatus_to_exitcode(status))


def _be_engine(git_dir: Path, state: StateFolder, order: str, parent: int) -> NoReturn:
    """Do as ordered and end; ``parent`` is a pipe that ends with the process that orders."""
    try:
        _write(git_dir, state, order, parent)
        os._exit(0)
    finally:
        traceback.print_exc()
        os._exit(1)


def _write(git_dir: Path, state: StateFolder, order: str, parent: int) -> None:
    verb, seed, count = order.split()
    with EngineLock(git_dir) as lock:
        started = own_start_time()
        lock.claim(
            LockOwner(
                pid=os.getpid(), process_start_time=started, run=RUN, state_dir=str(state.folder)
            )
        )
        path = make_private_folder(state.run(RUN).folder) / "journal.jsonl"
        read = read_journal(path)
        seq = read.events[-1].seq + 1 if read.events else 1
        journal = Journal(path, size=read.size)
        _say("claimed", seq, os.getpid())
        journal.append([_beginning(seq)])
        _append_notes(journal, Random(int(seed)), first=seq + 1, count=int(count))
        seq += int(count) + 1
        match verb:
            case "write":
                os.read(parent, 1)
            case "tear":
                _tear(journal, Random(int(seed)), seq)
            case "finish":
                journal.append([_end(seq)])
                journal.close()


def _append_notes(journal: Journal, random: Random, *, first: int, count: int) -> None:
    for seq in range(first, first + count):
        journal.append([_note(seq, random)])
        if seq % SYNC_EVERY == 0:
            journal.sync()


def _tear(journal: Journal, random: Random, seq: int) -> None:
    line = dump_event(_note(seq, random))
    descriptor = os.open(journal.path, os.O_WRONLY | os.O_APPEND)
    os.write(descriptor, line[: random.randrange(1, len(line) + 1)])
    os.kill(os.getpid(), signal.SIGKILL)


def _note(seq: int, random: Random) -> NoteAdded:
    # Mostly short, now and then so long that one write takes the system many steps.
    size = LARGEST if random.random() < 0.02 else random.randrange(200)
    text = f"{seq}: " + random.choice("xä界") * size
    return NoteAdded(seq=seq, at=_now(), run=RUN, text=text, by="somebody")


def _beginning(seq: int) -> Event:
    config, pid = Config(), os.getpid()
    if seq > 1:
        return RunResumed(
            seq=seq, at=_now(), run=RUN, version="0", pid=pid, by="the test", config=config
        )
    return RunStarted(
        seq=seq,
        at=_now(),
        run=RUN,
        version="0",
        pid=pid,
        workspace="/srv/project",
        state_dir="/var/state",
        plan="@fix_plan.md",
        config=config,
    )


def _end(seq: int) -> RunEnded:
    return RunEnded(
        seq=seq, at=_now(), run=RUN, reason=EndReason.LIMIT, exit_code=1, message="all used up"
    )


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def _now() -> datetime:
    return datetime.now(UTC)


if __name__ == "__main__":
    main()
