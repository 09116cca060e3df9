"""What the next iteration is for, and which story is its (SPEC §8, Stories).

A story whose changes were requested goes first, then one that waits for its review, then a new
one; so nothing new is begun while something is under way. Among stories of the same kind the
lowest rank is taken, then the first in the file; one without a rank comes last.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from ralph_ls.core.plan.model import Plan
from ralph_ls.core.plan.select import next_task
from ralph_ls.core.plan.stories.model import ReviewStatus, Stories, Story
from ralph_ls.core.plan.stories.showing import to_plan
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.run.values import Mode


class Choice(NamedTuple):
    """The next iteration."""

    mode: Mode
    story: Story | None
    """None where nothing is left that could be taken."""


def choose(
    stories: Stories,
    *,
    skip_review: bool = False,
    left_out: Collection[str] = (),
    only: str | None = None,
) -> Choice:
    """Choose mode and story; ``left_out`` are ids that are not to be taken, set aside or skipped.

    ``only`` is the one story that the run is for. With ``skip_review`` every iteration implements,
    and takes up what an earlier run left in review.
    """
    may_take = [
        story
        for story in stories.stories
        if story.id not in left_out and only in {None, story.id} and not story.passes
    ]
    mode = _mode_of(may_take, skip_review=skip_review)
    wanted = {story.id: story for story in may_take if skip_review or story.status in _TAKEN[mode]}
    needs = {} if mode is not Mode.BUILD else waits_for(stories)
    tasks = {task.id: task for task in to_plan(stories).tasks}
    ranked = sorted(wanted.values(), key=_rank)
    # In the order of rank: no priority of its own may come between, nor what is in progress.
    plan = Plan(
        tasks=tuple(
            tasks[story.id]._replace(priority=None, state=TaskState.TODO) for story in ranked
        )
    )
    taken = next_task(plan, waits_for=needs)
    return Choice(mode, None if taken is None else wanted[taken.id])


def waits_for(stories: Stories) -> Mapping[str, tuple[str, ...]]:
    """The unfinished stories that each story waits for, by id; unknown ids hold nobody up."""
    unfinished = {story.id for story in stories.stories if not story.passes}
    return {
        story.id: needed
        for story in stories.stories
        if (needed := tuple(name for name in story.depends_on if name in unfinished))
    }


def mode_word(mode: Mode) -> str:
    """What a mode is called in the files of this profile: R writes ``implement``."""
    return "implement" if mode is Mode.BUILD else mode.value


def mode_named(word: str) -> Mode | None:
    """The mode that such a word means; None for any other word."""
    known = {mode_word(mode): mode for mode in Mode} | {mode.value: mode for mode in Mode}
    return known.get(word)


_TAKEN: Mapping[Mode, Collection[ReviewStatus | None]] = {
    # An approved story that does not pass breaks an invariant; a person can only begin it anew.
    Mode.BUILD: {None, ReviewStatus.APPROVED},
    Mode.REVIEW: {ReviewStatus.NEEDS_REVIEW},
    Mode.REVIEW_FIX: {ReviewStatus.CHANGES_REQUESTED},
}


def _mode_of(stories: Collection[Story], *, skip_review: bool) -> Mode:
    statuses = set() if skip_review else {story.status for story in stories}
    if ReviewStatus.CHANGES_REQUESTED in statuses:
        return Mode.REVIEW_FIX
    return Mode.REVIEW if ReviewStatus.NEEDS_REVIEW in statuses else Mode.BUILD


def _rank(story: Story) -> tuple[bool, float]:
    return (story.rank is None, story.rank or 0.0)
