"""Notifier: sends a run's notifications beside the loop, and reports what became of them.

Every event of the journal passes ``observe``. What is due is sent in a thread; what is held back
has one timer, and the end of the run sends the rest. Nothing here fails or delays a run: its end
waits for a process that is on its way, and no longer than that one's time limit.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from typing import Any

from ralph_ls.core.loop.fold import apply
from ralph_ls.core.loop.inputs import AnnouncementDone, Input
from ralph_ls.core.notify.occasions import Notification, occasion_of
from ralph_ls.core.notify.schedule import (
    Outgoing,
    Schedule,
    destinations_of,
    next_due,
    offer,
    take_due,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.notify.delivery import Delivered, Postman, deliver, require_whole_path
from ralph_ls.engine.notify.github_answers import GithubAnswers
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.notify import BELL, NotifyConfig
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.external.supervisor import Supervisor
from ralph_ls.store.files import PRIVATE_FILE, write_atomic
from ralph_ls.store.project import trust

SENT, FAILED, HELD = "notified", "notify-failed", "notify-held"
"""Codes of what is reported: everything arrived, something did not, quiet hours kept it."""

KEY = "notify.command"

OPEN = ".open"
"""Suffix of the file that marks a notification whose outcome is not in the journal yet."""

Start = Callable[[str, Coroutine[Any, Any, None]], None]


class Notifier:
    """The notifications of one engine."""

    def __init__(
        self, workspace: Workspace, *, clock: Clock, deliver: Callable[[Input], None], start: Start
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._deliver = deliver
        self._start = start
        self._config = workspace.config.notify
        self._is_on = self._config != NotifyConfig()
        self._schedule = Schedule()
        self._run = RunState()
        self._timer: asyncio.TimerHandle | None = None
        self._supervisor = Supervisor()
        self._numbers = itertools.count(1)
        self._postman = Postman(
            root=workspace.root,
            config=self._config,
            environment=workspace.environment,
            redact=workspace.redactor.redact,
            marker=f"{workspace.run}/{KEY}/command",
            check_command=self._check_command,
            supervisor=self._supervisor,
        )
        self._answers = GithubAnswers(
            workspace, clock=clock, deliver=deliver, start=start, supervisor=self._supervisor
        )

    def observe(self, events: Iterable[EventBase], before: RunState) -> None:
        """Take the events of one step; ``before`` is the run without them."""
        if not self._is_on:
            return
        run = before
        for event in events:
            without, run = run, apply(run, event)
            found = occasion_of(event, without, run)
            if found is not None and self._is_wanted(found):
                self._schedule = offer(self._schedule, found)
        self._run = run
        self._send_due()
        self._answers.follow(run)

    def finish(self) -> None:
        """The run is over: send what is held, or report what quiet hours keep."""
        self._answers.stop()
        self._send_due(is_last=True)
        held = self._schedule.held
        self._cancel()
        if held:
            what = ", ".join(event.value for event in held)
            n_all = sum(one.more + 1 for one in held.values())
            message = f"{count_of(n_all, 'notification')} fell into quiet hours: {what}"
            self._deliver(AnnouncementDone(code=HELD, message=message))
            self._schedule = Schedule()

    def stop(self) -> None:
        """End whatever is on its way."""
        self._cancel()
        self._answers.stop()
        self._supervisor.end()

    def _is_wanted(self, found: Notification) -> bool:
        names = destinations_of(found.event, self._config)
        return any(name != BELL for name in names)

    def _now(self) -> datetime:
        return self._clock.local()

    def _send_due(self, *, is_last: bool = False) -> None:
        now = self._now()
        self._schedule, due = take_due(self._schedule, self._config, now, is_last=is_last)
        for outgoing in due:
            self._start("notifying", self._send(outgoing, self._run))
        self._cancel()
        if (at := next_due(self._schedule, self._config, now)) is not None and not is_last:
            delay = max(0.0, (at - now).total_seconds())
            self._timer = asyncio.get_running_loop().call_later(delay, self._send_due)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _send(self, outgoing: Outgoing, run: RunState) -> None:
        # The effective settings of the journal have redacted addresses; these have them whole.
        try:
            delivered = await asyncio.to_thread(self._deliver_marked, outgoing, run)
        except Exception as error:  # noqa: BLE001 - a run never fails for a notification
            delivered = (Delivered(to="all", problem=f"{type(error).__name__}: {error}"),)
        for done in outcomes(outgoing, delivered):
            self._deliver(done)

    def _deliver_marked(self, outgoing: Outgoing, run: RunState) -> tuple[Delivered, ...]:
        """Send it, with a file for as long as the outcome is unknown."""
        event = outgoing.notification.event.value
        mark = self._workspace.files.folder / f"notify-{next(self._numbers):03d}{OPEN}"
        write_atomic(mark, f"notify\nthe notification of {event}".encode(), mode=PRIVATE_FILE)
        try:
            return deliver(outgoing, run, self._postman)
        finally:
            mark.unlink(missing_ok=True)

    def _check_command(self, argv: tuple[str, ...]) -> None:
        workspace = self._workspace
        if all(claim.key != KEY for claim in workspace.claims):
            require_whole_path(argv)
        trust.require_unchanged_command(
            workspace.root, KEY, argv, workspace.claims, workspace.trust.is_approved
        )


def outcomes(outgoing: Outgoing, delivered: Iterable[Delivered]) -> list[AnnouncementDone]:
    """What the journal gets of a notification: one line for what arrived, one for each problem."""
    event = outgoing.notification.event.value
    found = list(delivered)
    arrived = [one.to for one in found if not one.problem]
    done = []
    if arrived:
        message = f"notified {', '.join(arrived)}: {event}"
        done.append(AnnouncementDone(code=SENT, message=message))
    for one in found:
        if one.problem:
            remedy = f"; {one.remedy}" if one.remedy else ""
            message = f"the notification of {event} to {one.to} failed: {one.problem}; the run is "
            failed = AnnouncementDone(
                code=FAILED, message=f"{message}not affected{remedy}", outside=True
            )
            done.append(failed)
    return done
