"""Looking at the work tree: how it is, and what the agent of an iteration changed in it (SPEC §6).

Slow, for git is asked: call it in threads. This module must never judge what it sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.effects import ReadIteration
from ralph_ls.core.loop.evidence import Changes
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.words import some_of
from ralph_ls.engine import git
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.committing import find_commit
from ralph_ls.engine.descent import forget_trace, read_descent, traced
from ralph_ls.engine.git_changes import changes_between
from ralph_ls.engine.git_history import nobody
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config import Committer
from ralph_ls.protocol.evidence import Baseline
from ralph_ls.protocol.state import RunState

SHOWN_COMMITS = 3


class Looking:
    """What one run's engine sees of the work tree."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._cache = git.Cache()
        self._may_trace: bool | None = None
        """Whether the agent's git may be traced; None: nobody has looked yet."""
        self._trace_reaches = False
        """The trace has been seen to reach the agent's own git in this run."""

    def look(self) -> Baseline:
        """The tree as it is now."""
        if self._may_trace is None:
            self._may_trace = not git.is_traced(self._workspace.root)
        place = self._workspace.worktree
        return git.take_baseline(
            place.root,
            place.git_dir,
            place.common_dir,
            own=self._workspace.own_files,
            cache=self._cache,
            by_content=self._workspace.config.commits is Committer.LOOP,
        )

    def traced(self, environment: Mapping[str, str], iteration: int) -> dict[str, str]:
        """The agent's environment, in which its git says what it does.

        Where this machine's settings have git traced, that stays as it is.
        """
        if not self._may_trace:
            return dict(environment)
        return traced(environment, self._trace(iteration))

    def forget(self, iteration: int) -> None:
        """Remove what is only needed while an iteration may be read again."""
        forget_trace(self._trace(iteration))

    def changes(
        self, effect: ReadIteration, run: RunState, after: Baseline, touched: tuple[str, ...]
    ) -> Changes:
        """What came about since the iteration's baseline, and whose commits they are.

        ``touched`` are the files that the agent says it wrote.
        """
        began = None if run.current is None else run.current.started.at
        descent = None
        if began is not None:
            folder = self._trace(effect.iteration)
            descent = read_descent(folder, began=began, read_at=self._clock.now())
        if descent is not None and descent.writes:
            self._trace_reaches = True
        known = descent if self._trace_reaches else None
        found = changes_between(
            self._workspace.root,
            effect.baseline,
            after,
            own=self._workspace.own_files,
            since=began,
            is_persons=nobody if known is None else known.is_persons,
            touched=touched,
        )
        return self._without_ours(found, effect)

    def _without_ours(self, found: Changes, effect: ReadIteration) -> Changes:
        """Leave out the commit that an engine made of this very iteration before it died."""
        workspace = self._workspace
        if workspace.config.commits is not Committer.LOOP or not found.commits:
            return found
        ours = find_commit(workspace, since=effect.baseline.head, iteration=effect.iteration)
        if ours is None:
            return found
        kept = tuple(one for one in found.commits if one.repository or one.hash != ours.commit)
        return replace(found, commits=kept)

    def _trace(self, iteration: int) -> Path:
        return self._workspace.files.folder / f"trace-{iteration:03d}"


def tell_persons(found: Changes) -> tuple[Notice, ...]:
    """Tell what a person committed while the agent worked."""
    commits = [commit for commit in found.commits if commit.by_person]
    if not commits:
        return ()
    shown = some_of([f"{commit.hash[:7]} {commit.subject}" for commit in commits], SHOWN_COMMITS)
    message = f"a person committed while the agent worked, which is no progress of it: {shown}"
    return (Notice(code="person-committed", message=message),)
