"""A run as viewers show it: its state, history and rows, folded together out of its journal.

All three are one fold over the events from the first one on, which of a long run takes seconds. So
the engine leaves a snapshot of it now and then (``view.json``), from which a viewer goes on. A
snapshot is a cache and never the truth: one that does not fit the journal is passed over, and the
journal is folded from its beginning. Viewers write none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.views.history import History, history
from ralph_ls.core.views.rows import Rows, iteration_rows
from ralph_ls.protocol.events import Event, UnknownEvent
from ralph_ls.protocol.state import RunState
from ralph_ls.store.follow import Tail
from ralph_ls.store.journal import PART, JournalReader
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.snapshots import Marked, load_snapshot, mark, save_snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """A run after some of its events."""

    state: RunState = field(default_factory=RunState)
    history: History = field(default_factory=History)
    rows: Rows = field(default_factory=Rows)

    def plus(self, events: Iterable[Event | UnknownEvent]) -> RunView:
        """The run after these events as well."""
        events = tuple(events)
        return RunView(
            state=fold(events, self.state),
            history=history(events, self.history),
            rows=iteration_rows(events, self.rows),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """A run after the first ``offset`` bytes of its journal, which hold ``n_lines`` lines."""

    view: RunView = field(default_factory=RunView)
    offset: int = 0
    n_lines: int = 0


class ViewSnapshot(Marked):
    """What ``view.json`` holds."""

    n_lines: int
    view: RunView


def load_view(files: RunFiles) -> Bookmark:
    """Where a viewer may begin to read: at the snapshot, or before the first event."""
    found = load_snapshot(
        files.view_snapshot, files.journal, ViewSnapshot, lambda found: found.view.state.seq
    )
    if found is None:
        return Bookmark()
    return Bookmark(view=found.view, offset=found.offset, n_lines=found.n_lines)


def read_view(files: RunFiles, *, until: int | None = None) -> Bookmark:
    """The run as it stands, or as it stood after ``until`` bytes of its journal; in parts."""
    known = load_view(files)
    if until is not None and known.offset > until:
        known = Bookmark()
    tail, view = Tail(files.journal, offset=known.offset), known.view
    reader = JournalReader(n_lines=known.n_lines)
    limit = PART
    while until is None or (limit := min(PART, until - tail.offset)) > 0:
        if not (data := tail.read(limit)):
            break
        view = view.plus(reader.feed(data))
    return Bookmark(view=view, offset=tail.offset - reader.pending, n_lines=reader.n_lines)


def state_before(files: RunFiles, seq: int) -> RunState:
    """The run as it stood right before the event ``seq``."""
    known = load_view(files)
    if known.view.state.seq >= seq:
        known = Bookmark()
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


def save_view(files: RunFiles, known: Bookmark) -> None:
    """Leave a snapshot for the viewers that come later; raises ``StateUnusable``."""
    at = mark(files.journal, offset=known.offset, seq=known.view.state.seq)
    snapshot = ViewSnapshot(**at, n_lines=known.n_lines, view=known.view)
    save_snapshot(files.view_snapshot, snapshot)


def size_of(path: Path) -> int:
    """Bytes of a file; 0 where there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
