"""Reading a run from its files: the snapshot, then what the journal says beyond it.

``state.json`` is the fold at the last boundary; deleting it loses nothing (SPEC §2).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.run_words import Phase
from ralph_ls.protocol.state import RunState
from ralph_ls.store.follow import Tail
from ralph_ls.store.journal import PART, JournalReader, each_event
from ralph_ls.store.layout import RUN_ID, RunFiles, StateFolder, Worktree
from ralph_ls.store.lock import Owner, is_held, read_owner
from ralph_ls.store.snapshots import Marked, load_snapshot, mark, save_snapshot


class StateSnapshot(Marked):
    """What ``state.json`` holds."""

    state: RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """The newest run of a work tree, as its files tell it."""

    files: RunFiles
    state: RunState
    owner: Owner | None
    live: bool
    """An engine holds the work tree now."""

    @property
    def phase(self) -> Phase:
        """The phase as a viewer shows it: without an engine, only ``parked`` and ``ended`` last."""
        if self.live or self.state.phase in {Phase.ENDED, Phase.PARKED}:
            return self.state.phase
        return Phase.CRASHED


def save_state(files: RunFiles, state: RunState, *, offset: int) -> None:
    """Write the fold of the journal's first ``offset`` bytes for viewers that come later.

    Raises ``StateUnusable``.
    """
    at = mark(files.journal, offset=offset, seq=state.seq)
    save_snapshot(files.snapshot, StateSnapshot(**at, state=state))


def load_state(files: RunFiles) -> RunState:
    """The run as it stands: the snapshot, and what the journal says beyond it."""
    known = load_snapshot(
        files.snapshot, files.journal, StateSnapshot, lambda found: found.state.seq
    )
    if known is None:
        return fold(each_event(files.journal))
    tail, reader = Tail(files.journal, offset=known.offset), JournalReader()
    return fold(
        (event for data in iter(partial(tail.read, PART), b"") for event in reader.feed(data)),
        known.state,
    )


def find_run(worktree: Worktree, state: StateFolder) -> FoundRun | None:
    """The newest run of the work tree; None where there was never one.

    The owner's file in the git directory says where, also when the state lies elsewhere than this
    process would put it; without it the newest run in ``state`` is taken. A run whose engine was
    killed before its first event never was.
    """
    owner = read_owner(worktree.git_dir)
    if owner is not None and not _is_credible(owner, worktree, state):
        owner = None
    candidates = [state.run(run) for run in reversed(state.run_ids())]
    if owner is not None and RUN_ID.fullmatch(owner.run):
        candidates.insert(0, StateFolder(folder=Path(owner.state_dir)).run(owner.run))
    held = is_held(worktree.git_dir)
    for files in candidates:
        run = load_state(files)
        if run.run:
            live = held and owner is not None and owner.run == run.run
            return FoundRun(files=files, state=run, owner=owner, live=live)
    return None


def _is_credible(owner: Owner, worktree: Worktree, state: StateFolder) -> bool:
    """Whether the owner's file may say where the state lies.

    A git directory that came out of an archive could name a journal beside it, whose commands a
    resumed run would take for the ones that a person gave.
    """
    if "\0" in owner.state_dir:
        return False
    folder = Path(owner.state_dir)
    real = Path(os.path.realpath(folder))
    brought = (worktree.root, worktree.git_dir.resolve(), worktree.common_dir)
    inside = any(real.is_relative_to(place) for place in brought)
    return folder == state.folder or (folder.is_absolute() and not inside)
