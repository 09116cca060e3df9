"""Engine lock: one engine per work tree, by operating-system locks that die with their holder.

``ralph-engine`` in the git directory is empty and never removed; ``ralph.json`` beside it names the
process that holds or last held it, so that a viewer finds the state there first, also of an ended
run. ``ralph.lock`` is held as well, for engines and viewers of the release before, and so is a file
in the state folder: ``rm .git/*.lock``, a habit of agents, deletes the one, and ``rm -rf
.git/ralph*`` both in the git directory. ``renew`` takes again what was deleted under its holder.
What can lock and what knows processes is loaded where it is used: most who look need neither.
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
"""In the git directory; a name that no glob for git's own lock files matches."""

EARLIER_LOCK = "ralph.lock"
"""What the release before holds and looks at."""

STATE_LOCK = "engine"
"""In the folder of the work tree's state."""

OWNER = "ralph.json"

PROBE_PATIENCE = 1.0
"""Seconds an engine tries for a dead owner's lock: a viewer's probe holds it for an instant."""

RELEASE_PATIENCE = 0.1
"""The same where the owner lives, which may be about to leave and have let the lock go."""

_STARTED_BEFORE = 2.0
"""Seconds by which a process may seem to be younger than what it wrote first."""


class LockOwner(WireModel):
    """Who holds, or last held, the work tree."""

    pid: int
    process_start_time: float
    run: str
    state_dir: str
    """The folder of this work tree's state, ``<state>/worktrees/<hash>``."""


class EngineLock:
    """The lock of one work tree, held from ``acquire`` to ``release`` or to the process's end."""

    def __init__(self, git_dir: Path, state: Path | None = None) -> None:
        """``state`` is the folder of this work tree's state, for engines that run loops there."""
        self._git_dir = git_dir
        self._paths = [git_dir / LOCK, git_dir / EARLIER_LOCK]
        self._state = () if state is None else (state,)
        self._paths += [folder / STATE_LOCK for folder in self._state]
        self._held: dict[Path, _LockedFile] = {}
        self._owner: LockOwner | None = None

    def acquire(self) -> None:
        """Take the lock; raises ``WorkspaceBusy`` naming the pid and the run that hold it."""
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
                f"{path} cannot be opened: {error.strerror or error}; "
                f"the loop needs to write into {what}"
            ) from error
        lives = self._living_owner() is not None
        patience = RELEASE_PATIENCE if lives else PROBE_PATIENCE
        try:
            self._held[path] = _LockedFile(path, patience=patience)
        except Timeout:
            raise WorkspaceBusy(_busy_message(self._living_owner())) from None

    def _living_owner(self) -> LockOwner | None:
        """The owner, unless it is the last one of an engine that is only just starting."""
        for folder in (self._git_dir, *self._state):
            owner = read_owner(folder)
            if owner is not None and is_same_process(owner.pid, owner.process_start_time):
                return owner
        return None

    def claim(self, owner: LockOwner) -> None:
        """Write down who holds the lock; call it only while holding it."""
        self._owner = owner
        data = owner.model_dump_json(by_alias=True).encode() + b"\n"
        for folder in (self._git_dir, *self._state):
            write_atomic(folder / OWNER, data, mode=PRIVATE_FILE)

    def renew(self) -> tuple[Path, ...]:
        """Take again what was deleted or replaced under us; gives the files that were.

        A file that another process just now holds is left to the next call. Raises
        ``WorkspaceBusy`` where another living engine has claimed the work tree.
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
            self._require_no_other()
            folders = (self._git_dir, *(one for one in self._state if one.is_dir()))
            gone = [folder / OWNER for folder in folders if read_owner(folder) != self._owner]
            if gone:
                self.claim(self._owner)
                lost += gone
        return tuple(lost)

    def _require_no_other(self) -> None:
        other = self._living_owner()
        if self._owner is not None and other is not None and other.pid != self._owner.pid:
            raise WorkspaceBusy(
                f"another engine (pid {other.pid}) took over this work tree with run {other.run} "
                "after the lock of this one had been deleted; see it with: ralph watch"
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
    """Who holds or last held the work tree, by its git directory or the folder of its state.

    None where nobody ever did, or it is unreadable.
    """
    try:
        data = read_if_there(folder / OWNER)
    except IrregularFile:
        return None
    if data is None:
        return None
    try:
        return LockOwner.model_validate_json(data)
    except ValidationError:
        return None


def is_held(git_dir: Path) -> bool:
    """Whether an engine holds the work tree now."""
    # The named owner may be dead and another engine just starting, which only the lock can tell.
    if read_owner(git_dir) is None:
        return False
    return is_locked(git_dir / LOCK) or is_locked(git_dir / EARLIER_LOCK)


def is_state_held(state: Path) -> bool:
    """Whether an engine runs loops by this folder of a work tree's state now."""
    return is_locked(state / STATE_LOCK)


def is_same_process(pid: int, start_time: float) -> bool:
    """Whether the process that was started then still lives; a zombie does not."""
    import psutil

    try:
        process = psutil.Process(pid)
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and abs(process.create_time() - start_time) < 1.0
    except (psutil.Error, ValueError):
        return False


def is_engine(pid: int | None, since: datetime | None) -> bool:
    """Whether the engine that wrote its pid into a journal at that moment still lives.

    A process with that number which was there before then can be no other one.
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


def own_start_time() -> float:
    """This process's start time, as other processes will read it."""
    import psutil

    return psutil.Process().create_time()


class _LockedFile:
    """One lock file, locked by this process, and which file it was."""

    def __init__(self, path: Path, *, patience: float = 0.0) -> None:
        """Raises filelock's ``Timeout`` where another process holds it, and ``OSError``."""
        self._path = path
        self._lock = _file_lock(path)
        self._lock.acquire(timeout=patience, poll_interval=0.02)
        self._file = _identity(path)

    def is_in_place(self) -> bool:
        """Whether the file of that name is still the one that is locked."""
        return self._file is not None and _identity(self._path) == self._file

    def release(self) -> None:
        self._lock.release()


def _file_lock(path: Path) -> BaseFileLock:
    from filelock import FileLock

    # Not bound to a thread: whichever one ends the engine lets the lock go.
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
        return "another engine owns this work tree; see it with: ralph watch"
    return (
        f"another engine (pid {owner.pid}) owns this work tree with run {owner.run}; "
        "see it with: ralph watch, or end it with: ralph stop"
    )
