"""Events of an open iteration: what was read and decided, each reported once, whatever engine died.

An engine that takes over an iteration which another one was closing reads its output again. Events
that are in the journal already are not emitted again.
"""

from __future__ import annotations

from ralph_ls.core.agent.usage import add_usage
from ralph_ls.core.loop.effects import JudgeWork
from ralph_ls.core.loop.evidence.progress import contradiction, is_tick_alone
from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.fold.iteration_changes import BUDGET_WARNING, warning_name
from ralph_ls.core.loop.inputs import IterationRead, ValidationFinished, WorkJudged, WorkUndone
from ralph_ls.core.loop.machine import unfinished_tasks
from ralph_ls.core.loop.machine.verdict import (
    SettledIteration,
    counted_iterations,
    ends_complete,
    question_of,
    refused_completion_words,
)
from ralph_ls.core.loop.rules import budget
from ralph_ls.core.loop.rules.attempts import is_marked_in_plan
from ralph_ls.core.loop.rules.budget import ITERATION_LIMIT, iteration_limit_words
from ralph_ls.core.loop.rules.gate import GateInputs, foreign_signals, gate_words
from ralph_ls.core.loop.rules.validation import checks_of_event
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    CompletionRefused,
    CriteriaVerified,
    Event,
    EvidenceGathered,
    GuardReverted,
    Judged,
    JudgeStarted,
    PlanChanged,
    PromiseRead,
    RalphStatusUpdate,
    RolledBack,
    TaskSetAside,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.report import BAD_VALUE, FLAGS
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import BreakerState, Evidence, Mode, RemovedTask

SHOWN_TASKS = 5

UNREADABLE_FLAG = "unreadable-flag"
"""The code of the warning that a flag of the report is neither true nor false."""

REPORTS_MISSING_TO_WARN = 3
"""Iterations without a report after which a warning is due (docs/rules.md#status-block)."""


def emit_once(draft: StepDraft, event: Event) -> None:
    """Emit an event of the open iteration, unless an engine that died has emitted its kind."""
    if event.kind not in draft.open_iteration.told:
        draft.emit(event)


def warn_once(
    draft: StepDraft, code: str, message: str, removed: RemovedTask | None = None
) -> None:
    """Warn of something in the open iteration, once for each code."""
    if warning_name(code) not in draft.open_iteration.told:
        draft.emit(Warned(**draft.iteration_stamp, code=code, message=message, removed=removed))


def emit_reverted(draft: StepDraft, given: IterationRead) -> None:
    """Report restored changes; a second reading finds nothing more to restore."""
    for one in given.reverted:
        draft.emit(
            GuardReverted(
                **draft.iteration_stamp,
                path=one.path,
                what=one.what,
                tasks=one.tasks,
                n_tasks=one.n_tasks,
                text=one.text,
                kept=one.kept,
                why=one.why,
                commit=one.commit,
            )
        )


def emit_rollback(draft: StepDraft, given: WorkUndone) -> None:
    """Report the result of a rollback."""
    for notice in given.notices:
        warn_once(draft, notice.code, notice.message)
    draft.emit(
        RolledBack(
            **draft.iteration_stamp,
            ok=not given.refused,
            backup=given.backup,
            commits=given.commits,
            files=given.files,
            kept=given.kept,
            refused=given.refused,
        )
    )


def emit_judge_started(draft: StepDraft, order: JudgeWork) -> None:
    """Report that the iteration's work is judged."""
    config = draft.config.judge
    emit_once(
        draft,
        JudgeStarted(
            **draft.iteration_stamp,
            agent=config.agent or draft.config.agent,
            model=config.model,
            tasks=order.tasks,
            round=order.round,
            max_rounds=config.max_rounds,
        ),
    )


