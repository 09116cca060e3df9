"""Follower: a thread that scans a work tree when its files change, with backpressure.

The thread reads, folds and watches; the event loop gets whole results and never waits for a disk.
While an engine has the work tree the thread also scans every 500 ms; otherwise it does nothing
until a file changes (docs/rules.md#following). Events of a run are never dropped, so the thread
reads on only when the event loop, and a slow client, keep up; the agent's output is bounded by
``editor.lsp.outbox``.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from ralph_ls.editor.scheduling import FailureLog
from ralph_ls.editor.worktree.run_reader import FRAME_INTERVAL
from ralph_ls.editor.worktree.scanner import WorktreeScanner
from ralph_ls.editor.worktree.snapshot import ScanResult, WatchedFolders
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.store.run.follow import LIVE_INTERVAL


class BackpressuredSink:
    """Hands what a thread found to the running loop, in order."""

    def __init__(
        self, take: Callable[[ScanResult], None], on_backpressure: Callable[[], Awaitable[None]]
    ) -> None:
        """``take`` is called in the loop; behind events, ``keep_pace`` is waited for as well."""
        self._take = take
        self._apply_backpressure = on_backpressure
        self._loop = asyncio.get_running_loop()
        self._waiting = set[asyncio.Task[None]]()

    def __call__(self, found: ScanResult, taken: Callable[[], None]) -> None:
        """From any thread; ``taken`` is called when more may come.

        Raises RuntimeError where the loop is closed.
        """
        self._loop.call_soon_threadsafe(self._receive, found, taken)

    def _receive(self, found: ScanResult, taken: Callable[[], None]) -> None:
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
            await self._apply_backpressure()
        finally:
            taken()


logger = logging.getLogger(__name__)

Result = TypeVar("Result")

ScanResultSink = Callable[[ScanResult, Callable[[], None]], None]
"""Takes what was found, and calls the second one when it has; from any thread, never blocking."""


class FileWatch:
    """Calls back when a file that matters was modified, created, moved or deleted."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._observer: BaseObserver | None = None
        self._watches: dict[Path, _Watched] = {}
        self._gone: set[str] = set()
        """Folders that went: one that comes again may have the very number of the old one."""
        self.works = True
        """Whether the system reports changes; if not, polling must do."""

    def set(self, wanted: WatchedFolders) -> bool:
        """Watch these folders and no others; whether that is any other than before.

        The first one that cannot be watched ends all watching: then everything is looked at.
        """
        if not self.works:
            return False
        try:
            return self._set(wanted)
        except OSError as error:
            logger.warning(
                "The system reports no changes (%s), so ralph checks the files itself", error
            )
            self.works = False
            self.close()
            return False

    def close(self) -> None:
        if self._observer is not None and self._observer.is_alive():
            self._observer.stop()
            self._observer.join()

    def _set(self, wanted: WatchedFolders) -> bool:
        observer, changed = self._begun(), False
        gone = {self._gone.pop() for _ in range(len(self._gone))}
        for folder, known in [*self._watches.items()]:
            went = str(folder) in gone or known.identity != _identity_of(folder)
            if went or folder not in wanted:
                observer.unschedule(self._watches.pop(folder).watch)
        for folder, names in wanted.items():
            if folder not in self._watches:
                changed = self._add(observer, folder, names) or changed
            elif (handler := self._watches[folder].handler).names != names:
                handler.names, changed = names, True
        return changed

    def _begun(self) -> BaseObserver:
        if self._observer is None:
            self._observer = Observer()
            self._observer.start()
        return self._observer

    def _add(self, observer: BaseObserver, folder: Path, names: frozenset[str] | None) -> bool:
        identity = _identity_of(folder)
        if identity is None:
            return False
        handler = _Handler(names, self._on_change, self._note_gone)
        try:
            watch = observer.schedule(handler, str(folder), recursive=False)
        except FileNotFoundError:
            return False  # It went just now.
        self._watches[folder] = _Watched(watch, handler, identity)
        return True

    def _note_gone(self, folder: str) -> None:
        """Wake for one that is watched: its successor may be there already, and unwatched."""
        self._gone.add(folder)
        if Path(folder) in self._watches:
            self._on_change()


