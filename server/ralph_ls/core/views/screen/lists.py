"""Lists of the screen: the tasks of the plan and the iterations of the run, one row each.

The order of tasks says what matters: the task in work, those that wait for the user, open ones in
the order of the plan, then what this run does not take; done tasks are folded. Titles are escaped
already. A row of an iteration has what its agent claims beside what the loop observed.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_program_output
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.words import CONFIRMED, OUTCOME_WORDS
from ralph_ls.core.views.text.summary import dollar_words, format_duration
from ralph_ls.protocol.lsp.panel import IterationRow, PlanRows, TaskRow, Tone
from ralph_ls.protocol.run.values import Outcome
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


HEADINGS = ("#", "Outcome", "Evidence", "Claim", "Time", "Cost", "Task")

NARROW_HEADINGS = ("#", "", "Evidence", "Claim")
"""In a small window: evidence beside claim, the outcome as a mark; a key shows all of it."""

OUTCOME_TONES = {
    Outcome.PROGRESS: Tone.GOOD,
    Outcome.NO_PROGRESS: Tone.WARNING,
}
"""Any other outcome is bad, and an iteration without one is active."""


def iteration_cells(row: IterationRow) -> tuple[str, ...]:
    """The cells of an iteration, below ``HEADINGS``. Total."""
    cost = "" if row.cost_usd is None else dollar_words(row.cost_usd, estimated=bool(row.estimated))
    return (
        f"{row.iteration}" if row.tries == 1 else f"{row.iteration}.{row.tries}",
        _outcome(row),
        _evidence(row),
        _claim(row),
        "" if row.seconds is None else format_duration(row.seconds),
        cost,
        row.task or "",
    )


def narrow_cells(row: IterationRow, mark: str) -> tuple[str, ...]:
    """The cells of an iteration, below ``NARROW_HEADINGS``. Total."""
    number, outcome, _, claim, *_ = iteration_cells(row)
    evidence = outcome if row.outcome is None else _evidence(row, commit=False)
    return (number, mark, evidence or outcome, claim)


def outcome_tone(row: IterationRow) -> Tone:
    """What the outcome means."""
    if row.outcome is None:
        return Tone.ACTIVE
    return Tone.GOOD if row.confirmed else OUTCOME_TONES.get(row.outcome, Tone.BAD)


def _outcome(row: IterationRow) -> str:
    if row.outcome is None:
        return "running"
    return row.failure or (CONFIRMED if row.confirmed else OUTCOME_WORDS[row.outcome])


def _evidence(row: IterationRow, *, commit: bool = True) -> str:
    """``2 files · 1 task · a1b2c3d``; empty until it is gathered."""
    parts = [] if row.files is None else [count_of(row.files, "file")]
    if row.tasks_done:
        parts.append(count_of(row.tasks_done, "task"))
    if row.commit is not None and commit:
        parts.append(row.commit[:7])
    return " · ".join(parts)


def _claim(row: IterationRow) -> str:
    """``COMPLETE · 4 files · tests PASSING``; empty without a report."""
    parts = [row.status] if row.status else []
    if row.claimed_files is not None:
        parts.append(count_of(row.claimed_files, "file"))
    if row.tests:
        parts.append(f"tests {row.tests}")
    return " · ".join(parts)


def iteration_lines(row: IterationRow) -> tuple[tuple[str, str], ...]:
    """One iteration whole, as headings and texts, without what is not known. Total."""
    number, outcome, evidence, claim, took, cost, task = iteration_cells(row)
    lines = (
        ("Iteration", number if row.start == row.iteration else f"{number} (start {row.start})"),
        ("Task", task),
        ("Outcome", outcome),
        ("Evidence", evidence),
        ("Claim", claim),
        ("Work", row.work_type or ""),
        ("Time", took),
        ("Cost", cost),
        ("Why", row.why),
    )
    return tuple((heading, text) for heading, text in lines if text)
