"""``ralph-ls`` and ``ralph serve``: the language server, as editors start it.

Nothing slow is imported here, nor anything of the command line: an editor waits for the start.
Standard output carries the protocol alone, so everything for people goes to standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ralph_ls import __version__
from ralph_ls.cli.server_log import DEFAULT_LEVEL, LEVELS, LogUnusable, start_logging

USAGE = 64
"""SPEC §7: bad flags."""
CANNOT_WRITE = 73
"""The log file cannot be made."""

NO_TCP = (
    "the language server speaks over standard input and output only: a port would let anybody on "
    "this machine start agents; leave --tcp out"
)

HELP = f"""\
Usage: ralph-ls [--stdio] [--read-only] [--log-file FILE] [--log-level LEVEL]

The language server of the Ralph Loop, as an editor starts it: it speaks LSP over standard input
and output. A loop that it starts goes on when the editor is closed. The same as: ralph serve

Options:
  --stdio                Speak over standard input and output; so it does anyway.
  --read-only            Show plans and runs, and start and change nothing, whatever the editor
                         says: for folders that are not trusted.
  --log-file FILE        Log to this file, for its owner alone, instead of to standard error. At
                         10 MB it is moved to FILE.1.
  --log-level LEVEL      {", ".join(LEVELS)}; {DEFAULT_LEVEL} if not given. With debug
                         each message of the protocol is logged.
  --clientProcessId PID  End with this process, too.
  --version              Show the version.
  --help                 Show this.

Set up your editor: docs/editors/ in the project's repository.
"""


@dataclass(slots=True)
class ServeOptions:
    """What the server is started with."""

    read_only: bool = False
    log_file: Path | None = None
    log_level: str = DEFAULT_LEVEL
    client: int | None = None
    """The process id of the editor."""


class BadOption(Exception):
    """An option that makes no sense; the message says which."""


def run_language_server(arguments: Sequence[str]) -> NoReturn:
    """The program ``ralph-ls``; ends the process."""
    try:
        options = read_options(arguments)
    except BadOption as error:
        _refuse(str(error))
    serve(options)


def read_options(arguments: Sequence[str]) -> ServeOptions:
    """Raises ``BadOption``; ``--version`` and ``--help`` end the process."""
    options = ServeOptions()
    words = _split(arguments)
    for word in words:
        match word:
            case "--stdio":
                pass
            case "--read-only":
                options.read_only = True
            case "--log-file":
                options.log_file = Path(_value(word, words))
            case "--log-level":
                options.log_level = check_level(_value(word, words))
            case "--clientProcessId":
                options.client = check_process_id(_value(word, words))
            case "--version":
                _say(f"ralph-ls {__version__}\n")
            case "--help" | "-h":
                _say(HELP)
            case "--tcp":
                raise BadOption(NO_TCP)
            case _:
                raise BadOption(f"{word!r} is not known here; see: ralph-ls --help")
    return options


def check_level(name: str) -> str:
    """The level that is meant; raises ``BadOption``."""
    level = {"warn": "warning"}.get(name.lower(), name.lower())
    if level not in LEVELS:
        raise BadOption(f"--log-level {name!r}: it must be one of {', '.join(LEVELS)}")
    return level


def check_process_id(text: str) -> int:
    """A process id; raises ``BadOption``."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < 1 << 31):
        raise BadOption(f"--clientProcessId {text!r}: it must be the id of a process")
    return int(text)


def serve(options: ServeOptions) -> NoReturn:
    """Serve the editor on standard input and output until it leaves; ends the process.

    With ``read_only`` nothing is started or changed, and no option of the client's undoes that.
    """
    try:
        start_logging(level=options.log_level, path=options.log_file)
    except LogUnusable as error:
        _refuse(f"--log-file: {error}", code=CANNOT_WRITE)
    from ralph_ls.editor.mended import run_stdio
    from ralph_ls.editor.server import make_server
    from ralph_ls.engine.clock import SystemClock

    server = make_server(now=SystemClock().now, read_only=options.read_only)
    run_stdio(server, client=options.client)


def _split(arguments: Sequence[str]) -> Iterator[str]:
    """``--name=value`` as two words."""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals and name.startswith("--"):
            yield from (name, value)
        else:
            yield argument


def _value(option: str, words: Iterator[str]) -> str:
    value = next(words, "")
    if not value:
        raise BadOption(f"{option} needs a value; see: ralph-ls --help")
    return value


def _say(text: str) -> NoReturn:
    sys.stdout.write(text)
    sys.exit(0)


def _refuse(why: str, *, code: int = USAGE) -> NoReturn:
    sys.stderr.write(f"ralph-ls: {why}\n")
    sys.exit(code)
