"""A run whose journal a test writes itself: the lock is held for real, only the engine is missing.

So a test decides when an event is there, and how fast the next one comes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    EventBase,
    NoteAdded,
    PhaseChanged,
    RunEnded,
    RunStarted,
)
from ralph_ls.protocol.run.values import EndReason, Phase
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import RunFiles, find_worktree, state_folder, state_root
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time

RUN = "20260131T120000Z-0a1b"
NEXT_RUN = "20260131T130000Z-0a1c"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class ScriptedRun:
    """The run, and the journal that is written."""

    def __init__(self, repository: Path, run: str) -> None:
        worktree = find_worktree(repository)
        self.run = run
        self.state = state_folder(state_root(os.environ), worktree)
        self.files: RunFiles = self.state.run(run)
        make_private_folder(self.files.folder)
        self.git_dir = worktree.git_dir
        self.journal = Journal(self.files.journal)
        self.seq = 0
        self._root = worktree.root

    def claim(self, lock: EngineLock) -> None:
        """Say whose lock it is, as an engine does before its first event."""
        lock.claim(
            LockOwner(
                pid=os.getpid(),
                # Not this process: the servers that are tested descend from it, and no editor's
                # server descends from an engine.
                process_start_time=own_start_time() - 60,
                run=self.run,
                state_dir=str(self.state.folder),
            )
        )

    def begin(self, **fields: Any) -> None:
        """The first two events."""
        values: dict[str, Any] = {
            "version": "1",
            "pid": os.getpid(),
            "workspace": str(self._root),
            "state_dir": str(self.state.folder),
            "plan": "@fix_plan.md",
            "config": Config(max_iterations=20),
        }
        self.tell(RunStarted, **{**values, **fields})
        self.tell(PhaseChanged, phase=Phase.RUNNING)

    def tell(self, kind: type[EventBase], **fields: Any) -> EventBase:
        """Append an event."""
        self.seq += 1
        event = kind(seq=self.seq, at=NOON, run=self.run, **fields)
        self.journal.append([event])
        return event

    def notes(self, count: int) -> None:
        """Append many events, one by one."""
        for number in range(count):
            self.tell(NoteAdded, text=f"note {number}", by="a test")

    def agent(self, iteration: int = 1) -> None:
        """An agent runs; its output is what ``say`` writes."""
        self.tell(
            AgentStarted,
            iteration=iteration,
            agent="command",
            argv=("agent",),
            pid=os.getpid(),
            process_start_time=1.0,
        )

    def agent_ends(self, iteration: int = 1) -> None:
        self.tell(AgentExited, iteration=iteration, exit_code=0)

    def say(self, data: bytes, *, iteration: int = 1, stream: str = "out") -> None:
        """Append to what the agent prints."""
        with self.files.output(iteration, 1, stream).open("ab") as file:
            file.write(data)

    def speak(self, *lines: bytes) -> None:
        """Append to its messages."""
        with self.files.messages.open("ab") as file:
            file.write(b"".join(line + b"\n" for line in lines))

    def end(self) -> None:
        self.tell(RunEnded, reason=EndReason.COMPLETE, exit_code=0, message="all is done")


@contextmanager
def made_run(repository: Path, run: str = RUN, *, begun: bool = True) -> Iterator[ScriptedRun]:
    """A run that lasts as long as the block does; its lock is held."""
    made = ScriptedRun(repository, run)
    with EngineLock(made.git_dir) as lock:
        made.claim(lock)
        if begun:
            made.begin()
        try:
            yield made
        finally:
            made.journal.close()


def message(text: str, *, start: int = 1, offset: int = 0) -> bytes:
    """A text message, as its file has it."""
    return (
        b'{"start":%d,"offset":%d,"kind":"text","text":"%b"}'  # The text is plain here.
        % (start, offset, text.encode())
    )
