"""Starting an engine in the background, for every verb that may go on with a run."""

from __future__ import annotations

import os
from typing import Any

from ralph_ls.cli.context import here
from ralph_ls.cli.output import emit_json, say
from ralph_ls.cli.renderers import header_of
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.store.project.request import read_stdin
from ralph_ls.store.run.launch import StartOrder, start_detached
from ralph_ls.store.run.runs import load_state


def run_detached(
    overrides: dict[str, Any],
    *,
    resume: bool,
    as_json: bool,
    settle: OwnershipOrder | None = None,
) -> None:
    """Start an engine in the background and say what became of it."""
    from ralph_ls.engine.clock import SystemClock

    place = here()
    order = StartOrder(
        environment=os.environ,
        overrides=overrides,
        resume=resume,
        settle=settle,
        read_stdin=read_stdin,
    )
    begun = start_detached(place.worktree, place.state, order, SystemClock().now())
    if as_json:
        emit_json({"run": begun.run, "pid": begun.pid})
    else:
        say(f"Run {begun.run} goes on in the background (pid {begun.pid})")
        for line in header_of(load_state(begun.files))[1:]:
            say(line)
        say("Watch it: ralph watch   How it stands: ralph status   End it: ralph stop")
