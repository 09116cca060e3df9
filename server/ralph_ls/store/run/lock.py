"""Engine lock: one engine per work tree, by operating-system locks that die with their holder.

``ralph-engine`` in the git directory is empty and never removed; ``ralph.json`` beside it names the
process that holds or last held it, so that a viewer finds the state, also of an ended run.
``ralph.lock`` is held as well, for engines and viewers of the previous release, and so is a file in
the state folder: ``rm .git/*.lock``, a habit of agents, deletes the former, and
``rm -rf .git/ralph*`` both in the git directory. ``renew`` locks again what was deleted. Libraries
for locks and processes are imported where they are used, since most callers need neither.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import StateUnusable, WorkspaceBusy
from ralph_ls.store.files import (
    PRIVATE_FILE,
    IrregularFile,
    make_private_folder,
    read_if_there,
    write_atomic,
)

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK = "ralph-engine"
"""Lock file in the git directory; no glob for git's lock files matches its name."""

EARLIER_LOCK = "ralph.lock"
"""Lock file of the previous release."""

STATE_LOCK = "engine"
"""Lock file in the work tree's state folder."""

OWNER = "ralph.json"

PROBE_PATIENCE = 1.0
"""Seconds to try for a dead owner's lock: a viewer's probe holds it for an instant."""

RELEASE_PATIENCE = 0.1
"""The same where the owner is alive, which may be exiting and have released the lock."""

_STARTED_BEFORE = 2.0
"""Seconds by which a process may seem younger than its first event."""


class LockOwner(WireModel):
    """The process that holds, or last held, the work tree."""

    pid: int
    process_start_time: float
    run: str
    state_dir: str
    """State folder of the work tree, ``<state>/worktrees/<hash>``."""


class EngineLock:
    """Lock of one work tree, held from ``acquire`` to ``release`` or the end of the process."""

    def __init__(self, git_dir: Path, state: Path | None = None) -> None:
        """``state`` is the state folder of the work tree, for engines that run loops there."""
        self._git_dir = git_dir
        self._paths = [git_dir / LOCK, git_dir / EARLIER_LOCK]
        self._state = () if state is None else (state,)
        self._paths += [folder / STATE_LOCK for folder in self._state]
        self._held: dict[Path, _LockedFile] = {}
        self._owner: LockOwner | None = None

    def acquire(self) -> None:
        """Take the lock; raises ``WorkspaceBusy`` with the pid and the run that hold it."""
        for folder in self._state:
            make_private_folder(folder)
        try:
            for path in self._paths:
                self._take(path)
        except BaseException:
            self.release()
            raise

    def _take(self, path: Path) -> None:
        from filelock import Timeout

        try:
            self._held[path] = _LockedFile(path)
            return
        except Timeout:
            pass
        except OSError as error:
            what = "the git directory" if path.parent == self._git_dir else "its state folder"
            raise StateUnusable(
                f"{path} cannot be opened: {error.strerror or error}; ralph must be able to write "
                f"to {what}"
            ) from error
        lives = self._living_owner() is not None
        patience = RELEASE_PATIENCE if lives else PROBE_PATIENCE
        try:
            self._held[path] = _LockedFile(path, patience=patience)
        except Timeout:
            raise WorkspaceBusy(_busy_message(self._living_owner())) from None

    def _living_owner(self) -> LockOwner | None:
        """The living owner; None while a starting engine has not claimed the lock yet."""
        for folder in (self._git_dir, *self._state):
            owner = read_owner(folder)
            if owner is not None and is_same_process(owner.pid, owner.process_start_time):
                return owner
        return None

    def claim(self, owner: LockOwner) -> None:
        """Record the owner of the lock; call it only while holding it."""
        self._owner = owner
        for folder in (self._git_dir, *self._state):
            write_atomic(folder / OWNER, _owner_bytes(owner), mode=PRIVATE_FILE)

    def renew(self) -> tuple[Path, ...]:
        """Lock files again that were deleted or replaced; returns those files.

        A file that another process holds at the moment is left to the next call. Raises
        ``WorkspaceBusy`` where another live engine has claimed the work tree.
        """
        from filelock import Timeout

        lost: list[Path] = []
        for path, held in list(self._held.items()):
            if held.is_in_place() or not path.parent.is_dir():
                continue
            try:
                again = _LockedFile(path)
            except (Timeout, OSError):
                self._require_no_other()
                continue
            held.release()
            self._held[path] = again
            lost.append(path)
        if self._owner is not None and self._git_dir.is_dir():
            claimed = _owner_bytes(self._owner)
            folders = (self._git_dir, *(one for one in self._state if one.is_dir()))
            gone = [folder / OWNER for folder in folders if _read_bytes(folder) != claimed]
            if gone:
                self._require_no_other()
                self.claim(self._owner)
                lost += gone
        return tuple(lost)

    def _require_no_other(self) -> None:
        other = self._living_owner()
        if self._owner is not None and other is not None and other.pid != self._owner.pid:
            raise WorkspaceBusy(
                f"another engine (pid {other.pid}) took over this work tree with run {other.run} "
                "after this one's lock was deleted; follow it with: ralph watch"
            )

    def release(self) -> None:
        for held in self._held.values():
            held.release()
        self._held.clear()

    def __enter__(self) -> EngineLock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def read_owner(folder: Path) -> LockOwner | None:
    """The owner of a work tree, from its git directory or its state folder.

    None where there never was one, or it is unreadable.
    """
    data = _read_bytes(folder)
    if data is None:
        return None
    try:
        return LockOwner.model_validate_json(data)
    except ValidationError:
        return None


