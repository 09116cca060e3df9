"""Which verbs ``ralph`` has, where each of them lives, and the command line that is made of them.

Loading all of them takes longer than most commands do, so a command line is made with the one verb
that it calls. Help, errors and completion, which may name any verb, are made with all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from ralph_ls import __version__
from ralph_ls.cli.context import here
from ralph_ls.protocol.errors import WorkspaceMissing

VERBS: Mapping[str, tuple[str, str]] = {
    "run": ("run_command", "run_verb"),
    "replan": ("run_command", "replan_verb"),
    "watch": ("watch", "watch"),
    "status": ("status", "status"),
    "prompt": ("prompt_verb", "prompt_verb"),
    "plan": ("reading", "show_plan"),
    "read": ("reading", "read_output"),
    "simulate": ("simulating", "simulate"),
    "stop": ("steer", "stop"),
    "pause": ("steer", "pause"),
    "resume": ("steer", "resume"),
    "reset": ("steer", "reset"),
    "answer": ("steer", "answer"),
    "note": ("steer", "note"),
    "skip": ("tasks", "skip"),
    "reset-task": ("tasks", "reset_task"),
    "rollback": ("rolling_back", "rollback"),
    "archive": ("archive_verb", "archive"),
    "stats": ("stats_verb", "stats"),
    "export": ("stats_verb", "export"),
    "doctor": ("doctor", "doctor"),
    "allow": ("setup", "allow"),
    "init": ("init_verb", "init"),
    "propose": ("propose", "propose_plan"),
    "demo": ("setup", "demo"),
    "hook": ("hook_verb", "hook_verb"),
    "serve": ("serve_verb", "serve_verb"),
}
"""Each verb's module in this package and its function there, in the order of the help."""


def command_for(arguments: Sequence[str]) -> Any:
    """The command that can answer these arguments, as click has it."""
    first = arguments[0] if arguments else ""
    return make_command(first) if first in VERBS else make_command(*VERBS)


@functools.cache
def make_command(*names: str) -> Any:
    """The command line with these verbs."""
    app = typer.Typer(
        name="ralph",
        help="Run, watch and steer an autonomous coding loop.",
        no_args_is_help=False,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(_no_command)
    for name in names:
        app.command(name)(_function_of(name))
    return typer.main.get_command(app)


def _function_of(name: str) -> Callable[..., None]:
    module, function = VERBS[name]
    found: Callable[..., None] = getattr(import_module(f"ralph_ls.cli.{module}"), function)
    return found


def _no_command(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Without a command, say what to do next."""
    if version:
        typer.echo(f"ralph {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(_what_next())


def _what_next() -> str:
    more = "All commands: ralph --help"
    try:
        place = here()
    except WorkspaceMissing:
        return f"See a whole run on a sample project: ralph demo\n{more}"
    found = place.find_run()
    if found is not None:
        return f"How the last run stands: ralph status\nStart another: ralph run\n{more}"
    if place.has_plan():
        return f"Start a loop on your plan: ralph run --agent-command '…'\n{more}"
    return f"Set up a loop here: ralph init\nSee a whole run on a sample: ralph demo\n{more}"
