"""The completion gate: when a run may say that it is complete (SPEC §7).

The gate carried here is the dual one of I: EXIT_SIGNAL true in the report, and enough completion
indicators. An indicator is one distinct completion pattern in the final text outside of blocks, or
the plan having all its required tasks done. Indicators add up over consecutive iterations; an
iteration with none, or with EXIT_SIGNAL false, sets the sum to 0. STATUS COMPLETE is none: agents
write it for "this task". EXIT_SIGNAL with BLOCKED or NEEDS_CLARIFICATION is never completion (A4).
Every gate also asks the plan: with required tasks open, a completion is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.protocol.config import GateConfig
from ralph_ls.protocol.report import Report
from ralph_ls.protocol.run_words import PlanCountsView

NOT_COMPLETE = frozenset({"BLOCKED", "NEEDS_CLARIFICATION"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What the gate says of one iteration."""

    indicators: int
    """The sum after this iteration."""
    satisfied: bool
    """The agent's side: its signal and enough indicators."""
    accepted: bool
    """Satisfied, and the plan agrees."""
    refusal: str | None = None
    """Why a satisfied gate was not accepted."""


def check_dual_gate(
    *,
    report: Report | None,
    completion_words: tuple[str, ...],
    counts: PlanCountsView,
    indicators_before: int,
    config: GateConfig,
    iterations: int,
    min_iterations: int,
) -> GateResult:
    """Hold one iteration's signals against the plan; ``iterations`` includes this one."""
    all_done = counts.total > 0 and counts.open_required == 0
    found = len(set(completion_words)) + (1 if all_done else 0)
    signalled = report is not None and report.exit_signal and report.status not in NOT_COMPLETE
    if not signalled or found == 0:
        return GateResult(indicators=0, satisfied=False, accepted=False)
    indicators = indicators_before + found
    if indicators < config.indicators:
        return GateResult(indicators=indicators, satisfied=False, accepted=False)
    refusal = _refusal(counts, iterations, min_iterations)
    return GateResult(
        indicators=indicators, satisfied=True, accepted=refusal is None, refusal=refusal
    )


def _refusal(counts: PlanCountsView, iterations: int, min_iterations: int) -> str | None:
    if counts.open_required:
        noun = "task is" if counts.open_required == 1 else "tasks are"
        return f"{counts.open_required} required {noun} still open in the plan"
    if iterations < min_iterations:
        return f"only {iterations} of at least {min_iterations} iterations have run"
    return None
