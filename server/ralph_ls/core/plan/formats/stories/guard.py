"""Guard of stories: reverts illegal moves of an iteration (docs/rules.md#stories).

Each illegal move is reverted by a minimal edit; all other bytes of the agent's version stay. A file
that is no longer JSON or no file of stories is restored as a whole, and so is one where minimal
edits fail, so the result never contains an illegal move.

The work tree is guarded after each iteration, so what it contains is legal; a committed file may
lag behind it, and must not be ahead of it. Many iterations may have passed since the run started,
so single moves are not judged there: a story that passes, is approved or was reviewed more often
than in the work tree is ahead.

An override applies a reverted change because the user accepts it. Only this change is taken from
the agent's version; later changes stay. If it cannot be applied, the result is the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ralph_ls.core.plan.diff.guard_overrides import AcceptedEdit
from ralph_ls.core.plan.formats.json_edit import (
    parts_of,
    to_json,
    values_of,
    with_item,
    with_member,
)
from ralph_ls.core.plan.formats.json_text import JsonNode, last_members
from ralph_ls.core.plan.formats.stories.edits import flag_in, without_story
from ralph_ls.core.plan.formats.stories.review_cycle import (
    CRITERIA,
    PRIORITY,
    VERIFY,
    IllegalMove,
    MoveCode,
    ReviewRules,
    check_moves,
)
from ralph_ls.core.plan.formats.stories.story_file import (
    DEPENDS,
    FRESH,
    PASSES,
    REVIEW_FIELDS,
    ParsedStories,
    ReviewStatus,
    Story,
    StoryFile,
    StoryFinding,
    counterpart,
    is_unusable,
    new_findings,
    read_stories,
)
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import Mode

MOST_SMALL_EDITS = 100
"""The number of illegal moves that are reverted singly; with more the file is restored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedStories:
    """A file of stories without illegal moves."""

    text: str
    moves: tuple[IllegalMove, ...] = ()
    """The moves that were reverted, and the omissions."""
    broken: tuple[StoryFinding, ...] = ()
    """Why the whole file was restored because it was broken; else empty."""


def guard_stories(before: str, after: str, rules: ReviewRules) -> GuardedStories:
    """Revert illegal moves between two texts of a file. Total, and idempotent.

    Problems that the file had before are left for the user to fix; if it could not be parsed at
    all, nothing is compared.
    """
    was, now = read_stories(before), read_stories(after)
    if is_unusable(was):
        return GuardedStories(text=after)
    broken = new_findings(now.findings, was.findings)
    if broken:
        return GuardedStories(text=before, broken=broken)
    moves = check_moves(was.stories, now.stories, rules)
    if len(moves) > MOST_SMALL_EDITS:
        return GuardedStories(text=before, moves=moves)
    text = after
    # The file's own fields come last: if they have no place any more, the file is restored.
    for move in sorted(moves, key=lambda one: one.code is MoveCode.VERIFY):
        text = _revert(was.stories, text, move)
    again = read_stories(text)
    left = check_moves(was.stories, again.stories, rules)
    is_repaired = not new_findings(again.findings, was.findings)
    if not is_repaired or any(not move.is_omission for move in left):
        text = before
    return GuardedStories(text=text, moves=moves)


def _revert(was: StoryFile, text: str, move: IllegalMove) -> str:
    now = read_stories(text).stories
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


def _fields_back(was: StoryFile, now: StoryFile, move: IllegalMove) -> str:
    """The fields as they were, sign by sign; one that was not there as of a fresh story."""
    old, text = was.by_id().get(move.story), now.text
    for name in move.fields:
        new = read_stories(text).stories.by_id()[move.story]
        member = None if old is None else old.fields.get(name)
        if member is not None:
            raw = _raw(was.text, member.node)
        elif name in new.fields:
            raw = flag_in(text, new, False) if name == PASSES else FRESH.get(name, "null")
        else:
            continue
        if name not in new.fields or _raw(text, new.fields[name].node) != raw:
            text = with_member(text, new.node, new.key_of(name), raw)
    return text


def _dependencies_back(was: StoryFile, now: StoryFile, story_id: str) -> str:
    """A story's former dependencies, then the added ones."""
    old, new = was.by_id()[story_id], now.by_id()[story_id]
    added = [name for name in new.depends_on if name not in old.depends_on]
    node = old.fields[DEPENDS].node
    raw = to_json([*old.depends_on, *added]) if added else _raw(was.text, node)
    key = new.key_of(DEPENDS) if DEPENDS in new.fields else old.key_of(DEPENDS)
    return with_member(now.text, new.node, key, raw)


