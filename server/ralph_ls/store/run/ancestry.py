"""Process ancestry: whether a command comes from inside an iteration, and of which run.

An agent must not control its own run: reset its breaker, approve a script that it has rewritten,
or answer its own question. A process belongs to a run when it or an ancestor has the marker of one
of its iterations, or when the agent or the engine is among its ancestors. Commands of ``on_*`` and
``notify`` have another marker: they act for the user, and may answer, note and stop.

A process of the same user can still change files by hand. Only a sandbox is a boundary; this keeps
the loop's own verbs and messages out of an agent's reach (docs/rules.md#control-from-inside).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.protocol.errors import FromInside
from ralph_ls.store.layout import RUN_ID, StateFolder, Worktree
from ralph_ls.store.run.lock import is_held, read_owner
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import lanes_of

if TYPE_CHECKING:
    import psutil

MARKER = "RALPH_ITERATION_ID"
"""Variable that marks every process of a run: ``<run>/<start>``, ``<run>/on_…/<files>``,
``<run>/notify.command/…``.

Each command outside an iteration has its own, as the end of one ends all processes with its marker.
"""

SAME_START = 1.0
"""Seconds by which two readings of a process's start time may differ."""

Process = tuple[int, float]
"""Pid and start time, which together identify a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestry:
    """A process and its ancestors, nearest first, with their markers."""

    processes: tuple[Process, ...] = ()
    markers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorktreeRuns:
    """The runs of one work tree."""

    ids: frozenset[str] = frozenset()
    live: str | None = None
    """Id of the live run."""
    engine: Process | None = None
    """Engine of the live run."""
    agent: Process | None = None
    """The agent that the engine started last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMembership:
    """The part of a run that a process belongs to."""

    run: str
    part: str = ""
    """Start of an iteration, or setting of a command; empty if unknown."""

    @property
    def is_command(self) -> bool:
        """Whether it is a command of ``on_*`` or ``notify``, which acts for the user."""
        return self.part.startswith(("on_", "notify"))

    def __str__(self) -> str:
        if self.is_command:
            return f"the command {self.part} of run {self.run}"
        return f"an iteration of run {self.run}" if self.part else f"run {self.run}"


def require_outside(
    worktree: Worktree, state: StateFolder, what: str, *, by_command: bool = False
) -> None:
    """Raise ``FromInside`` where this process belongs to a run of the work tree.

    ``by_command`` permits commands of ``on_*``. Work trees and state folders that an agent's tests
    create are not its run's, so everything works there.
    """
    inside = find_membership(ancestry_of(os.getpid()), known_runs(worktree, state))
    if inside is None or (by_command and inside.is_command):
        return
    raise FromInside(
        f"{what} was refused: it was started from inside {inside}, and a run may not change "
        "itself, its work tree or what it may execute; use another terminal"
    )


def require_own_trust(state: StateFolder, what: str) -> None:
    """Raise ``FromInside`` where a run with its state in the same root started this process.

    The user's next run would act on an approval in that root, whichever work tree it is for.
    """
    _require_no_run_of(state.folder.parent, what, "whose approvals are in the same")


def require_outside_all(worktrees: Path, what: str) -> None:
    """Raise ``FromInside`` where a run with its state in this folder started this process."""
    _require_no_run_of(worktrees, what, "which has its own state in the same")


def _require_no_run_of(worktrees: Path, what: str, whose: str) -> None:
    for marker in ancestry_of(os.getpid()).markers:
        inside = _membership_of(marker)
        if inside is None or not _has_run(worktrees, inside.run):
            continue
        raise FromInside(
            f"{what} was refused: it was started from inside {inside}, {whose} state folder "
            f"({worktrees.parent}); use another terminal, or in tests set another folder with "
            "RALPH_STATE_DIR"
        )


