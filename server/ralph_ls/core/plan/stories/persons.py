"""What people do to stories: single edits of one, and what a save of theirs has decided (SPEC §8).

The file has no word for a blocked story, so whoever wants one held up says what it waits for. Edits
raise RalphError where they cannot be made. It must never know who asks, nor where the file lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import assert_never

from ralph_ls.core.plan.stories.edits import (
    RESET_FOR_RETRY,
    add_note,
    find,
    reset_story,
    set_fields,
    with_item,
)
from ralph_ls.core.plan.stories.json_text import value_of
from ralph_ls.core.plan.stories.model import (
    COUNT,
    FEEDBACK,
    PASSES,
    REVIEW_FIELDS,
    STATUS,
    ReviewStatus,
    Story,
)
from ralph_ls.core.plan.stories.moves import CRITERIA, PRIORITY, VERIFY
from ralph_ls.core.plan.stories.reading import dependencies_key, read
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit

Change = Callable[[str], str]


def change_of(edit: TaskEdit, story_id: str, *, before: str | None = None) -> Change:
    """The change of a file's text that an edit means."""
    match edit:
        case TaskEdit.MOVE:
            return partial(move, story_id=story_id, before=before)
        case TaskEdit.BLOCK | TaskEdit.UNBLOCK:
            return partial(hold_up, story_id=story_id)
        case _:  # pragma: no cover
            assert_never(edit)


def reset_for_retry(text: str, story_id: str) -> str:
    """Open a story again, and note that once (SPEC §9, ``reset-task``)."""
    return reset_story(text, story_id, RESET_FOR_RETRY)


def request_changes(text: str, story_id: str, feedback: str) -> str:
    """A person's review of a story that is not approved; it counts as one."""
    story = find(text, story_id)
    values: dict[str, object] = {
        PASSES: False,
        STATUS: ReviewStatus.CHANGES_REQUESTED.value,
        COUNT: story.n_reviews + 1,
        FEEDBACK: feedback,
    }
    return set_fields(text, story_id, values)


def note(text: str, story_id: str, words: str) -> str:
    """Add a line to what is noted of a story."""
    return add_note(text, story_id, words)


def move(text: str, *, story_id: str, before: str | None) -> str:
    """Put a story before another one, or behind the last; every other byte stays.

    Where no priority says otherwise the order of the file is that of the work.
    """
    story = find(text, story_id)
    target = None if before is None else find(text, before)
    array = read(text).stories.array
    items = array.items or ()
    at = items.index(story.node)
    if target is None and at == len(items) - 1:
        return text
    if target is not None and (target.id == story.id or items.index(target.node) == at + 1):
        return text
    raw = text[story.node.start : story.node.end]
    left = without(text, story)
    kept = read(left).stories.array
    place = len(kept.items or ()) - 1
    if target is not None:
        place = items.index(target.node) - (1 if items.index(target.node) > at else 0) - 1
    return with_item(left, kept, place if place >= 0 else None, raw)


def hold_up(text: str, *, story_id: str) -> str:
    """Blocking a story, and taking that back: refused, with what can be done instead."""
    story = find(text, story_id)
    raise RalphError(
        f"a file of stories cannot say that {story.id} is blocked; write what it waits for into "
        "its dependsOn, or skip it for as long as a run lasts: ralph skip ID"
    )


def without(text: str, story: Story) -> str:
    """The text without one of its stories, and without the comma that goes with it."""
    array = read(text).stories.array
    items = array.items or ()
    at = items.index(story.node)
    if len(items) == 1:
        return f"{text[: array.start]}[]{text[array.end :]}"
    if at + 1 < len(items):
        return text[: items[at].start] + text[items[at + 1].start :]
    return text[: items[at - 1].end] + text[items[at].end :]


def decided(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """What a person changed that no agent may, by field and story; a deletion has no field.

    What is about the whole file has no story.
    """
    was, now = read(before).stories, read(after).stories
    found = [(VERIFY, "")] if was.verify_commands != now.verify_commands else []
    stories = now.by_id()
    for story in was.stories:
        later = stories.get(story.id)
        if later is None:
            found.append(("", story.id))
        else:
            found += [(name, story.id) for name in _changed(story, later)]
    known = was.by_id()
    for story in now.stories:
        if story.id not in known:
            # It may come in as a person wants it.
            found += [(name, story.id) for name in REVIEW_FIELDS]
    return tuple(found)


def _changed(old: Story, new: Story) -> Iterator[str]:
    keys = (*REVIEW_FIELDS, CRITERIA, PRIORITY)
    yield from (key for key in keys if _value(old, key) != _value(new, key))
    if old.depends_on != new.depends_on:
        yield dependencies_key(old.fields)


def _value(story: Story, key: str) -> object:
    member = story.fields.get(key)
    return None if member is None else value_of(member.node)
