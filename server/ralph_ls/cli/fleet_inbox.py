"""Tasks of the user's fleet that wait for the user, as ``ralph inbox`` lists them."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

from ralph_ls.cli.fleet_context import DATABASE_VARIABLE, FleetContext
from ralph_ls.engine.fleet.extra import has_extra
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetTaskState
from ralph_ls.protocol.json_output import OpenItem, OpenKind
from ralph_ls.store.layout import state_root

KINDS = {
    FleetTaskState.ASKING.value: OpenKind.QUESTION,
    FleetTaskState.PARKED.value: OpenKind.PARKED,
}


def fleet_items() -> tuple[OpenItem, ...]:
    """Questions and parked tasks of the newest run; empty without a fleet, or where its database
    does not answer.
    """
    context = users_fleet()
    if context is None:
        return ()
    from ralph_ls.engine.fleet.database import database_errors

    with contextlib.suppress(RalphError), database_errors(context.address):
        return tuple(_items(context))
    return ()


def answer_task(context: FleetContext, task: str, text: str) -> bool:
    """Answer the question of a task of the fleet; False where somebody else did."""
    ledger = context.ledger()
    run = ledger.active_run() or ""
    row = ledger.task(run, task)
    if row is None or row["state"] != FleetTaskState.ASKING.value:
        return False
    note = f"You asked: {row['message']}\nThe user's answer: {text}"
    return bool(ledger.retry(run, [task], note=note))


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


def _items(context: FleetContext) -> Iterator[OpenItem]:
    ledger = context.ledger()
    run = ledger.active_run()
    if run is None:
        return
    repositories = ledger.repositories(run)
    for row in ledger.tasks(run):
        kind = KINDS.get(row["state"])
        if kind is None:
            continue
        is_question = kind is OpenKind.QUESTION
        text = row["message"] or ""
        yield OpenItem(
            number=0,
            key=f"{run} {row['task']} {kind.value} {row['epoch']}",
            kind=kind,
            workspace=repositories[row["repository"]]["address"],
            fleet_task=row["task"],
            since=datetime.fromtimestamp(row["changed_at"], UTC),
            text=text if is_question else f"{row['title']}: {text}",
            command="ralph inbox answer {number} TEXT"
            if is_question
            else f"ralph fleet retry {shlex.quote(row['task'])}",
        )
