"""Setup of a lane: the settings of its run, its command before the first run, and what stays of it.

The settings are those of the parallel run, for one task and a part of its limits. The command was
approved when the parallel run began; a lane whose files have another form of it is refused, as an
agent may have changed it on the branch. What stays of a lane is the files of its runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ralph_ls.core.loop.lanes import LaneLimits
from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.engine.agent.environment import agent_environment, find_program
from ralph_ls.engine.parallel.lane_worktree import LaneTree
from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.launch import in_box
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.trust import LANE_SETUP, require_unchanged_command

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


TAIL_CHARACTERS = 2000


async def set_up(
    place: Workspace,
    lane: LaneTree,
    *,
    environment: Mapping[str, str],
    keep: list[running_process.RunningProcess],
) -> None:
    """Run the command in the lane; raises a ``RalphError`` with what it printed where it fails."""
    argv = place.config.lane.setup
    require_unchanged_command(lane.root, LANE_SETUP, argv, place.claims, place.trust.is_approved)
    marker = f"{place.run}/lane.setup/{lane.root.name}"
    around = agent_environment(
        environment,
        marker=marker,
        start=0,
        iteration=0,
        max_iterations=None,
        scratch=None,
        only=place.config.env.only,
    )
    program = await asyncio.to_thread(find_program, argv[0], around, lane.root)
    output = place.files.folder / f"setup-{lane.root.name}.out"
    launch = running_process.Launch(
        argv=(str(program), *argv[1:]),
        cwd=lane.root,
        environment=around,
        stdin=None,
        stdout_path=output,
        stderr_path=output.with_suffix(".err"),
        marker=marker,
        timeout_seconds=place.config.timeouts.iteration or None,
        idle_timeout_seconds=None,
        grace_seconds=running_process.GRACE_SECONDS,
    )
    printed = bytearray()

    def collect(_stream: str, data: bytes) -> None:
        printed.extend(data)
        del printed[: -4 * (TAIL_CHARACTERS + 1)]

    launch, leave_box = in_box(place.box_for_checks, launch)
    started = await running_process.start(launch, redactor=place.redactor, on_output=collect)
    keep.append(started)
    ended = await started.wait()
    await asyncio.to_thread(leave_box)
    if ended.exit_code != 0:
        tail = printed.decode("utf-8", errors="replace")[-TAIL_CHARACTERS:].strip()
        how = "took too long" if ended.timed_out else f"ended with {ended.exit_code}"
        raise RalphError(f"lane.setup ({' '.join(argv)}) {how} in {lane.root}: {tail}")


def keep_runs(lane: LaneTree, state: StateFolder) -> None:
    """Move the files of a lane's runs to those of the work tree whose parallel run it was.

    There they are listed, shown and counted like any other run.
    """
    for run in lane.state.run_ids():
        here, there = lane.state.run(run).folder, state.run(run).folder
        if not there.exists():
            state.runs.mkdir(parents=True, exist_ok=True)
            here.replace(there)
