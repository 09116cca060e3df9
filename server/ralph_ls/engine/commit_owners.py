"""Owners of an iteration's commits: the agent, the user, or nobody can tell.

A commit is the agent's where its traced git was at work when it was made, and the user's where it
was not (``engine.descent``). Where the trace does not reach the agent's git, where the commit is
older than the iteration and was only brought along, or where there are more commits than are read,
nobody can tell. This module never asks what a commit changed, only which paths it touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ralph_ls.engine.descent import Descent, Span
from ralph_ls.engine.git_history import COMMITS_LIMIT, Made


class Owner(StrEnum):
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
    made: tuple[tuple[Owner, Made], ...] = ()
    """Without those that the engine made."""
    ours: frozenset[str] = frozenset()
    """Those that the engine made to restore something."""

    def owners(self, path: str) -> frozenset[Owner]:
        """Who committed this path; written as ``git_status.told`` writes it."""
        return frozenset(owner for owner, made in self.made if path in made.paths)

    def last_of_user(self, path: str) -> str | None:
        """The user's last commit that touches this path; None where there is none."""
        hashes = [
            made.seen.hash
            for owner, made in self.made
            if owner is Owner.USER and path in made.paths
        ]
        return hashes[-1] if hashes else None


def owners_of(
    found: Sequence[Made], descent: Descent | None, objects: Path
) -> list[tuple[Owner, Made]]:
    """Who made each commit of an iteration; ``descent`` is None where the trace proves nothing.

    ``objects`` is the folder of git's objects: when a commit was written there is known more
    exactly than the second that it is dated with, and nobody makes it up.
    """
    if descent is None or len(found) >= COMMITS_LIMIT:
        return [(Owner.UNKNOWN, made) for made in found]
    written = [_written_at(objects, made.seen.hash) for made in found]
    makers = [span for span in descent.spans if span.makes]
    # The folder may be on another machine, whose clock is another one.
    is_exact = any(moment is not None and _is_in(makers, moment) for moment in written)
    return [
        (_owner_of(made, descent, moment, is_exact=is_exact), made)
        for made, moment in zip(found, written, strict=True)
    ]


def _owner_of(made: Made, descent: Descent, written: float | None, *, is_exact: bool) -> Owner:
    if written is not None and is_exact:
        if _is_in([span for span in descent.spans if span.makes], written):
            return Owner.AGENT
        if not _is_in(descent.spans, written):
            return Owner.USER
    if not descent.began <= made.made_at <= descent.read_at:
        return Owner.UNKNOWN
    return Owner.USER if descent.is_persons(made.made_at) else Owner.AGENT


def _is_in(spans: Sequence[Span], moment: float) -> bool:
    return any(span.holds(moment) for span in spans)


def _written_at(objects: Path, commit: str) -> float | None:
    """When a commit was written; None where it is packed, or the time is only known roughly."""
    try:
        moment = (objects / commit[:2] / commit[2:]).stat().st_mtime_ns
    except OSError:
        return None
    return moment / 1e9 if moment % 1_000_000_000 else None
