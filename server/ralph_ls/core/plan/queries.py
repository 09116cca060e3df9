"""Queries of a parsed plan: counts, the next task, finished tasks, ids after edits, viewers' form.

A task without an explicit id is identified by its title, so a reworded task looks like a removed
and a new one. Within a run it keeps its id, because attempts, notes and "done in iteration n" are
recorded by it (docs/rules.md#plans): ids that both plans have stay, and the others are matched by
similar titles and neighbours.

Tasks are ordered by priority, tags (``[word]`` or ``#word``; the caller knows which ones matter)
and place. Viewers count lines from 1 (docs/rules.md#command-line). The plan's format is irrelevant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from ralph_ls.core.plan.model import ParsedPlan, Plan, Task
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.core.plan.parts import begun_tasks, finished_wholes, wholes_of_done_parts
from ralph_ls.protocol.plan import TaskView
from ralph_ls.protocol.task_words import Priority, TaskState


def renamed_tasks(before: Plan, after: Plan) -> Mapping[str, str]:
    """The earlier id of each task of the later plan whose id changed.

    Two tasks match when their titles share at least half of their words or letters, or when they
    are alone between the same two neighbours and the titles share something; of several the most
    similar one wins, then the nearest. A split task is followed by its most similar part. Each id
    is used once, and an explicit id that changed counts like a title. Unchanged ids are omitted.
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
"""The maximum number of tasks compared in a rewritten plan, which bounds the time."""


class _Pair(NamedTuple):
    """Two tasks that may be one; the best sorts first."""

    unlikeness: float
    distance: int
    place: int
    new: str
    old: str


class _Place(NamedTuple):
    """The place of a task: the neighbours that both plans have, and its position there."""

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
    """The traits for similarity: words, and pairs of letters for misspelt words and CJK."""
    lowered = title.lower()
    letters = "".join(mark for mark in lowered if mark.isalnum())
    return Counter(lowered.split()) + Counter(map("".join, pairwise(letters)))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """From 0 to 1; a title that is a part of the other counts as alike, as after a split."""
    common = (one & other).total()
    shorter, longer = sorted((one.total(), other.total()))
    return max(2 * common / (shorter + longer), 0.75 * common / shorter if common > 2 else 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCounts:
    """Counts of a plan. Required tasks are those not optional; open is todo or inProgress."""

    total: int
    """Every task, also skipped and optional ones."""
    done: int
    """Every task that is done, also optional ones."""
    required: int
    """Required tasks in any state except skipped ones, which were decided on."""
    done_required: int
    open_required: int
    """Required and open; a completion is refused while there is one."""
    blocked_required: int
    """Required and blocked; not counted as open."""
    open_optional: int


def count_tasks(plan: Plan) -> PlanCounts:
    """Count the tasks of a plan by state, and separately the required ones.

    Those that are done by their parts count as done.
    """
    states = Counter(plan.tally())
    for whole in finished_wholes(plan):
        states[whole.state, whole.optional] -= 1
        states[TaskState.DONE, whole.optional] += 1
    n_open = {
        optional: states[TaskState.TODO, optional] + states[TaskState.IN_PROGRESS, optional]
        for optional in (False, True)
    }
    done_required = states[TaskState.DONE, False]
    blocked_required = states[TaskState.BLOCKED, False]
    return PlanCounts(
        total=states.total(),
        done=done_required + states[TaskState.DONE, True],
        required=n_open[False] + done_required + blocked_required,
        done_required=done_required,
        open_required=n_open[False],
        blocked_required=blocked_required,
        open_optional=n_open[True],
    )


def next_task(
    plan: Plan,
    *,
    set_aside: Collection[str] = (),
    only: str | None = None,
    waits_for: Mapping[str, Collection[str]] = MappingProxyType({}),
    takes_optional: bool = True,
) -> Task | None:
    """The task to work on next, or None when none is left.

    Required tasks come before optional ones, and work before its criteria; then those whose parts
    are all done come after the others, unless another task waits for them; then those in progress,
    and their parts; then by priority, where none counts as P1 (Standard); then by position. Done,
    blocked and skipped ones are never chosen, nor those in ``set_aside``; ``only`` restricts the
    choice to one id. Optional ones are chosen only with ``takes_optional``, and last.

    ``waits_for`` has the unfinished dependencies of a task (docs/rules.md#plans): such a task is
    chosen only if all that are left wait for each other, so that no order would satisfy them. One
    that waits for a task that will not be taken is never chosen.
    """
    candidates = [
        task
        for task in _open_tasks(plan, takes_optional=takes_optional)
        if task.id not in set_aside and only in {None, task.id}
    ]
    ready = [task for task in candidates if not waits_for.get(task.id)]
    if not ready and waits_for:
        taken = {task.id for task in candidates}
        ready = [task for task in candidates if all_needed(task.id, waits_for) <= taken]
    finished = wholes_of_done_parts(plan.tasks, waits_for.values()) if ready else ()
    begun = begun_tasks(plan.tasks)
    return min(ready, key=lambda task: urgency(task, finished, begun), default=None)


_OPEN = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})


def all_needed(task_id: str, waits_for: Mapping[str, Collection[str]]) -> set[str]:
    """The transitive dependencies of a task."""
    needed: set[str] = set()
    left = [task_id]
    while left:
        fresh = set(waits_for.get(left.pop(), ())) - needed
        needed |= fresh
        left.extend(fresh)
    return needed


