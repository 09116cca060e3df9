"""Which block counts where one is cut, what is told of it, and what belongs to a shaped one.

Each of these is a change to the reading of blocks that no other test minded.
"""

from __future__ import annotations

import json

from ralph_ls.core.agent.status_block import find_blocks
from tests.unit.agent.blocks import (
    ANY_REPORT,
    BEGIN,
    CLARITY,
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
        "the status block has no end marker; what could be read of it is used"
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
