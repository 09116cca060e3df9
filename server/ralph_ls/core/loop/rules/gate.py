"""Exit gate: decides when a run is complete, and when it needs a confirming iteration first.

Every profile has one gate (docs/rules.md#exit-gate), and each gate is a rule of two halves. The
agent's half is the rule's signal: a line in the plan, two conditions in a report, a promise. The
plan's half is the same for all: with required tasks open a completion is refused, whatever the
agent reports, and blocked tasks are open. Where there is no task at all (a request, a trace without
a plan) nothing is refused.

A completion signal of another rule never ends a run; it is reported, so that the user sees why the
loop continued. Under the rules ``marker`` and ``dual`` a report of failing tests refuses a
completion as well: by the agent's own report the work is not done. EXIT_SIGNAL together with
BLOCKED, NEEDS_CLARIFICATION or a wish for clarification is never completion: it means "should
processing stop" (docs/rules.md#status-block). COMPLETE with EXIT_SIGNAL false is no signal: agents
write it for "this task".

Confirmation (docs/rules.md#confirmation): under ``marker`` and ``dual`` an agent may finish the
last task without the gate's signal. Then one iteration without a task confirms that nothing is left
to do. A run has ``max_confirmations`` of them: tasks that such an iteration added to the plan are
worked on, and the run is complete when they are done. A confirming iteration that failed, asked
something or reported failing tests does not count, and is repeated; the breaker limits that.

Nothing here ends a run. Which end comes first when several hold is in ``ORDERS``, for ``verdict``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, assert_never

from ralph_ls.protocol.config.config import GateConfig, GateRule
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import Promise, PromiseKind, Report
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason, PlanCountsView, TaskRef

if TYPE_CHECKING:
    from ralph_ls.core.loop.inputs import PlanFacts

CONFIRMING_GATES = frozenset({GateRule.MARKER, GateRule.DUAL})
"""Gate rules under which a run is confirmed, and under which failing tests refuse a completion."""


def confirmations_used_up(run: RunState) -> bool:
    """Whether the run has had all its confirming iterations, so that the plan alone decides."""
    has_confirmed = run.confirmations >= run.config.max_confirmations
    return has_confirmed and run.config.gate.rule in CONFIRMING_GATES


def confirmation_words(run: RunState) -> str:
    """Why a run without an open task is complete that needs no confirming iteration any more."""
    if not run.confirmations:
        return "no required task is open"
    return "no required task is open, and a confirming iteration has already run"


def has_open_work(plan: PlanFacts) -> bool:
    """Whether the plan has a required task that is open, or another one that can be selected."""
    return plan.next_task is not None or plan.counts.open_required > 0


def tests_fail(rule: GateRule, report: Report | None) -> bool:
    """Whether the report itself denies completion, by its TESTS_STATUS."""
    return rule in CONFIRMING_GATES and report is not None and report.tests_status == "FAILING"


def failing_tests_after(run: RunState, event: IterationEnded) -> bool:
    """Whether failing tests are the next iteration's first work, by the journal.

    They are where nothing else keeps the run from being complete: a completion was refused, or no
    required task is open.
    """
    report = run.report if run.report_start == event.start else None
    is_refused = run.current is not None and "completionRefused" in run.current.told
    is_due = is_refused or _is_done(event.counts)
    return is_due and tests_fail(run.config.gate.rule, report)


def _is_done(counts: PlanCountsView) -> bool:
    return not counts.open_required


NOT_COMPLETE = frozenset({"BLOCKED", "NEEDS_CLARIFICATION"})
"""STATUS values that ask for the user, whatever else the report contains.

