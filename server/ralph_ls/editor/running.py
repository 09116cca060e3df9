"""Running a handler, of whatever kind it is, so that it can be waited for and cancelled whole.

A handler may be a function, a coroutine, a function for a thread, or one of pygls' own generators,
which hand over to others. This module must never know what a message is, nor who is answered.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from pygls.constants import ATTR_EXECUTE_IN_THREAD

Handler = Callable[..., Any]
AnyFuture = Future[Any] | asyncio.Future[Any]
Call = tuple[Handler, tuple[Any, ...], Mapping[str, Any] | None]


def start_handler(
    handler: Handler,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    pool: Callable[[], Executor],
) -> AnyFuture:
    """Start ``handler`` in the running loop; what is plain code has run when this returns.

    So a document's changes are made in the order in which they came. The future's callbacks run
    in the loop, never in a worker's thread.
    """
    named = dict(kwargs or {})
    if inspect.iscoroutinefunction(handler):
        task: asyncio.Future[Any] = asyncio.ensure_future(handler(*args, **named))
        return task
    if getattr(handler, ATTR_EXECUTE_IN_THREAD, False):
        return asyncio.wrap_future(pool().submit(handler, *args, **named))
    if inspect.isgeneratorfunction(handler):
        return _Chain(handler(*args, **named), pool)
    settled: Future[Any] = Future()
    try:
        settled.set_result(handler(*args, **named))
    except Exception as error:  # noqa: BLE001 -- whoever asked is told, whatever it is
        settled.set_exception(error)
    return settled


class _Chain(Future[Any]):
    """A generator that hands over to other handlers; cancelling it cancels the one that runs."""

    def __init__(self, generator: Generator[Call, Any, Any], pool: Callable[[], Executor]) -> None:
        super().__init__()
        self._generator = generator
        self._pool = pool
        self._running: AnyFuture | None = None
        self._go_on(None)

    def cancel(self) -> bool:
        """Cancel what runs; the answer follows when it has ended, with all that it cleans up."""
        if self._running is not None and not self._running.done():
            return self._running.cancel()
        return super().cancel()

    def _go_on(self, finished: AnyFuture | None) -> None:
        if self.cancelled() or (finished is not None and finished.cancelled()):
            # Cancelled between two steps: the one that ended has not been taken note of yet.
            self._generator.close()
            super().cancel()
            return
        try:
            handler, args, kwargs = self._send(finished)
        except StopIteration as stop:
            self.set_result(stop.value)
        except Exception as error:  # noqa: BLE001 -- as above
            self.set_exception(error)
        else:
            self._running = start_handler(handler, args, kwargs, self._pool)
            self._running.add_done_callback(self._go_on)

    def _send(self, finished: AnyFuture | None) -> Call:
        if finished is None:
            return next(self._generator)
        if error := finished.exception():
            return self._generator.throw(error)
        return self._generator.send(finished.result())
