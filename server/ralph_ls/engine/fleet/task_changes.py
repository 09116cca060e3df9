"""Changes of a task's state, each one transaction.

A change names the state, and where a worker makes it the epoch, from which it leads: a worker that
has lost its task changes nothing. An epoch is given when a worker takes a task, and raised when
others take over from a worker that gave no sign of life.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa

from ralph_ls.core.fleet_rules import WAITS_FOR_USER
from ralph_ls.engine.fleet.database import REPOSITORIES, RUNS, TASKS, WORKERS, now_of
from ralph_ls.engine.fleet.outage import Patience
from ralph_ls.protocol.fleet import FleetRunState, FleetTaskState

MOST_TRIES = 3
"""How often a task is tried again after an attempt that ended without a result."""

MOST_REFUSALS = 2
"""How often a merge is refused before the task is parked."""

MERGE_MILLISECONDS = 120_000
"""How long Postgres waits for a worker that has a branch moved; then others may merge the task."""

State = FleetTaskState


class TaskChanges:
    """What may happen to a task; its methods may be called in any thread.

    What a worker notes of a task that it has is tried again during an outage of the database, with
    ``patience``; everything else raises its ``DBAPIError``.
    """

    def __init__(self, engine: sa.Engine, patience: Patience | None = None) -> None:
        self.engine = engine
        self.patience = patience or Patience()
        self._now = now_of(engine)

    def task(self, run: str, task: str) -> sa.RowMapping | None:
        """One task."""
        query = sa.select(TASKS).where(TASKS.c.run == run, TASKS.c.task == task)

        def read() -> sa.RowMapping | None:
            with self.engine.begin() as connection:
                return connection.execute(query).mappings().one_or_none()

        return self.patience.ask(read)

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
        change = (
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

        def write() -> sa.RowMapping | None:
            with self.engine.begin() as connection:
                return connection.execute(change).mappings().one_or_none()

        return self.patience.ask(write)

    def pushed(self, run: str, task: str, epoch: int, head: str) -> bool:
        """Note what was pushed; whether the task is still the worker's."""
        return self._change(run, task, epoch, State.WORKING, head=head, head_epoch=epoch)

    def count(self, run: str, task: str, *, iterations: int, cost_usd: float) -> None:
        """Add what an attempt used; counted also where the task was lost."""
        change = (
            sa.update(TASKS)
            .where(TASKS.c.run == run, TASKS.c.task == task)
            .values(
                iterations=TASKS.c.iterations + iterations,
                cost_usd=TASKS.c.cost_usd + cost_usd,
            )
        )
        self.patience.ask(lambda: self._write(change))

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

    @contextlib.contextmanager
    def merging(self, run: str, task: str, epoch: int, head: str) -> Iterator[bool]:
        """One transaction in which a branch moves to ``head`` and its task becomes merged.

        The block is entered with whether it may: the database names this epoch, and ``begin_merge``
        has noted the commit. The task is merged when the block ends without an error. Meanwhile
        its row is locked, so nobody can refuse or park it, and no other epoch can be given. SQLite
        would lock all tables; there the caller's lock on this machine does the same.
        """
        key = (TASKS.c.run == run, TASKS.c.task == task)
        query = sa.select(TASKS.c.epoch, TASKS.c.state, TASKS.c.merge_heads).where(*key)
        is_shared = self.engine.dialect.name == "postgresql"
        with self.engine.begin() as connection:
            if is_shared:
                wait = f"SET LOCAL idle_in_transaction_session_timeout = {MERGE_MILLISECONDS}"
                connection.execute(sa.text(wait))
                query = query.with_for_update()
            row = connection.execute(query).one()
            may_move = (
                row.epoch == epoch and row.state == State.MERGING.value and head in row.merge_heads
            )
            if is_shared:
                yield may_move
                if may_move:
                    self._mark_merged(connection, run, task, epoch, head)
        if not is_shared:
            yield may_move
            if may_move:
                self.merged(run, task, epoch, head)

    def merged(self, run: str, task: str, epoch: int, head: str) -> bool:
        """Note that the branch has a task's commits, by the commit that it was moved to."""
        with self.engine.begin() as connection:
            return self._mark_merged(connection, run, task, epoch, head)

    def _mark_merged(
        self, connection: sa.Connection, run: str, task: str, epoch: int, head: str
    ) -> bool:
        states = (State.MERGING.value, State.QUEUED.value)
        changed = connection.execute(
            sa.update(TASKS)
            .where(
                TASKS.c.run == run,
                TASKS.c.task == task,
                TASKS.c.epoch == epoch,
                TASKS.c.state.in_(states),
            )
            .values(state=State.MERGED.value, merged=head, message=None, changed_at=self._now)
        )
        if changed.rowcount:
            row = sa.select(TASKS.c.repository).where(TASKS.c.run == run, TASKS.c.task == task)
            connection.execute(
                sa.update(REPOSITORIES)
                .where(REPOSITORIES.c.run == run, REPOSITORIES.c.name == row.scalar_subquery())
                .values(failures=0)
            )
        return bool(changed.rowcount)

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
                states = [state.value for state in WAITS_FOR_USER]
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
        row = sa.select(TASKS.c.repository).where(TASKS.c.run == run, TASKS.c.task == task)
        change = (
            sa.update(REPOSITORIES)
            .where(REPOSITORIES.c.run == run, REPOSITORIES.c.name == row.scalar_subquery())
            .values(failures=REPOSITORIES.c.failures + 1)
        )
        self.patience.ask(lambda: self._write(change))

    def _change(self, run: str, task: str, epoch: int, *was: FleetTaskState, **values: Any) -> bool:
        change = (
            sa.update(TASKS)
            .where(
                TASKS.c.run == run,
                TASKS.c.task == task,
                TASKS.c.epoch == epoch,
                TASKS.c.state.in_([one.value for one in was]),
            )
            .values(changed_at=self._now, **values)
        )
        return self.patience.ask(lambda: self._write(change))

    def _write(self, change: sa.Update) -> bool:
        """Whether a change met a row."""
        with self.engine.begin() as connection:
            return bool(connection.execute(change).rowcount)
