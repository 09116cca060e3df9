"""Process tree of an agent: finds and ends all processes that the agent started.

Agents leave servers, watchers and daemons behind. A process belongs to an agent when it is in the
agent's process group, when its environment has the marker of the iteration (also in another
session), or when it descends from the agent's reaper (``reaper``), as all of them do on Linux.
Daemons that users keep, such as ``gpg-agent``, are left running with their descendants, and named.

Processes are signalled here and never reaped, since the exit code belongs to the parent; a process
that merely reuses a pid is never signalled.

Windows has neither groups nor TERM: processes are found by parent and marker, and the first request
ends them at once. That part follows the documentation and has not been run.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import psutil

from ralph_ls.engine.clock import SystemClock
from ralph_ls.store.run.ancestry import MARKER
from ralph_ls.store.run.lock import is_same_process

ROUNDS = 5
"""Repetitions of the search, for processes that were forked while their parents were ended."""

KILL_PATIENCE = 1.0
"""Seconds that a killed process gets to be gone: one in the middle of a disk access takes some."""

KILL_LIMIT = 5.0
"""Seconds after which killing ends although new processes keep appearing, as a fork bomb's do."""

EXIT_PATIENCE = 1.0
"""Seconds that a reaper below which no process is found gets to exit, searching meanwhile."""

KEPT_PATIENCE = 0.1
"""The same where a daemon that is kept lives below it, so that it does not exit."""

POLL_INTERVAL = 0.02
"""Seconds between two checks, where the system does not signal the end of a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEnd:
    """Numbers of processes that were ended in a tree."""

    terminated: int = 0
    """Asked to end."""
    killed: int = 0
    """Those which had to be killed."""
    survivors: tuple[int, ...] = ()
    """The pids of those which live on: another user's, or stuck in the kernel."""
    kept: tuple[str, ...] = ()
    """Daemons that were left alone, each as ``name (pid)``."""


def start_identity(pid: int) -> float | None:
    """Start time of the process, in seconds since the epoch; None if there is none.

    Together with the pid it identifies a process, as ``is_alive`` compares it.
    """
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None


def is_alive(pid: int, start_time: float) -> bool:
    """Whether the process that was started then still lives; a zombie does not."""
    return is_same_process(pid, start_time)


def find_marked(marker: str, keep: Collection[str] = ()) -> list[psutil.Process]:
    """The living processes of the iteration ``<run>/<n>``, never this one or a daemon of ``keep``.

    A process whose environment we may not read is another user's, and none of ours.
    """
    return [
        process
        for process in find_members(group=None, marker=marker)
        if not keep or daemon_name(process, keep) is None
    ]


def find_members(*, group: int | None, marker: str | None) -> list[psutil.Process]:
    """The living processes in the group or with the marker, never this one."""
    wanted = None if marker is None else f"{MARKER}={marker}".encode()
    own = os.getpid()
    found: list[psutil.Process] = []
    for pid in psutil.pids():
        if pid == own or not _belongs(pid, group, wanted):
            continue
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            # Checked again, since its pid may have been reused.
            if process.status() != psutil.STATUS_ZOMBIE and _belongs(pid, group, wanted):
                found.append(process)
    return found


def end_tree(
    *,
    group: int | None,
    marker: str | None,
    grace_seconds: float,
    pid: int | None = None,
    reaper: int | None = None,
    keep: Collection[str] = (),
) -> TreeEnd:
    """End every process in the group, with the marker, below ``pid`` or ``reaper``; wait for it.

    TERM first, and KILL for what is left after ``grace_seconds``. The caller vouches that group
    and pids are its own: it started them, and they are not reaped yet or the group is not empty.
    Our own group is never signalled, nor is a daemon that ``keep`` names. See ``end_orphan`` for
    what another engine started.
    """
    group = None if group == _own_group() else group
    hunt = _Hunt(group=group, marker=marker, reaper=reaper, keep=keep)
    if pid is not None:
        hunt.add_descendants(pid)
    deadline = SystemClock().monotonic() + grace_seconds
    asked: set[psutil.Process] = set()
    for _ in range(ROUNDS):
        members = hunt.scan()
        if not members:
            return TreeEnd(terminated=len(asked), kept=hunt.kept())
        fresh = [process for process in members if process not in asked]
        hunt.signal(fresh, force=False)
        asked.update(fresh)
        if not wait_until_gone(members, max(0.0, deadline - SystemClock().monotonic())):
            break
    killed, survivors = _kill(hunt)
    return TreeEnd(
        terminated=len(asked),
        killed=len(killed.difference(survivors)),
        survivors=tuple(sorted(process.pid for process in survivors)),
        kept=hunt.kept(),
    )


