"""Story edits: change single values in a file of stories; all other bytes stay.

An edit works on text and knows neither
the file nor concurrent writers. Raises RalphError if there is no such story, or if the text is not
JSON, because the change could not be written without guessing.

The edits of the user (docs/rules.md#user-edits) are here, too. The format has no state for a
blocked story, so blocking one means adding what it waits for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from ralph_ls.core.plan.formats.json_edit import (
    parts_of,
    require_json,
    to_json,
    values_of,
    with_item,
    with_member,
    with_moved_item,
    without_item,
)
from ralph_ls.core.plan.formats.json_text import value_of
from ralph_ls.core.plan.formats.stories.review_cycle import CRITERIA, PRIORITY, VERIFY
from ralph_ls.core.plan.formats.stories.shapes import status_of, status_word
from ralph_ls.core.plan.formats.stories.story_file import (
    COUNT,
    DEPENDS,
    FEEDBACK,
    FRESH,
    PASSES,
    REVIEW_FIELDS,
    STATUS,
    ReviewStatus,
    Story,
    StoryFile,
    read_stories,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.task_words import TaskState

RESET_FOR_RETRY = "Reset for retry"
RESET_FOR_REPLANNING = "Reset for replanning"
"""The note of a story that was opened again (docs/rules.md#attempts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoriesReset:
    """A file in which nothing is in progress."""

    text: str
    titles: tuple[str, ...]
    """Of the stories that were in progress and are open now."""


def set_fields(text: str, story_id: str, values: Mapping[str, object]) -> str:
    """Set fields of one story; a field that has the value already is not touched.

    A new field is inserted behind the last one.
    """
    for key, value in values.items():
        story = find_story(text, story_id)
        member = story.fields.get(key)
        old = None if member is None else value_of(member.node)
        if member is None or old != value or isinstance(old, bool) is not isinstance(value, bool):
            is_flag = key == PASSES and isinstance(value, bool)
            raw = flag_in(text, story, value is True) if is_flag else to_json(value)
            text = with_member(text, story.node, story.key_of(key), raw)
    return text


def flag_in(text: str, story: Story, passes: bool) -> str:  # noqa: FBT001 - a value, not a mode
    """Whether a story passes as its file writes it: true and false, or words."""
    member = story.fields.get(PASSES)
    if member is None or member.key == PASSES or not isinstance(member.node.scalar, str):
        return to_json(passes)
    used = (one.fields[PASSES].node for one in _read(text).stories if PASSES in one.fields)
    return to_json(status_word(used, passes=passes))


def pass_story(text: str, story_id: str) -> str:
    """Let a story pass by the user's decision; this approves one in review."""
    story = find_story(text, story_id)
    values: dict[str, object] = {PASSES: True}
    if story.status is not None:
        values[STATUS] = ReviewStatus.APPROVED.value
    return _with_status(set_fields(text, story_id, values), story_id, TaskState.DONE)


def reopen_story(text: str, story_id: str) -> str:
    """Reset a story to its state before any work; missing fields are not added."""
    story = find_story(text, story_id)
    fresh = {key: json.loads(raw) for key, raw in FRESH.items()}
    text = set_fields(
        text, story_id, {key: value for key, value in fresh.items() if key in story.fields}
    )
    return _with_status(text, story_id, TaskState.TODO)


def _with_status(text: str, story_id: str, state: TaskState) -> str:
    """A story whose file has a flag and a status has both changed."""
    stories = _read(text)
    story = stories.by_id()[story_id]
    member = story.fields.get("status")
    if member is None or status_of(member.node) in {None, state}:
        return text
    used = (one.fields["status"].node for one in stories.stories if "status" in one.fields)
    word = to_json(status_word(used, passes=state is TaskState.DONE))
    return with_member(text, story.node, member.key, word)


def append_story_note(text: str, story_id: str, note: str) -> str:
    """Add a line to the notes of a story, unless they end with it already."""
    member = find_story(text, story_id).fields.get("notes")
    old = None if member is None else value_of(member.node)
    lines = old.split("\n") if isinstance(old, str) and old else []
    if lines[-1:] == [note]:
        return text
    return set_fields(text, story_id, {"notes": "\n".join([*lines, note])})


def reset_story(text: str, story_id: str, note: str = RESET_FOR_RETRY) -> str:
    """Open a story again, with a note (docs/rules.md#attempts)."""
    return append_story_note(reopen_story(text, story_id), story_id, note)


def reset_stories_in_progress(text: str) -> StoriesReset:
    """Open every story that is in review or being fixed, before planning."""
    titles: list[str] = []
    for story in _read(text).stories:
        if story.status is not None and not story.passes:
            text = reset_story(text, story.id, RESET_FOR_REPLANNING)
            titles.append(story.title)
    return StoriesReset(text=text, titles=tuple(titles))


def find_story(text: str, story_id: str) -> Story:
    """The story of a text that is to be changed; raises RalphError as every edit does."""
    story = _read(text).by_id().get(story_id)
    if story is None:
        raise RalphError(f"the plan has no story {story_id!r}; list the stories with: ralph plan")
    return story


def _read(text: str) -> StoryFile:
    require_json(text)
    return read_stories(text).stories


StoryEdit = Callable[[str], str]


def story_edit(edit: TaskEdit, story_id: str, *, before: str | None = None) -> StoryEdit:
    """The text of the file after an edit."""
    match edit:
        case TaskEdit.MOVE:
            return partial(move_story, story_id=story_id, before=before)
        case TaskEdit.BLOCK | TaskEdit.UNBLOCK:
            return partial(refuse_hold, story_id=story_id)
        case _:  # pragma: no cover
            assert_never(edit)


def retry_story(text: str, story_id: str) -> str:
    """Open a story again, and note that once (docs/rules.md#attempts)."""
    return reset_story(text, story_id, RESET_FOR_RETRY)


def request_changes(text: str, story_id: str, feedback: str) -> str:
    """Request changes as the user's review, which counts as a review."""
    story = find_story(text, story_id)
    values: dict[str, object] = {
        PASSES: False,
        STATUS: ReviewStatus.CHANGES_REQUESTED.value,
        COUNT: story.n_reviews + 1,
        FEEDBACK: feedback,
    }
    return set_fields(text, story_id, values)


def note_on_story(text: str, story_id: str, words: str) -> str:
    """Add a line to the notes of a story."""
    return append_story_note(text, story_id, words)


def move_story(text: str, *, story_id: str, before: str | None) -> str:
    """Move a story before another one, or behind the last; all other bytes stay.

    Without priorities, the order of the file is the order of the work. A story that is moved to
    another list, such as that of the next phase, is in it afterwards.
    """
    stories = _read(text)
    story = find_story(text, story_id)
    target = None if before is None else find_story(text, before)
    home = stories.list_of(story).node
    goal = stories.lists[-1 if target is None else target.nth_list].node
    nth = values_of(home).index(story.node)
    place = None if target is None else values_of(goal).index(target.node)
    if goal is home:
        return with_moved_item(text, home, nth, place)
    if (goal.members is None) is not (home.members is None):
        raise RalphError(
            f"{story.id} cannot be moved there, because one of the two lists is an object by id; "
            "move it in the file yourself"
        )
    start, end = parts_of(home)[nth]
    raw = text[start:end]
    n_parts = len(parts_of(goal))
    behind = (n_parts if place is None else place) - 1
    # The later of the two places is changed first, so that the other one stays where it is.
    if goal.start > home.start:
        text = with_item(text, goal, behind if behind >= 0 else None, raw)
        return without_item(text, home, nth)
    text = without_item(text, home, nth)
    return with_item(text, goal, behind if behind >= 0 else None, raw)


def refuse_hold(text: str, *, story_id: str) -> str:
    """Refuse to block or unblock a story, with what can be done instead."""
    story = find_story(text, story_id)
    raise RalphError(
        f"a story file cannot mark {story.id} as blocked; add what it waits for to its dependsOn, "
        "or skip it for this run: ralph skip ID"
    )


def without_story(text: str, story: Story) -> str:
    """The text without one of its stories and its comma."""
    home = read_stories(text).stories.list_of(story).node
    return without_item(text, home, values_of(home).index(story.node))


def user_decisions(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """The user's changes that are forbidden to agents, by field and story; a deletion has no field.

    Changes of the whole file have no story.
    """
    was, now = read_stories(before).stories, read_stories(after).stories
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
            # The user may add it in any state.
            found += [(name, story.id) for name in REVIEW_FIELDS]
    return tuple(found)


def _changed(old: Story, new: Story) -> Iterator[str]:
    keys = (*REVIEW_FIELDS, CRITERIA, PRIORITY)
    yield from (key for key in keys if _value(old, key) != _value(new, key))
    if old.depends_on != new.depends_on:
        yield DEPENDS


def _value(story: Story, key: str) -> object:
    member = story.fields.get(key)
    return None if member is None else value_of(member.node)
