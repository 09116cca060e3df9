"""Table of verbs: the module of each, who may use it, and the command line made of them.

A verb that changes a run, its work tree or what may be executed is refused to a process that an
iteration of the work tree has started, before it does anything else. Loading all verbs takes longer
than most commands do, so a command line is made with the one verb that it calls; help, errors and
completion, which may name any verb, are made with all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from ralph_ls import __version__
from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.output import emit_json
from ralph_ls.protocol.errors import FromInside, WorkspaceMissing


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOnlyVerb:
    """The verb changes nothing that a run rests on; anybody may use it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOnlyVerb:
    """The verb is for the user alone."""

    unless: tuple[str, ...] = ()
    """Options with which it only shows something."""
    by_command: bool = False
    """Whether commands of ``on_*``, which speak for the user, may use it."""
    trust: bool = False
    """Whether it approves what may be executed."""


VerbAccess = ReadOnlyVerb | UserOnlyVerb

READ_ONLY = ReadOnlyVerb()


def guard_verb(
    verb: str, control: VerbAccess, function: Callable[..., None]
) -> Callable[..., None]:
    """The verb's function, refused where an iteration of the work tree has started this process."""
    if isinstance(control, ReadOnlyVerb):
        return function

    @functools.wraps(function)
    def guarded_verb(**options: Any) -> None:
        if not any(options.get(name) for name in control.unless):
            _require_outside(verb, control, as_json=bool(options.get("as_json")))
        function(**options)

    return guarded_verb


def _require_outside(verb: str, control: UserOnlyVerb, *, as_json: bool) -> None:
    from ralph_ls.store.run.ancestry import require_outside, require_own_trust

    try:
        place = current_worktree()
    except WorkspaceMissing:
        # The verb says what to do.
        return
    what = f"ralph {verb}"
    try:
        require_outside(place.worktree, place.state, what, by_command=control.by_command)
        if control.trust:
            require_own_trust(place.state, what)
    except FromInside as error:
        if as_json:
            emit_json({"accepted": False, "code": "from-inside", "text": error.message})
        raise


class VerbEntry(NamedTuple):
    """One verb of the program."""

    module: str
    function: str
    control: VerbAccess
    """Whether it changes a run, its work tree or trust, and so is refused inside an iteration."""


VERBS: Mapping[str, VerbEntry] = {
    "run": VerbEntry("run", "run_verb", UserOnlyVerb(unless=("dry_run",))),
    "replan": VerbEntry("run", "replan_verb", UserOnlyVerb()),
    "watch": VerbEntry("watch", "watch", READ_ONLY),
    "status": VerbEntry("status", "status", READ_ONLY),
    "prompt": VerbEntry("prompt", "prompt_verb", READ_ONLY),
    "plan": VerbEntry("inspection", "show_plan", READ_ONLY),
    "read": VerbEntry("inspection", "read_output", READ_ONLY),
    "simulate": VerbEntry("simulate", "simulate", READ_ONLY),
    "stop": VerbEntry("steer", "stop", UserOnlyVerb(by_command=True)),
    "pause": VerbEntry("steer", "pause", UserOnlyVerb()),
    "resume": VerbEntry("steer", "resume", UserOnlyVerb()),
    "reset": VerbEntry("steer", "reset", UserOnlyVerb()),
    "answer": VerbEntry("steer", "answer", UserOnlyVerb(by_command=True)),
    "note": VerbEntry("steer", "note", UserOnlyVerb(by_command=True)),
    "skip": VerbEntry("steer", "skip", UserOnlyVerb()),
    "reset-task": VerbEntry("steer", "reset_task", UserOnlyVerb()),
    "rollback": VerbEntry("steer", "rollback", UserOnlyVerb(unless=("dry_run",))),
    "archive": VerbEntry("history", "archive", UserOnlyVerb(unless=("dry_run",))),
    "prune": VerbEntry("prune", "prune_verb", UserOnlyVerb(unless=("dry_run",))),
    "stats": VerbEntry("history", "stats", READ_ONLY),
    "export": VerbEntry("history", "export", READ_ONLY),
    "report": VerbEntry("history", "report", READ_ONLY),
    "doctor": VerbEntry("first_run", "doctor", READ_ONLY),
    "allow": VerbEntry("first_run", "allow", UserOnlyVerb(trust=True)),
    "init": VerbEntry("init", "init", UserOnlyVerb(unless=("dry_run", "choices"))),
    "propose": VerbEntry("wizard", "propose_plan", READ_ONLY),
    "demo": VerbEntry("first_run", "demo", READ_ONLY),
    "hook": VerbEntry("hook", "hook_verb", READ_ONLY),
    "serve": VerbEntry("serve", "serve_verb", READ_ONLY),
}
"""Each verb's module in this package and its function there, in the order of the help.

``demo``, ``propose`` and ``serve`` change no run: the first makes a separate repository, the
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
        import_module(f"ralph_ls.cli.commands.{verb.module}"), verb.function
    )
    return guard_verb(name, verb.control, found)


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
        place = current_worktree()
    except WorkspaceMissing:
        return f"See a whole run on a sample project: ralph demo\n{more}"
    found = place.find_run()
    if found is not None:
        return f"How the last run stands: ralph status\nStart another: ralph run\n{more}"
    if place.has_plan():
        return f"Start a loop on your plan: ralph run --agent-command '…'\n{more}"
    return f"Set up a loop here: ralph init\nSee a whole run on a sample: ralph demo\n{more}"
