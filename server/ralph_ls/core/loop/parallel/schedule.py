"""Schedule of a parallel run: which open tasks may be started beside those in work.

A task is ready when nothing that it depends on is open, none of its subtasks is, and no task in
work names the same files. Where a plan marks tasks as parallel, as spec-kit does with ``[P]``, a
task without the mark is worked on alone: after those before it, and before those after it
(docs/rules.md#parallel-runs).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parts import begun_tasks, done_by_parts, wholes_of_done_parts
from ralph_ls.core.plan.queries import all_needed, urgency
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.protocol.task_words import TaskState

OPEN_STATES = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})


def open_tasks(
    tasks: Sequence[Task],
    text: str,
    needs: Mapping[str, Collection[str]],
    *,
    takes_optional: bool = False,
) -> tuple[OpenTask, ...]:
    """The open tasks of a plan in the order of urgency.

    ``needs`` are their unfinished dependencies by id.
    """
    lines = text.splitlines()
    done = {task.id for task in done_by_parts(tasks)}
    within = _required_subtasks([task for task in tasks if task.id not in done])
    is_marked = any(_has_mark(task, lines) for task in tasks)
    found: list[tuple[tuple[bool, bool, bool, bool, int], OpenTask]] = []
    finished, begun = wholes_of_done_parts(tasks, needs.values()), begun_tasks(tasks)
    barrier = 0
    for task in tasks:
        is_left = task.state in OPEN_STATES and task.id not in done
        if not is_left or (task.optional and not takes_optional):
            continue
        files, is_alone = _hints_of(task, lines)
        is_step = is_marked and not _has_mark(task, lines)
        barrier += is_step
        waits_for = {*needs.get(task.id, ()), *within.get(task.id, ())}
        new = OpenTask(
            task=TaskRef(id=task.id, title=task.title),
            waits_for=frozenset(waits_for - {task.id}),
            files=files,
            is_alone=is_alone,
            barrier=barrier,
        )
        found.append((urgency(task, finished, begun), new))
        barrier += is_step
    return tuple(one for _, one in sorted(found, key=lambda pair: pair[0]))


def _has_mark(task: Task, lines: Sequence[str]) -> bool:
    """Whether its line marks a task as one that may run beside others."""
    return task.line < len(lines) and _PARALLEL.search(lines[task.line]) is not None


def _required_subtasks(tasks: Sequence[Task]) -> Mapping[str, set[str]]:
    """The open required tasks that are nested in each task, however deep, by its id."""
    parents = {task.id: task.parent for task in tasks}
    found: dict[str, set[str]] = {}
    for task in tasks:
        if task.state not in OPEN_STATES or task.optional:
            continue
        above, seen = task.parent, set[str]()
        while above is not None and above not in seen:
            found.setdefault(above, set()).add(task.id)
            seen.add(above)
            above = parents.get(above)
    return found


def ready_tasks(
    tasks: Sequence[OpenTask], *, in_work: Collection[str], excluded: Collection[str]
) -> tuple[OpenTask, ...]:
    """Those of the open tasks that may be started now, in order, each beside those before it.

    ``in_work`` are the ids of the tasks in lanes, ``excluded`` of those that are not to be started.
    Tasks of which no order is possible, since they wait for each other, are taken one at a time.
    """
    working = [one for one in tasks if one.task.id in in_work]
    # What will not be taken holds nobody up who does not depend on it.
    left = [one for one in tasks if one.task.id not in excluded]
    # A task that waits is behind what it waits for, whatever the order in the plan.
    moving = [one for one in left if one.task.id in in_work or not one.waits_for]
    lowest = min((one.barrier for one in moving), default=0)
    chosen: list[OpenTask] = []
    for one in moving:
        is_due = one.task.id not in in_work and one.barrier <= lowest
        if is_due and _fits(one, [*working, *chosen]):
            chosen.append(one)
    return tuple(chosen) if moving or in_work else _first_of_circle(left)


def _fits(task: OpenTask, beside: Sequence[OpenTask]) -> bool:
    """Whether a task may be worked on beside these."""
    if task.is_alone and beside:
        return False
    return not any(other.is_alone or _meet(other.files, task.files) for other in beside)


def _first_of_circle(left: Sequence[OpenTask]) -> tuple[OpenTask, ...]:
    """The first of the tasks that wait for nothing but each other."""
    waits_for = {one.task.id: one.waits_for for one in left}
    first = (one for one in left if all_needed(one.task.id, waits_for) <= waits_for.keys())
    return tuple(first)[:1]


def _meet(files: Collection[str], others: Collection[str]) -> bool:
    """Whether two tasks name the same file, or one a folder of the other's file."""
    return any(
        one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
        for one in files
        for other in others
    )


_PARALLEL = re.compile(r"\[P\]")
_FIELD = r"^\s*(?:[-*+]\s+)?[*_]{{0,2}}{}[*_]{{0,2}}\s*[:=][*_]{{0,2}}\s*{}\s*$"
_FILES = re.compile(_FIELD.format("files?", "(.+)"), re.IGNORECASE)
_ALONE = re.compile(_FIELD.format("parallel", "(?:false|no|off)"), re.IGNORECASE)
_PATH = re.compile(r"`([^`]+)`|([^\s,;`]+)")


def _hints_of(task: Task, lines: Sequence[str]) -> tuple[frozenset[str], bool]:
    """The files that a task names below its title, and whether it must be worked on alone."""
    files: set[str] = set()
    is_alone = False
    for line in lines[task.line + 1 : task.end_line + 1]:
        if named := _FILES.match(line):
            found = _PATH.findall(named[1])
            files |= {_folded(quoted or bare) for quoted, bare in found}
        is_alone = is_alone or _ALONE.match(line) is not None
    return frozenset(files - {""}), is_alone


def _folded(path: str) -> str:
    """``src`` for ``./src/`` and ``src/**``."""
    return path.removeprefix("./").rstrip("/*")
