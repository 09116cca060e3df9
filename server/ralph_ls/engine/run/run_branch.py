"""Branch of a run: which one the settings want, and switching to it and back around a run.

The switch comes before anything else is read, since the other branch may have another plan. What
the repository would run has to be approved before, as for the run itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.formats.registry import format_of_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.git.work_branch import (
    WorkBranch,
    enter_branch,
    leave_branch,
    load_branch,
    save_branch,
)
from ralph_ls.engine.plan.selection import locate_plan
from ralph_ls.engine.run.preparation import RunRequest, claims_here
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.external.git_safety import trust_git_settings
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project.config_file import LoadedSettings, load_settings
from ralph_ls.store.project.trust import read_run_trust
from ralph_ls.store.run.runs import find_run


@dataclass(slots=True, kw_only=True)
class RunBranch:
    """The branch of a run while it is live."""

    branch: WorkBranch | None = None
    folder: Path | None = None
    """The files of the run; None until it has begun."""

    def begin(self, folder: Path) -> None:
        """From now on the run has files, which record its branch."""
        self.folder = folder
        if self.branch is not None:
            save_branch(folder, self.branch)


@contextlib.contextmanager
def on_work_branch(
    request: RunRequest, worktree: Worktree, state: StateFolder, clock: Clock
) -> Iterator[RunBranch]:
    """Switch to the branch that the run works on, and back after the block.

    Raises as ``enter_branch`` does, and ``NotAllowed`` where something needs approval first.
    """
    run = RunBranch(branch=_enter(request, worktree, state, clock))
    try:
        yield run
    finally:
        if run.branch is not None:
            outcome = leave_branch(worktree, run.branch, has_begun=run.folder is not None)
            if run.folder is not None:
                save_branch(run.folder, replace(run.branch, outcome=outcome))


def _enter(
    request: RunRequest, worktree: Worktree, state: StateFolder, clock: Clock
) -> WorkBranch | None:
    known = None
    given = {key: value for key, value in request.overrides.items() if value is not None}
    if request.resume:
        found = find_run(worktree, state)
        known = None if found is None else load_branch(found.files.folder)
        if known is None:
            return None
    settings = load_settings(worktree.root, request.environment, given)
    wanted = known.name if known else settings.config.work_branch
    if not wanted:
        return None
    read_run_trust(state, claims_here(worktree, state, settings))
    trust_git_settings(worktree.root)
    words = "" if known else _words(request, worktree.root, settings)
    today = clock.local().date()
    return enter_branch(worktree, wanted, words=words, today=today, known=known)


def _words(request: RunRequest, root: Path, settings: LoadedSettings) -> str:
    """What the run works on first, as a name for its branch."""
    config = settings.config
    kind = profile_of(config.profile).plan_kind
    if kind is PlanKind.REQUEST:
        named = config.issue.file if config.issue.file != STDIN else ""
        return config.issue.text or config.issue.github or Path(named or "request").stem
    if config.task is not None:
        return config.task
    if kind is PlanKind.BEADS:
        return "beads"
    try:
        plan = locate_plan(root, settings, request.environment)
    except RalphError:
        # The start reports what is wrong with the plan.
        return "plan"
    known = format_of_plan(plan.path, kind).name
    tasks = parse_plan(plan.text, known, tag=config.plan.tag or "").plan.tasks
    is_over = {TaskState.DONE, TaskState.SKIPPED}
    return next((task.title for task in tasks if task.state not in is_over), "plan")
