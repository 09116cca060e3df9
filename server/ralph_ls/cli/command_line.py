"""Commands made of the table of verbs, with who may use them and the help of each.

A verb that changes a run, its work tree or what may be executed is refused to a process that an
iteration of the work tree has started, before it does anything else. A command line is made with
the one verb that it calls, since loading all of them takes longer than most commands do.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.help_pages import argument_name, verb_page
from ralph_ls.cli.output import emit_json
from ralph_ls.cli.verbs import VERBS, ReadOnlyVerb, UserOnlyVerb, VerbAccess
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import FromInside, WorkspaceMissing

HELP_OPTIONS = ("-h", "--help")


@functools.cache
def make_command(*names: str) -> Any:
    """The command line with these verbs."""
    app = typer.Typer(
        name="ralph",
        no_args_is_help=False,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": list(HELP_OPTIONS)},
    )
    app.callback()(_only_verbs)
    for name in names:
        app.command(name, cls=VerbCommand)(_function_of(name))
    return typer.main.get_command(app)


class VerbCommand(TyperCommand):
    """A verb, which prints its help as our own page."""

    def get_help(self, ctx: Any) -> str:  # noqa: ARG002 -- the page needs the command alone
        return verb_page(str(self.name), self)


def help_of(name: str) -> str:
    """The help page of one verb."""
    return verb_page(name, make_command(name).commands[name])


def _only_verbs() -> None:
    """Do nothing: ``main`` answers a command line without a verb."""


def _function_of(name: str) -> Callable[..., None]:
    verb = VERBS[name]
    found: Callable[..., None] = getattr(
        import_module(f"ralph_ls.cli.commands.{verb.module}"), verb.function
    )
    return guard_verb(name, verb.control, found)


def guard_verb(
    verb: str, control: VerbAccess, function: Callable[..., None]
) -> Callable[..., None]:
    """The verb's function, refused where an iteration of the work tree has started this process."""
    if isinstance(control, ReadOnlyVerb):
        return function

    @functools.wraps(function)
    def guarded_verb(**options: Any) -> None:
        shows = any(options.get(name) for name in control.unless)
        if not shows and options.get("action") not in control.reading:
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


def misuse(error: Any) -> str:
    """What was wrong with a command line, in our own words."""
    # Typer carries its own copy of click, whose errors have no public names.
    match type(error).__name__:
        case "NoSuchOption":
            params = error.ctx.command.params
            known = [flag for param in params for flag in param.opts if flag.startswith("-")]
            given = error.option_name
            if given == "-n" and "--max-iterations" in known:
                return "unknown option -n; give the number alone, such as: ralph run 5"
            return f"unknown option {given}{did_you_mean(given, known)}"
        case "BadOptionUsage":
            if "argument" in error.message:
                return f"{error.option_name} needs a value"
            return f"{error.option_name} takes no value"
        case "MissingParameter":
            return f"{_name_of(error.param)} is missing"
        case "BadParameter":
            return f"{_name_of(error.param)}: {_wrong_value(error.message)}"
    if (extra := _UNEXPECTED.search(error.message)) is not None:
        return f"unexpected {extra[1]}; quote an argument that contains spaces"
    return str(error.format_message()).rstrip(".")


_UNEXPECTED = re.compile(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)
_NUMBERS = {"valid integer": "a whole number, such as 5", "valid number": "a number, such as 2.5"}


def _name_of(param: Any) -> str:
    if param.param_type_name == "option":
        return str(param.opts[0])
    return argument_name(param).strip("[].")


def _wrong_value(message: str) -> str:
    """The words of the library that checks values, in ours."""
    for theirs, ours in _NUMBERS.items():
        if theirs in message:
            return f"write {ours}"
    if (found := re.search(r"(greater|less) than( or equal to)? (\S+)", message)) is not None:
        word = {"greater": "at least", "less": "at most"}[found[1]]
        return f"it must be {word} {found[3]}" if found[2] else f"it must be {found[0]}"
    return message.rstrip(".")
