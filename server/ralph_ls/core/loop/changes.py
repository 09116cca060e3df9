"""Typed changes: the fields of a run's state that one event replaces, known to the type checker.

Pydantic's ``model_copy`` takes any mapping, so a misspelt key would be found by no checker. Each
class here repeats the fields of one model, all optional; a unit test holds the two together.
"""

from __future__ import annotations

from typing import TypedDict, Unpack

from ralph_ls.protocol.base import Timestamp
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.events import (
    AgentExited,
    AgentReported,
    AgentStarted,
    Committed,
    CriteriaVerified,
    GuardReverted,
    IterationStarted,
    Judged,
    JudgeStarted,
    Pushed,
    RolledBack,
    TaskSetAside,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.iteration_events import AgentOut
from ralph_ls.protocol.run.report import Promise, Report, Usage
from ralph_ls.protocol.run.state import (
    AgentCalls,
    Blocker,
    CurrentIteration,
    DiscoveryView,
    End,
    FailedValidation,
    IterationFacts,
    JudgeTotals,
    LaneView,
    LastIteration,
    NoteView,
    Question,
    RunTotals,
    Session,
    TaskReceipt,
)
from ralph_ls.protocol.run.values import (
    Baseline,
    Breaker,
    BreakerState,
    EndReason,
    EndStates,
    Evidence,
    LaneState,
    MergeProblem,
    Phase,
    PlanCountsView,
    RunChoices,
    TaskRef,
    Verdict,
)


class RunChanges(TypedDict, total=False):
    """New values of fields of ``RunState``."""

    run: str
    seq: int
    at: Timestamp | None
    workspace: str
    state_dir: str
    plan: str
    request: RequestView | None
    pid: int
    branch: str | None
    config: Config
    overrides: dict[str, object]
    choices: RunChoices | None
    phase: Phase
    phase_reason: str | None
    phase_since: Timestamp | None
    until: Timestamp | None
    ends_at: Timestamp | None
    waited_seconds: float
    started_at: Timestamp | None
    active_seconds: float
    start: int
    iteration: int
    tries: int
    counted: int
    current: CurrentIteration | None
    commit_base: Baseline | None
    owed: dict[str, str] | None
    held: tuple[str, ...] | None
    last: LastIteration | None
    verdict: Verdict | None
    report: Report | None
    report_iteration: int
    report_start: int
    promise: Promise | None
    evidence: Evidence | None
    evidence_iteration: int
    evidence_start: int
    counts: PlanCountsView
    breaker: Breaker
    stuck_count: int
    stuck_iterations: int
    indicators: int
    confirmations: int
    failing_tests: bool
    specs_unplanned: bool
    had_tasks: bool
    missing_reports: int
    attempts: dict[str, int]
    skipped: tuple[str, ...]
    has_planned: bool
    session: Session | None
    failed_validation: FailedValidation | None
    judgement: Judged | None
    judge_requests: dict[str, Judged]
    judge_owed: tuple[TaskRef, ...]
    judge_bases: dict[str, Baseline]
    judge_totals: JudgeTotals
    history: tuple[IterationFacts, ...]
    totals: RunTotals
    set_aside: tuple[TaskSetAside, ...]
    receipts: dict[str, TaskReceipt]
    usage: Usage | None
    calls: tuple[AgentCalls, ...]
    budgets_warned: tuple[str, ...]
    stale_marker: bool
    reverted: tuple[GuardReverted, ...]
    crashes: int
    overloads: int
    agents_out: tuple[AgentOut, ...]
    recommendation: str
    repeats: int
    weak_commits: tuple[str, ...]
    unfinished: int
    seen: EndStates
    question: Question | None
    settled_question: str | None
    blocked: Blocker | None
    resolved_blocker: str | None
    notes: tuple[NoteView, ...]
    discoveries: tuple[DiscoveryView, ...]
    pause_requested: bool
    stop_requested: str | None
    commands: tuple[str, ...]
    warnings: tuple[Warned, ...]
    outside_failures: tuple[Warned, ...]
    lanes: tuple[LaneView, ...]
    end: End | None


class IterationChanges(TypedDict, total=False):
    """New values of fields of ``CurrentIteration``."""

    started: IterationStarted
    agent: AgentStarted | None
    exit: AgentExited | None
    agent_seconds: float
    verified: tuple[CriteriaVerified, ...]
    validated: Validated | None
    rolled_back: RolledBack | None
    judging: JudgeStarted | None
    judged: Judged | None
    committed: Committed | None
    pushed: Pushed | None
    reverted: tuple[GuardReverted, ...]
    users: tuple[str, ...] | None
    taken_up_at: Timestamp | None
    reported: tuple[AgentReported, ...]
    answered_seq: int
    told: tuple[str, ...]


class BreakerChanges(TypedDict, total=False):
    """New values of fields of ``Breaker``."""

    state: BreakerState
    reason: str
    last_change_at: Timestamp | None
    current_iteration: int
    last_progress_iteration: int
    total_opens: int
    consecutive_no_progress: int
    consecutive_same_error: int
    consecutive_failing_tests: int
    consecutive_refusals: int
    consecutive_denials: int
    consecutive_set_asides: int
    error_streaks: dict[str, int]
    error_history: tuple[str, ...]


class FailedValidationChanges(TypedDict, total=False):
    """New values of fields of ``FailedValidation``, as far as any event changes them."""

    in_a_row: int


class JudgeTotalsChanges(TypedDict, total=False):
    """New values of fields of ``JudgeTotals``, as far as no verdict changes them."""

    overruled: int


class RevertedChanges(TypedDict, total=False):
    """New values of fields of ``GuardReverted``, as far as they are not kept."""

    text: str


class LaneChanges(TypedDict, total=False):
    """New values of fields of ``LaneView``."""

    lane: int
    task: TaskRef
    state: LaneState
    branch: str
    worktree: str
    run: str | None
    runs: int
    base: str | None
    limit: int | None
    max_tokens: int | None
    max_cost_usd: float | None
    end: EndReason | None
    message: str
    phase: Phase
    phase_reason: str | None
    until: Timestamp | None
    question: str | None
    problem: MergeProblem | None
    refusals: int
    paths: tuple[str, ...]
    crashes: int
    onto: str | None
    head: str | None
    commits: int
    iterations: int
    usage: Usage | None
    seconds: float
    conflicts: int
    earlier_seconds: float
    earlier_iterations: int
    earlier_usage: Usage | None
    started_at: Timestamp
    ended_at: Timestamp | None
    kept: str | None


def replace_iteration(
    current: CurrentIteration, **changes: Unpack[IterationChanges]
) -> CurrentIteration:
    """A copy of the open iteration with these fields replaced."""
    return current.model_copy(update=changes)


def replace_breaker(breaker: Breaker, **changes: Unpack[BreakerChanges]) -> Breaker:
    """A copy of the breaker with these fields replaced."""
    return breaker.model_copy(update=changes)
