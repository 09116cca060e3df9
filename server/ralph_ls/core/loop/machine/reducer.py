"""The reducer: one state, one input, one step. Every decision of a run is made here or one call
away.

A run is a chain of iterations: *preparing* inspects the tree and the plan, *running* has an agent,
*settling* reads its result and the changes. ``close_iteration`` closes an iteration and names its
verdict; ``run_flow`` turns that into an end, a parked run or the next iteration; ``steering``
handles users' commands. The invariants:

- State changes only by events (``fold``), so a run can be resumed from any line of its journal.
- Events are recorded before effects are performed. An engine that dies between the two leaves an
  event without its effect, never an effect without its event, and ``Resumed`` orders it again. Halt
  files alone are written first (``Step.first``), since a missing one has a meaning.
- ``step`` is total: an input that means nothing now is ignored, with a reason. ``LoopState.awaits``
  has the answer that the run waits for, so a late answer is never taken for another effect's.
- An iteration's end carries its verdict. An engine that dies between ``iterationEnded`` and
  ``runEnded`` leaves enough to end the run as it would have ended.

The difficult case is an engine that died while an iteration was open. If the agent had already
ended, its recorded output is settled as usual; events that were recorded are not repeated. If not,
the iteration is ``lost``: its evidence counts, its silence does not. Either way only what is known
to be the agent's is settled (``evidence.ownership``); where that is not known, the run is blocked
until the user decides. An order to stop or to pause ends with the engine: a user who resumes a run
wants it to run.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import assert_never

from ralph_ls.core.loop.effects import ClaimTask, LaunchAgent, ReadIteration, StopAgent
from ralph_ls.core.loop.inputs import (
    AgentCalled,
    AgentFinished,
    AgentLaunched,
    AnnouncementDone,
    AnswerOverdue,
    CommandArrived,
    CommandUnreadable,
    EffectFailed,
    EngineFacts,
    HaltFilesChanged,
    Input,
    Interrupted,
    IterationRead,
    Prepared,
    Resumed,
    Started,
    TaskClaimed,
    ValidationFinished,
    WaitElapsed,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine import agent_calls, close_iteration, run_flow, steering
from ralph_ls.core.loop.machine.iteration_events import warn_once
from ralph_ls.core.loop.rules import attempts, judge, validation
from ralph_ls.core.loop.rules.agent_choice import choose_worker, session_to_resume
from ralph_ls.core.loop.rules.commits import has_uncommitted_work
from ralph_ls.core.loop.rules.failure_policy import substitute_agent, unavailable_agents
from ralph_ls.core.loop.rules.gate import CONFIRMING_GATES
from ralph_ls.core.loop.rules.waits import GIT_LOCKED
from ralph_ls.core.loop.state import Awaits, LoopState, Step, StepDraft
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentStarted,
    AttemptCounted,
    IterationStarted,
    NoteAdded,
    PhaseChanged,
    RunResumed,
    RunStarted,
    WaitEnded,
    Warned,
)
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase


def step(state: LoopState, given: Input, now: datetime) -> Step:
    """The result of ``given`` at ``now``; pure, total, and the only way a run moves."""
    draft = StepDraft(state, now)
    if state.awaits is Awaits.START:
        _take_up(draft, given)
    elif state.awaits is Awaits.NOTHING:
        _after_the_end(draft, given)
    else:
        _dispatch(draft, given)
    return draft.finish()


def _take_up(draft: StepDraft, given: Input) -> None:
    match given:
        case Started():
            _start(draft, given)
        case Resumed():
            _resume(draft, given)
        case _:
            draft.ignore("the engine has not started this run yet")


def _dispatch(draft: StepDraft, given: Input) -> None:  # noqa: PLR0912 - one branch for each input
    match given:
        case Started() | Resumed():
            draft.ignore("the run already has an engine")
        case Prepared():
            _prepared(draft, given)
        case TaskClaimed():
            _task_claimed(draft, given)
        case AgentLaunched():
            _agent_launched(draft, given)
        case AgentCalled():
            agent_calls.take_call(draft, given)
        case AnswerOverdue():
            agent_calls.take_overdue(draft, given)
        case AgentFinished():
            _agent_finished(draft, given)
        case IterationRead():
            close_iteration.read_iteration(draft, given)
        case ValidationFinished() | WorkJudged() | WorkUndone() | WorkCommitted() | WorkPushed():
            close_iteration.continue_closing(draft, given)
        case CommandArrived(command=command):
            steering.handle_command(draft, command)
        case CommandUnreadable():
            steering.reject_unreadable(draft, given)
        case HaltFilesChanged(halt=halt):
            steering.halt_files_changed(draft, halt)
        case WaitElapsed():
            _time_came(draft)
        case Interrupted(by=by):
            steering.handle_signal(draft, by)
        case AnnouncementDone():
            _announced(draft, given)
        case EffectFailed():
            _effect_failed(draft, given)
        case _:  # pragma: no cover
            assert_never(given)


def _after_the_end(draft: StepDraft, given: Input) -> None:
    match given:
        case CommandArrived(command=command):
            steering.handle_command(draft, command)
        case CommandUnreadable():
            steering.reject_unreadable(draft, given)
        case AnnouncementDone():
            _announced(draft, given)
        case _:
            draft.ignore("the run has ended")


def _announced(draft: StepDraft, given: AnnouncementDone) -> None:
    """Warn of it; of an iteration's condition once an iteration, and not when that is over."""
    current = draft.run.current
    if given.start is None:
        draft.emit(
            Warned(**draft.stamp, code=given.code, message=given.message, outside=given.outside)
        )
    elif current is None or current.started.start != given.start:
        draft.ignore("that iteration is already over")
    else:
        warn_once(draft, given.code, given.message)


