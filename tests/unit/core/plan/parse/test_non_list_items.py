"""Plain lines give the tasks that scanning them line by line gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse import blocks
from ralph_ls.core.plan.parse.headings import open_document
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.plain_lines import PLAIN_LINES, plain_rows
from ralph_ls.core.plan.parse.scanner import scan_block
from ralph_ls.core.plan.parse.task_rules import PlanContext, select_tasks
from ralph_ls.core.plan.parse.titles import fold_whitespace, folded_title_id, title_id
from tests.unit.core.plan.parse.test_reparse import long_plans
from tests.unit.core.plan.plan_assertions import plan_texts, shown

WITH_BOXES = PlanContext(
    has_box=True, has_headings=False, numbered=frozenset(), headings=frozenset()
)


@given(long_plans)
@example("- [ ] a\n  - [ ] b\n    - [x] c\n    text\n  - d\n    - [ ] **US-1** e\n- [X] f\n")
@example("- [ ] a\n   - [ ] b\n  - c\n     - [ ] d\n      - [ ] e\n  - [ ] f [P1]\n")
@example("- [ ] a\n  - b\n  text:\n  - [ ] c\n    Needs: d\n  - [ ] Done\n")
@example("- [ ] a\r\n  - [ ] b\r\n  more\r\n\r\n- [x] c")
@example("- [ ] a\n\t- [ ] b\n  - 1. c\n    > d\n    # e\n")
def test_plain_lines_are_read_as_any_other(text: str) -> None:
    sections = (open_document(),)
    starts = [0, *(at + 1 for at, mark in enumerate(text) if mark == "\n")]
    for plain in filter(None, (PLAIN_LINES.match(text, start) for start in starts)):
        scanned = scan_block(plain[0], sections=sections, end=len(plain[0]))
        rows, findings = select_tasks(scanned.items, WITH_BOXES)
        assert plain_rows(plain[0], sections) == rows
        assert findings == []
        for row in rows:
            assert title_id(row.title) == folded_title_id(row.title), "titles are folded"


@given(st.one_of(long_plans, plan_texts))
def test_a_short_plan_is_read_as_a_long_one(text: str) -> None:
    by_blocks = parse_markdown(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LONG_PLAN", len(text) + 1)
        by_lines = parse_markdown(text)
    assert by_lines == by_blocks
    assert by_lines.plan.tally() == by_blocks.plan.tally()
    assert by_lines.guesses == by_blocks.guesses


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("- [ ] a", "  - [ ] b", "    - [ ] c", "  - [ ] d"), id="nested"),
        pytest.param(("- [ ] a", "  - n", "    - [ ] b"), id="below-a-note"),
        pytest.param(("- [ ] a", "    - n", "  - n", "    - [ ] b"), id="a-note-ends"),
        pytest.param(("- [ ] a", "  text", "  - [ ] [P0] b", "- [ ] c"), id="text-and-tag"),
        pytest.param(("1. [ ] a", "   - [x] `b` <c> ~d", "   more of it"), id="numbered"),
    ],
)
def test_lines_below_an_item_are_simple(lines: tuple[str, ...]) -> None:
    text = "\n".join(lines)
    plain = PLAIN_LINES.fullmatch(text)
    assert plain is not None
    rows = plain_rows(text, (open_document(),))
    assert ["  " * row.depth + f"{row.state} {row.title}" for row in rows] == shown(*lines)
    assert all(row.title == fold_whitespace(row.title) for row in rows)
