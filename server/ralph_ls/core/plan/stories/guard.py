"""Putting back what an iteration did to the stories that it may not (SPEC §8).

Each illegal move is undone by an edit as small as can be; every other byte of the agent's stays.
A file that an agent broke, so that it is no JSON or no file of stories any more, is put back
whole, and so is one where small edits do not help: after guarding no illegal move is left.

It must never know a file, nor who wrote the later text.
"""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.core.plan.stories.edits import to_json, with_item, with_member
from ralph_ls.core.plan.stories.json_text import Node, last_members
from ralph_ls.core.plan.stories.model import FRESH, Stories
from ralph_ls.core.plan.stories.moves import VERIFY, IllegalMove, MoveCode, Rules, check_moves
from ralph_ls.core.plan.stories.reading import (
    Finding,
    dependencies_key,
    is_unusable,
    new_findings,
    read,
)

MOST_SMALL_EDITS = 100
"""So many illegal moves are undone one by one; a file with more goes back whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A file of stories in which no illegal move is left."""

    text: str
    moves: tuple[IllegalMove, ...] = ()
    """What was put back, or left undone."""
    broken: tuple[Finding, ...] = ()
    """Why the whole file was put back; empty where it was not for that."""


def check(before: str, after: str, rules: Rules) -> Guarded:
    """Put back what was illegal between two texts of a file. Total, and idempotent.

    What was wrong with the file before is for a person to mend, and held against nobody; where it
    could not be read at all, nothing is compared.
    """
    was, now = read(before), read(after)
    if is_unusable(was):
        return Guarded(text=after)
    broken = new_findings(now.findings, was.findings)
    if broken:
        return Guarded(text=before, broken=broken)
    moves = check_moves(was.stories, now.stories, rules)
    if len(moves) > MOST_SMALL_EDITS:
        return Guarded(text=before, moves=moves)
    text = after
    # The file's own fields last: where they have no place any more, the file goes back whole.
    for move in sorted(moves, key=lambda one: one.code is MoveCode.VERIFY):
        text = _put_back(was.stories, text, move)
    again = read(text)
    left = check_moves(was.stories, again.stories, rules)
    is_mended = not new_findings(again.findings, was.findings)
    if not is_mended or any(not move.is_omission for move in left):
        text = before
    return Guarded(text=text, moves=moves)


def _put_back(was: Stories, text: str, move: IllegalMove) -> str:
    now = read(text).stories
    match move.code:
        case MoveCode.NONE_REVIEWED | MoveCode.NONE_FIXED:
            return text
        case MoveCode.VERIFY:
            return _header_back(was, now, VERIFY)
        case MoveCode.DELETED:
            return _story_back(was, now, move.story)
        case MoveCode.DEPENDENCY:
            return _dependencies_back(was, now, move.story)
        case _:
            return _fields_back(was, now, move)


def _fields_back(was: Stories, now: Stories, move: IllegalMove) -> str:
    """The fields as they were, sign by sign; one that was not there as of a fresh story."""
    old, text = was.by_id().get(move.story), now.text
    for name in move.fields:
        new = read(text).stories.by_id()[move.story]
        member = None if old is None else old.fields.get(name)
        if member is not None:
            raw = _raw(was.text, member.node)
        elif name in new.fields:
            raw = FRESH.get(name, "null")
        else:
            continue
        if name not in new.fields or _raw(text, new.fields[name].node) != raw:
            text = with_member(text, new.node, name, raw)
    return text


def _dependencies_back(was: Stories, now: Stories, story_id: str) -> str:
    """What a story waited for, and behind it what came to it."""
    old, new = was.by_id()[story_id], now.by_id()[story_id]
    key = dependencies_key(new.fields)
    if key not in new.fields:
        key = dependencies_key(old.fields)
    added = [name for name in new.depends_on if name not in old.depends_on]
    node = old.fields[dependencies_key(old.fields)].node
    raw = to_json([*old.depends_on, *added]) if added else _raw(was.text, node)
    return with_member(now.text, new.node, key, raw)


def _story_back(was: Stories, now: Stories, story_id: str) -> str:
    """A story that is gone, behind the nearest one before it that is still there."""
    raw = _raw(was.text, was.by_id()[story_id].node)
    old, new = was.array.elements, now.array.items
    if not new:
        begin = was.text[was.array.start + 1 : old[0].start]
        end = was.text[old[-1].end : was.array.end - 1]
        whole = f"[{begin}{raw}{end}]"
        return now.text[: now.array.start] + whole + now.text[now.array.end :]
    starts = [item.start for item in new]
    places = {story.id: starts.index(story.node.start) for story in now.stories}
    ids = [story.id for story in was.stories]
    earlier = [places[name] for name in ids[: ids.index(story_id)] if name in places]
    return with_item(now.text, now.array, earlier[-1] if earlier else None, raw)


def _header_back(was: Stories, now: Stories, key: str) -> str:
    """A field of the file as it was; a file that became a bare list has no place for it."""
    if now.root.members is None:
        return was.text
    member = last_members(was.root).get(key)
    raw = "[]" if member is None else _raw(was.text, member.node)
    return with_member(now.text, now.root, key, raw)


def _raw(text: str, node: Node) -> str:
    return text[node.start : node.end]
