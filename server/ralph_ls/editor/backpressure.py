"""Backpressure: a thread reads on only when the event loop, and a slow client, keep up.

Events of a run are never left out, so whoever reads a journal faster than the client takes them
would keep all of them in memory. What an agent prints gives way by itself (``transport_outbox``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ralph_ls.editor.picture import Found
from ralph_ls.protocol.run.events import EventBase


class HandOver:
    """Hands what a thread found to the running loop, in order."""

    def __init__(
        self, take: Callable[[Found], None], keep_pace: Callable[[], Awaitable[None]]
    ) -> None:
        """``take`` is called in the loop; behind events, ``keep_pace`` is waited for as well."""
        self._take = take
        self._keep_pace = keep_pace
        self._loop = asyncio.get_running_loop()
        self._waiting = set[asyncio.Task[None]]()

    def __call__(self, found: Found, taken: Callable[[], None]) -> None:
        """From any thread; ``taken`` is called when more may come.

        Raises RuntimeError where the loop is closed.
        """
        self._loop.call_soon_threadsafe(self._receive, found, taken)

    def _receive(self, found: Found, taken: Callable[[], None]) -> None:
        has_events = any(isinstance(each, EventBase) for each in found.told)
        try:
            self._take(found)
        finally:
            if has_events:
                waiting = self._loop.create_task(self._wait(taken), name="ralph-ls pace")
                self._waiting.add(waiting)
                waiting.add_done_callback(self._waiting.discard)
            else:
                taken()

    async def _wait(self, taken: Callable[[], None]) -> None:
        try:
            await self._keep_pace()
        finally:
            taken()
