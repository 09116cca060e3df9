from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import plan_of, problems_of, shown


@pytest.mark.parametrize(
    ("lines", "titles"),
    [
        pytest.param(("```", "- [ ] a", "```", "- [ ] b"), ["b"], id="backticks"),
        pytest.param(("~~~ sh", "- [ ] a", "```", "~~~~", "- [ ] b"), ["b"], id="tildes"),
        pytest.param(("````", "```", "- [ ] a", "````", "- [ ] b"), ["b"], id="longer-outside"),
        pytest.param(("```", "- [ ] a", "``` no", "    ```", "```", "- [ ] b"), ["b"], id="no-end"),
        pytest.param(("```a`b```", "- [ ] b"), ["b"], id="inline-code-is-no-fence"),
        pytest.param(("``", "~~", "<b>", "- [ ] b"), ["b"], id="two-marks-are-no-fence"),
        pytest.param(("- ```", "  - [ ] a", "  ```", "- [ ] b"), ["b"], id="on-a-marker-line"),
        pytest.param(("- [ ] b", "  ```", "  - [ ] a", "c", "- [ ] d"), ["b", "d"], id="item-ends"),
        pytest.param(("- [ ] b", "  ```", "x", "  ```", "- [ ] d"), ["b"], id="reopened"),
        pytest.param(
            ("- [ ] b", "  ```", "  - [ ] a", "```", "- [ ] d"), ["b", "d"], id="left-end"
        ),
        pytest.param(("<!--", "- [ ] a", "--> - [ ] a", "- [ ] b"), ["b"], id="comment"),
        pytest.param(("<!-- x -->", "- [ ] b"), ["b"], id="comment-on-a-line"),
        pytest.param(("- [ ] b <!-- open", "- [ ] c"), ["b <!-- open", "c"], id="mid-line"),
        pytest.param(
            ("- [ ] b", "  <!--", "  - [ ] a", "- [ ] d --> e"), ["b", "d --> e"], id="in"
        ),
        pytest.param(("- [ ] b", "  <!--", "  - [ ] a", "-->", "- [ ] d"), ["b", "d"], id="left"),
        pytest.param(("text", "    - [ ] a", "- [ ] b"), ["b"], id="prose-goes-on"),
        pytest.param(("    - [ ] a", "", "    - [ ] a", "- [ ] b"), ["b"], id="indented-code"),
        pytest.param(("- [ ] b", "", "      - [ ] a", "      - [ ] a"), ["b"], id="code-in-item"),
        pytest.param(("- [ ] b", "      - [ ] c"), ["b", "c"], id="too-deep-is-nested"),
        pytest.param(("   - [ ] b", "", "    - [ ] c"), ["b", "c"], id="crooked"),
        pytest.param(("text", "2. [ ] b"), ["b"], id="box-interrupts-prose"),
        pytest.param(("text", "2. [/] b"), ["b"], id="any-box-interrupts-prose"),
        pytest.param(("- [ ] b", "---", "- [ ] c"), ["b", "c"], id="rule"),
        pytest.param(("- [ ] b", "===", "- [ ] c"), ["b", "c"], id="no-heading-in-an-item"),
    ],
)
def test_boxes_count_where_markdown_shows_them(lines: tuple[str, ...], titles: list[str]) -> None:
    assert [task.title for task in plan_of(*lines).tasks] == titles


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(("- [ ] a", "  ```", "b", "- [ ] c"), [("unclosed-fence", 2)], id="fence"),
        pytest.param(("- [ ] a", "  <!-- b", "", "c"), [("unclosed-comment", 2)], id="comment"),
        pytest.param(("- [ ] a", "  ```", "```"), [], id="end-further-left"),
    ],
)
def test_what_an_item_leaves_open_is_reported(
    lines: tuple[str, ...], expected: list[tuple[str, int]]
) -> None:
    assert problems_of("\n".join(lines)) == expected


def test_a_number_in_prose_begins_no_list() -> None:
    assert shown("The one from", "2024. It was good", "", "2. a") == ["todo a"]
    assert shown("Tasks", "1. a") == ["todo a"]
    assert shown("Tasks", "1) a") == ["todo a"]


