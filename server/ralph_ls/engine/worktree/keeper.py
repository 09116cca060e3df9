"""Keeper: a small process beside the engine that records the work tree once both are gone.

An engine may be killed at any moment, and its agent works on. What the agent wrote until its end is
the iteration's; what is written later is the user's. To separate the two, the keeper sleeps on a
pipe whose other end only the engine has, wakes up when the engine is dead, waits for the agent's
end, notes the time, and records the work tree as the engine does between two iterations. The next
engine finds that record in the run's folder.

The keeper is forked before anything of the run is begun: that takes a millisecond or two, and
nothing for each agent. The agent's process stays as it is, with its exit code, signals and group.
Where the system cannot fork (Windows), or the keeper was killed too, nothing is recorded, and the
last signs of life decide (``core.loop.evidence.ownership``).
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.git.worktree_state import LoopFiles, take_baseline
from ralph_ls.engine.process.process_tree import find_marked, is_alive, wait_until_gone
from ralph_ls.engine.worktree.workspace import (
    FinalSnapshot,
    Workspace,
    load_final_snapshot,
    remove_final_snapshot,
    save_final_snapshot,
)
from ralph_ls.protocol.config.config import Committer
from ralph_ls.store.external.supervisor import KILL_PATIENCE, end_programs_with_process
from ralph_ls.store.files import PRIVATE_FILE

LOCK = "keeper.lock"

PATIENCE = 10.0
"""Seconds that a start waits for a keeper that is still looking at the tree."""

LEAVE_PATIENCE = 0.5
"""Seconds that a keeper gets for its look where the engine ends with an iteration open."""

_POLL_INTERVAL = 0.005

CLOCK_STEP = 0.001
"""Seconds: our clock is cut to milliseconds, those of files are not."""

_WAIT = 3600.0
"""Seconds of one wait for the agent's end; there is no last one."""


