"""Ledger of a fleet: its runs, repositories and tasks, and the turns that tasks take in the queue.

How one task changes is in ``task_changes``, who works is in ``roster``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from ralph_ls.core.fleet_rules import FleetTask, awaited_releases, releasable
from ralph_ls.engine.fleet.database import RELEASES, REPOSITORIES, RUNS, TASKS, hints_of, plan_of
from ralph_ls.engine.fleet.task_changes import TaskChanges
from ralph_ls.protocol.fleet import (
    FleetRunState,
    FleetTaskState,
)

State = FleetTaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A task's turn in the queue."""

    run: str
    task: str
    turn: int
    repository: str
    state: FleetTaskState
    labels: tuple[str, ...]
    priority: int
    protocol: int


class Ledger(TaskChanges):
    """The tasks of all runs of one fleet's database; its methods may be called in any thread."""

    # Runs

    def active_run(self) -> str | None:
        """The newest run that has not ended."""
        with self.engine.begin() as connection:
            return connection.execute(
                sa.select(RUNS.c.run)
                .where(RUNS.c.state != FleetRunState.ENDED.value)
                .order_by(RUNS.c.created_at.desc())
                .limit(1)
            ).scalar()

    def last_run(self) -> str | None:
        """The newest run, ended or not."""
        with self.engine.begin() as connection:
            query = sa.select(RUNS.c.run).order_by(RUNS.c.created_at.desc()).limit(1)
            return connection.execute(query).scalar()

    def run_row(self, run: str) -> sa.RowMapping:
        """A run's row; it exists."""
        with self.engine.begin() as connection:
            return connection.execute(sa.select(RUNS).where(RUNS.c.run == run)).mappings().one()

    def live_runs(self) -> Sequence[sa.RowMapping]:
        """The runs that have not ended."""
        with self.engine.begin() as connection:
            query = sa.select(RUNS).where(RUNS.c.state != FleetRunState.ENDED.value)
            return connection.execute(query).mappings().all()

    def open_run(self, run: str, values: Mapping[str, Any]) -> None:
        """Add a run, or let one continue with other limits."""
        with self.engine.begin() as connection:
            values = {"protocol": 1, **values}
            changed = connection.execute(
                sa.update(RUNS)
                .where(RUNS.c.run == run)
                .values(state=FleetRunState.RUNNING.value, **values)
            )
            if not changed.rowcount:
                connection.execute(
                    sa.insert(RUNS).values(
                        run=run,
                        state=FleetRunState.RUNNING.value,
                        created_at=self._now,
                        **values,
                    )
                )

    def set_run_state(self, run: str, state: FleetRunState) -> None:
        """Stop, drain, end or continue a run; tasks that are only in the queue wait again."""
        with self.engine.begin() as connection:
            connection.execute(sa.update(RUNS).where(RUNS.c.run == run).values(state=state.value))
            if state is not FleetRunState.RUNNING:
                connection.execute(
                    sa.update(TASKS)
                    .where(TASKS.c.run == run, TASKS.c.state == State.READY.value)
                    .values(state=State.WAITING.value, changed_at=self._now)
                )

    # Plans

    def put_repository(self, run: str, name: str, values: Mapping[str, Any]) -> None:
        """Add a repository, or change what is known of it."""
        with self.engine.begin() as connection:
            key = (REPOSITORIES.c.run == run, REPOSITORIES.c.name == name)
            changed = connection.execute(sa.update(REPOSITORIES).where(*key).values(**values))
            if not changed.rowcount:
                connection.execute(
                    sa.insert(REPOSITORIES).values(run=run, name=name, failures=0, **values)
                )

    def put_tasks(self, run: str, repository: str, tasks: Sequence[FleetTask]) -> None:
        """Take over the open tasks of a plan: new ones wait, those that are gone are dropped."""
        with self.engine.begin() as connection:
            known = {
                row.task: State(row.state)
                for row in connection.execute(
                    sa.select(TASKS.c.task, TASKS.c.state).where(
                        TASKS.c.run == run, TASKS.c.repository == repository
                    )
                )
            }
            for position, one in enumerate(tasks):
                values = {
                    "title": one.task.task.title,
                    "position": position,
                    "hints": hints_of(one),
                    "changed_at": self._now,
                }
                key = (TASKS.c.run == run, TASKS.c.task == one.key)
                if one.key not in known:
                    connection.execute(
                        sa.insert(TASKS).values(
                            run=run,
                            task=one.key,
                            repository=repository,
                            id=one.task.task.id,
                            state=State.WAITING.value,
                            merge_heads=[],
                            **values,
                        )
                    )
                    continue
                if known[one.key] is State.DROPPED:
                    values["state"] = State.WAITING.value
                connection.execute(sa.update(TASKS).where(*key).values(**values))
            gone = set(known) - {one.key for one in tasks}
            for task in gone:
                connection.execute(
                    sa.update(TASKS)
                    .where(
                        TASKS.c.run == run,
                        TASKS.c.task == task,
                        TASKS.c.state.in_((State.WAITING.value, State.READY.value)),
                    )
                    .values(state=State.DROPPED.value, changed_at=self._now)
                )

    def repositories(self, run: str) -> dict[str, sa.RowMapping]:
        """The repositories of a run, by name."""
        with self.engine.begin() as connection:
            query = sa.select(REPOSITORIES).where(REPOSITORIES.c.run == run)
            return {row["name"]: row for row in connection.execute(query).mappings()}

    def tasks(self, run: str) -> Sequence[sa.RowMapping]:
        """The tasks of a run, in the order of their plans."""
        with self.engine.begin() as connection:
            return _tasks_of(connection, run)

    def changed_tasks(self, run: str, since: float) -> Sequence[sa.RowMapping]:
        """The tasks that changed at or after a moment of the database's clock."""
        with self.engine.begin() as connection:
            query = sa.select(TASKS).where(TASKS.c.run == run, TASKS.c.changed_at >= since)
            return connection.execute(query.order_by(TASKS.c.changed_at)).mappings().all()

    def awaited(self, run: str) -> Sequence[sa.RowMapping]:
        """Merged tasks that tasks of other repositories wait for until they are released."""
        tasks = self.tasks(run)
        keys = awaited_releases(plan_of(tasks, self.repositories(run).values()))
        return [row for row in tasks if row["task"] in keys]

    def released(self, run: str, task: str, name: str) -> None:
        """Note that tasks of other repositories may start that wait for this one."""
        key = (RELEASES.c.run == run, RELEASES.c.task == task)
        with self.engine.begin() as connection:
            connection.execute(sa.delete(RELEASES).where(*key))
            row = {"run": run, "task": task, "name": name, "released_at": self._now}
            connection.execute(sa.insert(RELEASES).values(**row))

    # The queue

    def release(self, run: str) -> bool:
        """Put every task into the queue that may start now.

        One worker at a time does; False where another one did, which may have missed a change.
        """
        with self.engine.begin() as connection:
            query = sa.select(RUNS).where(RUNS.c.run == run).with_for_update(skip_locked=True)
            row = connection.execute(query).mappings().one_or_none()
            if row is None:
                return False
            if row["state"] != FleetRunState.RUNNING.value:
                return True
            tasks = _tasks_of(connection, run)
            spent = sum(one["cost_usd"] for one in tasks)
            if row["max_cost_usd"] is not None and spent >= row["max_cost_usd"]:
                return True
            query = sa.select(REPOSITORIES).where(REPOSITORIES.c.run == run)
            repositories = connection.execute(query).mappings().all()
            now = connection.execute(sa.select(self._now)).scalar_one()
            local = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(row["timezone"]))
            for task in releasable(plan_of(tasks, repositories), local):
                self._to_turn(connection, run, task, (State.WAITING,), State.READY)
        return True

    def open_turns(self, run: str) -> Sequence[Turn]:
        """The turns that may not be in the queue yet."""
        with self.engine.begin() as connection:
            query = (
                sa.select(TASKS, REPOSITORIES.c.settings, RUNS.c.protocol)
                .join(
                    REPOSITORIES,
                    sa.and_(
                        REPOSITORIES.c.run == TASKS.c.run,
                        REPOSITORIES.c.name == TASKS.c.repository,
                    ),
                )
                .join(RUNS, RUNS.c.run == TASKS.c.run)
                .where(
                    TASKS.c.run == run,
                    TASKS.c.turn > TASKS.c.queued_turn,
                    TASKS.c.state.in_((State.READY.value, State.QUEUED.value, State.MERGING.value)),
                )
                .order_by(TASKS.c.repository, TASKS.c.position)
            )
            rows = connection.execute(query).mappings().all()
        return [
            Turn(
                run=run,
                task=row["task"],
                turn=row["turn"],
                repository=row["repository"],
                state=State(row["state"]),
                labels=tuple(sorted(row["settings"].get("labels", ()))),
                priority=row["settings"].get("priority", 5),
                protocol=row["protocol"],
            )
            for row in rows
        ]

    def is_queued(self, turn: Turn) -> None:
        """Note that a turn is in the queue."""
        with self.engine.begin() as connection:
            connection.execute(
                sa.update(TASKS)
                .where(
                    TASKS.c.run == turn.run,
                    TASKS.c.task == turn.task,
                    TASKS.c.queued_turn < turn.turn,
                )
                .values(queued_turn=turn.turn)
            )

    def overdue(self, run: str, seconds: float) -> Sequence[sa.RowMapping]:
        """Tasks that have been in the queue, or about to be merged, for so long."""
        with self.engine.begin() as connection:
            query = sa.select(TASKS).where(
                TASKS.c.run == run,
                TASKS.c.state.in_((State.READY.value, State.QUEUED.value, State.MERGING.value)),
                TASKS.c.changed_at < self._now - seconds,
                TASKS.c.turn == TASKS.c.queued_turn,
            )
            return connection.execute(query).mappings().all()

    def new_turn(self, run: str, task: str, turn: int) -> None:
        """Give a task another turn whose last one came to nothing."""
        with self.engine.begin() as connection:
            connection.execute(
                sa.update(TASKS)
                .where(TASKS.c.run == run, TASKS.c.task == task, TASKS.c.turn == turn)
                .values(turn=turn + 1, changed_at=self._now)
            )

    def _to_turn(
        self,
        connection: sa.Connection,
        run: str,
        task: str,
        was: Sequence[FleetTaskState],
        state: FleetTaskState,
    ) -> None:
        connection.execute(
            sa.update(TASKS)
            .where(
                TASKS.c.run == run,
                TASKS.c.task == task,
                TASKS.c.state.in_([one.value for one in was]),
            )
            .values(state=state.value, turn=TASKS.c.turn + 1, changed_at=self._now)
        )


def _tasks_of(connection: sa.Connection, run: str) -> Sequence[sa.RowMapping]:
    is_same = sa.and_(RELEASES.c.run == TASKS.c.run, RELEASES.c.task == TASKS.c.task)
    query = (
        sa.select(TASKS, RELEASES.c.name.label("released"))
        .join(RELEASES, is_same, isouter=True)
        .where(TASKS.c.run == run)
        .order_by(TASKS.c.repository, TASKS.c.position)
    )
    return connection.execute(query).mappings().all()
