"""Reading of an ended iteration: the agent's report, the changes, and the finished tasks.

Forbidden changes are restored first, so that they are neither evidence nor progress; then the tree
is compared with the iteration's baseline, the plan with the one that the iteration began with.
An iteration that another engine began is settled by what that engine left behind
(docs/rules.md#recovery). Slow parts run in threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from ralph_ls.core.loop.effects import ReadIteration
from ralph_ls.core.loop.evidence.ownership import Ownership
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import IterationRead, Notice
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.git_delivery import emit_leftovers, undelivered_work
from ralph_ls.engine.git.history import CommitAncestry
from ralph_ls.engine.guard.guard import FinishedIteration, Guard, GuardRestoration
from ralph_ls.engine.iteration.agent_output import AgentOutput, emit_denials, watched_iteration
from ralph_ls.engine.iteration.agent_process import AgentProcess
from ralph_ls.engine.iteration.inherited_changes import (
    InheritedChanges,
    InheritedIteration,
    emit_issues_left,
)
from ralph_ls.engine.iteration.plan_memory import PlanMemory
from ralph_ls.engine.iteration.validation import CriteriaVerification, ScriptValidation
from ralph_ls.engine.iteration.worktree_inspector import WorktreeInspector, emit_user_commits
from ralph_ls.engine.plan.source import WatchedIteration, WrittenPlan
from ralph_ls.engine.worktree.workspace import (
    PlanEdits,
    Workspace,
    emit_plan_edits,
    find_plan_edits,
)
from ralph_ls.protocol.run.events import AgentExited
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline, Mode, ReviewSeen, TaskRef
from ralph_ls.store.run.halt_files import load_halt_files

KEPT_ERRORS = 200
"""Error lines of one iteration that are passed on; a flood says nothing more."""


@dataclass(slots=True)
class PreviousIteration:
    """The iteration that was read last, as the next one and a commit or rollback need it."""

    after: tuple[Baseline, str] | None = None
    """The tree and the plan as it left them, and all that was done since."""
    inherited: InheritedIteration | None = None
    """As its own engine left it, where that is not this one."""
    restored: frozenset[str] = frozenset()
    """Guarded paths that were restored after it."""
    exit: AgentExited | None = None
    """The end of its agent."""
    done: tuple[str, ...] = ()
    """Ids of the tasks that it finished."""

    @property
    def users(self) -> frozenset[str]:
        """The changed paths that are not the agent's, where another engine began it."""
        return _users(self.inherited)

    def agent_tree(self, after: Baseline) -> Baseline:
        """The tree with the agent's changes alone, of a tree ``after`` it."""
        return after if self.inherited is None else self.inherited.tree


@dataclass(frozen=True, slots=True, kw_only=True)
class _EndedIteration:
    """An iteration after its guarded files were restored: output, tree and plan."""

    effect: ReadIteration
    run: RunState
    output: AgentOutput
    watched: WatchedIteration
    restoration: GuardRestoration
    inherited: InheritedIteration | None
    ancestry: CommitAncestry | None
    read_at: datetime
    """When tree and plan were read."""
    after: Baseline
    agent_tree: Baseline
    """The same with the agent's changes alone."""
    plan_before: str
    current_plan: str
    is_plan_users: bool

    @property
    def plan(self) -> str:
        """The plan as the agent left it; one that the user has changed since is as it was found."""
        return self.plan_before if self.is_plan_users else self.current_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class _TaskChanges:
    """Which tasks the iteration finished or moved, under which names."""

    done: tuple[str, ...]
    closed: tuple[str, ...]
    """Those of ``done`` that the user has not ticked."""
    moved: tuple[str, ...]
    titles: Mapping[str, str]
    """Titles of those of ``closed`` for which the iteration was not started."""
    review: ReviewSeen | None
    """The review that the agent gave."""
    renamed: Mapping[str, TaskRef]
    edits: PlanEdits
    notices: tuple[Notice, ...]


