"""What the loop reads out of a report, whatever an agent has written into it."""

from __future__ import annotations

import pytest

from ralph_ls.protocol.run.report import Report, ReportKind


def report(**fields: str) -> Report:
    return Report(kind=ReportKind.RALPH_STATUS, fields=fields)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("COMPLETE", "COMPLETE", id="as it should be"),
        pytest.param("  in_progress \n", "IN_PROGRESS", id="any case and space"),
        pytest.param("", "IN_PROGRESS", id="empty"),
        pytest.param("   ", "IN_PROGRESS", id="blank"),
        pytest.param("almost", "IN_PROGRESS", id="off the list"),
        pytest.param("COMPLETE ✅", "COMPLETE", id="with a picture"),
        pytest.param("**Blocked**", "BLOCKED", id="bold"),
        pytest.param("complete - all of it", "COMPLETE", id="with an aside"),
        pytest.param("Needs clarification", "NEEDS_CLARIFICATION", id="parts apart"),
        pytest.param("COMPLETED", "IN_PROGRESS", id="a longer word"),
        pytest.param("NOT COMPLETE", "IN_PROGRESS", id="not in front"),
    ],
)
def test_status(written: str, read: str) -> None:
    assert report(STATUS=written).status == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("true", True),
        (" TRUE ", True),
        ("false", False),
        ("False.", False),
        ("**true** ✅", True),
        ("true.", True),
        ("`TRUE`", True),
        ("[true]", True),
        ("", None),
        ("Yes", None),
        ("no", None),
        ("1", None),
        ("true, but not yet", None),
        ("not true", None),
        ("true (all done)", None),
        ("true, if the tests pass", None),
        ("true - once the key is there", None),
        ("trueish", None),
    ],
)
def test_flags(written: str, read: bool | None) -> None:
    assert report(EXIT_SIGNAL=written).exit_signal is (read is True)
    assert report(PR_READY=written).pr_ready is (read is True)
    # What cannot be read asks, so that no question is lost; nothing at all asks nothing.
    asks = read is True or (read is None and bool(written))
    assert report(CLARIFICATION_NEEDED=written).clarification_needed is asks


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("3", 3),
        (" 12 files", 12),
        ("12", 12),
        ("007", 7),
        ("2.9", 2),
        ("1,000", 1),
        ("-3", 0),
        ("+3", 0),
        ("", 0),
        ("none", 0),
        ("three", 0),
        ("about 4", 0),
        ("~4", 4),
        ("12/15", 12),
        ("**5**", 5),
        ("9" * 9, 999_999_999),
        ("1" + "0" * 9, 999_999_999),
        ("٣", 0),
        ("²", 0),
        ("1٣", 1),
        ("9" * 5000, 999_999_999),
    ],
)
def test_numbers(written: str, read: int) -> None:
    assert report(FILES_MODIFIED=written).files_modified == read
    assert report(TASKS_COMPLETED_THIS_LOOP=written).tasks_completed == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("PASSING (43 tests)", "PASSING"),
        ("FAILING - 2 of 9", "FAILING"),
        ("not-run", "NOT_RUN"),
        ("ADDED (43 new tests)", "NOT_RUN"),
        ("DEFERRED", "NOT_RUN"),
    ],
)
def test_tests(written: str, read: str) -> None:
    assert report(TESTS_STATUS=written).tests_status == read


@pytest.mark.parametrize(
    ("written", "read"),
    [("Refactoring.", "REFACTORING"), ("analysis", "ANALYSIS"), (" ", "")],
)
def test_kinds_of_work(written: str, read: str) -> None:
    assert report(WORK_TYPE=written).work_type == read


def test_words() -> None:
    said = report(
        TESTS_STATUS=" failing ",
        WORK_TYPE="testing",
        RECOMMENDATION=" Fix the date.\nThen the tax line. ",
        CLARIFICATION_QUESTIONS="Which bank?",
        WORK_SUMMARY="Rounding",
    )
    assert (said.tests_status, said.work_type) == ("FAILING", "TESTING")
    assert said.recommendation == "Fix the date.\nThen the tax line."
    assert said.clarification_questions == "Which bank?"
    assert said.work_summary == "Rounding"


def test_an_empty_report_has_the_defaults_of_the_format() -> None:
    said = report()
    assert (said.status, said.tests_status, said.work_type) == ("IN_PROGRESS", "NOT_RUN", "")
    assert (said.exit_signal, said.pr_ready, said.clarification_needed) == (False, False, False)
    assert (said.files_modified, said.tasks_completed) == (0, 0)
    assert said.recommendation == said.clarification_questions == said.work_summary == ""
