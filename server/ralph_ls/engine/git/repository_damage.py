"""Damage of a repository in which git fails during a run, and what the user can do.

An agent may delete, rename or break the git directory, or the whole work tree. The run then ends as
blocked: nothing that is broken is repaired here, and nothing of the run is in the work tree.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.external.git_safety import why_git_cannot_read
from ralph_ls.store.files import open_regular
from ralph_ls.store.layout import Worktree

_HEAD = re.compile(rb"ref: *refs/\S+|[0-9a-f]{40}(?:[0-9a-f]{24})?")

_LOOKED_THROUGH = 1000
"""Folders among which a renamed one is looked for."""

AND_THEN = "then continue with: ralph run --resume"


class RepositoryMonitor:
    """One work tree and its git directory, as they were when this engine began."""

    def __init__(self, place: Worktree) -> None:
        self._place = place
        self._root = _identity(place.root)
        self._git_dir = _identity(place.git_dir)
        self._head = _first_bytes(place.git_dir / "HEAD")
        self._commit: str | None = None
        with contextlib.suppress(RalphError):
            self._commit = read_head(place.git_dir, place.common_dir).commit

    def damage(self, message: str = "") -> str | None:
        """What is wrong with the repository, in words; None where nothing is known to be.

        ``message`` is what git said when it failed.
        """
        found = self._damaged_place() or self.replaced() or self._damaged_inside()
        return found or self._told_by_git(message)

    def _damaged_place(self) -> str | None:
        """Whether folders are gone, or are others."""
        root, git_dir = self._place.root, self._place.git_dir
        named = root / ".git"
        try:
            seen = _identity(root, raises=True)
            if seen != self._root:
                elsewhere = self._renamed(self._root, root)
                return (
                    f"the folder at {root} is not the one that the run began in{elsewhere}; "
                    f"{AND_THEN}"
                )
            os.listdir(root)
            _identity(named, raises=True)
            _identity(git_dir, raises=True)
            os.listdir(git_dir)
        except NotADirectoryError:
            return (
                f"{named} was a folder when the run began and is not one now; restore the git "
                f"directory from a backup or another clone, {AND_THEN}"
            )
        except FileNotFoundError:
            return self._gone(root, named, git_dir)
        except PermissionError as error:
            return (
                f"{error.filename} can no longer be read; fix its permissions (chmod u+rwX "
                f"{shlex.quote(str(error.filename))}), {AND_THEN}"
            )
        except OSError:
            # It merely cannot be reached, and may come back.
            return None
        return None

    def replaced(self) -> str | None:
        """That the git directory is another repository than when the run began; None: it is not.

        A copy that has the same commits will do.
        """
        git_dir = self._place.git_dir
        if self._commit is None or _identity(git_dir) in (self._git_dir, None):
            return None
        with contextlib.suppress(RalphError):
            run_git(self._place.root, "cat-file", "-e", f"{self._commit}^{{commit}}")
            return None
        return (
            f"{git_dir} is not the repository that the run began in, and lacks its "
            f"history{self._renamed(self._git_dir, git_dir)}; restore the first one, {AND_THEN}; "
            "or start a new run with: ralph run"
        )

    def _gone(self, root: Path, named: Path, git_dir: Path) -> str:
        if not os.path.lexists(root):
            elsewhere = self._renamed(self._root, root)
            return f"the work tree {root} was removed or renamed{elsewhere}; restore it, {AND_THEN}"
        gone = named if not os.path.lexists(named) else git_dir
        return (
            f"the git directory {gone} was removed or "
            f"renamed{self._renamed(self._git_dir, named)}; the files of the work tree are "
            f"unchanged: restore the git directory from a backup or another clone, {AND_THEN}"
        )

    def _renamed(self, wanted: tuple[int, int] | None, was: Path) -> str:
        """Where the folder is now, if it is near."""
        for folder in (was.parent, was.parent.parent):
            with contextlib.suppress(OSError):
                for found in _some(folder.iterdir()):
                    if found != was and _identity(found) == wanted:
                        command = shlex.join(["mv", str(found), str(was)])
                        return f" (it is now {found}; restore it with: {command})"
        return ""

    def _damaged_inside(self) -> str | None:
        """Whether the git directory lacks what makes it one."""
        git_dir, common = self._place.git_dir, self._place.common_dir
        head = _first_bytes(git_dir / "HEAD")
        if head is None or not _HEAD.fullmatch(head.strip()):
            path = git_dir / "HEAD"
            state = "is gone" if head is None else "is not readable as a branch or a commit"
            state = why_git_cannot_read(path) or state
            known = self._head or b"ref: refs/heads/main"
            words = shlex.quote(known.decode("utf-8", "replace").strip())
            # Writing to a pipe would wait for a reader.
            first = f"rm {shlex.quote(str(path))} && " if os.path.lexists(path) else ""
            return (
                f"{path} {state}; write it again: {first}echo {words} > {shlex.quote(str(path))}, "
                f"{AND_THEN}"
            )
        for name in ("objects", "refs"):
            if not (common / name).is_dir():
                return (
                    f"the folder {common / name} is gone, so git does not see a repository; "
                    f"restore it from a backup or another clone, {AND_THEN}"
                )
        return None

    def _told_by_git(self, message: str) -> str | None:
        root = self._place.root
        for words, remedy in _REMEDIES:
            if words in message:
                told = message.removesuffix("; fix that, then try again")
                return f"the repository {root} is damaged: {told}; {remedy}, {AND_THEN}"
        return None


_REMEDIES = (
    ("No space left on device", "free some space"),
    ("must be run in a work tree", "undo core.bare with: git config --unset core.bare"),
    ("bad config line", "fix that line of the configuration"),
    ("bad object HEAD", "see what is missing with git fsck, and restore it with git fetch"),
    ("unable to read tree", "see what is missing with git fsck, and restore it with git fetch"),
    ("not a tree object", "see what is missing with git fsck, and restore it with git fetch"),
    ("object file", "see what is broken with git fsck, and restore it with git fetch"),
    ("index file", "rebuild the index: move .git/index away, then git reset"),
    ("dubious ownership", "take ownership of the work tree, or add it to safe.directory"),
)
"""What git says of a damaged repository, and what helps."""


def _some(found: Iterable[Path]) -> Iterable[Path]:
    return (path for _, path in zip(range(_LOOKED_THROUGH), found, strict=False))


def _identity(path: Path, *, raises: bool = False) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        if raises:
            raise
        return None
    return status.st_dev, status.st_ino


def _first_bytes(path: Path) -> bytes | None:
    try:
        if path.is_symlink():
            return b"ref: " + os.fsencode(path.readlink())
        with open_regular(path) as file:
            return file.read(1024)
    except OSError:
        return None
