"""``ralph-ls`` and ``ralph serve``: the language server, as editors start it.

Nothing slow is imported here, nor anything of the command line: an editor waits for the start.
Standard output carries the protocol alone, so everything for people goes to standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import NoReturn

from ralph_ls import __version__

USAGE = 64
"""SPEC §7: bad flags."""

READ_ONLY = "--read-only"

NO_TCP = (
    "the language server speaks over standard input and output only: a port would let anybody on "
    "this machine start agents; leave --tcp out"
)

HELP = """\
Usage: ralph-ls [--stdio] [--read-only]

The language server of the Ralph Loop, as an editor starts it: it speaks LSP over standard input
and output. A loop that it starts goes on when the editor is closed. The same as: ralph serve

Options:
  --stdio      Speak over standard input and output; so it does anyway.
  --read-only  Show plans and runs, and start and change nothing, whatever the editor says: for
               folders that are not trusted.
  --version    Show the version.
  --help       Show this.

Set up your editor: docs/editors/ in the project's repository.
"""


def run_language_server(arguments: Sequence[str]) -> NoReturn:
    """The program ``ralph-ls``; ends the process."""
    unknown = [argument for argument in arguments if argument not in {"--stdio", READ_ONLY}]
    if "--version" in unknown:
        _say(f"ralph-ls {__version__}\n")
    if "--help" in unknown or "-h" in unknown:
        _say(HELP)
    if any(argument == "--tcp" or argument.startswith("--tcp=") for argument in unknown):
        _refuse(NO_TCP)
    if unknown:
        _refuse(f"{unknown[0]!r} is not known here; see: ralph-ls --help")
    serve(read_only=READ_ONLY in arguments)


def serve(*, read_only: bool = False) -> NoReturn:
    """Serve the editor on standard input and output until it leaves; ends the process.

    With ``read_only`` nothing is started or changed, and no option of the client's undoes that.
    """
    from ralph_ls.editor.mended import run_stdio
    from ralph_ls.editor.server import make_server
    from ralph_ls.engine.clock import SystemClock

    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s"
    )
    # The one tells every message; the other that it was stopped while something happened.
    logging.getLogger("pygls").setLevel(logging.WARNING)
    logging.getLogger("watchdog").setLevel(logging.CRITICAL)
    run_stdio(make_server(now=SystemClock().now, read_only=read_only))


def _say(text: str) -> NoReturn:
    sys.stdout.write(text)
    sys.exit(0)


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"ralph-ls: {why}\n")
    sys.exit(USAGE)
