"""Snapshots of the run for viewers, so that none of them folds a long run from its beginning.

The engine needs nothing of what viewers show, so it reads its own journal for it, as they do: from
the last snapshot on, in a thread beside the agent, and seldom. This module must never be needed:
without a snapshot a viewer takes longer, and knows the same.
"""

from __future__ import annotations

from ralph_ls.engine.clock import Clock
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.journal import last_line
from ralph_ls.store.run.runs import read_view, save_view

EVERY = 256 << 10
"""Bytes of journal between two snapshots: what a viewer folds at its start, at most about that."""

SHARE = 0.02
"""How much of the engine's time may go into snapshots."""


class ViewSnapshots:
    """The snapshots of one run; one thread at a time."""

    def __init__(self, files: RunFiles, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._offset = 0
        self._not_before = 0.0

    def save(self, offset: int) -> None:
        """Leave one of the run after ``offset`` bytes, where it is time; raises ``StateUnusable``.

        Call it where no iteration is open: viewers show an open one from its beginning.
        """
        if offset - self._offset >= EVERY and self._clock.monotonic() >= self._not_before:
            self._save(offset)

    def save_last(self, offset: int) -> None:
        """Leave one right before the last event, which a viewer shows; raises ``StateUnusable``."""
        before = last_line(self._files.journal, offset)
        if before > self._offset:
            self._save(before)

    def _save(self, offset: int) -> None:
        began = self._clock.monotonic()
        save_view(self._files, read_view(self._files, until=offset))
        ended = self._clock.monotonic()
        self._offset, self._not_before = offset, ended + (ended - began) / SHARE
