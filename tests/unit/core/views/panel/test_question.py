from __future__ import annotations

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.panel.question import question_view
from ralph_ls.protocol.lsp.panel import QuestionView
from ralph_ls.protocol.run.events import QuestionAnswered
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PLAN,
    READ,
    RUN,
    event,
    seen,
    started,
    task,
)
from tests.unit.core.views.run_situations import PARKED_ASKING, WORKS, asked

ANSWER = event(QuestionAnswered, question="red or blue?", answer="blue\x07", by="Neovim")
OPEN = QuestionView(
    key=f"{RUN} 2026-01-31T12:00:00.000Z",
    text="red or blue?",
    options=("red", "blue"),
    iteration=3,
    start=3,
    asked_at=NOON,
    task=task(CHOOSE).id,
    line=CHOOSE,
)


def test_where_nothing_was_asked_there_is_none() -> None:
    assert question_view(seen()) is None
    assert question_view(seen(started())) is None


def test_an_open_one_is_at_its_task_with_its_choices() -> None:
    assert question_view(seen(*PARKED_ASKING)) == OPEN


def test_it_keeps_its_key_when_it_is_answered_and_says_by_whom() -> None:
    answered = OPEN.model_copy(update={"answer": "blue\\x07", "answered_by": "Neovim"})
    assert question_view(seen(*PARKED_ASKING, ANSWER)) == answered


def test_an_answer_that_is_in_the_file_alone_is_nobody_s_yet() -> None:
    halt = HaltFiles(question="red or blue?", answer="red")
    look = seen(*PARKED_ASKING, halt=halt)
    assert question_view(look) == OPEN.model_copy(update={"answer": "red"})


@pytest.mark.parametrize(
    ("text", "number"),
    [
        pytest.param(PLAN.replace("Choose the", "Buy a"), 3, id="task-gone"),
        pytest.param(PLAN, None, id="of-an-earlier-run"),
        pytest.param("", 3, id="no-plan"),
    ],
)
def test_without_its_task_it_is_on_the_first_line(text: str, number: int | None) -> None:
    view = question_view(seen(*WORKS, asked(number), text=text))
    assert view is not None
    assert (view.task, view.line, view.iteration) == (None, 0, number)


def test_one_that_an_earlier_run_left_is_known_by_its_words() -> None:
    halt = HaltFiles(question="\x1b[2Jred or blue?")
    without_run = question_view(seen(halt=halt))
    of_run = question_view(seen(started(), halt=halt))
    assert without_run is not None
    assert of_run is not None
    assert without_run.text == of_run.text == "\\x1b[2Jred or blue?"
    assert of_run.key == f"{RUN} {without_run.key}"
    assert without_run.asked_at is None


def test_another_line_of_the_plan_moves_it() -> None:
    view = question_view(seen(*PARKED_ASKING, text=f"\n\n{PLAN}"))
    assert view is not None
    assert view.line == CHOOSE + 2
    assert READ < CHOOSE
