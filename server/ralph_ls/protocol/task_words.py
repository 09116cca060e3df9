"""States and priorities of tasks.

Apart from the models that use them, so that reading a plan, as completion does at each TAB, does
not load the library of the models.
"""

from __future__ import annotations

from enum import StrEnum


class TaskState(StrEnum):
    """The five states of a task."""

    TODO = "todo"
    IN_PROGRESS = "inProgress"
    DONE = "done"
    BLOCKED = "blocked"
    SKIPPED = "skipped"


SETTLED_STATES = frozenset({TaskState.DONE, TaskState.SKIPPED})
"""In which nothing is left to do."""


class Priority(StrEnum):
    """A task's priority: high (P0), standard (P1) or nice to have (P2); docs/rules.md#plans."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"


class ShownPriority(StrEnum):
    """The priority of a task as its tracker has it; ``bd`` knows two more than a plan."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"
    P4 = "P4"
