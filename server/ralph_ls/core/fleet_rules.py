"""Rules of a fleet: which tasks may start, what they wait for, and what their user is notified of.

Inside a repository the rules are those of a parallel run (``core.loop.parallel.schedule``). In
addition a task waits for those of other repositories that it depends on until they are merged and
released, for a free lane of its repository, and for the repository's hours; a repository whose last
tasks all failed starts no more (docs/rules.md#fleets).
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time

from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.core.loop.parallel.schedule import ready_tasks
from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.plan.lint.dependencies import (
    labels_of,
    normalise_title,
    written_references,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.panel.question import listed_choices
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.fleet import FleetRelease, FleetTaskState
from ralph_ls.protocol.run.values import TaskRef

AT_WORK = frozenset(
    {
        FleetTaskState.READY,
        FleetTaskState.WORKING,
        FleetTaskState.QUEUED,
        FleetTaskState.MERGING,
    }
)
"""States of a task that has a lane, or is about to get one."""

WAITS_FOR_USER = frozenset({FleetTaskState.ASKING, FleetTaskState.PARKED})
"""States of a task that nobody but its user lets continue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetTask:
    """A task of a fleet, as far as its order matters."""

    repository: str
    task: OpenTask
    state: FleetTaskState
    foreign: frozenset[str] = frozenset()
    """Keys of the tasks of other repositories that it waits for."""
    is_released: bool = False
    """Whether what its repository releases with has been seen: a tag, or the published branch."""

    @property
    def key(self) -> str:
        return f"{self.repository}#{self.task.task.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRules:
    """What limits the tasks of one repository."""

    lanes: int = 1
    max_failures: int = 3
    hours: tuple[time, time] | None = None
    """From when to when tasks may start; the second may be on the next day."""
    release: FleetRelease = FleetRelease.MERGE
    failures: int = 0
    """How many of its tasks were parked in a row."""

    @property
    def is_open(self) -> bool:
        """Whether its breaker is open, so that no task starts."""
        return self.failures >= self.max_failures


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """All tasks of a fleet, with the rules of their repositories."""

    tasks: Sequence[FleetTask] = ()
    rules: Mapping[str, RepositoryRules] = field(default_factory=dict)


def releasable(plan: FleetPlan, now: datetime) -> tuple[str, ...]:
    """Keys of the tasks that may start now, in the order of each plan; ``now`` in the fleet's zone.

    A key of another repository that no task has is taken as finished: it was done before.
    """
    waited_for = unreleased(plan)
    return tuple(
        one.key
        for name, rules in plan.rules.items()
        if not rules.is_open and within_hours(rules.hours, now.time())
        for one in _due_in([one for one in plan.tasks if one.repository == name], rules, waited_for)
    )


def unreleased(plan: FleetPlan) -> frozenset[str]:
    """Keys of the tasks that do not let tasks of other repositories start yet."""
    return frozenset(one.key for one in plan.tasks if not _is_released(one, plan))


def awaited_releases(plan: FleetPlan) -> tuple[str, ...]:
    """Keys of merged tasks whose release is all that a task of another repository lacks of them."""
    wanted = {
        key for one in plan.tasks if one.state is FleetTaskState.WAITING for key in one.foreign
    }
    return tuple(
        one.key
        for one in plan.tasks
        if one.key in wanted and one.state is FleetTaskState.MERGED and not _is_released(one, plan)
    )


def _is_released(one: FleetTask, plan: FleetPlan) -> bool:
    if one.state is not FleetTaskState.MERGED:
        return False
    return one.is_released or plan.rules[one.repository].release is FleetRelease.MERGE


def _due_in(
    own: Sequence[FleetTask], rules: RepositoryRules, waited_for: Collection[str]
) -> list[FleetTask]:
    """The tasks of one repository that get its free lanes."""
    by_id = {one.task.task.id: one for one in own}
    ready = [by_id[one.task.id] for one in _ready_in(own)]
    free = rules.lanes - sum(one.state in AT_WORK for one in own)
    return [one for one in ready if not one.foreign.intersection(waited_for)][: max(0, free)]


def within_hours(hours: tuple[time, time] | None, now: time) -> bool:
    """Whether a time of day is in the hours; always where there are none."""
    if hours is None:
        return True
    start, end = hours
    if start <= end:
        return start <= now < end
    return now >= start or now < end


