"""Git objects: commits, changed files and file contents from git, for viewers; read only.

The commits of an iteration may be gone, and the repository's content was written by others: paths
are literal, and the content of binary or too large files is not returned.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.row_methods import FileAtResult
from ralph_ls.protocol.run.values import ChangeStatus, CommitView, FileChange
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import open_regular

LARGEST_FILE = 5_000_000
"""Most bytes of a file that is returned."""

SHOWN_FILES = 5000
SHOWN_COMMITS = 500
SHOWN_SUBJECT = 300

_BINARY_PREFIX = 8000
"""Bytes that git searches for a NUL to detect binary files."""

STATUSES = {
    "A": ChangeStatus.ADDED,
    "C": ChangeStatus.COPIED,
    "D": ChangeStatus.DELETED,
    "R": ChangeStatus.RENAMED,
    "T": ChangeStatus.TYPE_CHANGED,
}

_PLAINLY = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTreeEntry:
    """Entry of a commit's tree at a path."""

    mode: str
    kind: str
    hash: str


def empty_tree(commit: str | None = None) -> str:
    """Hash of the empty tree, in a repository with hashes like this commit's."""
    algorithm = "sha256" if commit is not None and len(commit) == 64 else "sha1"
    return hashlib.new(algorithm, b"tree 0\0", usedforsecurity=False).hexdigest()


def commits_between(root: Path, base: str, head: str) -> tuple[CommitView, ...]:
    """The commits reachable from ``head`` but not from ``base``, newest first, at most 500.

    All of them if ``base`` is the empty tree. Raises ``RalphError`` where an end is gone.
    """
    excluded = [] if base == empty_tree(base) else [f"^{base}"]
    printed = run_git(
        root,
        "log",
        "-z",
        "--format=%H%x00%s",
        "--encoding=UTF-8",
        f"--max-count={SHOWN_COMMITS}",
        "--no-show-signature",
        "--no-color",
        head,
        *excluded,
        "--",
    )
    tokens = printed.removesuffix(b"\0").split(b"\0") if printed else []
    return tuple(
        CommitView(hash=commit.decode(), subject=_words(subject)[:SHOWN_SUBJECT])
        for commit, subject in zip(tokens[::2], tokens[1::2], strict=True)
    )


def files_between(root: Path, base: str, head: str | None) -> tuple[FileChange, ...]:
    """The files that differ, by path; without ``head`` those of the work tree, with new files.

    Raises ``RalphError`` where an end is gone.
    """
    ends = [base] if head is None else [base, head]
    formats = ("--raw", "--numstat", "-z", "-M", "--no-abbrev")
    found = _changes_in(run_git(root, "diff", *formats, *_PLAINLY, *ends, "--"))
    if head is None:
        listed = run_git(root, "ls-files", "-z", "--others", "--exclude-standard", "--full-name")
        for path in map(_words, filter(None, listed.split(b"\0"))):
            change = FileChange(
                path=path, status=ChangeStatus.ADDED, binary=_is_binary_file(root / path)
            )
            found.setdefault(path, change)
    return tuple(found[path] for path in sorted(found))


def count_lines(root: Path, base: str, head: str | None) -> dict[str, tuple[int, int]]:
    """Added and removed lines of each text file that differs, by path; of a rename by the new one.

    Raises ``RalphError`` where an end is gone.
    """
    ends = [base] if head is None else [base, head]
    tokens = iter(
        run_git(root, "diff", "--numstat", "-z", "-M", *_PLAINLY, *ends, "--").split(b"\0")
    )
    found: dict[str, tuple[int, int]] = {}
    for token in filter(None, tokens):
        added, removed, name = token.split(b"\t", 2)
        if not name:
            next(tokens)
            name = next(tokens)
        if added.isdigit():
            found[_words(name)] = int(added), int(removed)
    return found


def diff_between(root: Path, base: str, head: str | None) -> str:
    """The differences as a patch; raises ``RalphError`` where an end is gone."""
    ends = [base] if head is None else [base, head]
    return _words(run_git(root, "diff", "-M", *_PLAINLY, *ends, "--"))


def file_at(root: Path, commit: str, path: str) -> FileAtResult:
    """A file at a commit, or that it is missing, binary or too large.

    The text of a link is its target, that of a submodule its commit, as in ``git diff``. Raises
    ``UsageError`` for a path outside of the repository, and ``RalphError`` for an unknown commit.
    """
    require_inside(path)
    entry = entry_at(root, commit, path)
    if entry is None or entry.kind == "tree":
        return FileAtResult()
    if entry.kind == "commit":
        text = f"Subproject commit {entry.hash}\n"
        return FileAtResult(text=text, size=len(text))
    size = int(run_git(root, "cat-file", "-s", entry.hash))
    if size > LARGEST_FILE:
        return FileAtResult(size=size)
    data = run_git(root, "cat-file", "blob", entry.hash)
    if is_binary(data):
        return FileAtResult(binary=True, size=size)
    return FileAtResult(text=data.decode("utf-8", errors="replace"), size=size)


def entry_at(root: Path, commit: str, path: str) -> CommitTreeEntry | None:
    """Entry of a commit's tree at a path; None if there is none."""
    literally = f":(top,literal){path}"
    printed = run_git(root, "ls-tree", "-z", "--full-tree", commit, "--", literally)
    description, _, _ = printed.partition(b"\t")
    if not description:
        return None
    mode, kind, name = description.decode().split(" ")
    return CommitTreeEntry(mode=mode, kind=kind, hash=name)


def require_inside(path: str) -> None:
    """Raise ``UsageError`` for a path that cannot be a file of a repository."""
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or "\0" in path or ".." in parts or ".git" in parts:
        raise UsageError(
            f"{path!r} is not a path in the repository; give one relative to its root, with / "
            "between its parts"
        )


def is_binary(data: bytes) -> bool:
    """Whether git treats the data as binary."""
    return b"\0" in data[:_BINARY_PREFIX]


def _changes_in(printed: bytes) -> dict[str, FileChange]:
    """Changes by path, for a rename by the new one, from raw lines followed by line counts."""
    found: dict[str, FileChange] = {}
    tokens = iter(printed.split(b"\0"))
    for token in tokens:
        if token.startswith(b":"):
            letter = token.rpartition(b" ")[2].decode()[:1]
            first = _words(next(tokens))
            is_pair = letter in {"R", "C"}
            path = _words(next(tokens)) if is_pair else first
            found[path] = FileChange(
                path=path,
                old_path=first if is_pair else None,
                status=STATUSES.get(letter, ChangeStatus.MODIFIED),
                binary=False,
            )
        elif token:
            added, _, name = token.split(b"\t", 2)
            if not name:
                next(tokens)
                name = next(tokens)
            # Git counts no lines of binary files.
            path = _words(name)
            if added == b"-" and path in found:
                found[path] = found[path].model_copy(update={"binary": True})
    return found


def _is_binary_file(path: Path) -> bool:
    try:
        if path.is_symlink():
            return False
        with open_regular(path) as file:
            return is_binary(file.read(_BINARY_PREFIX))
    except OSError:
        return False


def _words(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
