"""What people did to the plan while the agent worked, as their editors told it.

See docs/rules.md#user-edits.

A person's tick is no work of the agent's, so it is told as theirs and counts for nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.store.project.plan_file import UserSave, read_saves, text_hash

SHOWN_TASKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEdits:
    """What people saved of the plan in one iteration."""

    ticked: frozenset[str] = frozenset()
    """Ids of the tasks that became done with that."""
    moved: frozenset[str] = frozenset()
    """Ids of the tasks of which they changed what an agent may not."""
    alone: bool = False
    """Whether the plan differs by nothing else."""


def find_plan_edits(
    workspace: Workspace, before: str, after: str, *, since: datetime | None
) -> PlanEdits:
    """What people made of the plan from ``before`` to ``after``, since the former was read."""
    path = workspace.source.file
    if before == after or path is None:
        return PlanEdits()
    saves = saves_of(workspace, path, since=since)
    reached = text_hash(before)
    for save in saves:
        if save.before == reached:
            reached = save.sha256
    return PlanEdits(
        ticked=frozenset(task for save in saves for task in save.ticked),
        moved=frozenset(task for save in saves for _, task in save.decided),
        alone=bool(saves) and reached == text_hash(after),
    )


def saves_of(workspace: Workspace, path: str, *, since: datetime | None) -> Sequence[UserSave]:
    """What people saved of a file of the work tree, oldest first."""
    if since is None:
        return ()
    real = os.path.realpath(workspace.root / path)
    path = os.path.relpath(real, workspace.root).replace(os.sep, "/")
    return read_saves(workspace.state, path, since=since)


def emit_plan_edits(edits: PlanEdits, done: Collection[str]) -> tuple[Notice, ...]:
    """Tell which of the tasks that are done now were ticked by a person."""
    theirs = [task for task in done if task in edits.ticked]
    if not theirs:
        return ()
    message = (
        "a person ticked in the plan while the agent worked, which is no progress of it: "
        f"{some_of(theirs, SHOWN_TASKS)}"
    )
    return (Notice(code="person-edited-plan", message=message),)
