"""Tasks that are parts of others: nested, or by number (``2.1`` of ``2.``), and what follows.

A task is worked on behind its parts; one that holds nothing else is done with them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.titles import is_part_by_number, title_number
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState


def begun_tasks(tasks: Iterable[Task]) -> frozenset[str]:
    """The ids of the tasks that are in progress, or a part of one that is."""
    begun: set[str] = set()
    for task in tasks:
        if task.state is TaskState.IN_PROGRESS or task.parent in begun:
            begun.add(task.id)
    return frozenset(begun)


def done_by_parts(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """The open tasks that hold nothing but numbered parts, all done (docs/rules.md#plans).

    One with lines that are no part may have more to do. Optional parts don't count.
    """
    parts: dict[str, list[Task]] = {}
    by_id = {task.id: task for task in tasks}
    for whole, task in parts_in(tasks):
        if is_part_by_number(whole.title, task.title):
            parts.setdefault(whole.id, []).append(task)
    found: dict[str, Task] = {}
    for whole_id in reversed(parts):
        whole, first = by_id[whole_id], parts[whole_id][0]
        required = [part for part in parts[whole_id] if not part.optional]
        is_done = required and all(
            part.state is TaskState.DONE or part.id in found for part in required
        )
        is_nested = first.parent == whole.id
        is_bare = _follows(first, whole) if is_nested else whole.end_line == whole.line
        if whole.state in _OPEN and is_done and is_bare:
            found[whole.id] = whole
    return tuple(reversed(found.values()))


def _follows(part: Task, whole: Task) -> bool:
    """Whether only blank lines are between a task and one nested in it, by their places."""
    n_lines = part.line - whole.line
    return part.start - whole.end in {n_lines, n_lines * len("\r\n")}


def finished_wholes(plan: Plan) -> tuple[Task, ...]:
    """Those of a plan; its tasks are looked at only where it may have some."""
    return done_by_parts(plan.tasks) if plan.has_parts else ()


def wholes_of_done_parts(
    tasks: Sequence[Task], waited_for: Iterable[Collection[str]] = ()
) -> frozenset[str]:
    """The ids of the open tasks whose numbered parts are all done, and for which no other waits.

    ``waited_for`` has the dependencies of others. Parts that are optional don't count.
    """
    is_done: dict[str, bool] = {}
    for whole, part in parts_in(tasks):
        if whole.state in _OPEN and not part.optional and title_number(part.title) is not None:
            is_done[whole.id] = is_done.get(whole.id, True) and part.state in SETTLED_STATES
    needed = {one for targets in waited_for for one in targets} if is_done else ()
    return frozenset(one for one, is_finished in is_done.items() if is_finished).difference(needed)


def parts_in(tasks: Iterable[Task]) -> Iterator[tuple[Task, Task]]:
    """Each task that is a part of another one, behind that: nested, or by number (``2.1``).

    By number not if it only tests the other, as Kiro's ``2.1 Write a property test`` behind
    ``2. Create the parser``.
    """
    by_id: dict[str, Task] = {}
    numbered: dict[tuple[str, str], Task] = {}
    for task in tasks:
        by_id[task.id] = task
        whole = None if task.parent is None else by_id.get(task.parent)
        if (number := title_number(task.title)) is not None:
            numbered[task.section, number] = task
            around = numbered.get((task.section, number.rpartition(".")[0]))
            if whole is None and around is not None and not _is_test_of(task, around):
                whole = around
        if whole is not None:
            yield whole, task


def _is_test_of(task: Task, around: Task) -> bool:
    return _TEST.search(task.title) is not None and _TEST.search(around.title) is None


_TEST = re.compile(
    r"\b(?:tests?|testing|testen|prueba\w*|testes?|тест\w*|testy|testi|kiểm thử|uji|pengujian)\b"
    r"|测试|測試|テスト|테스트",
    re.IGNORECASE,
)
_OPEN = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})
