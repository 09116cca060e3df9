"""Roster of a fleet's workers: signs of life, leases, and who takes over from whom."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from ralph_ls.engine.fleet.database import TASKS, WORKERS, now_of
from ralph_ls.protocol.fleet import FLEET_PROTOCOL, FleetTaskState

State = FleetTaskState


class Roster:
    """The workers of one fleet's database; its methods may be called in any thread."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self._now = now_of(engine)

    def workers(self) -> Sequence[sa.RowMapping]:
        """The workers that gave a sign of life."""
        with self.engine.begin() as connection:
            return (
                connection.execute(sa.select(WORKERS).order_by(WORKERS.c.worker)).mappings().all()
            )

    def join(self, worker: str, labels: Sequence[str], version: str) -> None:
        """Add a worker."""
        with self.engine.begin() as connection:
            connection.execute(
                sa.insert(WORKERS).values(
                    worker=worker,
                    labels=list(labels),
                    version=version,
                    protocol=FLEET_PROTOCOL,
                    seen_at=self._now,
                )
            )

    def leave(self, worker: str) -> None:
        """Remove a worker; tasks that it still had are for others."""
        with self.engine.begin() as connection:
            self._lose(connection, worker)
            connection.execute(sa.delete(WORKERS).where(WORKERS.c.worker == worker))

    def renew(self, worker: str) -> frozenset[tuple[str, str, int]] | None:
        """Give a sign of life; the leases that the worker has: run, task and epoch.

        None where it was declared dead.
        """
        with self.engine.begin() as connection:
            changed = connection.execute(
                sa.update(WORKERS)
                .where(WORKERS.c.worker == worker, WORKERS.c.heir.is_(None))
                .values(seen_at=self._now)
            )
            if not changed.rowcount:
                return None
            query = sa.select(TASKS.c.run, TASKS.c.task, TASKS.c.epoch).where(
                TASKS.c.worker == worker, TASKS.c.state == State.WORKING.value
            )
            return frozenset((row.run, row.task, row.epoch) for row in connection.execute(query))

    def bury(self, heir: str, patience: float) -> list[str]:
        """Declare workers dead that gave no sign of life for so many seconds; those to inherit.

        Their tasks are for others at once, with a new epoch. An heir that dies has an heir, too.
        """
        with self.engine.begin() as connection:
            silent = WORKERS.c.seen_at < self._now - patience
            free = sa.or_(WORKERS.c.heir.is_(None), WORKERS.c.heir_at < self._now - patience)
            found = connection.execute(
                sa.update(WORKERS)
                .where(WORKERS.c.worker != heir, silent, free)
                .values(heir=heir, heir_at=self._now)
                .returning(WORKERS.c.worker)
            ).scalars()
            dead = sorted(found)
            for worker in dead:
                self._lose(connection, worker)
        return dead

    def forget_worker(self, worker: str) -> None:
        """Remove a dead worker whose heir has all that it had."""
        with self.engine.begin() as connection:
            connection.execute(sa.delete(WORKERS).where(WORKERS.c.worker == worker))

    def _lose(self, connection: sa.Connection, worker: str) -> None:
        connection.execute(
            sa.update(TASKS)
            .where(TASKS.c.worker == worker, TASKS.c.state == State.WORKING.value)
            .values(
                state=State.WAITING.value,
                epoch=TASKS.c.epoch + 1,
                worker=None,
                changed_at=self._now,
            )
        )
