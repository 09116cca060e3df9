"""Events and states as a viewer finds them, with only what a test is about spelled out."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    Event,
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    PhaseChanged,
    RalphStatusUpdate,
    RunStarted,
)
from ralph_ls.protocol.run.report import Report, ReportKind
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import (
    Baseline,
    Breaker,
    Evidence,
    Outcome,
    Phase,
    PlanCountsView,
    TaskRef,
)

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "events"
RUN = "20260131T120000Z-0a1b"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
COMMIT = "abc1234" + "0" * 33
TASK = TaskRef(id="1f2e3d4c", title="Round half a cent up")
COUNTS = PlanCountsView(total=5, done=2, open_required=3, required=5, required_done=2)

EventType = TypeVar("EventType", bound=EventBase)


def event(kind: type[EventType], **fields: Any) -> EventType:
    """An event of the run at noon."""
    values: dict[str, Any] = {"seq": 1, "at": NOON, "run": RUN, **fields}
    return kind.model_validate(values)


def run_started(**config: Any) -> RunStarted:
    return event(
        RunStarted,
        version="0.1.0",
        pid=4711,
        workspace="/project",
        state_dir="/state/worktrees/0123456789ab",
        branch="main",
        plan="@fix_plan.md",
        config=Config(agent="command", **{"max_iterations": 15, **config}),
    )


def iteration_started(number: int = 1, **fields: Any) -> IterationStarted:
    values: dict[str, Any] = {"task": TASK, "counts": COUNTS, "baseline": Baseline(), **fields}
    return event(IterationStarted, iteration=number, **values)


def iteration_ended(number: int = 1, **fields: Any) -> IterationEnded:
    values: dict[str, Any] = {
        "outcome": Outcome.PROGRESS,
        "seconds": 152.0,
        "commit": COMMIT,
        "breaker": Breaker(),
        "counts": COUNTS,
        **fields,
    }
    return event(IterationEnded, iteration=number, **values)


def report(**fields: str) -> RalphStatusUpdate:
    known = {"STATUS": "IN_PROGRESS", "FILES_MODIFIED": "2", "TESTS_STATUS": "PASSING", **fields}
    return event(
        RalphStatusUpdate, iteration=1, report=Report(kind=ReportKind.RALPH_STATUS, fields=known)
    )


def evidence(**fields: Any) -> EvidenceGathered:
    values: dict[str, Any] = {"progress": True, "why": "1 commit, 2 files changed", **fields}
    return event(EvidenceGathered, iteration=1, evidence=Evidence(**values))


def phase(name: Phase, reason: str | None = None) -> PhaseChanged:
    return event(PhaseChanged, phase=name, reason=reason)


def state_after(*events: Event) -> RunState:
    """The state that a viewer folds out of these events."""
    return fold(events)
