"""Closing an iteration: reading, evidence, validation, commit, push, then attempts, breaker and
gate.

The steps run in this order; each waits for the answer to the effect of the one before. What the
result means for the run is decided in ``verdict``. A refused COMPLETE counts as absent, and later
promises are still read (docs/rules.md#promises).
"""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.loop.effects import (
    LaunchAgent,
    NoteSetAside,
    RemoveDecide,
    SetTaskAside,
    Validate,
)
from ralph_ls.core.loop.evidence import repetition
from ralph_ls.core.loop.evidence.ownership import dispute_words, left_to_user_words
from ralph_ls.core.loop.evidence.progress import judge_progress, new_head
from ralph_ls.core.loop.inputs import (
    IterationRead,
    ValidationFinished,
    WorkCommitted,
    WorkJudged,
    WorkPushed,
    WorkUndone,
)
from ralph_ls.core.loop.machine import run_flow, unfinished_tasks
from ralph_ls.core.loop.machine.blockers import is_halt_raised, raise_promises
from ralph_ls.core.loop.machine.iteration_end import (
    commit_due,
    emit_commit,
    emit_failure,
    emit_push,
    end_iteration,
    ends_by_timeout,
    kinds_of_evidence,
    push_due,
)
from ralph_ls.core.loop.machine.iteration_events import (
    emit_decisions,
    emit_judge_started,
    emit_reading,
    emit_reverted,
    emit_rollback,
    emit_validated,
    emit_verdict,
    emit_verified,
    gate_inputs,
    warn_once,
)
from ralph_ls.core.loop.machine.verdict import (
    CRASHES_TO_FATAL,
    SetAside,
    SettledIteration,
    ends_complete,
    exit_words,
    has_no_result,
    is_full_confirmation,
    is_held_by_tests,
    limit_of,
    verdict,
    would_complete,
)
from ralph_ls.core.loop.rules import attempts, judge, validation
from ralph_ls.core.loop.rules import breaker as breaker_rules
from ralph_ls.core.loop.rules.budget import iteration_limit_passed
from ralph_ls.core.loop.rules.failure_policy import (
    NO_SECOND_TRY,
    OUT_OF_REACH,
    AgentHold,
    agent_crash,
    agent_hold,
)
from ralph_ls.core.loop.rules.gate import TESTS_FAIL, GateResult, check_gate
from ralph_ls.core.loop.rules.waits import review_due
from ralph_ls.core.loop.state import Awaits, StepDraft
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import OnBlocked
from ralph_ls.protocol.run.events import AgentExited, PhaseChanged
from ralph_ls.protocol.run.state import CurrentIteration
from ralph_ls.protocol.run.values import EndReason, Evidence, Phase, TaskRef

MARKED_BLOCKED = "you to look at it and remove [BLOCKED]"
"""What a task needs that the loop set aside (docs/rules.md#attempts)."""


def read_iteration(draft: StepDraft, given: IterationRead) -> None:
    """Report the reading of the open iteration, then validate, try again, or close it."""
    current = draft.run.current
    if not draft.is_awaited(Awaits.READ) or current is None:
        return
    number, exit_event = current.started.start, current.exit
    if given.ownership.is_disputed:
        _halt_on_dispute(draft, given, current.started.iteration)
        return
    for notice in given.notices:
        warn_once(draft, notice.code, notice.message, notice.removed)
    if given.ownership.users:
        warn_once(draft, "left-to-user", left_to_user_words(given.ownership.users))
    emit_reverted(draft, given)
    emit_verified(draft, given)
    evidence = _evidence(draft, current, given)
    if (
        exit_event is not None
        and _may_try_again(draft, current, exit_event)
        and has_no_result(exit_event, given, evidence)
        and limit_of(given) is None
        and given.failure_kind not in NO_SECOND_TRY
        and iteration_limit_passed(draft.config, given.usage) is None
    ):
        _try_again(draft, current, exit_event, given)
        return
    emit_reading(draft, current, given, evidence)
    is_over = not _is_stopped(draft, current) and limit_of(given) is None
    is_due = given.must_validate and not ends_by_timeout(draft.run, current)
    if is_due and is_over and current.validated is None:
        draft.hold_reading(given)
        draft.order(Validate(start=number, iteration=current.started.iteration))
    else:
        _after_validation(draft, given, evidence)


