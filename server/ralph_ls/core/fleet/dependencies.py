"""Dependencies between repositories: ``Depends on: api#T3`` below a task.

The name before ``#`` is that of a repository of the fleet, the rest a task's id or title there.
What has another form belongs to the plan itself (``core.plan.lint.dependencies``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ralph_ls.core.plan.lint.dependencies import (
    labels_of,
    normalise_title,
    written_references,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.task_body import TaskBodies
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.protocol.run.values import TaskRef

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
