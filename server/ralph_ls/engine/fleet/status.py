"""Status of a fleet: what its database says, for ``ralph fleet status``."""

from __future__ import annotations

from datetime import UTC, datetime

from ralph_ls.core.fleet.schedule import AT_WORK
from ralph_ls.engine.fleet.database import shown_address
from ralph_ls.engine.fleet.ledger import Ledger, plan_of
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.protocol.fleet import (
    FleetRepositoryView,
    FleetRunState,
    FleetStatus,
    FleetTaskState,
    FleetTaskView,
    FleetWorkerView,
)


def status_of(ledger: Ledger, address: str) -> FleetStatus:
    """The newest run, its tasks, and the workers of its database."""
    run = ledger.last_run()
    shown = shown_address(address)
    workers = tuple(
        FleetWorkerView(
            worker=row["worker"],
            labels=tuple(row["labels"]),
            seen=datetime.fromtimestamp(row["seen_at"], UTC),
            version=row["version"],
        )
        for row in Roster(ledger.engine).workers()
    )
    if run is None:
        return FleetStatus(database=shown, workers=workers)
    rows = ledger.tasks(run)
    repositories = ledger.repositories(run)
    plan = plan_of(rows, repositories.values())
    unmerged = {one.key for one in plan.tasks if one.state is not FleetTaskState.MERGED}
    tasks = tuple(
        FleetTaskView(
            task=row["task"],
            title=row["title"],
            state=one.state,
            waits_for=_waits_for(one.foreign, one.repository, one.task.waits_for, unmerged)
            if one.state is FleetTaskState.WAITING
            else (),
            worker=row["worker"],
            epoch=row["epoch"],
            iterations=row["iterations"],
            cost_usd=round(row["cost_usd"], 4),
            message=row["message"],
            commit=row["merged"],
        )
        for row, one in zip(rows, plan.tasks, strict=True)
    )
    return FleetStatus(
        run=run,
        state=FleetRunState(ledger.run_row(run)["state"]),
        database=shown,
        cost_usd=round(sum(row["cost_usd"] for row in rows), 4),
        repositories=tuple(
            FleetRepositoryView(
                name=name,
                onto=row["settings"]["onto"],
                merged=sum(
                    one.state is FleetTaskState.MERGED
                    for one in plan.tasks
                    if one.repository == name
                ),
                total=sum(
                    one.state is not FleetTaskState.DROPPED
                    for one in plan.tasks
                    if one.repository == name
                ),
                breaker="open" if plan.rules[name].is_open else "closed",
                problem=f"its last {row['failures']} tasks were parked; ralph fleet retry"
                if plan.rules[name].is_open
                else None,
            )
            for name, row in sorted(repositories.items())
        ),
        tasks=tasks,
        workers=tuple(
            one.model_copy(
                update={
                    "tasks": tuple(
                        task.task
                        for task in tasks
                        if task.worker == one.worker and task.state in AT_WORK
                    )
                }
            )
            for one in workers
        ),
    )


def _waits_for(
    foreign: frozenset[str], repository: str, own: frozenset[str], unmerged: set[str]
) -> tuple[str, ...]:
    keys = {*foreign, *(f"{repository}#{task}" for task in own)}
    return tuple(sorted(keys & unmerged))
