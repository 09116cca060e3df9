"""The work of one iteration: look, start the agent, read what came of it, validate, hand over.

Slow and blocking parts (git, parsing, hashing) run in threads, so that commands are taken at any
time. What was seen at the end of an iteration is the beginning of the next one, so git is asked
once for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.effects import (
    ClaimTask,
    CommitWork,
    LaunchAgent,
    NoteSetAside,
    PrepareIteration,
    PushWork,
    ReadIteration,
    SetTaskAside,
    UndoWork,
    Validate,
)
from ralph_ls.core.loop.evidence.ownership import Ownership
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    IterationRead,
    Notice,
    PlanFacts,
    Prepared,
    TaskClaimed,
    ValidationFinished,
    WorkCommitted,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.rules import attempts
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.delivery.git_delivery import GitDelivery, emit_leftovers, undelivered_work
from ralph_ls.engine.delivery.iteration_rollback import IterationRollback
from ralph_ls.engine.git.history import CommitAncestry
from ralph_ls.engine.guard.guard import FinishedIteration, Guard, GuardRestoration
from ralph_ls.engine.guard.protected_files import ApprovalsGuard
from ralph_ls.engine.iteration.agent_logs import exit_code_of, log_messages, log_output, make_log
from ralph_ls.engine.iteration.agent_output import (
    AgentOutputReader,
    emit_denials,
    watched_iteration,
)
from ralph_ls.engine.iteration.health import Health, Notices
from ralph_ls.engine.iteration.inherited_changes import InheritedChanges, InheritedIteration
from ralph_ls.engine.iteration.launch import (
    emit_agent_end,
    emit_launch,
    launch_of,
    leave_sandbox,
    prompt_of,
)
from ralph_ls.engine.iteration.plan_memory import PlanMemory, PlanSteps, SharedAttempts, TaskNames
from ralph_ls.engine.iteration.validation import CriteriaVerification, ScriptValidation
from ralph_ls.engine.iteration.worktree_inspector import WorktreeInspector, emit_user_commits
from ralph_ls.engine.plan.source import WatchedIteration, WrittenPlan
from ralph_ls.engine.process import running_process
from ralph_ls.engine.process.streams import OutputLimit, emit_output_cut
from ralph_ls.engine.sandbox.hook_socket import HookSocket
from ralph_ls.engine.sandbox.launch import LeaveBox
from ralph_ls.engine.worktree.git_locks import GitLocks, UnfinishedOperations
from ralph_ls.engine.worktree.keeper import TreeKeeper
from ralph_ls.engine.worktree.user_edits import emit_plan_edits, find_plan_edits
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.run.events import AgentExited, IterationEnded
from ralph_ls.protocol.run.messages import AgentMessage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline, Mode, TaskRef
from ralph_ls.store.external.supervisor import current
from ralph_ls.store.run.active_run import stop_state
from ralph_ls.store.run.halt_files import load_halt_files
from ralph_ls.store.run.logs import STDOUT

KEPT_ERRORS = 200
"""Error lines of one iteration that are passed on; a flood says nothing more."""


ISSUES_LEFT = Notice(
    code="issues-left-to-user",
    message=(
        "issues were changed in bd after the agent's end, so all that changed in them is left "
        "as it is, and counts for nothing in this iteration"
    ),
)


class IterationWork:
    """What the performer does for the iterations of one run."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        tell: Callable[[AnnouncementDone], None] | None = None,
        keeper: TreeKeeper | None = None,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._looking = WorktreeInspector(workspace, clock=clock)
        self._health = Health(workspace)
        self._guarding = Guard(workspace, clock=clock)
        self._process: running_process.RunningProcess | None = None
        self._after: tuple[Baseline, str] | None = None
        """The tree and the plan as the last iteration left them."""
        self._operations = UnfinishedOperations(workspace)
        self._plan = PlanMemory(workspace)
        self._source = workspace.source
        self._names = TaskNames(workspace.source)
        self._hearing = AgentOutputReader(workspace, clock=clock, tell=tell)
        self._approvals = ApprovalsGuard(workspace, tell=tell)
        self._notices = Notices()
        self._stopping = False
        self._writing = asyncio.Lock()
        """Held while the plan is written by our own hand, beside the loop."""
        self._attempts = SharedAttempts(workspace)
        self._exit: AgentExited | None = None
        """How the agent of the iteration that was read last came to its end."""
        self.log = make_log(workspace, clock)
        self._locks = GitLocks(workspace, clock=clock, tell=tell, log=self.log.write)
        hands = ProcessLauncher(
            workspace, self.log.write, self._has_begun, lambda: self._stopping, self._locks
        )
        self._handing_over = GitDelivery(hands, clock)
        self._validating = ScriptValidation(hands)
        self._undoing = IterationRollback(workspace, clock)
        self._put_back: frozenset[str] = frozenset()
        self._logged = OutputLimit()
        self._steps = PlanSteps()
        self._keeper = TreeKeeper() if keeper is None else keeper
        self._inheriting = InheritedChanges(workspace, workspace.last_look)
        self._hook_socket: HookSocket | None = None
        self._inherited: InheritedIteration | None = None
        """The open iteration as its own engine left it, where that is not this one."""

    async def prepare(self, effect: PrepareIteration, run: RunState) -> Prepared:
        """Look at the tree and the plan; remember the plan, to see later what became of it."""
        ordered, known = effect, run.attempts
        locked = await asyncio.to_thread(self._locks.wait)
        if run.start == 0:
            self._validating.begin_run()
        if (counted := self._attempts.read()) is not None:
            skip = attempts.skipped_without_mark(counted, self._workspace.config.attempts)
            effect, run = replace(effect, skip=skip), run.model_copy(update={"attempts": counted})
        if effect.reuse and self._after is not None:
            baseline, text = self._after
        else:
            self._plan.read_at = self._clock.now()
            async with self._writing:
                baseline, text = await asyncio.gather(
                    asyncio.to_thread(self._looking.look), asyncio.to_thread(self._source.read)
                )
            if self._after is not None:
                self._names.follow(self._after[1], text)
        await asyncio.to_thread(self._guarding.remember, text)
        self._plan.remember(text)
        self._steps.begin(text, self._source.counts(text).total)
        is_first = run.start == 0
        unwell = await asyncio.to_thread(self._health.check, baseline, is_first=is_first)
        facts = self._facts(text, effect, run, self._names.renamed)
        facts = await self._with_offence(facts, text)
        return Prepared(
            baseline=baseline,
            plan=facts,
            left_out=(*ordered.skip, *ordered.skipped),
            attempts=counted,
            attempts_before=known,
            mode=self._source.mode(text, facts, run),
            locked=locked,
            must_claim=facts.next_task is not None
            and self._source.must_claim(text, facts.next_task),
            notices=(
                *unwell,
                *await asyncio.to_thread(self._source.remarks, text, report_changes=False),
            ),
        )

    async def claim(self, effect: ClaimTask) -> TaskClaimed:
        """Take the task of the iteration that was prepared; that is no change by its agent."""
        text = self._plan.text
        claimed = await asyncio.to_thread(self._source.claim, text, effect.task)
        if claimed.text != text:
            self._guarding.became(claimed.text)
            self._plan.remember(claimed.text)
        return TaskClaimed(task=effect.task, refused=claimed.refused)

    async def launch(
        self, effect: LaunchAgent, run: RunState
    ) -> tuple[AgentLaunched, Awaitable[AgentFinished]]:
        """Start the agent; the second value is its end."""
        self._stopping = False
        workspace = self._workspace
        prompt = prompt_of(workspace, effect, self._plan.text)
        if prompt.passed_over is not None:
            self._notices.add("prompt-passed-over", prompt.passed_over)
        hook = await self._listen_to_hooks()
        launch, leave_box = launch_of(workspace, effect, prompt, self._looking, hook=hook)
        if effect.attempt == 1:
            await self._remember_tree(effect, run)
            await asyncio.to_thread(self._source.started, effect, run, self._plan.open_text)
            self.log.begin(
                effect.start,
                effect.iteration,
                run.branch,
                self._clock.local(),
                mode=effect.context.mode,
                task=effect.context.task_id or None,
            )
            await asyncio.to_thread(self._attempts.begin, run)
            self._logged = OutputLimit()
        self._hearing.begin(effect, prompt_characters=len(prompt.text))
        await asyncio.to_thread(self._locks.begin)
        self._operations.begin()
        self._keeper.begin(effect.start, launch.marker)
        started = await running_process.start(
            launch, redactor=workspace.redactor, on_output=self._on_output
        )
        self._keeper.started(started.pid, started.start_time)
        self._process = started
        self._end_if_overspent()
        ending = self._end_of(started, effect.start, leave_box)
        return emit_launch(workspace, effect, prompt, started), ending

    async def _listen_to_hooks(self) -> Path | None:
        """Answer what a boxed agent's stop hook asks; None where the agent is in no box."""
        workspace = self._workspace
        if workspace.sandbox.box is None:
            return None

        def answer(continues: bool) -> dict[str, Any]:  # noqa: FBT001
            return stop_state(workspace.root, workspace.worktree.git_dir, continues=continues)

        self._hook_socket = HookSocket(workspace.files.folder / "hook", answer)
        try:
            await self._hook_socket.open()
        except OSError as error:
            self._notices.add(
                "hook-not-heard", f"hooks of the agent are not answered in its sandbox: {error}"
            )
            return None
        return self._hook_socket.folder

    async def _remember_tree(self, effect: LaunchAgent, run: RunState) -> None:
        if run.current is not None:
            base = run.current.started.baseline
            await asyncio.to_thread(self._undoing.remember, effect.start, base)

    def damage(self, message: str) -> str | None:
        """What is wrong with the repository, in words; ``message`` is what failed there."""
        return self._looking.repository.damage(message)

    def stop(self) -> None:
        """End whatever runs now, with all its children."""
        if not self._stopping:
            self._source.hurry(running_process.STOP_SECONDS)
            current().end_in(running_process.POLL_SECONDS)
        self._stopping = True
        self._handing_over.stop()
        self._locks.stop()
        if self._process is not None:
            self._process.stop()

    def leave_off(self) -> None:
        """Look no further for what the next iteration would begin with: there is none."""
        self._source.stop()
        self._locks.stop()

    async def read(self, effect: ReadIteration, run: RunState) -> IterationRead:
        """Read what the agent said and what changed since the iteration's baseline."""
        workspace = self._workspace
        began = None if run.current is None else run.current.started.at
        self._exit = None if run.current is None else run.current.exit
        heard = await asyncio.to_thread(self._hearing.read, effect, run)
        said = heard.reading
        put_back = await asyncio.to_thread(self._guarding.unblock_git, effect.start)
        inherited = await self._inherit(effect, run, heard.touched)
        if inherited is not None and inherited.ownership.is_disputed:
            return IterationRead(ownership=inherited.ownership)
        is_plan_users = self._is_plan_users(effect, inherited)
        # What is put back is neither evidence nor progress, so that comes first.
        as_watched = watched_iteration(run, said.promises)
        descent = await asyncio.to_thread(self._looking.listen, effect, run)
        if not is_plan_users:
            put_back = await self._guard(
                effect, run, as_watched, descent, inherited, touched=heard.touched
            )
        self._put_back = frozenset(one.path for one in put_back.reverted)
        read_at = self._clock.now()
        after, current_text = await asyncio.gather(
            asyncio.to_thread(self._looking.look), asyncio.to_thread(self._source.read)
        )
        self._inheriting.wrote(_written_by_guard(put_back, after))
        text_before = self._plan.recall(current_text)
        # A plan that the user has changed since is as the agent found it, for all that it did.
        text = text_before if is_plan_users else current_text
        inherited = await self._inherit(effect, run, heard.touched)
        agents = after if inherited is None else inherited.tree
        found = await asyncio.to_thread(
            self._looking.changes,
            effect,
            run,
            agents,
            heard.touched,
            descent=descent,
            until=None if inherited is None else inherited.until,
            undone=put_back.undone,
        )
        only = self._names.only
        self._names.follow(text_before, text)
        finished = self._source.finished(text_before, text, task=only, now=self._names.only)
        told = await asyncio.to_thread(self._guarding.newly_told)
        done = (
            *finished.tasks,
            *self._source.logged_as_finished(
                text_before, text, told, task=only, own=self._own(as_watched, found)
            ),
        )
        renamed = self._names.settle()
        self._attempts.remember(run.attempts, renamed)
        edits = find_plan_edits(workspace, text_before, text, since=self._plan.read_at or began)
        self._plan.read_at = read_at
        closed = [task for task in done if task not in edits.ticked]
        moved = [task for task in finished.moved if task not in edits.moved]
        seen = await self._verify((text_before, text), run, effect, [*closed, *moved])
        if seen.verifications:
            # What the commands left behind is no work of the next iteration's agent.
            after = await asyncio.to_thread(self._looking.look)
            self._inheriting.wrote(self._source.own_files)
        plan_text = current_text if is_plan_users else seen.text
        self._after = (after, plan_text)
        self._inherited = inherited
        left = (
            undelivered_work(workspace, run, effect, after) if inherited is None else inherited.left
        )
        refuted = {one.task.id for one in seen.verifications if one.failed}
        found = await asyncio.to_thread(
            self._looking.kinds,
            replace(found, advanced=self._advanced(text, set(closed) - refuted)),
            effect,
            run,
            edited=heard.touched,
            finished=not refuted.issuperset(closed),
        )
        is_due, notices = self._validating.look(
            found.paths, nothing=effect.lost and not left and not found.commits
        )
        return IterationRead(
            report=said.report,
            promises=said.promises,
            completion_words=said.completion,
            errors=said.errors[:KEPT_ERRORS],
            error_patterns=said.error_patterns[:KEPT_ERRORS],
            without_output=not said.text.strip() and said.report is None,
            failed=said.failed,
            failure=said.why if heard.failure is None else heard.failure.text,
            failure_kind=None if heard.failure is None else heard.failure.kind,
            remedy=heard.remedy,
            usage=heard.usage,
            denied_tools=said.denied_tools,
            limit=heard.limit,
            session=heard.session,
            question=said.question,
            plan_changed=not edits.alone
            and text_before not in {text, workspace.redactor.redact(text)},
            changes=found,
            tasks_done=tuple(task for task in closed if task not in refuted),
            moved=tuple(task for task in moved if task not in refuted),
            reviewed=self._reviewed(effect, run, text_before, text),
            renamed=renamed,
            verified=seen.verifications,
            plan=await self._with_offence(self._facts(plan_text, effect, run, renamed), plan_text),
            ownership=Ownership() if inherited is None else inherited.ownership,
            left=left,
            halt=load_halt_files(workspace.root, workspace.config.paths),
            must_validate=is_due,
            reverted=put_back.reverted,
            notices=(
                *notices,
                *put_back.notices,
                *((ISSUES_LEFT,) if effect.taken_up and workspace.issues_touched else ()),
                *self._source.left_undone(text_before, text, as_watched),
                *emit_denials(heard),
                *self._operations.tell(),
                *emit_user_commits(found),
                *await asyncio.to_thread(self._source.remarks, text, report_changes=True),
                *finished.notices,
                *seen.notices,
                *emit_plan_edits(edits, done),
                *emit_leftovers(workspace, effect.baseline, agents, but=self._put_back),
                *self._new_notices(),
            ),
        )

    def _is_plan_users(self, effect: ReadIteration, inherited: InheritedIteration | None) -> bool:
        """Whether what changed in the plan is the user's, or may be."""
        is_file_users = self._source.file in _users(inherited)
        return is_file_users or (effect.taken_up and self._workspace.issues_touched)

    async def _guard(
        self,
        effect: ReadIteration,
        run: RunState,
        seen: WatchedIteration,
        descent: CommitAncestry | None,
        inherited: InheritedIteration | None,
        *,
        touched: tuple[str, ...],
    ) -> GuardRestoration:
        """Restore what the agent may not have changed."""
        current = run.current
        commits = partial(
            self._looking.commits,
            effect,
            run,
            descent,
            until=None if inherited is None else inherited.until,
            left_at=None if inherited is None else inherited.tree.head,
        )
        settled = FinishedIteration(
            start=effect.start,
            seen=seen,
            began=None if current is None else current.started.at,
            commits=commits,
            has_evidence=lambda: self._shows_work(
                self._looking.changes(
                    effect,
                    run,
                    self._looking.look() if inherited is None else inherited.tree,
                    touched,
                    descent=descent,
                    until=None if inherited is None else inherited.until,
                )
            ),
            is_told=current is not None and "guardReverted" in current.told,
        )
        return await asyncio.to_thread(self._guarding.put_back, settled)

    async def _inherit(
        self, effect: ReadIteration, run: RunState, named: tuple[str, ...]
    ) -> InheritedIteration | None:
        """The iteration as the engine left it that began it; None where that is this one."""
        if not effect.taken_up:
            return None
        now = await asyncio.to_thread(self._looking.look)
        return await asyncio.to_thread(
            self._inheriting.look, run, now, named=named, order=effect.order
        )

    def _shows_work(self, found: Changes) -> bool:
        """Whether files other than the plan and the log of finished tasks were changed."""
        paths = self._workspace.config.paths
        return bool(set(found.paths) - {self._workspace.plan_path, paths.progress})

    def _own(self, seen: WatchedIteration, found: Changes) -> str | None:
        """The iteration's task, where there is evidence of work."""
        return seen.task.id if seen.task is not None and self._shows_work(found) else None

    async def _verify(
        self, texts: tuple[str, str], run: RunState, effect: ReadIteration, done: Sequence[str]
    ) -> WrittenPlan:
        """Run what the closed tasks name, and have the plan say what came of it."""
        verifying = CriteriaVerification(
            self._workspace,
            effect,
            on_output=self.log.write,
            on_start=self._has_begun,
            is_stopping=lambda: self._stopping,
        )
        try:
            return await verifying.close(texts, run, done)
        finally:
            self._process = None

    def set_task_aside(self, effect: SetTaskAside) -> None:
        """Mark a task in the plan; raises a ``RalphError`` where it cannot be written."""
        text = self._source.set_aside(effect)
        self._handing_over.wrote(self._source.own_files)
        if self._after is not None:
            self._after = (self._after[0], text)

    async def note_set_aside(self, effect: NoteSetAside) -> None:
        """Say of a task in the plan that it was set aside; the next look waits for that."""
        async with self._writing:
            await asyncio.to_thread(self._source.note_set_aside, effect)

    async def validate(self, effect: Validate) -> ValidationFinished:
        """Run the validation scripts that are due, if they are still what was allowed."""
        try:
            return await self._validating.run(effect)
        finally:
            self._process = None
            await asyncio.to_thread(self._approvals.check)
            self._approvals.report()

    async def undo(self, effect: UndoWork, run: RunState) -> WorkUndone:
        """Take back what the iteration did; the tree after that is the next one's beginning."""
        after, text = self._after or (effect.base, "")
        agents = after if self._inherited is None else self._inherited.tree
        made = await asyncio.to_thread(self._undoing.undo, effect, agents)
        if made.refused:
            return made
        self._validating.undone()
        baseline, restored = await asyncio.gather(
            asyncio.to_thread(self._looking.look), asyncio.to_thread(self._source.read)
        )
        self._names.follow(text, restored)
        renamed = self._names.settle()
        self._after = (baseline, restored)
        facts = self._facts(restored, effect, run, renamed)
        return replace(made, plan=await self._with_offence(facts, restored))

    async def commit(self, effect: CommitWork) -> WorkCommitted:
        """Commit what the iteration changed; the tree after that is the next one's beginning."""
        after, text = self._after or (effect.base, "")
        agents = after if self._inherited is None else self._inherited.tree
        # One that stays makes the commit fail, and the next iteration wait for the user.
        await asyncio.to_thread(self._locks.wait)
        made = await self._handing_over.commit(
            effect, agents, restored=self._put_back, users=_users(self._inherited)
        )
        self._after = (await asyncio.to_thread(self._looking.look), text)
        return made

    async def push(self, effect: PushWork) -> WorkPushed:
        """Push the branch."""
        return await self._handing_over.push(effect)

    def _has_begun(self, started: running_process.RunningProcess) -> None:
        self._process = started
        if self._stopping:
            # The order came while it was being started.
            started.stop()

    def close_iteration(self, ended: IterationEnded) -> None:
        """Close the logs for people and write the summary's row."""
        self._looking.forget(ended.start)
        self._hearing.flush()
        self._source.settled()
        self.log.end(ended, self._clock.local(), exit_code=exit_code_of(self._exit))
        self._attempts.settle(ended)

    def forget_attempts(self, task: str) -> None:
        """Count no attempts at a task any more, in no run."""
        self._attempts.forget(task)

    def finish(self, run: RunState | None = None) -> None:
        """Close what is open; ``run`` as its end left it, where it came to one."""
        self._approvals.check()
        self._approvals.report()
        if run is not None:
            self._attempts.give_back(run.attempts)
        self._source.settled()
        self._hearing.close()
        self.log.close()

    async def _end_of(
        self, started: running_process.RunningProcess, start: int, leave_box: LeaveBox
    ) -> AgentFinished:
        ended = await started.wait()
        if self._hook_socket is not None:
            await self._hook_socket.close()
        if problem := await asyncio.to_thread(leave_box):
            self._notices.add("sandbox-left", problem)
        if self._workspace.sandbox.box is not None:
            # The system ends all that is in a box with its first process; what is still seen of it
            # was ended already.
            ended = replace(ended, leftovers=0)
        self._keeper.ended()
        self._process = None
        await asyncio.to_thread(self._approvals.check)
        self._approvals.report()
        self._log_messages(self._hearing.end())
        if problem := await asyncio.to_thread(leave_sandbox, self._workspace, ended):
            self._notices.add("sandbox-not-ended", problem)
        await asyncio.to_thread(self._locks.settle, start)
        if ended.write_error is not None:
            self._notices.add("log-not-written", ended.write_error)
        self._tell_of(ended)
        return emit_agent_end(ended)

    def _tell_of(self, ended: running_process.ProcessExit) -> None:
        """Name what was left running, and what no log keeps."""
        if ended.kept:
            message = f"left running, as keep_running says: {', '.join(ended.kept)}"
            self._notices.add("left-running", message)
            self.log.write(f"ralph: {message}\n".encode(errors="replace"))
        if ended.n_left_out or self._logged.n_left_out:
            self._notices.add(
                "output-cut", emit_output_cut(ended.n_left_out or self._logged.n_left_out)
            )

    def _on_output(self, stream: str, data: bytes) -> None:
        if logged := self._logged.take(data):
            log_output(self.log, stream, logged, self._hearing.dialect)
        if stream == STDOUT:
            self._log_messages(self._hearing.take(data))
            self._end_if_overspent()

    def _end_if_overspent(self) -> None:
        if self._hearing.has_overspent and self._process is not None:
            self._process.end_overspent()

    def _log_messages(self, messages: list[AgentMessage]) -> None:
        log_messages(self.log, messages, self._hearing.dialect)

    def _reviewed(
        self, effect: ReadIteration, run: RunState, before: str, after: str
    ) -> tuple[str, ...]:
        is_planning = run.current is not None and run.current.started.mode is Mode.PLAN
        return self._source.reviewed(before, after, effect.skip) if is_planning else ()

    def _advanced(self, text: str, done: Collection[str]) -> bool | None:
        return self._steps.advance(text, done, self._source.counts(text).total)

    def _facts(
        self,
        text: str,
        effect: PrepareIteration | ReadIteration | UndoWork,
        run: RunState,
        renamed: Mapping[str, TaskRef],
    ) -> PlanFacts:
        config = self._workspace.config
        failed = {task: run.attempts.get(task, config.attempts.limit) for task in effect.skip}
        failed = attempts.rename_tasks(failed, renamed)
        skipped = attempts.renamed_ids(effect.skipped, renamed)
        return self._source.facts(text, task=self._names.only, set_aside=failed, skipped=skipped)

    async def _with_offence(self, facts: PlanFacts, text: str) -> PlanFacts:
        """The facts with what in HEAD keeps the run from being complete, where it could be."""
        if facts.counts.open_required:
            return facts
        offence = await asyncio.to_thread(self._guarding.committed_offence, text)
        return replace(facts, committed_offence=offence)

    def _new_notices(self) -> tuple[Notice, ...]:
        for problem in (self.log.problem, self._hearing.problem):
            if problem is not None:
                self._notices.add("log-not-written", f"a log cannot be written: {problem}")
        if self._attempts.problem is not None:
            self._notices.add("attempts-not-kept", self._attempts.problem)
        return (*self._locks.take_notices(), *self._notices.take())


def _users(inherited: InheritedIteration | None) -> frozenset[str]:
    """The changed paths that are not the agent's, where another engine began the iteration."""
    return frozenset() if inherited is None else inherited.ownership.not_agents


def _written_by_guard(put_back: GuardRestoration, after: Baseline) -> tuple[str, ...]:
    """The restored paths that differ from HEAD; what was committed again is no change any more."""
    own = after.own | after.dirty
    return tuple(one.path for one in put_back.reverted if one.commit is None or one.path in own)
