"""Work of an iteration: prepare it, run its agent, read its end, validate, deliver or undo.

Slow and blocking parts (git, parsing, hashing) run in threads, so that commands are taken at any
time. The tree and the plan at the end of an iteration are the beginning of the next one, so git is
asked once for both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from ralph_ls.core.loop.effects import (
    ClaimTask,
    CommitWork,
    JudgeWork,
    LaunchAgent,
    NoteSetAside,
    PrepareIteration,
    PushWork,
    ReadIteration,
    SetTaskAside,
    UndoWork,
    Validate,
)
from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    IterationRead,
    Prepared,
    TaskClaimed,
    ValidationFinished,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.rules import attempts
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.git_delivery import GitDelivery
from ralph_ls.engine.delivery.iteration_rollback import IterationRollback
from ralph_ls.engine.guard.guard import Guard
from ralph_ls.engine.iteration.agent_logs import exit_code_of, log_messages
from ralph_ls.engine.iteration.agent_process import AgentProcess
from ralph_ls.engine.iteration.health import Health
from ralph_ls.engine.iteration.iteration_reader import IterationReader
from ralph_ls.engine.iteration.judge import IterationJudge
from ralph_ls.engine.iteration.lessons import RunLessons
from ralph_ls.engine.iteration.plan_memory import PlanMemory
from ralph_ls.engine.iteration.validation import ScriptValidation
from ralph_ls.engine.iteration.worktree_inspector import WorktreeInspector
from ralph_ls.engine.process import running_process
from ralph_ls.engine.worktree.keeper import TreeKeeper
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import JudgeVerdict
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline, Mode
from ralph_ls.store.external.supervisor import current


class IterationWork:
    """Iterations of one run, as the effect runner orders them."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        emit: Callable[[AnnouncementDone | AgentCalled], None] | None = None,
        keeper: TreeKeeper | None = None,
    ) -> None:
        """``emit`` takes warnings and usage while the agent works."""
        self._workspace = workspace
        self._source = workspace.source
        self._clock = clock
        self._inspector = WorktreeInspector(workspace, clock=clock)
        self._health = Health(workspace)
        self._guard = Guard(workspace, clock=clock)
        self._plan = PlanMemory(workspace)
        self._plan_lock = asyncio.Lock()
        """Held while the engine itself writes the plan, beside the loop."""
        self._lessons = RunLessons(workspace)
        self._agent = AgentProcess(
            workspace,
            lessons=self._lessons,
            clock=clock,
            inspector=self._inspector,
            emit=emit,
            keeper=TreeKeeper() if keeper is None else keeper,
        )
        self._delivery = GitDelivery(self._agent.launcher, clock)
        self._validation = ScriptValidation(self._agent.launcher)
        self._judge = IterationJudge(
            self._agent.launcher,
            self._inspector.look,
            lambda messages, dialect: log_messages(self.log, messages, dialect),
        )
        self._reader = IterationReader(
            workspace,
            clock=clock,
            inspector=self._inspector,
            guard=self._guard,
            plan=self._plan,
            agent=self._agent,
            validation=self._validation,
        )
        self._last = self._reader.last
        self.log = self._agent.log
        self.tools = self._agent.tools

    async def prepare(self, effect: PrepareIteration, run: RunState) -> Prepared:
        """Read the tree and the plan, and remember the plan to find out what becomes of it."""
        ordered, known = effect, run.attempts
        locked = await asyncio.to_thread(self._agent.locks.wait)
        if run.start == 0:
            self._validation.begin_run()
        if (counted := self._plan.attempts.read()) is not None:
            skip = attempts.skipped_without_mark(counted, self._workspace.config.attempts)
            effect, run = replace(effect, skip=skip), run.model_copy(update={"attempts": counted})
        async with self._plan_lock:
            refreshed = await asyncio.to_thread(self._source.refresh)
        if refreshed is not None:
            effect = replace(effect, reuse=False)
        baseline, text = await self._tree_and_plan(effect)
        prepared = await asyncio.to_thread(self._prepared, effect, run, baseline, text)
        return replace(
            prepared,
            left_out=(*ordered.skip, *ordered.skipped),
            attempts=counted,
            attempts_before=known,
            locked=locked,
            notices=(*(refreshed or ()), *prepared.notices),
        )

    def _prepared(
        self, effect: PrepareIteration, run: RunState, baseline: Baseline, text: str
    ) -> Prepared:
        """The iteration's task and the state of the repository, by tree and plan; blocks."""
        self._guard.remember(text)
        self._plan.remember(text)
        self._plan.steps.begin(text, self._source.counts(text).total)
        unwell = self._health.check(baseline, is_first=run.start == 0)
        facts = self._plan.facts(text, effect, run, self._plan.names.renamed)
        facts = self._guard.with_offence(facts, text)
        task, mode = facts.next_task, self._source.mode(text, facts, run)
        unused = self._lessons.begin()
        return Prepared(
            baseline=baseline,
            plan=facts,
            mode=mode,
            must_claim=task is not None and self._source.must_claim(text, task),
            notices=(*unused, *unwell, *self._source.remarks(text, report_changes=False)),
            lessons=self._lessons.choose(None if mode is Mode.PLAN else task),
        )

    async def _tree_and_plan(self, effect: PrepareIteration) -> tuple[Baseline, str]:
        """As the last iteration left them, where that is known and may be used again."""
        last = self._last.after
        if effect.reuse and last is not None:
            return last
        self._plan.read_at = self._clock.now()
        async with self._plan_lock:
            baseline, text = await asyncio.gather(
                asyncio.to_thread(self._inspector.look), asyncio.to_thread(self._source.read)
            )
        if last is not None:
            self._plan.names.follow(last[1], text)
        return baseline, text

    async def claim(self, effect: ClaimTask) -> TaskClaimed:
        """Take the task of the iteration that was prepared; that is no change by its agent."""
        text = self._plan.text
        claimed = await asyncio.to_thread(self._source.claim, text, effect.task)
        if claimed.text != text:
            self._guard.became(claimed.text)
            self._plan.remember(claimed.text)
        return TaskClaimed(task=effect.task, refused=claimed.refused)

    async def launch(
        self, effect: LaunchAgent, run: RunState
    ) -> tuple[AgentLaunched, Awaitable[AgentFinished]]:
        """Start the agent; the second value is its end."""
        ready = await self._agent.prepare(effect, self._plan.text)
        if effect.attempt == 1:
            await self._begin(effect, run)
        return await self._agent.start(ready)

    async def _begin(self, effect: LaunchAgent, run: RunState) -> None:
        """Record what must be known of an iteration whose engine dies from here on."""
        await asyncio.to_thread(self._record_start, effect, run)
        self.log.begin(
            effect.start,
            effect.iteration,
            run.branch,
            self._clock.local(),
            mode=effect.context.mode,
            task=effect.context.task_id or None,
            tries=run.tries,
        )

    def _record_start(self, effect: LaunchAgent, run: RunState) -> None:
        if run.current is not None:
            self._rollback.remember(effect.start, run.current.started.baseline)
        self._source.started(effect, run, self._plan.open_text)
        self._plan.attempts.begin(run)

    def hold_clocks(self) -> None:
        """The agent waits for the user, which takes no time of its limits."""
        self._agent.hold_clocks()

    def release_clocks(self) -> None:
        """The agent waits no more."""
        self._agent.release_clocks()

    @property
    def _rollback(self) -> IterationRollback:
        return IterationRollback(self._workspace, self._clock)

    def damage(self, message: str) -> str | None:
        """What is wrong with the repository, in words; ``message`` is that of a failed effect."""
        return self._inspector.repository.damage(message)

    def stop(self) -> None:
        """End whatever runs now, with all its children; idempotent."""
        if not self._agent.is_stopping:
            self._source.hurry(running_process.STOP_SECONDS)
            current().end_in(running_process.POLL_SECONDS)
        self._delivery.stop()
        self._agent.stop()

    def leave_off(self) -> None:
        """Read nothing more for the next iteration: there is none."""
        self._source.stop()
        self._agent.locks.stop()

    async def read(self, effect: ReadIteration, run: RunState) -> IterationRead:
        """Read the end of an iteration."""
        return await self._reader.read(effect, run)

    def set_task_aside(self, effect: SetTaskAside) -> None:
        """Mark a task in the plan; raises a ``RalphError`` where it cannot be written."""
        text = self._source.set_aside(effect)
        self._delivery.wrote(self._source.own_files)
        if self._last.after is not None:
            self._last.after = (self._last.after[0], text)

    async def note_set_aside(self, effect: NoteSetAside) -> None:
        """Note in the plan that a task was set aside; the next preparation waits for that."""
        async with self._plan_lock:
            await asyncio.to_thread(self._source.note_set_aside, effect)

    async def validate(self, effect: Validate) -> ValidationFinished:
        """Run the validation scripts that are due, if they are still as they were allowed."""
        try:
            return await self._validation.run(effect)
        finally:
            self._agent.forget_process()
            await self._agent.check_approvals()

    async def judge(self, effect: JudgeWork, run: RunState) -> WorkJudged:
        """Have the work judged; tasks for which changes are requested are open again in the plan.

        A judge that cannot be started has no verdict, and ends no run.
        """
        before = self._plan.recall("")
        try:
            outcome = await self._judge.ask(effect, before)
        except RalphError as error:
            return WorkJudged(verdict=JudgeVerdict.CANNOT_TELL, reason=error.message, failed=True)
        finally:
            self._agent.forget_process()
            await self._agent.check_approvals()
        judged, report = outcome.judged, outcome.report
        if report is not None:
            async with self._plan_lock:
                opened = await asyncio.to_thread(self._judge.reopen, effect, report, before)
            if opened is not None:
                notices = (*judged.notices, *opened.notices)
                judged = replace(judged, reopened=opened.reopened, notices=notices)
        return await self._after_judge(effect, run, judged)

    async def _after_judge(
        self, effect: JudgeWork, run: RunState, judged: WorkJudged
    ) -> WorkJudged:
        """Read the tree and the plan again: they are the beginning of the next iteration."""
        if not judged.reopened and not judged.restored:
            return judged
        self._delivery.wrote(self._source.own_files)
        look, text = await asyncio.gather(
            asyncio.to_thread(self._inspector.look), asyncio.to_thread(self._source.read)
        )
        self._last.after = (look, text)
        self._last.done = tuple(one for one in self._last.done if one not in judged.reopened)
        facts = self._plan.facts(text, effect, run, self._plan.names.renamed)
        facts = await asyncio.to_thread(self._guard.with_offence, facts, text)
        return replace(judged, plan=facts)

    async def undo(self, effect: UndoWork, run: RunState) -> WorkUndone:
        """Roll the iteration back; the tree after that is the next one's beginning."""
        after, text = self._last.after or (effect.base, "")
        undone = await asyncio.to_thread(self._rollback.undo, effect, self._last.agent_tree(after))
        if undone.refused:
            return undone
        self._validation.undone()
        baseline, restored = await asyncio.gather(
            asyncio.to_thread(self._inspector.look), asyncio.to_thread(self._source.read)
        )
        self._plan.names.follow(text, restored)
        renamed = self._plan.names.settle()
        self._last.after = (baseline, restored)
        facts = self._plan.facts(restored, effect, run, renamed)
        facts = await asyncio.to_thread(self._guard.with_offence, facts, restored)
        return replace(undone, plan=facts)

    async def commit(self, effect: CommitWork) -> WorkCommitted:
        """Commit what the iteration changed; the tree after that is the next one's beginning."""
        last = self._last
        after, text = last.after or (effect.base, "")
        # A lock that stays makes the commit fail, and the next iteration wait for the user.
        await asyncio.to_thread(self._agent.locks.wait)
        committed = await self._delivery.commit(
            effect, last.agent_tree(after), restored=last.restored, users=last.users
        )
        last.after = (await asyncio.to_thread(self._inspector.look), text)
        return committed

    async def name_last_commit(self) -> None:
        """Complete the log of finished tasks, where the run ends between two iterations."""
        await asyncio.to_thread(self._delivery.name_last)

    async def push(self, effect: PushWork) -> WorkPushed:
        """Push the branch."""
        return await self._delivery.push(effect)

    def close_iteration(self, ended: IterationEnded) -> None:
        """Close the logs for people and write the summary's row."""
        self._inspector.forget(ended.start)
        self._agent.output.flush()
        self._source.iteration_ended(ended, self._last.done)
        self._source.settled()
        self.log.end(ended, self._clock.local(), exit_code=exit_code_of(self._last.exit))
        self._plan.attempts.settle(ended)

    def deliver(self) -> None:
        """Deliver what the plan keeps elsewhere; the run is over."""
        self._source.deliver()

    def forget_attempts(self, task: str) -> None:
        """Count no attempts at a task any more, in no run."""
        self._plan.attempts.forget(task)

    def finish(self, run: RunState | None = None) -> None:
        """Close what is open; ``run`` is the run at its end, if it has one."""
        self._agent.finish()
        if run is not None:
            self._plan.attempts.give_back(run.attempts)
        self._source.settled()
        self._agent.close()