def require_no_iteration(what: str) -> None:
    """Raise ``FromInside`` where any run started this process: what it does is for all of them."""
    members = [_membership_of(marker) for marker in ancestry_of(os.getpid()).markers]
    inside = next((one for one in members if one is not None), None)
    if inside is not None:
        raise FromInside(
            f"{what} was refused: it was started from inside {inside}, and your own settings "
            "apply to all runs; use another terminal"
        )


def find_membership(ancestry: Ancestry, known: WorktreeRuns) -> RunMembership | None:
    """The part of one of these runs that a process belongs to; None for none.

    An iteration anywhere in the ancestry decides: a command that an agent starts is the agent's.
    """
    marked = [
        inside
        for marker in ancestry.markers
        if (inside := _membership_of(marker)) is not None and inside.run in known.ids
    ]
    iteration = next((inside for inside in marked if not inside.is_command), None)
    if iteration is not None:
        return iteration
    if known.live is not None and _is_among(known.agent, ancestry.processes):
        return RunMembership(run=known.live)
    if marked:
        return marked[0]
    # The engine itself is not among its own ancestors.
    if known.live is not None and _is_among(known.engine, ancestry.processes[1:]):
        return RunMembership(run=known.live)
    return None


def ancestry_of(pid: int) -> Ancestry:
    """A process and its readable ancestors.

    Another user's process has no readable environment; its ancestors are still included.
    """
    import psutil

    processes: list[Process] = []
    markers: list[str] = []
    own = os.environ.get(MARKER) if pid == os.getpid() else None
    if own is not None:
        # This is the environment at its start, even if the program has changed it since.
        markers.append(own)
    try:
        process: psutil.Process | None = psutil.Process(pid)
        while process is not None:
            processes.append((process.pid, process.create_time()))
            marker = _environment_of(process).get(MARKER)
            if marker is not None and marker not in markers:
                markers.append(marker)
            process = process.parent()
    except (psutil.Error, OSError, ValueError):
        # It has just ended, or the system hides it: what was found so far counts.
        pass
    return Ancestry(processes=tuple(processes), markers=tuple(markers))


def known_runs(worktree: Worktree, state: StateFolder) -> WorktreeRuns:
    """The runs of a work tree, from its git directory and its state."""
    owner = read_owner(worktree.git_dir)
    ids = {*state.run_ids(), *_runs_of_lanes(state)}
    if owner is None:
        return WorktreeRuns(ids=frozenset(ids))
    ids |= {owner.run, *StateFolder(folder=Path(owner.state_dir)).run_ids()}
    if not is_held(worktree.git_dir):
        return WorktreeRuns(ids=frozenset(ids))
    found = find_run(worktree, state)
    agent = None
    if found is not None and found.state.current is not None:
        started = found.state.current.agent
        agent = None if started is None else (started.pid, started.process_start_time)
    return WorktreeRuns(
        ids=frozenset(ids),
        live=owner.run,
        engine=(owner.pid, owner.process_start_time),
        agent=agent,
    )


def _runs_of_lanes(state: StateFolder) -> Iterable[str]:
    """The runs in the lanes of a work tree's parallel runs."""
    for _, runs in lanes_of(state):
        yield from runs.run_ids()


def _environment_of(process: psutil.Process) -> Mapping[str, str]:
    import psutil

    try:
        return process.environ()
    except (psutil.Error, OSError, ValueError):
        return {}


def _membership_of(marker: str) -> RunMembership | None:
    run, _, rest = marker.partition("/")
    part = rest.partition("/")[0]
    return RunMembership(run=run, part=part) if RUN_ID.fullmatch(run) and part else None


def _has_run(worktrees: Path, run: str) -> bool:
    return any((folder / "runs" / run).is_dir() for folder in _folders_in(worktrees))


def _folders_in(folder: Path) -> Iterable[Path]:
    try:
        return tuple(folder.iterdir())
    except OSError:
        return ()


def _is_among(process: Process | None, others: Iterable[Process]) -> bool:
    if process is None:
        return False
    pid, start = process
    return any(pid == other and abs(start - began) < SAME_START for other, began in others)
