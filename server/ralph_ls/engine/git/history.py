"""History between two commits: the commits on the way, the paths that differ, and commit owners.

Either end may be missing (before the first commit), gone (collected after a rebase), older than the
other or of another history. Dirty files are not looked at.

Ancestry by trace: git writes down what it does where ``GIT_TRACE2_EVENT`` names a file, and every
process that the agent starts inherits that variable. So a commit that was made when none of those
processes ran is not the agent's. It counts as the user's only where the trace is known to reach the
agent's git: a sandbox or a changed environment may keep it out, and the agent's work counted as the
user's would end a run as stuck. An undecided commit is the agent's (docs/rules.md#evidence).

Owners: a commit is the agent's where its traced git was at work when it was made, and the user's
where it was not. Undecided are commits of an agent without a trace, those that are older than the
iteration and were only brought along, and those beyond the number that is read.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from ralph_ls.engine.git.status import journal_path, tree_value
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.values import CommitSeen
from ralph_ls.store.external.git_command import read_objects, run_git
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_regular

COMMITS_LIMIT = 200
SUBJECT_LIMIT = 300

Counts = Callable[[str], bool]
"""Whether a path counts, relative to the repository it is in."""

IsUserCommit = Callable[[int], bool]
"""Whether a commit is the user's, by its committer's time in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPaths:
    """A commit, and the paths that it touches."""

    seen: CommitSeen
    paths: frozenset[str]
    made_at: int = 0
    """The committer's time in seconds since the epoch."""


def no_user_commit(_made_at: int) -> bool:
    """No commit is the user's: an undecided one is the agent's (docs/rules.md#evidence)."""
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
        printed = read_objects(root, "diff-tree", *options, *ends)
    except RalphError:
        return {}
    tokens = printed.split(b"\0")
    found: dict[str, tuple[str, str]] = {}
    for description, path in zip(tokens[::2], tokens[1::2], strict=False):
        old_mode, new_mode, old_hash, new_hash, _ = description.removeprefix(b":").split(b" ")
        found[journal_path(path)] = (tree_value(old_mode, old_hash), tree_value(new_mode, new_hash))
    return found


