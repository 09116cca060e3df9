"""A loop in every state, as its panel shows it (docs/rules.md#panel).

The JSON is under ``tests/golden/states``, and the tests of the VS Code extension draw it:
``UPDATE_SNAPSHOTS=1`` writes it again, so look at the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ralph_ls.core.loop.machine.run_flow import EXIT_CODES
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.lsp.panel import Panel
from ralph_ls.protocol.run.events import BlockedRaised, CommandAccepted, EventBase, RunEnded
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Outcome, Phase
from tests.unit.core.views.document_contexts import NOON, ends, event, phase, reports, seen, shows
from tests.unit.core.views.documented_examples import (
    ADVICE,
    CLAIMS,
    COUNTS,
    FIRST,
    HALF_OPEN,
    LIMIT,
    PARKED,
    PLAN,
    SECOND,
    STARTED,
)

WORKS = (*FIRST, *SECOND, phase(Phase.RUNNING))
"""The third iteration is under way."""

CLAIMED = reports(3, **CLAIMS, RECOMMENDATION=ADVICE)
SETTLED = (*WORKS, CLAIMED, shows(3))

OPEN = Breaker(
    state=BreakerState.OPEN,
    reason="3 iterations without progress",
    last_change_at=NOON + timedelta(minutes=15),
    consecutive_no_progress=3,
    consecutive_same_error=2,
    error_streaks={"error: no rule for rounding": 2},
    error_history=("error: no rule for rounding", "error: no rule for rounding"),
)


DONE_PLAN = (
    PLAN.replace("[BLOCKED: no merchant account] ", "").replace("[ ]", "[x]").replace("[&]", "[x]")
)

PAUSE = event(CommandAccepted, command="command-1", command_kind="pause", by="Ada")


def _settles(breaker: Breaker) -> EventBase:
    return ends(3, outcome=Outcome.NO_PROGRESS, counts=COUNTS, breaker=breaker)


BLOCKED = event(
    BlockedRaised, iteration=3, reason="The merchant account is missing", path=".ralph/blocked.txt"
)


def _with(**settings: Any) -> EventBase:
    """The start of the run with other settings."""
    config = Config.model_validate({**STARTED.config.model_dump(), **settings})
    return STARTED.model_copy(update={"config": config})


def _ended(reason: EndReason, message: str, *, by: str = "") -> RunEnded:
    return event(RunEnded, reason=reason, exit_code=EXIT_CODES[reason], message=message, by=by)


def _at(*events: EventBase, text: str = PLAN, **fields: Any) -> DocumentContext:
    return seen(*events, text=text, **fields)


def _without_engine(*events: EventBase, **fields: Any) -> DocumentContext:
    return _at(*events, pid=None, **fields)


CONTEXTS: Mapping[str, DocumentContext] = {
    "idle": _at(),
    "starting": _at(STARTED),
    "running": _at(*WORKS, CLAIMED),
    "pausing": _at(*WORKS, PAUSE),
    "paused": _at(*SETTLED, _settles(Breaker()), phase(Phase.PAUSED)),
    "review": _at(
        _with(review_points={"every": 3}),
        *SETTLED[1:],
        _settles(Breaker()),
        phase(Phase.PARKED, "review"),
    ),
    "stopping": _at(*WORKS, phase(Phase.STOPPING, "Ada")),
    "asks": _at(*PARKED),
    "half-open": _at(*SETTLED, _settles(HALF_OPEN), phase(Phase.PREPARING)),
    "breaker-open": _at(*SETTLED, _settles(OPEN), phase(Phase.PARKED, "stuck")),
    "blocked": _at(*SETTLED, BLOCKED, _settles(Breaker()), phase(Phase.PARKED, "blocked")),
    "limit-wait": _at(*FIRST, LIMIT),
    "ended-complete": _without_engine(
        *FIRST, _ended(EndReason.COMPLETE, "all 5 tasks are done"), text=DONE_PLAN
    ),
    "ended-limit": _without_engine(
        *WORKS, _ended(EndReason.LIMIT, "the limit of 20 iterations is used up")
    ),
    "ended-blocked": _without_engine(
        *SETTLED,
        BLOCKED,
        _settles(Breaker()),
        _ended(EndReason.BLOCKED, "The merchant account is missing"),
    ),
    "ended-decide": _without_engine(
        *PARKED[:-1], _ended(EndReason.DECIDE, "a question waits for an answer")
    ),
    "ended-stuck": _without_engine(
        *SETTLED, _settles(OPEN), _ended(EndReason.STUCK, "3 iterations without progress")
    ),
    "ended-fatal": _without_engine(
        *WORKS, _ended(EndReason.FATAL, "the agent crashed three times in a row")
    ),
    "ended-stopped": _without_engine(*WORKS, _ended(EndReason.STOPPED, "stopped", by="Ada")),
    "engine-gone": _without_engine(*WORKS, phase=Phase.CRASHED),
}

STATES: Mapping[str, Panel] = {name: panel(context) for name, context in CONTEXTS.items()}
"""Without rows: they are the trees', and would only make the files long."""
