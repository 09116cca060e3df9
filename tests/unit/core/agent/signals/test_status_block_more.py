"""Which block counts where one is cut, what is reported of it, and what belongs to a shaped one.

Each of these is a change to the reading of blocks that no other test minded.
"""

from __future__ import annotations

import json

import pytest

from ralph_ls.core.agent.signals.status_block import find_blocks, quoted_block_starts
from ralph_ls.core.agent.text import lower
from tests.unit.core.agent.signals.status_blocks import (
    ANY_REPORT,
    BEGIN,
    CLARITY,
    END,
    clarity,
    fields_of,
    lines_of,
    problems_of,
    ralph,
    read,
)


def test_before_a_cut_block_an_earlier_one_of_the_wanted_kind_is_found() -> None:
    cut = f"{BEGIN}\nSTATUS: BLOCKED\n\n"
    assert fields_of(ralph(ANY_REPORT) + cut + clarity(lines_of(CLARITY)))["STATUS"] == "COMPLETE"


def test_a_cut_block_keeps_its_other_problems_and_says_what_it_is() -> None:
    text = f"{BEGIN}\n{ANY_REPORT.replace('COMPLETE', 'DONE', 1)}"
    assert problems_of(text) == ["unknown-value STATUS", "block-unclosed"]
    report = read(text)
    assert report is not None
    assert report.problems[-1].message == (
        "the status block has no end marker; using what could be read"
    )


def test_a_cut_block_may_begin_with_a_word_before_its_first_field() -> None:
    assert fields_of(f"{BEGIN}\nThis is where I am.\n{ANY_REPORT}")["STATUS"] == "COMPLETE"


def test_what_is_indented_below_a_header_belongs_to_it_known_or_not() -> None:
    text = "RALPH_STATUS:\n  STATUS: COMPLETE\n  MOOD: good\n  EXIT_SIGNAL: true\n"
    fields = fields_of(text)
    assert fields["MOOD"] == "good"
    assert fields["EXIT_SIGNAL"] == "true"


def test_a_block_in_an_object_knows_its_text_and_its_fields() -> None:
    written = json.dumps({"STATUS": "COMPLETE", "EXIT_SIGNAL": True})
    (block,) = find_blocks(f'{{"RALPH_STATUS": {written}}}\n')
    assert block.body.strip() == written
    assert block.json_fields is not None
    assert block.json_fields["STATUS"] == "COMPLETE"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"> You asked for a report.\n{ralph(ANY_REPORT)}", id="below-a-quote"),
        pytest.param(f"{BEGIN} STATUS: COMPLETE {END}", id="on-one-line"),
        pytest.param(
            "x " * 200 + f"\n{BEGIN} STATUS: COMPLETE\n{END}", id="field-on-a-late-marker-line"
        ),
        pytest.param(
            f"{BEGIN} | STATUS | COMPLETE |\n| EXIT_SIGNAL | true |\n{END}",
            id="row-on-the-marker-line",
        ),
    ],
)
def test_what_is_around_a_beginning_does_not_hide_it(text: str) -> None:
    assert fields_of(text)["STATUS"] == "COMPLETE"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            f"First {BEGIN} goes here,\nthen {BEGIN} again.",
            [(BEGIN, "other text follows it on its line")] * 2,
            id="mentioned-twice-told-twice",
        ),
        pytest.param(
            "Look:\n> RALPH_STATUS:\n>   STATUS: COMPLETE",
            [("> RALPH_STATUS:", "it is in a quote")],
            id="quote-below-text",
        ),
        pytest.param(f'Write "{BEGIN}" first', [(BEGIN, "it is in a quote")], id="double"),
        pytest.param(f"Write '{BEGIN}' first", [(BEGIN, "it is in a quote")], id="single"),
    ],
)
def test_a_beginning_that_opens_no_block_is_reported_with_its_reason(
    text: str, told: list[tuple[str, str]]
) -> None:
    found = [(text[slice(*span)], why) for span, why in quoted_block_starts(text, lower(text))]
    assert found == told
