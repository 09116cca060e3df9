"""What plans say of a task that markdown has no words for: its review, and what it waits for.

Both come from strangers, so they are made harmless to show. It must never decide whose turn it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from ralph_ls.core.plan.formats.stories.review_cycle import AT_CAP
from ralph_ls.core.plan.formats.stories.story_file import ParsedStories, ReviewStatus, Story
from ralph_ls.core.plan.formats.stories.tasks import waits_for
from ralph_ls.core.plan.model import PlanKind, Task
from ralph_ls.core.views.seen import Seen
from ralph_ls.core.views.words import SHOWN_REASON, one_line
from ralph_ls.protocol.plan import TaskState

WORKED_AT = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviews:
    """The stories of one plan; none where it is of another kind."""

    stories: Mapping[str, Story] = field(default_factory=dict)
    waits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    are_issues: bool = False
    """They are issues of ``bd`` instead, which say themselves what they wait for."""

    def review(self, task: Task) -> str:
        """``waits for its review``, ``changes requested in review 1: name the key``."""
        story = self.stories.get(task.id)
        status = None if story is None else story.status
        if story is None or status is None:
            return ""
        nth = f" {story.n_reviews}" if story.n_reviews else ""
        feedback = one_line(story.feedback.removeprefix(AT_CAP), limit=SHOWN_REASON)
        match status:
            case ReviewStatus.NEEDS_REVIEW:
                return f"waits for its review{f', after review{nth}' if nth else ''}"
            case ReviewStatus.CHANGES_REQUESTED:
                why = f": {feedback}" if feedback else ""
                return f"changes requested{f' in review{nth}' if nth else ''}{why}"
            case ReviewStatus.APPROVED:
                at_cap = story.feedback.startswith(AT_CAP)
                how = "approved since its reviews were used up" if at_cap else "approved"
                return f"{how}{f' in review{nth}' if nth and not at_cap else ''}"
            case _:  # pragma: no cover
                assert_never(status)

    def waiting(self, task: Task) -> str:
        """``waits for US-001 (Log in)``: what has to be done before it can be taken."""
        if task.state not in WORKED_AT:
            return ""
        needed = self.waits.get(task.id, ())
        shown = ", ".join(f"{one} ({self.stories[one].title})" for one in needed)
        if self.are_issues:
            # Of an issue that is not blocked itself, it is those that it depends on.
            shown = task.blocked_by or ""
        return f"waits for {one_line(shown, limit=SHOWN_REASON)}" if shown else ""


def reviews(seen: Seen) -> Reviews:
    """Look them up once for all tasks of a plan."""
    source = seen.parsed.source
    if not isinstance(source, ParsedStories):
        return Reviews(are_issues=seen.kind is PlanKind.BEADS)
    stories = source.stories
    return Reviews(stories=stories.by_id(), waits=waits_for(stories))
