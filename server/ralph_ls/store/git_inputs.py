"""Files that git reads before it answers, where something else than a file makes it wait for ever.

git opens ``.gitignore``, ``.gitattributes``, its configuration and its index without asking what
they are: a named pipe in the place of one stops every command that reads it. The well-known places
are looked at before git is started, which takes microseconds; a file of that kind deeper in the
tree is searched for only where git takes longer than two seconds.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable, WorkspaceMissing
from ralph_ls.store.files import LARGEST_FILE, kind_of_irregular, size_in_words
from ralph_ls.store.layout import find_worktree

TREE_FILES = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
"""Read by git in the work tree; the first two in every folder of it."""

SMALL_FILES = ("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts")
"""Read by git in its own folder, and written by hand."""

OWN_FILES = (
    *SMALL_FILES,
    "HEAD",
    "commondir",
    "index",
    "info/sparse-checkout",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
)
"""Read by git in its own folder."""

MOST_SEARCHED = 200_000
"""Files and folders that are looked at for one that git waits for."""


def require_git_can_read(root: Path) -> None:
    """Raise ``StateUnusable`` where git would wait for one of the well-known files, naming it."""
    for path in _well_known(root):
        why = why_git_cannot_read(path)
        if why is not None:
            raise StateUnusable(_say(path, why))


def find_what_git_waits_for(root: Path) -> str | None:
    """After git did not answer: the first file that it may wait for, and what to do; else None.

    A bounded search of the whole work tree and of git's references.
    """
    for path in (*_well_known(root), *_deeper(root)):
        why = why_git_cannot_read(path)
        if why is not None:
            return _say(path, why)
    return None


def why_git_cannot_read(path: Path) -> str | None:
    """What is wrong with a file that git reads, in words that follow its name; None: nothing."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        # git says so itself, or takes it as missing.
        return None
    kind = kind_of_irregular(status.st_mode)
    if kind is not None:
        return None if stat.S_ISDIR(status.st_mode) else f"is {kind}, no regular file"
    is_small = path.name in TREE_FILES or path.parent.name == "info"
    if is_small and status.st_size > LARGEST_FILE:
        return f"is larger than {size_in_words(LARGEST_FILE)}"
    return None


def _say(path: Path, why: str) -> str:
    return f"{path} {why}, and git cannot work with it; remove it, or put a file there"


def _well_known(root: Path) -> Iterator[Path]:
    yield from (root / name for name in TREE_FILES)
    for folder in _git_folders(root):
        yield from (folder / name for name in OWN_FILES)


def _git_folders(root: Path) -> tuple[Path, ...]:
    """The folder of the work tree, and that of its repository where it is another one."""
    if (root / ".git").is_dir():
        return (root / ".git",)
    try:
        place = find_worktree(root)
    except WorkspaceMissing:
        return ()
    return tuple(dict.fromkeys((place.git_dir, place.common_dir)))


def _deeper(root: Path) -> Iterator[Path]:
    """Files by which git may be held up, nearest first: in all folders, then git's references."""
    left = MOST_SEARCHED
    own = _git_folders(root)
    skipped = {os.path.realpath(folder) for folder in own}
    for start in (root, *(folder / "refs" for folder in own)):
        to_list = deque([os.fspath(start)])
        while to_list and left > 0:
            try:
                with os.scandir(to_list.popleft()) as entries:
                    for entry in entries:
                        left -= 1
                        if entry.is_dir(follow_symlinks=False):
                            to_list.extend([] if entry.path in skipped else [entry.path])
                        elif start is not root or entry.name in TREE_FILES:
                            yield Path(entry.path)
            except OSError:
                continue
