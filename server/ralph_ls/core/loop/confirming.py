"""Confirmation: when a run whose required tasks are all done needs another look, and when not.

Under the rules ``marker`` and ``dual`` an agent may finish the last task and not give the gate's
signal. Then one iteration without a task confirms that nothing is left to do. A run has
``max_confirmations`` of them: whatever such an iteration found and added to the plan is worked on,
and the run is complete once that is done. A confirming iteration that came to nothing, asked
something or reported failing tests does not count, and is repeated; what bounds it then is the
breaker.

It must never know what an iteration left in the tree, nor how a run ends.
"""

from __future__ import annotations

from ralph_ls.core.loop.inputs import PlanFacts
from ralph_ls.protocol.config.config import GateRule
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.report import Report
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import PlanCountsView

CONFIRMING = frozenset({GateRule.MARKER, GateRule.DUAL})
"""Gate rules under which a run is confirmed, and under which failing tests refuse a completion."""


def is_used_up(run: RunState) -> bool:
    """Whether the run has had all its confirming iterations, so that the plan alone decides."""
    has_confirmed = run.confirmations >= run.config.max_confirmations
    return has_confirmed and run.config.gate.rule in CONFIRMING


def confirmed_words(run: RunState) -> str:
    """Why a run without an open task is complete that needs no confirming iteration any more."""
    if not run.confirmations:
        return "no required task is open"
    return "no required task is open, and a confirming iteration was run before"


def has_work(plan: PlanFacts) -> bool:
    """Whether the plan has a required task that is open, or another one that is to be taken."""
    return plan.next_task is not None or plan.counts.open_required > 0


def tests_fail(rule: GateRule, report: Report | None) -> bool:
    """Whether the report says of itself that the work is not complete, by its TESTS_STATUS."""
    return rule in CONFIRMING and report is not None and report.tests_status == "FAILING"


def failing_tests_after(run: RunState, event: IterationEnded) -> bool:
    """Whether failing tests are the next iteration's first work, as the journal has it.

    They are where the run might be complete but for them: a completion was refused, or no required
    task is open.
    """
    report = run.report if run.report_start == event.start else None
    is_refused = run.current is not None and "completionRefused" in run.current.told
    is_due = is_refused or _is_done(event.counts)
    return is_due and tests_fail(run.config.gate.rule, report)


def _is_done(counts: PlanCountsView) -> bool:
    return not counts.open_required
