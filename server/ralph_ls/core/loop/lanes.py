"""Lanes of a parallel run: which are active, and what loop and engine exchange about them.

Every effect and every input names a lane by its task.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph_ls.protocol.run.commands import Approval
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import (
    EndReason,
    LaneState,
    MergeProblem,
    Phase,
    PlanCountsView,
    TaskRef,
)

ACTIVE = frozenset({LaneState.WORKING, LaneState.QUEUED, LaneState.MERGING})
"""States of a lane about which something is still to be done without its user."""


def branch_of_run(run: RunState) -> str:
    """The branch on which a parallel run merges."""
    lane = run.config.lane
    if lane.direct and run.branch is not None:
        return run.branch
    return lane.onto or f"ralph/session-{run.run or 'RUN'}"


def lane_of(run: RunState, task: str) -> LaneView | None:
    """The lane of the task with this id."""
    return next((one for one in run.lanes if one.task.id == task), None)


def active_lanes(run: RunState) -> list[LaneView]:
    """The lanes about which something is still to be done without their user."""
    return [one for one in run.lanes if one.state in ACTIVE]


def has_open_run(lane: LaneView) -> bool:
    """Whether its run began and has not ended, as far as the journal knows."""
    return lane.state is LaneState.WORKING and lane.run is not None and lane.end is None


# Effects: orders to the engine.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBranchPlan:
    """Read the plan at the end of the branch; answered by ``BranchPlanRead``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLimits:
    """What a lane's run may use from now on: its part of what the parallel run has left.

    A run that is resumed may use it beyond what was counted of it before.
    """

    iterations: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLane:
    """Make the lane's work tree where it is missing, and start a run for its task in it.

    Answered by ``LaneOpened`` or ``LaneFailed``. A run that lives there already is left alone.
    """

    task: str
    limits: LaneLimits
    resume: bool = False
    """Continue its last run."""
    repair: MergeProblem | None = None
    """The work has to be brought onto the end of the branch first, as this problem needs it."""
    message: str = ""
    """What the agent has to know of that problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebaseLane:
    """Rebase the lane's commits on the branch and validate the result.

    Answered by ``LaneRebased``, ``LaneRefused`` or ``LaneDeferred``.
    """

    task: str
    in_repair: tuple[str, ...] = ()
    """Files in which another lane resolves conflicts: a merge that changes them waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceBranch:
    """Move the branch to the rebased commits; answered by ``LaneAdvanced`` or ``LaneRefused``."""

    task: str
    onto: str
    head: str
    commits: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseLane:
    """Remove the lane's work tree and branch, where nothing is in them that is nowhere else."""

    task: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerLane:
    """Pass an order of the user on to the lane's run."""

    task: str
    verb: str
    """``stop``, ``stopNow``, ``pause``, ``resume``, ``answer``, ``note`` or ``allow``."""
    text: str = ""
    untrusted: bool = False
    """The text came from elsewhere, such as GitHub."""
    by: str = ""
    approvals: tuple[Approval, ...] = ()


LaneEffect = ReadBranchPlan | OpenLane | RebaseLane | AdvanceBranch | CloseLane | SteerLane
"""The closed union of a parallel run's orders."""


# Inputs: the engine's answers.


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
