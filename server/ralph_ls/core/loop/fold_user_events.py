"""What of a run's state changes with people: what they are asked, what they answer and order.

A part of ``fold``; it must never know anything but the events and the state.
"""

from __future__ import annotations

from typing import Any

from ralph_ls.protocol.run.events import (
    BlockedRaised,
    BlockedResolved,
    CommandAccepted,
    CommandRejected,
    QuestionAnswered,
    QuestionAsked,
)
from ralph_ls.protocol.run.state import Blocker, Question, RunState

SKIP = "skip"
RESET_TASK = "resetTask"
"""Kinds of commands whose acceptance moves what is known of a task."""


def halt_changes(
    state: RunState,
    event: QuestionAsked | QuestionAnswered | BlockedRaised | BlockedResolved,
) -> dict[str, Any]:
    """What changes with a question or a blocker, and with what becomes of it."""
    match event:
        case QuestionAsked():
            question = Question(
                question=event.question,
                iteration=event.iteration,
                start=event.start,
                asked_at=event.asked_at,
            )
            return {"question": question, "settled_question": None}
        case QuestionAnswered():
            asked_at = state.question.asked_at if state.question is not None else event.at
            iteration = state.question.iteration if state.question is not None else None
            start = state.question.start if state.question is not None else None
            answered = Question(
                question=event.question,
                iteration=iteration,
                start=start,
                asked_at=asked_at,
                answer=event.answer,
                answered_by=event.by,
                answered_seq=event.seq,
            )
            return {"question": answered}
        case BlockedRaised(reason=reason, iteration=iteration, start=start):
            blocker = Blocker(reason=reason, iteration=iteration, start=start)
            return {"blocked": blocker, "resolved_blocker": None}
        case _:
            known = state.blocked.reason if state.blocked is not None else None
            return {"blocked": None, "resolved_blocker": known}


def flag_changes(event: CommandAccepted | CommandRejected) -> dict[str, Any]:
    """What is wanted of the run from now on."""
    if isinstance(event, CommandAccepted) and event.command_kind == "pause":
        return {"pause_requested": True}
    if isinstance(event, CommandAccepted) and event.command_kind == "resume":
        return {"pause_requested": False}
    return {}


def task_changes(state: RunState, event: CommandAccepted | CommandRejected) -> dict[str, Any]:
    """What a person said of one task; its attempts are the person's to take back.

    See docs/rules.md#attempts.
    """
    match event:
        case CommandAccepted(command_kind=kind, task=str(task)) if kind == SKIP:
            return {"skipped": (*state.skipped, task)}
        case CommandAccepted(command_kind=kind, task=str(task)) if kind == RESET_TASK:
            return {
                "skipped": tuple(one for one in state.skipped if one != task),
                "attempts": {one: n for one, n in state.attempts.items() if one != task},
            }
        case _:
            return {}
