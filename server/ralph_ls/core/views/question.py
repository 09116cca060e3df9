"""The question that a run asks a person, as a viewer shows it in place, with its answer.

It must never answer one: choices are only what the question itself lists.
"""

from __future__ import annotations

from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.views.choices import choices
from ralph_ls.core.views.seen import Seen, Waiting, halt_of, places, waiting_question
from ralph_ls.core.views.words import some_lines
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.lsp.panel import QuestionView
from ralph_ls.protocol.run.state import Question


def question_view(seen: Seen) -> QuestionView | None:
    """The open question, or the one that was answered and that no iteration has had yet."""
    asked = None if seen.state is None else seen.state.question
    waits = waiting_question(seen)
    if asked is not None:
        return _asked(seen, asked)
    return None if waits is None else _left_over(seen, waits)


def _asked(seen: Seen, asked: Question) -> QuestionView:
    at, halt = places(seen), halt_of(seen)
    task = at.task_of(asked.start)
    answer, by = asked.answer, asked.answered_by
    if answer is None and halt is not None:
        answer = halt.answer
    return QuestionView(
        key=f"{_run(seen)} {to_wire_time(asked.asked_at)}",
        text=some_lines(asked.question),
        options=choices(asked.question),
        iteration=asked.iteration,
        start=asked.start,
        asked_at=asked.asked_at,
        task=None if task is None else task.id,
        line=at.of_task(task).line,
        answer=None if answer is None else some_lines(answer),
        answered_by=None if by is None else some_lines(by),
    )


def _left_over(seen: Seen, waits: Waiting) -> QuestionView:
    """One that stands in the file alone: no journal says when it was asked."""
    return QuestionView(
        key=f"{_run(seen)} {title_id(waits.text)}".lstrip(),
        text=some_lines(waits.text),
        options=choices(waits.text),
    )


def _run(seen: Seen) -> str:
    return "" if seen.state is None else seen.state.run
