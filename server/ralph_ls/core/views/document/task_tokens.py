"""Task tokens: which tasks of a plan are done, in work, blocked or asking, for an editor's colours.

A task that is simply open has none, so that a plan looks as its author wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.plan.model import Task
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    TextSpan,
    document_positions,
)
from ralph_ls.protocol.task_words import TaskState

MAX_TOKENS = 20_000
"""Tokens of one file; a longer plan has its first ones coloured."""


class TaskLook(StrEnum):
    """How a task looks."""

    DONE = "done"
    SKIPPED = "skipped"
    CURRENT = "current"
    """The current iteration works on it."""
    BLOCKED = "blocked"
    ASKS = "asks"
    """The open question is about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskToken:
    """The title of a task, and how it looks."""

    span: TextSpan
    look: TaskLook


_LOOKS = {
    TaskState.DONE: TaskLook.DONE,
    TaskState.SKIPPED: TaskLook.SKIPPED,
    TaskState.BLOCKED: TaskLook.BLOCKED,
}


def task_tokens(context: DocumentContext) -> tuple[TaskToken, ...]:
    """The tokens of one file, in the order of the text; none overlap. Total."""
    found = sorted(_tokens(context), key=lambda one: (one.span.line, one.span.start))
    return tuple(found[:MAX_TOKENS])


def _tokens(context: DocumentContext) -> Iterator[TaskToken]:
    at = document_positions(context)
    by_run = {
        TaskLook.ASKS: at.question_task(),
        TaskLook.BLOCKED: at.blocked_task(),
        TaskLook.CURRENT: at.task_in_work(),
    }
    for task in context.plan.tasks:
        look = _look(task, by_run)
        span = at.span_of_task(task)
        if look is not None and span.end > span.start:
            yield TaskToken(span=span, look=look)


def _look(task: Task, by_run: dict[TaskLook, Task | None]) -> TaskLook | None:
    """What waits for the user comes first, then what the run does, then what the plan says."""
    waits = next((look for look, one in by_run.items() if one == task), None)
    return waits or _LOOKS.get(task.state)
