from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.panel.question import (
    MAX_CHOICE_CHARS,
    MAX_QUESTION_CHARS,
    answer_of,
    listed_choices,
    question_lines,
    question_stem,
)

LISTS = [
    pytest.param("red or blue?", ("red", "blue"), id="either"),
    pytest.param("WebSockets or polling?", ("WebSockets", "polling"), id="the-seed-s-own"),
    pytest.param("either red or blue?", ("red", "blue"), id="either-by-name"),
    pytest.param("red, green, or blue?", ("red", "green", "blue"), id="one-of-three"),
    pytest.param("漢字 or 🎈?", ("漢字", "🎈"), id="any-script"),
    pytest.param("Storage engine: SQLite or a server?", ("SQLite", "a server"), id="after-a-colon"),
    pytest.param("Which colour, red or blue?", ("red", "blue"), id="after-which"),
    pytest.param(
        "Which one? (a) SQLite, (b) Postgres; or (c) none?",
        ("SQLite", "Postgres", "none"),
        id="letters-within",
    ),
    pytest.param("Which?\n(a) red (b) blue\nThank you", ("red", "blue"), id="letters-on-a-line"),
    pytest.param("A) Keep it. It is old.\nB) Drop it", ("Keep it. It is old", "Drop it"), id="A-B"),
    pytest.param("a. red\nb. blue", ("red", "blue"), id="letters-with-dots"),
    pytest.param("**(a)** red\n**(b)** blue", ("red", "blue"), id="bold-markers"),
    pytest.param("Pick:\n- (a) red\n- (b) blue", ("red", "blue"), id="letters-in-a-list"),
    pytest.param(
        "Choose:\r\n1. **SQLite**: simple\r\n2. Postgres\r\n   with a server\r\n\r\nThank you",
        ("**SQLite**: simple", "Postgres with a server"),
        id="numbers-on-lines",
    ),
    pytest.param("Which: 1) red 2) blue?", ("red", "blue"), id="numbers-within"),
    pytest.param("Which engine?\n- SQLite\n- Postgres", ("SQLite", "Postgres"), id="bullets"),
    pytest.param("Which?\n\n* red\n* blue\n", ("red", "blue"), id="bullets-below-a-gap"),
    pytest.param("(a) \x1b[2Jred (b) blue", ("\\x1b[2Jred", "blue"), id="harmless"),
]

NO_LISTS = [
    pytest.param("", id="empty"),
    pytest.param("Which colour?", id="open"),
    pytest.param("Should it be red or blue?", id="where-does-it-begin"),
    pytest.param("Note: is it red or blue?", id="a-question-after-a-colon"),
    pytest.param("Use red or blue?", id="one-verb-for-both"),
    pytest.param("Keep or not?", id="or-not"),
    pytest.param("red or blue or green?", id="or-or"),
    pytest.param("red or blue. Which?", id="more-than-the-question"),
    pytest.param("one two three four five or one two three four five?", id="too-long-to-be-sure"),
    pytest.param("red, , or blue?", id="a-hole"),
    pytest.param("keep or keep?", id="twice-the-same"),
    pytest.param("(a) only one", id="one-letter"),
    pytest.param("(b) red (a) blue", id="letters-out-of-order"),
    pytest.param("(a) red (b) blue. I would take (a) myself.", id="a-letter-again"),
    pytest.param("(a) red. It is warm. (b) blue", id="sentences-behind-a-choice"),
    pytest.param("f(a) red (b) blue", id="a-call"),
    pytest.param("Upgrade to version 1. or 2. now?", id="versions"),
    pytest.param("Which? 2. red 3. blue", id="numbers-from-two"),
    pytest.param("Some facts.\n- red\n- blue", id="bullets-that-nobody-asked-for"),
    pytest.param("Which?\n- red\nbut\n- blue", id="bullets-with-text-between"),
    pytest.param("Which?\n- red", id="one-bullet"),
    pytest.param("(a) red (b) , or", id="nothing-to-take"),
    pytest.param(f"(a) red (b) {'x' * (MAX_CHOICE_CHARS + 1)}", id="an-essay"),
    pytest.param(f"red or blue?{' ' * 9}\n{'x' * MAX_QUESTION_CHARS}", id="a-book"),
]


@pytest.mark.parametrize(("question", "expected"), LISTS)
def test_choices_are_those_that_the_question_lists(
    question: str, expected: tuple[str, ...]
) -> None:
    assert listed_choices(question) == expected


@pytest.mark.parametrize("question", NO_LISTS)
def test_where_it_could_be_read_otherwise_there_are_none(question: str) -> None:
    assert listed_choices(question) == ()


SCENARIOS = st.sampled_from(
    [
        *("(a) ", "b) ", "(c)", "1. ", "2) ", "3. ", "- ", "* ", "\n", "\r\n", "red", "blue "),
        *(" or ", "? ", ": ", ", ", "  more", "either ", "which ", "\x1b", "**", ".", "漢"),
    ]
)


@given(st.lists(SCENARIOS, max_size=14).map("".join))
def test_nothing_is_ever_invented(question: str) -> None:
    whole = escape_control_chars(" ".join(question.split()))
    found = listed_choices(question)
    assert len(found) != 1
    assert all(choice and choice in whole for choice in found)


@pytest.mark.parametrize(
    ("question", "stem"),
    [
        ("Which one?\n1. SQLite\n2. MySQL", "Which one?"),
        (
            "Which one?\n\n(a) SQLite\n(b) MySQL\n\nIt stays for years.",
            "Which one?\n\nIt stays for years.",
        ),
        (
            "Which one?\n- SQLite\n  in a file\n- MySQL",
            "Which one?\n- SQLite\n  in a file\n- MySQL",
        ),
        ("Which one?\n- SQLite\n- MySQL", "Which one?"),
        ("SQLite or MySQL?", "SQLite or MySQL?"),
        ("Which: (a) SQLite, (b) MySQL?", "Which: (a) SQLite, (b) MySQL?"),
        ("1. SQLite\n2. MySQL", "1. SQLite\n2. MySQL"),
        ("Which one?", "Which one?"),
        ("x" * (MAX_QUESTION_CHARS + 1), "x" * (MAX_QUESTION_CHARS + 1)),
    ],
)
def test_the_stem_has_no_lines_of_choices(question: str, stem: str) -> None:
    assert question_stem(question) == stem


def test_choices_are_listed_once_with_the_numbers_that_answer_them() -> None:
    lines = ["Which one?", "  1  SQLite", "  2  MySQL"]
    assert question_lines("Which one?\n(a) SQLite\n(b) MySQL") == lines
    assert question_lines("Why?") == ["Why?"]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("1", "SQLite"), ("2", "MySQL"), ("3", "3"), ("0", "0"), ("²", "²"), ("9" * 5000, "9" * 5000)],
)
def test_a_number_is_the_choice_that_has_it(typed: str, answer: str) -> None:
    assert answer_of(("SQLite", "MySQL"), typed) == answer


def test_a_choice_that_is_a_number_is_that_number() -> None:
    assert answer_of(listed_choices("How many?\n- 2\n- 1"), "1") == "1"
