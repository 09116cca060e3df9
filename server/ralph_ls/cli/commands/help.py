"""``ralph help``: the listing of all verbs, the page of one, or a topic of the documentation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from ralph_ls.cli.command_line import help_of
from ralph_ls.cli.help_pages import TOPICS, listing, show_topic
from ralph_ls.cli.parameters import argument, flag
from ralph_ls.cli.verbs import ALIASES, VERBS
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import UsageError

MAN_PAGE = Path(__file__).parents[1] / "shells" / "ralph.1"
"""Generated from what the help of every verb is made of."""


def help_verb(
    verb: Annotated[
        str | None, argument("TOPIC", "A verb, or a page such as quick-start.", default="list them")
    ] = None,
    man: Annotated[
        bool, flag("--man", text="Print the man page, for: ralph help --man | man -l -")
    ] = False,
) -> None:
    """Show the help of a verb or a page of the documentation, or list both."""
    verb = None if verb is None else ALIASES.get(verb, verb)
    if man:
        page = MAN_PAGE.read_text(encoding="utf-8").rstrip("\n")
    elif verb is None:
        page = listing()
    elif verb in VERBS:
        page = help_of(verb)
    elif verb in TOPICS:
        show_topic(verb)
        return
    else:
        raise UsageError(f"there is no help for {verb!r}{did_you_mean(verb, [*VERBS, *TOPICS])}")
    sys.stdout.write(f"{page}\n")
