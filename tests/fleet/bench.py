"""Benchmark of a fleet's queue: how many tasks a second pass through it, without agents.

``python -m tests.fleet.bench --tasks 1000 --workers 50`` starts a private Postgres and forks that
many workers, whose attempts and merges take no time but the changes in the database that they are.
With ``--tasks 0`` it measures what idle workers cost.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from typing import Any

import psutil
import sqlalchemy as sa

from ralph_ls.core.fleet_rules import FleetTask
from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.engine.fleet import durable
from ralph_ls.engine.fleet.database import TASKS, make_tables, open_engine
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.place import WorkerPlace
from ralph_ls.engine.fleet.worker import FleetWorker
from ralph_ls.protocol.fleet import FleetRepository, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef
from tests.fleet.cluster import Cluster

RUN = "20261128T120000Z-0001"
N_REPOSITORIES = 10
HEAD = "a" * 40


def attempt_at_once(place: WorkerPlace, run: str, task: str, turn: int) -> None:
    """An attempt whose agent takes no time."""
    row = place.ledger.take(run, task, turn, place.worker)
    if row is not None:
        place.ledger.pushed(run, task, row["epoch"], HEAD)
        place.ledger.finished(run, task, row["epoch"])


def merge_at_once(place: WorkerPlace, run: str, task: str, turn: int) -> None:
    """A merge whose rebase, validation and push take no time."""
    row = place.ledger.task(run, task)
    if row is not None and row["turn"] == turn:
        place.ledger.begin_merge(run, task, row["epoch"], HEAD)
        place.ledger.merged(run, task, row["epoch"], HEAD)


def submit(ledger: Ledger, n_tasks: int) -> None:
    """Put independent tasks of ten repositories into the database."""
    values = {"version": "bench", "lanes": 2, "timezone": "UTC", "max_cost_usd": None}
    ledger.open_run(RUN, values)
    for number in range(N_REPOSITORIES):
        name = f"r{number}"
        settings = FleetRepository(path=f"/{name}", lanes=64)
        kept = settings.model_dump(mode="json", exclude={"approved"})
        row = {"address": name, "settings": kept, "approved": {}, "base": HEAD}
        ledger.put_repository(RUN, name, row)
        tasks = [
            FleetTask(
                repository=name,
                state=FleetTaskState.WAITING,
                task=OpenTask(task=TaskRef(id=f"T{one}", title=f"Task {one}")),
            )
            for one in range(number, n_tasks, N_REPOSITORIES)
        ]
        ledger.put_tasks(RUN, name, tasks)


def fork_worker(address: str) -> int:
    """A worker in a process that shares what this one has imported."""
    pid = os.fork()
    if pid:
        return pid
    for name, at_once in (("attempt_task", attempt_at_once), ("merge_task", merge_at_once)):
        setattr(durable, name, at_once)
    worker = FleetWorker(address, os.environ, report=note)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    try:
        worker.run(lambda: False)
    finally:
        os._exit(0)


def note(message: str) -> None:
    """Print what a worker reports beside the states of tasks."""
    if " · " not in message:
        sys.stderr.write(f"{message}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20.0, help="of an idle fleet")
    given: Any = parser.parse_args()
    cluster = Cluster()
    engine = open_engine(cluster.address)
    make_tables(engine)
    ledger = Ledger(engine)
    pids = []
    try:
        engine.dispose()
        began = time.monotonic()
        pids = [fork_worker(cluster.address) for _ in range(given.workers)]
        while len(_workers(ledger)) < given.workers:
            time.sleep(0.1)
        print(f"{given.workers} workers joined in {time.monotonic() - began:.1f} s")
        if given.tasks:
            measure(ledger, given.tasks)
        else:
            idle(cluster, pids, given.seconds)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        engine.dispose()
        cluster.close()


def measure(ledger: Ledger, n_tasks: int) -> None:
    """Print how long it takes until all tasks are merged."""
    submit(ledger, n_tasks)
    began = time.monotonic()
    merged = 0
    while merged < n_tasks:
        time.sleep(0.5)
        with ledger.engine.begin() as connection:
            query = sa.select(sa.func.count()).where(TASKS.c.state == FleetTaskState.MERGED.value)
            merged = connection.execute(query).scalar_one()
        sys.stderr.write(f"\r{merged} ")
    seconds = time.monotonic() - began
    print(f"{n_tasks} tasks merged in {seconds:.1f} s: {n_tasks / seconds:.1f} a second")


def idle(cluster: Cluster, pids: list[int], seconds: float) -> None:
    """Print what workers without tasks cost."""
    processes = [psutil.Process(pid) for pid in pids]
    postgres = [one for one in psutil.process_iter() if str(cluster.data) in " ".join(cmdline(one))]
    server = [child for one in postgres for child in (one, *one.children(recursive=True))]
    before = cpu_of(processes), cpu_of(server)
    time.sleep(seconds)
    own, theirs = cpu_of(processes) - before[0], cpu_of(server) - before[1]
    print(
        f"idle: {own / seconds / len(pids) * 100:.2f} % of a core a worker, "
        f"{theirs / seconds * 100:.1f} % of a core for Postgres"
    )


def cmdline(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def cpu_of(processes: list[psutil.Process]) -> float:
    total = 0.0
    for one in processes:
        try:
            times = one.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system
    return total


def _workers(ledger: Ledger) -> list[Any]:
    from ralph_ls.engine.fleet.roster import Roster

    return list(Roster(ledger.engine).workers())


if __name__ == "__main__":
    main()
