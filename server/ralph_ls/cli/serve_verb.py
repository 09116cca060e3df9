"""The verb ``serve``: the language server, where ``ralph`` is at hand and not ``ralph-ls``."""

from __future__ import annotations

from typing import Annotated

import typer

from ralph_ls.cli.serve import NO_TCP, serve
from ralph_ls.protocol.errors import UsageError


def serve_verb(
    stdio: Annotated[  # noqa: ARG001 -- there is no other way
        bool, typer.Option("--stdio", help="Speak over standard input and output.")
    ] = True,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Start and change nothing, whatever it is told.")
    ] = False,
    tcp: Annotated[
        str | None, typer.Option("--tcp", metavar="PORT", help="Refused: no port is opened.")
    ] = None,
) -> None:
    """Serve an editor: the language server."""
    if tcp is not None:
        raise UsageError(NO_TCP)
    try:
        serve(read_only=read_only)
    except SystemExit as ended:
        # It leaves with the code that LSP wants.
        raise typer.Exit(ended.code if isinstance(ended.code, int) else 1) from ended
