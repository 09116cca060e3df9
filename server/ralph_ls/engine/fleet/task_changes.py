"""Changes of a task's state, each one transaction.

A change names the state, and where a worker makes it the epoch, from which it leads: a worker that
has lost its task changes nothing. An epoch is given when a worker takes a task, and raised when
others take over from a worker that gave no sign of life.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from ralph_ls.engine.fleet.database import REPOSITORIES, RUNS, TASKS, WORKERS, now_of
from ralph_ls.protocol.fleet import FleetRunState, FleetTaskState

MOST_TRIES = 3
"""How often a task is tried again after an attempt that ended without a result."""

MOST_REFUSALS = 2
"""How often a merge is refused before the task is parked."""

State = FleetTaskState


class TaskChanges:
    """What may happen to a task; its methods may be called in any thread."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self._now = now_of(engine)

    def task(self, run: str, task: str) -> sa.RowMapping | None:
        """One task."""
        with self.engine.begin() as connection:
            query = sa.select(TASKS).where(TASKS.c.run == run, TASKS.c.task == task)
            return connection.execute(query).mappings().one_or_none()

    # An attempt

    def take(self, run: str, task: str, turn: int, worker: str) -> sa.RowMapping | None:
        """Take a task with a new epoch; None where its turn is over or its run is not running."""
        running = sa.select(RUNS.c.run).where(
            RUNS.c.run == run, RUNS.c.state == FleetRunState.RUNNING.value
        )
        # A worker that was declared dead takes nothing.
        alive = sa.select(WORKERS.c.worker).where(
            WORKERS.c.worker == worker, WORKERS.c.heir.is_(None)
        )
        with self.engine.begin() as connection:
            return (
                connection.execute(
                    sa.update(TASKS)
                    .where(
                        TASKS.c.run == run,
                        TASKS.c.task == task,
                        TASKS.c.turn == turn,
                        TASKS.c.state == State.READY.value,
                        sa.exists(running),
                        sa.exists(alive),
                    )
                    .values(
                        state=State.WORKING.value,
                        epoch=TASKS.c.epoch + 1,
                        worker=worker,
                        changed_at=self._now,
                    )
                    .returning(*TASKS.c)
                )
                .mappings()
                .one_or_none()
            )

    def pushed(self, run: str, task: str, epoch: int, head: str) -> bool:
        """Note what was pushed; whether the task is still the worker's."""
        return self._change(run, task, epoch, State.WORKING, head=head, head_epoch=epoch)

    def count(self, run: str, task: str, *, iterations: int, cost_usd: float) -> None:
        """Add what an attempt used; counted also where the task was lost."""
        with self.engine.begin() as connection:
            connection.execute(
                sa.update(TASKS)
                .where(TASKS.c.run == run, TASKS.c.task == task)
                .values(
                    iterations=TASKS.c.iterations + iterations,
                    cost_usd=TASKS.c.cost_usd + cost_usd,
                )
            )

    def finished(self, run: str, task: str, epoch: int) -> bool:
        """Queue the merge of a task that is done."""
        return self._change(
            run,
            task,
            epoch,
            State.WORKING,
            state=State.QUEUED.value,
            turn=TASKS.c.turn + 1,
            worker=None,
            note=None,
            message=None,
        )

    def give_back(self, run: str, task: str, epoch: int) -> bool:
        """Let a task wait again whose attempt was stopped."""
        return self._change(run, task, epoch, State.WORKING, state=State.WAITING.value, worker=None)

    def try_again(self, run: str, task: str, epoch: int, message: str) -> None:
        """Let a task wait whose attempt ended without a result; park it after the third."""
        row = self.task(run, task)
        if row is not None and row["tries"] + 1 >= MOST_TRIES:
            self.park(run, task, epoch, message)
            return
        self._change(
            run,
            task,
            epoch,
            State.WORKING,
            state=State.WAITING.value,
            worker=None,
            tries=TASKS.c.tries + 1,
            message=message,
        )

    def park(
        self,
        run: str,
        task: str,
        epoch: int,
        message: str,
        *,
        state: FleetTaskState = State.PARKED,
    ) -> None:
        """Leave a task to its user; counts as a failure of its repository, unless it asks."""
        was = (State.WORKING, State.QUEUED, State.MERGING)
        changed = self._change(
            run, task, epoch, *was, state=state.value, worker=None, message=message
        )
        if changed and state is State.PARKED:
            self._count_failure(run, task)

    # A merge

    def begin_merge(self, run: str, task: str, epoch: int, head: str) -> bool:
        """Note the commit that the branch is about to move to, before it does.

        From here on no other epoch of the task can be merged. False where it is not its turn.
        """
        with self.engine.begin() as connection:
            key = (TASKS.c.run == run, TASKS.c.task == task)
            query = sa.select(TASKS).where(*key).with_for_update()
            row = connection.execute(query).mappings().one()
            is_due = row["state"] in {State.QUEUED.value, State.MERGING.value}
            if not is_due or row["epoch"] != epoch:
                return False
            connection.execute(
                sa.update(TASKS)
                .where(*key)
                .values(
                    state=State.MERGING.value,
                    merge_heads=[*row["merge_heads"], head],
                    changed_at=self._now,
                )
            )
        return True

    def merged(self, run: str, task: str, epoch: int, head: str) -> bool:
        """Note that the branch has a task's commits, by the commit that it was moved to."""
        changed = self._change(
            run,
            task,
            epoch,
            State.MERGING,
            State.QUEUED,
            state=State.MERGED.value,
            merged=head,
            message=None,
        )
        if changed:
            with self.engine.begin() as connection:
                row = sa.select(TASKS.c.repository).where(TASKS.c.run == run, TASKS.c.task == task)
                connection.execute(
                    sa.update(REPOSITORIES)
                    .where(
                        REPOSITORIES.c.run == run,
                        REPOSITORIES.c.name == row.scalar_subquery(),
                    )
                    .values(failures=0)
                )
        return changed

    def refuse_merge(self, run: str, task: str, epoch: int, message: str) -> None:
        """Let a task be repaired whose merge was refused; park it the second time."""
        row = self.task(run, task)
        if row is not None and row["refusals"] + 1 >= MOST_REFUSALS:
            self.park(run, task, epoch, message)
            return
        self._change(
            run,
            task,
            epoch,
            State.QUEUED,
            State.MERGING,
            state=State.WAITING.value,
            refusals=TASKS.c.refusals + 1,
            note=message,
            message=message,
        )

    # The user

    def retry(self, run: str, tasks: Iterable[str], *, note: str | None = None) -> int:
        """Let parked tasks wait again; how many there were."""
        n_changed = 0
        with self.engine.begin() as connection:
            for task in tasks:
                states = (State.PARKED.value, State.ASKING.value)
                values: dict[str, Any] = {"note": note} if note is not None else {}
                changed = connection.execute(
                    sa.update(TASKS)
                    .where(TASKS.c.run == run, TASKS.c.task == task, TASKS.c.state.in_(states))
                    .values(
                        state=State.WAITING.value,
                        tries=0,
                        refusals=0,
                        message=None,
                        changed_at=self._now,
                        **values,
                    )
                )
                n_changed += changed.rowcount
            connection.execute(
                sa.update(REPOSITORIES).where(REPOSITORIES.c.run == run).values(failures=0)
            )
        return n_changed

    def _count_failure(self, run: str, task: str) -> None:
        with self.engine.begin() as connection:
            row = sa.select(TASKS.c.repository).where(TASKS.c.run == run, TASKS.c.task == task)
            connection.execute(
                sa.update(REPOSITORIES)
                .where(REPOSITORIES.c.run == run, REPOSITORIES.c.name == row.scalar_subquery())
                .values(failures=REPOSITORIES.c.failures + 1)
            )

    def _change(self, run: str, task: str, epoch: int, *was: FleetTaskState, **values: Any) -> bool:
        with self.engine.begin() as connection:
            changed = connection.execute(
                sa.update(TASKS)
                .where(
                    TASKS.c.run == run,
                    TASKS.c.task == task,
                    TASKS.c.epoch == epoch,
                    TASKS.c.state.in_([one.value for one in was]),
                )
                .values(changed_at=self._now, **values)
            )
        return bool(changed.rowcount)
