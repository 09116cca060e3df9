"""Lanes on disk: the work trees of a work tree's parallel runs, and which of them have an engine.

A lane is at ``<state>/lanes/<run>/<task>``. Its engine outlives that of the parallel run where that
is killed, so a start or a stop in the work tree has to consider it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.state_index import find_state

FOLDER = "lanes"


def lanes_of(state: StateFolder) -> Iterator[tuple[Worktree, StateFolder]]:
    """The lanes that are there, each with the state of its runs."""
    for path in sorted(state.folder.glob(f"{FOLDER}/*/*")):
        try:
            worktree = find_worktree(path)
        except RalphError:
            continue
        if worktree.root == Path(path.resolve()):
            yield worktree, find_state(state.folder.parent.parent, worktree)


def live_lanes(state: StateFolder) -> list[tuple[Worktree, StateFolder]]:
    """Those in which an engine works or waits now."""
    return [(worktree, runs) for worktree, runs in lanes_of(state) if is_held(worktree.git_dir)]
