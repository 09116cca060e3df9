"""Raising what an iteration's agent needs a person for: its question, and what blocks it (SPEC §7).

Each is told once, whatever engine died, and its file is written before the journal says so. It must
never know whether the run parks or ends for it.
"""

from __future__ import annotations

from ralph_ls.core.loop.announcing import announce_question
from ralph_ls.core.loop.effects import WriteBlocked, WriteDecide
from ralph_ls.core.loop.state import Draft
from ralph_ls.core.loop.verdict import Settlement, question_of
from ralph_ls.protocol.events import BlockedRaised, QuestionAsked
from ralph_ls.protocol.report import PromiseKind


def raise_promises(draft: Draft, settlement: Settlement) -> None:
    """Tell what the agent asked and what blocks it, and have both written."""
    exit_event = settlement.current.exit
    if exit_event is None or exit_event.stopped:
        # The agent was cut off, so what it said last is not its last word.
        return
    number, paths = settlement.current.started.iteration, draft.config.paths
    asked = draft.run.question
    question = question_of(settlement.read)
    if question is not None and (asked is None or asked.iteration != number):
        told = draft.tell(
            QuestionAsked,
            iteration=number,
            question=question,
            path=paths.decide,
            asked_at=draft.now.replace(microsecond=0),
        )
        announce_question(draft, told)
    for promise in settlement.read.promises:
        was_raised = "blockedRaised" in settlement.current.told
        is_new = draft.run.blocked is None and not was_raised
        if promise.kind is PromiseKind.BLOCKED and is_new:
            draft.tell(BlockedRaised, iteration=number, reason=promise.text, path=paths.blocked)
    asked, blocked = draft.run.question, draft.run.blocked
    if asked is not None and asked.iteration == number and asked.answer is None:
        draft.order(WriteDecide(question=asked.question, iteration=number, asked_at=asked.asked_at))
    if blocked is not None:
        draft.order(WriteBlocked(reason=blocked.reason))
