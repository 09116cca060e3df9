"""An agent's earlier commits: on branches, in linked work trees, of other iterations and runs.

An agent that merges, rebases, cherry-picks, pulls or fast-forwards to what it has made before
brings commits along that are older than the iteration, or that no traced git made. They are its own
where the traced git of an earlier iteration was making commits when they were written, or when what
they hold was: a rebase and a cherry-pick keep the author's time. A merge of such commits is its own
too. This module must never take a commit away from the agent.

Looking at the work tree: how it is, and what the agent of an iteration changed in it
(docs/rules.md#evidence).

Slow, for git is asked: call it in threads. This module must never judge what it sees.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from ralph_ls.core.loop.effects import ReadIteration
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.commit import find_commit
from ralph_ls.engine.delivery.restoration_commits import RestorationCommits
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.git.changes import ChangeContext, ChangeMemory, changes_between, with_kinds
from ralph_ls.engine.git.history import (
    CommitAncestry,
    CommitOwner,
    CommitPaths,
    IsUserCommit,
    IterationCommits,
    TraceSpan,
    commits_between,
    forget_trace,
    is_ancestor,
    no_user_commit,
    owners_of,
    read_ancestry,
    with_git_trace,
)
from ralph_ls.engine.git.repository_damage import RepositoryMonitor
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Committer, EvidenceKind
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_all
from ralph_ls.store.run.engine_output import OUTPUT

NAME = "git-spans.jsonl"

MOST_RUNS = 50
"""The newest ones, in which an agent's earlier commits are looked for."""

LARGEST = 4 << 20
"""Bytes of one run's file; a larger one is none of ours."""


class _Time(NamedTuple):
    """When a traced git was there to make commits, in whole seconds since the epoch."""

    run: str
    start: int
    begun: int
    ended: int


class AgentCommits:
    """When the agents of one work tree made commits, as far as their git was traced."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._remembered: set[int] = set()
        self._times: list[_Time] | None = None

    def remember(self, start: int, descent: CommitAncestry) -> None:
        """Keep when the agent of an iteration made commits."""
        times = [
            _Time(self._workspace.run, start, *_seconds_of(span, descent.read_at))
            for span in descent.spans
            if span.makes
        ]
        if start in self._remembered or not times:
            return
        self._remembered.add(start)
        if self._times is not None:
            self._times += times
        # Without it a commit is merely reported as another author's.
        with contextlib.suppress(OSError):
            path = self._workspace.files.folder / NAME
            line = (
                json.dumps(
                    {"start": start, "times": [(one.begun, one.ended) for one in times]}
                ).encode()
                + b"\n"
            )
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
            try:
                write_all(descriptor, line)
            finally:
                os.close(descriptor)

    def among(self, commits: Sequence[str], *, start: int, began: datetime) -> frozenset[str]:
        """Those of the commits, oldest first, that an agent has made before this start began.

        What was made since, the trace of that iteration knows better.
        """
        if not commits:
            return frozenset()
        here, latest = (self._workspace.run, start), began.timestamp()
        times = [one for one in self._known_times() if (one.run, one.start) != here]
        own: set[str] = set()
        for commit, *moments, parents in self._read(commits):
            is_merge_of_own = len(parents) > 1 and own.issuperset(parents[1:])
            if is_merge_of_own or any(_is_in(times, one, latest) for one in moments):
                own.add(commit)
        return frozenset(own)

    def _known_times(self) -> Sequence[_Time]:
        if self._times is None:
            state = self._workspace.state
            runs = state.run_ids()[-MOST_RUNS:]
            self._times = [
                time for run in runs for time in _times_in(run, state.run(run).folder / NAME)
            ]
        return self._times

    def _read(self, commits: Sequence[str]) -> Iterator[tuple[str, int, int, list[str]]]:
        options = ("--no-walk=unsorted", "-z", "--format=%H %ct %at %P", "--no-show-signature")
        try:
            printed = run_git(self._workspace.root, "log", *options, *commits, "--")
        except RalphError:
            # Gone since.
            return
        for line in printed.decode("ascii", "replace").split("\0"):
            match line.split():
                case [commit, made_at, written_at, *parents]:
                    yield commit, int(made_at), int(written_at), parents
                case _:
                    pass


def _is_in(times: Collection[_Time], moment: int, latest: float) -> bool:
    return moment <= latest and any(one.begun <= moment <= one.ended for one in times)


def _seconds_of(span: TraceSpan, read_at: int) -> tuple[int, int]:
    """A commit's time is cut to seconds."""
    return int(span.start), read_at if span.end is None else int(span.end)


def _times_in(run: str, path: Path) -> Iterator[_Time]:
    try:
        data = read_regular(path, LARGEST) or b""
    except StateUnusable:
        return
    lines = data.decode("utf-8", errors="replace").splitlines()
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, KeyError):
            found = json.loads(line)
            start = int(found["start"])
            yield from [_Time(run, start, int(one), int(end)) for one, end in found["times"]]


SHOWN_COMMITS = 3

PIPED_FILES = 200
"""Changed files that are held against what was written to a pipe."""


