"""Words of a judge's verdict, the same in every view.

A verdict is neither claim nor evidence, so it has its own line beside both. What it says is
untrusted text on one line.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.core.plurals import some_of
from ralph_ls.core.prompt.judge import change_line
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.run.events import Judged, JudgeStarted
from ralph_ls.protocol.run.report import JudgeVerdict
from ralph_ls.protocol.run.state import JudgeTotals

MAX_CHARS = 300
SHOWN_CHANGES = 3
SHOWN_TITLES = 2

VERDICT_WORDS = {
    JudgeVerdict.PASSED: "pass",
    JudgeVerdict.CHANGES_REQUESTED: "changes requested",
    JudgeVerdict.CANNOT_TELL: "undecided",
}


def verdict_words(judged: Judged) -> str:
    """``changes requested: src/a.py: the sum is wrong``."""
    words = VERDICT_WORDS[judged.verdict]
    if judged.verdict is JudgeVerdict.CHANGES_REQUESTED:
        wants = [one_line(change_line(one), limit=MAX_CHARS) for one in judged.changes]
        more = "; …" if len(wants) > SHOWN_CHANGES else ""
        return f"{words}: {'; '.join(wants[:SHOWN_CHANGES])}{more}"
    reason = one_line(judged.reason, limit=MAX_CHARS)
    return f"{words}: {reason}" if reason else words


def change_lines(judged: Judged) -> Iterator[str]:
    """Each change that it requests, on one line."""
    yield from (one_line(change_line(one), limit=MAX_CHARS) for one in judged.changes)


def judging_words(event: JudgeStarted) -> str:
    """``judging First task (claude, round 2 of 3)``."""
    titles = [one_line(task.title, limit=80) for task in event.tasks]
    about = some_of(titles, SHOWN_TITLES) if titles else "the work of the run"
    who = event.agent if event.model is None else f"{event.agent}, model {event.model}"
    again = f", round {event.round} of {event.max_rounds}" if event.round > 1 else ""
    return f"judging {about} ({who}{again})"


def totals_words(totals: JudgeTotals) -> str:
    """``2 passed, 1 changes requested``; empty where nothing was judged."""
    counts = (
        (totals.passed, "passed"),
        (totals.changes, "changes requested"),
        (totals.unclear, "not judged"),
        (totals.overruled, "overruled by you"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def judge_tokens(totals: JudgeTotals) -> int | None:
    """Input and output tokens of all judges; None where none has reported any."""
    return tokens_of(totals.usage)
