"""State index: which state folder belongs to which work tree, also after it was moved or copied.

A state folder is named by the path of its work tree, and ``worktree.json`` in it says where the
work tree is now. A moved work tree keeps its folder: its git directory names the folder as its
last one, and nothing is at the earlier path any more. A copy gets a separate folder, so it shows no
run of the original. The index heals itself: what is missing or wrong is found in the journals
and written again. See docs/rules.md#files.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from ralph_ls.protocol.errors import RalphError, StateUnusable, WorkspaceMissing
from ralph_ls.store.files import PRIVATE_FILE, names_in, read_if_there, write_atomic
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_folder

RECORD = "worktree.json"

LANES = "lanes"
"""Folder of the lanes of a work tree's parallel runs, in its state: ``lanes/<run>/<task>``."""

MOST_FOLDERS = 100
"""How many folders are tried for one path: other work trees that were there before have theirs."""


def find_state(root: Path, worktree: Worktree) -> StateFolder:
    """The state of a work tree under the state root."""
    usual = state_folder(root, worktree)
    last = _last_folder(worktree)
    if last is None or last.folder.parent != usual.folder.parent:
        return _first_free(usual, worktree)
    if last.folder == usual.folder and _recorded_root(usual) in {None, worktree.root}:
        return usual
    if not belongs_to(last, worktree):
        return _first_free(usual, worktree)
    record_worktree(last, worktree)
    return last


def belongs_to(state: StateFolder, worktree: Worktree) -> bool:
    """Whether a state folder that the git directory names is this work tree's.

    It is not where the work tree was copied: the original is still at its path, with that folder.
    """
    home = root_of(state)
    if home is None or home == worktree.root:
        return True
    try:
        original = find_worktree(home)
    except WorkspaceMissing:
        return True
    last = _last_folder(original)
    return original.root != home or last is None or last.folder != state.folder


def record_worktree(state: StateFolder, worktree: Worktree) -> None:
    """Write where the work tree of a state folder is, unless the folder says so already."""
    if _recorded_root(state) == worktree.root:
        return
    data = json.dumps({"root": os.fspath(worktree.root)}).encode() + b"\n"
    # Without the record, it is read from the journal.
    with contextlib.suppress(StateUnusable, OSError):
        write_atomic(state.folder / RECORD, data, mode=PRIVATE_FILE)


def root_of(state: StateFolder) -> Path | None:
    """The work tree of a state folder: as recorded, else as its newest run names it."""
    return _recorded_root(state) or _root_in_journals(state)


def every_worktree(root: Path) -> Iterator[tuple[Worktree, StateFolder]]:
    """The work trees with state under the state root that are still there."""
    folder = root / "worktrees"
    for state in (StateFolder(folder=folder / name) for name in names_in(folder)):
        home = root_of(state)
        if home is None:
            continue
        with contextlib.suppress(RalphError, OSError):
            worktree = find_worktree(home)
            if worktree.root == home and find_state(root, worktree).folder == state.folder:
                record_worktree(state, worktree)
                yield worktree, state


def lanes_of(state: StateFolder) -> Iterator[tuple[Worktree, StateFolder]]:
    """The lanes that are there, each with the state of its runs."""
    for path in sorted(state.folder.glob(f"{LANES}/*/*")):
        try:
            worktree = find_worktree(path)
        except RalphError:
            continue
        if worktree.root == Path(path.resolve()):
            yield worktree, find_state(state.folder.parent.parent, worktree)


def live_lanes(state: StateFolder) -> list[tuple[Worktree, StateFolder]]:
    """Those in which an engine works or waits now.

    It outlives that of the parallel run where that is killed.
    """
    from ralph_ls.store.run.lock import is_held

    return [(worktree, runs) for worktree, runs in lanes_of(state) if is_held(worktree.git_dir)]


def _last_folder(worktree: Worktree) -> StateFolder | None:
    """The state folder of the last run here, by the git directory; None where there is none."""
    from ralph_ls.store.run.lock import OWNER, read_owner

    if not (worktree.git_dir / OWNER).exists():
        return None
    owner = read_owner(worktree.git_dir)
    if owner is None or "\0" in owner.state_dir:
        return None
    state = StateFolder(folder=Path(owner.state_dir))
    # A folder without this run is not the one that was meant.
    return state if owner.run in state.run_ids() else None


def _recorded_root(state: StateFolder) -> Path | None:
    try:
        found = json.loads(read_if_there(state.folder / RECORD) or b"")
    except (ValueError, OSError):
        return None
    root = found.get("root") if isinstance(found, dict) else None
    return Path(root) if isinstance(root, str) and root and "\0" not in root else None


def _root_in_journals(state: StateFolder) -> Path | None:
    from ralph_ls.protocol.run.events import RunStarted
    from ralph_ls.store.run.journal import each_event

    for run in reversed(state.run_ids()):
        with contextlib.suppress(StateUnusable):
            for event in each_event(state.run(run).journal, kinds={"runStarted"}):
                if isinstance(event, RunStarted):
                    return Path(event.workspace)
    return None


def _first_free(usual: StateFolder, worktree: Worktree) -> StateFolder:
    """The folder of the path, unless another work tree has taken it along."""
    state, number = usual, 0
    while _recorded_root(state) not in {None, worktree.root} and number < MOST_FOLDERS:
        number += 1
        name = hashlib.sha256(os.fsencode(worktree.root) + b"\0%d" % number).hexdigest()[:12]
        state = StateFolder(folder=usual.folder.with_name(name))
    return state
