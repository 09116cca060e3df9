"""Waking the engine when people write: commands into the inbox, answers into the halt files.

The system's own events wake it; beside them it looks every 500 ms, since network mounts, Windows
and full inotify tables give none (SPEC §2). Nothing here reads more than a folder's listing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch

EDIT_PATIENCE = 0.4
"""Seconds that a hand-edited file must rest, so that no half-typed, auto-saved answer is taken."""


class Wakeup:
    """Calls ``look`` in the event loop whenever one of the folders may have changed."""

    def __init__(self, folders: Iterable[Path], look: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._look = look
        self._watch = FolderWatch(folders, self._from_thread)
        self._closed = False
        self._watch.__enter__()
        self._tick = self._loop.call_later(LIVE_INTERVAL, self._again)

    def close(self) -> None:
        """Stop looking."""
        self._closed = True
        self._tick.cancel()
        self._watch.__exit__(None, None, None)

    def _from_thread(self) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(self._soon)

    def _soon(self) -> None:
        if not self._closed:
            self._look()

    def _again(self) -> None:
        self._look()
        self._tick = self._loop.call_later(LIVE_INTERVAL, self._again)
