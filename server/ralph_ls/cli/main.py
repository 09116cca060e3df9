"""The program ``ralph``: its streams, and how errors become codes (docs/rules.md#exit-codes).

A verb's module is loaded when that verb is called. Imports no more than every command line needs.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from ralph_ls import __version__
from ralph_ls.cli.output import discard_stdout, print_error, print_hint
from ralph_ls.cli.verbs import ALIASES, VERBS
from ralph_ls.protocol.errors import REPORT_CLASS, RalphError, UsageError
from ralph_ls.store.own_python import keep_search_path_absolute

BARE_SANDBOX = "--sandbox"
"""A flag whose word may be left out."""

USAGE = 64
"""Bad flags."""

INTERRUPTED = 130

UNFORESEEN = 5
"""Fatal: the system refused something that every run needs."""


def run() -> None:
    """The entry point of ``ralph``."""
    sys.exit(main(sys.argv[1:]))


def run_language_server() -> None:
    """The entry point of ``ralph-ls``, as editors start it."""
    from ralph_ls.cli import language_server

    keep_search_path_absolute()
    language_server.run_language_server(sys.argv[1:])


def main(arguments: list[str]) -> int:
    """Run one command line and give its exit code; every error is reported on standard error."""
    keep_search_path_absolute()
    _open_missing_streams()
    _open_closed_streams()
    _use_utf8()
    # What this process starts is not asked.
    reports_class = os.environ.pop(REPORT_CLASS, None) is not None
    arguments = [ALIASES.get(word, word) for word in arguments[:1]] + arguments[1:]
    try:
        result = _answer(arguments)
        # Whether somebody still reads is found out here, and not when the interpreter ends.
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except RalphError as error:
        if reports_class:
            from ralph_ls.store.run.launch import report_class

            report_class(error)
        print_error(error.message)
        if error.exit_code == USAGE:
            print_hint(_where_help_is(arguments))
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader is gone; click raises SystemExit then, and in no other case.
        discard_stdout()
        return 0
    except OSError as error:
        # Unforeseen errors of files and folders are still reported as what they are.
        print_error(f"{error.strerror or error}: {error.filename or 'no file is named'}")
        return UNFORESEEN
    except Exception as error:
        # Typer carries its own copy of click, so its errors are known by their methods.
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            from ralph_ls.cli.command_line import misuse

            print_error(misuse(error))
            print_hint(_where_help_is(arguments))
            return USAGE
        if type(error).__name__ == "Abort":
            return INTERRUPTED
        raise


def _answer(arguments: list[str]) -> object:
    if arguments == ["hook", "stop"]:
        # An agent's program asks this each time that its agent wants to stop.
        from ralph_ls.cli.stop_hook import answer_stop

        return answer_stop()
    if arguments == ["mcp"]:
        # An agent waits for it before it begins.
        from ralph_ls.cli.mcp_server import serve

        return serve()
    # Imports make many objects that all stay: looking for garbage among them is time lost.
    gc.disable()
    if not arguments or arguments[0] not in VERBS:
        try:
            return _answer_without_verb(arguments)
        finally:
            gc.enable()
    from ralph_ls.cli.command_line import make_command
    from ralph_ls.store.external.supervisor import end_programs_with_process

    end_programs_with_process()
    if BARE_SANDBOX in arguments:
        from ralph_ls.cli.flags import with_sandbox_kind

        arguments = with_sandbox_kind(arguments)
    command = make_command(arguments[0])
    gc.freeze()
    gc.enable()
    return command.main(args=arguments, prog_name="ralph", standalone_mode=False)


def _answer_without_verb(arguments: list[str]) -> object:
    """No verb, an option of the program itself, or a verb that does not exist."""
    first = arguments[0] if arguments else None
    if first is None:
        from ralph_ls.cli.overview import show_overview

        show_overview()
        return 0
    if first in {"--version", "-V"}:
        sys.stdout.write(f"ralph {__version__}\n")
        return 0
    if first in {"--help", "-h"}:
        from ralph_ls.cli.help_pages import listing

        sys.stdout.write(f"{listing()}\n")
        return 0
    if first in {COMPLETE, *COMPLETION_SCRIPTS}:
        _complete(arguments)
        return 0
    from ralph_ls.core.suggestions import did_you_mean

    if first.startswith("-"):
        raise UsageError(f"unknown option {first}{did_you_mean(first, PROGRAM_OPTIONS)}")
    if first in OTHER_WORDS:
        raise UsageError(f"unknown command {first!r}; did you mean: ralph {OTHER_WORDS[first]}?")
    raise UsageError(f"unknown command {first!r}{did_you_mean(first, VERBS)}")


OTHER_WORDS = {
    "version": "--version",
    "start": "run",
    "loop": "run",
    "continue": "run --resume",
    "setup": "init",
    "new": "init",
    "settings": "config",
    "list": "runs",
    "ls": "runs",
    "history": "runs",
    "tasks": "plan",
    "todo": "plan",
    "info": "status",
    "tail": "watch",
    "kill": "stop --now",
    "cancel": "stop",
    "abort": "stop --now",
    "undo": "rollback 1",
    "revert": "rollback 1",
    "clean": "prune",
    "trust": "allow",
    "approve": "allow",
    "ask": "answer",
}
"""What other programs call a verb."""


COMPLETE = "--complete"
"""What the scripts of shells ask with."""

COMPLETION_SCRIPTS = ("--install-completion", "--show-completion")

PROGRAM_OPTIONS = ("--help", "--version", *COMPLETION_SCRIPTS)


def _complete(arguments: list[str]) -> None:
    from ralph_ls.cli import completion

    first, *more = arguments
    if first == COMPLETE:
        completion.answer(more)
    elif len(more) > 1:
        raise UsageError(f"{first} takes one shell, not {len(more)}")
    elif first == "--show-completion":
        completion.show(*more)
    else:
        completion.install(*more)


def _where_help_is(arguments: list[str]) -> str:
    from ralph_ls.store.run.launch import HELP_HINT

    verb = arguments[0] if arguments else ""
    return f"{HELP_HINT}{verb} --help" if verb in VERBS else f"{HELP_HINT}--help"


def _open_missing_streams() -> None:
    """The parent may have closed them: then nothing is read or shown, and the run continues.

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
