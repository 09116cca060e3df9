"""Status of a fleet: what its database says, for ``ralph fleet status``."""

from __future__ import annotations

from collections.abc import Set
from datetime import UTC, datetime

from ralph_ls.core.fleet_rules import AT_WORK, FleetTask, awaited_releases, unreleased
from ralph_ls.engine.fleet.database import plan_of, settings_of, shown_address
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.protocol.fleet import (
    FleetRelease,
    FleetRepository,
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
    waited_for, awaited = unreleased(plan), set(awaited_releases(plan))
    settings = {name: settings_of(row) for name, row in repositories.items()}
    tasks = tuple(
        FleetTaskView(
            task=row["task"],
            title=row["title"],
            state=one.state,
            waits_for=_waits_for(one, unmerged, waited_for)
            if one.state is FleetTaskState.WAITING
            else (),
            released=row["released"],
            unreleased=_release_words(settings[one.repository]) if one.key in awaited else None,
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
                onto=settings[name].onto,
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


def _waits_for(task: FleetTask, unmerged: Set[str], waited_for: Set[str]) -> tuple[str, ...]:
    own = {f"{task.repository}#{one}" for one in task.task.waits_for}
    return tuple(sorted((own & unmerged) | (task.foreign & waited_for)))


def _release_words(settings: FleetRepository) -> str:
    if settings.release is FleetRelease.TAG:
        return f"no tag {settings.release_tags} of the remote has its commits yet"
    branch = settings.branch or "the branch that work starts from"
    return f"{branch} of the remote does not have its commits yet; ralph fleet publish"
