"""``ralph serve``: the language server, for a host that has ``ralph`` and not ``ralph-ls``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli import language_server
from ralph_ls.cli.language_server import DEFAULT_LEVEL, LEVELS
from ralph_ls.cli.parameters import flag, option
from ralph_ls.protocol.errors import UsageError


def serve_verb(
    stdio: Annotated[  # noqa: ARG001 -- it is the default
        bool,
        flag("--stdio", text="Use standard input and output, as without any of these."),
    ] = True,
    pipe: Annotated[
        Path | None, option("PATH", "Connect to the editor's socket file.", default="none")
    ] = None,
    port: Annotated[
        str | None,
        option("PORT", "Connect to the editor's port on this machine.", "--socket", default="none"),
    ] = None,
    read_only: Annotated[
        bool, flag("--read-only", text="Refuse requests that start or change anything.")
    ] = False,
    log_file: Annotated[
        Path | None, option("FILE", "Log to this file.", default="standard error")
    ] = None,
    log_level: Annotated[str, option("LEVEL", f"One of {', '.join(LEVELS)}.")] = DEFAULT_LEVEL,
    client: Annotated[
        str | None,
        option("PID", "Also end when this process ends.", "--clientProcessId", default="none"),
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", hidden=True),
    ] = None,
) -> None:
    """Serve an editor: the language server."""
    if tcp is not None:
        raise UsageError(language_server.NO_TCP)
    try:
        options = language_server.ServeOptions(
            read_only=read_only,
            log_file=log_file,
            log_level=language_server.check_level(log_level),
            client=None if client is None else language_server.check_process_id(client),
            pipe=pipe,
            port=None if port is None else language_server.check_port(port),
        )
    except language_server.ServeOptionError as error:
        raise UsageError(str(error)) from error
    try:
        language_server.serve(options)
    except SystemExit as ended:
        # It leaves with the code that LSP wants.
        raise typer.Exit(ended.code if isinstance(ended.code, int) else 1) from ended
