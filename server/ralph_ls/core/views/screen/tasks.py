"""Task lines: the plan for a narrow list, what is being worked on first, done tasks folded.

The order says what matters: the task in work, those that wait for the user, open ones in the
order of the plan, then what this run does not take. Titles are escaped already.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_program_output
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.protocol.lsp.panel import PlanRows, TaskRow, Tone
from ralph_ls.protocol.task_words import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One line of the list."""

    mark: str
    text: str
    words: str = ""
    """What there is to say beside the title."""
    tone: Tone = Tone.PLAIN
    task: str | None = None
    """Its id; None for the line that stands for all done tasks."""


def task_lines(plan: PlanRows, *, unfolded: bool = False) -> tuple[TaskLine, ...]:
    """The lines of a plan; ``unfolded`` lists the done tasks as well. Total."""
    left = [task for task in plan.tasks if task.state is not TaskState.DONE]
    done = [task for task in plan.tasks if task.state is TaskState.DONE]
    lines = [_line(task) for task in sorted(left, key=_rank)]
    return (*lines, *_done(done, unfolded=unfolded))


def task_page_lines(
    task: TaskRow, plan: PlanRows, context: DocumentContext
) -> tuple[tuple[str, str], ...]:
    """One task whole, as headings and texts, without what is not known. Total."""
    notes = _notes(task, context)
    lines = (
        ("Task", task.title),
        ("Id", task.id),
        ("State", "in work" if task.in_work else task.state.value.replace("_", " ")),
        ("Status", task.words),
        ("Section", task.section),
        ("Priority", "" if task.priority is None else str(task.priority)),
        ("Criteria", "" if notes else "\n".join(f"- {one}" for one in task.criteria)),
        ("Plan", f"{plan.path}:{task.line}"),
        ("Notes", notes),
    )
    return tuple((heading, text) for heading, text in lines if text)


def _notes(task: TaskRow, context: DocumentContext) -> str:
    """What the plan says below a task, nested tasks included; a list of objects says nothing."""
    if context.kind in {PlanKind.STORIES, PlanKind.BEADS}:
        return ""
    found = [one for one in context.plan.tasks if one.id == task.id]
    lines = context.text.splitlines()
    below = lines[found[0].line + 1 : found[0].end_line + 1] if found else []
    return escape_program_output(textwrap.dedent("\n".join(below)).strip("\n"))


def _done(done: list[TaskRow], *, unfolded: bool) -> Iterator[TaskLine]:
    if done:
        words = "Enter hides them" if unfolded else "Enter lists them"
        text = f"{count_of(len(done), 'task')} done"
        yield TaskLine(mark="✓", text=text, words=words, tone=Tone.GOOD)
    if unfolded:
        yield from map(_line, done)


def _rank(task: TaskRow) -> int:
    if task.in_work:
        return 0
    if task.asks or task.blocks:
        return 1
    if task.state is TaskState.IN_PROGRESS:
        return 2
    return 4 if task.skipped or task.state in {TaskState.SKIPPED, TaskState.BLOCKED} else 3


def _line(task: TaskRow) -> TaskLine:
    mark, tone = _mark(task)
    return TaskLine(mark=mark, text=task.title, words=task.words, tone=tone, task=task.id)


def _mark(task: TaskRow) -> tuple[str, Tone]:
    if task.state is TaskState.DONE:
        return "✓", Tone.GOOD
    if task.asks:
        return "?", Tone.WARNING
    if task.blocks or task.state is TaskState.BLOCKED:
        return "!", Tone.BAD
    if task.in_work:
        return "▶", Tone.ACTIVE
    if task.skipped or task.state is TaskState.SKIPPED:
        return "-", Tone.PLAIN
    return ("◐", Tone.ACTIVE) if task.state is TaskState.IN_PROGRESS else ("○", Tone.PLAIN)
