"""Effects of a parallel run: its orders to the engine about lanes, each named by its task."""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.protocol.run.commands import Approval
from ralph_ls.protocol.run.values import MergeProblem


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
