"""Story lists: where the stories of a file are, at any level, in a list or in an object by id.

A list at the top level under a usual name holds the stories. Without one, all lists below are
looked at, such as ``phases[].tasks``, and of those with the same path either all are read or none:

1. lists with a usual name whose objects have states, unless they are parts of other such objects;
2. else the only list whose objects mostly have states and titles; that is a guess;
3. else lists with a usual name.

A phase, an epic or another group may have a state, too: where its parts have states, they are the
stories. An object whose values are all objects counts as a list; its keys are the ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ralph_ls.core.plan.formats.json_edit import values_of
from ralph_ls.core.plan.formats.json_text import JsonMember, JsonNode, last_members
from ralph_ls.core.plan.formats.stories.shapes import (
    LISTS,
    canonical_members,
    has_field,
    status_of,
)
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.protocol.task_words import TaskState

Path = tuple[str, ...]
"""The keys on the way from the root to a list."""


class StoryList(NamedTuple):
    """One list of stories."""

    node: JsonNode
    """The list, or the object by id."""
    path: Path = ()
    owner: JsonNode | None = None
    """The object that has the list as a member; None for a file that is a list."""
    section: str = ""
    """The name of the phase or group that it belongs to; empty at the top level."""
    held: TaskState | None = None
    """Skipped, where the group is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLists:
    """The lists of a file that hold its stories, and those that do not."""

    lists: tuple[StoryList, ...] = ()
    """In the order of the file."""
    is_guess: bool = False
    """Nothing but the states of its objects makes the list one of stories."""
    unread: tuple[tuple[Path, int], ...] = ()
    """Other lists that look like stories, and how many objects they have."""
    others: tuple[tuple[Path, int], ...] = ()
    """Where there is no list of stories: the lists of objects, and how many objects they have."""


def find_lists(root: JsonNode) -> FoundLists:
    """Find the stories of a file; see above. Total."""
    if root.items is not None:
        return FoundLists(lists=(StoryList(root),))
    flat = _flat_list(root)
    groups = _groups_of(root, flat)
    lists, is_guess = _choose(groups, flat)
    if not lists:
        others = [path for path, group in groups.items() if len(path) == 1 or group.n_titled]
        return FoundLists(others=_sizes(groups, others))
    taken = {one.path for one in lists}
    unread = [
        path
        for path, group in groups.items()
        if path not in taken
        and path[-1] not in _GROUPS
        and not _is_inside(path, taken)
        and group.is_like_stories(with_states=not is_guess)
    ]
    in_order = sorted(lists, key=lambda one: one.node.start)
    return FoundLists(lists=tuple(in_order), is_guess=is_guess, unread=_sizes(groups, unread))


def _choose(
    groups: Mapping[Path, _Group], flat: StoryList | None
) -> tuple[Sequence[StoryList], bool]:
    """The lists of stories, and whether that is a guess."""
    if flat is not None and (flat.path[0] == LISTS[0] or _has_states(flat)):
        return [flat], False
    found = _named_with_states(groups)
    if flat is not None and not found:
        return [flat], False
    guessed = [] if found else _mostly_with_states(groups)
    is_guess = len(guessed) == 1
    chosen = found or (guessed if is_guess else _named(groups))
    return [one for path in chosen for one in groups[path].lists], is_guess


def _sizes(groups: Mapping[Path, _Group], paths: Sequence[Path]) -> tuple[tuple[Path, int], ...]:
    return tuple((path, groups[path].n_objects) for path in paths)


def places_of(lists: Sequence[StoryList]) -> dict[tuple[Path, str, int], int]:
    """By path, section and number among those: the place of a list, the same in every version."""
    seen: Counter[tuple[Path, str]] = Counter()
    found: dict[tuple[Path, str, int], int] = {}
    for nth, one in enumerate(lists):
        key = (one.path, one.section)
        found[*key, seen[key]] = nth
        seen[key] += 1
    return found


@dataclass(slots=True)
class _Group:
    """The lists with one path."""

    lists: list[StoryList] = field(default_factory=list)
    n_objects: int = 0
    n_states: int = 0
    n_titled: int = 0

    def is_like_stories(self, *, with_states: bool = True) -> bool:
        """Whether most of its objects have titles, and states."""
        n_alike = min(self.n_states, self.n_titled) if with_states else self.n_titled
        return 2 * n_alike > self.n_objects


_DEEPEST = 8
"""Levels of objects below the root that are looked at."""


def _flat_list(root: JsonNode) -> StoryList | None:
    """Our list at the top level, or the first one of nothing but objects under a usual name."""
    members = last_members(root)
    for key in LISTS:
        if key not in members:
            continue
        node = members[key].node
        if key == LISTS[0] and node.items is not None:
            return StoryList(node, (key,), root)
        values = values_of(node)
        if values and all(value.members is not None for value in values):
            return StoryList(node, (key,), root)
    return None


