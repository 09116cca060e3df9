"""Which lines are fields, what a value loses, what of a problem is shown, what a template is.

Each of these is a change to the reading of fields that no other test minded.
"""

from __future__ import annotations

import pytest

from ralph_ls.core.agent.signals.block_fields import find_template
from tests.unit.core.agent.signals.status_blocks import (
    ANY_REPORT,
    BEGIN,
    END,
    fields_of,
    lines_of,
    ralph,
    read,
)

TABLE = "| Field | Value |\n|---|---|\n| STATUS | BLOCKED |\n| EXIT_SIGNAL | true |"


def messages_of(text: str) -> list[str]:
    report = read(text)
    assert report is not None
    return [problem.message for problem in report.problems]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param("Exit-Signal: true", {"EXIT_SIGNAL": "true"}, id="hyphen-in-a-key"),
        pytest.param(
            "STATUS: BLOCKED\nETA: soon", {"STATUS": "BLOCKED", "ETA": "soon"}, id="short-key"
        ),
        pytest.param(
            "- STATUS: BLOCKED\n- MOOD: good", {"STATUS": "BLOCKED", "MOOD": "good"}, id="items"
        ),
        pytest.param(
            "- STATUS: BLOCKED\n- RECOMMENDATION: go\nNOTE: on",
            {"STATUS": "BLOCKED", "RECOMMENDATION": "go\nNOTE: on"},
            id="a-line-below-items",
        ),
        pytest.param(
            "STATUS: BLOCKED\nRECOMMENDATION:\n- NOTE: on",
            {"STATUS": "BLOCKED", "RECOMMENDATION": "- NOTE: on"},
            id="an-item-below-lines",
        ),
        pytest.param(
            "| STATUS | BLOCKED |\nRECOMMENDATION:\n- NOTE: on",
            {"STATUS": "BLOCKED", "RECOMMENDATION": "- NOTE: on"},
            id="an-item-below-a-row",
        ),
        pytest.param(
            "| STATUS | BLOCKED |\n| RECOMMENDATION | go |\n| OWNER | me |",
            {"STATUS": "BLOCKED", "RECOMMENDATION": "go\n| OWNER | me |"},
            id="an-unknown-row",
        ),
        pytest.param(
            "STATUS: BLOCKED\nRECOMMENDATION: go\nPLEASE NOTE: wait",
            {"STATUS": "BLOCKED", "RECOMMENDATION": "go\nPLEASE NOTE: wait"},
            id="words-in-capitals",
        ),
        pytest.param(
            "status: blocked\nrecommendation: see\nhttp://x/y",
            {"STATUS": "blocked", "RECOMMENDATION": "see\nhttp://x/y"},
            id="an-address-below-small-keys",
        ),
    ],
)
def test_which_lines_are_fields(body: str, fields: dict[str, str]) -> None:
    assert fields_of(ralph(body)) == fields


@pytest.mark.parametrize(
    ("body", "key", "value"),
    [
        pytest.param(
            "**RECOMMENDATION**: **Stop** and **look**",
            "RECOMMENDATION",
            "**Stop** and **look**",
            id="marks-beside-a-bold-key",
        ),
        pytest.param("STATUS: X", "STATUS", "X", id="a-letter"),
        pytest.param("STATUS: COMPLETE # all # of it", "STATUS", "COMPLETE", id="two-comments"),
        pytest.param(
            '"RECOMMENDATION": stop tests', "RECOMMENDATION", "stop tests", id="same-letters"
        ),
        pytest.param('"RECOMMENDATION": "', "RECOMMENDATION", '"', id="one-quote"),
        pytest.param('"RECOMMENDATION": "",', "RECOMMENDATION", "", id="nothing-in-quotes"),
    ],
)
def test_a_value_loses_only_what_is_around_it(body: str, key: str, value: str) -> None:
    assert fields_of(ralph(body))[key] == value


def test_an_indented_table_is_read_without_a_word_about_its_head() -> None:
    text = ralph("  " + TABLE.replace("\n", "\n  "))
    assert fields_of(text) == {"STATUS": "BLOCKED", "EXIT_SIGNAL": "true"}
    assert not [message for message in messages_of(text) if "has no field" in message]


def test_bold_markers_around_nothing_are_an_empty_block() -> None:
    assert messages_of(f"**{BEGIN}**\n**{END}**") == [
        "STATUS is missing; using IN_PROGRESS",
        "EXIT_SIGNAL is missing; using false",
        "TASKS_COMPLETED_THIS_LOOP is missing; using 0",
        "FILES_MODIFIED is missing; using 0",
    ]


def test_an_unknown_value_is_reported_with_those_that_are_known() -> None:
    (message,) = messages_of(ralph(ANY_REPORT.replace("COMPLETE", "DONE", 1)))
    assert message == (
        "STATUS is 'DONE', not one of IN_PROGRESS, COMPLETE, BLOCKED; using IN_PROGRESS"
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x" * 100 + f"\n{ANY_REPORT}", id="stray"),
        pytest.param(f"{ANY_REPORT}\nSTATUS: " + "x" * 100, id="duplicate"),
        pytest.param(ANY_REPORT.replace("COMPLETE", "x" * 100, 1), id="unknown-value"),
    ],
)
def test_of_a_long_text_a_problem_shows_eighty_characters(body: str) -> None:
    (message,) = messages_of(ralph(body))
    assert message.count("x" * 80) == 1
    assert "x" * 81 not in message


@pytest.mark.parametrize(
    ("written", "template"),
    [
        ("<number>", "FILES_MODIFIED: <number>"),
        ("`<number>`", "FILES_MODIFIED: `<number>`"),
        ("<number>  # of this loop", "FILES_MODIFIED: <number>  # of this loop"),
        ("3", ""),
    ],
)
def test_the_field_that_makes_a_block_a_template(written: str, template: str) -> None:
    body = lines_of({"STATUS": "COMPLETE", "FILES_MODIFIED": written, "EXIT_SIGNAL": "true"})
    assert find_template(body) == template
