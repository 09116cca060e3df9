"""Effect of lessons: attempts and cost of tasks with and without them, and which are stale.

A task had a lesson if the prompt of one of its iterations had it. It is compared with the tasks of
the same projects that the lesson is meant for and whose prompts did not have it. The figures show
no cause: they are shown with the numbers of tasks, and propose, never remove.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from statistics import fmean

from ralph_ls.core.lessons.lesson import Lesson
from ralph_ls.core.lessons.matching import fits_task
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.json_output import IterationMetrics
from ralph_ls.protocol.lessons import LessonEffect

ENOUGH_TASKS = 5
"""Tasks with and without a lesson from which on they are compared."""

TOLERANCE = 1.1
"""By how much attempts or cost with a lesson may exceed those without it."""


@dataclass(slots=True, kw_only=True)
class _Task:
    title: str
    attempts: int = 0
    cost_usd: float | None = None
    lessons: set[str] = field(default_factory=set)


def effects_of(
    lessons: Iterable[Lesson], projects: Sequence[Sequence[IterationMetrics]]
) -> dict[str, LessonEffect]:
    """The effect of each lesson by id; of one that no prompt had there is none.

    ``projects`` has the iterations of each project; those in which no prompt had a lesson are left
    out of its comparison.
    """
    known = [_Project(iterations) for iterations in projects]
    found = {}
    for lesson in lessons:
        having = [project for project in known if lesson.id in project.lessons]
        if having:
            found[lesson.id] = _effect(lesson, having)
    return found


class _Project:
    """The iterations of a project, its tasks, and the lessons that its prompts had."""

    def __init__(self, iterations: Sequence[IterationMetrics]) -> None:
        self.iterations = iterations
        self.tasks = _tasks_of(iterations)
        self.lessons = frozenset(itertools.chain.from_iterable(one.lessons for one in iterations))


def _tasks_of(iterations: Iterable[IterationMetrics]) -> list[_Task]:
    tasks: dict[tuple[str, str], _Task] = {}
    for one in iterations:
        if one.task is None or not one.counted:
            continue
        task = tasks.setdefault((one.run, one.task.id), _Task(title=one.task.title))
        task.attempts += 1
        task.lessons.update(one.lessons)
        if one.cost_usd is not None:
            task.cost_usd = (task.cost_usd or 0.0) + one.cost_usd
    return list(tasks.values())


def _effect(lesson: Lesson, projects: Sequence[_Project]) -> LessonEffect:
    iterations = itertools.chain.from_iterable(one.iterations for one in projects)
    carried = [one for one in iterations if lesson.id in one.lessons]
    tasks = itertools.chain.from_iterable(one.tasks for one in projects)
    meant = [task for task in tasks if fits_task(lesson, task.title)]
    having = [task for task in meant if lesson.id in task.lessons]
    lacking = [task for task in meant if lesson.id not in task.lessons]
    return LessonEffect(
        iterations=len(carried),
        tasks_with=len(having),
        tasks_without=len(lacking),
        attempts_with=_mean([task.attempts for task in having]),
        attempts_without=_mean([task.attempts for task in lacking]),
        cost_with_usd=_mean([one.cost_usd for one in having if one.cost_usd is not None], 4),
        cost_without_usd=_mean([one.cost_usd for one in lacking if one.cost_usd is not None], 4),
        last_used=max(one.ended_at for one in carried).date().isoformat(),
    )


def _mean(values: Sequence[float], digits: int = 2) -> float | None:
    return round(fmean(values), digits) if values else None


def why_stale(
    lesson: Lesson, effect: LessonEffect | None, *, today: date, stale_days: int
) -> str | None:
    """Why an accepted lesson is proposed for removal, in words; None: it is not."""
    since = lesson.date if effect is None else effect.last_used
    if since and not lesson.problems and date.fromisoformat(since) < today - timedelta(stale_days):
        return f"no prompt has had it since {since}"
    if effect is None or min(effect.tasks_with, effect.tasks_without) < ENOUGH_TASKS:
        return None
    attempts = (effect.attempts_with, effect.attempts_without)
    is_slower = _exceeds(*attempts)
    is_dearer = _exceeds(effect.cost_with_usd, effect.cost_without_usd)
    if is_slower and is_dearer is not False:
        words = count_of(effect.tasks_with, "task")
        return (
            f"{words} with it took {attempts[0]:g} iterations on average, "
            f"{count_of(effect.tasks_without, 'task')} without it {attempts[1]:g}"
        )
    return None


def _exceeds(given: float | None, other: float | None) -> bool | None:
    """Whether the first is larger beyond the tolerance; None where one is unknown."""
    return None if given is None or other is None else given > other * TOLERANCE


def effect_words(effect: LessonEffect) -> str:
    """``12 iterations; 1.3 attempts a task with it (8), 1.9 without (20)`` and the cost."""
    parts = [
        f"{count_of(effect.iterations, 'iteration')}, last on {effect.last_used}",
        _pair(
            "attempts a task",
            (effect.attempts_with, effect.tasks_with),
            (effect.attempts_without, effect.tasks_without),
        ),
        _pair("US dollars a task", (effect.cost_with_usd, None), (effect.cost_without_usd, None)),
    ]
    return "; ".join(filter(None, parts))


def _pair(
    what: str, having: tuple[float | None, int | None], lacking: tuple[float | None, int | None]
) -> str:
    shown = []
    for (value, n), word in ((having, "with it"), (lacking, "without")):
        if value is not None:
            of = "" if n is None else f" ({count_of(n, 'task')})"
            shown.append(f"{value:g} {word}{of}")
    return f"{what}: {', '.join(shown)}" if shown else ""
