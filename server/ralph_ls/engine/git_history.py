"""What lies between two commits: the commits on the way, and the paths that differ.

Either end may be missing (before the first commit), gone (collected after a rebase), older than the
other or of another history. This module must never know of the work tree's dirty files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ralph_ls.engine.git_status import told, tree_value
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import CommitSeen
from ralph_ls.store.external.git_command import run_git

COMMITS_LIMIT = 200
SUBJECT_LIMIT = 300

Counts = Callable[[str], bool]
"""Whether a path counts, relative to the repository it is in."""

IsPersons = Callable[[int], bool]
"""Whether a commit was made by a person, by its committer's time in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A commit, and the paths that it touches."""

    seen: CommitSeen
    paths: frozenset[str]
    made_at: int = 0
    """The committer's time in seconds since the epoch."""


def nobody(_made_at: int) -> bool:
    """No commit is a person's: what cannot be told is the agent's (SPEC §6)."""
    return False


def hash_algorithm(commit: str | None) -> str:
    """What a repository names its objects with; sha1 as long as it has no commit."""
    return "sha256" if commit is not None and len(commit) == 64 else "sha1"


def differing_paths(root: Path, old: str | None, new: str | None) -> dict[str, tuple[str, str]]:
    """The paths whose content differs, with both values; nothing where ``old`` is gone."""
    if old == new:
        return {}
    nothing = hashlib.new(hash_algorithm(old or new), b"tree 0\0", usedforsecurity=False)
    ends = [commit or nothing.hexdigest() for commit in (old, new)]
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    try:
        printed = run_git(root, "diff-tree", *options, *ends)
    except RalphError:
        return {}
    tokens = printed.split(b"\0")
    found: dict[str, tuple[str, str]] = {}
    for description, path in zip(tokens[::2], tokens[1::2], strict=False):
        old_mode, new_mode, old_hash, new_hash, _ = description.removeprefix(b":").split(b" ")
        found[told(path)] = (tree_value(old_mode, old_hash), tree_value(new_mode, new_hash))
    return found


def commits_between(
    root: Path,
    old: str | None,
    new: str,
    *,
    counts: Counts,
    since: datetime | None = None,
    is_persons: IsPersons = nobody,
    repository: str = "",
) -> list[Made]:
    """The newest 200 commits that ``new`` reaches and ``old`` does not, oldest first.

    Those made before ``since`` are left out. Without ``old`` those that a remote has are left out
    too: a clone brings its history along, and nobody here made it.
    """
    base = ["--not", "--remotes"] if old is None else ["--not", old]
    try:
        printed = _log(root, f"--max-count={COMMITS_LIMIT}", new, *base)
    except RalphError:
        # The old end was collected: what can be told is that there is a new one.
        printed = _log(root, "--max-count=1", new)
    earliest = None if since is None else int(since.timestamp())
    commits = [
        Made(
            seen=CommitSeen(
                hash=commit,
                subject=subject if len(subject) <= SUBJECT_LIMIT else subject[:SUBJECT_LIMIT] + "…",
                files=sum(map(counts, paths)),
                repository=repository,
                by_person=is_persons(made_at),
            ),
            paths=frozenset(paths),
            made_at=made_at,
        )
        for commit, made_at, subject, paths in _parse_log(printed)
        if earliest is None or made_at >= earliest
    ]
    return commits[::-1]


def is_ancestor(root: Path, old: str | None, new: str) -> bool:
    """Whether ``new`` goes on from ``old``; every history goes on from nothing."""
    if old is None:
        return True
    try:
        run_git(root, "merge-base", "--is-ancestor", old, new)
    except RalphError:
        return False
    return True


def _log(root: Path, *revisions: str) -> bytes:
    """One record a commit; settings that would run a program or change the form are overruled."""
    return run_git(
        root,
        "log",
        "-z",
        "--format=%x01%H%x00%ct%x00%s",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--root",
        "--diff-merges=first-parent",
        "--ignore-submodules=none",
        "--encoding=UTF-8",
        "--no-color",
        "--no-show-signature",
        "--no-ext-diff",
        "--no-textconv",
        *revisions,
    )


def _parse_log(printed: bytes) -> Iterator[tuple[str, int, str, list[str]]]:
    """Hash, committer's time in seconds since the epoch, subject and paths of each commit.

    A path always follows its description, so that no name of a file can pass for a commit.
    """
    tokens = iter(printed.split(b"\0"))
    commit: tuple[str, int, str, list[str]] | None = None
    for token in (token.lstrip(b"\n") for token in tokens):
        if token.startswith(b"\x01"):
            if commit is not None:
                yield commit
            made_at, subject = next(tokens), next(tokens)
            commit = (token[1:].decode(), int(made_at), subject.decode("utf-8", "replace"), [])
        elif token.startswith(b":") and commit is not None:
            commit[3].append(told(next(tokens)))
    if commit is not None:
        yield commit
