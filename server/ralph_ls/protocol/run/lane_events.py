"""Events of a parallel run: its lanes, and the queue in which their work is merged.

A lane is a git work tree with an ordinary run for one task (docs/rules.md#parallel-runs). That run
has a journal; here is what the parallel run did with it, so every event names the lane's task.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ralph_ls.protocol.base import Timestamp
from ralph_ls.protocol.run.iteration_events import EventBase
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import EndReason, MergeProblem, Phase, PlanCountsView, TaskRef


class LaneEvent(EventBase):
    """An event of one lane."""

    lane: int = Field(ge=1)
    """Number of the lane; a later task may get it again."""
    task: TaskRef


class LaneStarted(LaneEvent):
    """A lane takes a task; its work tree and its run follow."""

    kind: Literal["laneStarted"] = "laneStarted"
    branch: str
    worktree: str
    """Absolute path."""


class LaneRunStarted(LaneEvent):
    """A run for the task has begun in the lane."""

    kind: Literal["laneRunStarted"] = "laneRunStarted"
    lane_run: str
    """Id of that run."""
    base: str
    """Commit from which the lane's branch was made."""
    limit: int | None = None
    """Number of iterations it may use from now on; None: no limit of iterations."""
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    """The same for tokens and cost."""


class LaneWaiting(LaneEvent):
    """The lane's run waits, for its user or for time; or continues."""

    kind: Literal["laneWaiting"] = "laneWaiting"
    phase: Phase
    """``waiting``, ``parked`` or ``paused``; ``running`` where it continues."""
    reason: str | None = None
    until: Timestamp | None = None
    question: str | None = None
    """The question that it is parked on."""


class LaneRunEnded(LaneEvent):
    """The lane's run is over."""

    kind: Literal["laneRunEnded"] = "laneRunEnded"
    lane_run: str
    reason: EndReason
    message: str
    iterations: int = 0
    """Those of this run that count, also before it was resumed."""
    usage: Usage | None = None
    """Of this run, also before it was resumed."""
    seconds: float = 0.0


class MergeStarted(LaneEvent):
    """The lane's commits, rebased and validated, are about to become the end of the branch."""

    kind: Literal["mergeStarted"] = "mergeStarted"
    onto: str
    """Commit at which the branch is."""
    head: str
    """Commit at which it will be."""


class MergeRefused(LaneEvent):
    """The lane's work was not merged."""

    kind: Literal["mergeRefused"] = "mergeRefused"
    problem: MergeProblem
    message: str
    paths: tuple[str, ...] = ()
    """Files with conflicts, at most 50."""


class LaneMerged(LaneEvent):
    """The task's commits are on the branch."""

    kind: Literal["laneMerged"] = "laneMerged"
    head: str
    commits: int = 0
    counts: PlanCountsView = PlanCountsView.model_construct()
    """The plan on the branch after that."""
    kept: str | None = None
    """Why the lane's work tree stays; None: it is removed."""


class LaneParked(LaneEvent):
    """The lane waits for its user and keeps everything; the others continue."""

    kind: Literal["laneParked"] = "laneParked"
    message: str
    """Why, and what to do next."""


class LaneDropped(LaneEvent):
    """The lane is closed without a merge: its task was given up, or nothing had been done."""

    kind: Literal["laneDropped"] = "laneDropped"
    message: str
