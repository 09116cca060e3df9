"""Lock files that a killed git left in the repository, and those that somebody holds.

A lock file is the agent's where it was absent when its iteration began, was written before the
agent's end, and every process of the agent is gone: it is moved into the run's folder, since every
later git would fail by it. Nothing is moved while a git works in the repository. Any other lock is
waited for, and when it stays the run waits for the user: the file may be all that there is of a
commit whose message is being written. Slow, for processes are looked at where a lock is found: call
it in threads.

Operations of git that an agent was in the middle of when it ended.

One that was under way before the run's agents began anything is the user's.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from ralph_ls.core.loop.inputs import AnnouncementDone, Notice
from ralph_ls.core.loop.rules.commits import UNFINISHED_GIT, unfinished_git_words
from ralph_ls.core.plurals import some_of
from ralph_ls.core.views.text.summary import format_duration
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.git.worktree_state import read_head, under_way
from ralph_ls.engine.process.process_tree import find_marked
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.external.git_locks import (
    LockFile,
    find_blocking,
    find_locks,
    find_running_git,
    move_lock,
    removal_of,
)
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles, Worktree
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch

MOVED = "git-locks-moved"
WAITING = "waiting-for-git"

REPORT_AFTER = 2.0
"""Seconds of waiting that nobody need hear of."""

SHOWN = 5


class GitLocks:
    """The lock files of one run's repository, as its engine knows them."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        emit: Callable[[AnnouncementDone], None] | None,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._emit = emit
        self._before: frozenset[LockFile] = frozenset()
        self._kept: frozenset[LockFile] | None = None
        """What the run's folder says was there before."""
        self._waited: set[LockFile] = set()
        """Those that were waited for as long as there is patience."""
        self._stopped = threading.Event()
        self._notices: list[Notice] = []

    def stop(self) -> None:
        """Wait no more."""
        self._stopped.set()

    def begin(self) -> None:
        """An agent, or a git of the engine, is about to start: what there is now is not its."""
        self._stopped.clear()
        self._before = frozenset(find_locks(self._workspace.worktree).values())
        if self._before != self._kept:
            save_before(self._workspace.files, self._before)
            self._kept = self._before

    def settle(self, start: int) -> tuple[str, ...]:
        """Move what the agent of this start has left, which is gone now; gives what was moved."""
        place = self._workspace.worktree
        left = [lock for lock in find_locks(place).values() if lock not in self._before]
        if not left or find_marked(
            self._workspace.marker(start), self._workspace.config.keep_running
        ):
            return ()
        ended_at = self._clock.now().timestamp() + 0.001
        left = [lock for lock in left if lock.written_at <= ended_at]
        if not wait_until_quiet(
            place, left, self._workspace.config.timeouts.git_lock, self._stopped
        ):
            self._waited.update(left)
            return ()
        moved = move_locks(left, place, self._workspace.files, start)
        if moved:
            folder = folder_of(self._workspace.files, start)
            self._notices.append(emit_moved_locks(moved, place, folder))
        return moved

    def take_notices(self) -> tuple[Notice, ...]:
        """What was moved since this was asked last."""
        taken, self._notices = tuple(self._notices), []
        return taken

    def wait(self) -> str:
        """Wait until nothing locks the work tree; why something still does, in words.

        Empty where nothing does. What was waited for already is waited for no more.
        """
        place = self._workspace.worktree
        locks = self._blocking()
        if not locks:
            return ""
        patience = self._workspace.config.timeouts.git_lock
        began = self._clock.monotonic()
        folders = {lock.path.parent for lock in locks}
        changed = threading.Event()
        is_told = False
        with FolderWatch(folders, changed.set):
            while locks := self._blocking():
                left = began + patience - self._clock.monotonic()
                if self._waited.issuperset(locks) or left <= 0 or self._stopped.is_set():
                    break
                if not is_told and patience - left >= REPORT_AFTER:
                    is_told = True
                    self._say_waiting(locks)
                changed.wait(min(LIVE_INTERVAL, left))
                changed.clear()
        if not locks or self._stopped.is_set():
            return ""
        self._waited.update(locks)
        return describe_locks(locks, place, now=self._clock.now().timestamp())

    def _blocking(self) -> list[LockFile]:
        place = self._workspace.worktree
        try:
            branch = read_head(place.git_dir, place.common_dir).branch
        except RalphError:
            # The next reader reports it.
            branch = None
        return find_blocking(place, branch)

    def _say_waiting(self, locks: Iterable[LockFile]) -> None:
        if self._emit is not None:
            names = some_of([str(lock.path) for lock in locks], SHOWN)
            patience = format_duration(self._workspace.config.timeouts.git_lock)
            message = (
                f"another git process holds the repository; waiting for it up to {patience}: "
                f"{names}"
            )
            self._emit(AnnouncementDone(code=WAITING, message=message))


