"""Database of a fleet: its tables, in SQLite on one machine or in Postgres for several.

It has names, states, costs and hashes of approvals, and neither prompts nor code. All times are
those of the database's clock, in seconds since the epoch.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError

from ralph_ls.core.fleet_rules import FleetPlan, FleetTask, RepositoryRules
from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.fleet import FleetRepository, FleetRunState, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder

metadata = sa.MetaData()

RUNS = sa.Table(
    "ralph_fleet_runs",
    metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("state", sa.Text, nullable=False, default=FleetRunState.RUNNING.value),
    sa.Column("protocol", sa.Integer, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("lanes", sa.Integer, nullable=False),
    sa.Column("timezone", sa.Text, nullable=False),
    sa.Column("max_cost_usd", sa.Float),
    sa.Column("created_at", sa.Float, nullable=False),
)
REPOSITORIES = sa.Table(
    "ralph_fleet_repositories",
    metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
    sa.Column("approved", sa.JSON, nullable=False),
    sa.Column("base", sa.Text, nullable=False),
    sa.Column("failures", sa.Integer, nullable=False, default=0),
    sa.Column("problem", sa.Text),
)
TASKS = sa.Table(
    "ralph_fleet_tasks",
    metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),
    sa.Column("repository", sa.Text, nullable=False),
    sa.Column("id", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("hints", sa.JSON, nullable=False),
    sa.Column("state", sa.Text, nullable=False, default=FleetTaskState.WAITING.value),
    # Its turn in the queue, and the last turn that is known to be in there.
    sa.Column("turn", sa.Integer, nullable=False, default=0),
    sa.Column("queued_turn", sa.Integer, nullable=False, default=0),
    # The lease: who works on it, and how often a worker has taken it.
    sa.Column("epoch", sa.Integer, nullable=False, default=0),
    sa.Column("worker", sa.Text),
    # What was pushed, and by which attempt.
    sa.Column("head", sa.Text),
    sa.Column("head_epoch", sa.Integer),
    sa.Column("tries", sa.Integer, nullable=False, default=0),
    sa.Column("refusals", sa.Integer, nullable=False, default=0),
    sa.Column("note", sa.Text),
    sa.Column("message", sa.Text),
    # Every commit that a merge of it was about to move the branch to.
    sa.Column("merge_heads", sa.JSON, nullable=False, default=list),
    sa.Column("merged", sa.Text),
    sa.Column("iterations", sa.Integer, nullable=False, default=0),
    sa.Column("cost_usd", sa.Float, nullable=False, default=0.0),
    sa.Column("changed_at", sa.Float, nullable=False, default=0.0),
    sa.Index("ralph_fleet_tasks_state", "run", "state"),
)
RELEASES = sa.Table(
    "ralph_fleet_releases",
    metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("task", sa.Text, primary_key=True),
    # The tag or branch that has the task's commits.
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("released_at", sa.Float, nullable=False),
)
NOTICES = sa.Table(
    "ralph_fleet_notices",
    metadata,
    # A task with its epoch, or a whole run with the sum of its tasks' turns.
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
)
WORKERS = sa.Table(
    "ralph_fleet_workers",
    metadata,
    sa.Column("worker", sa.Text, primary_key=True),
    sa.Column("labels", sa.JSON, nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("protocol", sa.Integer, nullable=False),
    sa.Column("seen_at", sa.Float, nullable=False),
    # The worker that takes over what this one had, and since when.
    sa.Column("heir", sa.Text),
    sa.Column("heir_at", sa.Float),
)

_MIGRATION_LOCK = 7_241_705_330

_NETWORK = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
_SERVER_NETWORK = (
    "idle_in_transaction_session_timeout = 30000",
    "tcp_keepalives_idle = 5",
    "tcp_keepalives_interval = 2",
    "tcp_keepalives_count = 3",
    "tcp_user_timeout = 10000",
)

WORKER_RIGHTS = (
    "USAGE ON SCHEMA public",
    "SELECT, UPDATE (state) ON ralph_fleet_runs",
    "SELECT, UPDATE (failures) ON ralph_fleet_repositories",
    "SELECT, UPDATE ON ralph_fleet_tasks",
    "SELECT, INSERT, UPDATE, DELETE ON ralph_fleet_workers",
    "SELECT, INSERT, DELETE ON ralph_fleet_releases",
    "SELECT, INSERT ON ralph_fleet_notices",
)
"""Rights of the role of workers, beside those on the tables of DBOS."""

LOCK_SECONDS = 0.1
"""How often the right to make tables is asked for."""


def open_engine(address: str) -> sa.Engine:
    """A connection pool for an address; raises ``UsageError`` for one that is no database's."""
    try:
        url = sa.make_url(address)
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            "the database's address cannot be read; write it as postgresql://USER@HOST/NAME"
        ) from error
    if url.drivername.startswith("sqlite"):
        if url.database:
            path = Path(url.database)
            make_private_folder(path.parent)
            path.touch(mode=PRIVATE_FILE)
        engine = sa.create_engine(url, connect_args={"timeout": 30})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if not url.drivername.startswith("postgres"):
        raise UsageError(
            f"{url.drivername} is no database that a fleet can use; write postgresql://…"
        )
    url = url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(
        url, pool_pre_ping=True, pool_size=5, max_overflow=20, connect_args=connect_args(address)
    )
    event.listen(engine, "connect", _set_up_postgres)
    return engine


