"""The words in which a run is told: its phases and ends, and the small values inside of events.

They stand below the events, so that what only needs a word need not know every event.
"""

from __future__ import annotations

from enum import StrEnum

from ralph_ls.protocol.base import WireModel


class Phase(StrEnum):
    """SPEC §2; viewers alone add ``crashed``."""

    STARTING = "starting"
    PREPARING = "preparing"
    RUNNING = "running"
    SETTLING = "settling"
    WAITING = "waiting"
    PAUSED = "paused"
    PARKED = "parked"
    STOPPING = "stopping"
    ENDED = "ended"
    CRASHED = "crashed"


class EndReason(StrEnum):
    """SPEC §7: one name for each end, everywhere."""

    COMPLETE = "complete"
    LIMIT = "limit"
    BLOCKED = "blocked"
    DECIDE = "decide"
    STUCK = "stuck"
    FATAL = "fatal"
    STOPPED = "stopped"


class Outcome(StrEnum):
    """How one iteration came out."""

    PROGRESS = "progress"
    NO_PROGRESS = "noProgress"
    STOPPED = "stopped"
    """The agent was ended on a person's order."""
    LIMITED = "limited"
    """The agent could not be had: its account was at its usage limit, its model was overloaded, or
    another agent takes over. The iteration does not count."""
    LOST = "lost"
    """The engine died under it."""


class Mode(StrEnum):
    """What an iteration is for (SPEC §1)."""

    BUILD = "build"
    PLAN = "plan"
    REVIEW = "review"
    REVIEW_FIX = "review-fix"


class TaskRef(WireModel):
    """A task by id and title."""

    id: str
    title: str


class PlanCountsView(WireModel):
    """A plan in numbers; ``required`` is what is not optional."""

    total: int = 0
    done: int = 0
    open_required: int = 0
    """Required and not done, blocked ones included: a completion is refused while there is one."""
    blocked_required: int = 0
    open_optional: int = 0
    required: int = 0
    required_done: int = 0
    marker: bool = False
    """The plan says by its marker that everything is complete (S, Completion Signals)."""


class Verdict(WireModel):
    """What a settled iteration means for its run, where the run does not simply go on."""

    reason: EndReason
    message: str
