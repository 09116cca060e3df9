"""The table of rules, row by row (docs/rules.md#set-up)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.setup.draft import TESTS_WANTED, check_draft, errors_of
from ralph_ls.protocol.lsp.setup import DraftItem, SetupField, SetupSeverity
from ralph_ls.protocol.task_words import Priority

ERROR, WARNING, INFORMATION = SetupSeverity

GOOD = "Let people reset a password by mail. Done when a test shows it, and all others pass."

NO_CRITERIA = "No success criteria found: say when it is done."
NO_TESTS = f"No test requirement found. Suggestion: {TESTS_WANTED}"


def said(description: str) -> list[tuple[SetupSeverity, str]]:
    return [(one.severity, one.message) for one in check_draft(description=description)]


class TestDescription:
    def test_a_good_one_has_no_problem(self) -> None:
        assert said(GOOD) == []

    @pytest.mark.parametrize("text", ["", "   ", "\n\t\n", "\u3000"])
    def test_an_empty_one_is_an_error_and_nothing_else_is_written(self, text: str) -> None:
        assert said(text) == [(ERROR, "A task description is needed.")]

    def test_a_short_one_says_how_short_and_all_warnings_come_before_the_suggestion(self) -> None:
        assert said("  Repair the login  ") == [
            (WARNING, "Short (16 of 50 characters): say what you want, and why."),
            (WARNING, NO_CRITERIA),
            (INFORMATION, NO_TESTS),
        ]

    @pytest.mark.parametrize(
        ("length", "is_short"), [(1, True), (49, True), (50, False), (51, False)]
    )
    @pytest.mark.parametrize("letter", ["a", "登", "\U0001f600"])
    def test_length_is_counted_in_code_points(
        self, length: int, is_short: bool, letter: str
    ) -> None:
        codes = [one.code for one in check_draft(description=f" {letter * length}\n")]
        assert ("description-short" in codes) is is_short

    @pytest.mark.parametrize(
        "words",
        [
            "It is done when nobody waits",
            "Success: nobody waits",
            "it is successful",
            "Acceptance: nobody waits",
            "it is accepted",
            "nobody must wait",
            "nobody should wait",
            "the checks pass",
            "it passes",
            "200 is expected",
            "DONE  WHEN nobody waits",
            "必须pass才行",
            "Nobody waits:\n- no queue",
            "Nobody waits:\n  * [ ] no queue",
            "Nobody waits:\n1. no queue",
            "不要排队:\n• 没有队列",
        ],
    )
    def test_success_criteria_are_found(self, words: str) -> None:
        assert (WARNING, NO_CRITERIA) not in said(words)

    @pytest.mark.parametrize(
        "words",
        [
            "Change the password page",
            "Bypass the cache",
            "A mustard-coloured button",
            "an unexpectedly long - list in the text",
            "-no list",
            "Look at 3.14",
        ],
    )
    def test_words_that_only_look_like_criteria_are_none(self, words: str) -> None:
        assert (WARNING, NO_CRITERIA) in said(words)

    @pytest.mark.parametrize(
        "words",
        [
            "with a test",
            "Tests!",
            "is tested",
            "run pytest",
            "as in its spec",
            "verify it",
            "it is verified",
            "more coverage",
            "用test检查",
            "test_login",
        ],
    )
    def test_a_test_requirement_is_found(self, words: str) -> None:
        assert (INFORMATION, NO_TESTS) not in said(words)

    @pytest.mark.parametrize("words", ["the latest contest", "something special", "inspect it"])
    def test_words_that_only_look_like_tests_are_none(self, words: str) -> None:
        assert (INFORMATION, NO_TESTS) in said(words)

    def test_the_suggestion_brings_its_text_and_settles_itself_and_the_criteria(self) -> None:
        text = "Let people reset their password, by a mail with a link in it"
        (told,) = [one for one in check_draft(description=text) if one.fix is not None]
        assert told.fix is not None
        assert (told.code, told.fix.title, told.fix.text) == (
            "tests-missing",
            "Add it",
            "All new code has tests and they pass.",
        )
        assert check_draft(description=f"{text}\n{told.fix.text}") == ()


class TestCompletionPhrase:
    @pytest.mark.parametrize("phrase", ["COMPLETE", "ALL_DONE", "X", "_", "42"])
    def test_a_good_one(self, phrase: str) -> None:
        assert check_draft(completion_phrase=phrase) == ()

    @pytest.mark.parametrize(
        "phrase", ["", "done", "All", "A B", " A", "A\n", "A-B", "ÄLL", "\uff21", "٣"]
    )
    def test_anything_else_is_an_error(self, phrase: str) -> None:
        (problem,) = check_draft(completion_phrase=phrase)
        assert (problem.field, problem.severity) == (SetupField.COMPLETION_PHRASE, ERROR)
        assert problem.message == "Upper-case letters, digits and _ only, for example COMPLETE."


class TestTimeout:
    @pytest.mark.parametrize("timeout", [300, 300.0, 3600, "5m", "60m", "1h", "1800"])
    def test_from_five_minutes_to_an_hour(self, timeout: float | str) -> None:
        assert check_draft(timeout=timeout) == ()

    @pytest.mark.parametrize("timeout", [0, 299, 3601, "4m", "2h", -1, math.nan, math.inf])
    def test_what_is_outside_is_an_error(self, timeout: float | str) -> None:
        (problem,) = check_draft(timeout=timeout)
        assert (problem.field, problem.severity, problem.code) == (
            SetupField.TIMEOUT,
            ERROR,
            "timeout-outside",
        )
        assert problem.message == "An iteration may take from 5 to 60 minutes, for example 30m."

    @pytest.mark.parametrize("timeout", ["", "soon", "5 parsecs"])
    def test_what_is_no_duration_is_named(self, timeout: str) -> None:
        (problem,) = check_draft(timeout=timeout)
        assert problem.code == "timeout-malformed"
        assert repr(timeout) in problem.message


class TestItems:
    def test_some_are_good(self) -> None:
        assert check_draft(items=[DraftItem(title="a", priority=Priority.P0)]) == ()

    def test_none_is_an_error(self) -> None:
        (problem,) = check_draft(items=[])
        assert (problem.field, problem.severity, problem.code) == (
            SetupField.ITEMS,
            ERROR,
            "items-none",
        )

    def test_one_without_a_title_is_named(self) -> None:
        (problem,) = check_draft(items=[DraftItem(title="a"), DraftItem(title=" \n")])
        assert problem.message.startswith("Plan item 2 has no title")


def test_what_is_left_out_is_not_judged() -> None:
    assert check_draft() == ()


def test_errors_come_first_whatever_they_are_about() -> None:
    found = check_draft(description="Repair it", completion_phrase="a", timeout=1, items=[])
    assert [one.severity for one in found] == [ERROR] * 3 + [WARNING] * 2 + [INFORMATION]
    assert [one.field for one in errors_of(found)] == [
        SetupField.COMPLETION_PHRASE,
        SetupField.TIMEOUT,
        SetupField.ITEMS,
    ]


@given(st.text(), st.text(), st.floats() | st.text())
def test_any_draft_is_judged(description: str, phrase: str, timeout: float | str) -> None:
    found = check_draft(description=description, completion_phrase=phrase, timeout=timeout)
    severities = [list(SetupSeverity).index(one.severity) for one in found]
    assert severities == sorted(severities)
    assert all(one.message.endswith((".", "!")) for one in found)