class WorktreeFollower:
    """The thread that follows one work tree."""

    def __init__(self, tree: WorktreeScanner, hand_over: ScanResultSink) -> None:
        self._tree = tree
        self._hand_over = hand_over
        self._jobs: deque[Callable[[], None]] = deque()
        self._wake = threading.Event()
        self._hurry = threading.Event()
        self._stopped = threading.Event()
        self._failures = FailureLog(f"looking at {tree.folders.worktree.root}")
        self._thread = threading.Thread(
            target=self._run, name=f"ralph-ls follow {tree.folders.worktree.root.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Look no more; does not wait for the thread."""
        self._stopped.set()
        self._hurry.set()
        self._wake.set()

    def do(self, job: Callable[[WorktreeScanner], Result]) -> Future[Result]:
        """Run a job in the thread, right after a separate scan of everything."""
        future: Future[Result] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(job(self._tree))
            except Exception as error:  # noqa: BLE001 -- the future carries it
                future.set_exception(error)

        self._jobs.append(work)
        self._hurry.set()
        self._wake.set()
        if not self._thread.is_alive():
            future.cancel()
        return future

    def _run(self) -> None:
        watch = FileWatch(self._wake.set)
        try:
            while not self._stopped.is_set():
                self._wake.clear()
                self._hurry.clear()
                found = self._scan()
                if self._watch(watch):
                    continue  # What changed before it was watched has not been seen.
                if found:
                    # Whatever comes in the meantime makes one frame; a lone line has not waited.
                    self._hurry.wait(FRAME_INTERVAL)
                blind = self._tree.held or not watch.works
                self._wake.wait(LIVE_INTERVAL if blind else None)
        finally:
            watch.close()
            for job in self._take_jobs():
                job()

    def _scan(self) -> bool:
        """One look, and the jobs that wait for it; whether anything was found."""
        jobs, n_found = self._take_jobs(), 0
        try:
            for found in self._tree.scan(fresh=bool(jobs)):
                n_found += 1
                if not self._give(found):
                    break
            self._failures.clear("look")
        except Exception as error:  # noqa: BLE001 -- a file in the way must not end the viewer
            self._failures.log_once("look", error)
        for job in jobs:
            job()
        return n_found > 0

    def _watch(self, watch: FileWatch) -> bool:
        """Watch what matters by now; whether that is any other than before."""
        try:
            return watch.set(self._tree.watched())
        except Exception as error:  # noqa: BLE001 -- as above
            self._failures.log_once("watch", error)
            return False

    def _take_jobs(self) -> list[Callable[[], None]]:
        return [self._jobs.popleft() for _ in range(len(self._jobs))]

    def _give(self, found: ScanResult) -> bool:
        """Hand it over and wait until it is taken: so a busy loop is given more at once."""
        taken = threading.Event()
        try:
            self._hand_over(found, taken.set)
        except RuntimeError:
            self.stop()  # The loop is closed: there is no listener.
            return False
        while not taken.wait(LIVE_INTERVAL):
            if self._stopped.is_set():
                return False
        return not self._stopped.is_set()


class _Watched:
    def __init__(self, watch: ObservedWatch, handler: _Handler, identity: tuple[int, int]) -> None:
        self.watch = watch
        self.handler = handler
        self.identity = identity


class _Handler(FileSystemEventHandler):
    """Only what changes a file: reading one causes events too, and would never end."""

    def __init__(
        self,
        names: frozenset[str] | None,
        on_change: Callable[[], None],
        on_gone: Callable[[str], None],
    ) -> None:
        """``on_gone`` is called with each folder that was deleted or moved away."""
        self.names = names
        self._on_change = on_change
        self._on_gone = on_gone

    def on_modified(self, event: FileSystemEvent) -> None:
        if not event.is_directory:
            self._emit(event.src_path)

    def on_created(self, event: FileSystemEvent) -> None:
        self._emit(event.src_path)

    def on_deleted(self, event: FileSystemEvent) -> None:
        if event.is_directory:
            self._on_gone(str(event.src_path))
        self._emit(event.src_path)

    def on_moved(self, event: FileSystemEvent) -> None:
        if event.is_directory:
            self._on_gone(str(event.src_path))
        self._emit(event.src_path, event.dest_path)

    def _emit(self, *paths: bytes | str) -> None:
        names = self.names
        if names is None or any(Path(str(path)).name in names for path in paths):
            self._on_change()


def _identity_of(folder: Path) -> tuple[int, int] | None:
    try:
        stat = folder.stat()
    except OSError:
        return None
    return (stat.st_dev, stat.st_ino)
