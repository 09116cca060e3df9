"""Settling an iteration: what was said, what was seen, what it means for the run.

The order is that of SPEC §9: reading, evidence, validation, then breaker and gate. What it all
means is decided in ``verdict``. A refused COMPLETE is as if absent, and later promises are still
read (R §1).
"""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.loop import breaker as breaker_rules
from ralph_ls.core.loop import course
from ralph_ls.core.loop.effects import (
    CloseIteration,
    LaunchAgent,
    RemoveDecide,
    Validate,
    WriteBlocked,
    WriteDecide,
)
from ralph_ls.core.loop.evidence import judge
from ralph_ls.core.loop.gate import GateResult, check_dual_gate
from ralph_ls.core.loop.inputs import IterationRead, ValidationFinished
from ralph_ls.core.loop.state import Awaits, Draft
from ralph_ls.core.loop.telling import tell_once, tell_what_was_read, warn_once
from ralph_ls.core.loop.verdict import (
    Settlement,
    came_to_nothing,
    completion,
    exit_words,
    verdict,
)
from ralph_ls.protocol.breaker import BreakerState
from ralph_ls.protocol.events import (
    AgentExited,
    BlockedRaised,
    CircuitBreakerStateChange,
    CompletionRefused,
    IterationEnded,
    PhaseChanged,
    QuestionAsked,
    Validated,
)
from ralph_ls.protocol.evidence import Evidence
from ralph_ls.protocol.report import PromiseKind
from ralph_ls.protocol.run_words import Phase
from ralph_ls.protocol.state import CurrentIteration

REPORTS_MISSING_TO_WARN = 3
"""SPEC §5: a warning after three iterations without a report."""

KEPT_ERRORS = 5


def read(draft: Draft, given: IterationRead) -> None:
    """Tell what was read of the open iteration, then validate, try again, or close it."""
    current = draft.run.current
    if not draft.is_awaited(Awaits.READ) or current is None:
        return
    number, exit_event = current.started.iteration, current.exit
    for notice in given.notices:
        warn_once(draft, number, notice.code, notice.message)
    evidence = _evidence(draft, current, given)
    if (
        exit_event is not None
        and _may_try_again(draft, current, exit_event)
        and came_to_nothing(exit_event, given, evidence)
    ):
        _try_again(draft, current, exit_event, given)
        return
    tell_what_was_read(draft, current, given, evidence)
    ended_itself = exit_event is not None and not _is_stopped(draft, current)
    if given.must_validate and ended_itself and current.validated is None:
        draft.keep(settlement=given)
        draft.order(Validate(iteration=number))
    else:
        _close(draft, current, given, evidence)


def validated(draft: Draft, given: ValidationFinished) -> None:
    """Close the iteration whose validation is through; a failed one is fatal (S, validate.sh)."""
    current, held = draft.run.current, draft.state.settlement
    if not draft.is_awaited(Awaits.VALIDATION) or current is None or held is None:
        return
    # A script that was ended on a person's order has said nothing about the work.
    if given.ok or not draft.state.stopping_agent:
        draft.tell(
            Validated,
            iteration=current.started.iteration,
            ok=given.ok,
            exit_code=given.exit_code,
            timed_out=given.timed_out,
            seconds=given.seconds,
            tail=given.tail,
        )
        # What was told is part of the open iteration now.
        current = draft.run.current or current
    draft.keep(settlement=None)
    _close(draft, current, held, _evidence(draft, current, held))


def _evidence(draft: Draft, current: CurrentIteration, given: IterationRead) -> Evidence:
    """What was seen of the open iteration: as the journal has it, else as it is judged now."""
    recorded = draft.run.evidence
    if recorded is not None and "evidenceGathered" in current.told:
        return recorded
    return judge(
        given.changes,
        tasks_done=given.tasks_done,
        seen=draft.run.seen,
        kinds=draft.config.progress.evidence,
        report=given.report,
    )


