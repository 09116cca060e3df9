"""``ralph fleet run`` and ``worker``: a worker in this process, and what ends it."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from functools import partial
from threading import Timer
from typing import TYPE_CHECKING, Any

from ralph_ls.cli.commands.fleet.tasks import print_status
from ralph_ls.cli.fleet_context import FleetContext, WorkerOptions
from ralph_ls.cli.fleet_inbox import publish_waiting
from ralph_ls.cli.output import print_error, print_text
from ralph_ls.core.fleet_rules import WAITS_FOR_USER
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.fleet import FleetFile, FleetTaskState

if TYPE_CHECKING:
    from ralph_ls.engine.fleet.worker import FleetWorker

REPLAN_SECONDS = 60.0

_LABEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,29}")

MOST_LANES = 64

NEEDS_YOU = 2
"""Exit code where tasks wait for their user."""

STOPPED = 130


class Unfinished(RalphError):
    """A fleet ended with tasks that wait for their user."""

    exit_code = NEEDS_YOU


class WorkerStopped(RalphError):
    """A signal ended the worker."""

    exit_code = STOPPED


def run(context: FleetContext, options: WorkerOptions) -> None:
    """Queue the tasks of all plans, and work on them here."""
    from sqlalchemy.exc import DBAPIError

    from ralph_ls.engine.fleet.planning import plan_fleet
    from ralph_ls.engine.fleet.worker import FleetWorker, is_run_over

    fleet = _fleet_of(context, options)
    _require_shared(context, fleet.repositories, submit=options.submit)
    ledger = context.ledger()
    run_id = plan_fleet(fleet, ledger, context.environment)
    n_open = sum(one["state"] != FleetTaskState.MERGED.value for one in ledger.tasks(run_id))
    print_text(f"Run {run_id}: {n_open} open tasks in {len(fleet.repositories)} repositories")
    if options.submit:
        print_text("They are queued. See: ralph fleet status")
        return
    # Remotes may be slow, and leases have to be renewed meanwhile.
    planning = Timer(REPLAN_SECONDS, lambda: None)

    def plan_again() -> None:
        try:
            plan_fleet(_fleet_of(context, options), ledger, context.environment)
        except RalphError as error:
            print_error(error.message)
        except DBAPIError:
            # The worker reports that; the plans are read again later.
            return

    def is_over() -> bool:
        nonlocal planning
        if options.until_done:
            return is_run_over(ledger, run_id)
        if not planning.is_alive():
            planning = Timer(REPLAN_SECONDS, plan_again)
            planning.daemon = True
            planning.start()
        return False

    def start() -> FleetWorker:
        return FleetWorker(
            context.address(),
            context.environment,
            report=print_text,
            may_push=context.may_push,
            on_change=partial(publish_waiting, context),
        )

    _run_worker(start, is_over)
    publish_waiting(context, ledger)
    print_status(context)
    waiting = [one for one in ledger.tasks(run_id) if one["state"] in WAITS_FOR_USER]
    if waiting:
        raise Unfinished(f"{len(waiting)} tasks wait for you; see: ralph fleet status")
    if ledger.awaited(run_id):
        raise Unfinished("tasks wait for a release of others; see: ralph fleet status")


def work(context: FleetContext, options: WorkerOptions) -> None:
    """Take tasks that others queued."""
    from ralph_ls.engine.fleet.durable import MOST_LABELS
    from ralph_ls.engine.fleet.worker import FleetWorker, is_run_over

    if options.lanes is not None:
        raise UsageError(
            "how many tasks each worker takes is the same for all: set lanes in fleet.toml, or "
            "give --lanes to ralph fleet run"
        )
    for label in options.labels:
        if not _LABEL.fullmatch(label):
            raise UsageError(f"--label {label!r}: write lower-case letters, digits, - and _")
    if len(options.labels) > MOST_LABELS:
        raise UsageError(f"a worker has at most {MOST_LABELS} labels")
    ledger = context.ledger()

    def start() -> FleetWorker:
        worker = FleetWorker(
            context.address(),
            context.environment,
            labels=options.labels,
            report=print_text,
            may_push=context.may_push,
            on_change=partial(publish_waiting, context),
        )
        print_text(f"Worker {worker.place.worker} takes tasks. Ctrl-C gives them back.")
        return worker

    def is_over() -> bool:
        if not options.until_done:
            return False
        run_id = ledger.last_run()
        return run_id is not None and is_run_over(ledger, run_id)

    _run_worker(start, is_over)


def migrate(context: FleetContext, words: tuple[str, ...]) -> None:
    """Make the tables of a Postgres database as their owner, and let a role use them."""
    from ralph_ls.engine.fleet.database import grant_worker, make_tables, open_engine
    from ralph_ls.engine.fleet.durable import make_queue_tables

    if len(words) > 1:
        raise UsageError("name one role: ralph fleet migrate ralph_worker")
    address = context.address()
    if address.startswith("sqlite"):
        raise UsageError(
            "the tables of this machine need no migration; name a Postgres database: "
            "ralph fleet migrate --database URL"
        )
    engine = open_engine(address)
    make_tables(engine)
    make_queue_tables(address, *words or (None,))
    for role in words:
        grant_worker(engine, role)
        print_text(f"{role} may work in this database.")
    engine.dispose()
    print_text("The tables are there.")


def _fleet_of(context: FleetContext, options: WorkerOptions) -> FleetFile:
    fleet = context.fleet()
    if options.lanes is None:
        return fleet
    if not 0 < options.lanes <= MOST_LANES:
        raise UsageError(f"--lanes must be from 1 to {MOST_LANES}")
    return fleet.model_copy(update={"lanes": options.lanes})


def _run_worker(start: Callable[[], FleetWorker], is_over: Callable[[], bool]) -> None:
    """Run a worker to its end; another one takes the place of one that was declared dead."""
    from ralph_ls.engine.fleet.worker import DeclaredDead

    interrupted: list[int] = []
    worker = start()

    def stop(number: int, _frame: object) -> None:
        interrupted.append(number)
        worker.stop()

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        while True:
            try:
                worker.run(is_over)
                break
            except DeclaredDead as error:
                print_error(error.message)
                if interrupted:
                    break
                worker = start()
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    if interrupted:
        raise WorkerStopped("stopped; tasks were given back with all that was committed")


def _require_shared(context: FleetContext, repositories: Any, *, submit: bool) -> None:
    """A folder of this machine cannot be cloned by workers elsewhere."""
    if not submit:
        return
    if context.address().startswith("sqlite"):
        raise UsageError(
            "--submit leaves the work to workers that share a Postgres database; name it with "
            "--database URL, or leave --submit out"
        )
    here = [name for name, one in repositories.items() if one.path is not None]
    if here:
        raise UsageError(
            f"{', '.join(here)}: workers on other machines cannot reach a folder of this one; give "
            "the url of a remote in fleet.toml, or leave --submit out"
        )