def _story_back(was: StoryFile, now: StoryFile, story_id: str) -> str:
    """Restore a deleted story behind the nearest remaining one before it."""
    story = was.by_id()[story_id]
    goal = counterpart(was, now, story)
    if goal is None:
        return now.text
    home, parts = was.list_of(story).node, parts_of(was.list_of(story).node)
    start, end = parts[values_of(home).index(story.node)]
    raw, new = was.text[start:end], parts_of(goal)
    if not new:
        begin = was.text[home.start : parts[0][0]]
        whole = f"{begin}{raw}{was.text[parts[-1][1] : home.end]}"
        return now.text[: goal.start] + whole + now.text[goal.end :]
    starts = {node.start: nth for nth, node in enumerate(values_of(goal))}
    places = {one.id: starts[one.node.start] for one in now.stories if one.node.start in starts}
    ids = [one.id for one in was.stories if one.nth_list == story.nth_list]
    earlier = [places[name] for name in ids[: ids.index(story_id)] if name in places]
    return with_item(now.text, goal, earlier[-1] if earlier else None, raw)


def _header_back(was: StoryFile, now: StoryFile, key: str) -> str:
    """A field of the file as it was; a file that became a bare list has no place for it."""
    if now.root.members is None:
        return was.text
    member = last_members(was.root).get(key)
    raw = "[]" if member is None else _raw(was.text, member.node)
    return with_member(now.text, now.root, key, raw)


def _raw(text: str, node: JsonNode) -> str:
    return text[node.start : node.end]


_OF_THE_FILE = frozenset(
    {
        MoveCode.DELETED,
        MoveCode.CRITERIA,
        MoveCode.PRIORITY,
        MoveCode.DEPENDENCY,
        MoveCode.VERIFY,
    }
)
"""The codes that are forbidden however much time is between two versions."""

BROKEN = "broken"
AHEAD = "ahead"


def committed_offences(
    start: ParsedStories, committed: ParsedStories, tree: ParsedStories
) -> Mapping[tuple[str, str], str]:
    """The illegal moves in the committed stories, by kind and story, in words. Total."""
    if is_unusable(start) or is_unusable(tree):
        return {}
    if is_unusable(committed):
        return {(BROKEN, ""): "it cannot be read as a story file"}
    found: dict[tuple[str, str], str] = {}
    new = new_findings(committed.findings, start.findings)
    if new and new_findings(committed.findings, tree.findings):
        found[BROKEN, ""] = new[0].message
    rules = ReviewRules(mode=Mode.BUILD)
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
    """How a committed story is ahead of the one in the work tree, and was not at the start."""
    n_before = 0 if was is None else was.n_reviews
    if story.n_reviews > max(here.n_reviews, n_before):
        yield f"was reviewed {story.n_reviews} times, not {here.n_reviews}"
    if _is_approved(story) and not _is_approved(here) and not _is_approved(was):
        yield "is approved"
    if story.passes and not here.passes and (was is None or not was.passes):
        yield "passes"


def _is_approved(story: Story | None) -> bool:
    return story is not None and story.status is ReviewStatus.APPROVED


FIELDS = {
    Forbidden.REVIEW: REVIEW_FIELDS,
    Forbidden.CRITERIA: (CRITERIA,),
    Forbidden.PRIORITY: (PRIORITY,),
}
"""The fields of each kind; the name of the dependencies differs between files."""


def accept_agent_story_edit(text: str, agents: str, what: Forbidden, story_id: str) -> AcceptedEdit:
    """Give one story the content that it has in ``agents``, the agent's version. Total."""
    here, theirs = read_stories(text).stories, read_stories(agents).stories
    story, wanted = here.by_id().get(story_id), theirs.by_id().get(story_id)
    if story is None:
        return AcceptedEdit(refusal="the story is no longer in the plan")
    if what is Forbidden.DROPPED:
        return AcceptedEdit(text=without_story(text, story))
    if wanted is None:
        return AcceptedEdit(refusal="the agent's version of the plan has no such story")
    names = FIELDS.get(what, (DEPENDS,))
    if what not in {*FIELDS, Forbidden.DEPENDENCY}:
        return AcceptedEdit(refusal="this concerns the whole file")
    for name in names:
        now = read_stories(text).stories.by_id()[story_id]
        if name in wanted.fields:
            node = wanted.fields[name].node
            raw = theirs.text[node.start : node.end]
            text = with_member(text, now.node, now.key_of(name), raw)
        elif name in now.fields:
            return AcceptedEdit(refusal=f"the agent had removed {name}; remove it yourself")
    return AcceptedEdit(text=text)
