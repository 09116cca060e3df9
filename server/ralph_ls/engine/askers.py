"""Who asks a run for something: a command counts only when a process outside of the run gives it.

An asker names itself in its command and waits for the answer, so the engine can look at the process
and its ancestors while it is there. One that is gone cannot be looked at and is asked to try again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.run.commands import Answer, Command, Note, Stop
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.run.ancestry import WorktreeRuns, ancestry_of, find_membership
from ralph_ls.store.run.lock import is_same_process, own_start_time

OF_COMMANDS = (Answer, Note, Stop)
"""What commands of ``on_*`` may ask: they speak for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a command is not taken."""

    code: str
    reason: str


def refusal_of(command: Command, workspace: Workspace, run: RunState) -> Refusal | None:
    """Why this command must not reach the loop; None: somebody outside of the run asks."""
    asker = command.asker
    if asker is None:
        return Refusal(
            code="no-asker",
            reason="it does not say which process asks (asker), so nobody knows whether an "
            "iteration does; ask with the ralph program",
        )
    if not is_same_process(asker.pid, asker.start_time):
        return Refusal(
            code="asker-gone",
            reason=f"the process that asked (pid {asker.pid}) is gone, or runs in a container, so "
            "nobody knows whether an iteration has started it; ask again",
        )
    inside = find_membership(ancestry_of(asker.pid), _known(workspace, run))
    if inside is None or (inside.is_command and isinstance(command, OF_COMMANDS)):
        return None
    return Refusal(
        code="from-inside",
        reason=f"it was asked from inside {inside}, and what a run starts must not change that "
        "run; ask from another terminal",
    )


def _known(workspace: Workspace, run: RunState) -> WorktreeRuns:
    agent = None if run.current is None else run.current.agent
    return WorktreeRuns(
        ids=frozenset({workspace.run, *workspace.state.run_ids()}),
        live=workspace.run,
        engine=(os.getpid(), own_start_time()),
        agent=None if agent is None else (agent.pid, agent.process_start_time),
    )
