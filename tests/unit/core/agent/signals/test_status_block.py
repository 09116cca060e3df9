"""Status blocks in every dress an agent gives them, and which of several counts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.signals.status_block import find_blocks
from ralph_ls.protocol.run.report import ReportKind
from tests.unit.core.agent.signals.status_blocks import (
    ANY_REPORT,
    BEGIN,
    BOLD,
    CLARITY,
    CLARITY_END,
    END,
    RALPH,
    WHOLE,
    clarity,
    fields_of,
    lines_of,
    problems_of,
    ralph,
    read,
)

TABLE = "\n".join(f"| **{key}** | {value} |" for key, value in RALPH.items())
JSON = {
    key: json.loads(value) if value.isdigit() or value == "false" else value
    for key, value in RALPH.items()
}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ralph(WHOLE), id="plain"),
        pytest.param(f"Some text\n\n{ralph(WHOLE)}\nmore", id="between-text"),
        pytest.param(f"Here it is: {ralph(WHOLE)}", id="behind-text-on-its-line"),
        pytest.param(f"```\n{ralph(WHOLE)}```\n", id="fence-around"),
        pytest.param(ralph(f"```\n{WHOLE}\n```"), id="fence-inside"),
        pytest.param(f"```{ralph(WHOLE)}```", id="fence-on-the-marker-line"),
        pytest.param(ralph(BOLD), id="bold-keys"),
        pytest.param(ralph(BOLD.replace(":**", "**:")), id="bold-keys-colon-outside"),
        pytest.param(
            ralph("\n".join(f"**{key}: {value}**" for key, value in RALPH.items())),
            id="bold-lines",
        ),
        pytest.param(ralph(WHOLE.replace(": ", ": **", 1).replace("\n", "**\n", 1)), id="value"),
        pytest.param(ralph("- " + WHOLE.replace("\n", "\n- ")), id="bullets"),
        pytest.param(ralph("* " + BOLD.replace("\n", "\n* ")), id="bold-bullets"),
        pytest.param(ralph("  " + WHOLE.replace("\n", "\n  ")), id="indented"),
        pytest.param(ralph(WHOLE.replace(":", "\uff1a")), id="wide-colons"),
        pytest.param(ralph(WHOLE.replace(": ", ":")), id="no-blank-behind-colon"),
        pytest.param(ralph(WHOLE.replace("EXIT_SIGNAL", "Exit Signal")), id="blank-in-key"),
        pytest.param(
            ralph(lines_of({key.lower(): value for key, value in RALPH.items()})), id="lower-case"
        ),
        pytest.param(f"---ralph_status---\n{WHOLE}\n---end_ralph_status---", id="lower-markers"),
        pytest.param(f"**{BEGIN}**\n{WHOLE}\n**{END}**", id="bold-markers"),
        pytest.param(f"--- RALPH STATUS ---\n{WHOLE}\n--- END RALPH STATUS ---", id="blanks"),
        pytest.param(f"\u2014RALPH_STATUS\u2014\n{WHOLE}\n\u2014END_RALPH_STATUS\u2014", id="dash"),
        pytest.param(f"{BEGIN}\n{WHOLE}\n---END---", id="short-end"),
        pytest.param(f"{BEGIN}\n{WHOLE}\n{CLARITY_END}", id="end-of-the-other-kind"),
        pytest.param(f"{BEGIN}{WHOLE}\n{END}", id="first-field-on-marker-line"),
        pytest.param(f"{BEGIN}  \n\n{WHOLE}\n\n{END}", id="blank-lines"),
        pytest.param("RALPH_STATUS:\n  " + WHOLE.replace("\n", "\n  "), id="yaml"),
        pytest.param(
            "```yaml\nralph_status:\n  " + WHOLE.replace("\n", "\n  ").lower() + "\n```\ntext",
            id="yaml-in-a-fence",
        ),
        pytest.param(
            "RALPH_STATUS:\n  " + WHOLE.replace("\n", "\n  ") + "\n  ---END---",
            id="yaml-with-an-end",
        ),
        pytest.param(
            "**RALPH_STATUS:**\n\n- " + WHOLE.replace("\n", "\n- ") + "\n\ntext", id="yaml-bullets"
        ),
        pytest.param(f"## RALPH_STATUS\n\n{WHOLE}\n\nSome text.", id="heading"),
        pytest.param(f"**RALPH STATUS**\n{WHOLE}", id="bold-line-as-heading"),
        pytest.param(f"### Ralph Status:\n```yaml\n{WHOLE}\n```\ntext", id="fence-under-a-heading"),
        pytest.param(
            "```yaml\n# the report\nRALPH_STATUS: # of this loop\n"
            + "".join(f'  {key}: "{value}"  # so\n' for key, value in RALPH.items())
            + "```\n",
            id="yaml-with-quotes-and-comments",
        ),
        pytest.param(
            "'RALPH_STATUS':\n" + "".join(f"  '{key}': '{RALPH[key]}'\n" for key in RALPH),
            id="yaml-with-quoted-keys",
        ),
        pytest.param(ralph("| Field | Value |\n|---|---|\n" + TABLE), id="table-with-a-head"),
        pytest.param(f"## RALPH_STATUS\n{TABLE}\n\ntext", id="table-under-a-heading"),
        pytest.param(json.dumps({"RALPH_STATUS": JSON}), id="json"),
        pytest.param(
            f"```json\n{json.dumps({'ralph_status': JSON}, indent=2)}\n```", id="json-lines"
        ),
        pytest.param(ralph(json.dumps(JSON)), id="json-between-markers"),
        pytest.param(ralph(f"```json\n{json.dumps(JSON, indent=2)}\n```"), id="json-in-a-fence"),
        pytest.param(f"````md\n```\n{ralph(WHOLE)}```\n````", id="nested-fences"),
    ],
)
def test_a_block_is_read_in_every_dress(text: str) -> None:
    fields = fields_of(text)
    assert {key: value.lower() for key, value in fields.items()} == {
        key: value.lower() for key, value in RALPH.items()
    }
    assert problems_of(text) == []


def test_a_clarity_block_has_its_own_fields() -> None:
    report = read(clarity(lines_of(CLARITY)), ReportKind.CLARITY_STATUS)
    assert report is not None
    assert (report.kind, report.fields, report.problems) == (
        ReportKind.CLARITY_STATUS,
        CLARITY,
        (),
    )


@pytest.mark.parametrize(
    ("text", "preferred", "status"),
    [
        pytest.param(
            ralph("STATUS: BLOCKED") + ralph("STATUS: COMPLETE"),
            "ralphStatus",
            "COMPLETE",
            id="last",
        ),
        pytest.param(
            ralph("STATUS: BLOCKED") + clarity("STATUS: COMPLETE"),
            "ralphStatus",
            "BLOCKED",
            id="preferred-before-last",
        ),
        pytest.param(
            ralph("STATUS: BLOCKED") + clarity("STATUS: COMPLETE"),
            "clarityStatus",
            "COMPLETE",
            id="preferred-clarity",
        ),
        pytest.param(
            clarity("STATUS: BLOCKED") + clarity("STATUS: COMPLETE"),
            "ralphStatus",
            "COMPLETE",
            id="last-of-the-other",
        ),
        pytest.param(
            ralph("STATUS: COMPLETE") + ralph("STATUS: COMPLETE | BLOCKED"),
            "ralphStatus",
            "COMPLETE",
            id="template-does-not-replace",
        ),
        pytest.param(
            ralph("STATUS: BLOCKED") + f"{BEGIN}\nSTATUS: COMPLETE",
            "ralphStatus",
            "COMPLETE",
            id="cut-after-complete",
        ),
        pytest.param(
            f"{BEGIN}\nSTATUS: BLOCKED\n" + clarity("STATUS: COMPLETE"),
            "ralphStatus",
            "COMPLETE",
            id="cut-before-complete-of-the-other",
        ),
        pytest.param(
            f"{BEGIN}\nSTATUS: BLOCKED\n{BEGIN}\nEXIT_SIGNAL: true",
            "ralphStatus",
            "BLOCKED",
            id="cut-without-status-does-not-replace",
        ),
        pytest.param(
            ralph("STATUS: BLOCKED") + f"\nI forgot the {BEGIN}\nand stop here.",
            "ralphStatus",
            "BLOCKED",
            id="mention-after",
        ),
        pytest.param(
            f"{BEGIN}\nRALPH_STATUS:\n  STATUS: COMPLETE\n{END}",
            "ralphStatus",
            "COMPLETE",
            id="yaml-inside-markers",
        ),
    ],
)
def test_the_block_that_counts(text: str, preferred: str, status: str) -> None:
    report = read(text, ReportKind(preferred))
    assert report is not None
    assert report.status == status


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("STATUS: COMPLETE", id="no-markers"),
        pytest.param(f"Put it between {BEGIN} and {END}.", id="prose"),
        pytest.param(f"`{BEGIN}`\nSTATUS: COMPLETE\n`{END}`", id="backticks"),
        pytest.param(f"> {BEGIN}\n> STATUS: COMPLETE\n> {END}", id="block-quote"),
        pytest.param(f"{BEGIN}\nnothing here\n{END}", id="no-fields"),
        pytest.param(f"{BEGIN}\nEXIT_SIGNAL: true", id="cut-without-status"),
        pytest.param(f"{BEGIN}\nSTATUS:\nEXIT_SIGNAL: true", id="cut-with-empty-status"),
        pytest.param(f"{BEGIN}\n", id="cut-at-once"),
        pytest.param(END, id="end-only"),
        pytest.param("RALPH_STATUS:\nis what I will write", id="yaml-word-in-text"),
        pytest.param("RALPH_STATUS:", id="yaml-header-at-the-end"),
        pytest.param(ralph("STATUS: IN_PROGRESS | COMPLETE | BLOCKED"), id="bars"),
        pytest.param(ralph("STATUS: <IN_PROGRESS|COMPLETE>"), id="angles"),
        pytest.param(ralph("STATUS: [COMPLETE or BLOCKED]"), id="or"),
        pytest.param(ralph("STATUS: COMPLETE\nFILES_MODIFIED: <number>"), id="number"),
        pytest.param(ralph("STATUS: COMPLETE\nFILES_MODIFIED: [number]"), id="number-in-brackets"),
        pytest.param(ralph("STATUS: COMPLETE\n**EXIT_SIGNAL:** false | true"), id="bold-boolean"),
        pytest.param(ralph("STATUS: COMPLETE\nEXIT_SIGNAL: true/false"), id="slash"),
        pytest.param(ralph("STATUS: ..."), id="dots"),
        pytest.param("> ## RALPH_STATUS\n> STATUS: COMPLETE", id="heading-in-a-quote"),
        pytest.param("RALPH_STATUS\nSTATUS: COMPLETE", id="a-bare-word-is-no-heading"),
        pytest.param("**RALPH_STATUS**\nis what I write", id="heading-over-prose"),
        pytest.param("RALPH_STATUS:\n```\n", id="heading-over-an-empty-fence"),
        pytest.param('{"RALPH_STATUS": {"STATUS": "COMPLETE | BLOCKED"}}', id="template-in-json"),
        pytest.param('{"RALPH_STATUS": {"STATUS": ', id="json-never-ends"),
        pytest.param('{"RALPH_STATUS": {"STATUS": {"a": 1}}}', id="json-with-an-inner-object"),
        pytest.param('{"RALPH_STATUS": {STATUS: 1}}', id="no-json"),
        pytest.param('{"RALPH_STATUS": {"weather": 1}}', id="json-without-known-fields"),
        pytest.param('{"RALPH_STATUS": {}}', id="json-without-fields"),
        pytest.param(
            '{"RALPH_STATUS": {"STATUS": ' + "[" * 100_000 + "}}", id="json-of-great-depth"
        ),
    ],
)
def test_a_mention_a_quote_or_a_template_is_no_report(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "recommendation"),
    [
        pytest.param("RECOMMENDATION: go", "go", id="no-line-end"),
        pytest.param("RECOMMENDATION: go\non\n\n", "go\non", id="blank-lines"),
        pytest.param("RECOMMENDATION: go\n```\nSome text.", "go", id="end-of-its-fence"),
        pytest.param("RECOMMENDATION: go\n\nSome text.", "go", id="prose-after-a-gap"),
        pytest.param("\nRECOMMENDATION: go", "go", id="field-after-a-gap"),
        pytest.param(f"RECOMMENDATION: go\n{BEGIN}", "go", id="begin-used-as-end"),
    ],
)
def test_a_cut_block_ends_where_it_stops_being_one(text: str, recommendation: str) -> None:
    whole = f"```\n{BEGIN}\n{ANY_REPORT}\n{text}"
    assert fields_of(whole)["RECOMMENDATION"] == recommendation
    assert problems_of(whole) == ["block-unclosed"]


def test_values_in_json_become_text() -> None:
    fields = {
        "STATUS": " COMPLETE ",
        "EXIT_SIGNAL": True,
        "FILES_MODIFIED": 3,
        "WORK_TYPE": None,
        "CLARIFICATION_QUESTIONS": ["Which?", 2],
        "Work summary": "a\nb",
    }
    assert fields_of(json.dumps({"CLARITY_STATUS": fields})) == {
        "STATUS": "COMPLETE",
        "EXIT_SIGNAL": "true",
        "FILES_MODIFIED": "3",
        "WORK_TYPE": "",
        "CLARIFICATION_QUESTIONS": "Which?\n2",
        "WORK_SUMMARY": "a\nb",
    }
    assert problems_of(json.dumps({"CLARITY_STATUS": fields})) == [
        "missing-field PR_READY",
        "missing-field CLARIFICATION_NEEDED",
        "unknown-field WORK_TYPE",
    ]


def test_a_quoted_text_in_yaml_loses_its_quotes() -> None:
    text = 'RALPH_STATUS:\n  STATUS: x\n  RECOMMENDATION: "say \\"go\\""  # now\n'
    assert fields_of(text)["RECOMMENDATION"] == 'say "go"'


def test_a_table_holds_known_fields_alone() -> None:
    text = ralph("| STATUS | BLOCKED |\n| Owner | me |\n\nRECOMMENDATION: go\n| a | b |")
    assert fields_of(text) == {"STATUS": "BLOCKED", "RECOMMENDATION": "go\n| a | b |"}


def test_many_blocks_are_found_each() -> None:
    assert len(find_blocks(ralph("STATUS: BLOCKED") * 1_000)) == 1_000


def test_the_span_of_a_block_is_from_marker_to_marker() -> None:
    text = f"before {ralph('STATUS: BLOCKED')}between\n" + "RALPH_STATUS:\n  STATUS: x\nafter"
    spans = [text[slice(*block.span)] for block in find_blocks(text)]
    assert spans == [ralph("STATUS: BLOCKED").strip(), "RALPH_STATUS:\n  STATUS: x"]


without_markers = st.text().filter(lambda text: "status" not in text.lower())


@given(without_markers, without_markers)
def test_a_block_between_any_texts_without_markers_is_found(before: str, after: str) -> None:
    text = f"{before}\n{ralph(WHOLE)}{after}"
    assert fields_of(text) == RALPH