def _is_stopped(draft: Draft, current: CurrentIteration) -> bool:
    return draft.state.stopping_agent or (current.exit is not None and current.exit.stopped)


def _may_try_again(draft: Draft, current: CurrentIteration, exit_event: AgentExited) -> bool:
    """One retry in an iteration (SPEC §9.3), and none where the run is about to stop."""
    first_time = exit_event.attempt == 1 and "evidenceGathered" not in current.told
    wanted = draft.run.stop_requested is None and not _is_stopped(draft, current)
    return first_time and wanted


def _try_again(
    draft: Draft, current: CurrentIteration, exit_event: AgentExited, given: IterationRead
) -> None:
    why = f" ({given.failure})" if given.failure else ""
    warn_once(
        draft,
        current.started.iteration,
        "agent-failed",
        f"the agent {exit_words(exit_event)} and left no result{why}; it is started once more",
    )
    draft.tell(PhaseChanged, phase=Phase.RUNNING)
    draft.order(
        LaunchAgent(
            iteration=current.started.iteration,
            attempt=2,
            context=course.prompt_context(draft.run, current.started),
        )
    )


def _close(
    draft: Draft, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> None:
    settlement = _settle(draft, current, given, evidence)
    _tell_decisions(draft, settlement)
    question = draft.run.question
    answered = question is not None and question.answer is not None
    if completion(draft.run, settlement) is None:
        _raise_promises(draft, settlement)
    _end_iteration(draft, settlement)
    if answered and draft.run.question is None and given.halt.question is not None:
        draft.order(RemoveDecide())
    if draft.run.verdict is None:
        course.go_on(draft, reuse=not settlement.lost)
    else:
        course.follow(draft, draft.run.verdict)


def _settle(
    draft: Draft, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> Settlement:
    run, exit_event = draft.run, current.exit
    stopped = _is_stopped(draft, current)
    heads = [commit.hash for commit in evidence.commits if not commit.repository]
    settlement = Settlement(
        current=current,
        read=given,
        evidence=evidence,
        stopped=stopped,
        failed=exit_event is not None
        and not stopped
        and came_to_nothing(exit_event, given, evidence),
        gate=GateResult(indicators=run.indicators, satisfied=False, accepted=False),
        breaker=run.breaker,
        stuck_count=0 if heads else run.stuck_count,
        commit=heads[-1] if heads else None,
    )
    if not settlement.cut_short:
        gate = check_dual_gate(
            report=given.report,
            completion_words=given.completion_words,
            counts=given.plan.counts,
            indicators_before=run.indicators,
            config=run.config.gate,
            iterations=run.counted + 1,
            min_iterations=run.config.min_iterations,
        )
        stuck_count = 0 if heads else run.stuck_count + 1
        settlement = replace(settlement, gate=gate, stuck_count=stuck_count)
    elif not evidence.progress:
        return settlement
    facts = _facts(settlement)
    counted = breaker_rules.count_iteration(run.breaker, facts, run.config.breaker, draft.now)
    return replace(settlement, breaker=counted)


def _facts(settlement: Settlement) -> breaker_rules.IterationFacts:
    report = settlement.read.report
    blocked = report is not None and report.status == "BLOCKED" and not settlement.cut_short
    return breaker_rules.IterationFacts(
        iteration=settlement.current.started.iteration,
        progress=settlement.evidence.progress,
        error_patterns=settlement.read.error_patterns,
        tests_status="NOT_RUN" if report is None else report.tests_status,
        blocked_reason=report.recommendation if report is not None and blocked else None,
        completion_refused=settlement.gate.refusal is not None,
        cut_short=settlement.cut_short,
    )


def _tell_decisions(draft: Draft, settlement: Settlement) -> None:
    """Tell what gate and breaker say, and warn of what goes on for too long."""
    number, before, after = (
        settlement.current.started.iteration,
        draft.run.breaker,
        settlement.breaker,
    )
    if settlement.gate.refusal is not None:
        tell_once(
            draft,
            CompletionRefused,
            iteration=number,
            why=settlement.gate.refusal,
            open_tasks=settlement.read.plan.open_tasks,
        )
    if after.state is not before.state:
        tell_once(
            draft,
            CircuitBreakerStateChange,
            iteration=number,
            from_state=before.state,
            to_state=after.state,
            reason=after.reason,
            breaker=after,
        )
        if after.state is BreakerState.HALF_OPEN:
            message = f"the breaker is half open: {after.reason}; more of it stops the run"
            warn_once(draft, number, "breaker-half-open", message)
    same = after.consecutive_same_error
    if same and same == draft.config.breaker.same_error_warn and not settlement.cut_short:
        warn_once(draft, number, "error-repeating", f"the same error in {same} iterations")
    missing = draft.run.missing_reports + 1
    if _is_report_missing(settlement) and missing == REPORTS_MISSING_TO_WARN:
        message = f"{missing} iterations in a row without a status block; evidence alone decides"
        warn_once(draft, number, "report-missing", message)


def _raise_promises(draft: Draft, settlement: Settlement) -> None:
    exit_event = settlement.current.exit
    if exit_event is None or exit_event.stopped:
        # The agent was cut off, so what it said last is not its last word.
        return
    number, paths = settlement.current.started.iteration, draft.config.paths
    for promise in settlement.read.promises:
        asked, blocked = draft.run.question, draft.run.blocked
        is_asked = asked is not None and asked.iteration == number
        if promise.kind is PromiseKind.DECIDE and not is_asked:
            draft.tell(
                QuestionAsked,
                iteration=number,
                question=promise.text,
                path=paths.decide,
                asked_at=draft.now.replace(microsecond=0),
            )
        was_raised = "blockedRaised" in settlement.current.told
        if promise.kind is PromiseKind.BLOCKED and blocked is None and not was_raised:
            draft.tell(BlockedRaised, iteration=number, reason=promise.text, path=paths.blocked)
    asked, blocked = draft.run.question, draft.run.blocked
    if asked is not None and asked.iteration == number and asked.answer is None:
        draft.order(WriteDecide(question=asked.question, iteration=number, asked_at=asked.asked_at))
    if blocked is not None:
        draft.order(WriteBlocked(reason=blocked.reason))


def _end_iteration(draft: Draft, settlement: Settlement) -> None:
    run, given, current = draft.run, settlement.read, settlement.current
    cut_short = settlement.cut_short
    recommendation, missing = run.recommendation, run.missing_reports
    if given.report is not None:
        recommendation, missing = given.report.recommendation, 0
    elif not cut_short:
        recommendation, missing = "", run.missing_reports + 1
    crashes = run.crashes if cut_short else 0
    # Nobody knows how long an iteration ran before its engine died.
    seconds = 0.0 if settlement.lost else (draft.now - current.started.at).total_seconds()
    ended = draft.tell(
        IterationEnded,
        iteration=current.started.iteration,
        mode=current.started.mode,
        outcome=settlement.outcome,
        seconds=round(max(0.0, seconds), 3),
        commit=settlement.commit,
        fingerprint=settlement.evidence.fingerprint,
        breaker=settlement.breaker,
        stuck_count=settlement.stuck_count,
        indicators=settlement.gate.indicators,
        missing_reports=missing,
        crashes=run.crashes + 1 if settlement.failed else crashes,
        recommendation=recommendation,
        counts=given.plan.counts,
        usage=given.usage,
        permission_denials=given.permission_denials,
        errors=given.errors[:KEPT_ERRORS],
        verdict=verdict(run, settlement, draft.now),
    )
    draft.order(CloseIteration(ended=ended))


def _is_report_missing(settlement: Settlement) -> bool:
    return settlement.read.report is None and not settlement.cut_short
