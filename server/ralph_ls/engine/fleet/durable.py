"""Queue of a fleet: the two workflows of DBOS, of which each task has one or the other in turn.

DBOS keeps the queue, how many of it a worker may have, and that each workflow runs to its end. A
workflow is named by the task's turn, so putting it into the queue again changes nothing, and it
can be run again: an attempt or a merge whose turn is over does nothing. Queues are named by
protocol and labels: a worker listens to those that it can serve and to no others.
"""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from dbos import DBOS, DBOSConfig, Serializer, SetEnqueueOptions, SetWorkflowID, WorkflowStatus

from ralph_ls.engine.fleet.attempt import attempt_task
from ralph_ls.engine.fleet.database import connect_args, dbos_address, migrating
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.merge import merge_task
from ralph_ls.engine.fleet.place import WorkerPlace
from ralph_ls.protocol.fleet import FLEET_PROTOCOL, FleetTaskState

NAME = "ralph-fleet"

MOST_LABELS = 6
"""Labels of a worker: it listens to a queue for each selection of them."""

MOST_AT_ONCE = 100
"""Turns that one worker puts into the queue before it does something else."""

_ENDED = frozenset({"SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"})


class _Here:
    """The worker of this process, as DBOS knows one for each process."""

    place: WorkerPlace | None = None


class JsonSerializer(Serializer):
    """Arguments of workflows as JSON; the default format of DBOS can make a reader run programs."""

    def serialize(self, data: Any) -> str:
        return json.dumps(data, default=repr)

    def deserialize(self, serialized_data: str) -> Any:
        return json.loads(serialized_data)

    def name(self) -> str:
        return "ralph_json"


def _place() -> WorkerPlace:
    if _Here.place is None:
        raise AssertionError("the queue of this process was not opened")
    return _Here.place


@DBOS.workflow(name="ralph_work", max_recovery_attempts=1000)
def work(run: str, task: str, turn: int) -> None:
    """Work on a task."""
    place = _place()
    attempt_task(place, run, task, turn)
    place.changed.set()


@DBOS.workflow(name="ralph_merge", max_recovery_attempts=1000)
def merge(run: str, task: str, turn: int) -> None:
    """Merge a task."""
    place = _place()
    merge_task(place, run, task, turn)
    place.changed.set()


def open_queue(place: WorkerPlace, address: str, labels: Sequence[str]) -> None:
    """Take part in the queue as a worker with these labels."""
    _Here.place = place
    _registered.clear()
    # Before the settings are read, it would log to the terminal.
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    config: DBOSConfig = {
        "name": NAME,
        "system_database_url": dbos_address(address),
        "application_version": NAME,
        "executor_id": place.worker,
        "log_level": "CRITICAL",
        "serializer": JsonSerializer(),
        "sys_db_idle_transaction_timeout_sec": 30.0,
    }
    if network := connect_args(address):
        config["db_engine_kwargs"] = {"connect_args": {"application_name": NAME, **network}}
    DBOS(config=config)
    DBOS.listen_queues(listened_queues(labels))
    with migrating(place.ledger.engine):
        DBOS.launch()


def make_queue_tables(address: str, role: str | None) -> None:
    """Make or update the tables of DBOS, and let a role use them."""
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    DBOS.migrate(dbos_address(address), application_role=role)


def close_queue() -> None:
    """Leave the queue; what is in it stays."""
    DBOS.destroy(workflow_completion_timeout_sec=30)
    # They hold the error stream of the moment at which they were made.
    logging.getLogger("dbos").handlers.clear()


def queue_name(kind: str, protocol: int, labels: Iterable[str]) -> str:
    """The queue of a kind of workflow; tasks that need labels have separate ones."""
    suffix = "".join(f"+{label}" for label in sorted(labels))
    return f"ralph-{kind}-{protocol}{suffix}"


def listened_queues(labels: Sequence[str]) -> list[str]:
    """The queues that a worker with these labels serves, those of older protocols too."""
    chosen = [
        combination
        for size in range(len(labels) + 1)
        for combination in itertools.combinations(sorted(set(labels)), size)
    ]
    protocols = range(1, FLEET_PROTOCOL + 1)
    works = [queue_name("work", one, combination) for one in protocols for combination in chosen]
    return [*works, *(queue_name("merge", one, ()) for one in protocols)]


def enqueue_turns(ledger: Ledger, run: str, lanes: int) -> None:
    """Put turns into the queue that are not known to be in there.

    ``lanes`` is how many tasks each worker may have at a time.
    """
    for turn in ledger.open_turns(run)[:MOST_AT_ONCE]:
        is_merge = turn.state in {FleetTaskState.QUEUED, FleetTaskState.MERGING}
        kind, workflow = ("merge", merge) if is_merge else ("work", work)
        name = queue_name(kind, turn.protocol, () if is_merge else turn.labels)
        _register(name, lanes)
        # A queue that is new to DBOS is served a second later, so it is made known early.
        _register(queue_name("merge", turn.protocol, ()), lanes)
        options = (
            SetEnqueueOptions(queue_partition_key=f"{run}/{turn.repository}")
            if is_merge
            else SetEnqueueOptions(priority=turn.priority)
        )
        with SetWorkflowID(workflow_id(run, turn.task, turn.turn)), options:
            DBOS.enqueue_workflow(name, workflow, run, turn.task, turn.turn)
        ledger.is_queued(turn)


def workflow_id(run: str, task: str, turn: int) -> str:
    """The name of a task's turn in the queue."""
    return f"{run}/{task}/{turn}"


def find_lost_turns(ledger: Ledger, run: str, seconds: float) -> None:
    """Give a new turn to tasks that have waited so long for a workflow that is no longer there."""
    for row in ledger.overdue(run, seconds):
        status = DBOS.get_workflow_status(workflow_id(run, row["task"], row["turn"]))
        if status is None or status.status in _ENDED:
            ledger.new_turn(run, row["task"], row["turn"])


def inherit(worker: str) -> None:
    """Put what a dead worker had begun back into its queue."""
    _begin_again(DBOS.list_workflows(executor_id=worker, status="PENDING"))


def find_orphans(known: Callable[[], Collection[str]]) -> None:
    """Put what workers had begun that left without its end being noted back into its queue.

    The workers are asked for afterwards, so that one that has just joined is among them.
    """
    begun = DBOS.list_workflows(status="PENDING", load_input=False, load_output=False)
    if begun:
        workers = set(known())
        _begin_again([one for one in begun if one.executor_id not in workers])


def _begin_again(begun: Iterable[WorkflowStatus]) -> None:
    for status in begun:
        if status.queue_name is not None:
            DBOS.resume_workflow(status.workflow_id, queue_name=status.queue_name)


_registered: dict[str, int] = {}


def _register(name: str, lanes: int) -> None:
    if _registered.get(name) == lanes:
        return
    is_shared = _place().ledger.engine.dialect.name == "postgresql"
    seconds = POLL_SECONDS if is_shared else POLL_SECONDS_ALONE
    if name.startswith("ralph-merge"):
        # One merge at a time in each repository.
        DBOS.register_queue(name, partition_concurrency=1, polling_interval_sec=seconds)
    else:
        DBOS.register_queue(
            name,
            worker_concurrency=lanes,
            polling_interval_sec=seconds,
            on_conflict="always_update",
        )
    _registered[name] = lanes


POLL_SECONDS, POLL_SECONDS_ALONE = 1.0, 0.2
"""How often a worker looks for its next task, in a shared database and in a file."""
