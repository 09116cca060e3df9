"""What a plan is once it has been read: tasks in their order, and where each one stands.

The model is the same for every kind of plan, so it must never know a dialect or a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ralph_ls.protocol.plan import PlanProblem, Priority, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One item of the plan (SPEC §1), with the place in the text that it was read from."""

    id: str
    """Explicit (``US-001``), else 8 hex digits of the normalised title; ``-2``, ``-3`` repeat."""
    title: str
    """Without marks, tags and explicit id; white space is folded."""
    state: TaskState
    priority: Priority | None
    """From a tag, a severity or a heading; None where nothing says one."""
    section: str
    """The nearest heading, without marks; empty before the first one."""
    optional: bool
    """True under an optional section: such a task is taken last and never holds a run open."""
    line: int
    """From 0."""
    start: int
    """Where the item's first line begins, in characters of the text."""
    end: int
    """Where that line ends, before its line ending: ``text[start:end]`` is the line."""
    end_line: int
    """The last line, from 0, that belongs to the item: notes and nested items count."""
    depth: int
    """How many tasks this one is nested in."""
    parent: str | None
    """The id of the task that this one is nested in."""
    blocked_by: str | None
    """The reason as the plan gives it, whatever the state."""
    criteria: tuple[str, ...]
    """What must hold when the task is done, one text each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The tasks in the order of the text."""

    tasks: tuple[Task, ...] = ()

    def find(self, task_id: str) -> Task | None:
        """The task with this id, if there is one; looks at each task once."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def by_id(self) -> Mapping[str, Task]:
        """Every task under its id; ids are unique in a plan. Build it once for many look-ups."""
        return {task.id: task for task in self.tasks}

    def at_line(self, line: int) -> Task | None:
        """The innermost task that the line (from 0) belongs to."""
        holding = (task for task in reversed(self.tasks) if task.line <= line <= task.end_line)
        return next(holding, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A plan and what in its text could not be read as meant, by line."""

    plan: Plan
    problems: tuple[PlanProblem, ...] = ()
