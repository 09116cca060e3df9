"""What a prompt is filled from."""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.run.state import FailedValidation
from ralph_ls.protocol.run.values import Mode

REVIEW_CAP = 5
"""Reviews after which a story is approved, whatever the last one found (SPEC §8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptContext:
    """The facts of one iteration that its agent is told."""

    iteration: int
    max_iterations: int | None
    plan_path: str
    decide_path: str
    blocked_path: str
    progress_path: str = "PROGRESS.md"
    complete_word: str = "COMPLETE"
    completion: str = "EXIT_SIGNAL true"
    """What the gate asks for, in words that follow "what completes the run is"."""
    profile: ProfileName = ProfileName.FIXPLAN
    """With the mode it chooses the template, and the wording of its pieces."""
    mode: Mode = Mode.BUILD
    """What the iteration is for."""
    task: str | None = None
    """The task's title; None in a confirming iteration, and in one that plans."""
    task_id: str | None = None
    """Its id, as stories and ``bd`` know it."""
    confirming: bool = False
    request: str = ""
    """The text of the request, where that is the plan (A)."""
    skip_review: bool = False
    """Nobody reviews a story: who implements it says that it passes (SPEC §8)."""
    review_cap: int = REVIEW_CAP
    question: str | None = None
    answer: str | None = None
    answered_by: str | None = None
    recommendation: str = ""
    restored: tuple[str, ...] = ()
    """What the iteration before changed that no iteration may change, and which rule that broke."""
    unfinished_git: str = ""
    """What operation of git the iteration before left in the middle, in words."""
    plan_hint: str = ""
    """What an agent has to know of where the plan is kept."""
    notes: tuple[str, ...] = ()
    failing_tests: bool = False
    """The last iteration reported failing tests, which keep the run from being complete."""
    failed_validation: FailedValidation | None = None
    """The last validation, where it failed and the run went on."""