def _start(draft: StepDraft, given: Started) -> None:
    if report_start(draft, given):
        steering.find_halt_files(draft, given.facts.halt)
        run_flow.begin_run(draft)


def _resume(draft: StepDraft, given: Resumed) -> None:
    if not report_start(draft, given):
        return
    current, verdict = draft.run.current, draft.run.verdict
    if verdict is not None and verdict.reason in run_flow.REASONS_THAT_PERSIST:
        run_flow.apply_verdict(draft, verdict)
        return
    run_flow.reset_if_stuck(draft, by=given.by)
    steering.find_halt_files(draft, given.facts.halt)
    if current is None:
        run_flow.begin_run(draft)
        return
    run_flow.reread_iteration(draft, current, order=given.order)


def report_start(draft: StepDraft, given: Started | Resumed) -> bool:
    """Report that the run begins or continues; False where it cannot, and the input is ignored."""
    facts = given.facts
    if isinstance(given, Started):
        if draft.run.run:
            draft.ignore("the run has begun; resume it instead of starting it")
            return False
        _report_new(draft, given)
        _emit_facts(draft, facts)
        return True
    if not draft.run.run:
        draft.ignore("there is no run to resume")
        return False
    if draft.run.end is not None and draft.run.end.reason is EndReason.COMPLETE:
        draft.ignore("the run is complete")
        return False
    _report_resumed(draft, given)
    _emit_facts(draft, facts)
    _emit_resets(draft, facts)
    return True


def _report_new(draft: StepDraft, given: Started) -> None:
    facts = given.facts
    draft.name_run(given.run)
    draft.emit(
        RunStarted(
            **draft.stamp,
            version=facts.version,
            pid=facts.pid,
            workspace=facts.workspace,
            state_dir=facts.state_dir,
            branch=facts.branch,
            head=facts.head,
            plan=facts.plan_path,
            request=facts.request,
            config=facts.config,
            overrides=facts.overrides,
            counts=facts.counts,
            ends_at=facts.ends_at,
            choices=facts.choices,
            settings_digest=facts.settings_digest,
        )
    )
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.STARTING))


def _report_resumed(draft: StepDraft, given: Resumed) -> None:
    facts = given.facts
    draft.emit(
        RunResumed(
            **draft.stamp,
            version=facts.version,
            pid=facts.pid,
            by=given.by,
            branch=facts.branch,
            head=facts.head,
            config=facts.config,
            overrides=facts.overrides,
            counts=facts.counts,
            orphans_ended=given.orphans_ended,
            ends_at=facts.ends_at,
            choices=facts.choices,
            settings_digest=facts.settings_digest,
            users=given.users or None,
            held=given.held or None,
        )
    )


