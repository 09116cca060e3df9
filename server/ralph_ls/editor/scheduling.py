"""Scheduling of blocking work: a thread for each piece of work, and a throttle for repeated work.

A pool would be full as soon as a few threads hang, for example on an engine that the system holds,
and a process waits for its pool before it ends. A key that is typed, or an event of a run, asks for
the same diagnostics again and again: the throttle runs the first request at once, and all that come
while the work runs or rests as one more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Generic, TypeVar

Result = TypeVar("Result")


async def run_in_thread(work: Callable[[], Result], *, name: str) -> Result:
    """What ``work`` gives or raises; where the caller is cancelled it runs on unseen."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Callable[[], None]) -> None:
        if not future.done():
            result()

    def run() -> None:
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 -- the future carries any of them
            told = error
            tell = lambda: future.set_exception(told)  # noqa: E731
        else:
            tell = lambda: future.set_result(found)  # noqa: E731
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            loop.call_soon_threadsafe(settle, tell)

    threading.Thread(target=run, name=f"ralph-ls {name}", daemon=True).start()
    return await future


logger = logging.getLogger(__name__)

Key = TypeVar("Key", bound=Hashable)


class FailureLog:
    """Failures, logged once until the same thing succeeds again."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._sent: dict[Hashable, str] = {}

    def log_once(self, about: Hashable, error: BaseException) -> None:
        """Log it with its traceback, unless the same was just logged of the same thing."""
        words = f"{type(error).__name__}: {error}"
        if self._sent.get(about) != words:
            self._sent[about] = words
            logger.error("%s failed: %s", self._doing, words, exc_info=error)

    def clear(self, about: Hashable) -> None:
        """It went well."""
        self._sent.pop(about, None)

    def call_each(self, listeners: Iterable[Callable[..., None]], *given: object) -> None:
        """Call all listeners; what one of them raises is logged and harms no other."""
        for listener in listeners:
            try:
                listener(*given)
                self.clear(listener)
            except Exception as error:  # noqa: BLE001 -- one listener must not harm the next
                self.log_once(listener, error)


class Throttle(Generic[Key]):
    """Runs a job for a key as often as it is asked for, as far as it keeps up.

    After each time it rests as long as the job took, at most ``longest_rest`` seconds, and at
    least ``shortest_rest``. All of it belongs to the event loop's thread. What the job raises is
    logged and harms no later time.
    """

    def __init__(
        self,
        job: Callable[[Key], Awaitable[None]],
        *,
        doing: str,
        longest_rest: float,
        shortest_rest: float = 0.0,
    ) -> None:
        self._job = job
        self._rest = (shortest_rest, longest_rest)
        self._failures = FailureLog(doing)
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._again: set[Key] = set()

    def ask(self, key: Key) -> None:
        """Have the job done for ``key``, once more where it is being done now."""
        if key in self._tasks:
            self._again.add(key)
        else:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._serve(key))

    @property
    def busy(self) -> list[asyncio.Task[None]]:
        """What is being done, or rests after it."""
        return list(self._tasks.values())

    async def _serve(self, key: Key) -> None:
        loop = asyncio.get_running_loop()
        shortest, longest = self._rest
        try:
            while True:
                self._again.discard(key)
                began = loop.time()
                try:
                    await self._job(key)
                    self._failures.clear(key)
                except Exception as error:  # noqa: BLE001 -- nobody waits for it but the log
                    self._failures.log_once(key, error)
                await asyncio.sleep(max(shortest, min(longest, loop.time() - began)))
                if key not in self._again:
                    return
        finally:
            del self._tasks[key]