@pytest.mark.parametrize(
    ("lines", "section"),
    [
        pytest.param(("# A #", "- [ ] t"), "A", id="closing-marks"),
        pytest.param(("# A#", "- [ ] t"), "A#", id="mark-in-a-word"),
        pytest.param(("#", "- [ ] t"), "", id="empty"),
        pytest.param(("# #", "- [ ] t"), "", id="only-marks"),
        pytest.param(("#\tA", "- [ ] t"), "A", id="tab"),
        pytest.param(("#A", "- [ ] t"), "", id="no-space"),
        pytest.param(("####### A", "- [ ] t"), "", id="seven"),
        pytest.param(("   ## `A` <!-- x -->", "- [ ] t"), "A", id="marks-and-comment"),
        pytest.param(("A", "===", "- [ ] t"), "A", id="underlined"),
        pytest.param(("A", "---", "- [ ] t"), "A", id="underlined-with-dashes"),
        pytest.param(("B", "A", "---", "- [ ] t"), "", id="two-lines-are-prose"),
        pytest.param(("A", "", "---", "- [ ] t"), "", id="a-rule-after-a-blank-line"),
        pytest.param(("A", "--- -", "- [ ] t"), "", id="a-rule-with-spaces"),
        pytest.param(("- x", "  A", "---", "- [ ] t"), "", id="prose-in-an-item"),
        pytest.param(("# A", "- x", "  # B", "- [ ] t"), "A", id="heading-in-an-item"),
        pytest.param(("A", "> b", "---", "- [ ] t"), "", id="a-rule-after-a-quote"),
    ],
)
def test_headings_are_found(lines: tuple[str, ...], section: str) -> None:
    (task,) = plan_of(*lines).tasks
    assert task.section == section


@pytest.mark.parametrize(
    ("lines", "end_line"),
    [
        pytest.param(("- [ ] a",), 0, id="one-line"),
        pytest.param(("- [ ] a", "goes on", "", "text"), 1, id="goes-on"),
        pytest.param(("- [ ] a", "", "  note", "", "text"), 2, id="note-after-a-blank-line"),
        pytest.param(("- [ ] a", "  - n", "    - m", "", "- [ ] b"), 2, id="nested"),
        pytest.param(("- [ ] a", "  ```", "", "  x", "  ```", "- [ ] b"), 4, id="fence"),
        pytest.param(("- [ ] a", "  > q", "> r"), 1, id="quote"),
        pytest.param(("- [ ] a", "# H"), 0, id="heading"),
        pytest.param(("- [ ] a", "  b", "Label:", "- c"), 1, id="label-begins-anew"),
        pytest.param(("- [ ] a", "", "  ", ""), 0, id="blank-lines-at-the-end"),
        pytest.param(("1. [ ] a", "  - note"), 1, id="two-columns-are-enough"),
        pytest.param(("- [ ] a", "\tnote"), 1, id="tab"),
        pytest.param(("-\ta", " \t- [ ] b"), 1, id="tabs"),
    ],
)
def test_an_item_ends_with_what_belongs_to_it(lines: tuple[str, ...], end_line: int) -> None:
    assert plan_of(*lines).tasks[0].end_line == end_line


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- + " * 30_000, id="items-in-items"),
        pytest.param("-\t" * 30_000 + "[ ] x", id="items-in-items-by-tabs"),
        pytest.param("- [ ] " + "<!--" * 200_000, id="comments"),
        pytest.param("- [ ] " + "`<!-- -->" * 100_000, id="comments-in-code"),
        pytest.param("- [ ] " + "[P0]" * 100_000 + "x" + " [P0]" * 100_000, id="tags"),
        pytest.param("- [ ] " + "**a" * 200_000, id="bold"),
        pytest.param("# " + " " * 500_000 + "#(" * 100_000, id="heading"),
        pytest.param("```\n" * 20_001, id="fences"),
        pytest.param("\n".join("  " * n + "- [ ] a" for n in range(1000)), id="deep"),
        pytest.param("- [ ] a\n" + "  - Criteria:\n" * 20_000, id="labels"),
        pytest.param("- [ ] a\n" * 20_000, id="same-title"),
        pytest.param("\r" * 300_000, id="line-endings"),
        pytest.param("`" * 500_000, id="a-long-fence"),
    ],
)
def test_large_and_hostile_texts_are_read(text: str) -> None:
    parsed = parse_markdown(text)
    assert all(len(problem.message) < 300 for problem in parsed.problems)
