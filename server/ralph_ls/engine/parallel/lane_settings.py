"""Settings of a lane's run: those of the parallel run, for one task and a part of its limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph_ls.core.loop.lane_effects import LaneLimits
from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason

NOT_PASSED = frozenset(
    {
        "parallel",
        "mode",
        "task",
        "work_branch",
        "push",
        "on_halt",
        "max_iterations",
        "max_tokens",
        "max_cost_usd",
        "max_duration",
    }
)
"""Overrides of a parallel run that its lanes get otherwise."""


NOT_NOTIFIED = ("complete", "limit", "breaker", "usage_limit", "cost")
"""Events of which a lane's run notifies nobody: the parallel run has the same ones."""


def passed_overrides(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Those overrides of a parallel run that its lanes get as they are."""
    return {
        key: value
        for key, value in overrides.items()
        if key not in NOT_PASSED and not key.startswith("lane.")
    }


def lane_overrides(
    passed: Mapping[str, Any],
    workspace: Workspace,
    view: LaneView,
    limits: LaneLimits,
    *,
    resumed: RunState | None,
) -> dict[str, Any]:
    """The settings of a lane's run: those of this run, for one task and a part of its limits.

    The limits of a run that is resumed are for all of it, so what was counted of it is added.
    """
    iterations, tokens, cost = counted_of(view, "" if resumed is None else resumed.run)
    seconds = 0.0 if resumed is None else resumed.active_seconds
    return {
        **passed,
        "profile": workspace.config.profile.value,
        "paths.plan": workspace.plan_path,
        "parallel": 1,
        "task": view.task.id,
        "work_branch": "",
        "push": False,
        "on_halt": OnHalt.WAIT.value,
        "on_pr_ready": (),
        **{f"notify.events.{name}": () for name in NOT_NOTIFIED},
        "max_iterations": None if limits.iterations is None else limits.iterations + iterations,
        "max_tokens": None if limits.tokens is None else limits.tokens + tokens,
        "max_cost_usd": None if limits.cost_usd is None else limits.cost_usd + cost,
        "max_duration": None if limits.seconds is None else limits.seconds + seconds,
    }


def has_unseen_end(run: RunState, view: LaneView) -> bool:
    """Whether a run ended while no engine of the parallel run lived to record it."""
    if run.end is None:
        return False
    is_done_since = run.end.reason is EndReason.COMPLETE and view.end is not EndReason.COMPLETE
    return run.run != view.run or view.end is None or is_done_since


def counted_of(view: LaneView, run: str) -> tuple[int, int, float]:
    """The iterations, tokens and cost of a run that are already counted as used."""
    if run != view.run:
        return 0, 0, 0.0
    now, before = view.usage, view.earlier_usage
    cost = (now.cost_usd or 0.0 if now else 0.0) - (before.cost_usd or 0.0 if before else 0.0)
    tokens = (tokens_of(now) or 0) - (tokens_of(before) or 0)
    return view.iterations - view.earlier_iterations, tokens, cost


def limits_left(config: Config, view: LaneView, run: str) -> LaneLimits:
    """What a run that is alive may use beyond what is already counted of it."""
    iterations, tokens, cost = counted_of(view, run)
    return LaneLimits(
        iterations=None if config.max_iterations is None else config.max_iterations - iterations,
        tokens=None if config.max_tokens is None else config.max_tokens - tokens,
        cost_usd=None if config.max_cost_usd is None else config.max_cost_usd - cost,
    )
