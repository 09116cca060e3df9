"""Whose an issue is, where several people and loops work on the same ones.

``bd`` writes who claimed an issue into it, under a name that it takes from its environment. What
somebody else has claimed, or was given, is theirs. It must never ask ``bd`` or git.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ralph_ls.core.plan.beads.snapshot import Snapshot
from ralph_ls.core.plan.titles import fold

ACTOR_VARIABLES = ("BD_ACTOR", "BEADS_ACTOR")
LOGIN_VARIABLES = ("USER", "USERNAME")


def actor_of(environment: Mapping[str, str], git_name: str | None) -> str | None:
    """The name under which ``bd`` claims in this environment; None where that is not known."""
    said = [environment.get(name) for name in ACTOR_VARIABLES]
    logins = [environment.get(name) for name in LOGIN_VARIABLES]
    return next((name for name in (*said, git_name, *logins) if name), None)


def taken_by_others(snapshot: Snapshot, own_names: Collection[str]) -> dict[str, str]:
    """Unfinished issues that are somebody else's, each with the words that follow its name.

    Nobody is somebody else where no own name is known.
    """
    if not own_names:
        return {}
    return {
        issue.id: f"{fold(issue.assignee)} has it"
        for issue in snapshot.issues
        if issue.assignee and issue.assignee not in own_names and not issue.is_closed
    }
