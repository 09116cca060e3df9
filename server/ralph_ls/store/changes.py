"""What an iteration changed: its two ends out of the journal, and what git knows between them."""

from __future__ import annotations

from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.row_methods import ChangesResult
from ralph_ls.store.git_command import run_git
from ralph_ls.store.git_objects import SHOWN_FILES, commits_between, empty_tree, files_between
from ralph_ls.store.iterations import IterationEnds, find_ends
from ralph_ls.store.layout import StateFolder, Worktree


def changes_of(
    worktree: Worktree, state: StateFolder, *, run: str | None, start: int
) -> ChangesResult:
    """What an iteration changed, by git; blocks.

    The newest one that made no commit is held against the work tree, and so is one that goes on.
    An earlier one ends where the next one began. Raises ``UsageError`` where there is no such
    iteration, and ``StateUnusable`` where git has its commits no more.
    """
    ends = find_ends(worktree, state, run=run, start=start)
    base = ends.base or empty_tree(_any_head(worktree))
    head = _head_of(ends)
    try:
        files = files_between(worktree.root, base, head)
        commits = commits_between(worktree.root, base, head or "HEAD") if _has_head(ends) else ()
    except RalphError as error:
        raise StateUnusable(
            f"the changes of iteration {ends.iteration} cannot be shown: {error.message}"
        ) from error
    return ChangesResult(
        iteration=ends.iteration,
        start=start,
        base=base,
        head=head,
        commits=commits[::-1],
        files=files[:SHOWN_FILES],
        more_files=max(0, len(files) - SHOWN_FILES),
    )


def _head_of(ends: IterationEnds) -> str | None:
    if ends.head is not None:
        return ends.head
    return None if ends.is_newest else ends.next_base


def _has_head(ends: IterationEnds) -> bool:
    """Whether commits can lie between the ends; before the first commit there are none."""
    return ends.base is not None or _head_of(ends) is not None


def _any_head(worktree: Worktree) -> str | None:
    printed = run_git(worktree.root, "rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1))
    return printed.decode().strip() or None