class WorktreeInspector:
    """What one run's engine sees of the work tree."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self.workspace = workspace
        self._clock = clock
        self._restorations = RestorationCommits(workspace)
        self._own_commits = AgentCommits(workspace)
        self.repository = RepositoryMonitor(workspace.worktree)
        self._cache = worktree_state.GitStateCache()
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
            self._may_trace = not worktree_state.is_traced(self.workspace.root)
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
        return worktree_state.take_baseline(
            place.root,
            place.git_dir,
            place.common_dir,
            own=self.workspace.own_files,
            cache=self._cache,
            by_content=self.workspace.config.commits is Committer.LOOP,
        )

    def with_git_trace(self, environment: Mapping[str, str], start: int) -> dict[str, str]:
        """The agent's environment, in which its git says what it does.

        Where this machine's settings have git traced, that stays as it is.
        """
        if not self._may_trace:
            return dict(environment)
        return with_git_trace(environment, self._trace(start))

    def forget(self, start: int) -> None:
        """Remove what is only needed while an iteration may be read again."""
        forget_trace(self._trace(start))

    def listen(self, effect: ReadIteration, run: RunState) -> CommitAncestry | None:
        """What the iteration's git did; None where that proves nothing of anybody's commits."""
        if run.current is None:
            return None
        folder, began = self._trace(effect.start), run.current.started.at
        descent = read_ancestry(folder, began=began, read_at=self._clock.now())
        if descent is not None and descent.writes:
            self._trace_reaches = True
            self._own_commits.remember(effect.start, descent)
        return descent if self._trace_reaches else None

    def commits(
        self,
        effect: ReadIteration,
        run: RunState,
        descent: CommitAncestry | None,
        *,
        until: float | None = None,
        left_at: str | None = None,
    ) -> IterationCommits:
        """The commits since the iteration's baseline, and whose they are.

        ``until`` as for ``changes``; ``left_at`` is HEAD as agent and engine left it, where that
        is known: what was committed on top is the user's.
        """
        place, base = self.workspace.worktree, effect.baseline
        head = worktree_state.read_head(place.git_dir, place.common_dir)
        if head.commit is None or head.commit == base.head:
            return IterationCommits(base=base.head, head=head.commit)
        since = None if run.current is None else run.current.started.at
        if head.branch == base.branch and is_ancestor(place.root, base.head, head.commit):
            since = None
        found = self._made(base.head, head.commit, since=since, descent=descent)
        after: Sequence[CommitPaths] = ()
        if left_at is not None and left_at != head.commit:
            after = self._made(left_at, head.commit, since=None, descent=None)
        recent = [one for one in found if until is not None and one.made_at > until]
        later = frozenset(one.seen.hash for one in (*after, *recent))
        ours = self._restorations.hashes()
        owned = owners_of(found, descent, place.common_dir / "objects")
        doubtful = [one.seen.hash for owner, one in owned if owner is not CommitOwner.AGENT]
        own = self._made_before(doubtful, run) - later
        return IterationCommits(
            base=base.head,
            head=head.commit,
            made=tuple(
                (_owner(one.seen.hash, owner, own=own, later=later), one)
                for owner, one in owned
                if one.seen.hash not in ours
            ),
            ours=frozenset(one.seen.hash for one in found) & ours,
        )

    def _made(
        self, old: str | None, new: str, *, since: datetime | None, descent: CommitAncestry | None
    ) -> list[CommitPaths]:
        return commits_between(
            self.workspace.root,
            old,
            new,
            counts=lambda _: True,
            since=since,
            is_persons=no_user_commit if descent is None else descent.is_persons,
        )

    def changes(
        self,
        effect: ReadIteration,
        run: RunState,
        after: Baseline,
        touched: tuple[str, ...],
        *,
        descent: CommitAncestry | None,
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
            is_persons=_is_users(descent, until),
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
        """The same changes, without commits of the user that the agent has made before."""
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
        known = ChangeContext(
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
        made = find_commit(self.workspace, since=effect.baseline.head, start=effect.start)
        return ours if made is None or made.commit is None else ours | {made.commit}

    def _trace(self, start: int) -> Path:
        return self.workspace.files.folder / f"trace-{start:03d}"


def _is_users(known: CommitAncestry | None, until: float | None) -> IsUserCommit:
    """Whose a commit is, by its time."""
    by_descent = no_user_commit if known is None else known.is_persons
    if until is None:
        return by_descent
    last = until
    return lambda made_at: made_at > last or by_descent(made_at)


def emit_user_commits(found: Changes) -> tuple[Notice, ...]:
    """Report what the user committed while the agent worked."""
    commits = [commit for commit in found.commits if commit.by_person]
    if not commits:
        return ()
    shown = some_of([f"{commit.hash[:7]} {commit.subject}" for commit in commits], SHOWN_COMMITS)
    message = f"you committed while the agent worked, which is not its progress: {shown}"
    return (Notice(code="person-committed", message=message),)


def _owner(
    commit: str, owner: CommitOwner, *, own: Collection[str], later: Collection[str]
) -> CommitOwner:
    """Whose a commit is: the agent's if it is among ``own``, the user's if it is ``later``."""
    if commit in later:
        return CommitOwner.USER
    return CommitOwner.AGENT if commit in own else owner
