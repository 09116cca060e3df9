"""Blockers: what an iteration's agent needs the user for, and a pull request that is ready.

An iteration raises a question or a blocker, never both, so that one answer or one resolved blocker
is all that the next start needs: where it has both, the one that comes first in the gate's order.
Each is reported once, whatever engine died, and its file is written before the journal names it.

A pull request that is ready is announced beside the loop, and a run never depends on that: a
failure is reported and changes nothing (docs/rules.md#requests).
"""

from __future__ import annotations

from ralph_ls.core.loop.effects import Announce, WriteBlocked, WriteDecide
from ralph_ls.core.loop.machine.iteration_events import warn_once
from ralph_ls.core.loop.machine.verdict import SettledIteration, blocker_of, question_of
from ralph_ls.core.loop.rules.gate import ORDERS
from ralph_ls.core.loop.state import StepDraft
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import BlockedRaised, QuestionAsked
from ralph_ls.protocol.run.values import EndReason


def announce_end(draft: StepDraft, reason: EndReason) -> None:
    """Announce a complete run whose last report has PR_READY (docs/rules.md#requests)."""
    run = draft.run
    is_last = run.report is not None and run.report_start == run.start
    if reason is not EndReason.COMPLETE or not draft.config.on_pr_ready or not is_last:
        return
    if run.report is not None and run.report.pr_ready:
        draft.order(
            Announce(
                start=run.start,
                iteration=run.iteration,
                text=run.report.work_summary or run.report.recommendation,
            )
        )


SECOND_HALT = "second-halt"
"""The code of the warning that an agent both asked and was blocked."""


def is_halt_raised(config: Config, settlement: SettledIteration) -> bool:
    """Whether the iteration's agent asked the user something, or named what blocks it."""
    is_blocked = blocker_of(config, settlement) is not None
    return not _was_cut_off(settlement) and (is_blocked or question_of(settlement.read) is not None)


def raise_promises(draft: StepDraft, settlement: SettledIteration) -> None:
    """Report the agent's question or blocker, and order its file."""
    if _was_cut_off(settlement):
        return
    question, blocker = question_of(settlement.read), blocker_of(draft.config, settlement)
    if question is not None and blocker is not None:
        order = ORDERS[draft.config.gate.rule]
        if order.index(EndReason.BLOCKED) < order.index(EndReason.DECIDE):
            _warn_of_second(draft, f"is blocked, and also asks: {question}")
            question = None
        else:
            _warn_of_second(draft, f"asks a question, and is also blocked: {blocker}")
            blocker = None
    if question is not None:
        _ask(draft, settlement, question)
    if blocker is not None:
        _raise_blocker(draft, settlement, blocker)


def _warn_of_second(draft: StepDraft, both: str) -> None:
    message = f"the agent {both}; only the first is raised now"
    warn_once(draft, SECOND_HALT, message)


def _ask(draft: StepDraft, settlement: SettledIteration, question: str) -> None:
    number, asked = settlement.current.started.start, draft.run.question
    if asked is None or asked.start != number:
        draft.emit(
            QuestionAsked(
                **draft.iteration_stamp,
                question=question,
                path=draft.config.paths.decide,
                asked_at=draft.now.replace(microsecond=0),
            )
        )
    asked = draft.run.question
    if asked is not None and asked.start == number and asked.answer is None:
        draft.order(
            WriteDecide(question=asked.question, iteration=asked.iteration, asked_at=asked.asked_at)
        )


def _raise_blocker(draft: StepDraft, settlement: SettledIteration, reason: str) -> None:
    was_raised = "blockedRaised" in settlement.current.told
    if draft.run.blocked is None and not was_raised:
        path = draft.config.paths.blocked
        draft.emit(BlockedRaised(**draft.iteration_stamp, reason=reason, path=path))
    if draft.run.blocked is not None:
        draft.order(WriteBlocked(reason=draft.run.blocked.reason))


def _was_cut_off(settlement: SettledIteration) -> bool:
    """Whether the agent's last words are not its final text, since it was stopped or lost."""
    exit_event = settlement.current.exit
    return exit_event is None or exit_event.stopped
