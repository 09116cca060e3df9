"""One engine per work tree: an operating-system lock that dies with its holder (SPEC §2).

``ralph.lock`` in the git directory is empty and never removed; ``ralph.json`` beside it tells who
holds or last held it, so that a viewer finds the state there first, also of an ended run.
What can lock and what knows processes is loaded where it is used: most who look need neither.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from pydantic import ValidationError

from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import StateUnusable, WorkspaceBusy
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic

PROBE_PATIENCE = 1.0
"""Seconds an engine tries for a dead owner's lock: a viewer's probe holds it for an instant."""

LEAVING_PATIENCE = 0.1
"""The same where the owner lives, which may be about to leave and have let the lock go."""


class Owner(WireModel):
    """Who holds, or last held, the work tree."""

    pid: int
    process_start_time: float
    run: str
    state_dir: str
    """The folder of this work tree's state, ``<state>/worktrees/<hash>``."""


class EngineLock:
    """The lock of one work tree, held from ``acquire`` to ``release`` or to the process's end."""

    def __init__(self, git_dir: Path) -> None:
        from filelock import FileLock

        self._git_dir = git_dir
        # Not bound to a thread: whichever one ends the engine lets the lock go.
        self._lock = FileLock(
            git_dir / "ralph.lock", timeout=0, mode=PRIVATE_FILE, thread_local=False
        )

    def acquire(self) -> None:
        """Take the lock; raises ``WorkspaceBusy`` naming the pid and the run that hold it."""
        from filelock import Timeout

        try:
            self._lock.acquire(timeout=0)
            return
        except Timeout:
            pass
        except OSError as error:
            raise StateUnusable(
                f"{self._git_dir / 'ralph.lock'} cannot be opened: {error.strerror or error}; "
                "the loop needs to write into the git directory"
            ) from error
        lives = _living_owner(self._git_dir) is not None
        patience = LEAVING_PATIENCE if lives else PROBE_PATIENCE
        try:
            self._lock.acquire(timeout=patience, poll_interval=0.02)
        except Timeout:
            raise WorkspaceBusy(_busy_message(_living_owner(self._git_dir))) from None

    def claim(self, owner: Owner) -> None:
        """Write down who holds the lock; call it only while holding it."""
        data = owner.model_dump_json(by_alias=True).encode() + b"\n"
        write_atomic(self._git_dir / "ralph.json", data, mode=PRIVATE_FILE)

    def release(self) -> None:
        self._lock.release()

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


def read_owner(git_dir: Path) -> Owner | None:
    """Who holds or last held the work tree; None where nobody ever did, or it is unreadable."""
    data = read_if_there(git_dir / "ralph.json")
    if data is None:
        return None
    try:
        return Owner.model_validate_json(data)
    except ValidationError:
        return None


def is_held(git_dir: Path) -> bool:
    """Whether an engine holds the work tree now."""
    # The named owner may be dead and another engine just starting, which only the lock can tell.
    return read_owner(git_dir) is not None and _is_locked(git_dir)


def is_same_process(pid: int, start_time: float) -> bool:
    """Whether the process that was started then still lives; a zombie does not."""
    import psutil

    try:
        process = psutil.Process(pid)
        alive = process.status() != psutil.STATUS_ZOMBIE
        return alive and abs(process.create_time() - start_time) < 1.0
    except (psutil.Error, ValueError):
        return False


def own_start_time() -> float:
    """This process's start time, as other processes will read it."""
    import psutil

    return psutil.Process().create_time()


def _living_owner(git_dir: Path) -> Owner | None:
    """The owner, unless it is the last one of an engine that is only just starting."""
    owner = read_owner(git_dir)
    if owner is None or not is_same_process(owner.pid, owner.process_start_time):
        return None
    return owner


def _is_locked(git_dir: Path) -> bool:
    if not (git_dir / "ralph.lock").exists():
        return False
    from filelock import FileLock, Timeout

    probe = FileLock(git_dir / "ralph.lock", timeout=0, mode=PRIVATE_FILE)
    try:
        probe.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    probe.release()
    return False


def _busy_message(owner: Owner | None) -> str:
    if owner is None:
        return "another engine owns this work tree; see it with: ralph watch"
    return (
        f"another engine (pid {owner.pid}) owns this work tree with run {owner.run}; "
        "see it with: ralph watch, or end it with: ralph stop"
    )
