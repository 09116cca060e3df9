"""How the demo agent ends an iteration: the status block, and where needed the promise.

The block's form is I's, "RALPH_STATUS Block Format". This module must never know what was done,
only what is to be said of it.
"""

from __future__ import annotations

from dataclasses import dataclass

SCRIPTED = "This report comes from the scripted demo agent; no model was asked."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one iteration came to; every number is what really happened."""

    status: str
    """``IN_PROGRESS``, ``COMPLETE`` or ``BLOCKED``."""
    recommendation: str
    """One line."""
    n_tasks: int = 0
    """Tasks whose repair this iteration committed."""
    n_files: int = 0
    """Files that this iteration changed, the plan among them."""
    tests_status: str = "NOT_RUN"
    """``PASSING``, ``FAILING`` or ``NOT_RUN``: the last run of the suite."""
    exit_signal: bool = False
    closing_lines: tuple[str, ...] = ()
    """What is said before the report."""


def to_text(outcome: Outcome) -> str:
    """The end of the agent's output; a blocked one carries the promise with the same reason."""
    recommendation = _one_line(outcome.recommendation)
    lines = list(outcome.closing_lines)
    if outcome.status == "BLOCKED":
        # Angle brackets in a title must not end the tag early.
        reason = recommendation.replace("<", "").replace(">", "")
        lines.append(f"<promise>BLOCKED:{reason}</promise>")
    lines += [
        SCRIPTED,
        "---RALPH_STATUS---",
        f"STATUS: {outcome.status}",
        f"TASKS_COMPLETED_THIS_LOOP: {outcome.n_tasks}",
        f"FILES_MODIFIED: {outcome.n_files}",
        f"TESTS_STATUS: {outcome.tests_status}",
        "WORK_TYPE: IMPLEMENTATION",
        f"EXIT_SIGNAL: {'true' if outcome.exit_signal else 'false'}",
        f"RECOMMENDATION: {recommendation}",
        "---END_RALPH_STATUS---",
    ]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())