class TreeKeeper:
    """The engine's end of the pipe."""

    def __init__(self, pipe: int | None = None, pid: int = 0) -> None:
        self._pipe = pipe
        self._pid = pid
        self._is_watching = False

    def watch(self, workspace: Workspace) -> None:
        """From now on the keeper looks at this work tree when the engine dies.

        Until then the look of an earlier keeper holds, which an open iteration is settled by.
        """
        place, own = workspace.worktree, workspace.own_files
        folder = workspace.files.folder
        self._tell(
            root=str(place.root),
            git_dir=str(place.git_dir),
            common_dir=str(place.common_dir),
            paths=sorted(own.paths),
            folders=list(own.folders),
            by_content=workspace.config.commits is Committer.LOOP,
            folder=str(folder),
        )
        remove_final_snapshot(folder)
        self._is_watching = True

    def begin(self, start: int, marker: str) -> None:
        """The agent of an iteration is about to be started."""
        self._tell(of_start=start, marker=marker, pid=0, start=0.0)

    def started(self, pid: int, start_time: float) -> None:
        """The agent lives."""
        self._tell(marker="", pid=pid, start=start_time)

    def ended(self) -> None:
        """The agent is gone, and the engine knows it."""
        self._tell(marker="", pid=0, start=0.0)

    def dismiss(self) -> None:
        """The run ended as it should: there is nothing to look at. Idempotent."""
        self._tell(over=True)
        self._close()
        # It would do no more than end, and may have been stopped.
        self._end(signal.SIGKILL)

    def leave(self) -> None:
        """Let go of the keeper, which looks at the tree as if the engine had died.

        It gets a moment for that, and is ended where git hangs: nothing outlives an orderly end.
        """
        if not self._is_watching:
            self.dismiss()
        self._close()
        if self._pid and not self._is_gone(LEAVE_PATIENCE):
            self._end(signal.SIGTERM, LEAVE_PATIENCE)
            self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals, seconds: float = KILL_PATIENCE) -> None:
        if self._pid:
            with contextlib.suppress(OSError):
                os.kill(self._pid, number)
            self._is_gone(seconds)

    def _is_gone(self, seconds: float) -> bool:
        """Wait for the keeper's end, and reap it; whether it came."""
        pause = threading.Event()
        for _ in range(math.ceil(seconds / _POLL_INTERVAL)):
            try:
                if os.waitpid(self._pid, os.WNOHANG)[0]:
                    self._pid = 0
            except OSError:
                self._pid = 0
            if not self._pid:
                return True
            pause.wait(_POLL_INTERVAL)
        return False

    def _tell(self, **fields: Any) -> None:
        if self._pipe is None:
            return
        try:
            os.write(self._pipe, json.dumps(fields).encode() + b"\n")
        except OSError:
            # It was killed: the engine works on without it.
            self._close()

    def _close(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None


def start_keeper() -> TreeKeeper:
    """Fork the keeper; where that cannot be, one that does nothing."""
    if sys.platform == "win32":
        return TreeKeeper()
    try:
        read_end, write_end = os.pipe()
    except OSError:
        return TreeKeeper()
    try:
        with warnings.catch_warnings():
            # The child runs nothing that another thread could hold a lock of.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError:
        os.close(read_end)
        os.close(write_end)
        return TreeKeeper()
    if pid == 0:
        try:
            _keep(read_end)
        finally:
            os._exit(0)
    os.close(read_end)
    # Messages are short, but nothing ever holds up the engine.
    os.set_blocking(write_end, False)
    return TreeKeeper(write_end, pid)


def read_final_snapshot(folder: Path, *, patience: float = PATIENCE) -> FinalSnapshot | None:
    """What the keeper of the last engine that died saw; None where there was none.

    Waits for a keeper that is still about to look; the caller has ended the agent.
    """
    _wait_for_keeper(folder / LOCK, patience)
    return load_final_snapshot(folder)


def _wait_for_keeper(lock: Path, patience: float) -> None:
    if not lock.exists():
        return
    from filelock import FileLock, Timeout

    held = FileLock(lock, timeout=patience, mode=PRIVATE_FILE, poll_interval=0.01)
    with contextlib.suppress(Timeout, OSError), held:
        pass


def _keep(pipe: int) -> None:
    """The life of the keeper: hear what the engine does, until it is dead."""
    os.setsid()
    _let_go_of_all_but(pipe)
    known: dict[str, Any] = {}
    held: list[Any] = []
    with os.fdopen(pipe, "rb") as lines:
        for line in lines:
            try:
                known.update(json.loads(line))
            except (ValueError, RecursionError):
                # The engine died while it wrote.
                break
            if known.get("over"):
                return
            if not held and "folder" in known:
                held.append(_hold(Path(known["folder"]) / LOCK))
    if "root" in known:
        _look(known)


def _let_go_of_all_but(pipe: int) -> None:
    """Nobody must wait for the end of a pipe, or of a terminal, that the keeper still has open."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    end_programs_with_process()
    signal.set_wakeup_fd(-1)
    most = os.sysconf("SC_OPEN_MAX")
    os.closerange(0, pipe)
    os.closerange(pipe + 1, most if most > pipe else 1 << 20)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        if descriptor not in (null, pipe):
            os.dup2(null, descriptor)


def _hold(lock: Path) -> Any:
    from filelock import FileLock

    held = FileLock(lock, timeout=PATIENCE, mode=PRIVATE_FILE)
    with contextlib.suppress(Exception):
        held.acquire()
    return held


def _look(known: dict[str, Any]) -> None:
    died_at = _now()
    ended_at = _now() if _wait_for_agent(known) else None
    tree = take_baseline(
        Path(known["root"]),
        Path(known["git_dir"]),
        Path(known["common_dir"]),
        own=LoopFiles(paths=frozenset(known["paths"]), folders=tuple(known["folders"])),
        by_content=known["by_content"],
    )
    look = FinalSnapshot(
        start=known.get("of_start"),
        ended_at=ended_at,
        died_at=died_at,
        looked_at=_now(),
        tree=tree,
    )
    save_final_snapshot(Path(known["folder"]), look)


def _now() -> float:
    """The time, by which nothing was written later that was written before this was asked."""
    return SystemClock().now().timestamp() + CLOCK_STEP


def _wait_for_agent(known: dict[str, Any]) -> bool:
    """Wait for the agent's end; whether the engine died before it was informed of that."""
    import psutil

    marker, pid = known.get("marker", ""), known.get("pid", 0)
    while marker and (marked := find_marked(marker)):
        wait_until_gone(marked, _WAIT)
    while pid and is_alive(pid, known.get("start", 0.0)):
        with contextlib.suppress(psutil.Error):
            wait_until_gone([psutil.Process(pid)], _WAIT)
    return bool(marker or pid)
