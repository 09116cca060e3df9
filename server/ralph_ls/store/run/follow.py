"""Following: reads files that another process appends to, woken by the file system.

Only modified, created and moved events count, since a read causes others; folders are never
watched recursively. While a run is live its files are also checked every 500 ms, because Windows,
network mounts and full inotify tables give no events (docs/rules.md#following).
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ralph_ls.protocol.run.events import Event, RunEnded, RunResumed, UnknownEvent
from ralph_ls.store.files import IrregularFile, open_regular_unbuffered
from ralph_ls.store.run.journal import PART, JournalReader

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent

# An observer that is stopped while events arrive logs that, to no use.
logging.getLogger("watchdog").addHandler(logging.NullHandler())

READ_LIMIT = 1 << 20
"""Bytes of one read."""

LIVE_INTERVAL = 0.5
"""Seconds between two checks of a live run's files."""

Item = TypeVar("Item")


class FolderWatch:
    """Calls back when a file in one of the folders is modified, created or moved."""

    def __init__(self, folders: Iterable[Path], on_change: Callable[[], None]) -> None:
        # Loaded here, since most followers read a file once and never wait.
        from watchdog import events
        from watchdog.observers import Observer

        # Nobody is woken when a follower, or anybody else, opens and closes a file.
        self._kinds: list[type[FileSystemEvent]] = [
            *(events.FileModifiedEvent, events.FileCreatedEvent, events.FileDeletedEvent),
            *(events.FileMovedEvent, events.DirCreatedEvent, events.DirDeletedEvent),
            events.DirMovedEvent,
        ]
        self._folders = tuple(folders)
        # An observer only calls `dispatch` of a handler.
        self._handler = cast(Any, _Handler(on_change))
        self._observer = Observer()
        self.works = False
        """Whether the system reports changes; otherwise the followers poll."""

    def __enter__(self) -> FolderWatch:
        try:
            for folder in self._folders:
                if folder.is_dir():
                    self._observer.schedule(
                        self._handler, str(folder), recursive=False, event_filter=self._kinds
                    )
            self._observer.start()
            self.works = True
        except OSError:
            self._observer.unschedule_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join()


class Tail:
    """New bytes of a file; reads only when its size has changed."""

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.n_reads = 0

    def read(self, limit: int = READ_LIMIT) -> bytes:
        """At most ``limit`` new bytes; empty without any, or without the file."""
        try:
            if self.path.stat().st_size <= self.offset:
                return b""
            with open_regular_unbuffered(self.path) as file:
                file.seek(self.offset)
                data = file.read(limit)
        except (FileNotFoundError, IrregularFile):
            return b""
        self.n_reads += 1
        self.offset += len(data)
        return data

    def skip(self, backlog: int) -> int:
        """Skip all but the last ``backlog`` bytes; returns the number of skipped bytes."""
        try:
            behind = self.path.stat().st_size - self.offset
        except FileNotFoundError:
            return 0
        if behind <= 2 * backlog:
            return 0
        self.offset += behind - backlog
        return behind - backlog


class JournalTail:
    """New events of a journal."""

    def __init__(self, journal: Path, *, after_seq: int = 0, offset: int = 0) -> None:
        self._tail = Tail(journal, offset=offset)
        self._reader = JournalReader()
        self._after_seq = after_seq
        self.ended = False
        """Whether the run has ended, and was not resumed since."""

    @property
    def n_reads(self) -> int:
        return self._tail.n_reads

    def read(self) -> list[Event | UnknownEvent]:
        """New events in order, including those up to ``after_seq``."""
        return [event for part in self.parts() for event in part]

    def parts(self) -> Iterator[list[Event | UnknownEvent]]:
        """New events in order and in parts, for a journal of any length."""
        while data := self._tail.read(PART):
            events = self._reader.feed(data)
            for event in events:
                if isinstance(event, RunEnded | RunResumed):
                    # A run that ended before the followed part may have been resumed.
                    self.ended = isinstance(event, RunEnded) and event.seq > self._after_seq
            if len(data) == PART:
                yield events
                continue
            # An incomplete line may be truncated, by its engine on a full disk or by the next one,
            # so it is dropped and read again once it is complete.
            self._tail.offset -= self._reader.forget_partial()
            yield events
            return


class Follower(ABC, Generic[Item]):
    """Polls a run's files whenever they change, until it has ended or its engine is gone."""

    def __init__(
        self,
        journal: Path,
        *,
        is_live: Callable[[], bool],
        after_seq: int = 0,
        offset: int = 0,
        past_end: bool = False,
    ) -> None:
        """Follow the events after ``after_seq``, none of which is before ``offset``.

        ``past_end``: until the engine is gone, as it reports its last command after the run's end.
        """
        self._journal = JournalTail(journal, after_seq=after_seq, offset=offset)
        self._folder = journal.parent
        self._after_seq = after_seq
        self._is_live = is_live
        self._past_end = past_end
        self._changed = threading.Event()
        self._stopped = threading.Event()

    @property
    def n_reads(self) -> int:
        """How often the journal was read."""
        return self._journal.n_reads

    def wake(self) -> None:
        """Poll now, for example because the engine in this process has just ended."""
        self._changed.set()

    def stop(self) -> None:
        """End the iteration from another thread."""
        self._stopped.set()
        self._changed.set()

    def __iter__(self) -> Iterator[list[Item]]:
        with FolderWatch([self._folder], self._changed.set):
            while not self._stopped.is_set():
                self._changed.clear()
                # Checked before the read, so that the last events of a dying engine are not missed.
                live = self._is_live()
                for items in self._poll():
                    yield items
                    if self._stopped.is_set():
                        return
                if not live or (self._journal.ended and not self._past_end):
                    return
                self._changed.wait(timeout=LIVE_INTERVAL)

    @abstractmethod
    def _poll(self) -> Iterator[list[Item]]:
        """New items in non-empty batches."""


class JournalFollower(Follower[Event | UnknownEvent]):
    """Yields a journal's events as they arrive."""

    def _poll(self) -> Iterator[list[Event | UnknownEvent]]:
        for part in self._journal.parts():
            if items := [event for event in part if event.seq > self._after_seq]:
                yield items


class _Handler:
    """Forwards events except reads; of a folder itself only moves and deletions."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    def dispatch(self, event: FileSystemEvent) -> None:
        """Handle one event, in a thread of the observer."""
        kind = event.event_type
        if kind in {"created", "moved", "deleted"} or (
            kind == "modified" and not event.is_directory
        ):
            self._on_change()
