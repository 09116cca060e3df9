"""Rows of the database as the schedule knows them, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError

from ralph_ls.core.fleet.schedule import FleetPlan, FleetTask, RepositoryRules
from ralph_ls.core.loop.lane_inputs import OpenTask
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetRepository, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef


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
