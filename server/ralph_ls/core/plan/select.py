"""Count a plan, choose what comes next, and tell what was finished between two readings.

These are questions to a plan that has been read; how it was written is of no matter here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_ls.core.plan.follow import follow
from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.protocol.plan import Priority, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCounts:
    """How a plan stands. Required is what is not optional; open is todo or inProgress."""

    total: int
    """Every task, also skipped and optional ones."""
    done: int
    """Every task that is done, also optional ones."""
    required: int
    """Required tasks, whatever their state, but for skipped ones: somebody decided on those."""
    done_required: int
    open_required: int
    """Required and open; a completion is refused while there is one."""
    blocked_required: int
    """Required and blocked; not counted as open."""
    open_optional: int


def count(plan: Plan) -> PlanCounts:
    """Count the tasks of a plan by state, and apart by whether they are required."""
    states = Counter(plan.tally())
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
    """Choose the task to work on, or None when nothing is left that could be.

    Required ones go before optional ones; then those in progress; then by priority, where none
    counts as P1 (Standard); then by position. Done, blocked and skipped ones are never chosen, nor
    those in ``set_aside``; ``only`` leaves the choice between one id and nothing. Optional ones are
    chosen only with ``takes_optional``, and last.

    ``waits_for`` has the unfinished tasks that a task says it needs (S, Future: task dependencies):
    such a task is chosen only where all that are left wait for each other, since no order would
    please them. One that waits for a task which nobody will take is never chosen.
    """
    open_states = {TaskState.TODO, TaskState.IN_PROGRESS}
    candidates = [
        task
        for task in plan.tasks
        if task.state in open_states
        and task.id not in set_aside
        and (only is None or task.id == only)
        and (takes_optional or not task.optional)
    ]
    ready = [task for task in candidates if not waits_for.get(task.id)]
    if not ready and waits_for:
        taken = {task.id for task in candidates}
        ready = [task for task in candidates if _all_needed(task.id, waits_for) <= taken]
    return min(ready, key=_urgency, default=None)


def _all_needed(task_id: str, waits_for: Mapping[str, Collection[str]]) -> set[str]:
    """What a task waits for, and all that those wait for."""
    needed: set[str] = set()
    left = [task_id]
    while left:
        fresh = set(waits_for.get(left.pop(), ())) - needed
        needed |= fresh
        left.extend(fresh)
    return needed


def newly_done(before: Plan, after: Plan) -> tuple[str, ...]:
    """Tell the ids of the tasks that became done, in the order of the later plan.

    A task counts when it is done now and was not done before: it was ticked, or it is new and came
    in done. One that was done already is none for being reworded (``follow``). Tasks of the same
    title differ in their number only (``-2``), and the numbers shift when one is added or moved;
    so for each title as many are left out as were done before. A task that is gone is never
    counted.
    """
    done_before = {task.id for task in before.tasks if task.state is TaskState.DONE}
    done_after = [task.id for task in after.tasks if task.state is TaskState.DONE]
    was = follow(before, after)
    known = Counter(_without_number(task_id) for task_id in done_before)
    known.subtract(_without_number(task_id) for task_id in done_after if task_id in done_before)
    result: list[str] = []
    for task_id in done_after:
        if task_id in done_before or was.get(task_id) in done_before:
            continue
        name = _without_number(task_id)
        if known[name] > 0:
            known[name] -= 1
        else:
            result.append(task_id)
    return tuple(result)


_PRIORITY_ORDER = {Priority.P0: 0, Priority.P1: 1, None: 1, Priority.P2: 2}
_NUMBERED = re.compile(r"([0-9a-f]{8}|[A-Z][A-Z0-9]*-[0-9]+)-[0-9]+")


def _urgency(task: Task) -> tuple[bool, bool, int]:
    is_waiting = task.state is not TaskState.IN_PROGRESS
    return (task.optional, is_waiting, _PRIORITY_ORDER[task.priority])


def _without_number(task_id: str) -> str:
    """Cut the ``-2`` that a repeated title or id has got."""
    numbered = _NUMBERED.fullmatch(task_id)
    return task_id if numbered is None else numbered[1]
