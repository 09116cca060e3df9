"""Git directory of a box: writable, except for files that decide which programs git runs.

Settings, hooks and attributes of the repository are mounted read-only, and so are files that lead
git to other ones. Names in a writable folder cannot be forbidden, so a file that must not be
created is created first, with content that git treats as empty. A folder that holds something
protected is a separate mount: any other folder could be moved away and created again.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from ralph_ls.engine.sandbox.cleanup import WritePlaces
from ralph_ls.engine.sandbox.home import BoxMount
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import read_regular
from ralph_ls.store.layout import Worktree

COMMON_DIR = "commondir"
"""A file that leads git to the settings of another git directory."""

_NEUTRAL = {COMMON_DIR: b".\n", "config.worktree": b""}
"""Files that must not be created, with what git takes for nothing: the one leads to the git
directory that it is in, the other has no settings."""

CONFIGS = ("config", "config.worktree")
FOLDERS = ("hooks", "info")
OWN_FILES = "ralph*"
"""The loop's own files in a git directory, which its viewers go by."""


def protect_repository(worktree: Worktree) -> list[BoxMount]:
    """Mounts for the git directory of ``worktree``, to be laid over the mount of its root."""
    root, git_dir, common_dir = worktree.root, worktree.git_dir, worktree.common_dir
    link = root / ".git"
    mounts: list[BoxMount] = []
    if link.is_file():
        mounts.append(BoxMount.read_only(link))
    mounts += _git_directory(common_dir)
    worktrees = common_dir / "worktrees"
    with contextlib.suppress(OSError):
        worktrees.mkdir(exist_ok=True)
    if worktrees.is_dir():
        mounts.append(BoxMount.read_only(worktrees))
    if git_dir != common_dir:
        mounts += _linked(git_dir)
    modules = [git_dir / "modules", common_dir / "modules"]
    for folder in dict.fromkeys(modules):
        mounts += _modules(folder)
    mounts += _nested(root, common_dir)
    return mounts


def _made_for_mounts(worktree: Worktree) -> Iterator[Path]:
    """Files that were created to be mounted, and are still unchanged."""
    for git_dir in dict.fromkeys((worktree.git_dir, *_git_directories(worktree))):
        for name, content in _NEUTRAL.items():
            path = git_dir / name
            with contextlib.suppress(StateUnusable):
                if read_regular(path) == content:
                    yield path


def written_by_git(worktree: Worktree) -> WritePlaces:
    """Places in which git writes in its directories; of the objects only the folders."""
    paths: list[Path] = []
    trees: list[Path] = []
    for git_dir in dict.fromkeys((worktree.git_dir, *_git_directories(worktree))):
        paths += [*_entries(git_dir), *_entries(git_dir / "objects")]
        trees += [git_dir / name for name in _WRITTEN_BELOW]
    return WritePlaces(paths=tuple(paths), trees=tuple(trees))


_WRITTEN_BELOW = ("logs", "refs", "rebase-merge", "rebase-apply", "sequencer")


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def leave_repository(worktree: Worktree) -> None:
    """Remove files that were created to be mounted."""
    for path in _made_for_mounts(worktree):
        with contextlib.suppress(OSError):
            path.unlink()
    with contextlib.suppress(OSError):
        # Only where it is empty.
        (worktree.common_dir / "worktrees").rmdir()


def _git_directories(worktree: Worktree) -> Iterator[Path]:
    yield worktree.common_dir
    for modules in {worktree.common_dir / "modules", worktree.git_dir / "modules"}:
        yield from _repositories_in(modules)
    for path in _submodule_paths(worktree.root):
        if (path / ".git").is_dir():
            yield path / ".git"


def _git_directory(git_dir: Path) -> list[BoxMount]:
    """A git directory that has its own settings."""
    _make_neutral(git_dir, _NEUTRAL)
    for name in FOLDERS:
        with contextlib.suppress(OSError):
            (git_dir / name).mkdir(exist_ok=True)
    names = (*CONFIGS, COMMON_DIR, *FOLDERS)
    return [BoxMount.writable(git_dir), *_read_only(git_dir, names), *_own_files(git_dir)]


