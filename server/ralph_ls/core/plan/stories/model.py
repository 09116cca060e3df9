"""What a file of stories says, with the place of each story and field in its text (SPEC §8).

Fields that are not known here are in the text and stay there: nothing is ever written from these
values as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ralph_ls.core.plan.stories.json_text import Member, Node
from ralph_ls.protocol.plan import Priority


class ReviewStatus(StrEnum):
    """Where a story is in the review cycle; it has none before it is implemented."""

    NEEDS_REVIEW = "needs_review"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"


PASSES, STATUS, COUNT, FEEDBACK = "passes", "reviewStatus", "reviewCount", "reviewFeedback"
REVIEW_FIELDS = (PASSES, STATUS, COUNT, FEEDBACK)
"""What a move of the review cycle changes."""

FRESH: Mapping[str, str] = {PASSES: "false", STATUS: "null", COUNT: "0", FEEDBACK: "null"}
"""What those fields are, as JSON, of a story that nobody has worked on."""

NOTHING = Node(0, 0)
"""The place of what a file does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One story; what the file does not say of it is as of a fresh one."""

    id: str
    """As the file has it; else 8 hex digits of the title. ``-2``, ``-3`` where it repeats."""
    title: str
    """White space is folded."""
    criteria: tuple[str, ...] = ()
    rank: float | None = None
    """The lowest is taken first; of a priority that is a word it is 1, 2 or 3."""
    priority: Priority | None = None
    """Where the file gives a word; a number is a rank among the others and no class."""
    passes: bool = False
    status: ReviewStatus | None = None
    n_reviews: int = 0
    feedback: str = ""
    """Trimmed."""
    depends_on: tuple[str, ...] = ()
    node: Node = field(repr=False, compare=False)
    """The whole story in the text."""
    fields: Mapping[str, Member] = field(repr=False, compare=False)
    """The members of the story in the text, by key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stories:
    """A file of stories."""

    text: str = field(repr=False)
    project: str = ""
    branch: str = ""
    description: str = ""
    verify_commands: tuple[str, ...] = ()
    stories: tuple[Story, ...] = ()
    """In the order of the file."""
    root: Node = field(default=NOTHING, repr=False, compare=False)
    """The object that the file is, or the list that it is instead."""
    array: Node = field(default=NOTHING, repr=False, compare=False)
    """The list of the stories."""

    def by_id(self) -> Mapping[str, Story]:
        """Every story under its id; ids are unique here."""
        return {story.id: story for story in self.stories}
