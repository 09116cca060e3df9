"""What a person orders about one task: ``skip`` and ``reset-task``."""

from __future__ import annotations

from typing import Annotated

import typer

from ralph_ls.cli.context import here
from ralph_ls.cli.flags import Json
from ralph_ls.cli.steer import hands_of, report
from ralph_ls.store.run import steering

TaskArgument = Annotated[str, typer.Argument(metavar="ID", help="Shown by: ralph plan --json.")]


def skip(task: TaskArgument, as_json: Json = False) -> None:
    """Take a task no more for as long as this run lasts; the plan is not edited."""
    report(steering.skip_task(hands_of("skip"), task).reply, as_json=as_json)


def reset_task(task: TaskArgument, as_json: Json = False) -> None:
    """Open a task again, with no attempts counted, and skip it no more."""
    plan = here().require_plan()
    report(steering.reset_task(hands_of("reset-task"), task, plan=plan).reply, as_json=as_json)
