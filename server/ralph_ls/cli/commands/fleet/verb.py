"""``ralph fleet``: tasks of many repositories, on one machine or many."""

from __future__ import annotations

import os
from typing import Annotated

from ralph_ls.cli.flags import Json, Yes
from ralph_ls.cli.fleet_context import FleetContext, WorkerOptions
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import UsageError

READING = ("list", "status", "logs")

ACTIONS = (
    "add", "allow", "list", "run", "worker", "status", "logs", "answer", "retry", "stop", "drain",
    "publish", "migrate",
)  # fmt: skip


def fleet_verb(
    action: Annotated[
        str,
        argument(
            "[ACTION]",
            "add, allow, list, run, worker, status, logs, answer, retry, stop, drain, "
            "publish or migrate.",
            default="status",
        ),
    ] = "status",
    words: Annotated[
        list[str] | None,
        argument(
            "[WORDS]...",
            "What it is about: a folder or URL, a repository, a task, an answer.",
            default="none",
        ),
    ] = None,
    file: Annotated[
        str | None, option("FILE", "The fleet's file.", default="yours, fleet.toml")
    ] = None,
    database: Annotated[
        str | None,
        option(
            "URL", "Postgres database that the workers share.", default="from the file, else SQLite"
        ),
    ] = None,
    until_done: Annotated[
        bool, flag("--until-done", text="End when nothing is left without you.")
    ] = False,
    submit: Annotated[bool, flag("--submit", text="Queue the tasks for workers, and end.")] = False,
    name: Annotated[
        str | None, option("NAME", "Name of an added repository.", default="its folder")
    ] = None,
    push: Annotated[bool, flag("--push", text="Allow pushing to the URL that is added.")] = False,
    label: Annotated[list[str] | None, option("LABEL", "What this worker has; repeatable.")] = None,
    lanes: Annotated[
        int | None,
        option("N", "With run: tasks at a time on each worker.", default="from the file"),
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Work on the plans of many repositories, on one machine or many.

    Tasks are merged in each repository one at a time, into a branch that you choose.
    """
    from ralph_ls.cli.commands.fleet import repositories
    from ralph_ls.cli.fleet_inbox import publish_waiting
    from ralph_ls.engine.fleet.extra import require_extra
    from ralph_ls.store.layout import state_root
    from ralph_ls.store.run.ancestry import require_outside_all

    if action not in ACTIONS:
        raise UsageError(f"unknown action {action!r}{did_you_mean(action, ACTIONS)}")
    if action not in READING:
        require_outside_all(state_root(os.environ) / "worktrees", f"ralph fleet {action}")
    context = FleetContext(environment=os.environ, file=file, database=database, as_json=as_json)
    given = tuple(words or ())
    match action:
        case "add":
            repositories.add(context, given, name=name, push=push)
            return
        case "list":
            repositories.list_all(context)
            return
        case _:
            require_extra()
    from ralph_ls.engine.fleet.database import database_errors

    with database_errors(context.address):
        options = WorkerOptions(
            until_done=until_done, submit=submit, labels=tuple(label or ()), lanes=lanes
        )
        _act(context, action, given, options, yes=yes)
        if action in {"status", "retry", "stop", "drain"}:
            publish_waiting(context, context.ledger())


def _act(
    context: FleetContext, action: str, given: tuple[str, ...], options: WorkerOptions, *, yes: bool
) -> None:
    """What needs the optional extra."""
    from ralph_ls.cli.commands.fleet import repositories, tasks, workers

    match action:
        case "allow":
            repositories.allow(context, given, yes=yes)
        case "publish":
            repositories.publish(context, given, yes=yes)
        case "run":
            workers.run(context, options)
        case "worker":
            workers.work(context, options)
        case "status":
            tasks.show_status(context)
        case "logs":
            tasks.show_logs(context, given)
        case "answer":
            tasks.answer(context, given)
        case "retry":
            tasks.retry(context, given)
        case "migrate":
            workers.migrate(context, given)
        case _:
            tasks.stop(context, drain=action == "drain")
