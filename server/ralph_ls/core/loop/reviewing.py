"""Review points: where a run holds until a person has looked at what was done (SPEC §9; S48).

Whether an iteration came to one is read off the run's state, so nobody has to remember it: the loop
parks by it, and viewers say by it what is to be looked at.
"""

from __future__ import annotations

from ralph_ls.core.plan.titles import title_id
from ralph_ls.core.words import count_of
from ralph_ls.protocol.run.state import RunState

REVIEW = "review"
"""The reason of a run that is parked for a review; it is no end of its own (SPEC §1, parked)."""

BY_REVIEW_POINT = "a review point"
"""Who ended a run that does not wait for people."""


def review_due(run: RunState) -> str | None:
    """Why the work up to the last iteration is to be looked at; None where it is not."""
    if run.last is None:
        return None
    points, is_told = run.config.review_points, run.evidence_start == run.last.start
    done = run.evidence.tasks_done if run.evidence is not None and is_told else ()
    wanted = [name for name in points.after_tasks if _names_one_of(name, done)]
    if wanted:
        return f"done: {', '.join(wanted)}"
    if points.every and run.last.counted and run.counted % points.every == 0:
        return f"{count_of(run.counted, 'iteration')} of this run {_are(run.counted)} over"
    return None


def _names_one_of(name: str, tasks: tuple[str, ...]) -> bool:
    """By an id, or by a title as the plan has it; of several tasks of one title, any."""
    of_title = title_id(name)
    return any(task == name or task.partition("-")[0] == of_title for task in tasks)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
