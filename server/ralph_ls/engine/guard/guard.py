"""The guard: what the agent may not change is remembered, and restored after each iteration.

Settings, prompts, the validation script and whatever else ``ralph allow`` covers stay as they were
when the iteration began (``engine.guarded_files``); so does what ``core.plan.comparing.guard``
protects in the plan. The work tree comes first, then what was committed
(``engine.guarding_history``). The whole file as the agent left it is kept in the run's folder, so
nothing that somebody wrote is lost.

What changed while the agent ran is the agent's, unless the user committed it, or their editor
reported a save (``store.saves``). An engine that takes over from a killed one has not seen the
beginning: it knows the plan alone.

Slow, for files are read: call it in threads. It must never judge progress; it runs before evidence
is looked for, so what it restored is none.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice, PlanFacts, RevertedChange
from ralph_ls.core.plan.diff.pairing import is_unfinished
from ralph_ls.core.plan.model import LARGEST_PLAN, MOST_LINES, Task
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.restoration_commits import RestorationCommits, same_lines
from ralph_ls.engine.git.history import IterationCommits
from ralph_ls.engine.guard.branch_guard import (
    BranchGuard,
    GuardReport,
    KnownPlan,
    became_binary,
)
from ralph_ls.engine.guard.committed_plan import CommittedPlan
from ralph_ls.engine.guard.folder_guard import FolderGuard
from ralph_ls.engine.guard.protected_files import DisplacedFiles, GitFiles, ProtectedFiles
from ralph_ls.engine.plan.source import GuardedPlan, WatchedIteration
from ralph_ls.engine.plan.structured import FolderSource
from ralph_ls.engine.worktree.workspace import Workspace, saves_of
from ralph_ls.protocol.errors import PlanMissing, RalphError, StateUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.files import (
    ChangedMeanwhile,
    printable_path,
    read_if_there,
    read_regular,
    write_atomic,
)
from ralph_ls.store.project.plan_file import text_hash
from ralph_ls.store.project.plan_folder import read_plan_file
from ralph_ls.store.project.trust import LARGEST_FILE

SHOWN_TASKS = 50

SHOWN_WHY = 1000
"""Characters of what is said of one kind of offence."""

UNREADABLE_PLAN = (
    f"the plan must stay a regular file of at most {LARGEST_PLAN >> 20} MB and {MOST_LINES:,} lines"
)
"""What an agent broke that left something in the plan's place that cannot be read as one."""

MERGES = 20
"""Attempts to guard the plan again because another process was quicker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardRestoration:
    """What was restored after one iteration."""

    reverted: tuple[RevertedChange, ...] = ()
    notices: tuple[Notice, ...] = ()
    """Why, where the kind alone does not say it."""
    undone: frozenset[str] = frozenset()
    """The agent's commits of which nothing is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedIteration:
    """An iteration whose agent is gone, as the guard has to know it."""

    start: int
    watched: WatchedIteration
    began: datetime | None
    """When it did, where this engine has not seen that."""
    commits: Callable[[], IterationCommits]
    """Looks at what was committed since."""
    has_evidence: Callable[[], bool]
    """Looks whether files other than the plan and the log of finished tasks were changed."""
    users: frozenset[str] = frozenset()
    """Changed paths that are not the agent's, where another engine began the iteration."""
    is_reported: bool = False
    """What an engine that died had restored is in the journal already."""


