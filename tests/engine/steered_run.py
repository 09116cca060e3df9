"""Runs to be steered, and the hands that steer them."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from ralph_ls.protocol.run.commands import COMMAND_ADAPTER, Command
from ralph_ls.protocol.run.events import CommandAccepted, CommandRejected, EventBase
from ralph_ls.store.layout import state_folder, state_root
from ralph_ls.store.run import inbox
from tests.engine.project_builder import Completed, Running, events_of, worktree_of
from tests.engine.ralph_runner import Project

Told = TypeVar("Told", bound=EventBase)

WAITS = "wait_here; report 'STATUS: IN_PROGRESS'"
"""An agent that works as long as the test wants it to, and changes nothing."""
FINISHES = "work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"
ASKS_FIRST = f"""\
if [ "$RALPH_START" = 1 ]; then say '<promise>DECIDE:red or blue?</promise>'; exit; fi
{FINISHES}
"""
BLOCKED_FIRST = f"""\
if [ "$RALPH_START" = 1 ]; then say '<promise>BLOCKED:no paint</promise>'; exit; fi
{FINISHES}
"""
STUCK_FIRST = f"""\
if [ "$RALPH_START" = 1 ]; then report 'STATUS: BLOCKED' 'RECOMMENDATION: rest'; exit; fi
{FINISHES}
"""


def at_work(project: Project, *arguments: str) -> Running:
    """A run whose agent waits for the gate."""
    project.agent(WAITS)
    project.make_gate()
    running = project.start(*(arguments or ("9",)))
    running.wait_for("agentStarted")
    return running


def parked(project: Project, body: str, reason: str) -> Running:
    project.agent(body)
    running = project.start("9", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked", reason=reason)
    return running


def said(done: Completed) -> tuple[int, str]:
    """The code and the one line that a steering command gives."""
    assert done.stderr == ""
    return done.exit_code, done.stdout.removesuffix("\n")


def answers(done: Completed) -> list[tuple[str, str]]:
    """What became of each command, in the order of the journal."""
    return [
        (event.command_kind, "accepted" if isinstance(event, CommandAccepted) else event.code)
        for event in done.events
        if isinstance(event, CommandAccepted | CommandRejected)
    ]


def post(project: Project, kind: str, *, run: str = "", **fields: object) -> Command:
    """Put a command into the inbox, as an editor does."""
    run = run or str(events_of(project.repository)[0].run)
    given = COMMAND_ADAPTER.validate_python(
        {
            "kind": kind,
            "id": os.urandom(8).hex(),
            "run": run,
            "at": datetime.now(UTC),
            "by": "an editor",
            **fields,
        }
    )
    inbox.post_command(inbox_of(project), given)
    return given


def state_of(project: Project) -> Path:
    return state_folder(state_root(os.environ), worktree_of(project.repository)).folder


def inbox_of(project: Project) -> Path:
    return state_of(project) / "inbox"


def told_last(project: Project, kind: type[Told]) -> Told:
    return [event for event in events_of(project.repository) if isinstance(event, kind)][-1]