def _has_states(one: StoryList) -> bool:
    return any(map(_has_state, values_of(one.node)))


def _has_state(value: JsonNode) -> bool:
    return has_field(last_members(value), "passes")


def _groups_of(root: JsonNode, flat: StoryList | None) -> dict[Path, _Group]:
    """The lists of a file by path, in its order, without those that hold no object.

    What is below the list of stories at the top level is left out, if its stories have states.
    """
    groups: dict[Path, _Group] = {}
    passed_over = None if flat is None or not _has_states(flat) else flat.node
    for one in _lists_in(StoryList(root), passed_over, 0):
        group = groups.setdefault(one.path, _Group())
        group.lists.append(one)
        for value in values_of(one.node):
            if value.members is not None:
                members = last_members(value)
                group.n_objects += 1
                group.n_states += has_field(members, "passes")
                group.n_titled += has_field(members, "title")
    return {path: group for path, group in groups.items() if group.n_objects}


def _lists_in(place: StoryList, passed_over: JsonNode | None, depth: int) -> Iterator[StoryList]:
    """The lists in the members of an object, and in those of their objects."""
    if depth == _DEEPEST:
        return
    for member in last_members(place.node).values():
        node, path = member.node, (*place.path, member.key)
        if node is passed_over:
            continue
        inner = StoryList(node, path, place.node, place.section, place.held)
        if node.items is not None or _is_by_id(member):
            yield inner
            groups = _objects_of(inner)
        else:
            section = place.section or _name_of(node, member.key)
            groups = iter([inner._replace(section=section)])
        for group in groups:
            yield from _lists_in(group, passed_over, depth + 1)


def _objects_of(one: StoryList) -> Iterator[StoryList]:
    """The objects of a list as places of lists, each with its name."""
    keys = [member.key for member in one.node.members or ()]
    for nth, value in enumerate(values_of(one.node)):
        name = _name_of(value, keys[nth] if keys else f"{one.path[-1]} {nth + 1}")
        yield StoryList(value, one.path, None, name, one.held or _held(value))


def _is_by_id(member: JsonMember) -> bool:
    """Whether a value is an object of objects that are stories or groups of them."""
    values = values_of(member.node)
    if not values or any(value.members is None for value in values):
        return False
    is_known = member.key in LISTS or member.key in _GROUPS
    return is_known or 2 * sum(map(_has_state, values)) > len(values)


def _name_of(node: JsonNode, otherwise: str) -> str:
    members = last_members(node)
    names = (members[key].node.scalar for key in ("title", "name", "id") if key in members)
    found = next((name for name in names if isinstance(name, str) and name.strip()), otherwise)
    return escape_surrogates(fold_whitespace(found))


def _held(node: JsonNode) -> TaskState | None:
    """Skipped, for a group that is; its other states are those of its stories."""
    member = canonical_members(last_members(node)).get("passes")
    state = None if member is None else status_of(member.node)
    return state if state is TaskState.SKIPPED else None


_GROUPS = frozenset(
    {"phases", "epics", "milestones", "sprints", "stages", "iterations", "weeks", "groups",
     "sections", "categories", "modules", "waves", "tracks", "releases", "versions"}
)  # fmt: skip


_PARTS = frozenset({"subtasks", "steps"})
"""The usual names of lists whose objects are stories below groups, and else parts of stories."""


def _named_with_states(groups: Mapping[Path, _Group]) -> list[Path]:
    named = {path for path, group in groups.items() if path[-1] in LISTS and group.n_states}
    alike = {
        path
        for path, group in groups.items()
        if path[-1] not in _GROUPS and group.is_like_stories()
    }
    named |= {path for path in alike if path[-1] in _PARTS and not _is_inside(path, alike)}
    return [path for path in groups if path in named and not _is_inside(path, named)]


def _mostly_with_states(groups: Mapping[Path, _Group]) -> list[Path]:
    """Those whose objects mostly have states and titles, and are no parts of others."""
    found = {path for path, group in groups.items() if group.is_like_stories()}
    around = {outer for path in found for outer in _around(path)}
    found = {path for path in found if path[-1] not in _GROUPS or path not in around}
    return [path for path in groups if path in found and not _is_inside(path, found)]


def _named(groups: Mapping[Path, _Group]) -> list[Path]:
    named = {path for path, group in groups.items() if path[-1] in LISTS and group.n_titled}
    return [path for path in groups if path in named and not _is_inside(path, named)]


def _is_inside(path: Path, others: Collection[Path]) -> bool:
    return any(outer in others for outer in _around(path))


def _around(path: Path) -> Iterator[Path]:
    return (path[:n_keys] for n_keys in range(1, len(path)))
