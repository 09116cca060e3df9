"""``ralph help``: the listing of all verbs, the page of one, or a topic of the documentation."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ralph_ls.cli.command_line import help_of
from ralph_ls.cli.help_pages import listing
from ralph_ls.cli.topics import TOPICS, show_topic
from ralph_ls.cli.verbs import VERBS
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import UsageError


def help_verb(
    verb: Annotated[
        str | None,
        typer.Argument(
            metavar="TOPIC", help="A verb, or a page such as quick-start.", show_default="list them"
        ),
    ] = None,
) -> None:
    """Show the help of a verb or a page of the documentation, or list both."""
    if verb is None:
        page = listing()
    elif verb in VERBS:
        page = help_of(verb)
    elif verb in TOPICS:
        show_topic(verb)
        return
    else:
        raise UsageError(f"there is no help for {verb!r}{did_you_mean(verb, [*VERBS, *TOPICS])}")
    sys.stdout.write(f"{page}\n")
