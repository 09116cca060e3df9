"""Lanes of a parallel run as viewers and the loop know them: which are active, and their branch."""

from __future__ import annotations

from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import LaneState

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
