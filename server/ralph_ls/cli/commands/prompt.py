"""``ralph prompt``: the next agent's prompt, byte for byte, and nothing else on standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from ralph_ls.cli.flags import Issue, Json, issue_overrides
from ralph_ls.cli.output import emit_document, print_error
from ralph_ls.cli.parameters import flag, option
from ralph_ls.core.plan.formats.stories.tasks import IMPLEMENT
from ralph_ls.core.suggestions import unknown
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.config.config import FirstMode
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.values import Mode
from ralph_ls.protocol.verb_output import PromptOutput


def prompt_verb(
    mode: Annotated[
        str | None,
        option("build|plan|review|review-fix", "The prompt of this mode.", default="the next one"),
    ] = None,
    profile: Annotated[
        str | None,
        option(
            "PROFILE",
            "Use this profile: spec, fixplan, stories, beads or issue.",
            default="from the settings",
        ),
    ] = None,
    task: Annotated[
        str | None, option("TASK", "The prompt for this task.", default="the next one")
    ] = None,
    issue: Issue = None,
    resume: Annotated[
        bool, flag("--resume", text="The prompt of the last run if it continues.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the prompt the next agent would get.

    It has the task, your answer, the recommendation and your notes. Nothing else is printed, so it
    can be piped into an agent.
    """
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
    preview = next_prompt(request, SystemClock().now(), mode=chosen)
    if as_json:
        emit_document(
            PromptOutput(
                prompt=preview.prompt,
                instead=preview.instead or None,
                iteration=preview.iteration,
                mode=preview.mode,
                task=preview.task,
                task_id=preview.task_id,
                source=None if preview.source is None else preview.source.value,
                template=preview.template,
                not_allowed=tuple(preview.not_allowed),
            )
        )
        return
    # A terminal gets control characters escaped; a pipe gets every byte.
    sys.stdout.write(
        escape_control_chars(preview.prompt) if sys.stdout.isatty() else preview.prompt
    )
    sys.stdout.flush()
    if preview.instead:
        print_error(f"no agent would start: {preview.instead}")
    if preview.passed_over is not None:
        print_error(preview.passed_over)
    if preview.template in preview.not_allowed:
        print_error(f"{preview.template} is not approved yet; review and approve it: ralph allow")


def _mode_named(name: str | None) -> Mode | None:
    if name is None:
        return None
    if name == IMPLEMENT:
        return Mode.BUILD
    if name not in set(Mode):
        raise UsageError(unknown("mode", name, Mode))
    return Mode(name)
