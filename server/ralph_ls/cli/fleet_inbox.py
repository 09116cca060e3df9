"""Tasks of the user's fleet that wait for the user, as ``ralph inbox`` lists them."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ralph_ls.cli.fleet_context import FleetContext
from ralph_ls.core.fleet_rules import WAITS_FOR_USER
from ralph_ls.engine.fleet.extra import has_extra
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import (
    DATABASE_VARIABLE,
    FleetTaskState,
    WaitingTask,
    WaitingTasks,
)
from ralph_ls.protocol.json_output import OpenItem, OpenKind
from ralph_ls.store.fleet_waiting import save_waiting, saved_waiting
from ralph_ls.store.layout import state_root
from ralph_ls.store.own_python import own_command

if TYPE_CHECKING:
    from ralph_ls.engine.fleet.ledger import Ledger


def fleet_items() -> tuple[OpenItem, ...]:
    """Questions and parked tasks of all fleets, that of the user's own file as it is now.

    Those of others, and where its database does not answer, are as they were last read.
    """
    context = users_fleet()
    if context is not None:
        from ralph_ls.engine.fleet.database import database_errors

        with contextlib.suppress(RalphError), database_errors(context.address):
            publish_waiting(context, context.ledger())
    return tuple(item for fleet in saved_waiting(os.environ) for item in _items(fleet))


def answer_task(context: FleetContext, task: str, text: str) -> bool:
    """Answer the question of a task of the fleet; False where somebody else did."""
    ledger = context.ledger()
    run = ledger.active_run() or ""
    row = ledger.task(run, task)
    if row is None or row["state"] != FleetTaskState.ASKING.value:
        return False
    note = f"You asked: {row['message']}\nThe user's answer: {text}"
    is_first = bool(ledger.retry(run, [task], note=note))
    publish_waiting(context, ledger)
    return is_first


def users_fleet() -> FleetContext | None:
    """The user's fleet; None where there is none, or the extra is not installed."""
    context = FleetContext(environment=os.environ, file=None, database=None, as_json=False)
    with contextlib.suppress(RalphError):
        is_here = (state_root(os.environ) / "fleet" / "fleet.sqlite").exists()
        is_shared = DATABASE_VARIABLE in os.environ or (
            context.path.exists() and context.fleet().database is not None
        )
        if (is_here or is_shared) and has_extra():
            return context
    return None


def publish_waiting(context: FleetContext, ledger: Ledger) -> None:
    """Read what waits in the fleet's database, and leave it in a file for ``ralph ps`` and editors.

    A worker calls it at each change, so it opens no other connection than the ledger's.
    """
    from ralph_ls.engine.fleet.database import shown_address

    found = _waiting(context, ledger)
    # Without the file they list less.
    with contextlib.suppress(OSError, RalphError):
        save_waiting(state_root(context.environment), shown_address(context.address()), found)


def _waiting(context: FleetContext, ledger: Ledger) -> WaitingTasks | None:
    """What waits in the newest run; None without one."""
    run = ledger.active_run()
    if run is None:
        return None
    repositories = ledger.repositories(run)
    return WaitingTasks(
        run=run,
        command=tuple(own_command("-m", "ralph_ls")),
        options=() if context.file is None else ("--file", str(context.path.absolute())),
        needs_variable=context.database is not None or DATABASE_VARIABLE in context.environment,
        tasks=tuple(
            WaitingTask(
                task=row["task"],
                title=row["title"],
                state=FleetTaskState(row["state"]),
                epoch=row["epoch"],
                message=row["message"] or "",
                workspace=repositories[row["repository"]]["address"],
                iterations=row["iterations"],
                since=datetime.fromtimestamp(row["changed_at"], UTC),
            )
            for row in ledger.tasks(run)
            if row["state"] in WAITS_FOR_USER
        ),
    )


def _items(waiting: WaitingTasks) -> Iterator[OpenItem]:
    for task in waiting.tasks:
        is_question = task.state is FleetTaskState.ASKING
        kind = OpenKind.QUESTION if is_question else OpenKind.PARKED
        yield OpenItem(
            number=0,
            key=f"{waiting.run} {task.task} {kind.value} {task.epoch}",
            kind=kind,
            workspace=task.workspace,
            fleet_task=task.task,
            since=task.since,
            text=task.message if is_question else f"{task.title}: {task.message}",
            command="ralph inbox answer {number} TEXT"
            if is_question
            else f"ralph fleet retry {shlex.quote(task.task)}",
        )