def _halt_on_dispute(draft: StepDraft, given: IterationRead, iteration: int) -> None:
    """Leave the iteration open until the user has decided whose its changes are."""
    if (by := draft.run.stop_requested) is not None:
        run_flow.end_run(draft, EndReason.STOPPED, f"stopped by {by}", by=by)
    else:
        run_flow.halt_for_user(draft, EndReason.BLOCKED, dispute_words(given.ownership, iteration))


def continue_closing(
    draft: StepDraft,
    given: ValidationFinished | WorkJudged | WorkUndone | WorkCommitted | WorkPushed,
) -> None:
    """Continue with the open iteration after validation, judge, rollback, commit or push.

    ``rules.validation`` decides about a failed script; a failed push is fatal (docs/rules.md#push),
    and a failed commit is reported.
    """
    current, held = draft.run.current, draft.state.reading
    if not draft.is_awaited(_AWAITED[type(given)]) or current is None or held is None:
        return
    evidence = _evidence(draft, current, held)
    match given:
        case ValidationFinished():
            emit_validated(draft, given)
            _after_validation(draft, held, evidence)
        case WorkJudged():
            emit_verdict(draft, given)
            _commit(draft, judge.after_judge(held, given), _evidence(draft, current, held))
        case WorkUndone():
            emit_rollback(draft, given)
            held = validation.after_rollback(held, given)
            _close(draft, held, _evidence(draft, draft.open_iteration, held))
        case WorkCommitted():
            emit_commit(draft, current, given)
            _push(draft, held, evidence)
        case _:
            emit_push(draft, given)
            _close(draft, held, evidence)


_AWAITED = {
    ValidationFinished: Awaits.VALIDATION,
    WorkJudged: Awaits.JUDGE,
    WorkUndone: Awaits.UNDO,
    WorkCommitted: Awaits.COMMIT,
    WorkPushed: Awaits.PUSH,
}


def _after_validation(draft: StepDraft, given: IterationRead, evidence: Evidence) -> None:
    """Roll back work that did not validate, where that is configured; else judge and commit it."""
    current = draft.open_iteration
    stopped = _is_stopped(draft, current)
    order = validation.rollback_due(draft.run, current, evidence, stopped=stopped)
    if order is None:
        _judge(draft, given, evidence)
    else:
        draft.hold_reading(given)
        draft.order(replace(order, skip=run_flow.skipped(draft.run)))


def _judge(draft: StepDraft, given: IterationRead, evidence: Evidence) -> None:
    """Have finished work judged, where that is configured, then commit it."""
    run, current = draft.run, draft.open_iteration
    is_over = not _is_stopped(draft, current) and limit_of(given) is None
    order = None
    if run.config.judge.is_on and is_over and not validation.is_invalid(current):
        settled = _settle(draft, current, given, evidence, without_judge=True)
        completes = would_complete(run, settled)
        order = judge.judge_due(
            run, current, given, progress=evidence.progress, completes=completes
        )
    if order is None:
        _commit(draft, given, evidence)
        return
    draft.hold_reading(given)
    emit_judge_started(draft, order)
    draft.order(replace(order, skip=run_flow.skipped(run)))


