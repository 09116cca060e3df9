"""What a prompt is filled from."""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.protocol.run_words import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """The facts of one iteration that its agent is told."""

    iteration: int
    max_iterations: int | None
    plan_path: str
    decide_path: str
    blocked_path: str
    complete_word: str = "COMPLETE"
    completion: str = "EXIT_SIGNAL true"
    """What the gate asks for, in words that follow "what completes the run is"."""
    mode: Mode = Mode.BUILD
    """What the iteration is for; it chooses the template."""
    task: str | None = None
    """The task's title; None in a confirming iteration, and in one that plans."""
    confirming: bool = False
    question: str | None = None
    answer: str | None = None
    answered_by: str | None = None
    recommendation: str = ""
    notes: tuple[str, ...] = ()
