"""Which task of a plan is which after somebody has edited it (SPEC §8).

A task without an explicit id is called by its title, so a reworded one looks like one that is gone
and another that is new. Within a run it keeps the id that it had: attempts, notes and "done in
iteration n" hang on that. Ids that both plans know stay; the rest are matched by how alike their
titles are and by what stands around them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from ralph_ls.core.plan.model import Plan, Task


def follow(before: Plan, after: Plan) -> Mapping[str, str]:
    """Tell for each task of the later plan that had another id which one that was.

    A task is taken for another when their titles share at least half of their words or letters, or
    when nothing else is left between the same two neighbours and the titles share something; of
    several the likest wins, then the nearest. A split task is followed by its likest part. Each id
    is given once, and an explicit id that changed counts like a title. Ids that stay are not told.
    """
    old, new = before.by_id(), after.by_id()
    gone = [task for task in before.tasks if task.id not in new]
    came = [task for task in after.tasks if task.id not in old]
    if not gone or not came:
        return {}
    places_before, places_after = _gaps(before, new), _gaps(after, old)
    found: dict[str, str] = {}
    taken: set[str] = set()
    for pair in sorted(_pairs(gone, came, places_before, places_after)):
        if pair.new not in found and pair.old not in taken:
            found[pair.new] = pair.old
            taken.add(pair.old)
    return found


_ALIKE = 0.5
_ALIKE_IN_PLACE = 0.2
_MOST_COMPARED = 200
"""Of a plan rewritten as a whole only so many are compared, so that following stays quick."""


class _Pair(NamedTuple):
    """Two tasks that may be one; the best sorts first."""

    unlikeness: float
    distance: int
    place: int
    new: str
    old: str


class _Place(NamedTuple):
    """Where a task stands: between which tasks that both plans have, and as which."""

    gap: tuple[str, str]
    nth: int


def _gaps(plan: Plan, kept: Mapping[str, Task]) -> Mapping[str, _Place]:
    """Place the tasks that only this plan has."""
    edges = ["", *(task.id for task in plan.tasks if task.id in kept), ""]
    gaps = pairwise(edges)
    gap = next(gaps)
    places: dict[str, _Place] = {}
    for index, task in enumerate(plan.tasks):
        if task.id in kept:
            gap = next(gaps)
        else:
            places[task.id] = _Place(gap, index)
    return places


def _pairs(
    gone: Iterable[Task],
    came: Iterable[Task],
    before: Mapping[str, _Place],
    after: Mapping[str, _Place],
) -> Iterable[_Pair]:
    candidates = [(task, _traits(task.title)) for task in gone][:_MOST_COMPARED]
    for new in list(came)[:_MOST_COMPARED]:
        place, traits = after[new.id], _traits(new.title)
        for old, old_traits in candidates:
            was = before[old.id]
            likeness = _likeness(traits, old_traits)
            is_in_place = place.gap == was.gap
            if likeness >= (_ALIKE_IN_PLACE if is_in_place else _ALIKE):
                distance = abs(place.nth - was.nth)
                yield _Pair(1 - likeness, distance, place.nth, new.id, old.id)


def _traits(title: str) -> Counter[str]:
    """What likeness goes by: words, and pairs of letters for what has no spaces or is misspelt."""
    lowered = title.lower()
    letters = "".join(mark for mark in lowered if mark.isalnum())
    return Counter(lowered.split()) + Counter(map("".join, pairwise(letters)))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """From 0 to 1; a title that is a part of the other counts as alike, as after a split."""
    common = (one & other).total()
    shorter, longer = sorted((one.total(), other.total()))
    return max(2 * common / (shorter + longer), 0.75 * common / shorter if common > 2 else 0.0)