def task_called(plan: Plan, name: str) -> Task | None:
    """The task with this id, else the only one whose title begins with this number: ``2.1``."""
    task = plan.find(name)
    if task is not None or _TASK_NUMBER.fullmatch(name) is None:
        return task
    number = re.compile(rf"{re.escape(name)}[.):]?\s")
    found = [one for one in plan.tasks if number.match(one.title)]
    return found[0] if len(found) == 1 else None


_TASK_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*[a-z]?")


def _open_tasks(plan: Plan, *, takes_optional: bool) -> Iterator[Task]:
    done = {task.id for task in finished_wholes(plan)}
    for task in plan.tasks:
        if task.state in _OPEN and task.id not in done and (takes_optional or not task.optional):
            yield task


def newly_done(before: Plan, after: Plan) -> tuple[str, ...]:
    """The ids of the tasks that became done, in the order of the later plan.

    A task counts when it is done now and was not done before: it was ticked, or was added as done.
    Rewording a done task does not count (``renamed_tasks``). Tasks of the same title differ only in
    their number (``-2``), and the numbers shift when one is added or moved; so for each title as
    many are left out as were done before. A removed task is never counted.
    """
    done_before = {task.id for task in before.tasks if task.state is TaskState.DONE}
    done_after = [task.id for task in after.tasks if task.state is TaskState.DONE]
    was = renamed_tasks(before, after)
    known = Counter(without_repeat(task_id) for task_id in done_before)
    known.subtract(without_repeat(task_id) for task_id in done_after if task_id in done_before)
    result: list[str] = []
    for task_id in done_after:
        if task_id in done_before or was.get(task_id) in done_before:
            continue
        name = without_repeat(task_id)
        if known[name] > 0:
            known[name] -= 1
        else:
            result.append(task_id)
    return tuple(result)


_PRIORITY_ORDER = {Priority.P0: 0, Priority.P1: 1, None: 1, Priority.P2: 2}
_NUMBERED = re.compile(
    r"([0-9a-f]{8}|[A-Z][A-Z0-9]*-[0-9]+"
    r"|T(?:[0-9]{3,4}(?:\.[0-9]{1,2})?|[0-9]{1,2}-[0-9]{1,2})[a-z]?)-[0-9]+"
)


def urgency(
    task: Task, finished: Collection[str], begun: Collection[str]
) -> tuple[bool, bool, bool, bool, int]:
    """The sort key of an open task: what is taken first sorts first (see ``next_task``).

    ``finished`` has the ids of ``wholes_of_done_parts``, ``begun`` those of ``begun_tasks``.
    """
    is_waiting, is_late = task.id not in begun, task.id in finished
    return (task.optional, task.is_criterion, is_late, is_waiting, _PRIORITY_ORDER[task.priority])


def without_repeat(task_id: str) -> str:
    """The id without the ``-2`` that a repeated title or id has got."""
    numbered = _NUMBERED.fullmatch(task_id)
    return task_id if numbered is None else numbered[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTraits:
    """The traits of a task by which its iterations may be assigned to different models."""

    task: str
    """The id of the task that it is about."""
    priority: Priority | None = None
    tags: tuple[str, ...] = ()
    """Folded to small letters, each once, in the order of the text."""


def traits_of(task: Task, *, text: str = "", labels: Iterable[str] = ()) -> TaskTraits:
    """The traits of a task; it was parsed from ``text``, ``labels`` are additional tags."""
    # Tags such as [BUG] are in the line, but not in the title; a title may have several lines.
    found = [*labels, *tags_in(text[task.start : task.end]), *tags_in(task.title)]
    tags = tuple(dict.fromkeys(tag.casefold() for tag in found))
    return TaskTraits(task=task.id, priority=task.priority, tags=tags)


def tags_in(line: str) -> list[str]:
    """The tags of a text as written, except in code, in a link, or an issue's number."""
    bare = _CODE.sub(" ", line)
    return [" ".join((found[1] or found[2]).split()) for found in _TAG.finditer(bare)]


_CODE = re.compile(r"`[^`]*`")
_TAG = re.compile(
    r"(?<!\])\[(?!\s*\])(?![xX~!/>-]\])([^\[\]]{1,60})\](?![(\[])|(?<![^\s(,])#([^\W\d_][\w-]*)"
)
"""A box is no tag, whatever its content."""


def task_view(task: Task) -> TaskView:
    """One task for viewers; its place in the text is reduced to the line.

    Lone surrogates from bytes that are not UTF-8 are shown as ``?``.
    """
    return TaskView(
        id=task.id,
        title=escape_surrogates(task.title),
        state=task.state,
        priority=task.shown_priority,
        section=escape_surrogates(task.section),
        line=task.line + 1,
        optional=task.optional,
        blocked_by=None if task.blocked_by is None else escape_surrogates(task.blocked_by),
        criteria=tuple(escape_surrogates(criterion) for criterion in task.criteria),
    )


def parsed_plan_to_json(parsed: ParsedPlan) -> dict[str, object]:
    """Show a plan as ``ralph plan --json`` prints it: plain values, ready for any JSON writer."""
    return {
        "tasks": [
            task_view(task).model_dump(mode="json", by_alias=True) for task in parsed.plan.tasks
        ],
        "problems": [problem.model_dump(mode="json", by_alias=True) for problem in parsed.problems],
    }