def _linked(git_dir: Path) -> list[BoxMount]:
    """The git directory of a linked work tree, which has its settings from the common one."""
    _make_neutral(git_dir, ("config.worktree",))
    names = ("config.worktree", COMMON_DIR, "gitdir")
    return [BoxMount.writable(git_dir), *_read_only(git_dir, names), *_own_files(git_dir)]


def _modules(folder: Path) -> list[BoxMount]:
    """The git directories of submodules; no further one can be made or moved there."""
    if not folder.is_dir():
        return []
    mounts = [BoxMount.read_only(folder)]
    for repository in _repositories_in(folder):
        mounts += _git_directory(repository)
        if (repository / "modules").is_dir():
            mounts.append(BoxMount.read_only(repository / "modules"))
    return mounts


def _repositories_in(folder: Path) -> Iterator[Path]:
    """Git directories below ``modules``, outer ones first; a submodule's name may hold slashes."""
    for found, names, files in os.walk(folder):
        if "HEAD" in files and "objects" in names:
            yield Path(found)
            names[:] = [name for name in names if name == "modules"]


def _nested(root: Path, common_dir: Path) -> list[BoxMount]:
    """Submodules in the work tree: where ``.git`` leads stays, and so do settings of older ones."""
    mounts: list[BoxMount] = []
    for path in _submodule_paths(root):
        link = path / ".git"
        if link.is_file():
            mounts.append(BoxMount.read_only(link))
        elif link.is_dir() and not link.is_symlink() and link != common_dir:
            mounts += [BoxMount.writable(path), *_git_directory(link)]
    return mounts


def _submodule_paths(root: Path) -> list[Path]:
    """The folders of submodules that ``.gitmodules`` names, inside the work tree."""
    if not (root / ".gitmodules").is_file():
        return []
    query = ("config", "--file", ".gitmodules", "--null", "--get-regexp", r"^submodule\..*\.path$")
    try:
        printed = run_git(root, *query, accept=(0, 1))
    except (RalphError, OSError, subprocess.SubprocessError):
        return []
    real_root = Path(os.path.realpath(root))
    found: list[Path] = []
    for record in printed.split(b"\0"):
        _, _, value = record.partition(b"\n")
        path = Path(os.path.realpath(root / os.fsdecode(value)))
        if value and path != real_root and path.is_relative_to(real_root):
            found.append(path)
    return found


def hooks_folder(worktree: Worktree) -> Path:
    """The folder of hooks that git goes by."""
    query = ("config", "--path", "--null", "--get-all", "core.hooksPath")
    try:
        printed = run_git(worktree.root, *query, accept=(0, 1))
    except RalphError:
        printed = b""
    # The last one is our own, with which inspecting the tree runs no hook.
    found = (os.fsdecode(value) for value in printed.split(b"\0") if value)
    named = [value for value in found if value != os.devnull]
    if not named:
        return worktree.common_dir / "hooks"
    return Path(os.path.realpath(worktree.root / named[-1]))


def hooks_in_tree(worktree: Worktree) -> list[Path]:
    """The folder of hooks where the settings name one inside the work tree."""
    folder, root = hooks_folder(worktree), worktree.root
    is_outside = folder == worktree.common_dir / "hooks" or not folder.is_relative_to(root)
    return [] if is_outside or folder == root or not folder.is_dir() else [folder]


def _read_only(git_dir: Path, names: Iterable[str]) -> list[BoxMount]:
    return [BoxMount.read_only(git_dir / name) for name in names if (git_dir / name).exists()]


def _own_files(git_dir: Path) -> list[BoxMount]:
    """The loop's files, so that none is replaced, and none removed with others' locks."""
    return [BoxMount.read_only(path) for path in sorted(git_dir.glob(OWN_FILES)) if path.is_file()]


def _make_neutral(git_dir: Path, names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError), (git_dir / name).open("xb") as file:
            file.write(_NEUTRAL[name])