def _ready_in(own: Sequence[FleetTask]) -> tuple[OpenTask, ...]:
    """The tasks of one repository that nothing in its own plan holds up."""
    merged = {one.task.task.id for one in own if one.state is FleetTaskState.MERGED}
    left = [one for one in own if one.state is not FleetTaskState.MERGED]
    known = {one.task.task.id for one in left}
    tasks = [
        replace(one.task, waits_for=frozenset(one.task.waits_for - merged) & known) for one in left
    ]
    return ready_tasks(
        tasks,
        in_work={one.task.task.id for one in left if one.state in AT_WORK},
        excluded={one.task.task.id for one in left if one.state in WAITS_FOR_USER | _CLOSED},
    )


_CLOSED = frozenset({FleetTaskState.DROPPED})


def releasable_later(plan: FleetPlan) -> tuple[str, ...]:
    """As ``releasable``, at whatever hour."""
    rules = {name: replace(one, hours=None) for name, one in plan.rules.items()}
    return releasable(replace(plan, rules=rules), datetime.min.replace(tzinfo=UTC))


# Dependencies between repositories: ``Depends on: api#T3`` below a task.
#
# The name before ``#`` is that of a repository of the fleet, the rest a task's id or title there.
# What has another form belongs to the plan itself (``core.plan.lint.dependencies``).


_FOREIGN = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}#.+", re.DOTALL)


def foreign_references(tasks: Sequence[Task], text: str) -> dict[str, tuple[str, ...]]:
    """What each task waits for in other repositories, as ``repository#task``, by its id."""
    found: dict[str, list[str]] = {}
    for task, name in written_references(TaskBodies(tasks, text)):
        if _FOREIGN.fullmatch(name):
            found.setdefault(task.id, []).append(name)
    return {task: tuple(dict.fromkeys(names)) for task, names in found.items()}


def resolve_reference(reference: str, plans: Mapping[str, Sequence[TaskRef]]) -> str | None:
    """The key of the task that a reference names, as ``repository#id``; None: there is none.

    ``plans`` has all tasks of each repository, finished ones too.
    """
    repository, _, name = reference.partition("#")
    tasks = plans.get(repository, ())
    wanted = name.casefold()
    title = normalise_title(fold_whitespace(name))
    for task in tasks:
        if task.id.casefold() == wanted:
            return f"{repository}#{task.id}"
    for task in tasks:
        if normalise_title(task.title) == title:
            return f"{repository}#{task.id}"
    labelled = labels_of(tasks).get(wanted)
    return None if labelled is None else f"{repository}#{labelled.id}"


# Notices of a fleet: the notifications of tasks that wait for their user, and of a session's end.
#
# When and where they are sent is decided as for a run (``core.notify``).


State = FleetTaskState


def notice_of_task(
    key: str, task: TaskRef, state: FleetTaskState, message: str, *, starts_no_more: bool
) -> Notification:
    """The notification of a task that asks or is parked; ``key`` is ``repository#id``.

    ``starts_no_more``: the breaker of its repository is open.
    """
    shown = shlex.quote(key)
    if state is State.ASKING:
        return Notification(
            event=NotifyEvent.QUESTION,
            text=message,
            command=f"ralph fleet answer {shown} '…'",
            is_anywhere=True,
            options=listed_choices(message),
            task=task,
        )
    repository = key.partition("#")[0]
    more = f"\n{repository} starts no more tasks until you retry." if starts_no_more else ""
    return Notification(
        event=NotifyEvent.SET_ASIDE,
        text=f"{message}{more}",
        command=f"ralph fleet retry {shown}",
        is_anywhere=True,
        task=task,
    )


def notice_of_end(states: Iterable[FleetTaskState], *, waits_for_release: bool) -> Notification:
    """The notification of a session that ended by itself, with what is left for the user."""
    found = Counter(states)
    n_all = found.total() - found[State.DROPPED]
    text = f"{found[State.MERGED]} of {count_of(n_all, 'task')} merged"
    if found[State.MERGED] == n_all:
        event, command = NotifyEvent.COMPLETE, "ralph fleet publish"
    else:
        event, command = NotifyEvent.BLOCKER, "ralph fleet status"
    parts = [text]
    parts += [f"{found[State.ASKING]} with a question"] if found[State.ASKING] else []
    parts += [f"{found[State.PARKED]} parked"] if found[State.PARKED] else []
    parts += ["others wait for a release"] if waits_for_release else []
    return Notification(event=event, text=", ".join(parts), command=command, is_anywhere=True)
