"""``ralph prompt``: the next agent's prompt, byte for byte, and nothing else on standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli.flags import Issue, Json, issue_overrides
from ralph_ls.cli.output import emit_json, print_error
from ralph_ls.core.prompt.template import IMPLEMENT
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.config.config import FirstMode
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.values import Mode


def prompt_verb(
    mode: Annotated[
        str | None, typer.Option(help="build, plan, review or review-fix, in place of what comes.")
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="spec, fixplan, stories, beads, issue")
    ] = None,
    task: Annotated[str | None, typer.Option(help="As if this task alone were to be done.")] = None,
    issue: Issue = None,
    resume: Annotated[bool, typer.Option("--resume", help="Of the last run, gone on.")] = False,
    as_json: Json = False,
) -> None:
    """Print what the next agent would be told, with task, answer, recommendation and notes."""
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.run.preparation import RunRequest
    from ralph_ls.engine.run.preview import next_prompt

    chosen = _mode_named(mode)
    overrides = {
        "profile": profile,
        **issue_overrides(issue, profile),
        "task": task,
        "mode": FirstMode.PLAN.value if chosen is Mode.PLAN else None,
    }
    request = RunRequest(
        folder=Path.cwd(), environment=dict(os.environ), overrides=overrides, resume=resume
    )
    seen = next_prompt(request, SystemClock().now(), mode=chosen)
    if as_json:
        emit_json(
            {
                "prompt": seen.prompt,
                "instead": seen.instead or None,
                "iteration": seen.iteration,
                "mode": None if seen.mode is None else seen.mode.value,
                "task": seen.task,
                "taskId": seen.task_id,
                "source": None if seen.source is None else seen.source.value,
                "template": seen.template,
                "notAllowed": list(seen.not_allowed),
            }
        )
        return
    # A terminal gets control characters escaped; a pipe gets every byte.
    sys.stdout.write(escape_control_chars(seen.prompt) if sys.stdout.isatty() else seen.prompt)
    sys.stdout.flush()
    if seen.instead:
        print_error(f"no agent would be started: {seen.instead}")
    if seen.passed_over is not None:
        print_error(seen.passed_over)
    if seen.template in seen.not_allowed:
        print_error(
            f"{seen.template} is not allowed yet; look at it and allow it with: ralph allow"
        )


def _mode_named(name: str | None) -> Mode | None:
    if name is None:
        return None
    if name == IMPLEMENT:
        return Mode.BUILD
    if name not in set(Mode):
        raise UsageError(f"--mode {name!r}: it must be one of {', '.join(Mode)}")
    return Mode(name)