def _emit_facts(draft: StepDraft, facts: EngineFacts) -> None:
    for notice in facts.notices:
        draft.emit(
            Warned(**draft.stamp, code=notice.code, message=notice.message, outside=notice.outside)
        )
    for note in facts.notes:
        draft.emit(NoteAdded(**draft.stamp, text=note.text, by=note.by))


def _emit_resets(draft: StepDraft, facts: EngineFacts) -> None:
    """A new run counts from nothing, so only a resumed one has anything to reset."""
    for reset in facts.resets:
        steering.reset_task(draft, reset.task, command=reset.command, by=reset.by)
    for one in facts.overrules:
        steering.overrule_judge(draft, draft.run.judge_requests, by=one.by)


def _prepared(draft: StepDraft, given: Prepared) -> None:
    if not draft.is_awaited(Awaits.PREPARED):
        return
    for notice in given.notices:
        draft.emit(
            Warned(**draft.stamp, code=notice.code, message=notice.message, outside=notice.outside)
        )
    if given.locked:
        _wait_for_git(draft, given.locked)
        return
    if _is_outdated(draft, given):
        run_flow.next_or_hold(draft)
        return
    given = replace(given, mode=run_flow.mode_of(draft.run, given.plan, given.mode))
    given = validation.repair_iteration(
        draft.run, given, left_out=run_flow.untaken_tasks(draft.run)
    )
    owes = has_uncommitted_work(draft.run.commit_base, draft.run.owed, given.baseline)
    if run_flow.hold_if_wanted(draft) or run_flow.end_before_iteration(
        draft, given.plan, given.mode, owes=owes
    ):
        return
    task = given.plan.next_task
    if given.must_claim and task is not None and given.mode is not Mode.PLAN:
        draft.hold_prepared(given)
        draft.order(ClaimTask(task=task))
    else:
        _begin_iteration(draft, given)


def _wait_for_git(draft: StepDraft, locked: str) -> None:
    """Wait for the user: the agent's git would fail, and the lock may be the user's commit in
    progress.
    """
    if not run_flow.hold_if_wanted(draft):
        draft.emit(Warned(**draft.stamp, code=GIT_LOCKED, message=locked))
        run_flow.halt_for_user(draft, EndReason.BLOCKED, locked)


def _is_outdated(draft: StepDraft, given: Prepared) -> bool:
    """Whether the user had a task skipped or reset while the next one was being chosen."""
    run = draft.run
    is_recounted = given.attempts is not None and given.attempts_before != run.attempts
    return is_recounted or set(given.left_out) != set(run_flow.untaken_tasks(run))


def _task_claimed(draft: StepDraft, given: TaskClaimed) -> None:
    """Begin with the task; where another run has it, prepare for the next one."""
    prepared = draft.state.prepared
    if not draft.is_awaited(Awaits.CLAIM) or prepared is None:
        return
    draft.hold_prepared(None)
    if given.refused:
        message = f"{given.task.title} ({given.task.id}) was not claimed: {given.refused}"
        draft.emit(Warned(**draft.stamp, code="claim-refused", message=message))
    if given.refused or _is_outdated(draft, prepared):
        run_flow.next_or_hold(draft)
    elif not run_flow.hold_if_wanted(draft):
        _begin_iteration(draft, prepared)