def _kill(hunt: _Hunt) -> tuple[set[psutil.Process], list[psutil.Process]]:
    """Kill until nothing new appears; returns the killed and the surviving processes."""
    clock = SystemClock()
    killed: set[psutil.Process] = set()
    begun = last = clock.monotonic()
    members = hunt.scan()
    while members:
        now = clock.monotonic()
        if not killed.issuperset(members):
            last = now
        if now - last >= KILL_PATIENCE or now - begun >= KILL_LIMIT:
            break
        hunt.signal(members, force=True)
        killed.update(members)
        # Only a moment: processes that they leave behind have to be found soon.
        wait_until_gone(members, KILL_PATIENCE / 20)
        members = hunt.scan()
    return killed, members


def end_orphan(
    *,
    pid: int,
    start_time: float,
    group: int | None,
    marker: str,
    grace_seconds: float,
    reaper: int | None = None,
    keep: Collection[str] = (),
) -> TreeEnd:
    """End the processes that the agent of a dead engine left, by the journal's record of it.

    The journal may be days old and its numbers in use by others: the pid counts only with its start
    time, the group only while that process lives or one of its members carries the marker. The
    caller has seen that ``reaper`` is the one that it takes it for.
    """
    alive = is_alive(pid, start_time)
    if group is not None and not alive:
        marked = find_marked(marker)
        group = group if any(_group_of(process.pid) == group for process in marked) else None
    return end_tree(
        group=group,
        marker=marker,
        grace_seconds=grace_seconds,
        pid=pid if alive else None,
        reaper=reaper,
        keep=keep,
    )


def find_below(pid: int) -> list[psutil.Process]:
    """The descendants of a process, without itself."""
    if not _has_children(pid):
        return []
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def wait_until_gone(processes: Iterable[psutil.Process], seconds: float) -> bool:
    """Wait until none of them lives, at most ``seconds``; returns whether none does.

    Nothing is reaped: a zombie is gone. Polls only where the system does not signal the end.
    """
    if sys.platform == "win32":
        return not psutil.wait_procs(processes, timeout=seconds)[1]
    deadline = SystemClock().monotonic() + seconds
    if hasattr(os, "pidfd_open"):
        with contextlib.suppress(OSError):
            return _wait_by_descriptor(list(processes), deadline)
    pause = threading.Event()
    alive = [process for process in processes if _lives(process)]
    while alive and (left := deadline - SystemClock().monotonic()) > 0:
        pause.wait(min(POLL_INTERVAL, left))
        alive = [process for process in alive if _lives(process)]
    return not alive


