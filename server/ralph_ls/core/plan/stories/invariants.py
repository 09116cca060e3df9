"""What must hold between the fields of stories, whoever wrote them (R §2, Check 2; SPEC §8).

- ``story-passes-unreviewed``: a story passes while its review is still to be done or to be
  followed; not where reviews are skipped;
- ``story-approved-not-passing``: a review approved a story that does not pass;
- ``story-feedback-missing``: changes are requested and nothing says which;
- ``story-dependency-unknown``, ``story-dependency-cycle``: what a story waits for is no story
  here, or waits for the story itself.

It must never know what was there before: that is for ``moves``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph_ls.core.plan.stories.json_text import last_members
from ralph_ls.core.plan.stories.model import FEEDBACK, PASSES, STATUS, ReviewStatus, Stories, Story
from ralph_ls.core.plan.stories.reading import Finding, dependencies_key


def check_invariants(stories: Stories, *, skip_review: bool = False) -> tuple[Finding, ...]:
    """Tell what does not hold, by story."""
    by_id = stories.by_id()
    rings = {ring[0]: ring for ring in cycles(by_id)}
    found: list[Finding] = []
    for story in stories.stories:
        found += _check_review(story, skip_review=skip_review)
        for name in story.depends_on:
            if name not in by_id:
                message = f"{story.id} depends on {name}, and there is no such story"
                found.append(_at(story, "story-dependency-unknown", message, _key_of(story)))
        if story.id in rings:
            way = " → ".join([*rings[story.id], story.id])
            message = f"these wait for each other: {way}; take one of the dependencies out"
            found.append(_at(story, "story-dependency-cycle", message, _key_of(story)))
    return tuple(found)


def check_missing(stories: Stories, *, skip_review: bool = False) -> tuple[Finding, ...]:
    """Tell what files of other tools may lack, so that no agent is kept at work for it.

    - ``stories-branch-missing``: the file has no field ``branchName``; an empty one will do;
    - ``story-passes-unreviewed``: a story passes that nobody has reviewed; not where reviews are
      skipped.
    """
    found: list[Finding] = []
    root = stories.root
    has_stories = root.members is not None and stories.array.items is not None
    if has_stories and "branchName" not in last_members(root):
        message = "the file has no branchName; name the branch that the stories are done on"
        found.append(Finding("stories-branch-missing", message, root.start, root.start + 1))
    for story in stories.stories:
        if story.passes and story.status is None and not skip_review:
            message = f"{story.id} passes, but its {STATUS} is null; only a review lets it"
            found.append(_at(story, "story-passes-unreviewed", message, PASSES))
    return tuple(found)


def cycles(by_id: Mapping[str, Story]) -> Iterator[tuple[str, ...]]:
    """Rings of stories that wait for each other, from the first in the file on.

    A story is told in one ring at most; what else it is in is told when that one is mended.
    """
    done: set[str] = set()
    for first in by_id:
        way = {} if first in done else {first: iter(by_id[first].depends_on)}
        while way:
            last = next(reversed(way))
            target = next(way[last], None)
            if target is None:
                way.popitem()
                done.add(last)
            elif target in done or target not in by_id:
                continue
            elif target in way:
                ring = list(way)[list(way).index(target) :]
                done.update(ring)
                yield _from_first(ring, by_id)
            else:
                way[target] = iter(by_id[target].depends_on)


def _from_first(ring: list[str], by_id: Mapping[str, Story]) -> tuple[str, ...]:
    order = {name: nth for nth, name in enumerate(by_id)}
    at = ring.index(min(ring, key=order.__getitem__))
    return (*ring[at:], *ring[:at])


def _check_review(story: Story, *, skip_review: bool) -> Iterator[Finding]:
    is_open = story.status in {ReviewStatus.NEEDS_REVIEW, ReviewStatus.CHANGES_REQUESTED}
    if story.passes and is_open and not skip_review:
        message = f"{story.id} passes, but its {STATUS} is {story.status}; only a review lets it"
        yield _at(story, "story-passes-unreviewed", message, PASSES)
    if story.status is ReviewStatus.APPROVED and not story.passes:
        message = f"{story.id} is approved, but {PASSES} is not true"
        yield _at(story, "story-approved-not-passing", message, STATUS)
    if story.status is ReviewStatus.CHANGES_REQUESTED and not story.feedback:
        message = f"{story.id} has changes requested; write into {FEEDBACK} which"
        yield _at(story, "story-feedback-missing", message, STATUS)


def _key_of(story: Story) -> str:
    return dependencies_key(story.fields)


def _at(story: Story, code: str, message: str, key: str) -> Finding:
    """A finding at a field of a story; each that is told here is in the file."""
    place = story.fields[key].node
    return Finding(code, message, place.start, place.end, story.id)
