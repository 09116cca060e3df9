"""Telling what was read of an open iteration: each thing once, whatever engine died in between.

An engine that takes up an iteration which another one was settling reads its output again. What
the journal has of it already stands; only what is missing is told.
"""

from __future__ import annotations

from typing import Any

from ralph_ls.core.loop.evidence import contradiction, is_tick_alone
from ralph_ls.core.loop.fold import warning_name
from ralph_ls.core.loop.inputs import IterationRead
from ralph_ls.core.loop.state import Draft
from ralph_ls.protocol.events import (
    EventBase,
    EvidenceGathered,
    PlanChanged,
    PromiseRead,
    RalphStatusUpdate,
    Warned,
)
from ralph_ls.protocol.evidence import Evidence
from ralph_ls.protocol.report import PromiseKind
from ralph_ls.protocol.state import CurrentIteration

SHOWN_TASKS = 5


def tell_once(draft: Draft, event_type: type[EventBase], **fields: Any) -> None:
    """Tell an event of the open iteration, unless an engine that died has told it already."""
    kind = str(event_type.model_fields["kind"].default)
    if kind not in _told(draft.run.current):
        draft.tell(event_type, **fields)


def warn_once(draft: Draft, number: int, code: str, message: str) -> None:
    """Warn of something in the open iteration, once for each code."""
    if warning_name(code) not in _told(draft.run.current):
        draft.tell(Warned, iteration=number, code=code, message=message)


def tell_what_was_read(
    draft: Draft, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> None:
    """Tell report, promises, evidence and the plan's change, then what does not fit together."""
    number = current.started.iteration
    if given.report is not None:
        tell_once(draft, RalphStatusUpdate, iteration=number, report=given.report)
    n_told = current.told.count("promiseRead")
    for promise in given.promises[n_told:]:
        draft.tell(PromiseRead, iteration=number, promise=promise)
    tell_once(draft, EvidenceGathered, iteration=number, evidence=evidence)
    if given.tasks_done or given.plan.counts != current.started.counts:
        tell_once(
            draft,
            PlanChanged,
            iteration=number,
            counts=given.plan.counts,
            done=given.tasks_done,
        )
    _warn_of_claims(draft, number, given, evidence)


def _warn_of_claims(draft: Draft, number: int, given: IterationRead, evidence: Evidence) -> None:
    if claim := contradiction(given.report, evidence):
        warn_once(draft, number, "claim-without-evidence", claim)
    if is_tick_alone(evidence):
        ticked = ", ".join(evidence.tasks_done[:SHOWN_TASKS])
        warn_once(draft, number, "tick-without-change", f"ticked with no other change: {ticked}")
    if given.report is not None and given.report.work_type == "TESTING":
        message = "this iteration only tested and implemented nothing"
        warn_once(draft, number, "test-only", message)
    if any(promise.kind is PromiseKind.COMPLETE for promise in given.promises):
        warn_once(
            draft,
            number,
            "completion-not-gate",
            f"the agent promises {draft.config.gate.complete_word}; this profile's gate asks for "
            f"EXIT_SIGNAL true and {draft.config.gate.indicators} completion indicators",
        )


def _told(current: CurrentIteration | None) -> tuple[str, ...]:
    return () if current is None else current.told
