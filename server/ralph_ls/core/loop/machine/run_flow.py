"""The flow of a run between iterations: continue, hold, park, or end for one named reason."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.effects import (
    Finish,
    PrepareIteration,
    ReadIteration,
    WaitUntil,
    WatchHaltFiles,
)
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.loop.inputs import PlanFacts
from ralph_ls.core.loop.machine.blockers import announce_end
from ralph_ls.core.loop.rules import attempts, budget, gate, judge
from ralph_ls.core.loop.rules import breaker as breaker_rules
from ralph_ls.core.loop.rules import budget as calls
from ralph_ls.core.loop.rules.commits import restored_lines, unfinished_git_of_last_start
from ralph_ls.core.loop.rules.failure_policy import AgentHold, retry_wait
from ralph_ls.core.loop.rules.gate import gate_words, queue_is_empty
from ralph_ls.core.loop.rules.validation import is_repair_iteration
from ralph_ls.core.loop.rules.waits import (
    BY_REVIEW_POINT,
    REVIEW,
    WAIT_SUBJECTS,
    hours_over,
    parked_words,
    stuck_words,
    unbearable_wait,
)
from ralph_ls.core.loop.state import Awaits, StepDraft
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.protocol.config.config import Committer, GateRule, OnHalt
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    IterationStarted,
    PhaseChanged,
    RunEnded,
    WaitStarted,
)
from ralph_ls.protocol.run.report import AgentFailure
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import EndReason, Mode, Phase, Verdict

BY_TERM = "SIGTERM"
"""The name of the TERM signal where it ends a run, which has a separate exit code."""

BY_CTRL_C = "Ctrl-C"
"""The name of Ctrl-C: it stops a run after this iteration first, and at once when it is repeated.
"""

EXIT_CODES = {
    EndReason.COMPLETE: 0,
    EndReason.LIMIT: 1,
    EndReason.BLOCKED: 2,
    EndReason.DECIDE: 3,
    EndReason.STUCK: 4,
    EndReason.FATAL: 5,
    EndReason.STOPPED: 130,
}
"""Exit codes by reason (docs/rules.md#exit-codes)."""

TERM_EXIT_CODE = 143

REASONS_FOR_USER = frozenset({EndReason.BLOCKED, EndReason.DECIDE, EndReason.STUCK})
"""Ends for which a run parks instead, where it may wait (docs/rules.md#halting)."""

REASONS_THAT_PERSIST = frozenset({EndReason.FATAL, EndReason.STUCK})
"""Verdicts that an engine which resumes the run applies before anything else."""


def end_run(draft: StepDraft, reason: EndReason, message: str, *, by: str = "") -> None:
    """End the run."""
    code = EXIT_CODES[reason]
    if reason is EndReason.STOPPED and by == BY_TERM:
        code = TERM_EXIT_CODE
    run = draft.run
    draft.emit(
        RunEnded(
            **draft.stamp,
            reason=reason,
            exit_code=code,
            message=message,
            by=by,
            iterations=run.iterations,
            seconds=round(run.active_seconds, 3),
        )
    )
    announce_end(draft, reason)
    draft.order(Finish(exit_code=code))


def halt_for_user(draft: StepDraft, reason: EndReason, message: str) -> None:
    """Park the run for the user or end it, as ``on_halt`` has it (docs/rules.md#halting)."""
    if draft.config.on_halt is OnHalt.WAIT:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PARKED, reason=reason.value))
        draft.order(WatchHaltFiles())
    else:
        end_run(draft, reason, message)


def halt_for_review(draft: StepDraft, why: str) -> None:
    """Park until the user approves; a run that does not wait ends, to be resumed."""
    if draft.config.on_halt is OnHalt.WAIT:
        draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PARKED, reason=REVIEW))
        draft.order(WatchHaltFiles())
    else:
        message = f"review due: {why}; look at the work, then continue with: ralph run --resume"
        end_run(draft, EndReason.STOPPED, message, by=BY_REVIEW_POINT)


def apply_verdict(draft: StepDraft, verdict: Verdict) -> None:
    """Apply the verdict of the last iteration."""
    if verdict.reason in REASONS_FOR_USER:
        halt_for_user(draft, verdict.reason, verdict.message)
    else:
        stopped = verdict.reason is EndReason.STOPPED
        by = draft.run.stop_requested if stopped else None
        end_run(draft, verdict.reason, verdict.message, by=by or "")


