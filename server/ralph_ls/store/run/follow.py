"""Following files that another process appends to, without polling and without waking oneself.

Only modified, created and moved events count, since a read causes others; folders are never
watched recursively. While a run is live the files are also looked at every 500 ms, because Windows,
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

# An observer that is stopped while events come in says so; nobody can act on it.
logging.getLogger("watchdog").addHandler(logging.NullHandler())

READ_LIMIT = 1 << 20
"""Bytes of one read."""

LIVE_INTERVAL = 0.5
"""Seconds between two looks at a live run's files."""

Item = TypeVar("Item")


class FolderWatch:
    """Calls back when something in one of the folders was modified, created or moved."""

    def __init__(self, folders: Iterable[Path], on_change: Callable[[], None]) -> None:
        # Loaded here, since most of what follows a file looks at it once and never waits.
        from watchdog.observers import Observer

        self._folders = tuple(folders)
        # All that an observer asks of a handler is to take its events.
        self._handler = cast(Any, _Handler(on_change))
        self._observer = Observer()
        self.works = False
        """Whether the system tells us of changes; where it does not, looking again must do."""

    def __enter__(self) -> FolderWatch:
        try:
            for folder in self._folders:
                if folder.is_dir():
                    self._observer.schedule(self._handler, str(folder), recursive=False)
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
    """The bytes that a file gained since the last look; reads only when the size has changed."""

    def __init__(self, path: Path, *, offset: int = 0) -> None:
        self.path = path
        self.offset = offset
        self.n_reads = 0

    def read(self, limit: int = READ_LIMIT) -> bytes:
        """At most ``limit`` new bytes; empty where there are none, or no such file yet."""
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
        """Leave out what is more than ``backlog`` bytes behind; how many bytes that are."""
        try:
            behind = self.path.stat().st_size - self.offset
        except FileNotFoundError:
            return 0
        if behind <= 2 * backlog:
            return 0
        self.offset += behind - backlog
        return behind - backlog


class JournalTail:
    """The events that a journal gained since the last look."""

    def __init__(self, journal: Path, *, after_seq: int = 0, offset: int = 0) -> None:
        self._tail = Tail(journal, offset=offset)
        self._reader = JournalReader()
        self._after_seq = after_seq
        self.ended = False
        """The run has ended, and not gone on since, within what is followed."""

    @property
    def n_reads(self) -> int:
        return self._tail.n_reads

    def read(self) -> list[Event | UnknownEvent]:
        """The new events in order, also those up to ``after_seq``."""
        return [event for part in self.parts() for event in part]

    def parts(self) -> Iterator[list[Event | UnknownEvent]]:
        """The new events in order and in parts, for a journal of any length."""
        while data := self._tail.read(PART):
            events = self._reader.feed(data)
            for event in events:
                if isinstance(event, RunEnded | RunResumed):
                    # What ended before the part that is followed may just be going on again.
                    self.ended = isinstance(event, RunEnded) and event.seq > self._after_seq
            if len(data) == PART:
                yield events
                continue
            # Half a line may yet be cut off again, by its own engine on a full disk or by the next
            # one that takes over; so nothing of it is kept, and it is read once more as a whole.
            self._tail.offset -= self._reader.forget_partial()
            yield events
            return


class Follower(ABC, Generic[Item]):
    """Looks at a run's files whenever they change, until it has ended or its engine is gone."""

    def __init__(
        self, journal: Path, *, is_live: Callable[[], bool], after_seq: int = 0, offset: int = 0
    ) -> None:
        """The events behind ``after_seq``, none of which stands before ``offset``."""
        self._journal = JournalTail(journal, after_seq=after_seq, offset=offset)
        self._folder = journal.parent
        self._after_seq = after_seq
        self._is_live = is_live
        self._changed = threading.Event()
        self._stopped = threading.Event()

    @property
    def n_reads(self) -> int:
        """How often the journal was read."""
        return self._journal.n_reads

    def wake(self) -> None:
        """Look again now, for example because the engine in this process has just ended."""
        self._changed.set()

    def stop(self) -> None:
        """End the iteration from another thread."""
        self._stopped.set()
        self._changed.set()

    def __iter__(self) -> Iterator[list[Item]]:
        with FolderWatch([self._folder], self._changed.set):
            while not self._stopped.is_set():
                self._changed.clear()
                # Asked before the read, so that the last words of a dying engine are not missed.
                live = self._is_live()
                for items in self._poll():
                    yield items
                    if self._stopped.is_set():
                        return
                if self._journal.ended or not live:
                    return
                self._changed.wait(timeout=LIVE_INTERVAL)

    @abstractmethod
    def _poll(self) -> Iterator[list[Item]]:
        """What is new since the last look, in pieces that are never empty."""


class JournalFollower(Follower[Event | UnknownEvent]):
    """Yields a journal's events as they come."""

    def _poll(self) -> Iterator[list[Event | UnknownEvent]]:
        for part in self._journal.parts():
            if items := [event for event in part if event.seq > self._after_seq]:
                yield items


class _Handler:
    """Passes on the events that are no mere reads; of a folder itself only what moves or goes."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    def dispatch(self, event: FileSystemEvent) -> None:
        """Take one event, in a thread of the observer's."""
        kind = event.event_type
        if kind in {"created", "moved", "deleted"} or (
            kind == "modified" and not event.is_directory
        ):
            self._on_change()