def _owner_bytes(owner: LockOwner) -> bytes:
    return owner.model_dump_json(by_alias=True).encode() + b"\n"


def _read_bytes(folder: Path) -> bytes | None:
    try:
        return read_if_there(folder / OWNER)
    except IrregularFile:
        return None


def is_held(git_dir: Path) -> bool:
    """Whether an engine holds the work tree now."""
    # The named owner may be dead and another engine be starting, which only the lock shows.
    if read_owner(git_dir) is None:
        return False
    return is_locked(git_dir / LOCK) or is_locked(git_dir / EARLIER_LOCK)


def is_state_held(state: Path) -> bool:
    """Whether an engine runs with this state folder now."""
    return is_locked(state / STATE_LOCK)


def is_same_process(pid: int, start_time: float) -> bool:
    """Whether the process with this start time is alive; a zombie is not."""
    import psutil

    try:
        process = psutil.Process(pid)
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and abs(process.create_time() - start_time) < 1.0
    except (psutil.Error, ValueError):
        return False


def is_engine(pid: int | None, since: datetime | None) -> bool:
    """Whether the engine that wrote its pid into a journal at that time is alive.

    A process with that pid that is older than the event must be the engine.
    """
    import psutil

    if pid is None or since is None or pid == os.getpid():
        return False
    try:
        process = psutil.Process(pid)
        is_alive = process.status() != psutil.STATUS_ZOMBIE
        return is_alive and process.create_time() < since.timestamp() + _STARTED_BEFORE
    except (psutil.Error, ValueError):
        return False


def start_time_of(pid: int) -> float | None:
    """Start time of a process; None where there is none."""
    import psutil

    try:
        return psutil.Process(pid).create_time()
    except (psutil.Error, ValueError):
        return None


def own_start_time() -> float:
    """Start time of this process, as other processes read it."""
    import psutil

    return psutil.Process().create_time()


class _LockedFile:
    """A lock file that this process has locked, with its identity."""

    def __init__(self, path: Path, *, patience: float = 0.0) -> None:
        """Lock the file; raises filelock's ``Timeout`` if it is held, and ``OSError``."""
        self._path = path
        self._lock = _file_lock(path)
        self._lock.acquire(timeout=patience, poll_interval=0.02)
        self._file = _identity(path)

    def is_in_place(self) -> bool:
        """Whether the file at the path is still the locked one."""
        return self._file is not None and _identity(self._path) == self._file

    def release(self) -> None:
        self._lock.release()


def _file_lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    # Not bound to a thread: any thread may end the engine and release the lock.
    return FileLock(path, timeout=0, mode=PRIVATE_FILE, thread_local=False)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def is_locked(path: Path) -> bool:
    """Whether another process holds this lock file."""
    if not path.exists():
        return False
    from filelock import Timeout

    probe = _file_lock(path)
    try:
        probe.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    probe.release()
    return False


def _busy_message(owner: LockOwner | None) -> str:
    if owner is None:
        return "another engine owns this work tree; follow it with: ralph watch"
    return (
        f"another engine (pid {owner.pid}) owns this work tree with run {owner.run}; follow it "
        "with ralph watch, or end it with: ralph stop"
    )
