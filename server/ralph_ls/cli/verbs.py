"""Which verbs ``ralph`` has, where each of them lives, and the command line that is made of them.

Loading all of them takes longer than most commands do, so a command line is made with the one verb
that it calls. Help, errors and completion, which may name any verb, are made with all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from ralph_ls import __version__
from ralph_ls.cli.context import here
from ralph_ls.cli.control import READS, Changes, Control, guarded
from ralph_ls.protocol.errors import WorkspaceMissing


class Verb(NamedTuple):
    """One verb of the program."""

    module: str
    function: str
    control: Control
    """Whether it changes a run, its work tree or trust, and so is refused inside an iteration."""


VERBS: Mapping[str, Verb] = {
    "run": Verb("run_command", "run_verb", Changes(unless=("dry_run",))),
    "replan": Verb("run_command", "replan_verb", Changes()),
    "watch": Verb("watch", "watch", READS),
    "status": Verb("status", "status", READS),
    "prompt": Verb("prompt_verb", "prompt_verb", READS),
    "plan": Verb("reading", "show_plan", READS),
    "read": Verb("reading", "read_output", READS),
    "simulate": Verb("simulating", "simulate", READS),
    "stop": Verb("steer", "stop", Changes(by_command=True)),
    "pause": Verb("steer", "pause", Changes()),
    "resume": Verb("steer", "resume", Changes()),
    "reset": Verb("steer", "reset", Changes()),
    "answer": Verb("steer", "answer", Changes(by_command=True)),
    "note": Verb("steer", "note", Changes(by_command=True)),
    "skip": Verb("tasks", "skip", Changes()),
    "reset-task": Verb("tasks", "reset_task", Changes()),
    "rollback": Verb("rolling_back", "rollback", Changes(unless=("dry_run",))),
    "archive": Verb("archive_verb", "archive", Changes(unless=("dry_run",))),
    "stats": Verb("stats_verb", "stats", READS),
    "export": Verb("stats_verb", "export", READS),
    "doctor": Verb("doctor", "doctor", READS),
    "allow": Verb("setup", "allow", Changes(trust=True)),
    "init": Verb("init_verb", "init", Changes(unless=("dry_run", "choices"))),
    "propose": Verb("propose", "propose_plan", READS),
    "demo": Verb("setup", "demo", READS),
    "hook": Verb("hook_verb", "hook_verb", READS),
    "serve": Verb("serve_verb", "serve_verb", READS),
}
"""Each verb's module in this package and its function there, in the order of the help.

``demo``, ``propose`` and ``serve`` change no run: the first makes a repository of its own, the
second writes nothing, and the requests to the third are looked at one by one.
"""


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
    verb = VERBS[name]
    found: Callable[..., None] = getattr(
        import_module(f"ralph_ls.cli.{verb.module}"), verb.function
    )
    return guarded(name, verb.control, found)


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