def emit_verdict(draft: StepDraft, given: WorkJudged) -> None:
    """Report the judge's verdict, also that it is undecided."""
    begun = draft.open_iteration.judging
    for notice in given.notices:
        warn_once(draft, notice.code, notice.message)
    emit_once(
        draft,
        Judged(
            **draft.iteration_stamp,
            verdict=given.verdict,
            reason=given.reason,
            failed=given.failed,
            changes=given.changes,
            agent=given.agent or draft.config.agent,
            model=given.model,
            tasks=() if begun is None else begun.tasks,
            reopened=given.reopened,
            round=1 if begun is None else begun.round,
            max_rounds=draft.config.judge.max_rounds,
            seconds=given.seconds,
            usage=given.usage,
            restored=given.restored,
        ),
    )


def emit_verified(draft: StepDraft, given: IterationRead) -> None:
    """Report the checks of closed tasks; a second reading runs only those that have not passed."""
    for one in given.verified:
        draft.emit(
            CriteriaVerified(
                **draft.iteration_stamp,
                task=one.task,
                ok=one.ok,
                reopened=one.reopened,
                checks=checks_of_event(one),
            )
        )


def gate_inputs(run: RunState, given: IterationRead) -> GateInputs:
    """The gate's inputs after this iteration."""
    return GateInputs(
        report=given.report,
        promises=given.promises,
        completion_words=given.completion_words,
        counts=given.plan.counts,
        indicators_before=run.indicators,
        stale_marker=run.stale_marker and given.plan.counts.marker,
        iterations=run.counted + 1,
        min_iterations=run.config.min_iterations,
        config=run.config.gate,
        complete_word=run.config.promise.complete,
    )


