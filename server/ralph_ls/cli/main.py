"""The program ``ralph``: its verbs, and how errors become codes (SPEC §7, §12)."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from ralph_ls import __version__
from ralph_ls.cli import look, run_command, setup, steer
from ralph_ls.cli.context import complain, here
from ralph_ls.protocol.errors import RalphError, WorkspaceMissing

USAGE = 64
"""SPEC §7: bad flags."""

INTERRUPTED = 130

UNFORESEEN = 5
"""SPEC §7, fatal: the system refused something that every run needs."""

app = typer.Typer(
    name="ralph",
    help="Run, watch and steer an autonomous coding loop.",
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
run_command.add_to(app)
look.add_to(app)
steer.add_to(app)
setup.add_to(app)


def run() -> None:
    """The entry point of ``ralph``."""
    sys.exit(main(sys.argv[1:]))


def run_language_server() -> None:
    """The entry point of ``ralph-ls``, as editors start it."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"ralph-ls {__version__}\n")
        sys.exit(0)
    complain(
        "this version has no language server yet; run and watch the loop in a terminal: ralph run"
    )
    sys.exit(USAGE)


def main(arguments: list[str]) -> int:
    """Run one command line and give its exit code; every error is told on standard error."""
    _open_missing_streams()
    _open_closed_streams()
    _use_utf8()
    command = typer.main.get_command(app)
    try:
        result = command.main(args=arguments, prog_name="ralph", standalone_mode=False)
        # Whether somebody still reads is found out here, and not when the interpreter ends.
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except RalphError as error:
        complain(error.message)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # Whoever read has seen enough; click says it by leaving, and by nothing else does it leave.
        _silence_stdout()
        return 0
    except OSError as error:
        # What nobody foresaw of files and folders is still told as what it is.
        complain(f"{error.strerror or error}: {error.filename or 'no file is named'}")
        return UNFORESEEN
    except Exception as error:
        # Typer carries its own copy of click, so its errors are told by what they can do.
        in_words = getattr(error, "format_message", None)
        if callable(in_words) and hasattr(error, "exit_code"):
            complain(f"{str(in_words()).rstrip('.')}; see: ralph --help")
            return USAGE
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        raise


@app.callback(invoke_without_command=True)
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


def _open_missing_streams() -> None:
    """Who starts us may have closed them: then nothing is read or shown, and the run goes on.

    Done first, so that no file which is opened later gets the number of a standard stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def _open_closed_streams() -> None:
    """Put null devices where the caller closed a stream, so that no file takes its place."""
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.fstat(descriptor)
                continue
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8"))


def _use_utf8() -> None:
    """Text is UTF-8 everywhere, whatever the locale says; what it can't show is replaced."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")


def _silence_stdout() -> None:
    """The reader is gone: nothing may be flushed to it when the interpreter ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