def _commit(draft: StepDraft, given: IterationRead, evidence: Evidence) -> None:
    """Commit where the loop commits, then push."""
    current = draft.open_iteration
    settled = _settle(draft, current, given, evidence)
    aside = settled.set_aside
    order = commit_due(
        draft.run,
        current,
        given,
        evidence,
        stopped=_is_stopped(draft, current),
        set_aside="" if aside is None else aside.reason,
        is_last=_is_last(draft, settled),
    )
    if order is None:
        _push(draft, given, evidence)
    else:
        draft.hold_reading(given)
        draft.order(order)


def _is_last(draft: StepDraft, settled: SettledIteration) -> bool:
    """Whether the run ends or waits for the user after this iteration, as far as is known now."""
    return (
        settled.read.plan.counts.open_required == 0
        or verdict(draft.run, settled, draft.now) is not None
        or is_halt_raised(draft.config, settled)
    )


def _push(draft: StepDraft, given: IterationRead, evidence: Evidence) -> None:
    """Push where the loop pushes, then close the iteration."""
    current = draft.open_iteration
    order = push_due(draft.run, current, given, stopped=_is_stopped(draft, current))
    if order is None:
        _close(draft, given, evidence)
    else:
        draft.hold_reading(given)
        draft.order(order)


def _evidence(draft: StepDraft, current: CurrentIteration, given: IterationRead) -> Evidence:
    """The evidence of the open iteration: as the journal has it, else as it is judged now."""
    recorded = draft.run.evidence
    if recorded is not None and "evidenceGathered" in current.told:
        return recorded
    return judge_progress(
        given.changes,
        tasks_done=given.tasks_done,
        before=repetition.repetition_history(draft.run),
        kinds=kinds_of_evidence(draft.run),
        report=given.report,
        mode=current.started.mode,
        plan_changed=given.plan_changed,
        moved=given.moved,
    )


def _is_stopped(draft: StepDraft, current: CurrentIteration) -> bool:
    return draft.state.stopping_agent or (current.exit is not None and current.exit.stopped)


def _may_try_again(draft: StepDraft, current: CurrentIteration, exit_event: AgentExited) -> bool:
    """One retry in an iteration, and none where the run is about to stop.

    See docs/rules.md#agent-process.
    """
    first_time = exit_event.attempt == 1 and "evidenceGathered" not in current.told
    wanted = draft.run.stop_requested is None and not _is_stopped(draft, current)
    return first_time and wanted


def _try_again(
    draft: StepDraft, current: CurrentIteration, exit_event: AgentExited, given: IterationRead
) -> None:
    why = f" ({given.failure})" if given.failure else ""
    warn_once(
        draft,
        "agent-failed",
        f"the agent {exit_words(exit_event)} without a result{why}; starting it once more",
    )
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.RUNNING))
    agent = None if current.agent is None else current.agent.agent
    # In a fresh session: a broken one may be what made it fail.
    draft.order(
        LaunchAgent(
            start=current.started.start,
            iteration=current.started.iteration,
            attempt=2,
            context=run_flow.prompt_context(draft.run, current.started),
            run_usage=draft.run.usage,
            agent=None if agent == draft.config.agent else agent,
            model=None if current.agent is None else current.agent.model,
        )
    )


def _close(draft: StepDraft, given: IterationRead, evidence: Evidence) -> None:
    current = draft.open_iteration
    draft.hold_reading(None)
    settlement = _settle(draft, current, given, evidence)
    emit_decisions(draft, settlement)
    emit_failure(draft, settlement)
    question = draft.run.question
    answered = question is not None and question.answer is not None
    if ends_complete(draft.run, settlement) is None:
        raise_promises(draft, settlement)
    end_iteration(draft, settlement)
    if answered and draft.run.question is None and given.halt.question is not None:
        draft.order(RemoveDecide())
    if settlement.set_aside is not None:
        _note_in_plan(draft, settlement.set_aside)
    if draft.run.verdict is not None:
        run_flow.apply_verdict(draft, draft.run.verdict)
    elif (due := review_due(draft.run)) is not None:
        run_flow.halt_for_review(draft, due)
    elif settlement.hold is not None and not settlement.works_on:
        run_flow.wait_for_agent(draft, settlement.hold, since=current.started.at)
    else:
        changes_plan = settlement.set_aside is not None
        run_flow.next_or_hold(draft, reuse=not settlement.lost, is_plan_changed=changes_plan)


