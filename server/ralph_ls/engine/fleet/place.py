"""Place of a worker: its folder, its mirrors, the leases that it holds, and which runs are stopped.

Everything here is shared by the threads of one worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ralph_ls.engine.clock import boot_seconds
from ralph_ls.engine.fleet.database import settings_of
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.mirror import Mirror
from ralph_ls.engine.fleet.workspaces import repository_overrides
from ralph_ls.engine.parallel.lane_starter import LaneStarter
from ralph_ls.engine.parallel.lane_worktree import LaneTree
from ralph_ls.engine.run.lease import is_lease_held, write_lease
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetRepository
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import find_worktree, state_root
from ralph_ls.store.run.state_index import find_state

FOLDER = "fleet"
"""Folder of a fleet's files below the state root."""


class PushNotAllowed(RalphError):
    """The user's own fleet file on this machine does not allow pushing to a remote."""


@dataclass(slots=True)
class Lease:
    """The lease of one attempt at a task."""

    run: str
    task: str
    epoch: int
    file: Path
    is_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository of a run, as a worker needs it."""

    run: str
    name: str
    base: str
    settings: FleetRepository
    approved: Mapping[str, str]
    mirror: Mirror

    @property
    def overrides(self) -> dict[str, Any]:
        return repository_overrides(self.settings)

    def target(self) -> str:
        """The fetched end of the branch that is merged into, or what it will be made from."""
        merged = self.mirror.branch(self.settings.onto)
        if merged is None or self.mirror.is_ancestor(merged, self.base):
            return self.base
        return merged


@dataclass(slots=True)
class WorkerPlace:
    """What the threads of one worker share."""

    worker: str
    ledger: Ledger
    environment: Mapping[str, str]
    lease_seconds: float
    may_push: Callable[[str], bool] = lambda _address: True
    """Whether the user of this machine allows pushing to an address."""
    is_stopping: threading.Event = field(default_factory=threading.Event)
    """The worker ends: engines are stopped, and their tasks are given back."""
    stopped_runs: set[str] = field(default_factory=set)
    """Runs whose user wants their agents stopped."""
    changed: threading.Event = field(default_factory=threading.Event)
    _leases: dict[tuple[str, str], Lease] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _starter: LaneStarter | None = None
    _idle: frozenset[tuple[str, str, int]] = frozenset()

    @property
    def folder(self) -> Path:
        return state_root(self.environment) / FOLDER

    def starter(self) -> LaneStarter:
        """What starts the engines of this worker."""
        with self._lock:
            if self._starter is None:
                folder = make_private_folder(self.folder / "workers")
                self._starter = LaneStarter(folder / f"{self.worker}.err")
            return self._starter

    def close(self) -> None:
        """End the process that forks engines; engines live on until their leases end."""
        if self._starter is not None:
            self._starter.close()

    def repository(self, run: str, name: str) -> Repository:
        """A repository with its mirror, which is made and not yet fetched."""
        row = self.ledger.repositories(run)[name]
        if not self.may_push(row["address"]):
            raise PushNotAllowed(f"this machine may not push to {row['address']}")
        mirror = Mirror.at(self.folder / "mirrors", row["address"], self.environment)
        mirror.prepare()
        return repository_of(row, mirror)

    def tree(self, path: Path, branch: str) -> LaneTree:
        """A work tree that is there."""
        worktree = find_worktree(path)
        state = find_state(state_root(self.environment), worktree)
        make_private_folder(state.folder)
        return LaneTree(worktree=worktree, state=state, branch=branch)

    # Leases

    def hold(self, run: str, task: str, epoch: int) -> Lease:
        """Begin a lease that the database has just given."""
        folder = self.folder / "leases"
        make_private_folder(folder)
        number = f"{self.worker}-{epoch}-{abs(hash((run, task))):x}"
        lease = Lease(run=run, task=task, epoch=epoch, file=folder / number)
        write_lease(lease.file, boot_seconds() + self.lease_seconds)
        with self._lock:
            self._leases[(run, task)] = lease
        return lease

    def let_go(self, lease: Lease) -> None:
        """End a lease."""
        with self._lock:
            if self._leases.get((lease.run, lease.task)) is lease:
                del self._leases[(lease.run, lease.task)]
        lease.file.unlink(missing_ok=True)

    def renew(
        self, asked_at: float, held: frozenset[tuple[str, str, int]] | None
    ) -> frozenset[tuple[str, str, int]]:
        """Move the ends of the leases that the database confirmed; the others are lost.

        ``asked_at`` is when it was asked, by the clock of leases: what it said was true after that.
        Returns tasks that the worker has and does not work on, such as after an error of the
        database, if it was so the last time, too.
        """
        with self._lock:
            leases = list(self._leases.values())
        for lease in leases:
            is_named = held is not None and (lease.run, lease.task, lease.epoch) in held
            # One that has ended stays so, as its engine may have seen that already.
            if is_named and is_lease_held(lease.file):
                write_lease(lease.file, asked_at + self.lease_seconds)
            else:
                lease.is_lost = True
        known = {(lease.run, lease.task, lease.epoch) for lease in leases}
        idle = (held or frozenset()) - known
        forgotten, self._idle = idle & self._idle, idle
        return forgotten


def repository_of(row: sa.RowMapping, mirror: Mirror) -> Repository:
    """A repository as its row has it."""
    return Repository(
        run=row["run"],
        name=row["name"],
        base=row["base"],
        settings=settings_of(row),
        approved=row["approved"],
        mirror=mirror,
    )
