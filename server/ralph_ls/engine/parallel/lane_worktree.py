"""Lane work tree: a linked work tree on a separate branch, made for one task and removed after it.

Making and removing can be repeated: an engine that died in between leaves a state from which the
next one continues. A work tree with changes, or with commits that no other branch has, is never
removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.engine.git.status import dirty_paths
from ralph_ls.engine.git.worktree_state import LoopFiles, find_ignored, read_head
from ralph_ls.protocol.errors import RalphError, UsageError, WorkspaceMissing
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_regular
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree

LARGEST_COPY = 64 << 20
"""Bytes of a file that lanes get a copy of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneTree:
    """The work tree of a lane, with the state of its runs."""

    worktree: Worktree
    state: StateFolder
    branch: str

    @property
    def root(self) -> Path:
        return self.worktree.root

    def head(self) -> str:
        """Commit of HEAD."""
        return read_head(self.worktree.git_dir, self.worktree.common_dir).commit or ""


def make_lane(root: Path, path: Path, branch: str, base: str) -> None:
    """Make the work tree at ``path`` on a new branch from ``base``, unless it is there.

    ``root`` is a work tree of the repository. Raises a ``RalphError`` where git refuses.
    """
    if has_worktree(path):
        return
    make_private_folder(path.parent)
    try:
        _add_worktree(root, path, branch, base)
    except RalphError:
        # It may have been ended in the middle; what is wrong with the repository is so again.
        _add_worktree(root, path, branch, base)


def _add_worktree(root: Path, path: Path, branch: str, base: str) -> None:
    # Git may have been ended while it made the work tree, so nothing was worked on in it.
    _forget_worktree(root, path)
    start = [branch] if branch_commit(root, branch) else ["-b", branch, base]
    run_git(root, "worktree", "add", "--quiet", *_in_order(start, path))


def _forget_worktree(root: Path, path: Path) -> None:
    """Remove a work tree, also one that git has locked while it makes it."""
    if path.exists():
        # Twice: a work tree that git was making is locked.
        run_git(root, "worktree", "remove", "-f", "-f", os.fspath(path), accept=(0, 128))
        shutil.rmtree(path, ignore_errors=True)
    run_git(root, "worktree", "unlock", os.fspath(path), accept=(0, 128))
    run_git(root, "worktree", "prune")


def _in_order(start: Sequence[str], path: Path) -> list[str]:
    return [os.fspath(path), *start] if len(start) == 1 else [*start[:2], os.fspath(path), start[2]]


def has_worktree(path: Path) -> bool:
    """Whether a complete work tree is at ``path``."""
    try:
        found = find_worktree(path)
    except WorkspaceMissing:
        return False
    is_here = found.root == Path(os.path.realpath(path))
    return is_here and (found.git_dir / "index").exists() and not is_being_made(found)


def is_being_made(worktree: Worktree) -> bool:
    """Whether git was ended before it had made the work tree: it is locked until then."""
    reason = read_regular(worktree.git_dir / "locked", 1 << 10)
    return reason is not None and reason.strip() == b"initializing"


def branch_commit(root: Path, branch: str) -> str | None:
    """Commit of a local branch; None where there is no such branch."""
    ref = f"refs/heads/{branch}"
    found = run_git(root, "for-each-ref", "--count=1", "--format=%(refname) %(objectname)", ref)
    name, _, commit = found.decode().strip().partition(" ")
    return commit if name == ref else None


def changed_files(root: Path, own: LoopFiles) -> list[str]:
    """Changed and untracked files, without the loop's own."""
    return [entry.name for entry in dirty_paths(root) if not own.covers(entry.name)]


def remove_lane(root: Path, path: Path, branch: str) -> None:
    """Remove the work tree and the branch, as far as they are there."""
    _forget_worktree(root, path)
    if branch_commit(root, branch):
        run_git(root, "branch", "--quiet", "--delete", "--force", branch)
    for folder in (path.parent, path.parent.parent):
        with contextlib.suppress(OSError):
            folder.rmdir()


def copy_files(root: Path, lane: Path, names: Sequence[str]) -> None:
    """Copy files that git ignores into a lane, for their owner only.

    One that is missing is left out, and one that the lane has is left as it is. Raises
    ``UsageError`` for one that git does not ignore: the lane would commit it.
    """
    ignored = find_ignored(root, list(names))
    for name in names:
        data = read_regular(root / name, LARGEST_COPY)
        target = lane / name
        if data is None or target.exists():
            continue
        if name not in ignored:
            raise UsageError(
                f"lane.files names {name}, which git does not ignore, so lanes would commit it; "
                "add it to .gitignore, or commit it"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)


def require_no_branch_tree(root: Path, branch: str) -> None:
    """Raise ``UsageError`` where the branch is checked out: moving it would go unnoticed there."""
    printed = run_git(root, "worktree", "list", "--porcelain").decode("utf-8", "surrogateescape")
    place = ""
    for line in printed.splitlines():
        key, _, value = line.partition(" ")
        place = value if key == "worktree" else place
        if key == "branch" and value == f"refs/heads/{branch}":
            raise UsageError(
                f"the branch {branch} is checked out in {place}; to move the branch that is "
                "checked out here use --direct, else choose another one with --onto"
            )


def move_lane(lane: LaneTree, commit: str) -> None:
    """Move the lane's branch and files to a commit.

    Raises a ``RalphError`` where that would overwrite changes.
    """
    try:
        run_git(lane.root, "reset", "--quiet", "--keep", commit)
    except RalphError as error:
        raise RalphError(
            f"the lane's uncommitted changes are in the way ({error.message}); commit or remove "
            f"them in {lane.root}"
        ) from error
