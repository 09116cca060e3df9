"""Iteration cells: what an agent claims beside what the loop observed, one row an iteration."""

from __future__ import annotations

from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import CONFIRMED, OUTCOME_WORDS
from ralph_ls.core.views.text.summary import dollar_words, format_duration
from ralph_ls.protocol.lsp.panel import IterationRow, Tone
from ralph_ls.protocol.run.values import Outcome

HEADINGS = ("#", "Outcome", "Evidence", "Claim", "Time", "Cost", "Task")

NARROW_HEADINGS = ("#", "", "Evidence", "Claim")
"""In a small window: evidence beside claim, the outcome as a mark; a key shows all of it."""

OUTCOME_TONES = {
    Outcome.PROGRESS: Tone.GOOD,
    Outcome.NO_PROGRESS: Tone.WARNING,
}
"""Any other outcome is bad, and an iteration without one is active."""


def iteration_cells(row: IterationRow) -> tuple[str, ...]:
    """The cells of an iteration, below ``HEADINGS``. Total."""
    cost = "" if row.cost_usd is None else dollar_words(row.cost_usd, estimated=bool(row.estimated))
    return (
        f"{row.iteration}" if row.tries == 1 else f"{row.iteration}.{row.tries}",
        _outcome(row),
        _evidence(row),
        _claim(row),
        "" if row.seconds is None else format_duration(row.seconds),
        cost,
        row.task or "",
    )


def narrow_cells(row: IterationRow, mark: str) -> tuple[str, ...]:
    """The cells of an iteration, below ``NARROW_HEADINGS``. Total."""
    number, outcome, _, claim, *_ = iteration_cells(row)
    evidence = outcome if row.outcome is None else _evidence(row, commit=False)
    return (number, mark, evidence or outcome, claim)


def outcome_tone(row: IterationRow) -> Tone:
    """What the outcome means."""
    if row.outcome is None:
        return Tone.ACTIVE
    return Tone.GOOD if row.confirmed else OUTCOME_TONES.get(row.outcome, Tone.BAD)


def _outcome(row: IterationRow) -> str:
    if row.outcome is None:
        return "running"
    return row.failure or (CONFIRMED if row.confirmed else OUTCOME_WORDS[row.outcome])


def _evidence(row: IterationRow, *, commit: bool = True) -> str:
    """``2 files · 1 task · a1b2c3d``; empty until it is gathered."""
    parts = [] if row.files is None else [count_of(row.files, "file")]
    if row.tasks_done:
        parts.append(count_of(row.tasks_done, "task"))
    if row.commit is not None and commit:
        parts.append(row.commit[:7])
    return " · ".join(parts)


def _claim(row: IterationRow) -> str:
    """``COMPLETE · 4 files · tests PASSING``; empty without a report."""
    parts = [row.status] if row.status else []
    if row.claimed_files is not None:
        parts.append(count_of(row.claimed_files, "file"))
    if row.tests:
        parts.append(f"tests {row.tests}")
    return " · ".join(parts)


def iteration_lines(row: IterationRow) -> tuple[tuple[str, str], ...]:
    """One iteration whole, as headings and texts, without what is not known. Total."""
    number, outcome, evidence, claim, took, cost, task = iteration_cells(row)
    lines = (
        ("Iteration", number if row.start == row.iteration else f"{number} (start {row.start})"),
        ("Task", task),
        ("Outcome", outcome),
        ("Evidence", evidence),
        ("Claim", claim),
        ("Work", row.work_type or ""),
        ("Time", took),
        ("Cost", cost),
        ("Why", row.why),
    )
    return tuple((heading, text) for heading, text in lines if text)