def connect_args(address: str) -> dict[str, Any]:
    """Options that notice a lost network within seconds, except those that an address sets."""
    url = sa.make_url(address)
    if not url.drivername.startswith("postgres"):
        return {}
    return {name: value for name, value in _NETWORK.items() if name not in url.query}


def dbos_address(address: str) -> str:
    """The address as DBOS takes it."""
    url = sa.make_url(address)
    if url.drivername.startswith("postgres"):
        url = url.set(drivername="postgresql")
    return url.render_as_string(hide_password=False)


def shown_address(address: str) -> str:
    """The address without its password."""
    try:
        return sa.make_url(address).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "?"


@contextlib.contextmanager
def migrating(engine: sa.Engine) -> Iterator[None]:
    """Let no other process make tables meanwhile: two at once fail.

    The lock is asked for repeatedly, and without a transaction: a process that waited inside one
    would hold up the indexes that the lock's holder makes.
    """
    if engine.dialect.name != "postgresql":
        yield
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        ask = sa.select(sa.func.pg_try_advisory_lock(_MIGRATION_LOCK))
        while not connection.execute(ask).scalar():
            threading.Event().wait(LOCK_SECONDS)
        try:
            yield
        finally:
            connection.execute(sa.select(sa.func.pg_advisory_unlock(_MIGRATION_LOCK)))


def make_tables(engine: sa.Engine) -> None:
    """Make the tables, unless they are there; raises a ``RalphError`` without a database."""
    try:
        known = set(sa.inspect(engine).get_table_names())
        if not set(metadata.tables) <= known:
            with migrating(engine), engine.begin() as connection:
                metadata.create_all(connection)
    except OperationalError as error:
        raise unreachable(engine, error) from error


def grant_worker(engine: sa.Engine, role: str) -> None:
    """Give a role of Postgres what a worker needs of the tables, and nothing to decide with.

    It can change states and leases. It can neither queue tasks nor change what repositories run,
    where they are, and what is approved.
    """
    quote = engine.dialect.identifier_preparer.quote_identifier
    with engine.begin() as connection:
        grants = [f"CONNECT ON DATABASE {quote(engine.url.database or '')}", *WORKER_RIGHTS]
        for right in grants:
            connection.execute(sa.text(f"GRANT {right} TO {quote(role)}"))


def unreachable(engine: sa.Engine, error: Exception) -> RalphError:
    """The error for a database that does not answer."""
    why = " ".join(str(getattr(error, "orig", error)).split())[:300]
    shown = engine.url.render_as_string(hide_password=True)
    return RalphError(
        f"the fleet's database {shown} cannot be used: {why}; check that it runs and that its "
        "address, user and password are right"
    )


@contextlib.contextmanager
def database_errors(address: Callable[[], str]) -> Iterator[None]:
    """Turn errors of the database into ones for users."""
    try:
        yield
    except DBAPIError as error:
        raise unreachable(open_engine(address()), error) from error


def now_of(engine: sa.Engine) -> sa.ColumnElement[float]:
    """The database's clock, in seconds since the epoch."""
    if engine.dialect.name == "postgresql":
        return sa.cast(sa.extract("epoch", sa.func.clock_timestamp()), sa.Float)
    return (sa.func.julianday("now") - 2440587.5) * 86400.0


def _set_up_postgres(connection: Any, _record: object) -> None:
    # The server ends the transactions of a worker that is gone: they have locks.
    with connection.cursor() as cursor:
        for setting in _SERVER_NETWORK:
            cursor.execute(f"SET {setting}")
    connection.commit()


def _set_up_sqlite(connection: Any, _record: object) -> None:
    # Python's own transactions begin too late for a read that a write rests on.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA busy_timeout=30000")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def settings_of(row: sa.RowMapping) -> FleetRepository:
    """Settings of a repository; raises a ``RalphError`` for those of a newer version."""
    try:
        return FleetRepository.model_validate(row["settings"])
    except ValidationError as error:
        keys = ", ".join(str(one["loc"][0]) for one in error.errors() if one["loc"])
        raise RalphError(
            f"the fleet has settings for {row['name']} that this version of ralph does not know "
            f"({keys}); update ralph here"
        ) from error


def plan_of(tasks: Iterable[sa.RowMapping], repositories: Iterable[sa.RowMapping]) -> FleetPlan:
    """What the schedule looks at."""
    rules = {}
    for row in repositories:
        settings = settings_of(row)
        rules[row["name"]] = RepositoryRules(
            lanes=settings.lanes,
            max_failures=settings.max_failures,
            hours=settings.opening_hours,
            failures=row["failures"],
            release=settings.release,
        )
    return FleetPlan(tasks=[fleet_task(row) for row in tasks], rules=rules)


def fleet_task(row: sa.RowMapping) -> FleetTask:
    """A task as the schedule knows it."""
    hints = row["hints"]
    return FleetTask(
        repository=row["repository"],
        state=FleetTaskState(row["state"]),
        foreign=frozenset(hints["foreign"]),
        is_released=row["released"] is not None,
        task=OpenTask(
            task=TaskRef(id=row["id"], title=row["title"]),
            waits_for=frozenset(hints["waitsFor"]),
            files=frozenset(hints["files"]),
            is_alone=hints["isAlone"],
            barrier=hints["barrier"],
        ),
    )


def hints_of(task: FleetTask) -> dict[str, Any]:
    """What a task's row keeps for the schedule."""
    return {
        "foreign": sorted(task.foreign),
        "waitsFor": sorted(task.task.waits_for),
        "files": sorted(task.task.files),
        "isAlone": task.task.is_alone,
        "barrier": task.task.barrier,
    }
