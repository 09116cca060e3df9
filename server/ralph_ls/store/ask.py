"""Asking a living engine for something, and waiting for its answer (SPEC §2).

The asker waits for its command's id in the journal, or for the lock to be free, whichever comes
first; it never hangs. ``stop --now`` waits two seconds for acceptance, then signals the engine.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from dataclasses import dataclass

from ralph_ls.protocol.commands import Command, Stop
from ralph_ls.protocol.errors import NoEngine
from ralph_ls.protocol.events import CommandAccepted, CommandRejected
from ralph_ls.store.follow import LIVE_INTERVAL, FolderWatch, JournalTail
from ralph_ls.store.inbox import post
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.lock import is_held, is_same_process, read_owner
from ralph_ls.store.runs import FoundRun

STOP_NOW_PATIENCE = 2.0
"""Seconds that ``stop --now`` waits for acceptance before it signals (SPEC §2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What became of a command."""

    accepted: bool
    code: str
    """``accepted``, or the kebab-case reason of the rejection."""
    text: str
    by: str = ""


def new_command_id() -> str:
    """An id that nobody else has."""
    return secrets.token_hex(8)


def ask(worktree: Worktree, run: FoundRun, command: Command) -> Reply:
    """Put ``command`` to the engine of ``run`` and wait for what it says.

    Raises ``NoEngine`` where none lives, or where it ended before it read the command.
    """
    if not run.live:
        raise NoEngine(f"no engine runs in {worktree.root}; start one with: ralph run")
    state = StateFolder(folder=run.files.folder.parent.parent)
    journal = JournalTail(run.files.journal, offset=run.files.journal.stat().st_size)
    changed = threading.Event()
    patience = STOP_NOW_PATIENCE if isinstance(command, Stop) and command.now else None
    with FolderWatch([run.files.folder], changed.set):
        path = post(state.inbox, command)
        waited = 0.0
        while True:
            changed.clear()
            alive = is_held(worktree.git_dir)
            if reply := _find_reply(journal, command.id):
                return reply
            if not alive:
                path.unlink(missing_ok=True)
                raise NoEngine(
                    f"run {run.state.run} ended before it read the command; see: ralph status"
                )
            if patience is not None and waited >= patience:
                return _signal(worktree)
            if not changed.wait(timeout=LIVE_INTERVAL):
                waited += LIVE_INTERVAL


def _find_reply(journal: JournalTail, command_id: str) -> Reply | None:
    for event in journal.read():
        if isinstance(event, CommandAccepted) and event.command == command_id:
            return Reply(accepted=True, code="accepted", text=event.text, by=event.by)
        if isinstance(event, CommandRejected) and event.command == command_id:
            return Reply(accepted=False, code=event.code, text=event.reason, by=event.by)
    return None


def _signal(worktree: Worktree) -> Reply:
    """The engine does not listen: end it the hard way, and only it."""
    owner = read_owner(worktree.git_dir)
    if owner is None or not is_same_process(owner.pid, owner.process_start_time):
        raise NoEngine("the engine is gone; see: ralph status")
    if sys.platform == "win32":
        os.kill(owner.pid, signal.CTRL_BREAK_EVENT)
    else:
        os.kill(owner.pid, signal.SIGTERM)
    return Reply(
        accepted=True, code="signalled", text=f"the engine (pid {owner.pid}) was told to end"
    )
