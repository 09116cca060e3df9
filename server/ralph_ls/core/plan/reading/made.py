"""The tasks of a plan that has been read in blocks: made when somebody asks, and no more of them.

Most who look at a long plan ask for its counts, or for the few tasks that are blocked or in work.
A block keeps the tasks that were made of it, so after a keystroke those above it are the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.plan.reading.blocks import Reading
from ralph_ls.core.plan.reading.rules import Row
from ralph_ls.protocol.plan import TaskState


def make_tasks(readings: Iterable[Reading]) -> tuple[Task, ...]:
    """Give every task its place and its id."""
    tasks: list[Task] = []
    seen_ids: Counter[str] = Counter()
    for reading, line, start in placed(readings):
        tasks += _tasks_of(reading, line, start, seen_ids)
    return tuple(tasks)


def pick_tasks(
    readings: Iterable[Reading], states: Collection[TaskState], ids: Collection[str]
) -> tuple[Task, ...]:
    """Make the tasks with one of these states or ids; those of other blocks are not made."""
    # A number behind an id tells only which of its tasks is meant.
    names = {*ids, *(_NUMBER.sub("", task_id) for task_id in ids)}
    picked: list[Task] = []
    seen_ids: Counter[str] = Counter()
    for reading, line, start in placed(readings):
        is_wanted = any(
            n_tasks and state in states for (state, _), n_tasks in reading.tally.items()
        )
        if is_wanted or not names.isdisjoint(reading.ids()):
            tasks = _tasks_of(reading, line, start, seen_ids)
            picked += (task for task in tasks if task.state in states or task.id in ids)
        else:
            seen_ids.update(reading.ids())
    return tuple(picked)


def placed(readings: Iterable[Reading]) -> Iterator[tuple[Reading, int, int]]:
    """Each block with the line and the offset where it begins."""
    line = start = 0
    for reading in readings:
        yield reading, line, start
        text = reading.block.text
        n_endings = text.count("\n")
        if "\r" in text:
            n_endings += text.count("\r") - text.count("\r\n")
        line += n_endings
        start += len(text)


_NUMBER = re.compile(r"-[0-9]+\Z")


def _tasks_of(reading: Reading, line: int, start: int, seen_ids: Counter[str]) -> tuple[Task, ...]:
    """Make the tasks of one block, and count their ids; ``seen_ids`` are those before it."""
    ids = reading.ids()
    is_first = seen_ids.keys().isdisjoint(ids)
    place, made = reading.made
    if not is_first or place != (line, start):
        names = ids if is_first and len(set(ids)) == len(ids) else _number(ids, seen_ids)
        tasks: list[Task] = []
        for row, name in zip(reading.rows(), names, strict=True):
            parent = None if row.parent is None else tasks[row.parent].id
            tasks.append(_to_task(row, name, parent, line, start))
        made = tuple(tasks)
        if is_first:
            reading.made = ((line, start), made)
    seen_ids.update(ids)
    return made


def _number(ids: Iterable[str], seen_ids: Counter[str]) -> list[str]:
    """Put ``-2``, ``-3`` behind ids that repeat."""
    names: list[str] = []
    counted: Counter[str] = Counter()
    for task_id in ids:
        counted[task_id] += 1
        number = seen_ids[task_id] + counted[task_id]
        names.append(task_id if number == 1 else f"{task_id}-{number}")
    return names


def _to_task(row: Row, task_id: str, parent: str | None, line: int, start: int) -> Task:
    """By position, since it is done for each task of a long plan."""
    (
        _, title, state, priority, section, row_line, row_start, row_end, end_line,
        depth, _, blocked_by, criteria, kind, mark,
    ) = row  # fmt: skip
    # A heading that is a task stands below the heading around it.
    around = section.parent if kind is TaskKind.HEADING and section.parent is not None else section
    return Task(
        task_id, title, state, priority, around.title, section.optional,
        line + row_line, start + row_start, start + row_end, line + end_line,
        depth, parent, blocked_by, criteria, kind,
        None if mark is None else (start + mark[0], start + mark[1]),
    )  # fmt: skip
