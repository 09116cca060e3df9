"""What is read out of a block: values, problems, and nothing that was not written."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.protocol.run.report import Report
from tests.unit.core.agent.signals.status_blocks import (
    ANY_REPORT,
    CLARITY,
    RALPH,
    WHOLE,
    clarity,
    fields_of,
    lines_of,
    problems_of,
    ralph,
    read,
)


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        pytest.param(WHOLE, [], id="none"),
        pytest.param(
            "",
            [
                "missing-status STATUS",
                "missing-field EXIT_SIGNAL",
                "missing-field TASKS_COMPLETED_THIS_LOOP",
                "missing-field FILES_MODIFIED",
            ],
            id="empty-block",
        ),
        pytest.param(
            ANY_REPORT.replace("STATUS: COMPLETE", "STATUS:"), ["missing-status STATUS"], id="empty"
        ),
        pytest.param(
            ANY_REPORT.replace("EXIT_SIGNAL: true", "EXIT_SIGNAL:"),
            ["missing-field EXIT_SIGNAL"],
            id="empty-boolean",
        ),
        pytest.param(
            ANY_REPORT.replace("COMPLETE", "DONE", 1), ["unknown-value STATUS"], id="unknown-status"
        ),
        pytest.param(
            ANY_REPORT.replace("COMPLETE", "NEEDS_CLARIFICATION", 1),
            ["unknown-value STATUS"],
            id="status-of-the-other-kind",
        ),
        pytest.param(
            f"{ANY_REPORT}\nTESTS_STATUS: GREEN", ["unknown-value TESTS_STATUS"], id="tests"
        ),
        pytest.param(f"{ANY_REPORT}\nWORK_TYPE: testing", [], id="any-case"),
        pytest.param(ANY_REPORT.replace("true", "YES"), ["bad-value EXIT_SIGNAL"], id="yes"),
        pytest.param(
            ANY_REPORT.replace("true", "maybe"), ["bad-value EXIT_SIGNAL"], id="bad-boolean"
        ),
        pytest.param(ANY_REPORT.replace("D: 1", "D: 3 files", 1), [], id="number-with-words"),
        pytest.param(
            ANY_REPORT.replace("D: 1", "D: -1", 1), ["bad-value FILES_MODIFIED"], id="negative"
        ),
        pytest.param(
            ANY_REPORT.replace("D: 1", "D: three", 1), ["bad-value FILES_MODIFIED"], id="in-words"
        ),
        pytest.param(
            ANY_REPORT.replace("D: 1", "D: 1,200", 1), ["bad-value FILES_MODIFIED"], id="thousands"
        ),
        pytest.param(
            ANY_REPORT.replace("D: 1", "D: 9999999999", 1),
            ["bad-value FILES_MODIFIED"],
            id="too-large",
        ),
        pytest.param(f"{ANY_REPORT}\nCONFIDENCE: 80", ["unknown-field CONFIDENCE"], id="unknown"),
        pytest.param(f"{ANY_REPORT}\nPR_READY: true", ["unknown-field PR_READY"], id="foreign"),
        pytest.param(f"{ANY_REPORT}\nSTATUS: BLOCKED", ["duplicate-field STATUS"], id="duplicate"),
        pytest.param(f"Here:\nand there\n{ANY_REPORT}", ["stray-text"], id="stray-before"),
        pytest.param(
            ANY_REPORT.replace("\n", "\nbecause\n"), ["stray-text"], id="stray-after-typed"
        ),
    ],
)
def test_problems_are_reported_and_the_report_is_used(body: str, problems: list[str]) -> None:
    assert problems_of(ralph(body)) == problems


def test_the_first_of_two_values_is_used() -> None:
    body = "STATUS: BLOCKED\nRECOMMENDATION: a\nRECOMMENDATION: b\nmore of b"
    assert fields_of(ralph(body)) == {"STATUS": "BLOCKED", "RECOMMENDATION": "a"}


def test_only_what_the_agent_wrote_is_in_the_fields() -> None:
    assert fields_of(ralph("EXIT_SIGNAL: true")) == {"EXIT_SIGNAL": "true"}


@pytest.mark.parametrize("key", [*RALPH, *CLARITY])
def test_an_empty_field_never_swallows_the_next_one(key: str) -> None:
    body = f"{key}:\nOTHER_FIELD: x" if key != "STATUS" else "STATUS:\nEXIT_SIGNAL: true"
    assert fields_of(ralph(body))[key] == ""


@pytest.mark.parametrize(
    ("body", "key", "value"),
    [
        pytest.param(
            "CLARIFICATION_QUESTIONS: 1. Which?\n2. How?\nSTATUS: BLOCKED",
            "CLARIFICATION_QUESTIONS",
            "1. Which?\n2. How?",
            id="numbered",
        ),
        pytest.param(
            "CLARIFICATION_QUESTIONS:\n- Which?\n  - A: this\n  - B: that\n\n- How?\nSTATUS: x",
            "CLARIFICATION_QUESTIONS",
            "- Which?\n  - A: this\n  - B: that\n\n- How?",
            id="list-below",
        ),
        pytest.param(
            "RECOMMENDATION: |\n  one\n    two\nSTATUS: BLOCKED",
            "RECOMMENDATION",
            "one\n  two",
            id="yaml-scalar",
        ),
        pytest.param("RECOMMENDATION: |", "RECOMMENDATION", "|", id="bar-alone"),
        pytest.param(
            "STATUS: BLOCKED\nRECOMMENDATION: see\nhttp://x/y\nNote: a\nA: b\n  TODO: c",
            "RECOMMENDATION",
            "see\nhttp://x/y\nNote: a\nA: b\n  TODO: c",
            id="lines-that-look-like-fields",
        ),
        pytest.param(
            "STATUS: BLOCKED\nRECOMMENDATION: set\n  STATUS: x",
            "RECOMMENDATION",
            "set\nSTATUS: x",
            id="known-key-indented-again",
        ),
        pytest.param("status: blocked\nnext_step: rest", "NEXT_STEP", "rest", id="lower-unknown"),
        pytest.param(
            "RECOMMENDATION: **Stop** and *look*",
            "RECOMMENDATION",
            "**Stop** and *look*",
            id="marks",
        ),
        pytest.param(
            "STATUS: \u2705 **COMPLETE**.", "STATUS", "\u2705 COMPLETE.", id="without-emphasis"
        ),
        pytest.param('STATUS: "COMPLETE"', "STATUS", "COMPLETE", id="quotes"),
        pytest.param("STATUS: COMPLETE  # all of it", "STATUS", "COMPLETE", id="comment"),
        pytest.param("STATUS: <COMPLETE>", "STATUS", "<COMPLETE>", id="filled-in-brackets"),
        pytest.param(
            'RECOMMENDATION: "Go" # on', "RECOMMENDATION", '"Go" # on', id="quoted-text-stays"
        ),
        pytest.param('"STATUS": "BLOCKED",', "STATUS", "BLOCKED", id="quoted-key"),
        pytest.param(
            "'RECOMMENDATION': 'it\\'s',", "RECOMMENDATION", "it's", id="quoted-key-and-text"
        ),
        pytest.param('"RECOMMENDATION": go,', "RECOMMENDATION", "go", id="quoted-key-alone"),
        pytest.param("STATUS: `COMPLETE`", "STATUS", "COMPLETE", id="code"),
        pytest.param("STATUS: \u2705", "STATUS", "\u2705", id="only-decoration"),
        pytest.param("EXIT_SIGNAL: [true]", "EXIT_SIGNAL", "[true]", id="brackets-stay"),
        pytest.param(
            "RECOMMENDATION: <one line summary>", "RECOMMENDATION", "<one line summary>", id="text"
        ),
    ],
)
def test_a_value_is_kept_as_it_was_written(body: str, key: str, value: str) -> None:
    assert fields_of(ralph(body))[key] == value


def report_of(**fields: str) -> Report:
    report = read(ralph("\n".join(f"{key}: {value}" for key, value in fields.items())))
    assert report is not None
    return report


def told(report: Report, key: str) -> str:
    """The words of the problem with a field, as far as they say how it is read."""
    messages = [problem.message for problem in report.problems if problem.field == key]
    return "; ".join(message.rpartition("; ")[2] for message in messages)


@pytest.mark.parametrize(
    ("written", "status", "words"),
    [
        ("COMPLETE", "COMPLETE", ""),
        ("complete \u2705", "COMPLETE", ""),
        ("In Progress", "IN_PROGRESS", ""),
        ("<BLOCKED>", "BLOCKED", ""),
        ("COMPLETE (1 of 1)", "COMPLETE", "using COMPLETE"),
        ("BLOCKED: no key", "BLOCKED", "using BLOCKED"),
        ("NEEDS_CLARIFICATION", "NEEDS_CLARIFICATION", "using NEEDS_CLARIFICATION"),
        ("DEFERRED", "IN_PROGRESS", "using IN_PROGRESS"),
        ("ANALYSIS", "IN_PROGRESS", "using IN_PROGRESS"),
        ("COMPLETED", "IN_PROGRESS", "using IN_PROGRESS"),
        ("COMPLETE_ISH", "IN_PROGRESS", "using IN_PROGRESS"),
        ("\u2705", "IN_PROGRESS", "using IN_PROGRESS"),
        ("-COMPLETE", "IN_PROGRESS", "using IN_PROGRESS"),
    ],
)
def test_how_a_status_is_read(written: str, status: str, words: str) -> None:
    report = report_of(STATUS=written)
    assert (report.status, told(report, "STATUS")) == (status, words)
    assert report.fields["STATUS"] == written


@pytest.mark.parametrize(
    ("written", "tests", "words"),
    [
        ("PASSING", "PASSING", ""),
        ("PASSING (43 tests)", "PASSING", "using PASSING"),
        ("FAILING - 2 of 9", "FAILING", "using FAILING"),
        ("not run", "NOT_RUN", ""),
        ("ADDED (43 new tests)", "NOT_RUN", "using NOT_RUN"),
        ("GREEN", "NOT_RUN", "using NOT_RUN"),
    ],
)
def test_how_a_status_of_the_tests_is_read(written: str, tests: str, words: str) -> None:
    report = report_of(STATUS="COMPLETE", TESTS_STATUS=written)
    assert (report.tests_status, told(report, "TESTS_STATUS")) == (tests, words)


@pytest.mark.parametrize(
    ("written", "work", "words"),
    [
        ("Testing", "TESTING", ""),
        ("TESTING + docs", "TESTING", "using TESTING"),
        ("analysis", "ANALYSIS", "kept as it is"),
    ],
)
def test_how_a_type_of_work_is_read(written: str, work: str, words: str) -> None:
    report = report_of(STATUS="COMPLETE", WORK_TYPE=written)
    assert (report.work_type, told(report, "WORK_TYPE")) == (work, words)


@pytest.mark.parametrize(
    ("written", "flag", "words"),
    [
        ("true", True, ""),
        ("True \U0001f389", True, ""),
        ("[true]", True, ""),
        ("False.", False, ""),
        ("yes", False, "using false"),
        ("No.", False, "using false"),
        ("true (all done)", False, "using false"),
        ("true - everything passes", False, "using false"),
        ("true (but not the docs)", False, "using false"),
        ("true, but not yet", False, "using false"),
        ("true once merged", False, "using false"),
        ("truely", False, "using false"),
        ("maybe", False, "using false"),
        ("-true", False, "using false"),
    ],
)
def test_how_a_flag_is_read(written: str, flag: bool, words: str) -> None:
    report = report_of(STATUS="COMPLETE", EXIT_SIGNAL=written)
    assert (report.exit_signal, told(report, "EXIT_SIGNAL")) == (flag, words)


def test_a_wish_for_clarification_that_cannot_be_read_asks() -> None:
    block = {"STATUS": "IN_PROGRESS", "EXIT_SIGNAL": "false", "PR_READY": "false"}
    body = lines_of({**block, "CLARIFICATION_NEEDED": "maybe", "FILES_MODIFIED": "0"})
    report = read(clarity(body))
    assert report is not None
    assert report.clarification_needed
    assert told(report, "CLARIFICATION_NEEDED") == "using true, so it asks"


@pytest.mark.parametrize(
    ("written", "number", "words"),
    [
        ("3", 3, ""),
        ("3 files", 3, ""),
        ("<3>", 3, ""),
        ("0", 0, ""),
        ("~3", 3, "using 3"),
        ("12/15", 12, "using 12"),
        ("three", 0, "using 0"),
        ("-1", 0, "using 0"),
        ("9" * 10_000, 999_999_999, "using 999999999"),
        ("0" * 10_000 + "7", 7, "using 7"),
    ],
)
def test_how_a_number_is_read(written: str, number: int, words: str) -> None:
    report = report_of(STATUS="COMPLETE", FILES_MODIFIED=written)
    assert (report.files_modified, told(report, "FILES_MODIFIED")) == (number, words)


def test_status_and_exit_signal_are_read_as_they_are() -> None:
    done = report_of(STATUS="COMPLETE", EXIT_SIGNAL="false")
    assert (done.status, done.exit_signal) == ("COMPLETE", False)
    leaving = report_of(STATUS="IN_PROGRESS", EXIT_SIGNAL="true")
    assert (leaving.status, leaving.exit_signal) == ("IN_PROGRESS", True)


@given(st.text(alphabet="tTruefalsyno_- \t.,;!?()[]<>*`\"'#\u2705:0123456789COMPLETE", max_size=20))
def test_a_value_without_a_problem_says_plainly_what_is_read(value: str) -> None:
    report = read(ralph(f"STATUS: {value}\nEXIT_SIGNAL: {value}\nFILES_MODIFIED: {value}"))
    if report is None:
        return
    bad = {problem.field for problem in report.problems}
    word = re.sub(r"[\W_]+", " ", report.fields["STATUS"]).strip()
    if "STATUS" not in bad:
        assert report.status == word.upper().replace(" ", "_")
    if "EXIT_SIGNAL" not in bad:
        assert report.exit_signal is (word.lower() == "true")
    if "FILES_MODIFIED" not in bad:
        assert str(report.files_modified) in report.fields["FILES_MODIFIED"]


one_line = st.text(
    alphabet=st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), max_size=60
).map(str.strip)


@given(
    st.fixed_dictionaries(
        {"STATUS": st.sampled_from(["IN_PROGRESS", "COMPLETE", "BLOCKED"])},
        optional={
            "FILES_MODIFIED": st.integers(0, 10**9 - 1).map(str),
            "EXIT_SIGNAL": st.sampled_from(["true", "false"]),
            "RECOMMENDATION": one_line.filter(lambda text: text not in {"|", ">"}),
        },
    ),
    st.sampled_from(["", "- ", "  ", "**"]),
)
def test_fields_round_trip(fields: dict[str, str], mark: str) -> None:
    close = "**" if mark == "**" else ""
    body = "\n".join(f"{mark}{key}{close}: {value}" for key, value in fields.items())
    assert fields_of(ralph(body)) == fields
