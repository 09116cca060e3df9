"""Starting a program in the box of its run, or as it is where the run has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ralph_ls.engine import process
from ralph_ls.engine.sandbox.box import Box, Files

LeaveBox = Callable[[], str | None]


def in_box(
    box: Box | None,
    launch: process.Launch,
    *,
    agent: str | None = None,
    files: Files | None = None,
) -> tuple[process.Launch, LeaveBox]:
    """What to start, and what to call when it has ended, which may have something to report.

    ``agent`` as ``Box.around`` has it.
    """
    if box is None:
        return launch, in_no_box
    boxed = box.around(launch.argv, launch.environment, agent=agent, files=files)

    def leave() -> str | None:
        return box.leave(boxed)

    return replace(launch, argv=boxed.argv, environment=boxed.environment), leave


def in_no_box() -> None:
    """There is no box to leave."""
