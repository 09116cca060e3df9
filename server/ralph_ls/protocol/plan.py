"""What a viewer is told of a plan: tasks as they stand, wherever they are stored."""

from __future__ import annotations

from enum import StrEnum

from ralph_ls.protocol.base import WireModel


class TaskState(StrEnum):
    """SPEC §1: the five states of a task."""

    TODO = "todo"
    IN_PROGRESS = "inProgress"
    DONE = "done"
    BLOCKED = "blocked"
    SKIPPED = "skipped"


class Priority(StrEnum):
    """High (P0), Standard (P1), Nice to Have (P2): I, @fix_plan.md Structure."""

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


class TaskView(WireModel):
    """One task as ``ralph plan --json`` and every viewer shows it."""

    id: str
    title: str
    state: TaskState
    priority: ShownPriority | None = None
    section: str = ""
    """The heading that the task stands under, without marks."""
    line: int
    """From 1, in the plan file."""
    optional: bool = False
    """It is in an optional section, so it is not required."""
    blocked_by: str | None = None
    criteria: tuple[str, ...] = ()


class PlanProblem(WireModel):
    """One thing in the plan that could not be read as meant."""

    code: str
    message: str
    line: int
    """From 1."""