def _settle(
    draft: StepDraft,
    current: CurrentIteration,
    given: IterationRead,
    evidence: Evidence,
    *,
    without_judge: bool = False,
) -> SettledIteration:
    run, stopped = draft.run, _is_stopped(draft, current)
    head = new_head(evidence) if current.committed is None else current.committed.commit
    hold, failed = (None, False) if stopped else _agent_failure(draft, current, given, evidence)
    is_last = failed and run.crashes + 1 >= CRASHES_TO_FATAL
    settlement = SettledIteration(
        current=current,
        read=given,
        evidence=evidence,
        stopped=stopped,
        failed=failed,
        hold=hold,
        replaced=agent_crash(run, now=draft.now) if is_last else None,
        gate=GateResult(indicators=run.indicators, satisfied=False, accepted=False),
        breaker=run.breaker,
        attempts=attempts.failed_attempts(run),
        set_aside=None,
        stuck_count=0 if head else run.stuck_count,
        commit=head,
    )
    settlement = _count_attempt(draft, settlement)
    if not settlement.cut_short:
        gate = _decide_gate(draft, current, given, without_judge=without_judge)
        stuck_count = 0 if head else run.stuck_count + 1
        stuck_count = run.stuck_count if _is_neutral(settlement) else stuck_count
        settlement = replace(settlement, gate=gate, stuck_count=stuck_count)
        if gate.refusal is None and is_held_by_tests(run, settlement):
            refused = replace(gate, accepted=False, refusal=TESTS_FAIL, by_tests=True, why="")
            settlement = replace(settlement, gate=refused)
    elif current.started.confirming:
        return replace(settlement, stuck_count=run.stuck_count)
    elif not evidence.progress and settlement.set_aside is None:
        return settlement
    facts = _facts(draft, settlement)
    counted = breaker_rules.count_iteration(run.breaker, facts, run.config.breaker, draft.now)
    return replace(settlement, breaker=counted)


