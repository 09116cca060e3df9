"""Work branch of a run: switch to it at the start, and back at the end (docs/rules.md#work-branch).

Uncommitted changes move along with a switch that creates a branch, and may move back. Git switches
without hooks; it is asked to keep every file, so nothing is overwritten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.setup.documents import branch_slug
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.git.history import hash_algorithm
from ralph_ls.engine.git.status import dirty_paths, disk_value
from ralph_ls.protocol.config.config import AUTO_BRANCH
from ralph_ls.protocol.errors import RalphError, StateUnusable, UncommittedChanges, UsageError
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles, Worktree

SHOWN = 3
"""Paths that a message names."""

MOST_NAMES = 1000
"""Numbers that are tried for a branch of the same day and task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBranch:
    """The branch that a run works on, and where it began."""

    name: str
    home: str
    """The branch, or the commit of a detached HEAD, that was checked out before."""
    is_detached: bool = False
    """Whether ``home`` is a commit."""
    start: str = ""
    """The commit at which the run began."""
    is_new: bool = False
    """Whether the run created the branch."""
    carried: Mapping[str, str] | None = None
    """Uncommitted changes at the start, by path; they are the user's."""
    outcome: str = ""
    """What became of it, for the user; empty while the run is live."""


def enter_branch(
    worktree: Worktree, wanted: str, *, words: str, today: date, known: WorkBranch | None = None
) -> WorkBranch | None:
    """Switch to the branch that is wanted, ``auto`` for a new one named after ``words``.

    ``known`` is that of the run that is resumed. None where HEAD is on it already. Raises
    ``UsageError`` where switching would be unsafe, and ``RalphError`` where git refuses.
    """
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    root = worktree.root
    if known is None and head.branch == wanted:
        return None
    if head.commit is None:
        raise UsageError(
            "--branch needs a first commit to start from: "
            "git add -A && git commit -m 'First commit', then try again"
        )
    if known is not None and head.branch == known.name:
        return known
    doing = worktree_state.under_way(worktree.git_dir)
    if doing is not None:
        raise UsageError(
            f"a {doing} is in progress, so git cannot switch branches; finish it first"
        )
    name = known.name if known else wanted
    if name == AUTO_BRANCH:
        name = _free_name(root, f"ralph/{today.isoformat()}-{branch_slug(words)}")
    is_new = not _exists(root, name)
    if is_new and known is not None:
        raise UsageError(
            f"the run worked on the branch {name}, which is gone; start a new run: ralph run"
        )
    carried = _changes(root, head.commit)
    if carried and not is_new:
        raise UncommittedChanges(
            f"uncommitted changes keep the run from switching to {name}: "
            f"{some_of(sorted(carried), SHOWN)}; commit or stash them: git stash "
            "--include-untracked"
        )
    try:
        run_git(root, "switch", "--no-guess", *(["--create"] if is_new else []), name)
    except RalphError as error:
        raise UsageError(f"the branch {name} cannot be checked out: {error.message}") from error
    return WorkBranch(
        name=name,
        home=head.branch or head.commit,
        is_detached=head.branch is None,
        start=head.commit,
        is_new=is_new,
        carried=carried,
    )


def leave_branch(worktree: Worktree, branch: WorkBranch, *, has_begun: bool) -> str:
    """Switch back where that loses nothing, and say in words where the work is.

    A new branch is removed where no run has begun on it.
    """
    root = worktree.root
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    if head.branch != branch.name:
        where = head.branch or "a detached HEAD"
        return f"the work is on {branch.name}; HEAD was moved to {where} and stays there"
    n_commits = _count(root, branch)
    back = _back(branch)
    merge = f"git merge {branch.name}"
    left = [
        path
        for path, value in _changes(root, head.commit or "").items()
        if (branch.carried or {}).get(path) != value
    ]
    if left:
        return (
            f"still on {branch.name}, because these are not committed: "
            f"{some_of(sorted(left), SHOWN)}; commit them, then: {back} && {merge}"
        )
    flags = ["--detach"] if branch.is_detached else []
    try:
        run_git(root, "switch", "--no-guess", *flags, branch.home)
    except RalphError as error:
        return f"still on {branch.name}: {error.message}; to switch back: {back}"
    if not n_commits:
        if branch.is_new and not has_begun:
            run_git(root, "branch", "--delete", "--force", branch.name, accept=(0, 1))
        return f"no commit on {branch.name}; back on {_short(branch)}"
    commits = count_of(n_commits, "commit")
    return f"{commits} on {branch.name}; back on {_short(branch)}. To merge: {merge}"


def branch_words(branch: WorkBranch, *, live: bool) -> str:
    """Where the work of a run is, and how to merge it, for its status."""
    if live:
        return f"{branch.name}; at its end the run switches back to {_short(branch)}"
    if branch.outcome:
        return branch.outcome
    return (
        f"{branch.name}; the engine ended before it switched back to {_short(branch)}. "
        f"Continue: ralph run --resume, or leave the branch: {_back(branch)}"
    )


def save_branch(folder: Path, branch: WorkBranch) -> None:
    """Record it with the files of its run."""
    data = json.dumps(asdict(branch), ensure_ascii=False).encode()
    write_atomic(RunFiles(folder=folder).work_branch, data, mode=PRIVATE_FILE)


def load_branch(folder: Path) -> WorkBranch | None:
    """The work branch of the run with this folder; None where it has none."""
    path = RunFiles(folder=folder).work_branch
    data = read_if_there(path)
    try:
        return None if data is None else WorkBranch(**json.loads(data))
    except (ValueError, TypeError) as error:
        raise StateUnusable(f"{path} cannot be read; remove it") from error


def _free_name(root: Path, name: str) -> str:
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, MOST_NAMES))
    return next((one for one in names if not _exists(root, one)), name)


def _exists(root: Path, name: str) -> bool:
    found = run_git(root, "for-each-ref", "--count=1", "--format=%(refname)", f"refs/heads/{name}")
    return found.strip() == f"refs/heads/{name}".encode()


def _changes(root: Path, commit: str) -> dict[str, str]:
    algorithm = hash_algorithm(commit)
    return {entry.name: disk_value(entry.path, algorithm=algorithm) for entry in dirty_paths(root)}


def _count(root: Path, branch: WorkBranch) -> int:
    printed = run_git(root, "rev-list", "--count", f"{branch.start}..HEAD")
    return int(printed.strip() or 0)


def _back(branch: WorkBranch) -> str:
    return f"git switch {'--detach ' if branch.is_detached else ''}{branch.home}"


def _short(branch: WorkBranch) -> str:
    return branch.home[:8] if branch.is_detached else branch.home
