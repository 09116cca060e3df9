"""Blocking work beside the event loop, each in a thread of its own that nobody has to wait for.

A pool would be full as soon as a few of them hang, for example on an engine that the system holds;
and a process would wait for its pool before it ends. It must never know what the work is.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(work: Callable[[], Result], *, name: str) -> Result:
    """What ``work`` gives or raises; where the caller is cancelled it runs on unseen."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Callable[[], None]) -> None:
        if not future.done():
            result()

    def run() -> None:
        try:
            found = work()
        except BaseException as error:  # noqa: BLE001 -- whoever waits is told, whatever it is
            told = error
            tell = lambda: future.set_exception(told)  # noqa: E731
        else:
            tell = lambda: future.set_result(found)  # noqa: E731
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits any more.
            loop.call_soon_threadsafe(settle, tell)

    threading.Thread(target=run, name=f"ralph-ls {name}", daemon=True).start()
    return await future