def _agent_failure(
    draft: StepDraft, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> tuple[AgentHold | None, bool]:
    """Why no agent may start for a while, and whether this one failed without such a reason."""
    if current.exit is None:
        return None, False
    without_result = has_no_result(current.exit, given, evidence)
    hold = agent_hold(draft.run, given, limit_of(given), nothing=without_result, now=draft.now)
    return hold, without_result and hold is None


def _decide_gate(
    draft: StepDraft, current: CurrentIteration, given: IterationRead, *, without_judge: bool
) -> GateResult:
    """The gate's decision, where neither validation nor a judge refuses the completion."""
    run = draft.run
    gate = validation.refuse_completion(run, current, check_gate(gate_inputs(run, given)))
    return gate if without_judge else judge.refuse_completion(run, current, gate)


def _count_attempt(draft: StepDraft, settlement: SettledIteration) -> SettledIteration:
    """Count the attempt, before the breaker; a task whose agent reports BLOCKED is given up.

    See docs/rules.md#attempts.
    """
    config, given = draft.config.attempts, settlement.read
    task, report = settlement.current.started.task, given.report
    if task is not None:
        task = given.renamed.get(task.id, task)
    tasks_done = () if validation.is_invalid(settlement.current) else given.tasks_done
    done = task is not None and task.id in tasks_done
    counted = attempts.count_attempt(
        attempts.rename_tasks(attempts.failed_attempts(draft.run), given.renamed),
        task,
        done=done,
        progress=settlement.evidence.progress and not _is_refuted(task, settlement),
        counts=_keeps_attempt(settlement),
        config=config,
        others_done=(*tasks_done, *given.reviewed),
    )
    after, why, agent_reason = counted.attempts, "", ""
    quote = unfinished_tasks.quoted_reason(given)
    if counted.set_aside:
        why = unfinished_tasks.with_reason(
            f"{count_of(counted.count, 'attempt')} without success", quote
        )
    gives_up = draft.config.on_blocked is OnBlocked.SET_ASIDE and not settlement.cut_short
    if report is not None and report.status == "BLOCKED" and gives_up and task and not done:
        why = agent_reason = unfinished_tasks.blocked_reason(report)
        after = attempts.give_up_task(after, task, config)
    is_endless = not why and bool(why := unfinished_tasks.why_set_aside(draft.run, settlement))
    if is_endless:
        agent_reason = quote
        after = attempts.give_up_task(after, task, config) if task else after
    if task is None or not why:
        return replace(settlement, attempts=after)
    set_aside = SetAside(
        task=task,
        reason=why,
        attempts=counted.count,
        agent_reason=agent_reason,
        quote=quote,
        unfinished=is_endless,
    )
    return replace(settlement, attempts=after, set_aside=set_aside)


def _is_refuted(task: TaskRef | None, settlement: SettledIteration) -> bool:
    """Whether the agent closed the task and it does not hold: it has failed at it, whatever else
    it did (docs/rules.md#attempts).
    """
    refuted = {one.task.id for one in settlement.read.verified if one.failed}
    refuted |= {one.task.id for one in settlement.current.verified if one.reopened}
    return task is not None and task.id in refuted


def _keeps_attempt(settlement: SettledIteration) -> bool:
    """Whether the iteration was an attempt: its agent was available, and it was not stopped.

    A lost one was, unless the engine cancelled its attempt when it ended.
    """
    if settlement.lost:
        return attempts.COUNTED in settlement.current.told
    is_out = settlement.failed and settlement.read.failure_kind in OUT_OF_REACH
    return not (settlement.stopped or settlement.hold is not None or is_out)


def _facts(draft: StepDraft, settlement: SettledIteration) -> breaker_rules.BreakerFacts:
    report = settlement.read.report
    blocked = report is not None and report.status == "BLOCKED" and not settlement.cut_short
    opens = blocked and draft.config.on_blocked is OnBlocked.OPEN
    # A confirming iteration only inspects, so what it does beside that moves no counter; one
    # that fails is no progress, whatever it changed.
    is_progress = settlement.evidence.progress and not settlement.current.started.confirming
    return breaker_rules.BreakerFacts(
        iteration=settlement.current.started.iteration,
        progress=is_progress,
        neutral=_is_neutral(settlement),
        error_patterns=settlement.read.error_patterns,
        tests_status="NOT_RUN" if report is None else report.tests_status,
        blocked_reason=report.recommendation if report is not None and opens else None,
        completion_refused=settlement.gate.refusal is not None and not settlement.gate.by_tests,
        cut_short=settlement.cut_short,
        denied_tools=settlement.read.denied_tools,
        set_aside=settlement.set_aside is not None,
        endless=unfinished_tasks.why_stuck(draft.run, settlement),
        judged=None if settlement.set_aside else judge.why_stuck(settlement.current),
        asked=is_halt_raised(draft.config, settlement),
    )


def _is_neutral(settlement: SettledIteration) -> bool:
    return settlement.current.started.confirming and is_full_confirmation(settlement)


def _note_in_plan(draft: StepDraft, set_aside: SetAside) -> None:
    task, reason, n_attempts = set_aside.task, set_aside.reason, set_aside.attempts
    if attempts.is_marked_in_plan(draft.config.attempts):
        draft.order(SetTaskAside(task=task, reason=reason, needs=MARKED_BLOCKED))
    else:
        draft.order(
            NoteSetAside(
                task=task,
                attempts=n_attempts,
                at=draft.now,
                agent_reason=set_aside.agent_reason,
                quote=set_aside.quote,
            )
        )
