"""Merge of a file of stories that the user and an agent changed at the same time.

See docs/rules.md#user-edits. Fields are merged one by one: a change of one side is taken, and of a
field that both changed differently ``mine`` stays, and the story's notes record the other value. So
the file stays JSON, nothing is lost, and unchanged bytes stay.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.plan.diff.merge_lines import MergeConflict, MergedPlan
from ralph_ls.core.plan.formats.json_edit import (
    parts_of,
    values_of,
    with_item,
    with_member,
)
from ralph_ls.core.plan.formats.json_text import JsonMember, JsonNode, last_members, value_of
from ralph_ls.core.plan.formats.stories.edits import append_story_note, without_story
from ralph_ls.core.plan.formats.stories.story_file import (
    Story,
    StoryFile,
    is_unusable,
    read_stories,
)


def merge_stories(base: str, mine: str, theirs: str) -> MergedPlan:
    """Merge the changes of ``mine`` and ``theirs`` since ``base`` into one text. Total.

    If one of the two is no file of stories (half typed, perhaps), or has other lists of stories
    than the base, ``mine`` stays as it is, as one conflict; stories that one side removed and the
    other did not touch are removed.
    """
    if theirs in {base, mine}:
        return MergedPlan(text=mine)
    if mine == base:
        return MergedPlan(text=theirs)
    texts = [read_stories(text) for text in (base, mine, theirs)]
    was, now, other = (known.stories for known in texts)
    is_lost = any(is_unusable(known) or known.stories.root.members is None for known in texts)
    if is_lost or not _has_same_lists(was, now, other):
        return MergedPlan(text=mine, conflicts=(MergeConflict(line=0, mine=mine, theirs=theirs),))
    work = _Merge(mine)
    work.take_header(was, now, other)
    work.take_stories(was, now, other)
    return MergedPlan(text=work.text, conflicts=tuple(work.conflicts))


class _Merge:
    """The text as it grows."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.conflicts: list[MergeConflict] = []

    def take_header(self, was: StoryFile, now: StoryFile, other: StoryFile) -> None:
        """The fields of the file and of its phases; one that both changed stays as it is here."""
        for nth, owner in enumerate(_owners(other)):
            old, mine = (last_members(_owners(one)[nth]) for one in (was, now))
            theirs = last_members(owner)
            for key, member in theirs.items():
                if _has_list(member, other) or not _differs(old, theirs, key):
                    continue
                raw = other.text[member.node.start : member.node.end]
                if _differs(old, mine, key) and _differs(mine, theirs, key):
                    self._conflict(now, mine.get(key), raw)
                else:
                    here = _owners(read_stories(self.text).stories)[nth]
                    self.text = with_member(self.text, here, key, raw)

    def take_stories(self, was: StoryFile, now: StoryFile, other: StoryFile) -> None:
        """Every story of the other version, each by its id."""
        old, mine = was.by_id(), now.by_id()
        for nth, story in enumerate(other.stories):
            known = mine.get(story.id)
            if known is not None:
                self._take_fields(old.get(story.id), known, story, other)
            elif story.id not in old or _is_other(old[story.id], story):
                self._add(other, nth)
        for story in was.stories:
            known = mine.get(story.id)
            is_gone = story.id not in other.by_id()
            if is_gone and known is not None and not _is_other(story, known):
                self.text = without_story(
                    self.text, read_stories(self.text).stories.by_id()[story.id]
                )

    def _take_fields(self, old: Story | None, mine: Story, theirs: Story, other: StoryFile) -> None:
        before: Mapping[str, JsonMember] = {} if old is None else old.fields
        for key, member in theirs.fields.items():
            if not _differs(before, theirs.fields, key):
                continue
            raw = other.text[member.node.start : member.node.end]
            if not _differs(mine.fields, theirs.fields, key):
                continue
            if not _differs(before, mine.fields, key):
                now = read_stories(self.text).stories.by_id()[mine.id]
                name = now.key_of(key) if key in now.fields else member.key
                self.text = with_member(self.text, now.node, name, raw)
                continue
            self._conflict(read_stories(self.text).stories, mine.fields.get(key), raw)
            self.text = append_story_note(
                self.text, mine.id, f"Changed by another at the same time: {raw}"
            )

    def _add(self, other: StoryFile, nth: int) -> None:
        """Insert a story behind the nearest one before it that exists here."""
        story, here = other.stories[nth], read_stories(self.text).stories
        home, goal = other.list_of(story).node, here.lists[story.nth_list].node
        start, end = parts_of(home)[values_of(home).index(story.node)]
        starts = {node.start: place for place, node in enumerate(values_of(goal))}
        places = {
            one.id: starts[one.node.start] for one in here.stories if one.node.start in starts
        }
        earlier = [places[one.id] for one in other.stories[:nth] if one.id in places]
        raw = other.text[start:end]
        self.text = with_item(self.text, goal, earlier[-1] if earlier else None, raw)

    def _conflict(self, here: StoryFile, member: JsonMember | None, theirs: str) -> None:
        place = 0 if member is None else member.node.start
        mine = None if member is None else here.text[member.node.start : member.node.end]
        line = here.text.count("\n", 0, place)
        self.conflicts.append(MergeConflict(line=line, mine=mine, theirs=theirs))


def _has_same_lists(was: StoryFile, now: StoryFile, other: StoryFile) -> bool:
    """Whether the stories are in the same lists, and nothing but fields around them has changed.

    A file with one list at the top level may rename it.
    """
    if all(len(one.lists) == 1 and len(one.lists[0].path) == 1 for one in (was, now, other)):
        kinds = {one.lists[0].node.members is None for one in (was, now, other)}
        return len(kinds) == 1
    return _frame(was) == _frame(now) == _frame(other)


def _owners(stories: StoryFile) -> list[JsonNode]:
    """The file itself, and the objects whose members are its lists of stories."""
    owners = [one.owner for one in stories.lists if one.owner is not None]
    return list({node.start: node for node in (stories.root, *owners)}.values())


def _has_list(member: JsonMember, stories: StoryFile) -> bool:
    node = member.node
    return any(node.start <= one.node.start < node.end for one in stories.lists)


def _frame(stories: StoryFile) -> object:
    """The file without its stories and without the fields of the objects that have them."""
    lists = {(one.node.start, one.node.end) for one in stories.lists}
    owners = {node.start for node in _owners(stories)}

    def bare(node: JsonNode) -> object:
        if (node.start, node.end) in lists:
            return node.members is None
        if node.items is not None:
            return [bare(item) for item in node.items]
        return {
            member.key: bare(member.node)
            for member in node.members or ()
            if node.start not in owners or _has_list(member, stories)
        } or value_of(node)

    return bare(stories.root)


def _differs(one: Mapping[str, JsonMember], other: Mapping[str, JsonMember], key: str) -> bool:
    return _value(one, key) != _value(other, key)


def _value(fields: Mapping[str, JsonMember], key: str) -> tuple[bool, object]:
    member = fields.get(key)
    return member is not None, None if member is None else value_of(member.node)


def _is_other(old: Story, new: Story) -> bool:
    keys = {*old.fields, *new.fields}
    return any(_differs(old.fields, new.fields, key) for key in keys)
