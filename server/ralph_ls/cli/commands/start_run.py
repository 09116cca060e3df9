"""Starting a run: the prompt for its profile, and the detached start of an engine.

The prompt appears if several plans are here and a terminal can ask (docs/rules.md#profiles).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import typer

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.output import emit_json, print_text
from ralph_ls.cli.show.renderers import header_of
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.request import read_stdin
from ralph_ls.store.run.launch import StartOrder, start_detached
from ralph_ls.store.run.runs import load_state


def prompt_profile(overrides: Mapping[str, Any]) -> str | None:
    """The profile that the user chooses; None without a choice or without a terminal.

    What is wrong with the settings is said by the start, which reads them again.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        detected = load_settings(current_worktree().worktree.root, os.environ, overrides).detected
    except RalphError:
        return None
    if len(detected) < 2:
        return None
    print_text("Several plans lie here:")
    for one in detected:
        print_text(f"  {one.profile.value:8} {one.sign}")
    names = [one.profile.value for one in detected]

    def checked(typed: str) -> str:
        if typed.strip() not in names:
            raise typer.BadParameter(f"it must be one of {', '.join(names)}")
        return typed.strip()

    return str(typer.prompt("Which one is meant?", value_proc=checked))


def run_detached(
    overrides: dict[str, Any],
    *,
    resume: bool,
    as_json: bool,
    settle: OwnershipOrder | None = None,
) -> None:
    """Start an engine in the background and say what became of it."""
    from ralph_ls.engine.clock import SystemClock

    place = current_worktree()
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
        print_text(f"Run {begun.run} goes on in the background (pid {begun.pid})")
        for line in header_of(load_state(begun.files))[1:]:
            print_text(line)
        print_text("Watch it: ralph watch   How it stands: ralph status   End it: ralph stop")
