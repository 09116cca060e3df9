"""Looking at the work tree: how it is, and what the agent of an iteration changed in it (SPEC §6).

Slow, for git is asked: call it in threads. This module must never judge what it sees.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.effects import ReadIteration
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plurals import some_of
from ralph_ls.engine import git
from ralph_ls.engine.change_kinds import ChangeMemory, Circumstances, with_kinds
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.commit_owners import IterationCommits, Owner, owners_of
from ralph_ls.engine.committing import find_commit
from ralph_ls.engine.descent import Descent, forget_trace, read_descent, traced
from ralph_ls.engine.git_changes import changes_between
from ralph_ls.engine.git_history import IsPersons, Made, commits_between, is_ancestor, nobody
from ralph_ls.engine.own_commits import OwnCommits
from ralph_ls.engine.repository_damage import Repository
from ralph_ls.engine.restoration_commits import RestorationCommits
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config.config import Committer, EvidenceKind
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.run.engine_output import OUTPUT

SHOWN_COMMITS = 3

PIPED_FILES = 200
"""Changed files that are held against what was written to a pipe."""


class Looking:
    """What one run's engine sees of the work tree."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self.workspace = workspace
        self._clock = clock
        self._restorations = RestorationCommits(workspace)
        self._own_commits = OwnCommits(workspace)
        self.repository = Repository(workspace.worktree)
        self._cache = git.Cache()
        self._may_trace: bool | None = None
        """Whether the agent's git may be traced; None: nobody has looked yet."""
        self._changed = ChangeMemory()
        self._dirty: Mapping[str, str] = {}
        """The dirty files of the last look, where our output goes to a pipe."""
        self._trace_reaches = False
        """The trace has been seen to reach the agent's own git in this run."""

    def look(self) -> Baseline:
        """The tree as it is now; raises a ``RalphError`` where its repository is another one."""
        if (replaced := self.repository.replaced()) is not None:
            raise RalphError(replaced)
        if self._may_trace is None:
            self._may_trace = not git.is_traced(self.workspace.root)
        seen = self._take_baseline()
        if self._finds_piped_output(seen):
            seen = self._take_baseline()
        return seen

    def _finds_piped_output(self, seen: Baseline) -> bool:
        """Whether a file that has just changed is what becomes of our output behind a pipe."""
        if not OUTPUT.has_pipe():
            return False
        changed = [path for path, value in seen.dirty.items() if self._dirty.get(path) != value]
        self._dirty = seen.dirty
        root = self.workspace.root
        found = [path for path in changed[:PIPED_FILES] if OUTPUT.is_behind_pipe(root / path)]
        return bool(found)

    def _take_baseline(self) -> Baseline:
        place = self.workspace.worktree
        return git.take_baseline(
            place.root,
            place.git_dir,
            place.common_dir,
            own=self.workspace.own_files,
            cache=self._cache,
            by_content=self.workspace.config.commits is Committer.LOOP,
        )

    def traced(self, environment: Mapping[str, str], start: int) -> dict[str, str]:
        """The agent's environment, in which its git says what it does.

        Where this machine's settings have git traced, that stays as it is.
        """
        if not self._may_trace:
            return dict(environment)
        return traced(environment, self._trace(start))

    def forget(self, start: int) -> None:
        """Remove what is only needed while an iteration may be read again."""
        forget_trace(self._trace(start))

    def listen(self, effect: ReadIteration, run: RunState) -> Descent | None:
        """What the iteration's git did; None where that proves nothing of anybody's commits."""
        if run.current is None:
            return None
        folder, began = self._trace(effect.start), run.current.started.at
        descent = read_descent(folder, began=began, read_at=self._clock.now())
        if descent is not None and descent.writes:
            self._trace_reaches = True
            self._own_commits.remember(effect.start, descent)
        return descent if self._trace_reaches else None

    def commits(
        self,
        effect: ReadIteration,
        run: RunState,
        descent: Descent | None,
        *,
        until: float | None = None,
        left_at: str | None = None,
    ) -> IterationCommits:
        """The commits since the iteration's baseline, and whose they are.

        ``until`` as for ``changes``; ``left_at`` is HEAD as agent and engine left it, where that
        is known: what was committed on top is the user's.
        """
        place, base = self.workspace.worktree, effect.baseline
        head = git.read_head(place.git_dir, place.common_dir)
        if head.commit is None or head.commit == base.head:
            return IterationCommits(base=base.head, head=head.commit)
        since = None if run.current is None else run.current.started.at
        if head.branch == base.branch and is_ancestor(place.root, base.head, head.commit):
            since = None
        found = self._made(base.head, head.commit, since=since, descent=descent)
        later: frozenset[str] = frozenset()
        if left_at is not None and left_at != head.commit:
            after = self._made(left_at, head.commit, since=None, descent=None)
            later = frozenset(one.seen.hash for one in after)
        if until is not None:
            later |= {one.seen.hash for one in found if one.made_at > until}
        ours = self._restorations.hashes()
        owned = owners_of(found, descent, place.common_dir / "objects")
        doubtful = [one.seen.hash for owner, one in owned if owner is not Owner.AGENT]
        own = self._made_before(doubtful, run) - later
        owned = [(Owner.AGENT if one.seen.hash in own else owner, one) for owner, one in owned]
        return IterationCommits(
            base=base.head,
            head=head.commit,
            made=tuple(
                (Owner.USER if one.seen.hash in later else owner, one)
                for owner, one in owned
                if one.seen.hash not in ours
            ),
            ours=frozenset(one.seen.hash for one in found) & ours,
        )

    def _made(
        self, old: str | None, new: str, *, since: datetime | None, descent: Descent | None
    ) -> list[Made]:
        return commits_between(
            self.workspace.root,
            old,
            new,
            counts=lambda _: True,
            since=since,
            is_persons=nobody if descent is None else descent.is_persons,
        )

    def changes(
        self,
        effect: ReadIteration,
        run: RunState,
        after: Baseline,
        touched: tuple[str, ...],
        *,
        descent: Descent | None,
        until: float | None = None,
        undone: frozenset[str] = frozenset(),
    ) -> Changes:
        """What came about since the iteration's baseline, and whose commits they are.

        ``touched`` are the files that the agent says it wrote, ``undone`` its commits of which
        nothing is left. What was committed after ``until``, in seconds since the epoch, is not the
        agent's.
        """
        found = changes_between(
            self.workspace.root,
            effect.baseline,
            after,
            own=self.workspace.own_files,
            since=None if run.current is None else run.current.started.at,
            is_persons=_is_persons(descent, until),
            touched=touched,
        )
        found = self._with_own_commits(found, run, until)
        found = self._with_output(found, effect.baseline, after)
        ours = self._ours(found, effect)
        commits = [one for one in found.commits if one.repository or one.hash not in ours]
        marked = [
            one.model_copy(update={"undone": True}) if one.hash in undone else one
            for one in commits
        ]
        return replace(found, commits=tuple(marked))

    def _made_before(self, commits: Sequence[str], run: RunState) -> frozenset[str]:
        """Those of the commits that an agent made before the iteration began."""
        if run.current is None:
            return frozenset()
        started = run.current.started
        return self._own_commits.among(commits, start=started.start, began=started.at)

    def _with_own_commits(self, found: Changes, run: RunState, until: float | None) -> Changes:
        """The same changes, in which no commit is a person's that the agent has made before."""
        doubtful = [one.hash for one in found.commits if one.by_person and not one.repository]
        if until is not None or not doubtful:
            return found
        own = self._made_before(doubtful, run)
        commits = [
            one.model_copy(update={"by_person": False}) if one.hash in own else one
            for one in found.commits
        ]
        return replace(found, commits=tuple(commits))

    def _with_output(self, found: Changes, before: Baseline, after: Baseline) -> Changes:
        """The same changes, beside the files that changed for our own output."""
        grown = {
            path
            for path in OUTPUT.paths(self.workspace.root)
            if {**before.dirty, **before.own}.get(path) != after.own.get(path)
        }
        return replace(found, engine_output=tuple(sorted(grown))) if grown else found

    def kinds(
        self,
        found: Changes,
        effect: ReadIteration,
        run: RunState,
        *,
        edited: Collection[str],
        finished: bool,
    ) -> Changes:
        """The same changes, and of what kind they are, as far as progress depends on that.

        ``edited`` are the files that the agent says it wrote; ``finished``: a task became done.
        """
        config = self.workspace.config
        if config.progress.churn is False or EvidenceKind.HEAD in config.progress.evidence:
            return found
        by_agent = any(
            commit.files and not commit.by_person and not commit.undone for commit in found.commits
        )
        known = Circumstances(
            iteration=effect.start,
            before=effect.baseline,
            edited=edited,
            finished=finished,
            is_committed=by_agent or config.commits is Committer.LOOP,
        )
        return with_kinds(self.workspace.root, found, run, self._changed, known)

    def _ours(self, found: Changes, effect: ReadIteration) -> frozenset[str]:
        """The engine's own commits: what it restored, and what it made of this very iteration."""
        if not found.commits:
            return frozenset()
        ours = self._restorations.hashes()
        if self.workspace.config.commits is not Committer.LOOP:
            return ours
        made = find_commit(self.workspace, since=effect.baseline.head, start=effect.start, but=ours)
        return ours if made is None or made.commit is None else ours | {made.commit}

    def _trace(self, start: int) -> Path:
        return self.workspace.files.folder / f"trace-{start:03d}"


def _is_persons(known: Descent | None, until: float | None) -> IsPersons:
    """Whose a commit is, by its time."""
    by_descent = nobody if known is None else known.is_persons
    if until is None:
        return by_descent
    last = until
    return lambda made_at: made_at > last or by_descent(made_at)


def tell_persons(found: Changes) -> tuple[Notice, ...]:
    """Tell what a person committed while the agent worked."""
    commits = [commit for commit in found.commits if commit.by_person]
    if not commits:
        return ()
    shown = some_of([f"{commit.hash[:7]} {commit.subject}" for commit in commits], SHOWN_COMMITS)
    message = f"a person committed while the agent worked, which is no progress of it: {shown}"
    return (Notice(code="person-committed", message=message),)
