"""Notices of a fleet: sends what its user is notified of.

The user's own settings on the worker's machine say where. A worker without destinations sends none
and leaves them to others. Each is claimed in the database first, so that it is sent once, whatever
the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from ralph_ls.core.fleet_rules import WAITS_FOR_USER, notice_of_end, notice_of_task
from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.notify.schedule import Schedule, destinations_of, offer, take_due
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of, secrets_of_addresses
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.fleet.database import NOTICES, plan_of
from ralph_ls.engine.fleet.ledger import Ledger
from ralph_ls.engine.notify.delivery import Postman, deliver, require_whole_path
from ralph_ls.protocol.config.notify import BELL, GITHUB, NotifyConfig, NotifyEvent
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FLEET_PROTOCOL, FleetTaskState
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.project.config_file import load_settings

LANE_EVENTS = (NotifyEvent.USAGE_LIMIT, NotifyEvent.COST)
"""What the engines of a fleet report themselves; everything else is the fleet's to report."""

WHOLE_RUN = "*"


class FleetNotifier:
    """The notifications that one worker sends; used by one thread at a time."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], report: Callable[[str], None]
    ) -> None:
        self._report = report
        self._schedule = Schedule()
        self._subjects: dict[NotifyEvent, RunState] = {}
        self._config = NotifyConfig()
        try:
            # A folder without a repository: only the user's own settings and environment count.
            self._config = load_settings(folder, environment, {}).config.notify
        except RalphError as error:
            report(f"no notifications are sent: {error.message}")
        known = secrets_of(environment) | secrets_of_addresses(self._config.urls)
        self._postman = Postman(
            root=folder,
            config=self._config,
            environment=dict(environment),
            redact=Redactor(known).redact,
            check_command=require_whole_path,
        )

    @property
    def is_on(self) -> bool:
        """Whether there is any destination."""
        return bool(self._config.urls or self._config.command)

    def offer(self, notification: Notification, run: str, repository: str) -> None:
        """Take a notification about a repository, which ``send_due`` may send."""
        names = destinations_of(notification.event, self._config)
        if any(name not in {BELL, GITHUB} for name in names):
            self._schedule = offer(self._schedule, notification)
            self._subjects[notification.event] = RunState(run=run, workspace=repository)

    def send_due(self, *, is_last: bool = False) -> None:
        """Send what may be sent now, one after the other; blocks, and never fails."""
        now = self._now()
        self._schedule, due = take_due(self._schedule, self._config, now, is_last=is_last)
        for outgoing in due:
            event = outgoing.notification.event
            for done in deliver(outgoing, self._subjects[event], self._postman):
                if done.problem:
                    self._report(f"{event.value} was not sent to {done.to}: {done.problem}")
        if is_last and self._schedule.held:
            names = ", ".join(event.value for event in self._schedule.held)
            self._report(f"notifications fell into quiet hours: {names}")

    def _now(self) -> datetime:
        return SystemClock().local()


def offer_notices(ledger: Ledger, notifier: FleetNotifier) -> None:
    """Give the notifier every task that waits for its user and of which nobody notified yet."""
    if not notifier.is_on:
        return
    for run in ledger.live_runs():
        if run["protocol"] <= FLEET_PROTOCOL:
            _offer_tasks(ledger, run["run"], notifier)


def _offer_tasks(ledger: Ledger, run: str, notifier: FleetNotifier) -> None:
    waiting = [row for row in ledger.tasks(run) if row["state"] in WAITS_FOR_USER]
    known = _known(ledger, run) if waiting else set()
    for row in waiting:
        key = (row["task"], row["epoch"])
        if key in known or not _claim(ledger, run, *key):
            continue
        rules = plan_of((), ledger.repositories(run).values()).rules
        notice = notice_of_task(
            row["task"],
            TaskRef(id=row["id"], title=row["title"]),
            FleetTaskState(row["state"]),
            row["message"] or "",
            starts_no_more=rules[row["repository"]].is_open,
        )
        notifier.offer(notice, run, row["repository"])


def offer_end(ledger: Ledger, run: str, notifier: FleetNotifier) -> None:
    """Give the notifier the end of a session, unless another worker notified of the same."""
    tasks = ledger.tasks(run)
    number = sum(row["turn"] for row in tasks)
    if notifier.is_on and _claim(ledger, run, WHOLE_RUN, number):
        states = [FleetTaskState(row["state"]) for row in tasks]
        waits = bool(ledger.awaited(run))
        notifier.offer(notice_of_end(states, waits_for_release=waits), run, "fleet")


def _known(ledger: Ledger, run: str) -> set[tuple[str, int]]:
    with ledger.engine.begin() as connection:
        query = sa.select(NOTICES.c.subject, NOTICES.c.number).where(NOTICES.c.run == run)
        return {(row.subject, row.number) for row in connection.execute(query)}


def _claim(ledger: Ledger, run: str, subject: str, number: int) -> bool:
    row = {"run": run, "subject": subject, "number": number}
    try:
        with ledger.engine.begin() as connection:
            connection.execute(sa.insert(NOTICES).values(**row))
    except IntegrityError:
        return False
    return True
