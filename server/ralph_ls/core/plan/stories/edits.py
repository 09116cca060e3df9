"""Change single values of a file of stories, and nothing else: every other byte stays.

What is put in has the form of what stands around it: a new member is indented and spaced as the
one before it. An edit works on text, so it knows neither the file nor who else is writing it. Each
raises RalphError when there is no such story, or when the text is no JSON: what is meant cannot be
written then without guessing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.stories.json_text import Node, last_members, value_of
from ralph_ls.core.plan.stories.model import FRESH, PASSES, STATUS, ReviewStatus, Stories, Story
from ralph_ls.core.plan.stories.reading import read
from ralph_ls.protocol.errors import RalphError

RESET_FOR_RETRY = "Reset for retry"
RESET_FOR_REPLANNING = "Reset for replanning"
"""What the notes of a story say that was opened again (SPEC §9)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file in which nothing is in progress."""

    text: str
    titles: tuple[str, ...]
    """Of the stories that were in progress and are open now."""


def set_fields(text: str, story_id: str, values: Mapping[str, object]) -> str:
    """Give fields of one story new values; one that has the value already is not touched.

    A field that the story does not have is put behind its last one.
    """
    for key, value in values.items():
        story = find(text, story_id)
        member = story.fields.get(key)
        old = None if member is None else value_of(member.node)
        if member is None or old != value or isinstance(old, bool) is not isinstance(value, bool):
            text = with_member(text, story.node, key, to_json(value))
    return text


def pass_story(text: str, story_id: str) -> str:
    """Let a story pass because a person says so; one in review is approved by that."""
    story = find(text, story_id)
    values: dict[str, object] = {PASSES: True}
    if story.status is not None:
        values[STATUS] = ReviewStatus.APPROVED.value
    return set_fields(text, story_id, values)


def reopen(text: str, story_id: str) -> str:
    """Make a story as if nobody had worked on it; fields that it does not have stay away."""
    story = find(text, story_id)
    fresh = {key: json.loads(raw) for key, raw in FRESH.items()}
    return set_fields(
        text, story_id, {key: value for key, value in fresh.items() if key in story.fields}
    )


def add_note(text: str, story_id: str, note: str) -> str:
    """Add a line to the notes of a story, unless they end with it already."""
    member = find(text, story_id).fields.get("notes")
    old = None if member is None else value_of(member.node)
    lines = old.split("\n") if isinstance(old, str) and old else []
    if lines[-1:] == [note]:
        return text
    return set_fields(text, story_id, {"notes": "\n".join([*lines, note])})


def reset_story(text: str, story_id: str, note: str = RESET_FOR_RETRY) -> str:
    """Open a story again, and say so in its notes (SPEC §9, ``reset-task``)."""
    return add_note(reopen(text, story_id), story_id, note)


def reset_in_progress(text: str) -> Opened:
    """Open every story that is in review or being fixed, before the plan is made anew."""
    titles: list[str] = []
    for story in _read(text).stories:
        if story.status is not None and not story.passes:
            text = reset_story(text, story.id, RESET_FOR_REPLANNING)
            titles.append(story.title)
    return Opened(text=text, titles=tuple(titles))


def find(text: str, story_id: str) -> Story:
    """The story of a text that is to be changed; raises RalphError as every edit does."""
    story = _read(text).by_id().get(story_id)
    if story is None:
        raise RalphError(f"the plan has no story {story_id!r}; see them all with ralph plan")
    return story


def with_member(text: str, holder: Node, key: str, raw: str) -> str:
    """The text with one member of an object changed or added; ``raw`` is JSON."""
    known = last_members(holder).get(key)
    if known is not None:
        return text[: known.node.start] + raw + text[known.node.end :]
    members = holder.members or ()
    if not members:
        inside = f"{to_json(key)}: {raw}"
        return text[: holder.start + 1] + inside + text[holder.end - 1 :]
    last = members[-1]
    colon = text[last.end : last.node.start]
    between = _between(text, holder, [(member.start, member.node.end) for member in members])
    added = between + to_json(key) + colon + raw
    return text[: last.node.end] + added + text[last.node.end :]


def with_item(text: str, array: Node, behind: int | None, raw: str) -> str:
    """The text with an item put into a list that has some: behind the nth, or before the first."""
    items = array.elements
    between = _between(text, array, [(item.start, item.end) for item in items])
    if behind is None:
        at = items[0].start
        return text[:at] + raw + between + text[at:]
    at = items[behind].end
    return text[:at] + between + raw + text[at:]


def to_json(value: object) -> str:
    """A value as people write it into such a file: not escaped, and fit for UTF-8."""
    written = json.dumps(value, ensure_ascii=False)
    return written.encode("utf-8", "replace").decode("utf-8")


def _between(text: str, holder: Node, parts: Sequence[tuple[int, int]]) -> str:
    """What parts two members or items here: the comma, and the white space of this text."""
    if len(parts) > 1:
        return text[parts[-2][1] : parts[-1][0]]
    return "," + (text[holder.start + 1 : parts[0][0]] or " ")


def _read(text: str) -> Stories:
    known = read(text)
    wrong = next((one for one in known.findings if one.code == "json-syntax"), None)
    if wrong is not None:
        line = text.count("\n", 0, wrong.start) + 1
        raise RalphError(f"the plan is no JSON in line {line}: {wrong.message}; mend that first")
    return known.stories