def _begin_iteration(draft: StepDraft, given: Prepared) -> None:
    is_planning, config = given.mode is Mode.PLAN, draft.config
    iteration = draft.run.counted + 1
    task = None if is_planning else given.plan.next_task
    started = draft.emit(
        IterationStarted(
            **draft.stamp,
            start=draft.run.start + 1,
            iteration=iteration,
            tries=draft.run.tries + 1 if draft.run.iteration == iteration else 1,
            max_iterations=config.max_iterations,
            mode=given.mode,
            task=task,
            confirming=task is None and not is_planning and _is_confirmation(draft.run),
            counts=given.plan.counts,
            baseline=given.baseline,
            attempts=_changed_attempts(draft.run, given),
            lessons=given.lessons,
        )
    )
    draft.mark_iteration_begun()
    attempt = attempts.attempt_number(draft.run.attempts, task, config.attempts)
    if task is not None and attempt is not None:
        draft.emit(
            AttemptCounted(
                **draft.iteration_stamp, task=task, attempt=attempt, limit=config.attempts.limit
            )
        )
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))
    traits = given.plan.next_traits
    about = None if traits is None or task is None or traits.task != task.id else traits
    worker = choose_worker(
        config,
        mode=given.mode,
        traits=about,
        instead=substitute_agent(draft.run, started.at),
        out=unavailable_agents(draft.run, started.at),
    )
    session = session_to_resume(draft.run, task=task, mode=given.mode, now=draft.now, worker=worker)
    draft.order(
        LaunchAgent(
            start=started.start,
            iteration=started.iteration,
            attempt=1,
            context=run_flow.prompt_context(draft.run, started),
            session=None if session is None else session.id,
            session_cost_usd=0.0 if session is None else session.cost_usd or 0.0,
            session_usage=None if session is None else session.usage,
            run_usage=draft.run.usage,
            agent=worker.agent,
            model=worker.model,
        )
    )


def _changed_attempts(run: RunState, given: Prepared) -> dict[str, int] | None:
    """The attempts that are kept beyond the run, where others than this run changed them."""
    known = given.attempts
    return None if known is None or known == run.attempts else dict(known)


def _is_confirmation(run: RunState) -> bool:
    """Whether an iteration without a task is to confirm the run; one that repairs is not."""
    is_whole_plan = run.config.task is None
    return (
        is_whole_plan
        and run.config.gate.rule in CONFIRMING_GATES
        and not validation.is_repair_iteration(run)
        and not judge.is_held(run)
    )


def _agent_launched(draft: StepDraft, given: AgentLaunched) -> None:
    current = draft.run.current
    if not draft.is_awaited(Awaits.LAUNCH) or current is None:
        return
    draft.emit(
        AgentStarted(
            **draft.iteration_stamp,
            attempt=1 if current.agent is None else current.agent.attempt + 1,
            agent=given.agent,
            argv=given.argv,
            pid=given.pid,
            process_start_time=given.process_start_time,
            group=given.group,
            prompt_bytes=given.prompt_bytes,
            dialect=given.dialect,
            model=given.model,
        )
    )
    draft.expect(Awaits.EXIT)
    if draft.state.stopping_agent:
        draft.order(StopAgent())


def _agent_finished(draft: StepDraft, given: AgentFinished) -> None:
    current = draft.run.current
    if not draft.is_awaited(Awaits.EXIT) or current is None or current.agent is None:
        return
    draft.emit(
        AgentExited(
            **draft.iteration_stamp,
            attempt=current.agent.attempt,
            exit_code=given.exit_code,
            signal=given.signal,
            timed_out=given.timed_out,
            idle=given.idle,
            overspent=given.overspent,
            stopped=given.stopped,
            killed=given.killed,
            leftovers=given.leftovers,
            seconds=given.seconds,
            stdout_bytes=given.stdout_bytes,
            stderr_bytes=given.stderr_bytes,
        )
    )
    agent_calls.forget_call(draft)
    if draft.run.phase is not Phase.STOPPING:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.SETTLING))
    draft.order(
        ReadIteration(
            start=current.started.start,
            iteration=current.started.iteration,
            attempt=current.agent.attempt,
            baseline=current.started.baseline,
            skip=run_flow.skipped(draft.run),
            skipped=draft.run.skipped,
        )
    )


def _time_came(draft: StepDraft) -> None:
    if not draft.is_awaited(Awaits.TIME):
        return
    draft.emit(WaitEnded(**draft.stamp, reason=draft.run.phase_reason or "cooldown"))
    run_flow.prepare_iteration(draft, reuse=False)


def _effect_failed(draft: StepDraft, given: EffectFailed) -> None:
    message = given.message
    agent_calls.forget_call(draft)
    if draft.run.current is not None:
        draft.order(StopAgent())
    by = draft.run.stop_requested
    if draft.state.stopping_agent and by:
        # A user who stops the run at once ends it whatever question is open; that is no failure.
        run_flow.end_run(draft, EndReason.STOPPED, f"stopped by {by}; {message}", by=by)
    else:
        run_flow.end_run(draft, EndReason.BLOCKED if given.blocked else EndReason.FATAL, message)
