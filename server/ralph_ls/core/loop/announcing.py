"""Whom the loop tells outside of itself, and when: questions, and a pull request that is ready.

A run never depends on it: what is told goes one way, happens beside the loop, and its failure is
told and changes nothing (SPEC §7: PR_READY never pushes). Nothing here knows how it is done.
"""

from __future__ import annotations

from ralph_ls.core.loop.effects import Announce, Channel, Occasion
from ralph_ls.core.loop.state import Draft
from ralph_ls.protocol.plan import RequestKind
from ralph_ls.protocol.run.events import QuestionAsked
from ralph_ls.protocol.run.values import EndReason


def announce_question(draft: Draft, asked: QuestionAsked) -> None:
    """A question that the agent has just asked goes out where the settings say so (A20)."""
    config, request = draft.config, draft.run.request
    ways = {
        Channel.COMMAND: bool(config.on_question),
        Channel.COMMENT: config.issue.comment
        and request is not None
        and request.kind is RequestKind.GITHUB,
    }
    for channel, is_wanted in ways.items():
        if is_wanted:
            draft.order(
                Announce(
                    occasion=Occasion.QUESTION,
                    channel=channel,
                    start=asked.start or 0,
                    iteration=asked.iteration or 0,
                    text=asked.question,
                )
            )


def announce_end(draft: Draft, reason: EndReason) -> None:
    """A complete run whose last report says PR_READY hands its work on (A24)."""
    run = draft.run
    is_last = run.report is not None and run.report_start == run.start
    if reason is not EndReason.COMPLETE or not draft.config.on_pr_ready or not is_last:
        return
    if run.report is not None and run.report.pr_ready:
        draft.order(
            Announce(
                occasion=Occasion.PR_READY,
                channel=Channel.COMMAND,
                start=run.start,
                iteration=run.iteration,
                text=run.report.work_summary or run.report.recommendation,
            )
        )
