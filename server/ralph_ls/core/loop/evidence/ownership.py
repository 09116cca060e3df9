"""Ownership of changed files after an engine died: the agent's, the user's, or unknown.

A run that is resumed finds a work tree in which the agent of the dead engine and the user may both
have written. Ralph guards, validates, rolls back and commits only what is known to be the agent's.
Known means one of these:

- A process that outlives the engine looked at the tree when engine and agent were both gone. What
  is still as it was then is the agent's, unless it was written after the agent's end, and what
  differs is the user's.
- Without such a look, times decide. The later one of modification and status change is compared
  with the agent's recorded end. Without a recorded end it is compared with the last sign of life.

Nothing is decided by a guess: a file that both changed, and one written after the last sign of
life, are disputed, and the user says whose they are. This module must never read a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from ralph_ls.core.plurals import some_of

SHOWN_PATHS = 5


class OwnershipOrder(StrEnum):
    """What the user ordered for everything that an open iteration left."""

    TAKE_ALL = "takeAll"
    """All of it is the iteration's."""
    LEAVE = "leave"
    """All of it is the user's."""


class FileOwner(StrEnum):
    """The owner of a changed file."""

    AGENT = "agent"
    USER = "user"
    BOTH = "both"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPath:
    """A path that differs from its last commit. A value is a hash of content and mode."""

    path: str
    before: str | None
    """When the iteration began; None: as committed."""
    now: str
    left: str | None = None
    """When engine and agent were both gone; None: as committed. Used where the tree was inspected
    then.
    """
    written_at: float = 0.0
    """The later of modification and status change, in seconds since the epoch. For a path that
    is gone, that of the nearest folder that is there."""
    is_loops: bool = False
    """The engine itself writes it after the agent's end: the plan, the progress log."""
    is_named: bool = False
    """The agent's own output says that it wrote the file."""
    is_users: bool = False
    """An earlier resume found it to be the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEndFacts:
    """What is known of the agent's end. Times are seconds since the epoch."""

    inspected_at: float | None = None
    """When the tree was inspected, with engine and agent gone; None: it was not."""
    died_at: float | None = None
    """When the engine died, where that was observed."""
    is_launched: bool = True
    """The agent had been started."""
    ended_at: float | None = None
    """When the agent ended; None: not recorded."""
    alive_at: float | None = None
    """The last output byte or the last traced git command; None: there was none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The owners of the changed files; a path in none of the lists is the agent's, or unchanged."""

    users: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_disputed(self) -> bool:
        return bool(self.both or self.unknown)

    @property
    def not_agents(self) -> frozenset[str]:
        return frozenset((*self.users, *self.both, *self.unknown))


def ownership_of(
    facts: Iterable[ChangedPath], signs: AgentEndFacts, order: OwnershipOrder | None = None
) -> Ownership:
    """The owner of each of the paths; an order of the user settles all of them."""
    owners: dict[FileOwner, list[str]] = {owner: [] for owner in FileOwner}
    for one in facts:
        if one.now == one.before:
            continue
        match order:
            case OwnershipOrder.TAKE_ALL:
                owner = FileOwner.AGENT
            case OwnershipOrder.LEAVE:
                owner = FileOwner.USER
            case None:
                owner = owner_of(one, signs)
            case _:  # pragma: no cover
                assert_never(order)
        owners[owner].append(one.path)
    return Ownership(
        users=tuple(owners[FileOwner.USER]),
        both=tuple(owners[FileOwner.BOTH]),
        unknown=tuple(owners[FileOwner.UNKNOWN]),
    )


def owner_of(facts: ChangedPath, signs: AgentEndFacts) -> FileOwner:
    """The owner of one changed path."""
    if facts.is_users:
        return FileOwner.USER
    if signs.inspected_at is not None:
        return _owner_by_snapshot(facts, signs, signs.inspected_at)
    is_late = signs.ended_at is not None and facts.written_at > signs.ended_at
    if signs.ended_at is None:
        is_known = signs.alive_at is not None and facts.written_at <= signs.alive_at
        return FileOwner.AGENT if is_known else FileOwner.UNKNOWN
    if not is_late:
        return FileOwner.AGENT
    if facts.is_named:
        return FileOwner.BOTH
    return FileOwner.UNKNOWN if facts.is_loops else FileOwner.USER


def _owner_by_snapshot(facts: ChangedPath, signs: AgentEndFacts, inspected_at: float) -> FileOwner:
    """By the snapshot, which is taken a moment after the end: a write in between is the user's.

    A file that has the same content and a later time was copied or touched since.
    """
    if facts.now != facts.left:
        was_changed = facts.left is not None and facts.left != facts.before
        return FileOwner.BOTH if was_changed else FileOwner.USER
    end = signs.died_at if signs.ended_at is None else signs.ended_at
    if end is None or not end < facts.written_at <= inspected_at:
        return FileOwner.AGENT
    if not facts.is_loops:
        return FileOwner.USER
    if signs.died_at is None or facts.written_at <= signs.died_at:
        return FileOwner.AGENT
    return FileOwner.UNKNOWN if signs.is_launched else FileOwner.USER


def dispute_words(ownership: Ownership, iteration: int) -> str:
    """Which paths are disputed, and what the user can do about it."""
    parts: list[str] = []
    if ownership.both:
        parts.append(f"changed by the agent and edited again afterwards: {_named(ownership.both)}")
    if ownership.unknown:
        parts.append(f"changed while nobody was watching: {_named(ownership.unknown)}")
    return (
        f"the engine died in iteration {iteration}, and some of its changes may be yours: "
        f"{'; '.join(parts)}; nothing was committed. Commit or discard them yourself, then: ralph "
        "run --resume; or count all of them as the iteration's: ralph run --resume --take-all; or "
        "keep all of them as yours: ralph run --resume --leave"
    )


def left_to_user_words(paths: Iterable[str]) -> str:
    """Which paths are left to the user."""
    return (
        "changed after the agent ended, so kept as yours and out of the loop's commits: "
        f"{_named(tuple(paths))}"
    )


def _named(paths: tuple[str, ...]) -> str:
    return some_of(list(paths), SHOWN_PATHS)
