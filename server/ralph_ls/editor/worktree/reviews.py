"""Reviews: what a user was shown before a step that may only follow a look at it.

An approval or a rollback is offered as an action once what it is about was shown, and names what
was shown by a hash (docs/rules.md#trust). Nothing is remembered beyond the life of the server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph_ls.editor.worktree.snapshot import LoopFolders


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedRollback:
    """A rollback whose result was shown."""

    run: str
    start: int
    iteration: int
    n_commits: int
    sha256: str


@dataclass(slots=True)
class Reviews:
    """By the root of the work tree; the newest review of each kind."""

    approvals: dict[Path, str] = field(default_factory=dict)
    """The hash of the commands and files that were shown."""
    rollbacks: dict[Path, ReviewedRollback] = field(default_factory=dict)


def n_unapproved(folders: LoopFolders) -> int:
    """How much the settings name that is not approved; blocks. 0 where they cannot be read."""
    from ralph_ls.protocol.errors import RalphError
    from ralph_ls.store.project import trust
    from ralph_ls.store.project.config_file import load_settings

    root, state = folders.worktree.root, folders.state
    try:
        settings = load_settings(root, folders.environment, {})
        approved = trust.read_record(state).allowed
        claims = trust.claims_of(root, settings.config, settings.from_file, approved)
        return len(trust.unapproved_claims(state, claims))
    except RalphError:
        return 0
