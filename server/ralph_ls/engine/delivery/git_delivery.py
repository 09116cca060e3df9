"""Handing work over to git: what has to be true for it at a start, and each iteration's turn.

What would fail after every iteration of a night is found before the first one
(docs/rules.md#health).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from ralph_ls.core.loop.effects import CommitWork, PushWork, ReadIteration
from ralph_ls.core.loop.inputs import Notice, WorkCommitted, WorkPushed
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.commit import IterationCommitter, first_paths_named
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.delivery.push import Pusher, find_remote
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Committer, Config, OnValidateFail
from ralph_ls.protocol.errors import ConfigError, RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.layout import Worktree


class GitDelivery:
    """Commits and pushes for one engine."""

    def __init__(self, hands: ProcessLauncher, clock: Clock) -> None:
        self._committing = IterationCommitter(hands, set(hands.workspace.written_at_start))
        self._pushing = Pusher(hands, clock)

    async def commit(
        self,
        order: CommitWork,
        after: Baseline,
        *,
        restored: Collection[str],
        users: Collection[str] = (),
    ) -> WorkCommitted:
        """Commit; see ``IterationCommitter.commit``."""
        return await self._committing.commit(order, after, restored=restored, users=users)

    async def push(self, order: PushWork) -> WorkPushed:
        """Push; see ``Pusher.push``."""
        return await self._pushing.push(order)

    def stop(self) -> None:
        """Wait for no further try to push."""
        self._pushing.stop()

    def wrote(self, paths: Iterable[str]) -> None:
        """The engine itself has written these files of the loop's; the next commit takes them."""
        self._committing.ours.update(paths)


def undelivered_work(
    workspace: Workspace, run: RunState, effect: ReadIteration, after: Baseline
) -> dict[str, str] | None:
    """What differs from the base of the loop's next commit, by path; None where it commits none."""
    if workspace.config.commits is not Committer.LOOP:
        return None
    base = run.commit_base or effect.baseline
    was = {**base.dirty, **base.own}
    own = {*workspace.source.own_files, *workspace.progress_files}
    of_loop = {path: value for path, value in after.own.items() if path in own}
    return {
        path: value for path, value in {**after.dirty, **of_loop}.items() if was.get(path) != value
    }


def emit_leftovers(
    workspace: Workspace, before: Baseline, after: Baseline, *, but: Collection[str] = ()
) -> tuple[Notice, ...]:
    """What an iteration changed and left in no commit, where its agent is to commit.

    ``but`` are guarded files that the engine itself has restored.
    """
    if workspace.config.commits is Committer.LOOP:
        return ()
    own = {*workspace.source.own_files, *workspace.progress_files}
    of_loop = {path: value for path, value in after.own.items() if path in own}
    paths = [path for path, value in after.dirty.items() if before.dirty.get(path) != value]
    paths += [path for path, value in of_loop.items() if before.own.get(path) != value]
    paths = [path for path in paths if path not in but]
    if not paths:
        return ()
    message = (
        f"the agent is to commit what it does, and left {count_of(len(paths), 'file')} "
        f"uncommitted: {first_paths_named(sorted(paths))}; "
        'have the loop commit with: commits = "loop"'
    )
    return (Notice(code="left-uncommitted", message=message),)


def require_deliverable(worktree: Worktree, config: Config) -> None:
    """Raise a ``RalphError`` where nothing could be committed or pushed, and say what to do."""
    if config.commits is Committer.LOOP:
        require_identity(worktree.root)
    _require_able_to_undo(config)
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    require_branch_to_push(worktree.root, config, head)


def require_branch_to_push(root: Path, config: Config, head: worktree_state.Head) -> None:
    """Raise a ``RalphError`` where a run that pushes is on no branch."""
    if config.push and head.branch is None:
        raise RalphError(
            f"HEAD of {root} is on no branch, so there is none to push; check out a "
            "branch, for example with git switch -c my-branch, or start with --no-push"
        )


def emit_no_remote(workspace: Workspace) -> list[Notice]:
    """Tell once that a run which pushes has nowhere to push to."""
    place = workspace.worktree
    branch = worktree_state.read_head(place.git_dir, place.common_dir).branch
    if (
        not workspace.config.push
        or branch is None
        or find_remote(workspace.root, branch) is not None
    ):
        return []
    message = (
        "nothing is pushed, since the repository has no remote; add one with git remote add origin "
        "URL, or say that you want none with: push = false"
    )
    return [Notice(code="push-skipped", message=message)]


def _require_able_to_undo(config: Config) -> None:
    is_wanted = config.on_validate_fail is OnValidateFail.ROLLBACK
    if is_wanted and profile_of(config.profile).plan_kind is PlanKind.BEADS:
        raise ConfigError(
            'on_validate_fail = "rollback" cannot take back what an iteration did to the issues of '
            'bd, which lie in no file; choose "repair" or "stop"'
        )


def require_identity(root: Path) -> None:
    """Raise a ``RalphError`` where git does not know in whose name to commit."""
    try:
        for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            run_git(root, "var", name)
    except RalphError as error:
        raise RalphError(
            f"the loop is to commit in {root}, and git knows no name to do it with; set "
            "one with: git config user.name 'Your Name'; git config user.email you@example.com"
        ) from error
