"""Status of a work tree: every path that differs from its commit, with a value of its content.

A value is ``<mode> <16 hex>``, with git's modes and the beginning of git's hash of the bytes on the
disk, so that it can be compared with a tree without asking git again. A file that is converted on
its way in (line endings, large file storage) has another hash in the tree; such a file is compared
with its earlier bytes alone. ``deleted`` is the value of a missing file. Which of the differences
count is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.protocol.errors import RalphError, StateUnusable, WorkspaceMissing
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import IrregularFile, open_regular, read_at_most, read_regular
from ralph_ls.store.layout import find_worktree

DELETED = "deleted"
UNREADABLE = "unreadable"
GITLINK = "160000"
HEX = 16
"""How many digits of a hash a value has."""

EDITOR_FILE = re.compile(rb"(?:^|/)(?:\.[^/]*\.sw[a-p]|\.?#[^/]+|4913|[^/]*~)$")
"""Untracked files of Vim and Emacs: swap files, locks, automatic saves and backups."""

WHOLE_FILE_LIMIT = 64 << 20
SAMPLE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DirtyPath:
    """One path that git calls changed or untracked."""

    name: str
    """``/``-separated, relative to the root; what is no UTF-8 as ``\\xNN``."""
    path: Path
    """On the disk."""
    committed: str
    """Its value in HEAD, ``deleted`` where HEAD has none."""
    is_repository: bool
    """A submodule, or another repository inside this one."""


def dirty_paths(root: Path) -> Iterator[DirtyPath]:
    """Every path that differs from HEAD in index or work tree, each once; one git process.

    What an editor keeps beside an open file is left out: it comes and goes while somebody looks at
    the plan, and is no work.

    Git itself does not look into submodules: it would do there what their own settings say, and an
    agent can make a repository in the tree whose settings name programs.
    """
    printed = run_git(
        root,
        "status",
        "--porcelain=v2",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--ignore-submodules=dirty",
    )
    committed: dict[bytes, str] = {}
    repositories: set[bytes] = set()
    for record in printed.split(b"\0"):
        match record[:1]:
            case b"1":
                _, _, submodule, mode, _, _, commit_hash, _, path = record.split(b" ", 8)
            case b"u":
                fields = record.split(b" ", 10)
                submodule, mode, commit_hash, path = fields[2], fields[4], fields[8], fields[10]
            case b"?":
                submodule, mode, commit_hash = b"N...", b"000000", b""
                path = record[2:]
                if EDITOR_FILE.search(path) is not None:
                    continue
            case _:
                continue
        # A file can be listed twice: removed from the index, and there as an untracked one.
        committed.setdefault(path.rstrip(b"/"), tree_value(mode, commit_hash))
        if submodule.startswith(b"S") or path.endswith(b"/"):
            repositories.add(path.rstrip(b"/"))
    for path, full_hash in _submodules(root).items():
        if path not in committed and _is_changed(root / os.fsdecode(path)):
            committed[path] = tree_value(GITLINK.encode(), full_hash)
            repositories.add(path)
    for path, value in committed.items():
        yield DirtyPath(
            name=journal_path(path),
            path=root / os.fsdecode(path),
            committed=value,
            is_repository=path in repositories,
        )


_LARGEST_INDEX = 1 << 30
"""Bytes; a hundred for each tracked file."""

_GITLINK_IN_INDEX = (0o160000).to_bytes(4, "big")


def _submodules(root: Path) -> dict[bytes, bytes]:
    """The commit that the index has of each submodule, by its path.

    Git is asked only where the bytes of the index may hold one.
    """
    try:
        index = read_regular(find_worktree(root).git_dir / "index", _LARGEST_INDEX) or b""
    except (StateUnusable, WorkspaceMissing):
        return {}
    if _GITLINK_IN_INDEX not in index and b"link" not in index[-4096:]:
        return {}
    found: dict[bytes, bytes] = {}
    for record in run_git(root, "ls-files", "--stage", "-z").split(b"\0"):
        described, _, path = record.partition(b"\t")
        if described.startswith(GITLINK.encode()):
            found[path] = described.split(b" ")[1]
    return found


def _is_changed(submodule: Path) -> bool:
    """Whether a submodule that is checked out differs from its own commit."""
    if not (submodule / ".git").exists():
        return False
    try:
        return any(True for _ in dirty_paths(submodule))
    except RalphError:
        return False


def journal_path(path: bytes) -> str:
    """A path as in the journal, which is UTF-8."""
    return path.decode("utf-8", "backslashreplace")


def tree_value(mode: bytes, full_hash: bytes) -> str:
    """The value of an entry of a tree, as git prints its mode and its hash."""
    if mode == b"000000":
        return DELETED
    return f"{mode.decode()} {full_hash[:HEX].decode()}"


def disk_value(path: Path, *, algorithm: str) -> str:
    """The value of ``path`` now; ``algorithm`` is the repository's, sha1 or sha256.

    A symbolic link counts by its target's name. Of a file above 64 MB only size, time of change,
    first and last megabyte count. What is neither file nor link is nothing to git.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return f"120000 {_blob_hash(os.fsencode(path.readlink()), algorithm)}"
        if not stat.S_ISREG(status.st_mode):
            return DELETED
        mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
        if status.st_size > WHOLE_FILE_LIMIT:
            return f"{mode} {_sample_hash(path, status)}"
        with open_regular(path) as file:
            data = read_at_most(file, WHOLE_FILE_LIMIT + 1)
        if len(data) > WHOLE_FILE_LIMIT:
            # It grew meanwhile.
            return f"{mode} {_sample_hash(path, status)}"
        return f"{mode} {_blob_hash(data, algorithm)}"
    except IrregularFile:
        return DELETED
    except (FileNotFoundError, NotADirectoryError):
        return DELETED
    except OSError:
        return UNREADABLE


def blob_value(data: bytes, *, algorithm: str) -> str:
    """The part of a file's value that depends on its content."""
    return _blob_hash(data, algorithm)


def _blob_hash(data: bytes, algorithm: str) -> str:
    digest = hashlib.new(algorithm, b"blob %d\0" % len(data), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()[:HEX]


def _sample_hash(path: Path, status: os.stat_result) -> str:
    digest = hashlib.blake2b(f"{status.st_size} {status.st_mtime_ns} ".encode(), digest_size=8)
    with open_regular(path) as file:
        digest.update(file.read(SAMPLE))
        file.seek(-SAMPLE, os.SEEK_END)
        digest.update(file.read(SAMPLE))
    return digest.hexdigest()