class _Hunt:
    """Search for processes to end: by group, marker and reaper, or as descendants of the agent."""

    def __init__(
        self,
        *,
        group: int | None,
        marker: str | None,
        reaper: int | None = None,
        keep: Collection[str] = (),
    ) -> None:
        self._group = group
        self._marker = marker
        self._reaper = reaper
        self._keep = frozenset(keep)
        self._found: set[psutil.Process] = set()
        self._kept: dict[psutil.Process, str] = {}
        self._judged: set[psutil.Process] = set()

    def add_descendants(self, pid: int) -> None:
        """Record the process and its descendants: they cannot be found once a parent is gone."""
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            family = (process, *process.children(recursive=True))
            self._found.update(member for member in family if member.pid != os.getpid())

    def scan(self) -> list[psutil.Process]:
        """The living members, without the daemons that are kept.

        A search sees one process after the other, and misses those whose parent ends meanwhile.
        Only the reaper knows for certain that nothing is left, and exits then; while it lives, a
        search that finds nothing is repeated.
        """
        members = self._search()
        if self._reaper is None:
            return members
        clock = SystemClock()
        begun = clock.monotonic()
        reaper = _processes(self._reaper)
        while not members and not wait_until_gone(reaper, POLL_INTERVAL):
            patience = KEPT_PATIENCE if self._kept else EXIT_PATIENCE
            if clock.monotonic() - begun > patience:
                break
            members = self._search()
        return members

    def _search(self) -> list[psutil.Process]:
        if self._group is not None or self._marker is not None:
            self._found.update(find_members(group=self._group, marker=self._marker))
        if self._reaper is not None:
            self._found.update(find_below(self._reaper))
        self._found = {process for process in self._found if _lives(process)}
        if self._keep:
            self._spare()
        return [process for process in self._found if process not in self._kept]

    def kept(self) -> tuple[str, ...]:
        """The daemons that live on, each as ``name (pid)``."""
        named = {process: name for process, name in self._kept.items() if name}
        return tuple(f"{name} ({process.pid})" for process, name in named.items())

    def _spare(self) -> None:
        """Exclude the daemons that are kept, and their descendants."""
        for process in self._found - self._judged:
            self._judged.add(process)
            name = daemon_name(process, self._keep)
            if name is not None:
                self._kept[process] = name
        for process in [one for one, name in self._kept.items() if name]:
            for below in find_below(process.pid):
                self._kept.setdefault(below, "")

    def _in_group(self, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
        return [process for process in processes if _group_of(process.pid) == self._group]

    def signal(self, processes: list[psutil.Process], *, force: bool) -> None:
        """Terminate or kill them; the group at once, before one can react to another's end."""
        if sys.platform == "win32":
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    process.kill()
            return
        members = self._in_group(processes)
        if self._in_group(self._kept):
            # A daemon that is kept has stayed in the group: each of the others by itself.
            members = []
        # A stopped process takes a TERM only after a CONT.
        numbers = (signal.SIGKILL,) if force else (signal.SIGTERM, signal.SIGCONT)
        for number in numbers:
            if self._group is not None and members:
                with contextlib.suppress(OSError):
                    os.killpg(self._group, number)
            for process in processes:
                if process not in members:
                    with contextlib.suppress(psutil.Error):
                        process.send_signal(number)


def daemon_name(process: psutil.Process, names: Collection[str]) -> str | None:
    """The name in ``names`` that a process goes by; None where it goes by none.

    By its program, by what it calls itself (``tmux: server``, ``bazel(project)``), or by the class
    or file that an interpreter runs (``java … GradleDaemon``, ``dotnet VBCSCompiler.dll``).
    """
    try:
        with process.oneshot():
            words = process.cmdline()
            called = [process.name(), *words[:1]]
    except psutil.Error:
        return None
    firsts = [_plain(word.partition(":")[0].partition("(")[0]) for word in called]
    of_java = [word.rpartition(".")[2] for word in words[1:] if not word.startswith("-")]
    files = [_plain(word).partition(".")[0] for word in words[1:2]]
    is_run = bool(firsts) and firsts[-1] in _INTERPRETERS
    known = [*firsts, *(of_java if is_run else ()), *(files if is_run else ())]
    return next((name for name in known if name in names), None)


_INTERPRETERS = frozenset({"java", "dotnet", "node", "python", "python3", "ruby"})


def _processes(pid: int) -> list[psutil.Process]:
    """The process, if there is one."""
    try:
        return [psutil.Process(pid)]
    except psutil.Error:
        return []


def _plain(path: str) -> str:
    return path.rpartition("/")[2].strip()


def _has_children(pid: int) -> bool:
    """Whether it has any; also where that cannot be known at once."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:  # noqa: PTH123
            return bool(file.read(1))
    except FileNotFoundError:
        return os.path.exists(f"/proc/{pid}/task") or not psutil.LINUX  # noqa: PTH110
    except OSError:
        return True


def _belongs(pid: int, group: int | None, wanted: bytes | None) -> bool:
    if group is not None and _group_of(pid) == group:
        return True
    return wanted is not None and _carries(pid, wanted)


def _carries(pid: int, wanted: bytes) -> bool:
    """Whether the process has the variable in its environment, written ``NAME=value``."""
    if psutil.LINUX:
        # Eight times as fast as asking psutil, and done after every agent for every process.
        try:
            with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:  # noqa: PTH123
                data = file.read()
        except OSError:
            return False
        return wanted in data and wanted in data.split(b"\0")
    try:
        value = psutil.Process(pid).environ().get(MARKER)
    except (psutil.Error, OSError):
        return False
    return value is not None and f"{MARKER}={value}".encode() == wanted


def _group_of(pid: int) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _own_group() -> int | None:
    return _group_of(0)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _wait_by_descriptor(processes: list[psutil.Process], deadline: float) -> bool:
    """Linux: a descriptor of a process becomes readable when it ends."""
    poller = select.poll()
    with contextlib.ExitStack() as stack:
        waiting: set[int] = set()
        for process in processes:
            try:
                descriptor = os.pidfd_open(process.pid)
            except ProcessLookupError:
                continue
            stack.callback(os.close, descriptor)
            # Checked after the descriptor was opened, so that it is of this very process.
            if _lives(process):
                poller.register(descriptor, select.POLLIN)
                waiting.add(descriptor)
        while waiting:
            left = deadline - SystemClock().monotonic()
            ended = poller.poll(max(0.0, left) * 1000)
            if not ended and left <= 0:
                return False
            for descriptor, _ in ended:
                poller.unregister(descriptor)
                waiting.discard(descriptor)
    return True