def emit_reading(
    draft: StepDraft, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> None:
    """Report the status block, promises, evidence and the plan's change, then contradictions."""
    if given.report is not None:
        emit_once(draft, RalphStatusUpdate(**draft.iteration_stamp, report=given.report))
    n_emitted = current.told.count("promiseRead")
    for promise in given.promises[n_emitted:]:
        draft.emit(PromiseRead(**draft.iteration_stamp, promise=promise))
    emit_once(draft, EvidenceGathered(**draft.iteration_stamp, evidence=evidence))
    if given.tasks_done or given.plan.counts != current.started.counts:
        emit_once(
            draft,
            PlanChanged(**draft.iteration_stamp, counts=given.plan.counts, done=given.tasks_done),
        )
    ended = current.exit is not None and current.exit.overspent
    if message := iteration_limit_words(draft.config, given.usage, ended=ended):
        warn_once(draft, ITERATION_LIMIT, message)
    _warn_of_claims(draft, given, evidence)
    _warn_of_signals(draft, given)


def emit_decisions(draft: StepDraft, settlement: SettledIteration) -> None:
    """Report the decisions of attempts, gate and breaker, and warn of conditions that last too
    long.
    """
    aside = settlement.set_aside
    if aside is not None:
        emit_once(
            draft,
            TaskSetAside(
                **draft.iteration_stamp,
                task=aside.task,
                attempts=aside.attempts,
                reason=aside.reason,
                marked=is_marked_in_plan(draft.config.attempts),
            ),
        )
    if settlement.gate.refusal is not None:
        emit_once(
            draft,
            CompletionRefused(
                **draft.iteration_stamp,
                why=settlement.gate.refusal,
                open_tasks=settlement.read.plan.open_tasks,
            ),
        )
    elif why := refused_completion_words(draft.run, settlement):
        emit_once(draft, CompletionRefused(**draft.iteration_stamp, why=why))
    if (message := unfinished_tasks.unfinished_warning(draft.run, settlement)) is not None:
        warn_once(draft, unfinished_tasks.UNFINISHED_WARNING, message)
    _emit_breaker(draft, settlement)
    _warn_of_budgets(draft, settlement)
    missing = draft.run.missing_reports + 1
    is_missing = settlement.read.report is None and not settlement.cut_short
    if is_missing and missing == REPORTS_MISSING_TO_WARN:
        message = f"{missing} iterations in a row without a status block; only evidence counts"
        warn_once(draft, "report-missing", message)
    if settlement.read.question and not settlement.cut_short:
        _warn_of_question(draft, settlement)


def _emit_breaker(draft: StepDraft, settlement: SettledIteration) -> None:
    before, after = draft.run.breaker, settlement.breaker
    if after.state is not before.state:
        emit_once(
            draft,
            CircuitBreakerStateChange(
                **draft.iteration_stamp,
                from_state=before.state,
                to_state=after.state,
                reason=after.reason,
                breaker=after,
            ),
        )
        if after.state is BreakerState.HALF_OPEN:
            message = f"{after.reason}; the run stops if this continues (breaker half-open)"
            warn_once(draft, "breaker-half-open", message)
    same = after.consecutive_same_error
    if same and same == draft.config.breaker.same_error_warn and not settlement.cut_short:
        warn_once(draft, "error-repeating", f"the same error in {same} iterations")


def _warn_of_budgets(draft: StepDraft, settlement: SettledIteration) -> None:
    """Warn once of each budget that is nearly used up (docs/rules.md#budgets)."""
    run = draft.run
    used = budget.nearly_used_budgets(
        run.config,
        counted=counted_iterations(run, settlement),
        seconds=active_seconds(run, draft.now),
        usage=add_usage(run.usage, settlement.usage),
    )
    for name, message in used:
        if name not in run.budgets_warned:
            warn_once(draft, BUDGET_WARNING + name, message)


def _warn_of_question(draft: StepDraft, settlement: SettledIteration) -> None:
    """Warn of a question without a signal: it cannot be answered in its place."""
    is_raised = question_of(settlement.read) is not None
    if is_raised or ends_complete(draft.run, settlement) is not None:
        return
    message = (
        f"the agent ended with a question instead of a signal: {settlement.read.question} Answer "
        "it with: ralph note"
    )
    warn_once(draft, "asked-without-signal", message)


def _warn_of_claims(draft: StepDraft, given: IterationRead, evidence: Evidence) -> None:
    current = draft.run.current
    is_planning = current is not None and current.started.mode is Mode.PLAN
    plan_changed = is_planning and given.plan_changed
    claim = contradiction(given.report, evidence, plan_changed=plan_changed, moved=given.moved)
    if claim is not None:
        warn_once(draft, "claim-without-evidence", claim)
    # To approve the work of others is all that a review does.
    if is_tick_alone(evidence) and not set(evidence.tasks_done) <= set(given.moved):
        ticked = ", ".join(evidence.tasks_done[:SHOWN_TASKS])
        warn_once(draft, "tick-without-change", f"ticked, but nothing else changed: {ticked}")
    for problem in () if given.report is None else given.report.problems:
        if problem.code == BAD_VALUE and problem.field in FLAGS:
            warn_once(draft, UNREADABLE_FLAG, problem.message)
    if given.report is not None and given.report.work_type == "TESTING":
        message = "this iteration only ran tests and implemented nothing"
        warn_once(draft, "test-only", message)


def _warn_of_signals(draft: StepDraft, given: IterationRead) -> None:
    """Report a completion signal that is not the profile's gate; it never ends a run.

    See docs/rules.md#exit-gate.
    """
    config = draft.config
    if signals := foreign_signals(gate_inputs(draft.run, given)):
        asked = gate_words(config.gate, config.promise.complete)
        message = f"{' and '.join(signals)}; this profile's gate requires {asked}"
        warn_once(draft, "completion-not-gate", message)


def emit_validated(draft: StepDraft, given: ValidationFinished) -> None:
    """Report the result of the scripts; where the user interrupted them there is none."""
    if given.ok or not draft.state.stopping_agent:
        draft.emit(
            Validated(
                **draft.iteration_stamp,
                ok=given.ok,
                exit_code=given.exit_code,
                timed_out=given.timed_out,
                seconds=given.seconds,
                tail=given.tail,
                script=given.script,
                scripts=given.scripts,
            )
        )
