"""Stories that are committed and hold what no agent may do, although the work tree has them right.

The work tree is guarded after each iteration, so what a run has brought about there is legal; a
committed file may lag behind it, and may not be ahead of it. Many iterations lie between the start
of a run and now, so single moves are not judged: a story that passes, is approved or was reviewed
more often than in the work tree is ahead.

It must never know a file, nor who committed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph_ls.core.plan.stories.model import ReviewStatus, Story
from ralph_ls.core.plan.stories.moves import MoveCode, Rules, check_moves
from ralph_ls.core.plan.stories.reading import StoriesRead, is_unusable, new_findings
from ralph_ls.protocol.run.values import Mode

_OF_THE_FILE = frozenset(
    {
        MoveCode.DELETED,
        MoveCode.CRITERIA,
        MoveCode.PRIORITY,
        MoveCode.DEPENDENCY,
        MoveCode.VERIFY,
    }
)
"""What is forbidden whatever lies between two readings."""

BROKEN = "broken"
AHEAD = "ahead"


def held(
    start: StoriesRead, committed: StoriesRead, tree: StoriesRead
) -> Mapping[tuple[str, str], str]:
    """What the committed stories hold, by kind and story, each in words. Total."""
    if is_unusable(start) or is_unusable(tree):
        return {}
    if is_unusable(committed):
        return {(BROKEN, ""): "it cannot be read as stories"}
    found: dict[tuple[str, str], str] = {}
    new = new_findings(committed.findings, start.findings)
    if new and new_findings(committed.findings, tree.findings):
        found[BROKEN, ""] = new[0].message
    rules = Rules(mode=Mode.BUILD)
    moves, accepted = (check_moves(start.stories, one.stories, rules) for one in (committed, tree))
    known = {(move.code, move.story) for move in accepted}
    for move in moves:
        if move.code in _OF_THE_FILE and (move.code, move.story) not in known:
            found[move.code.value, move.story] = f"{move.story or 'the file'} ({move.code.value})"
    was, now = start.stories.by_id(), tree.stories.by_id()
    for story in committed.stories.stories:
        here = now.get(story.id)
        for what in () if here is None else _ahead(story, here, was.get(story.id)):
            found[AHEAD, story.id] = f"{story.id} {what}"
    return found


def _ahead(story: Story, here: Story, was: Story | None) -> Iterator[str]:
    """In what a committed story is ahead of the one in the work tree, and was not at the start."""
    n_before = 0 if was is None else was.n_reviews
    if story.n_reviews > max(here.n_reviews, n_before):
        yield f"was reviewed {story.n_reviews} times, not {here.n_reviews}"
    if _is_approved(story) and not _is_approved(here) and not _is_approved(was):
        yield "is approved"
    if story.passes and not here.passes and (was is None or not was.passes):
        yield "passes"


def _is_approved(story: Story | None) -> bool:
    return story is not None and story.status is ReviewStatus.APPROVED
