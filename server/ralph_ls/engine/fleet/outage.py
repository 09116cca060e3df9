"""Outages: what a worker does while its database does not answer, or its remote cannot be reached.

It waits with back-off instead of failing: a restart of the database or a short loss of the network
costs a task nothing but time. Leases are judged by another clock (``engine.run.lease``) and end
meanwhile as they would have ended otherwise.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from ralph_ls.engine.clock import boot_seconds
from ralph_ls.engine.fleet.mirror import RemoteUnreachable

FIRST_SECONDS, LONGEST_SECONDS = 0.2, 5.0
"""Pauses between two tries: each is up to twice the one before."""

REMOTE_SECONDS = 60.0
"""How long a remote is tried before an attempt at a task ends without a result."""

_CHANCE = secrets.SystemRandom()

T = TypeVar("T")


def is_outage(error: DBAPIError) -> bool:
    """Whether the database could not be asked, rather than refused what it was asked."""
    return error.connection_invalidated or isinstance(error, OperationalError | InterfaceError)


class Patience:
    """Tries again what an outage prevents, until it is over or the worker ends.

    Without ``is_ending`` nothing is tried twice, as for a command that a user waits for.
    """

    def __init__(self, is_ending: Event | None = None) -> None:
        self._is_ending = is_ending

    def ask(self, act: Callable[[], T]) -> T:
        """What ``act`` returns, which asks the database and may be done twice.

        Raises its ``DBAPIError`` where that is no outage, or once the worker ends.
        """
        pause = FIRST_SECONDS
        while True:
            try:
                return act()
            except DBAPIError as error:
                if not is_outage(error) or not self._waits(pause):
                    raise
            pause = min(LONGEST_SECONDS, pause * 2)

    def reach(self, act: Callable[[], T], *, seconds: float = REMOTE_SECONDS) -> T:
        """What ``act`` returns, which uses a remote; raises ``RemoteUnreachable`` after a while."""
        pause, until = FIRST_SECONDS, boot_seconds() + seconds
        while True:
            try:
                return act()
            except RemoteUnreachable:
                if boot_seconds() + pause > until or not self._waits(pause):
                    raise
            pause = min(LONGEST_SECONDS, pause * 2)

    def _waits(self, seconds: float) -> bool:
        """Pause, unless the worker ends or there is none."""
        if self._is_ending is None:
            return False
        # Many workers come back at once.
        return not self._is_ending.wait(seconds * _CHANCE.uniform(0.5, 1.0))