def stop_run(draft: StepDraft, by: str) -> None:
    """End a run that has no agent; a parked one ends with the code of the reason for which it
    parked.
    """
    run = draft.run
    is_halted = run.phase is Phase.PARKED and run.phase_reason != REVIEW
    if is_halted and run.phase_reason is not None:
        reason = EndReason(run.phase_reason)
        end_run(draft, reason, f"stopped while waiting for {parked_words(run)}", by=by)
    else:
        waited = run.phase_reason if run.phase is Phase.WAITING else None
        what = WAIT_SUBJECTS.get(waited or "", "")
        message = f"stopped by {by}{f' while waiting for {what}' if what else ''}"
        end_run(draft, EndReason.STOPPED, message, by=by)


def begin_run(draft: StepDraft) -> None:
    """After a start: halt for a question or blocker that is still open, else begin.

    See docs/rules.md#halting.
    """
    run = draft.run
    if run.blocked is not None:
        halt_for_user(draft, EndReason.BLOCKED, f"still blocked: {run.blocked.reason}")
    elif run.question is not None and run.question.answer is None:
        halt_for_user(
            draft, EndReason.DECIDE, f"still waiting for your answer: {run.question.question}"
        )
    else:
        prepare_iteration(draft, reuse=False)


def next_or_hold(draft: StepDraft, *, reuse: bool = False, is_plan_changed: bool = False) -> None:
    """Move to the next iteration, unless the run is to be held.

    ``reuse``: an iteration has just ended. ``is_plan_changed``: it changed the plan at its end.
    """
    if hold_if_wanted(draft):
        return
    cooldown = draft.config.cooldown
    if cooldown > 0 and reuse:
        wait_until(draft, "cooldown", draft.now + _seconds(cooldown))
    else:
        prepare_iteration(draft, reuse=reuse and not is_plan_changed)


def wait_for_limit(draft: StepDraft, limit: AccountLimit, *, since: datetime) -> None:
    """Wait until the agent's usage limit is reset, unless the run is to be held.

    See docs/rules.md#usage-limits.

    ``since``: when the iteration began. A reset that came while the agent was still ending needs no
    wait; one from before it is outdated, and must not start agents in a row.
    """
    if hold_if_wanted(draft):
        return
    until = limit.resets_at
    if until is None or until <= since:
        until = draft.now + _seconds(draft.config.limit_wait)
    wait_until(draft, "limit", until)


def wait_for_agent(draft: StepDraft, held: AgentHold, *, since: datetime) -> None:
    """Wait until the agent, or the first one left out, is available, unless the run is held."""
    if held.limit is not None and held.back_at is None:
        wait_for_limit(draft, held.limit, since=since)
    elif not hold_if_wanted(draft):
        retry = draft.now + retry_wait(draft.config, held.retry)
        no_answer = "unreachable" if held.kind is AgentFailure.UNREACHABLE else "retry"
        reason = no_answer if held.back_at is None else "limit"
        wait_until(draft, reason, held.back_at or retry)


def wait_until(draft: StepDraft, reason: str, until: datetime) -> None:
    """Wait without the user, visibly; end where that would take too long."""
    if message := unbearable_wait(draft.run, reason, until, draft.now):
        end_run(draft, EndReason.LIMIT, message)
        return
    draft.emit(WaitStarted(**draft.stamp, reason=reason, until=until))
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.WAITING, reason=reason, until=until))
    draft.order(WaitUntil(until=until))


def reread_iteration(
    draft: StepDraft, current: CurrentIteration, *, order: OwnershipOrder | None = None
) -> None:
    """Read an open iteration that an earlier engine began, or that was disputed."""
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.SETTLING))
    draft.order(
        ReadIteration(
            start=current.started.start,
            iteration=current.started.iteration,
            attempt=1 if current.agent is None else current.agent.attempt,
            baseline=current.started.baseline,
            lost=current.exit is None,
            taken_up=True,
            order=order,
            skip=skipped(draft.run),
            skipped=draft.run.skipped,
        )
    )


def prepare_iteration(draft: StepDraft, *, reuse: bool) -> None:
    """Order the facts for the next iteration, as soon as an agent may start."""
    run, now = draft.run, draft.now
    start = calls.next_agent_start(run.calls, run.config.max_calls_per_minute, now)
    if start is not None:
        wait_until(draft, "calls", start)
        return
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PREPARING))
    draft.order(PrepareIteration(reuse=reuse, skip=skipped(run), skipped=run.skipped))


