"""What is read out of a block: values, problems, and nothing that was not written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.agent.blocks import ANY_REPORT, CLARITY, RALPH, WHOLE, fields_of, problems_of, ralph


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
        pytest.param(ANY_REPORT.replace("true", "YES"), [], id="yes"),
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
def test_problems_are_told_and_the_report_is_used(body: str, problems: list[str]) -> None:
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
        pytest.param("STATUS: \u2705 **COMPLETE**.", "STATUS", "COMPLETE", id="decorated"),
        pytest.param("STATUS: `COMPLETE`", "STATUS", "COMPLETE", id="code"),
        pytest.param("STATUS: \u2705", "STATUS", "", id="only-decoration"),
        pytest.param("EXIT_SIGNAL: [true]", "EXIT_SIGNAL", "[true]", id="brackets-stay"),
        pytest.param(
            "RECOMMENDATION: <one line summary>", "RECOMMENDATION", "<one line summary>", id="text"
        ),
    ],
)
def test_a_value_is_kept_as_it_was_written(body: str, key: str, value: str) -> None:
    assert fields_of(ralph(body))[key] == value


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