class IterationReader:
    """Reads the iterations of one run for its engine."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        inspector: WorktreeInspector,
        guard: Guard,
        plan: PlanMemory,
        agent: AgentProcess,
        validation: ScriptValidation,
    ) -> None:
        self._workspace = workspace
        self._source = workspace.source
        self._clock = clock
        self._inspector = inspector
        self._guard = guard
        self._plan = plan
        self._agent = agent
        self._validation = validation
        self._inheriting = InheritedChanges(workspace, workspace.last_look)
        self.last = PreviousIteration()

    async def read(self, effect: ReadIteration, run: RunState) -> IterationRead:
        """Read what the agent reported and what changed since the iteration's baseline."""
        self.last.exit = None if run.current is None else run.current.exit
        output, unblocked = await asyncio.to_thread(self._read_output, effect, run)
        inherited = await self._inherit(effect, run, output.touched)
        if inherited is not None and inherited.ownership.is_disputed:
            return IterationRead(ownership=inherited.ownership)
        ended = await self._restore_and_look(effect, run, output, inherited, unblocked)
        found = await asyncio.to_thread(
            self._inspector.changes,
            effect,
            run,
            ended.agent_tree,
            output.touched,
            descent=ended.ancestry,
            until=None if ended.inherited is None else ended.inherited.until,
            undone=ended.restoration.undone,
        )
        tasks = await self._follow_tasks(ended, found)
        verified = await self._verify(ended, (*tasks.closed, *tasks.moved))
        if verified.verifications:
            # What the commands left behind is no work of the next iteration's agent.
            ended = replace(ended, after=await asyncio.to_thread(self._inspector.look))
            self._inheriting.wrote(self._source.own_files)
        plan_text = ended.current_plan if ended.is_plan_users else verified.text
        self.last.after = (ended.after, plan_text)
        self.last.inherited = ended.inherited
        return await asyncio.to_thread(self._result, ended, found, tasks, verified, plan_text)

    def _read_output(
        self, effect: ReadIteration, run: RunState
    ) -> tuple[AgentOutput, GuardRestoration]:
        """Read the agent's output, and make git usable where the agent blocked it; blocks."""
        return self._agent.output.read(effect, run), self._guard.unblock_git(effect.start)

    async def _restore_and_look(
        self,
        effect: ReadIteration,
        run: RunState,
        output: AgentOutput,
        inherited: InheritedIteration | None,
        unblocked: GuardRestoration,
    ) -> _EndedIteration:
        """Restore what the agent may not have changed, then read the tree and the plan."""
        is_plan_users = self._is_plan_users(effect, inherited)
        today = self._clock.local().date().isoformat()
        watched = watched_iteration(run, output.reading.promises, today)
        ancestry = await asyncio.to_thread(self._inspector.listen, effect, run)
        restoration = unblocked
        if not is_plan_users:
            restoration = await self._restore(
                effect, run, watched, ancestry, inherited, touched=output.touched
            )
        self.last.restored = self._restored_paths(restoration)
        read_at = self._clock.now()
        after, current_plan = await asyncio.gather(
            asyncio.to_thread(self._inspector.look), asyncio.to_thread(self._source.read)
        )
        self._inheriting.wrote(self._written_by_guard(restoration, after))
        plan_before = self._plan.recall(current_plan)
        inherited = await self._inherit(effect, run, output.touched)
        return _EndedIteration(
            effect=effect,
            run=run,
            output=output,
            watched=watched,
            restoration=restoration,
            inherited=inherited,
            ancestry=ancestry,
            read_at=read_at,
            after=after,
            agent_tree=after if inherited is None else inherited.tree,
            plan_before=plan_before,
            current_plan=current_plan,
            is_plan_users=is_plan_users,
        )

    async def _follow_tasks(self, ended: _EndedIteration, found: Changes) -> _TaskChanges:
        """Find the finished tasks, and remember what tasks are called now."""
        before, text, names = ended.plan_before, ended.plan, self._plan.names
        only = names.only
        names.follow(before, text)
        finished = self._source.finished(before, text, task=only, now=names.only)
        reported = await asyncio.to_thread(self._guard.newly_reported)
        # Its own task counts as finished where there is evidence of work.
        own = ended.watched.task if self._shows_work(found) else None
        done = (
            *finished.tasks,
            *self._source.logged_as_finished(
                before, text, reported, task=only, own=own.id if own else None
            ),
        )
        renamed = names.settle()
        self._plan.attempts.remember(ended.run.attempts, renamed)
        began = None if ended.run.current is None else ended.run.current.started.at
        edits = find_plan_edits(self._workspace, before, text, since=self._plan.read_at or began)
        self._plan.read_at = ended.read_at
        closed = tuple(task for task in done if task not in edits.ticked)
        started_for = None if ended.watched.task is None else ended.watched.task.id
        return _TaskChanges(
            done=done,
            closed=closed,
            moved=tuple(task for task in finished.moved if task not in edits.moved),
            titles=self._source.titles(before, text, [one for one in closed if one != started_for]),
            review=next((one for one in finished.reviews if one.task not in edits.moved), None),
            renamed=renamed,
            edits=edits,
            notices=finished.notices,
        )

    async def _verify(self, ended: _EndedIteration, done: Collection[str]) -> WrittenPlan:
        """Run the commands that closed tasks name, and write the outcome into the plan."""
        verification = CriteriaVerification(self._agent.launcher, ended.effect)
        try:
            return await verification.close((ended.plan_before, ended.plan), ended.run, done)
        finally:
            self._agent.forget_process()

    def _result(
        self,
        ended: _EndedIteration,
        found: Changes,
        tasks: _TaskChanges,
        verified: WrittenPlan,
        plan_text: str,
    ) -> IterationRead:
        effect, run, output = ended.effect, ended.run, ended.output
        parsed, inherited, workspace = output.reading, ended.inherited, self._workspace
        if inherited is None:
            left = undelivered_work(workspace, run, effect, ended.after)
        else:
            left = inherited.left
        refuted = {one.task.id for one in verified.verifications if one.failed}
        found = self._inspector.kinds(
            replace(
                found,
                advanced=self._plan.advance(ended.plan, {*tasks.closed} - refuted),
                review=tasks.review,
                titles=tasks.titles,
            ),
            effect,
            run,
            edited=output.touched,
            finished=not refuted.issuperset(tasks.closed),
        )
        is_lost = effect.lost and not left and not found.commits
        is_due, notices = self._validation.look(found.paths, nothing=is_lost)
        facts = self._plan.facts(plan_text, effect, run, tasks.renamed)
        self.last.done = tuple(task for task in tasks.closed if task not in refuted)
        return IterationRead(
            report=parsed.report,
            promises=parsed.promises,
            halted=output.halted,
            completion_words=parsed.completion,
            claims=parsed.claims,
            errors=parsed.errors[:KEPT_ERRORS],
            error_patterns=parsed.error_patterns[:KEPT_ERRORS],
            without_output=not parsed.text.strip() and parsed.report is None,
            failed=parsed.failed,
            failure=parsed.why if output.failure is None else output.failure.text,
            failure_kind=None if output.failure is None else output.failure.kind,
            remedy=output.remedy,
            usage=output.usage,
            denied_tools=parsed.denied_tools,
            limit=output.limit,
            session=output.session,
            question=parsed.question,
            closing_words=parsed.closing_words,
            plan_changed=not tasks.edits.alone
            and ended.plan_before not in {ended.plan, workspace.redactor.redact(ended.plan)},
            changes=found,
            tasks_done=self.last.done,
            moved=tuple(task for task in tasks.moved if task not in refuted),
            reviewed=self._reviewed(ended),
            renamed=tasks.renamed,
            verified=verified.verifications,
            plan=self._guard.with_offence(facts, plan_text),
            ownership=Ownership() if inherited is None else inherited.ownership,
            left=left,
            halt=load_halt_files(workspace.root, workspace.config.paths),
            must_validate=is_due,
            reverted=ended.restoration.reverted,
            notices=(*notices, *self._notices(ended, found, tasks, verified)),
        )

    def _notices(
        self,
        ended: _EndedIteration,
        found: Changes,
        tasks: _TaskChanges,
        verified: WrittenPlan,
    ) -> tuple[Notice, ...]:
        workspace = self._workspace
        return (
            *ended.restoration.notices,
            *emit_issues_left(workspace, ended.effect),
            *self._source.left_undone(ended.plan_before, ended.plan, ended.watched),
            *emit_denials(ended.output),
            *self._agent.operations.notices(),
            *emit_user_commits(found),
            *self._source.remarks(ended.plan, report_changes=True),
            *tasks.notices,
            *verified.notices,
            *emit_plan_edits(tasks.edits, tasks.done),
            *emit_leftovers(
                workspace, ended.effect.baseline, ended.agent_tree, but=self.last.restored
            ),
            *self._agent.take_notices(self._plan.attempts.problem),
        )

    def _is_plan_users(self, effect: ReadIteration, inherited: InheritedIteration | None) -> bool:
        """Whether what changed in the plan is the user's, or may be."""
        return self._source.file in _users(inherited) or (
            effect.taken_up and self._workspace.issues_touched
        )

    async def _restore(
        self,
        effect: ReadIteration,
        run: RunState,
        watched: WatchedIteration,
        ancestry: CommitAncestry | None,
        inherited: InheritedIteration | None,
        *,
        touched: tuple[str, ...],
    ) -> GuardRestoration:
        """Restore what the agent may not have changed."""
        current, inspector = run.current, self._inspector
        until = None if inherited is None else inherited.until

        def has_evidence() -> bool:
            tree = inspector.look() if inherited is None else inherited.tree
            return self._shows_work(
                inspector.changes(effect, run, tree, touched, descent=ancestry, until=until)
            )

        finished = FinishedIteration(
            start=effect.start,
            watched=watched,
            began=None if current is None else current.started.at,
            commits=partial(
                inspector.commits,
                effect,
                run,
                ancestry,
                until=until,
                left_at=None if inherited is None else inherited.tree.head,
            ),
            has_evidence=has_evidence,
            users=_users(inherited),
            is_reported=current is not None and "guardReverted" in current.told,
        )
        return await asyncio.to_thread(self._guard.restore, finished)

    async def _inherit(
        self, effect: ReadIteration, run: RunState, named: tuple[str, ...]
    ) -> InheritedIteration | None:
        """The iteration as the engine left it that began it; None where that is this one."""
        if not effect.taken_up:
            return None
        now = await asyncio.to_thread(self._inspector.look)
        return await asyncio.to_thread(
            self._inheriting.inspect, run, now, named=named, order=effect.order
        )

    def _shows_work(self, found: Changes) -> bool:
        """Whether files other than the plan and the log of finished tasks were changed."""
        workspace = self._workspace
        own = {*workspace.source.own_files, workspace.plan_path, workspace.config.paths.progress}
        return bool({*found.paths} - own)

    def _restored_paths(self, restoration: GuardRestoration) -> frozenset[str]:
        """The restored files; a plan in several may be restored as a whole."""
        paths = {one.path for one in restoration.reverted}
        is_whole = self._workspace.plan_path in paths
        return frozenset(paths | {*(self._source.own_files if is_whole else ())})

    def _written_by_guard(self, restoration: GuardRestoration, after: Baseline) -> tuple[str, ...]:
        """The restored paths that differ from HEAD; a committed one is no change any more."""
        own = after.own | after.dirty
        committed = {one.path for one in restoration.reverted if one.commit is not None}
        paths = self._restored_paths(restoration)
        return tuple(path for path in paths if path not in committed or path in own)

    def _reviewed(self, ended: _EndedIteration) -> tuple[str, ...]:
        current = ended.run.current
        if current is None or current.started.mode is not Mode.PLAN:
            return ()
        return self._source.reviewed(ended.plan_before, ended.plan, ended.effect.skip)


def _users(inherited: InheritedIteration | None) -> frozenset[str]:
    """The changed paths that are not the agent's, where another engine began the iteration."""
    return frozenset() if inherited is None else inherited.ownership.not_agents
