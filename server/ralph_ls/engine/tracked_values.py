"""Values that a repository holds itself, such as the password of a test database: no secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.redaction.redactor import is_guessable
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external.git_command import run_git

MOST_ASKED = 16
"""So many values are looked for; of more, the others stay secrets."""


def without_tracked(root: Path, secrets: Mapping[str, str]) -> Mapping[str, str]:
    """The secrets without those values that anybody could guess and that git tracks in a text.

    Hiding ``postgres1`` wherever a compose file or a test says so helps nobody. A value that nobody
    could guess stays a secret: where git tracks it, it was leaked. Call it once, at a run's start.
    """
    plain = [name for name, value in secrets.items() if is_guessable(value)][:MOST_ASKED]
    tracked = {name for name in plain if _is_tracked(root, secrets[name])}
    return {name: value for name, value in secrets.items() if name not in tracked}


def _is_tracked(root: Path, value: str) -> bool:
    try:
        pattern = value.encode()
    except UnicodeEncodeError:
        return False
    if b"\n" in pattern or b"\0" in pattern:
        return False
    try:
        # By standard input: every user of the machine may read the arguments of a process.
        words = ("grep", "--quiet", "--fixed-strings", "-I", "-f", "-")
        run_git(root, *words, stdin=pattern + b"\n")
    except RalphError:
        return False  # Nowhere, or not to be found out: then it is hidden.
    return True
