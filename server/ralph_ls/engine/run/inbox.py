"""Waking the engine when people write: commands into the inbox, answers into the halt files.

The system's own events wake it; beside them it looks every 500 ms, since network mounts, Windows
and full inotify tables give none (docs/rules.md#following). Nothing here reads more than a folder's
listing.

Who asks a run for something: a command counts only when a process outside of the run gives it.

An asker names itself in its command and waits for the answer, so the engine can look at the process
and its ancestors while it is there. One that is gone cannot be looked at and is asked to try again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.run.commands import Answer, Command, Note, Stop
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.run.ancestry import WorktreeRuns, ancestry_of, find_membership
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch
from ralph_ls.store.run.lock import is_same_process, own_start_time

EDIT_PATIENCE = 0.4
"""Seconds that a hand-edited file must rest, so that no half-typed, auto-saved answer is taken."""


class Wakeup:
    """Calls ``look`` in the event loop whenever one of the folders may have changed."""

    def __init__(self, folders: Iterable[Path], look: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._look = look
        self._watch = FolderWatch(folders, self._from_thread)
        self._closed = False
        self._watch.__enter__()
        self._tick = self._loop.call_later(LIVE_INTERVAL, self._again)

    def close(self) -> None:
        """Stop looking."""
        self._closed = True
        self._tick.cancel()
        self._watch.__exit__(None, None, None)

    def _from_thread(self) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(self._soon)

    def _soon(self) -> None:
        if not self._closed:
            self._look()

    def _again(self) -> None:
        self._look()
        self._tick = self._loop.call_later(LIVE_INTERVAL, self._again)


OF_COMMANDS = (Answer, Note, Stop)
"""What commands of ``on_*`` may ask: they speak for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRefusal:
    """Why a command is not taken."""

    code: str
    reason: str


def refusal_of(command: Command, workspace: Workspace, run: RunState) -> CommandRefusal | None:
    """Why this command must not reach the loop; None: somebody outside of the run asks."""
    asker = command.asker
    if asker is None:
        return CommandRefusal(
            code="no-asker",
            reason="it does not name the process that asks (asker), so it could come from an "
            "iteration; use the ralph program",
        )
    if not is_same_process(asker.pid, asker.start_time):
        return CommandRefusal(
            code="asker-gone",
            reason=f"the process that asked (pid {asker.pid}) is gone, or runs in a container, so "
            "it could come from an iteration; ask again",
        )
    inside = find_membership(ancestry_of(asker.pid), _known(workspace, run))
    if inside is None or (inside.is_command and isinstance(command, OF_COMMANDS)):
        return None
    return CommandRefusal(
        code="from-inside",
        reason=f"it was asked from inside {inside}, and a run may not change itself; use another "
        "terminal",
    )


def _known(workspace: Workspace, run: RunState) -> WorktreeRuns:
    agent = None if run.current is None else run.current.agent
    return WorktreeRuns(
        ids=frozenset(
            {
                workspace.run,
                *workspace.state.run_ids(),
                *(lane.run for lane in run.lanes if lane.run is not None),
            }
        ),
        live=workspace.run,
        engine=(os.getpid(), own_start_time()),
        agent=None if agent is None else (agent.pid, agent.process_start_time),
    )