def skipped(run: RunState) -> tuple[str, ...]:
    """Ids of the tasks that are set aside without a mark in the plan (docs/rules.md#attempts)."""
    return attempts.skipped_without_mark(attempts.failed_attempts(run), run.config.attempts)


def untaken_tasks(run: RunState) -> tuple[str, ...]:
    """Ids of all tasks that are open in the plan and not to be taken."""
    return (*skipped(run), *run.skipped)


def hold_if_wanted(draft: StepDraft) -> bool:
    """Pause the run where the user asked for it, and return whether it is paused."""
    if draft.run.pause_requested:
        pause_run(draft)
        return True
    return False


def pause_run(draft: StepDraft) -> None:
    """Hold the run until the user resumes or stops it."""
    draft.emit(PhaseChanged(**draft.stamp, phase=Phase.PAUSED))
    draft.expect(Awaits.PERSON)


def mode_of(run: RunState, plan: PlanFacts, wanted: Mode) -> Mode:
    """The mode of the next iteration; ``wanted`` is that of settings and plan.

    See docs/rules.md#plan-mode.

    A plan with nothing left but tasks that were set aside is planned again, once between two build
    iterations that made progress: planning that did not help would not help a second time.
    """
    may_plan = run.config.plan_when_stuck and run.config.task is None and not run.has_planned
    return Mode.PLAN if may_plan and plan.is_stuck and wanted is Mode.BUILD else wanted


def end_before_iteration(
    draft: StepDraft, plan: PlanFacts, mode: Mode = Mode.BUILD, *, owes: bool = False
) -> bool:
    """End the run instead of beginning another iteration, and return whether it ended.

    A plan iteration makes tasks, so it begins also where none is open or ready; so does one that
    has to repair a task that is ticked already. ``owes``: work of the loop is in no commit, so that
    no run is complete before an iteration has validated and committed it. The order is that of
    docs/rules.md#exit-codes.
    """
    run, all_done = draft.run, plan.counts.open_required == 0
    if mode is Mode.PLAN or is_repair_iteration(run) or judge.is_held(run):
        if message := _budget_used_up(draft):
            end_run(draft, EndReason.LIMIT, message)
        return bool(message)
    if run.config.task is not None and plan.counts.total == 0:
        end_run(draft, EndReason.FATAL, f"the task {run.config.task} is no longer in the plan")
    elif message := _completion(run, plan, owes=owes):
        _complete(draft, plan, message)
    elif plan.without_tasks and not run.had_tasks:
        end_run(draft, EndReason.FATAL, plan.without_tasks)
    elif plan.next_task is None and not all_done:
        halt_for_user(draft, EndReason.BLOCKED, _nothing_ready(run, plan))
    elif message := _budget_used_up(draft):
        end_run(draft, EndReason.LIMIT, message)
    else:
        return False
    return True


def _completion(run: RunState, plan: PlanFacts, *, owes: bool) -> str:
    """Why the run is complete, in words; empty where it is not."""
    all_done = plan.counts.open_required == 0
    if run.config.task is not None and all_done and not run.failing_tests:
        return f"the task {run.config.task} is done"
    if run.verdict is not None and run.verdict.reason is EndReason.COMPLETE and all_done:
        return run.verdict.message
    return "" if owes else complete_without_agent(run, plan) or ""


def _complete(draft: StepDraft, plan: PlanFacts, message: str) -> None:
    """End as complete, unless the user has to inspect a commit first."""
    if plan.committed_offence:
        halt_for_user(draft, EndReason.BLOCKED, plan.committed_offence)
    else:
        end_run(draft, EndReason.COMPLETE, message)


def complete_without_agent(run: RunState, plan: PlanFacts) -> str | None:
    """Why no agent is needed to see that the run is complete; None: one is.

    Where the completion marker is in the plan, its tasks may all have been moved elsewhere. A run
    that was confirmed needs no other agent, unless tests failed or an answer has to be given.
    """
    rule, counts = run.config.gate.rule, plan.counts
    if rule is GateRule.QUEUE and queue_is_empty(counts, plan.next_task):
        return gate.NOTHING_OPEN
    if counts.open_required:
        return None
    is_early = run.counted < run.config.min_iterations
    if rule is GateRule.VERIFIED and counts.total and not is_early:
        return "every required task is done"
    if rule is GateRule.MARKER and counts.marker and run.counted == 0:
        return f"the plan contains {run.config.gate.marker}, and no required task is open"
    is_owed = run.failing_tests or run.question is not None
    if gate.confirmations_used_up(run) and plan.next_task is None and not is_early and not is_owed:
        return gate.confirmation_words(run)
    return None


