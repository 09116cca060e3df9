"""Evidence for closing in a file of stories: what is run for a story, and what its fields say then.

A story is held against its criteria and the file's ``verifyCommands`` when an iteration marks it
as passed or as ready for review. What was verified goes into its ``notes``, in B's lines. A story
that was refuted goes on in the review cycle, as one whose reviewer asks for changes; where there is
no such cycle it is open again. It must never run anything, nor know a file.
"""

from __future__ import annotations

from collections.abc import Collection, Container

from ralph_ls.core.plan.beads.criteria import write_evidence
from ralph_ls.core.plan.closing.checks import (
    Closing,
    Verification,
    checks_of,
    commands_of,
    evidence_of,
    tell_failures,
)
from ralph_ls.core.plan.stories import edits
from ralph_ls.core.plan.stories.json_text import value_of
from ralph_ls.core.plan.stories.model import FEEDBACK, PASSES, STATUS, ReviewStatus, Story
from ralph_ls.core.plan.stories.reading import read
from ralph_ls.core.plan.titles import make_sayable
from ralph_ls.protocol.run.values import TaskRef


def closings(
    before: str, after: str, done: Collection[str], *, on_path: Container[str] = ()
) -> tuple[Closing, ...]:
    """What is to be run for those of the stories that were marked as passed or for review."""
    known = read(before).stories.by_id()
    now = read(after).stories
    found = (
        Closing(
            task=TaskRef(id=make_sayable(story.id), title=make_sayable(story.title)),
            checks=checks_of(story.criteria, now.verify_commands, on_path=on_path),
        )
        for story in now.stories
        if story.id in done and _is_closed(story) and not _is_same(known.get(story.id), story)
    )
    return tuple(one for one in found if one.checks)


def commands(text: str, *, on_path: Container[str] = ()) -> tuple[str, ...]:
    """The commands that the file's stories and the file itself name, each once."""
    stories = read(text).stories
    criteria = [one for story in stories.stories for one in story.criteria]
    return commands_of(checks_of(criteria, stories.verify_commands, on_path=on_path))


def write_verification(text: str, seen: Verification, *, skip_review: bool) -> str:
    """The file with what came of a story's checks. Raises RalphError as every edit does."""
    story_id = seen.task.id
    if seen.failed:
        return _refuted(text, story_id, tell_failures(seen), skip_review=skip_review)
    if not seen.ok:
        return text
    member = edits.find(text, story_id).fields.get("notes")
    old = None if member is None else value_of(member.node)
    notes = old if isinstance(old, str) else ""
    lines = write_evidence(evidence_of(seen))
    if lines in notes:
        return text
    return edits.set_fields(text, story_id, {"notes": f"{notes}\n{lines}" if notes else lines})


def _refuted(text: str, story_id: str, why: str, *, skip_review: bool) -> str:
    story = edits.find(text, story_id)
    if skip_review or story.status is None:
        return edits.reset_story(text, story_id, why)
    values = {PASSES: False, STATUS: ReviewStatus.CHANGES_REQUESTED.value, FEEDBACK: why}
    return edits.set_fields(text, story_id, values)


def _is_closed(story: Story) -> bool:
    return story.passes or story.status is ReviewStatus.NEEDS_REVIEW


def _is_same(known: Story | None, story: Story) -> bool:
    return known is not None and (known.passes, known.status) == (story.passes, story.status)
