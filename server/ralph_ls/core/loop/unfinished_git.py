"""An operation of git that an agent began and did not end: a merge, a rebase, a cherry-pick.

Nothing of it is committed by the loop, which would make half a merge look like finished work. The
next agent is told, since it alone knows whether the changes are wanted.
"""

from __future__ import annotations

from ralph_ls.protocol.run.state import RunState

CODE = "git-unfinished"
"""The warning that says so."""

_ABORTS = {"bisect": "git bisect reset"}


def unfinished_words(what: str) -> str:
    """What was left, and how it is brought to an end."""
    abort = _ABORTS.get(what, f"git {what} --abort")
    return (
        f"an agent ended in the middle of a {what}, and nothing is committed before that is "
        f"finished or aborted ({abort})"
    )


def left_unfinished(run: RunState, start: int) -> str:
    """What the start before this one left, in words; empty where it left nothing."""
    found = [one.message for one in run.warnings if (one.code, one.start) == (CODE, start - 1)]
    return found[-1] if found else ""
