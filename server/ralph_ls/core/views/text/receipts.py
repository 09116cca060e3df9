"""Receipts in words: what a finished task took, for the summary, hovers, tables and reports.

The figures are those of ``core.loop.rules.receipts``; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.rules.receipts import finished_receipts
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import SHOWN_REASON, one_line
from ralph_ls.core.views.text.summary import dollar_words, format_duration, token_words
from ralph_ls.protocol.run.state import RunState, TaskReceipt

SHOWN_RECEIPTS = 10
"""Receipts in a summary, the newest; `ralph runs` shows all."""


def receipt_words(receipt: TaskReceipt) -> str:
    """``2 iterations (3 attempts), 6m 2s (agent 5m 40s), 31k tokens, $0.42, 2 validation runs``.

    What no agent reported is left out.
    """
    if receipt.within is not None and not receipt.iterations:
        with_task = one_line(receipt.within.title, limit=SHOWN_REASON)
        return f"together with “{with_task}”, whose receipt has the iteration"
    return ", ".join(_parts(receipt))


def receipt_lines(state: RunState) -> list[str]:
    """The section of a summary; nothing where no task was finished."""
    done = finished_receipts(state)
    if not done:
        return []
    earlier = len(done) - SHOWN_RECEIPTS
    more = [f"  … {earlier} more before: ralph runs"] if earlier > 0 else []
    shown = done[-SHOWN_RECEIPTS:]
    return ["Cost of each finished task:", *more, *(f"  {_line(one)}" for one in shown)]


def _line(receipt: TaskReceipt) -> str:
    return f"{one_line(receipt.task.title, limit=SHOWN_REASON)}: {receipt_words(receipt)}"


def _parts(receipt: TaskReceipt) -> Iterator[str]:
    tries = []
    if receipt.attempts > receipt.iterations:
        tries.append(count_of(receipt.attempts, "attempt"))
    if receipt.retries:
        tries.append("1 retry" if receipt.retries == 1 else f"{receipt.retries} retries")
    more = f" ({', '.join(tries)})" if tries else ""
    yield f"{count_of(receipt.iterations, 'iteration')}{more}"
    yield f"{format_duration(receipt.seconds)} (agent {format_duration(receipt.agent_seconds)})"
    if receipt.tokens is not None:
        yield f"{token_words(receipt.tokens)} tokens"
    if receipt.cost_usd is not None:
        yield dollar_words(receipt.cost_usd, estimated=receipt.estimated)
    if receipt.validations:
        failed = f" ({receipt.failed_validations} failed)" if receipt.failed_validations else ""
        yield f"{count_of(receipt.validations, 'validation run')}{failed}"
