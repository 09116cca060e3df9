"""Setup of a lane before its first run, and what stays of it: the files of its runs.

The command was approved when the parallel run began; a lane whose files have another form of it
is refused, as an agent may have changed it on the branch.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from ralph_ls.engine.agent.environment import agent_environment, find_program
from ralph_ls.engine.parallel.lane_worktree import LaneTree
from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.launch import in_box
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.trust import LANE_SETUP, require_unchanged_command

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