def _budget_used_up(draft: StepDraft) -> str | None:
    """Which budget is used up; a run that is resumed with one names the flags that raise them."""
    run = draft.run
    if over := hours_over(run, draft.now):
        return over
    message = budget.limit_reached(
        run.config, counted=run.counted, seconds=run.active_seconds, usage=run.usage
    )
    if message is None or draft.state.has_begun or not run.start:
        return message
    raised = budget.used_up_budgets(
        run.config, counted=run.counted, seconds=run.active_seconds, usage=run.usage
    )
    flags = " ".join(one.flag for one in raised)
    return f"this run already {message}; raise it with: {flags}"


def reset_breaker(draft: StepDraft, *, by: str) -> None:
    """Close the breaker and zero the stuck count, on the user's order."""
    before = draft.run.breaker
    after = breaker_rules.close_by_reset(before, by=by, now=draft.now)
    draft.emit(
        CircuitBreakerStateChange(
            **draft.stamp,
            from_state=before.state,
            to_state=after.state,
            reason=after.reason,
            breaker=after,
        )
    )


def reset_if_stuck(draft: StepDraft, *, by: str) -> None:
    """Count ``--resume`` as a reset by that user (docs/rules.md#recovery)."""
    if stuck_words(draft.run.breaker, draft.run.stuck_count, draft.config):
        reset_breaker(draft, by=by)


def prompt_context(run: RunState, started: IterationStarted) -> PromptContext:
    """The context of the iteration's prompt; a note that came after it began waits."""
    question, task = run.question, started.task
    return PromptContext(
        iteration=started.iteration,
        tries=started.tries,
        profile=run.config.profile,
        mode=started.mode,
        max_iterations=run.config.max_iterations,
        plan_path=run.plan,
        decide_path=run.config.paths.decide,
        blocked_path=run.config.paths.blocked,
        progress_path=run.config.paths.progress,
        loop_commits=run.config.commits is Committer.LOOP,
        complete_word=run.config.promise.complete,
        completion=gate_words(run.config.gate, run.config.promise.complete),
        task=task.title if task is not None else None,
        task_id=task.id if task is not None else None,
        confirming=started.confirming,
        skip_review=run.config.skip_review,
        review_cap=run.config.review_cap,
        question=question.question if question is not None else None,
        answer=question.answer if question is not None else None,
        answered_by=question.answered_by if question is not None else None,
        is_untrusted=question is not None and question.untrusted,
        recommendation=run.recommendation,
        failed_validation=run.failed_validation,
        judged=judge.requests_for(run, task),
        failing_tests=run.failing_tests,
        restored=restored_lines(run.reverted),
        unfinished_git=unfinished_git_of_last_start(run, started.start),
        notes=tuple(note.text for note in run.notes if note.seq < started.seq),
        discoveries=tuple(one.text for one in run.discoveries if one.seq < started.seq),
    )


SHOWN_TASKS = 3
"""Tasks that the end of a blocked run names."""


def _nothing_ready(run: RunState, plan: PlanFacts) -> str:
    """The reason that no task can be selected, and what keeps each of them.

    See docs/rules.md#exit-gate.
    """
    if plan.left:
        return f"{gate.QUEUE_OVER}: nothing is ready; {plan.left}"
    if run.config.task is not None:
        was_skipped = run.config.task in run.skipped
        waits = [one.why for one in plan.held if one.is_waiting]
        why = "was skipped by you" if was_skipped else "is blocked in the plan"
        return f"the task {run.config.task} {f'is {waits[0]}' if waits else why}"
    n_open, n_blocked = plan.counts.open_required, plan.counts.blocked_required
    how = "blocked" if n_blocked == n_open else "blocked or set aside"
    if run.skipped and n_blocked != n_open:
        how = "blocked, set aside or skipped"
    several = f"all {n_open} open tasks in the plan are {how}"
    summary = several if n_open > 1 else f"the only open task in the plan is {how}"
    held = [f"{one.task.title} ({one.why})" for one in plan.held[:SHOWN_TASKS]]
    more = ["…"] if held and n_open > len(held) else []
    return ": ".join(filter(None, (summary, "; ".join(held + more))))


def _seconds(duration: float) -> timedelta:
    return timedelta(milliseconds=ceil(duration * 1000))
