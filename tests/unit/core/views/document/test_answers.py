"""Views of an answer in the decide file: that it counts once saved, or who gave it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.decide_file import format_decide, read_halt_files
from ralph_ls.core.views.document.answers import answer_diagnostics, answer_lenses
from ralph_ls.core.views.model.diagnostic import Severity
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.protocol.lsp.panel import Verb
from ralph_ls.protocol.run.events import EventBase, QuestionAnswered, QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    RUN,
    begins,
    event,
    phase,
    seen,
    seen_by_chance,
    started,
)

DECIDE = ".ralph/decide.txt"
QUESTION = "SQLite or Postgres?"
OPEN = format_decide(QUESTION, 1, NOON)
ANSWERED = format_decide(QUESTION, 1, NOON, "SQLite")


def asked() -> list[EventBase]:
    question = event(QuestionAsked, iteration=1, question=QUESTION, path=DECIDE, asked_at=NOON)
    return [started(), begins(1, CHOOSE), question, phase(Phase.PARKED, "decide")]


def answered(by: str, answer: str = "SQLite") -> EventBase:
    return event(QuestionAnswered, question=QUESTION, answer=answer, by=by)


def decide(
    *events: EventBase, text: str, saved: str | None = None, **fields: Any
) -> DocumentContext:
    """The decide file in an editor, and as it is ``saved``."""
    halt = read_halt_files(saved, None)
    return seen(*events, text=text, file=FileKind.DECIDE, halt=halt, **fields)


def told(sight: DocumentContext) -> list[tuple[str, str]]:
    found = answer_diagnostics(sight)
    assert all(one.severity is Severity.INFORMATION for one in found)
    return [(one.code, one.message) for one in found]


def offered(sight: DocumentContext) -> list[tuple[str, Verb, dict[str, object]]]:
    return [(lens.title, lens.command, dict(lens.arguments)) for lens in answer_lenses(sight)]


GO_ON = ("Continue the run with this answer", Verb.RESUME, {"run": RUN, "continue": True})


@pytest.mark.parametrize(
    "sight",
    [
        pytest.param(decide(*asked(), text=OPEN, saved=OPEN), id="open"),
        pytest.param(decide(text="", saved=None), id="empty"),
        pytest.param(seen(*asked()), id="plan"),
        pytest.param(seen(*asked(), text=ANSWERED, file=FileKind.BLOCKED), id="blocked"),
    ],
)
def test_without_an_answer_nothing_is_reported(sight: DocumentContext) -> None:
    assert told(sight) == []
    assert offered(sight) == []


def test_an_answer_that_is_not_saved_counts_once_it_is() -> None:
    sight = decide(*asked(), text=ANSWERED, saved=OPEN)
    assert told(sight) == [("answer-pending", "save this file to send the answer")]
    assert offered(sight) == [("save to answer", Verb.NONE, {})]


def test_nobody_inspected_the_file_yet() -> None:
    sight = seen(*asked(), text=ANSWERED, file=FileKind.DECIDE)
    assert offered(sight) == [("save to answer", Verb.NONE, {})]


def test_a_saved_answer_is_taken_by_a_living_engine() -> None:
    sight = decide(*asked(), text=ANSWERED, saved=ANSWERED)
    message = "answer saved; the loop picks it up in a moment"
    assert told(sight) == [("answer-pending", message)]
    assert offered(sight) == [("answer saved", Verb.NONE, {})]


def test_without_an_engine_the_run_can_continue_with_a_saved_answer() -> None:
    sight = decide(*asked(), text=ANSWERED, saved=ANSWERED, pid=None)
    message = "answer saved; the agent gets it when a run continues"
    assert told(sight) == [("answer-pending", message)]
    assert offered(sight) == [("answer saved", Verb.NONE, {}), GO_ON]


def test_without_any_run_there_is_none_to_continue_with() -> None:
    sight = decide(text=ANSWERED, saved=ANSWERED)
    assert offered(sight) == [("answer saved", Verb.NONE, {})]


@pytest.mark.parametrize(
    ("by", "words"),
    [
        pytest.param("Neovim", "answered by Neovim", id="in-another-editor"),
        pytest.param(DECIDE, f"answered in {DECIDE}", id="in-the-file"),
        pytest.param("", "answered by somebody", id="by-nobody-known"),
        pytest.param("Eve\x1b[2J", "answered by Eve\\x1b[2J", id="steering-a-terminal"),
    ],
)
def test_a_taken_answer_says_whose_it_is(by: str, words: str) -> None:
    sight = decide(*asked(), answered(by), text=ANSWERED, saved=ANSWERED)
    message = f"{words}: SQLite; the agent gets it in the next iteration"
    assert told(sight) == [("question-answered", message)]
    assert offered(sight) == [(words, Verb.NONE, {})]


def test_a_file_that_is_open_as_it_was_says_that_somebody_answered_meanwhile() -> None:
    sight = decide(*asked(), answered("Neovim"), text=OPEN, saved=ANSWERED)
    assert offered(sight) == [("answered by Neovim", Verb.NONE, {})]


def test_a_taken_answer_waits_for_an_engine() -> None:
    sight = decide(*asked(), answered("Neovim"), text=ANSWERED, saved=ANSWERED, pid=None)
    message = "answered by Neovim: SQLite; the agent gets it when the run continues"
    assert told(sight) == [("question-answered", message)]
    assert offered(sight) == [("answered by Neovim", Verb.NONE, {}), GO_ON]


def test_a_long_answer_is_repeated_in_part() -> None:
    sight = decide(*asked(), answered("Ada", "ja " * 100), text=ANSWERED, saved=ANSWERED)
    [(_, message)] = told(sight)
    assert len(message) < 200
    assert "…" in message


@given(data=st.data())
def test_any_run_beside_any_text_can_be_inspected(data: st.DataObject) -> None:
    sight = seen_by_chance(data)
    answer_diagnostics(sight)
    answer_lenses(sight)
