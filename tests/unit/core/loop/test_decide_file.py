"""``decide.txt``: written for the user, and read back whatever the user made of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.decide_file import (
    format_decide,
    iteration_asked_in,
    parse_decide,
    read_halt_files,
)
from ralph_ls.core.loop.inputs import HaltFiles

ASKED_AT = datetime(2025, 6, 15, 14, 30, tzinfo=UTC)


def test_the_form_is_that_of_r() -> None:
    assert format_decide("Sockets or polling?", 7, ASKED_AT) == (
        "## Question (from iteration 7, 2025-06-15T14:30:00Z)\n"
        "Sockets or polling?\n"
        "\n"
        "---\n"
        "## Answer\n"
    )
    assert format_decide("a?", None, ASKED_AT, " b \n") == (
        "## Question (from an earlier run, 2025-06-15T14:30:00Z)\na?\n\n---\n## Answer\nb\n"
    )
    elsewhere = ASKED_AT.astimezone(timezone(timedelta(hours=2)))
    assert format_decide("a?", 7, elsewhere) == format_decide("a?", 7, ASKED_AT)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        pytest.param(format_decide("a?", 1, ASKED_AT), "a?", None, id="unanswered"),
        pytest.param(format_decide("a?", 1, ASKED_AT) + "b\nc\n", "a?", "b\nc", id="answered"),
        pytest.param("## Question\na?\n\n---\n\n\n## Answer\n  \n", "a?", None, id="blank"),
        pytest.param("a?\n---\nb", "a?", "b", id="no headings"),
        pytest.param("a?\n---\n## answer:\nb", "a?", "b", id="heading in another form"),
        pytest.param("a?\r\n---\r\n## Answer\r\nb\r\n", "a?", "b", id="CRLF"),
        pytest.param("\ufeffa?\n---\nb", "a?", "b", id="byte order mark"),
        pytest.param("a?", "a?", None, id="no separator"),
        pytest.param("a?\n---\n", "a?", None, id="nothing after it"),
        pytest.param("a?\n---\nb\n---\n## Answer\nc", "a?\n---\nb", "c", id="the headed one"),
        pytest.param(
            "a?\n---\n## Answer\nb\n---\nc", "a?", "b\n---\nc", id="a separator in the answer"
        ),
        pytest.param("a?\n---\nb\n---\nc", "a?\n---\nb", "c", id="the last of bare ones"),
    ],
)
def test_reading(text: str, question: str, answer: str | None) -> None:
    assert parse_decide(text) == (question, answer)


@given(
    st.text(alphabet="ab -#\n?", min_size=1).filter(str.strip),
    st.none() | st.text(alphabet="ab -\n").filter(str.strip),
)
def test_what_was_written_is_read_back(question: str, answer: str | None) -> None:
    text = format_decide(question, 3, ASKED_AT, answer)
    asked, replied = parse_decide(text)
    assert asked.split() == question.split()
    assert (replied or "").split() == (answer or "").split()


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    question, answer = parse_decide(text)
    assert answer is None or answer.strip()
    assert question == question.strip()


@pytest.mark.parametrize(
    ("text", "iteration"),
    [
        (format_decide("a?", 7, ASKED_AT), 7),
        ("\ufeff" + format_decide("a?", 12, ASKED_AT, "b"), 12),
        (format_decide("a?", None, ASKED_AT), None),
        ("a?\n---\nb", None),
        ("", None),
    ],
)
def test_the_heading_says_which_iteration_asked(text: str, iteration: int | None) -> None:
    assert iteration_asked_in(text) == iteration


def test_both_files_together() -> None:
    assert read_halt_files(None, None) == HaltFiles()
    assert read_halt_files(" \n", " \n") == HaltFiles(blocked="no reason given")
    assert read_halt_files("a?\n---\nb", "no key\n") == HaltFiles(
        question="a?", answer="b", blocked="no key"
    )
