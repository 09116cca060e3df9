"""Run view: a run's state, history and rows, folded together from its journal.

All three are one fold over the events from the first one on, which takes seconds for a long run.
So the engine saves a snapshot of it now and then (``view.json``), from which a viewer continues.
A snapshot is a cache: one that does not fit the journal is ignored, and the journal is folded from
its beginning. Viewers write none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.views.model.history import History, IterationRecap, history
from ralph_ls.core.views.panel.rows import IterationRows, iteration_rows
from ralph_ls.protocol.lsp.panel import IterationRow
from ralph_ls.protocol.run.events import Event, UnknownEvent
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.follow import Tail
from ralph_ls.store.run.journal import PART, JournalReader
from ralph_ls.store.run.runs import (
    JournalSnapshot,
    StateSnapshot,
    load_snapshot,
    save_snapshot,
    snapshot_mark,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """State, history and rows of a run after some of its events."""

    state: RunState = field(default_factory=RunState)
    history: History = field(default_factory=History)
    rows: IterationRows = field(default_factory=IterationRows)

    def plus(self, events: Iterable[Event | UnknownEvent]) -> RunView:
        """The run after these further events."""
        events = tuple(events)
        return RunView(
            state=fold(events, self.state),
            history=history(events, self.history),
            rows=iteration_rows(events, self.rows),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewPosition:
    """A run after the first ``offset`` bytes, ``n_lines`` lines, of its journal."""

    view: RunView = field(default_factory=RunView)
    offset: int = 0
    n_lines: int = 0


class ViewSnapshot(JournalSnapshot):
    """Content of ``view.json``."""

    folded: ClassVar[tuple[type, ...]] = (
        *StateSnapshot.folded,
        History,
        IterationRecap,
        IterationRow,
    )

    n_lines: int
    view: RunView


def load_view(files: RunFiles) -> ViewPosition:
    """Position where a viewer starts to read: the snapshot, or before the first event."""
    found = load_snapshot(
        files.view_snapshot, files.journal, ViewSnapshot, lambda found: found.view.state.seq
    )
    if found is None:
        return ViewPosition()
    return ViewPosition(view=found.view, offset=found.offset, n_lines=found.n_lines)


def read_view(files: RunFiles, *, until: int | None = None) -> ViewPosition:
    """The run now, or after ``until`` bytes of its journal; reads in parts."""
    known = load_view(files)
    if until is not None and known.offset > until:
        known = ViewPosition()
    tail, view = Tail(files.journal, offset=known.offset), known.view
    reader = JournalReader(n_lines=known.n_lines)
    limit = PART
    while until is None or (limit := min(PART, until - tail.offset)) > 0:
        if not (data := tail.read(limit)):
            break
        view = view.plus(reader.feed(data))
    return ViewPosition(view=view, offset=tail.offset - reader.pending, n_lines=reader.n_lines)


def state_before(files: RunFiles, seq: int) -> RunState:
    """State of the run just before the event ``seq``."""
    known = load_view(files)
    if known.view.state.seq >= seq:
        known = ViewPosition()
    tail, reader, state = (
        Tail(files.journal, offset=known.offset),
        JournalReader(),
        known.view.state,
    )
    while data := tail.read(PART):
        events = reader.feed(data)
        state = fold((event for event in events if event.seq < seq), state)
        if events and events[-1].seq >= seq:
            break
    return state


def save_view(files: RunFiles, known: ViewPosition) -> None:
    """Write a snapshot for later viewers; raises ``StateUnusable``."""
    at = snapshot_mark(ViewSnapshot, files.journal, offset=known.offset, seq=known.view.state.seq)
    snapshot = ViewSnapshot(**at, n_lines=known.n_lines, view=known.view)
    save_snapshot(files.view_snapshot, snapshot)
