"""``ralph help``: the listing of all verbs, or the page of one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ralph_ls.cli.command_line import help_of
from ralph_ls.cli.help_pages import listing
from ralph_ls.cli.verbs import VERBS
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import UsageError


def help_verb(
    verb: Annotated[
        str | None,
        typer.Argument(metavar="VERB", help="The verb to explain.", show_default="list them all"),
    ] = None,
) -> None:
    """Show the help of a verb, or list all verbs."""
    if verb is None:
        page = listing()
    elif verb in VERBS:
        page = help_of(verb)
    else:
        raise UsageError(f"there is no help for {verb!r}{did_you_mean(verb, VERBS)}")
    sys.stdout.write(f"{page}\n")