def commits_between(
    root: Path,
    old: str | None,
    new: str,
    *,
    counts: Counts,
    since: datetime | None = None,
    is_persons: IsUserCommit = no_user_commit,
    repository: str = "",
) -> list[CommitPaths]:
    """The newest 200 commits that ``new`` reaches and ``old`` does not, oldest first.

    Those made before ``since`` are left out. Without ``old`` those that a remote has are left out
    too: a clone brings its history along, and nobody here made it.
    """
    base = ["--not", "--remotes"] if old is None else ["--not", old]
    try:
        printed = _log(root, f"--max-count={COMMITS_LIMIT}", new, *base)
    except RalphError:
        # The old end was collected: all that is known is that there is a new one.
        printed = _log(root, "--max-count=1", new)
    earliest = None if since is None else int(since.timestamp())
    commits = [
        CommitPaths(
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
    """Whether ``old`` is an ancestor of ``new``; no commit is the ancestor of every history."""
    if old is None:
        return True
    try:
        _ask_about(old, new)(root, "merge-base", "--is-ancestor", old, new)
    except RalphError:
        return False
    return True


def _log(root: Path, *revisions: str) -> bytes:
    """One record a commit; settings that would run a program or change the form are overruled."""
    return _ask_about(*(one for one in revisions if not one.startswith("--max-count=")))(
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


def _ask_about(*revisions: str) -> Callable[..., bytes]:
    """What reads git's answer: a branch may move and a remote get commits, a hash stays."""
    are_fixed = all(one == "--not" or _HASH.fullmatch(one) for one in revisions)
    return read_objects if are_fixed else run_git


_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


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
            commit[3].append(journal_path(next(tokens)))
    if commit is not None:
        yield commit


TARGET = "GIT_TRACE2_EVENT"

LARGEST_TRACE = 16 << 20
"""Bytes; some five thousand calls of git. A larger trace is not read."""

_ONE_FILE = "events.jsonl"

_SHORT = {"GIT_TRACE2_EVENT_BRIEF": "1", "GIT_TRACE2_EVENT_NESTING": "1"}
"""Leave out what is not read here: half of the bytes."""

WRITES = frozenset(
    {
        *("add", "am", "apply", "checkout", "cherry-pick", "commit", "commit-tree", "fast-import"),
        *("merge", "mv", "pull", "read-tree", "rebase", "reset", "restore", "revert", "rm"),
        *("switch", "update-index", "update-ref", "write-tree"),
    }
)
"""Commands that are there to change something, as the work of an agent does.

Others prove nothing: an agent's program looks at the tree by itself, while its tools may work in a
sandbox that the trace cannot be written from.
"""

MOVES_NO_BRANCH = frozenset(
    {
        *("add", "apply", "blame", "cat-file", "check-attr", "check-ignore", "config"),
        *("count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree"),
        *("for-each-ref", "fsmonitor--daemon", "gc", "grep", "hash-object", "help", "log"),
        *("ls-files", "ls-remote", "ls-tree", "maintenance", "merge-base", "mv", "name-rev"),
        *("pack-objects", "restore", "rev-list", "rev-parse", "rm", "shortlog", "show"),
        *("show-ref", "status", "update-index", "var", "version", "whatchanged", "write-tree"),
    }
)
"""Commands that neither make a commit nor bring one to a branch, however long they run."""


MAKES_COMMITS = frozenset({"am", "cherry-pick", "commit", "commit-tree", "rebase", "revert"})
"""Commands that make commits here, and bring none from elsewhere."""


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """When a process ran that may have moved a branch, in seconds since the epoch."""

    start: float
    end: float | None
    """None: to the end."""
    makes: bool
    """It is there to make commits."""

    def holds(self, moment: float) -> bool:
        """Whether it ran then."""
        return self.start <= moment and (self.end is None or moment <= self.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitAncestry:
    """What the agent's own git did in an iteration. Times are whole seconds since the epoch."""

    began: int
    """When the iteration did; older commits were brought along by something newer."""
    read_at: int
    """When this was read; a commit of later has a time that somebody made up."""
    windows: tuple[tuple[int, int | None], ...] = ()
    """From when until when each process ran that may have moved a branch; None: to the end."""
    spans: tuple[TraceSpan, ...] = ()
    """The same, to the microsecond."""
    writes: bool = False
    """One process was there to change something, so the trace reaches the agent's own git."""

    def is_persons(self, made_at: int) -> bool:
        """Whether a commit with this committer's time was made, or brought, by the user."""
        if not self.began <= made_at <= self.read_at:
            return not self.windows
        return not any(
            start <= made_at and (end is None or made_at <= end) for start, end in self.windows
        )


def with_git_trace(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with a trace into a new file in ``folder``, which is made for it.

    Where the caller traces git already, that stays as it is, and owners cannot be determined.
    """
    if TARGET in environment:
        return dict(environment)
    make_private_folder(folder)
    path = folder / _ONE_FILE
    # Git appends to it, and would make it readable for everybody.
    path.touch(PRIVATE_FILE)
    return {**_SHORT, **environment, TARGET: str(path)}


def read_ancestry(folder: Path, *, began: datetime, read_at: datetime) -> CommitAncestry | None:
    """What was traced in ``folder``; None where nothing was, or more than can be read."""
    path = folder / _ONE_FILE
    try:
        data = read_regular(path, LARGEST_TRACE)
    except StateUnusable:
        return None
    if data is None:
        return None
    starts: dict[str, float] = {}
    ends: dict[str, float] = {}
    names: dict[str, str] = {}
    for event in _events(data):
        match event:
            case {"event": "version", "sid": str(process), "time": str(time)}:
                starts[process] = _seconds(time, lag=_CLOCK_LAG)
            case {"event": "atexit", "sid": str(process), "time": str(time)}:
                ends[process] = _seconds(time)
            case {"event": "cmd_name", "sid": str(process), "name": str(name)}:
                names[process] = name
            case _:
                pass
    if not starts:
        return None
    spans = tuple(
        TraceSpan(start, ends.get(process), names.get(process) in MAKES_COMMITS)
        for process, start in starts.items()
        if names.get(process) not in MOVES_NO_BRANCH
    )
    return CommitAncestry(
        began=int(began.timestamp()),
        read_at=int(read_at.timestamp()),
        windows=tuple(
            (int(span.start), None if span.end is None else int(span.end)) for span in spans
        ),
        spans=spans,
        writes=any(name in WRITES for name in names.values()),
    )


def forget_trace(folder: Path) -> None:
    """Remove what was traced: it holds the command lines of whatever the agent did."""
    shutil.rmtree(folder, ignore_errors=True)


def _events(data: bytes) -> Iterator[Any]:
    """The few events that count; a line that several processes wrote into each other is none."""
    for line in data.splitlines():
        if line.startswith(_COUNTED):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


_COUNTED = (b'{"event":"version"', b'{"event":"atexit"', b'{"event":"cmd_name"')


_CLOCK_LAG = 0.02
"""Seconds: a commit's time comes from a clock that is behind the trace's by up to a tick."""


def _seconds(time: str, *, lag: float = 0.0) -> float:
    """Seconds of git's ``2026-11-22T04:02:43.357074Z``; 0, long ago, for what is no time."""
    try:
        return datetime.fromisoformat(time).timestamp() - lag
    except ValueError:
        return 0


class CommitOwner(StrEnum):
    """Who made a commit."""

    AGENT = "agent"
    USER = "user"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationCommits:
    """The commits of the work tree's own repository since an iteration began, oldest first."""

    base: str | None = None
    """HEAD when the iteration began; None before the first commit."""
    head: str | None = None
    """HEAD now."""
    made: tuple[tuple[CommitOwner, CommitPaths], ...] = ()
    """Without those that the engine made."""
    ours: frozenset[str] = frozenset()
    """Those that the engine made to restore something."""

    def owners(self, path: str) -> frozenset[CommitOwner]:
        """Who committed this path; written as ``git_status.told`` writes it."""
        return frozenset(owner for owner, made in self.made if path in made.paths)

    def last_of_user(self, path: str) -> str | None:
        """The user's last commit that touches this path; None where there is none."""
        hashes = [
            made.seen.hash
            for owner, made in self.made
            if owner is CommitOwner.USER and path in made.paths
        ]
        return hashes[-1] if hashes else None


def owners_of(
    found: Sequence[CommitPaths], descent: CommitAncestry | None, objects: Path
) -> list[tuple[CommitOwner, CommitPaths]]:
    """Who made each commit of an iteration; ``descent`` is None where the trace proves nothing.

    ``objects`` is the folder of git's objects: when a commit was written there is known more
    exactly than the second that it is dated with, and nobody makes it up.
    """
    if descent is None or len(found) >= COMMITS_LIMIT:
        return [(CommitOwner.UNKNOWN, made) for made in found]
    written = [_written_at(objects, made.seen.hash) for made in found]
    makers = [span for span in descent.spans if span.makes]
    # The folder may be on another machine, whose clock is another one.
    is_exact = any(moment is not None and _is_in(makers, moment) for moment in written)
    return [
        (_owner_of(made, descent, moment, is_exact=is_exact), made)
        for made, moment in zip(found, written, strict=True)
    ]


def _owner_of(
    made: CommitPaths, descent: CommitAncestry, written: float | None, *, is_exact: bool
) -> CommitOwner:
    if written is not None and is_exact:
        if _is_in([span for span in descent.spans if span.makes], written):
            return CommitOwner.AGENT
        if not _is_in(descent.spans, written):
            return CommitOwner.USER
    if not descent.began <= made.made_at <= descent.read_at:
        return CommitOwner.UNKNOWN
    return CommitOwner.USER if descent.is_persons(made.made_at) else CommitOwner.AGENT


def _is_in(spans: Sequence[TraceSpan], moment: float) -> bool:
    return any(span.holds(moment) for span in spans)


def _written_at(objects: Path, commit: str) -> float | None:
    """When a commit was written; None where it is packed, or the time is only known roughly."""
    try:
        moment = (objects / commit[:2] / commit[2:]).stat().st_mtime_ns
    except OSError:
        return None
    return moment / 1e9 if moment % 1_000_000_000 else None
