"""Git locks: finds git's lock files and the processes that may hold them, and moves one away.

Git writes ``NAME.lock`` and renames it to ``NAME``; while the file exists, no other git changes
NAME. A killed git leaves it behind, and a ``git commit`` in an editor holds ``index.lock`` without
an open descriptor, so the file itself does not show which of the two it is. Who owns a lock is not
decided here.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_regular
from ralph_ls.store.layout import Worktree

if TYPE_CHECKING:
    import psutil

SUFFIX = ".lock"

_OURS = "ralph"
"""Prefix of our files in the git directory."""

_OF_WORKTREE = ("index.lock", "HEAD.lock", "config.worktree.lock")
_OF_REPOSITORY = ("config.lock", "packed-refs.lock", "shallow.lock", "reftable/tables.list.lock")

_PASSED_OVER = frozenset({"hooks", "lfs", "logs", "rr-cache", "worktrees", "annex"})
"""Folders of a git directory without relevant locks."""

_OBJECTS = ("", "info", "info/commit-graphs", "pack")
"""Folders below ``objects`` with locks."""

_READ_ONLY = frozenset(
    {
        *("blame", "cat-file", "cat", "credential-cache--daemon", "daemon", "diff", "fsmonitor"),
        *("fsmonitor--daemon", "grep", "help", "log", "ls-files", "ls-remote", "reflog"),
        *("rev-list", "shortlog", "show", "var", "whatchanged"),
    }
)
"""Commands that hold no lock while their output is read, or that never end."""

_TAKE_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})
_PLACES_IN_ENVIRONMENT = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """A lock file as found; equal if it is still the same file."""

    path: Path
    file: tuple[int, int]
    """Device and inode."""
    written_at: float
    """Seconds since the epoch."""

    def is_there(self) -> bool:
        """Whether it is still the same file."""
        return read_lock(self.path) == self


@dataclass(frozen=True, slots=True, kw_only=True)
class GitProcess:
    """A git process in a repository."""

    pid: int
    started_at: float
    command: str
    """Command such as ``git commit``, without arguments."""


def read_lock(path: Path) -> LockFile | None:
    """The lock file at this path; None if it is missing."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return LockFile(path=path, file=(status.st_dev, status.st_ino), written_at=status.st_mtime)


def find_locks(place: Worktree) -> dict[Path, LockFile]:
    """Lock files of a work tree's repository, without those of other linked work trees."""
    found: dict[Path, LockFile] = {}
    for path in _candidates(place):
        if (lock := read_lock(path)) is not None:
            found[path] = lock
    return found


def find_blocking(place: Worktree, branch: str | None) -> list[LockFile]:
    """The lock files that block git on this branch of this work tree."""
    paths = [place.git_dir / name for name in _OF_WORKTREE]
    paths += [place.common_dir / name for name in _OF_REPOSITORY]
    if branch is not None:
        with contextlib.suppress(ValueError):
            paths.append(place.common_dir / "refs" / "heads" / f"{branch}{SUFFIX}")
    return [lock for path in paths if (lock := read_lock(path)) is not None]


def _candidates(place: Worktree) -> Iterator[Path]:
    git_dir, common = place.git_dir, place.common_dir
    if git_dir == common:
        yield from _locks_below(common)
    else:
        yield from _locks_below(git_dir)
        # At the top are those of the main work tree.
        yield from (common / name for name in _OF_REPOSITORY)
        for folder in ("refs", "reftable", "modules"):
            yield from _locks_below(common / folder)
    for folder in _OBJECTS:
        yield from _locks_in(common / "objects" / folder)


def _locks_below(top: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(top):
        is_git_dir = "HEAD" in files
        folders[:] = [
            name
            for name in folders
            if name not in _PASSED_OVER and not (is_git_dir and name == "objects")
        ]
        yield from (Path(folder, name) for name in files if _is_gits(name))


def _locks_in(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (folder / name for name in os.listdir(folder) if _is_gits(name))


def _is_gits(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(_OURS)


def find_running_git(place: Worktree) -> GitProcess | None:
    """The first git process found in this repository or one of its work trees."""
    import psutil

    places = _places_of(place)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or not process.name().startswith("git"):
                continue
            words = process.cmdline()
            command = _command_of(words)
            if command in _READ_ONLY or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if _works_in(process, words, places):
                return GitProcess(
                    pid=process.pid,
                    started_at=process.create_time(),
                    command=f"git {command}".strip(),
                )
    return None


def move_lock(lock: LockFile, place: Worktree, folder: Path) -> Path | None:
    """Move a lock file into ``folder``; None if it is gone or cannot be moved.

    A lock that another process takes at the same path in this moment is kept.
    """
    base = place.git_dir if lock.path.is_relative_to(place.git_dir) else place.common_dir
    target = folder / lock.path.relative_to(base)
    # A rename within the file system first: a file could change while it is copied.
    aside = lock.path.with_name(f"{_OURS}-moved-{os.getpid()}-{lock.path.name}")
    try:
        if not lock.is_there():
            return None
        make_private_folder(target.parent)
        lock.path.rename(aside)
        moved = read_lock(aside)
        if moved is None or moved.file != lock.file:
            # Back, unless there is another one by now.
            with contextlib.suppress(FileExistsError):
                os.link(aside, lock.path)
            aside.unlink()
            return None
        try:
            aside.rename(target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            shutil.copyfile(aside, target)
            aside.unlink()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        target.chmod(PRIVATE_FILE)
    return target


def removal_of(paths: Iterable[Path]) -> str:
    """The command that removes these files."""
    words = [str(path) for path in paths]
    return f"del {' '.join(words)}" if sys.platform == "win32" else f"rm {shlex.join(words)}"


def _places_of(place: Worktree) -> tuple[Path, ...]:
    found = {place.root, place.git_dir, place.common_dir}
    if place.common_dir.name == ".git":
        found.add(place.common_dir.parent)
    with contextlib.suppress(OSError):
        for linked in (place.common_dir / "worktrees").iterdir():
            with contextlib.suppress(OSError, StateUnusable):
                text = os.fsdecode(read_regular(linked / "gitdir") or b"")
                found.add(Path(text.strip()).parent)
    return tuple({Path(os.path.realpath(one)) for one in found})


def _works_in(process: psutil.Process, words: Sequence[str], places: Collection[Path]) -> bool:
    import psutil

    try:
        folder = Path(process.cwd())
    except (psutil.Error, OSError):
        folder = Path(os.sep)
    named = [word.partition("=")[2] or word for word in words[1:]]
    environment: Mapping[str, str] = {}
    with contextlib.suppress(psutil.Error, OSError):
        environment = process.environ()
    named += [environment[name] for name in _PLACES_IN_ENVIRONMENT if environment.get(name)]
    return any(_is_in(one, places) for one in (folder, *(folder / word for word in named)))


def _is_in(path: Path, places: Collection[Path]) -> bool:
    try:
        real = Path(os.path.realpath(path))
    except (OSError, ValueError):
        return False
    return any(real.is_relative_to(place) for place in places)


def _command_of(words: Sequence[str]) -> str:
    """Subcommand of a git command line: ``commit`` of ``git -C x commit``, or ``git-commit``."""
    name = Path(words[0]).name.removesuffix(".exe") if words else ""
    if name.startswith("git-"):
        return name.removeprefix("git-")
    rest = iter(words[1:])
    for word in rest:
        if word in _TAKE_VALUE:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return ""
