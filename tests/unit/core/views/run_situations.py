"""Situations of a loop, as the events that lead to them."""

from __future__ import annotations

from ralph_ls.core.loop.machine.run_flow import EXIT_CODES
from ralph_ls.protocol.run.events import BlockedRaised, QuestionAsked, RunEnded
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    RUN,
    begins,
    ends,
    event,
    phase,
    started,
)

OPEN = Breaker(
    state=BreakerState.OPEN,
    reason="3 iterations without progress",
    last_change_at=NOON,
    consecutive_no_progress=3,
)
HALF_OPEN = Breaker(state=BreakerState.HALF_OPEN, reason="2 iterations without progress")

OF_RUN = {"run": RUN}
GOES_ON = {"run": RUN, "continue": True}
LOG = {"run": RUN, "start": 3}


def asked(number: int | None = 3, question: str = "red or blue?") -> QuestionAsked:
    return event(
        QuestionAsked, iteration=number, question=question, path="decide.txt", asked_at=NOON
    )


def raised(number: int | None = 3, reason: str = "no keys") -> BlockedRaised:
    return event(BlockedRaised, iteration=number, reason=reason, path="blocked.txt")


def ended(reason: EndReason, message: str = "so it is") -> RunEnded:
    return event(RunEnded, reason=reason, exit_code=EXIT_CODES[reason], message=message)


WORKS = (started(), begins(3, CHOOSE), phase(Phase.RUNNING))
PARKED_ASKING = (*WORKS, asked(), ends(3), phase(Phase.PARKED, "decide"))
PARKED_BLOCKED = (*WORKS, raised(), ends(3), phase(Phase.PARKED, "blocked"))
PARKED_OPEN = (*WORKS, ends(3, breaker=OPEN), phase(Phase.PARKED, "stuck"))
