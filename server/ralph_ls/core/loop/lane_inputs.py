"""Inputs of a parallel run: the engine's answers about lanes, each named by its task."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.loop.lane_effects import LaneLimits
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import EndReason, MergeProblem, Phase, PlanCountsView, TaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTask:
    """An open task, with what keeps it from being worked on beside others."""

    task: TaskRef
    waits_for: frozenset[str] = frozenset()
    """Ids of the unfinished tasks that have to be done first, whether they are open or blocked."""
    files: frozenset[str] = frozenset()
    """Files and folders that it names as its own; empty: it does not say."""
    is_alone: bool = False
    """It must not be worked on beside any other."""
    barrier: int = 0
    """Tasks with a higher number wait until all with a lower one are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlanRead:
    """The plan at the end of the branch."""

    tasks: tuple[OpenTask, ...]
    """Those that are open, in the order in which they would be taken."""
    counts: PlanCountsView


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneOpened:
    """A run works on the task, or has ended meanwhile."""

    task: str
    run: str
    base: str
    limits: LaneLimits = LaneLimits()
    """What it may use from now on."""
    is_new: bool = True
    """False: it was there already, and the journal knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneFailed:
    """No run could be started for the task."""

    task: str
    message: str
    is_empty: bool = False
    """Nothing is in the lane that is nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneObserved:
    """The lane's run began to wait, or continues."""

    task: str
    phase: Phase
    reason: str | None = None
    until: datetime | None = None
    question: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRunFinished:
    """The lane's run is over."""

    task: str
    run: str
    reason: EndReason
    message: str
    by: str = ""
    """Who ended it, if a user did."""
    iterations: int = 0
    """Those that count, also before it was resumed."""
    usage: Usage | None = None
    seconds: float = 0.0
    is_empty: bool = False
    """It left neither a commit nor a change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneEngineGone:
    """The engine of the lane's run died."""

    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRebased:
    """The lane's commits follow the end of the branch, and the result is valid."""

    task: str
    onto: str
    head: str
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneRefused:
    """The lane's work cannot be merged as it is."""

    task: str
    problem: MergeProblem
    message: str
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneDeferred:
    """The lane changes files in which another one resolves conflicts, so it is merged after it."""

    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneAdvanced:
    """The branch has the lane's commits."""

    task: str
    head: str
    commits: int
    counts: PlanCountsView
    kept: str | None = None
    """Why the work tree has to stay."""


LaneAnswer = (
    LaneOpened
    | LaneFailed
    | LaneObserved
    | LaneRunFinished
    | LaneEngineGone
    | LaneRebased
    | LaneRefused
    | LaneDeferred
    | LaneAdvanced
)
"""The closed union of the answers about one lane."""

LaneInput = BranchPlanRead | LaneAnswer
"""The closed union of the inputs that only a parallel run has."""