def move_earlier_locks(
    files: RunFiles, place: Worktree, *, start: int, marker: str, until: float | None
) -> list[Notice]:
    """Move what the agent of a dead engine, or that engine's own git, has left.

    ``until``: when the last of them was gone, in seconds since the epoch; None: nobody knows, and
    nothing is moved. Where nothing says what was there before the agent, nothing is moved either.
    """
    before = load_before(files)
    if before is None or until is None:
        return []
    left = [
        lock
        for lock in find_locks(place).values()
        if (str(lock.path), *lock.file) not in before and lock.written_at <= until
    ]
    if not left or find_marked(marker) or not wait_until_quiet(place, left, LIVE_INTERVAL * 4):
        return []
    moved = move_locks(left, place, files, start)
    return [emit_moved_locks(moved, place, folder_of(files, start))] if moved else []


def wait_until_quiet(
    place: Worktree,
    locks: Collection[LockFile],
    seconds: float,
    stopped: threading.Event | None = None,
) -> bool:
    """Wait until no git works in the repository; whether that is so, and some lock is there."""
    stopped = stopped or threading.Event()
    pauses = int(seconds / LIVE_INTERVAL)
    for _ in range(pauses + 1):
        if not any(lock.is_there() for lock in locks):
            return False
        if find_running_git(place) is None:
            return True
        if stopped.wait(LIVE_INTERVAL):
            return False
    return False


def move_locks(
    locks: Iterable[LockFile], place: Worktree, files: RunFiles, start: int
) -> tuple[str, ...]:
    """Move these lock files into the folder of the start; gives the names of those moved."""
    folder = folder_of(files, start)
    return tuple(str(lock.path) for lock in locks if move_lock(lock, place, folder) is not None)


def folder_of(files: RunFiles, start: int) -> Path:
    """Where the lock files are that an iteration left."""
    return files.folder / f"locks-{start:03d}"


def emit_moved_locks(moved: Collection[str], place: Worktree, folder: Path) -> Notice:
    """What was moved, and where it is now."""
    shown = some_of([_shown(path, place) for path in moved], SHOWN)
    message = (
        f"a killed git left lock files that block every later git; they were moved away: {shown}, "
        f"to {folder}"
    )
    return Notice(code=MOVED, message=message)


def describe_locks(locks: Collection[LockFile], place: Worktree, *, now: float) -> str:
    """Which locks keep git from working, and what the user can do about it."""
    named = [
        f"{lock.path} (there for {format_duration(max(0.0, now - lock.written_at))})"
        for lock in locks
    ]
    worker = find_running_git(place)
    what = "a lock file keeps" if len(named) == 1 else "lock files keep"
    start = f"{what} git from changing the repository: {some_of(named, SHOWN)}"
    if worker is not None:
        return (
            f"{start}; {worker.command} (pid {worker.pid}) is using it: let it finish or end it, "
            "then continue"
        )
    return (
        f"{start}; no git process is running there, but another program may hold it; if nothing "
        f"needs it: {removal_of(lock.path for lock in locks)}"
    )


_BEFORE = "locks-before.json"


def save_before(files: RunFiles, locks: Iterable[LockFile]) -> None:
    """Keep for the next engine what was there before the agent; without it nothing is moved."""
    rows = sorted((str(lock.path), *lock.file) for lock in locks)
    data = json.dumps(rows).encode(errors="surrogateescape")
    try:
        write_atomic(files.folder / _BEFORE, data, mode=PRIVATE_FILE)
    except StateUnusable:
        (files.folder / _BEFORE).unlink(missing_ok=True)


def load_before(files: RunFiles) -> frozenset[tuple[str, int, int]] | None:
    """The lock files that were there before the run's last agent; None where nothing says."""
    data = read_if_there(files.folder / _BEFORE)
    if data is None:
        return None
    try:
        rows = json.loads(data)
        return frozenset((str(path), int(device), int(inode)) for path, device, inode in rows)
    except (ValueError, TypeError):
        return None


def _shown(path: str, place: Worktree) -> str:
    return os.path.relpath(path, place.root) if Path(path).is_relative_to(place.root) else path


class UnfinishedOperations:
    """What the agents of one run have left in the middle."""

    def __init__(self, workspace: Workspace) -> None:
        self._git_dir = workspace.worktree.git_dir
        self._users: str | None = None
        self._left: str | None = None

    def begin(self) -> None:
        """An agent is about to start: what is under way and no agent's is the user's."""
        now = under_way(self._git_dir)
        self._users = None if now == self._left else now

    def notices(self) -> tuple[Notice, ...]:
        """What an agent has left, after its end."""
        now = under_way(self._git_dir)
        self._left = None if now == self._users else now
        if self._left is None:
            return ()
        return (Notice(code=UNFINISHED_GIT, message=unfinished_git_words(self._left)),)
