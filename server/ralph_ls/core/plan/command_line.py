"""A command that a plan names, as words that can be run without a shell.

What stands in a plan may come from anybody, so it is never given to a shell. A command that means
something only to a shell (a pipe, a variable, a pattern of file names) has no words here: to run it
in another way than its author meant would be evidence of nothing.
"""

from __future__ import annotations

import re
import shlex

LONGEST = 400
"""Characters; nobody reads a longer one before approving it."""


def words_of_command(command: str) -> tuple[str, ...] | None:
    """The words of a command, quotes resolved; None where only a shell could run it. Total."""
    text = command.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        return None
    bare = _QUOTED.sub("", text)
    if _OF_SHELLS.search(bare) is not None or _ASSIGNMENT.match(text) is not None:
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return tuple(words) if words[0] else None


_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
"""What a shell leaves as it is."""
_OF_SHELLS = re.compile(r"[|&;<>()$`*?\[\]{}!\\]|(?:^|\s)[~#]|=~")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
