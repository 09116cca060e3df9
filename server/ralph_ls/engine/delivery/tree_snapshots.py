"""Tree snapshots: the work tree as a tree of git, the paths in which two differ, and a way back.

A snapshot has all that is there and not ignored, except new files that look like secrets;
repositories inside are as they are committed. It is made in a temporary index, so neither the
user's index nor the work tree is touched. Slow: call it in threads. Whose a difference is, and what
is to be restored, is decided elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.engine.delivery.commit import looks_secret
from ralph_ls.engine.delivery.restoration_commits import index_info
from ralph_ls.engine.git.status import DELETED, dirty_paths
from ralph_ls.store.external.git_command import run_git


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDifference:
    """One path in two trees, as git writes it: mode and hash."""

    before: tuple[bytes, bytes]
    now: tuple[bytes, bytes]


class TreeSnapshots:
    """Makes and compares snapshots of one work tree."""

    def __init__(self, root: Path, folder: Path) -> None:
        """``folder`` is where the temporary index is."""
        self._root = root
        self._folder = folder

    def take(self, head: str | None) -> str:
        """The work tree on top of a commit, as a tree; raises a ``RalphError`` of git."""
        with self._index() as index:
            if head is not None:
                self._git(index, "read-tree", head)
            entries = [
                entry
                for entry in dirty_paths(self._root)
                if not entry.is_repository
                and not (entry.committed == DELETED and looks_secret(entry.name))
            ]
            listed = b"".join(
                os.fsencode(entry.path.relative_to(self._root)) + b"\0" for entry in entries
            )
            options = ("--add", "--remove", "--replace", "-z", "--stdin")
            self._git(index, "update-index", *options, stdin=listed)
            return self._git(index, "write-tree").decode().strip()

    def differing(self, before: str, now: str) -> Iterable[tuple[bytes, TreeDifference]]:
        """The paths in which two trees differ."""
        options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
        printed = run_git(self._root, "diff-tree", *options, f"{before}^{{tree}}", now)
        tokens = printed.split(b"\0")
        for fields, path in zip(tokens[::2], tokens[1::2], strict=False):
            mode_before, mode_now, hash_before, hash_now, _ = fields.lstrip(b":").split(b" ")
            yield (
                path,
                TreeDifference(before=(mode_before, hash_before), now=(mode_now, hash_now)),
            )

    def write_back(self, now: str, entries: Mapping[bytes, TreeDifference]) -> None:
        """Give these paths what they had, in the work tree alone; git writes over no file that has
        changed since ``now``.

        Raises a ``RalphError`` where a file changed in the meantime, or an ignored one is in the
        way.
        """
        with self._index() as index:
            self._git(index, "read-tree", now)
            lines = ((path, *entry.before) for path, entry in entries.items())
            self._git(index, "update-index", "-z", "--index-info", stdin=index_info(lines))
            target = self._git(index, "write-tree").decode().strip()
        with self._index() as index:
            self._git(index, "read-tree", now)
            self._git(index, "update-index", "-q", "--refresh", accept=(0, 1))
            self._git(index, "read-tree", "-m", "-u", now, target)

    def _index(self) -> _Index:
        return _Index(self._folder / "undo.index")

    def _git(
        self,
        index: Path,
        *arguments: str,
        stdin: bytes = b"",
        accept: tuple[int, ...] = (0,),
    ) -> bytes:
        settings = {"GIT_INDEX_FILE": str(index)}
        return run_git(self._root, *arguments, stdin=stdin, accept=accept, settings=settings)


class _Index:
    """Path of a temporary index, while it is used."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        self._path.unlink(missing_ok=True)
        return self._path

    def __exit__(self, *_problem: object) -> None:
        self._path.unlink(missing_ok=True)