See docs/rules.md#status-block.
"""

TESTS_FAIL = "the report says TESTS_STATUS FAILING"
"""The refusal of a completion whose agent reports failing tests."""

_USUAL_ORDER = (
    EndReason.COMPLETE,
    EndReason.BLOCKED,
    EndReason.DECIDE,
    EndReason.STUCK,
    EndReason.LIMIT,
)

_ORDER_OF_ISSUES = (
    EndReason.STUCK,
    EndReason.DECIDE,
    EndReason.COMPLETE,
    EndReason.BLOCKED,
    EndReason.LIMIT,
)

ORDERS: Mapping[GateRule, tuple[EndReason, ...]] = MappingProxyType(
    {rule: _ORDER_OF_ISSUES if rule is GateRule.STATUS else _USUAL_ORDER for rule in GateRule}
)
"""The order of ends after one iteration, after stopped and fatal (docs/rules.md#exit-gate).

The resilience loop checks COMPLETE, BLOCKED, DECIDE; requests check HALT, CLARIFY, COMPLETE.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInputs:
    """The inputs of a gate after one iteration."""

    report: Report | None
    promises: tuple[Promise, ...] = ()
    completion_words: tuple[str, ...] = ()
    """Names of the completion phrases in the final text outside blocks."""
    counts: PlanCountsView
    """The plan after the iteration."""
    indicators_before: int = 0
    stale_marker: bool = False
    """The plan's marker was there at the start, and has not been gone since."""
    iterations: int
    """Counted iterations, this one included."""
    min_iterations: int = 0
    config: GateConfig
    complete_word: str = "COMPLETE"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The gate's decision about one iteration."""

    indicators: int
    """The sum of completion indicators after this iteration; 0 under every rule but ``dual``."""
    satisfied: bool
    """The agent's half: the rule's signal is there."""
    accepted: bool
    """Satisfied, and the plan agrees."""
    refusal: str | None = None
    """Why a satisfied gate was not accepted."""
    by_tests: bool = False
    """It was refused for failing tests alone, which the breaker counts separately."""
    why: str = ""
    """Why the run is complete, in words; empty where it is not."""


def check_gate(given: GateInputs) -> GateResult:
    """Check one iteration's signals against the configured rule and the plan.

    See docs/rules.md#exit-gate.
    """
    match given.config.rule:
        case GateRule.MARKER:
            return _check_marker(given)
        case GateRule.DUAL:
            return _check_dual(given)
        case GateRule.VERIFIED:
            return _check_verified(given)
        case GateRule.QUEUE:
            return _check_queue()
        case GateRule.STATUS:
            return _check_status(given)
        case _:  # pragma: no cover
            assert_never(given.config.rule)


QUEUE_OVER = "\N{CHECK MARK} All work complete or blocked"
"""What the beads loop prints in both cases: nothing is open, or nothing of it is ready."""

NOTHING_OPEN = f"{QUEUE_OVER}: nothing in the plan is open"


def queue_is_empty(counts: PlanCountsView, next_task: TaskRef | None) -> bool:
    """Whether the queue, read before an iteration, is empty (docs/rules.md#exit-gate).

    A queue with nothing but blocked tasks is not: a required task is open then, and the run ends as
    blocked. An optional task that can be selected is work; one that cannot is not waited for.
    """
    return counts.open_required == 0 and next_task is None


def foreign_signals(given: GateInputs) -> tuple[str, ...]:
    """Completion signals of the agent that are not the rule's, each in words.

    See docs/rules.md#exit-gate.

    There are none where the gate's signal is there, which they only repeat.
    """
    rule, report = given.config.rule, given.report
    if check_gate(given).satisfied:
        return ()
    found: list[str] = []
    if rule is not GateRule.VERIFIED and _promises_complete(given):
        found.append(f"the agent promises {given.complete_word}")
    if rule is not GateRule.MARKER and _has_fresh_marker(given):
        found.append(f"the plan contains {given.config.marker}")
    if report is not None and not _asks_for_user(report):
        if rule is not GateRule.DUAL and report.exit_signal:
            found.append("the agent reports EXIT_SIGNAL true")
        if rule is not GateRule.STATUS and report.pr_ready:
            found.append("the agent reports PR_READY true")
    return tuple(found)


def gate_words(config: GateConfig, complete_word: str) -> str:
    """The signals of the gate, in words that follow "asks for"."""
    match config.rule:
        case GateRule.MARKER:
            return f"{config.marker} on its own line in the plan"
        case GateRule.DUAL:
            plural = "" if config.indicators == 1 else "s"
            return f"EXIT_SIGNAL true and {config.indicators} completion indicator{plural}"
        case GateRule.VERIFIED:
            return f"<promise>{complete_word}</promise> on its own line and every task done"
        case GateRule.QUEUE:
            return "an empty queue before an iteration"
        case GateRule.STATUS:
            return "STATUS COMPLETE or PR_READY true"
        case _:  # pragma: no cover
            assert_never(config.rule)


def gate_finding(given: GateInputs, result: GateResult) -> str:
    """What the gate found, in words that follow "complete: " or "not complete: "."""
    if result.accepted or result.refusal is not None:
        return result.why or result.refusal or ""
    return missing_signal(given, result.indicators)


def missing_signal(given: GateInputs, indicators: int = 0) -> str:
    """The signal that the gate misses, in words; ``indicators`` is their sum so far."""
    config, report = given.config, given.report
    if config.rule is GateRule.MARKER:
        where = "in the plan since before this run" if given.stale_marker else "not in the plan"
        return f"{config.marker} is {where}"
    if config.rule is GateRule.QUEUE:
        return "the queue is checked before the next iteration"
    if config.rule is GateRule.VERIFIED:
        return _missing_of_verified(given)
    if report is None:
        return "the agent gave no report"
    if _asks_for_user(report):
        return "the report asks for you"
    if config.rule is GateRule.STATUS:
        return f"STATUS is {report.status} and PR_READY is not true"
    if not report.exit_signal:
        return "EXIT_SIGNAL is not true"
    return f"{indicators} of {config.indicators} completion indicators so far"


def _missing_of_verified(given: GateInputs) -> str:
    if not _is_all_done(given.counts):
        return f"it does not promise {given.complete_word}"
    asks = bool(given.promises) or (given.report is not None and _asks_for_user(given.report))
    too_early = _refusal(given.counts, given.iterations, given.min_iterations)
    return too_early if too_early is not None and not asks else "the agent asks for you"


def _check_marker(given: GateInputs) -> GateResult:
    """``spec``: PROJECT_COMPLETE is in the plan (docs/rules.md#exit-gate).

    A marker of an earlier run may be there at the start, with the agent working below it. It means
    nothing for this run until it has been gone once (``stale_marker``). Only a line with nothing
    else counts, which ``plan.marker`` checks.
    """
    if not _has_fresh_marker(given):
        return _NOT_SATISFIED
    return _ask_plan(given, f"the plan contains {given.config.marker}")


def _check_dual(given: GateInputs) -> GateResult:
    """``fixplan``: EXIT_SIGNAL true and enough indicators (docs/rules.md#exit-gate).

    An indicator is one distinct completion pattern in the final text outside of blocks, or the plan
    having all its required tasks done. Indicators add up over consecutive iterations; an iteration
    with none, or with EXIT_SIGNAL false, sets the sum to 0. STATUS COMPLETE is none, since it often
    means "this task"; and IN_PROGRESS with EXIT_SIGNAL true occurs, and is a signal.
    """
    report = given.report
    found = len(set(given.completion_words)) + (1 if _is_all_done(given.counts) else 0)
    signalled = report is not None and report.exit_signal and not _asks_for_user(report)
    if not signalled or found == 0:
        return _NOT_SATISFIED
    indicators = given.indicators_before + found
    if indicators < given.config.indicators:
        return GateResult(indicators=indicators, satisfied=False, accepted=False)
    return _ask_plan(given, "the agent signals completion", indicators=indicators)


def _check_verified(given: GateInputs) -> GateResult:
    """``stories``: COMPLETE, verified against the plan; all done without the tag too.

    See docs/rules.md#exit-gate.

    A plan that is done ends the run without the agent's promise. Nothing was claimed then, so
    nothing is refused; and an agent that asks for the user comes first (docs/rules.md#promises).
    """
    if _promises_complete(given):
        return _ask_plan(given, f"the agent promises {given.complete_word}")
    asks = bool(given.promises) or (given.report is not None and _asks_for_user(given.report))
    if asks or not _is_all_done(given.counts) or given.iterations < given.min_iterations:
        return _NOT_SATISFIED
    why = "every required task is done"
    return GateResult(indicators=0, satisfied=True, accepted=True, why=why)


def _check_queue() -> GateResult:
    """``beads``: no signal of an iteration completes the run (docs/rules.md#exit-gate).

    This gate has no agent's half. The queue is read before each iteration, and ``queue_is_empty``
    decides; so a task that the last iteration added is included.
    """
    return _NOT_SATISFIED


def _check_status(given: GateInputs) -> GateResult:
    """``issue``: STATUS COMPLETE or PR_READY true (docs/rules.md#exit-gate).

    EXIT_SIGNAL is no signal here, since it is also set to ask for clarification
    (docs/rules.md#status-block); and PR_READY of a report that asks for the user is none.
    """
    report = given.report
    if report is None or _asks_for_user(report):
        return _NOT_SATISFIED
    if report.status == "COMPLETE":
        return _ask_plan(given, "the agent reports STATUS COMPLETE")
    if report.pr_ready:
        return _ask_plan(given, "the agent reports PR_READY true")
    return _NOT_SATISFIED


def _ask_plan(given: GateInputs, signal: str, *, indicators: int = 0) -> GateResult:
    """The plan's half of every rule: a signal is accepted or refused."""
    refusal = _refusal(given.counts, given.iterations, given.min_iterations)
    by_tests = refusal is None and tests_fail(given.config.rule, given.report)
    refusal = TESTS_FAIL if by_tests else refusal
    accepted = refusal is None
    tail = " and every required task is done" if given.counts.total else ""
    return GateResult(
        indicators=indicators,
        satisfied=True,
        accepted=accepted,
        refusal=refusal,
        by_tests=by_tests,
        why=signal + tail if accepted else "",
    )


def _refusal(counts: PlanCountsView, iterations: int, min_iterations: int) -> str | None:
    if counts.total and counts.open_required:
        noun = "task is" if counts.open_required == 1 else "tasks are"
        return f"{counts.open_required} required {noun} still open in the plan"
    if iterations < min_iterations:
        return f"only {iterations} of at least {min_iterations} iterations have run"
    return None


def _is_all_done(counts: PlanCountsView) -> bool:
    return counts.total > 0 and counts.open_required == 0


def _promises_complete(given: GateInputs) -> bool:
    return any(promise.kind is PromiseKind.COMPLETE for promise in given.promises)


def _has_fresh_marker(given: GateInputs) -> bool:
    return given.counts.marker and not given.stale_marker


def _asks_for_user(report: Report) -> bool:
    return report.status in NOT_COMPLETE or report.clarification_needed


_NOT_SATISFIED = GateResult(indicators=0, satisfied=False, accepted=False)
