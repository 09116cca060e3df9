"""Worker of a fleet: one process that takes tasks from the queue, and keeps its leases.

A few times in each lease it gives a sign of life, takes over from workers that gave none, and lets
tasks into the queue that may start; it does so at once after a task or a merge. Everything else
happens in the queue's threads.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from threading import Event, Thread

from sqlalchemy.exc import DBAPIError

from ralph_ls import __version__
from ralph_ls.core.fleet_rules import AT_WORK, releasable_later
from ralph_ls.engine.clock import boot_seconds
from ralph_ls.engine.fleet import durable
from ralph_ls.engine.fleet.database import make_tables, open_engine, plan_of
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.fleet.notices import FleetNotifier, offer_end, offer_notices
from ralph_ls.engine.fleet.outage import Patience, is_outage
from ralph_ls.engine.fleet.place import PushNotAllowed, WorkerPlace
from ralph_ls.engine.fleet.roster import Roster
from ralph_ls.engine.fleet.upkeep import check_releases, forget_run, remove_leftovers
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FLEET_PROTOCOL, FleetRunState, FleetTaskState
from ralph_ls.store.files import make_private_folder

LEASE_SECONDS = 30.0
"""How long a worker may give no sign of life before others take its tasks."""

SOON_SECONDS = 0.2

LEASE_SECONDS_VARIABLE = "RALPH_FLEET_LEASE_SECONDS"


class DeclaredDead(RalphError):
    """Others took over from a worker, since it gave no sign of life for longer than its leases."""


def lease_seconds(environment: Mapping[str, str]) -> float:
    """The length of a lease; all workers of a fleet should have the same."""
    try:
        return max(1.0, float(environment.get(LEASE_SECONDS_VARIABLE, "")))
    except ValueError:
        return LEASE_SECONDS


class FleetWorker:
    """One worker, in a database that is open."""

    def __init__(
        self,
        address: str,
        environment: Mapping[str, str],
        *,
        labels: Sequence[str] = (),
        report: Callable[[str], None] = lambda _message: None,
        may_push: Callable[[str], bool] = lambda _address: True,
        on_change: Callable[[Ledger], None] = lambda _ledger: None,
    ) -> None:
        self._on_change = on_change
        """Called when tasks changed, here or elsewhere."""
        self._address = address
        self._labels = tuple(labels)
        self._report = report
        self._engine = open_engine(address)
        make_tables(self._engine)
        is_stopping = Event()
        self.ledger = Ledger(self._engine, Patience(is_stopping))
        self._roster = Roster(self._engine)
        self._seconds = lease_seconds(environment)
        name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
        self.place = WorkerPlace(
            worker=name,
            ledger=self.ledger,
            environment=dict(environment),
            # It stops before others take over.
            lease_seconds=self._seconds * 0.8,
            is_stopping=is_stopping,
            may_push=may_push,
        )
        self._notifier = FleetNotifier(
            make_private_folder(self.place.folder), environment, self._report
        )
        self._told: set[str] = set()
        self._states: dict[tuple[str, str], str] = {}
        self._told_until = 0.0
        """When the newest change was made that was reported."""
        self._orphans_at = 0.0
        self._releases_at = float("-inf")
        self._releases = Thread(name="no releases")
        self._has_left = Event()
        self._has_outage = False
        """The database did not answer the last time."""
        # After an outage all workers look dead. Nothing comes between a file and its readers.
        self._answers_since = boot_seconds() if self._engine.dialect.name == "postgresql" else 0.0
        self._is_dead = False
        """Others declared it dead."""
        self._is_behind = False
        """Another worker was deciding which tasks start, when this one wanted to."""

    def run(self, is_over: Callable[[], bool]) -> None:
        """Work until ``is_over``, then give everything back.

        Raises ``DeclaredDead`` where others took over; another worker may start in its place.
        """
        self._roster.join(self.place.worker, self._labels, __version__)
        keeper = Thread(target=self._keep_leases, name="leases", daemon=True)
        keeper.start()
        notices = Thread(target=self._notify, name="notices", daemon=True)
        notices.start()
        has_ended = False
        try:
            remove_leftovers(self.place)
            durable.open_queue(self.place, self._address, self._labels)
            while not self.place.is_stopping.is_set():
                self.place.changed.clear()
                if self._beat() and self._answers(is_over):
                    has_ended = True
                    break
                self.place.changed.wait(SOON_SECONDS if self._is_behind else self._seconds / 6)
                # Changes that come in quick succession are one.
                self.place.is_stopping.wait(SOON_SECONDS)
        finally:
            self.stop()
            # Leases hold until the engines have stopped.
            durable.close_queue()
            self._has_left.set()
            keeper.join()
            notices.join()
            self._notify_last(has_ended=has_ended)
            self._leave()
        if self._is_dead:
            raise DeclaredDead(
                "this worker gave no sign of life for too long (was the machine suspended or cut "
                "off?), so others have its tasks"
            )

    def _answers(self, is_over: Callable[[], bool]) -> bool:
        """Whether ``is_over``; not where the database does not answer."""
        try:
            return is_over()
        except DBAPIError as error:
            self._note_outage(error)
            return False

    def stop(self) -> None:
        """Let the worker end; its engines are stopped and their tasks given back."""
        self.place.is_stopping.set()
        self.place.changed.set()

    def _leave(self) -> None:
        self.place.close()
        try:
            remove_leftovers(self.place)
            run = self.ledger.last_run()
            if run is not None:
                forget_run(self.place, run)
            self._roster.leave(self.place.worker)
        except DBAPIError as error:
            self._report(f"the database does not answer ({_words_of(error)}); others take over")
        self._engine.dispose()

    def _keep_leases(self) -> None:
        while not self._has_left.wait(self._seconds / 6):
            try:
                self._renew()
            except DBAPIError as error:
                self._note_outage(error)

    def _renew(self) -> None:
        """Give a sign of life, and keep the leases that the database confirms."""
        asked_at = boot_seconds()
        held = self._roster.renew(self.place.worker)
        if self._has_outage:
            self._has_outage = False
            self._answers_since = boot_seconds()
            self._report("the database answers again")
        for run, task, epoch in self.place.renew(asked_at, held):
            self.ledger.try_again(run, task, epoch, "its worker lost sight of it; see its log")
        if held is None:
            self._is_dead = True
            self.stop()

    def _notify(self) -> None:
        """Notify of tasks that wait for their user; sending may take long."""
        while not self._has_left.wait(self._seconds / 6):
            with contextlib.suppress(DBAPIError):
                offer_notices(self.ledger, self._notifier)
            self._notifier.send_due()

    def _notify_last(self, *, has_ended: bool) -> None:
        with contextlib.suppress(DBAPIError):
            offer_notices(self.ledger, self._notifier)
            run = self.ledger.last_run()
            if has_ended and run is not None:
                offer_end(self.ledger, run, self._notifier)
        self._notifier.send_due(is_last=True)

    def _beat(self) -> bool:
        """Do what is due; whether the database answered."""
        try:
            if boot_seconds() - self._answers_since >= self._seconds:
                self._take_over()
            stopped = set()
            self._is_behind = False
            for row in self.ledger.live_runs():
                if row["protocol"] > FLEET_PROTOCOL:
                    self._tell_once(
                        f"run {row['run']} was started by ralph {row['version']} with protocol "
                        f"{row['protocol']}, and this worker has {FLEET_PROTOCOL}, so it takes "
                        "none of its tasks; update ralph here"
                    )
                    continue
                if row["state"] == FleetRunState.STOPPED.value:
                    stopped.add(row["run"])
                    continue
                self._require_push(row["run"])
                self._look_for_releases(row["run"])
                self._is_behind |= not self.ledger.release(row["run"])
                durable.enqueue_turns(self.ledger, row["run"], row["lanes"])
                durable.find_lost_turns(self.ledger, row["run"], self._seconds * 2)
                self._tell_changes(row["run"])
            self.place.stopped_runs = stopped
        except DBAPIError as error:
            self._note_outage(error)
            return False
        return True

    def _look_for_releases(self, run: str) -> None:
        """Ask remotes for releases in a thread, as they may be slow, and not too often."""
        is_due = boot_seconds() - self._releases_at >= self._seconds * 2
        if is_due and not self._releases.is_alive() and self.ledger.awaited(run):
            self._releases_at = boot_seconds()
            self._releases = Thread(
                target=self._check_releases, args=(run,), name="releases", daemon=True
            )
            self._releases.start()

    def _check_releases(self, run: str) -> None:
        # An outage is reported by others.
        with contextlib.suppress(DBAPIError):
            for problem in check_releases(self.place, run):
                self._tell_once(problem)

    def _require_push(self, run: str) -> None:
        """Raise ``PushNotAllowed`` where this machine may not push to each of a run's remotes.

        Any worker may have to merge any task, so it needs them all.
        """
        addresses = [row["address"] for row in self.ledger.repositories(run).values()]
        missing = [one for one in addresses if not self.place.may_push(one)]
        if missing:
            raise PushNotAllowed(
                f"this machine may not push to {', '.join(missing)}, which the fleet works on; "
                f"allow it in your fleet file here: ralph fleet add {missing[0]} --push"
            )

    def _take_over(self) -> None:
        """Give the tasks of workers to others that gave no sign of life."""
        for worker in self._roster.bury(self.place.worker, self._seconds):
            durable.inherit(worker)
            self._roster.forget_worker(worker)
            self._report(f"{worker} gave no sign of life; its tasks are for others")
        if boot_seconds() - self._orphans_at >= self._seconds:
            self._orphans_at = boot_seconds()
            durable.find_orphans(lambda: [row["worker"] for row in self._roster.workers()])

    def _note_outage(self, error: DBAPIError) -> None:
        """Report once that the database does not answer; leases end by themselves meanwhile."""
        if not is_outage(error):
            self._tell_once(f"the database refused a change: {_words_of(error)}")
        elif not self._has_outage:
            self._has_outage = True
            self._report(f"the database does not answer, trying again: {_words_of(error)}")

    def _tell_changes(self, run: str) -> None:
        is_changed = False
        for row in self.ledger.changed_tasks(run, self._told_until):
            key = (run, row["task"])
            self._told_until = max(self._told_until, row["changed_at"])
            before = self._states.get(key)
            self._states[key] = row["state"]
            is_changed |= before != row["state"]
            if before == row["state"] or (before is None and row["state"] == "waiting"):
                continue
            why = f": {row['message']}" if row["message"] else ""
            if (
                row["state"] not in {FleetTaskState.READY.value, FleetTaskState.WAITING.value}
                or why
            ):
                self._report(f"{row['task']} {row['title']} · {row['state']}{why}")
        if is_changed:
            self._on_change(self.ledger)

    def _tell_once(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._report(message)


def _words_of(error: DBAPIError) -> str:
    return " ".join(str(error.orig).split())[:200]


def is_run_over(ledger: Ledger, run: str) -> bool:
    """Whether nothing is left to do in a run without its user; ends it where all is merged."""
    row = ledger.run_row(run)
    if row["protocol"] > FLEET_PROTOCOL:
        return False
    tasks = ledger.tasks(run)
    states = [FleetTaskState(one["state"]) for one in tasks]
    if any(state in AT_WORK for state in states):
        return False
    if row["state"] != FleetRunState.RUNNING.value:
        return True
    spent = sum(one["cost_usd"] for one in tasks)
    is_spent = row["max_cost_usd"] is not None and spent >= row["max_cost_usd"]
    plan = plan_of(tasks, ledger.repositories(run).values())
    if not is_spent and releasable_later(plan):
        return False
    if all(state in {FleetTaskState.MERGED, FleetTaskState.DROPPED} for state in states):
        ledger.set_run_state(run, FleetRunState.ENDED)
    return True
