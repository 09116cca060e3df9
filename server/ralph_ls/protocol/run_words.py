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


class Origin(StrEnum):
    """Who chose the profile or the agent of a run."""

    GIVEN = "given"
    """The user, with this run: a flag, or a choice in an editor."""
    ENVIRONMENT = "environment"
    """The user, by a ``RALPH_*`` variable."""
    FILE = "file"
    """The settings of the repository."""
    RUN = "run"
    """The run that is resumed had it."""
    PROFILE = "profile"
    """The agent is the profile's own."""
    FOUND = "found"
    """Nobody: it fits what is in the repository, or is the only agent on PATH."""
    DEFAULT = "default"
    """Nobody, and nothing was found."""


INFERRED = frozenset({Origin.FOUND, Origin.DEFAULT})
"""A profile by one of these was chosen by nobody."""


class RunChoices(WireModel):
    """How a run came to its profile and its agent, and what follows for its header."""

    profile: Origin
    sign: str | None = None
    """The path that the profile was found by."""
    agent: Origin
    remote: str | None = None
    """Where the branch is pushed to; None: nowhere."""
    overshoots: bool | None = None
    """True: what an iteration uses of a limit is known after it alone, so one may pass it."""
    unmetered: bool | None = None
    """True: nobody can tell what an agent of the run uses of such a limit."""
    sandbox: str | None = None
    """What the agent is kept in: a kind of the settings, ``command`` for a prefix, or ``none``;
    None: a run of before there was one to choose."""
    sandbox_problem: str | None = None
    """Why there is none, where the settings want one if possible."""


class TaskRef(WireModel):
    """A task by id and title."""

    id: str
    title: str


class RemovedTask(WireModel):
    """A task that left the plan, with what it takes to reopen it."""

    task: TaskRef
    text: str
    """Its lines below its heading, as open, at most 16000 characters."""


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
