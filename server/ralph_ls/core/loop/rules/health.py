"""Health: warnings about the environment of a run before it fails (docs/rules.md#health).

Warnings stop nothing. Each is reported once, and again only after its condition was gone.
Conditions without which no run can continue are errors, which the caller raises. Nothing here reads
the environment.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.run.events import Warned

LOW_DISK = 1_000_000_000
"""Bytes below which a disk is nearly full."""

MAIN_BRANCHES = frozenset({"main", "master"})

SHOWN_FILES = 3

DISK_LOW = "disk-low"
DETACHED_HEAD = "detached-head"
MAIN_BRANCH = "main-branch"
NO_UPSTREAM = "no-upstream"
DIRTY_TREE = "dirty-tree"

_OF_BRANCH = frozenset({DETACHED_HEAD, MAIN_BRANCH, NO_UPSTREAM})


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpace:
    """One place to which a run writes."""

    what: str
    """The content of the place, such as ``the work tree``."""
    path: str
    free: int | None
    """Bytes that the user may still write; None where the system does not report them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnvironment:
    """The environment of a run at one moment."""

    disks: tuple[DiskSpace, ...] = ()
    branch: str | None
    """None on a detached HEAD."""
    remote: str | None = None
    """Where the loop pushes to; None where it does not push, or has nowhere to push to."""
    has_upstream: bool = False
    dirty: Collection[str] = ()
    """Paths that were changed before the run began; empty once it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthWarning:
    """One condition that needs attention."""

    code: str
    about: str
    """Its subject: the same code about another subject is reported again."""
    message: str

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the condition over time."""
        return (self.code, self.about)


def health_warnings(environment: RunEnvironment) -> tuple[HealthWarning, ...]:
    """All conditions that need attention, most pressing first."""
    found = [_disk_low(disk) for disk in environment.disks if is_low(disk)]
    found += _about_branch(environment)
    if environment.dirty:
        found.append(_dirty(sorted(environment.dirty)))
    return tuple(found)


def new_warnings(
    found: Sequence[HealthWarning], known: Collection[tuple[str, str]]
) -> tuple[tuple[Notice, ...], frozenset[tuple[str, str]]]:
    """The warnings to report now, and the known conditions afterwards; one that is gone is
    forgotten.
    """
    fresh = [condition for condition in found if condition.key not in known]
    notices = tuple(Notice(code=one.code, message=one.message) for one in fresh)
    return notices, frozenset(condition.key for condition in found)


def current_warnings(warnings: Sequence[Warned]) -> tuple[Warned, ...]:
    """The warnings of a run that still hold, as far as it reported; ``warnings`` by time.

    Warnings about the branch at one moment are replaced by those of a later one.
    """
    last = max((one.at for one in warnings if one.code in _OF_BRANCH), default=None)
    newest = {
        one.code: one
        for one in warnings
        if one.code in {DISK_LOW, DIRTY_TREE} or (one.code in _OF_BRANCH and one.at == last)
    }
    return tuple(newest.values())


def is_low(disk: DiskSpace) -> bool:
    """Whether less than a gigabyte is free there."""
    return disk.free is not None and disk.free < LOW_DISK


def bytes_words(count: int) -> str:
    """``412 MB``, ``1.3 GB``, as disks are sold: a gigabyte is 10⁹ bytes."""
    if count < 1_000_000:
        return f"{count} bytes" if count < 1_000 else f"{count // 1_000} kB"
    if count < LOW_DISK:
        return f"{count // 1_000_000} MB"
    return f"{count / LOW_DISK:.1f} GB"


def _disk_low(disk: DiskSpace) -> HealthWarning:
    message = (
        f"only {bytes_words(disk.free or 0)} free on the disk of {disk.what} ({disk.path}); make "
        "room, or the loop may fail"
    )
    return HealthWarning(code=DISK_LOW, about=disk.path, message=message)


def _about_branch(environment: RunEnvironment) -> list[HealthWarning]:
    branch, remote = environment.branch, environment.remote
    if branch is None:
        message = (
            "HEAD is detached, so commits are easily lost; create a branch: git switch -c my-branch"
        )
        return [HealthWarning(code=DETACHED_HEAD, about="", message=message)]
    found = []
    if branch in MAIN_BRANCHES:
        message = (
            f"the loop commits to {branch} directly; to review its work first, use a separate "
            "branch: ralph run --branch auto"
        )
        found.append(HealthWarning(code=MAIN_BRANCH, about=branch, message=message))
    if remote is not None and not environment.has_upstream:
        message = (
            f"{branch} has no upstream on {remote}; the first push creates it, or choose one: git "
            f"branch --set-upstream-to={remote}/BRANCH"
        )
        found.append(HealthWarning(code=NO_UPSTREAM, about=branch, message=message))
    return found


def _dirty(paths: Sequence[str]) -> HealthWarning:
    more = f" and {len(paths) - SHOWN_FILES} more" if len(paths) > SHOWN_FILES else ""
    message = (
        f"{count_of(len(paths), 'file')} with uncommitted changes: "
        f"{', '.join(paths[:SHOWN_FILES])}{more}; commit or stash them to keep them apart from "
        "the loop's work"
    )
    return HealthWarning(code=DIRTY_TREE, about="", message=message)