class Guard:
    """What one run's engine protects."""

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._history = BranchGuard(workspace, RestorationCommits(workspace))
        self._files = ProtectedFiles(workspace, self._history)
        self._committed = CommittedPlan(workspace)
        self._git_files = GitFiles(workspace.root)
        self._unblocked: tuple[RevertedChange, ...] = ()
        self._since: datetime | None = None
        """What people save later is new."""
        self._plan: bytes | None = None
        """The plan's file."""
        self._text: str | None = None
        """The plan's text; None: this engine saw no beginning."""
        self._progress = ""

    def remember(self, text: str) -> None:
        """Take everything as it is: an iteration begins, with this text of the plan."""
        if not self._workspace.config.guard.enabled:
            return
        self._since = self._clock.now()
        self._files.remember()
        self._text = text
        # A plan that the user has linked from elsewhere is not ours to write.
        self._plan = self._plan_inside()
        self._committed.begin(text)
        self._progress = self._read_progress()
        self._git_files.remember()

    def unblock_git(self, start: int) -> GuardRestoration:
        """Take out of git's way what it would wait for, before it is asked anything.

        Raises ``StateUnusable`` where that cannot be done.
        """
        if not self._workspace.config.guard.enabled:
            return GuardRestoration()
        self._unblocked = self._git_files.restore(DisplacedFiles(self._workspace, start))
        return GuardRestoration(reverted=self._unblocked)

    def became(self, text: str) -> None:
        """The plan's text became this by our own hand, before the agent began."""
        if self._text is not None:
            self._text = text

    def restore(self, settled: FinishedIteration) -> GuardRestoration:
        """Restore what the agent may not have changed, and say what that was.

        First in the work tree, then in the branch. Raises ``StateUnusable`` where a file cannot be
        written, and ``RalphError`` where git cannot be asked.
        """
        if not self._workspace.config.guard.enabled:
            return GuardRestoration()
        keeper = DisplacedFiles(self._workspace, settled.start)
        self._since = self._since or settled.began
        commits = settled.commits()
        guarded = self._files.paths(path for _, made in commits.made for path in made.paths)
        files = tuple(self._files.restore(keeper, commits, since=self._since))
        source = self._workspace.source
        known: KnownPlan | None = None
        if source.file is not None:
            plan, known = self._plan_back(keeper, settled, commits)
        elif isinstance(source, FolderSource):
            plan, known = self._folder_back(source, keeper, settled, commits)
        else:
            plan = self._issues_back(keeper, settled.watched)
        reverted = (*files, *plan.reverted)
        recalled: tuple[RevertedChange, ...] = ()
        if not settled.is_reported:
            recalled = self._history.recall(settled.start, commits)
        done = self._history.restore(
            settled.start,
            settled.commits,
            guarded,
            known,
            (*reverted, *recalled),
        )
        return GuardRestoration(
            reverted=(*self._unblocked, *done.reverted),
            notices=(*plan.notices, *done.notices),
            undone=done.undone,
        )

    def with_offence(self, facts: PlanFacts, text: str) -> PlanFacts:
        """The facts with the reason why HEAD keeps the run from being complete, where it could be.

        ``text`` is the plan as it is in the work tree.
        """
        if facts.counts.open_required:
            return facts
        return replace(facts, committed_offence=self.committed_offence(text))

    def committed_offence(self, text: str) -> str:
        """Why no completion is accepted for what the plan in HEAD holds; empty where none is.

        ``text`` is the plan as it is in the work tree.
        """
        if not self._workspace.config.guard.enabled:
            return ""
        return self._committed.offence(text, self._read_progress())

    def _plan_back(
        self, keeper: DisplacedFiles, settled: FinishedIteration, commits: IterationCommits
    ) -> tuple[GuardRestoration, KnownPlan | None]:
        """The second value is what the plan in HEAD is judged by; None: nothing is known."""
        path = self._workspace.plan_path
        before, is_gone = self._plan_of_user(path, commits)
        if is_gone:
            # The run says so.
            return GuardRestoration(), None
        watched = replace(settled.watched, finished=self.newly_reported())
        if before is None:
            return GuardRestoration(), KnownPlan(path=path, before=None, seen=watched)
        target = self._workspace.root / path
        for _ in range(MERGES):
            fresh = KnownPlan(
                path=path, before=before, seen=watched, reporter=self._reporter(keeper)
            )
            data = self._plan_inside()
            if data is None:
                return self._as_before(keeper, fresh, before)
            if same_lines(data, before):
                return GuardRestoration(), fresh
            decided, is_persons = self._decided(before, data)
            if is_persons:
                return GuardRestoration(), None
            watched = replace(watched, decided=decided)
            guarded, watched = self._guarded(before, data, watched, settled)
            if not guarded.offences:
                return GuardRestoration(notices=guarded.notices), replace(fresh, seen=watched)
            if became_binary(before, data):
                # Tasks inserted into binary data would be a plan that no start accepts.
                return self._as_before(keeper, fresh, before)
            try:
                write_atomic(target, _encode(guarded.text), expected=data)
            except ChangedMeanwhile:
                continue
            back = self._told(guarded, keeper, keeper.keep(path, data))
            return back, replace(fresh, reporter=None, seen=watched)
        raise StateUnusable(
            f"another program keeps writing the plan {target}; stop it, then continue with: ralph "
            "run --resume"
        )

    def _plan_of_user(self, path: str, commits: IterationCommits) -> tuple[bytes | None, bool]:
        """The plan as the agent got it or the user committed it; True: the user took it away."""
        before, version = self._plan_before(), self._history.version_of_user(path, commits)
        if version is None:
            return before, False
        return version.data, version.data is None

    def _plan_inside(self) -> bytes | None:
        """The plan as it is; None for one outside of the work tree."""
        return None if self._leads_out() else self._read_plan()

    def _as_before(
        self, keeper: DisplacedFiles, known: KnownPlan, before: bytes
    ) -> tuple[GuardRestoration, KnownPlan]:
        """The whole plan as it was, and what the plan in HEAD is judged by then."""
        back = self._whole_plan_back(keeper, self._workspace.root / known.path, before)
        return GuardRestoration(reverted=(back,)), replace(known, reporter=None)

    def _guarded(
        self, before: bytes, data: bytes, watched: WatchedIteration, settled: FinishedIteration
    ) -> tuple[GuardedPlan, WatchedIteration]:
        """The plan as it may be, and the iteration with the evidence that this took.

        Evidence is slow to gather, so it is asked for only where the answer depends on it.
        """
        source = self._workspace.source
        guarded = source.guarded(_decode(before), _decode(data), watched)
        if _drops_own(guarded, watched) and settled.has_evidence():
            watched = replace(watched, has_evidence=True)
            guarded = source.guarded(_decode(before), _decode(data), watched)
        return guarded, watched

    def _reporter(self, keeper: DisplacedFiles) -> Callable[[GuardedPlan, bytes], GuardReport]:
        """Reports offences that only HEAD has."""

        def told(guarded: GuardedPlan, data: bytes) -> GuardReport:
            back = self._told(guarded, keeper, keeper.keep(self._workspace.plan_path, data))
            return back.reverted, back.notices

        return told

    def _issues_back(self, keeper: DisplacedFiles, seen: WatchedIteration) -> GuardRestoration:
        """As ``_plan_back``, where the plan is no file."""
        source = self._workspace.source
        before = self._text_before()
        if before is None:
            return GuardRestoration()
        return self._told(source.guarded(before, source.read(), seen), keeper, None)

    def _folder_back(
        self,
        source: FolderSource,
        keeper: DisplacedFiles,
        settled: FinishedIteration,
        commits: IterationCommits,
    ) -> tuple[GuardRestoration, KnownPlan | None]:
        """As ``_plan_back``, where the plan is in several files."""
        before = self._text_before()
        if before is None:
            return GuardRestoration(), None
        guard = FolderGuard(
            self._workspace, source, self._history, keeper, commits, since=self._since
        )
        done = guard.restore(before, settled.watched, settled.users)
        plan = self._told(done.guarded, keeper, done.kept)
        reporter = None if done.guarded.offences else self._reporter(keeper)
        reverted = (*done.reverted, *plan.reverted)
        return replace(plan, reverted=reverted), replace(done.known, reporter=reporter)

    def _decided(self, before: bytes, after: bytes) -> tuple[frozenset[tuple[str, str]], bool]:
        """What people did to the plan that an agent may not, and whether all of it is theirs."""
        saves = saves_of(self._workspace, self._workspace.plan_path, since=self._since)
        reached, now = (text_hash(_decode(data)) for data in (before, after))
        for save in saves:
            reached = save.sha256 if save.before == reached else reached
        decided = frozenset(one for save in saves for one in save.decided)
        return decided, bool(saves) and reached == now

    def _plan_before(self) -> bytes | None:
        """The plan as the iteration began; None where it is not known as it was, sign by sign."""
        if self._files.saw_beginning:
            return self._plan
        data = read_if_there(self._workspace.files.plan_before)
        return None if data is None or b"[redacted " in data else data

    def _text_before(self) -> str | None:
        """The plan's text as the iteration began; as ``_plan_before``."""
        if self._text is not None:
            return self._text
        data = read_if_there(self._workspace.files.plan_before)
        is_whole = data is not None and b"[redacted " not in data
        return data.decode("utf-8", errors="replace") if data is not None and is_whole else None

    def _whole_plan_back(
        self, keeper: DisplacedFiles, target: Path, before: bytes
    ) -> RevertedChange:
        was_replaced = os.path.lexists(target)
        try:
            keeper.clear_way(target)
            if os.path.lexists(target):
                keeper.move_away(target, is_copied=False)
        except OSError as error:
            raise StateUnusable(
                f"the plan {target} is gone and cannot be restored: {error.strerror or error}; "
                f"restore it, for example with: git checkout -- {self._workspace.plan_path}"
            ) from error
        write_atomic(target, before)
        plan = self._workspace.source.plan(before.decode("utf-8", errors="replace"))
        tasks = [task for task in plan.tasks if is_unfinished(task)]
        return RevertedChange(
            path=printable_path(self._workspace.plan_path),
            what=Forbidden.DELETED,
            tasks=_references(tasks),
            n_tasks=len(tasks),
            why=UNREADABLE_PLAN if was_replaced else None,
        )

    def _told(
        self, guarded: GuardedPlan, keeper: DisplacedFiles, kept: str | Mapping[str, str] | None
    ) -> GuardRestoration:
        """One for each file and kind, with all the tasks that it is about.

        ``kept`` is where the agent's version is, or that of each file.
        """
        reverted: list[RevertedChange] = []
        plan = self._workspace.plan_path
        found = dict.fromkeys((one.path, one.what) for one in guarded.offences)
        for path, what in sorted(found, key=lambda one: (one[0], [*Forbidden].index(one[1]))):
            same = [one for one in guarded.offences if (one.path, one.what) == (path, what)]
            agents = "\n\n".join(offence.text for offence in same if offence.text)
            tasks = [offence.task for offence in same if offence.task is not None]
            why = "; ".join(offence.why for offence in same if offence.why)
            reverted.append(
                RevertedChange(
                    path=printable_path(path or plan),
                    what=what,
                    tasks=tuple(tasks[:SHOWN_TASKS]),
                    n_tasks=len(tasks),
                    text=keeper.shown(_encode(agents)),
                    kept=kept.get(path) if isinstance(kept, Mapping) else kept,
                    why=why[:SHOWN_WHY] or None,
                )
            )
        return GuardRestoration(reverted=tuple(reverted), notices=guarded.notices)

    def _leads_out(self) -> bool:
        root = self._workspace.root
        real = Path(os.path.realpath(root / self._workspace.plan_path))
        return not real.is_relative_to(os.path.realpath(root))

    def _read_plan(self) -> bytes | None:
        """None where there is no plan, or nothing that can be read as one."""
        try:
            return read_plan_file(self._workspace.root / self._workspace.plan_path)
        except PlanMissing:
            return None

    def _read_progress(self) -> str:
        try:
            target = self._workspace.root / self._workspace.config.paths.progress
            return (read_regular(target, LARGEST_FILE) or b"").decode("utf-8", errors="replace")
        except RalphError:
            return ""

    def newly_reported(self) -> str:
        """The lines that PROGRESS.md got since the iteration began."""
        new = Counter(self._read_progress().splitlines())
        return "\n".join((new - Counter(self._progress.splitlines())).elements())


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


def _references(tasks: list[Task]) -> tuple[TaskRef, ...]:
    return tuple(TaskRef(id=task.id, title=escape_surrogates(task.title)) for task in tasks)[
        :SHOWN_TASKS
    ]


def _drops_own(guarded: GuardedPlan, seen: WatchedIteration) -> bool:
    """Whether the iteration's own task is gone, which may be logged in other words."""
    dropped = {
        one.task.id for one in guarded.offences if one.what is Forbidden.DROPPED and one.task
    }
    return seen.task is not None and seen.task.id in dropped
