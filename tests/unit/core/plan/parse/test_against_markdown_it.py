"""The hand scanner against markdown-it-py: what is a list item, a heading, a fence, a comment.

They are held against each other where the scanner takes no liberties (its module says which):
lists are indented as CommonMark has them, and every fence is closed in the item that it is in.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.headings import open_document
from ralph_ls.core.plan.parse.scanner import scan_block
from tests.unit.core.plan.plan_assertions import PLANS

SAMPLES = sorted(path.name for path in PLANS.glob("*.md"))


def ours(text: str) -> list[tuple[int, str]]:
    """The line of each list item, and the heading above it."""
    scanned = scan_block(text, sections=(open_document(),), end=len(text))
    return [(item.line, item.section.title) for item in scanned.items if item.kind is TaskKind.ITEM]


def theirs(text: str) -> list[tuple[int, str]]:
    """The same, as markdown-it-py sees it; what is quoted is not said."""
    return list(_items(text.removeprefix("\ufeff")))


def _items(text: str) -> Iterator[tuple[int, str]]:
    heading, is_in_heading, n_quotes = "", False, 0
    for token in MarkdownIt().parse(text):
        n_quotes += token.nesting if token.type.startswith("blockquote") else 0
        if token.type == "heading_open" and token.level == 0:
            is_in_heading = True
        elif token.type == "inline" and is_in_heading:
            heading, is_in_heading = token.content.replace("`", ""), False
        elif token.type == "list_item_open" and not n_quotes:
            assert token.map is not None
            yield token.map[0], heading


words = st.sampled_from(
    ("Fix it", "Add a page", "日本語", "with `code` in it", "1984 was long ago")
)
boxes = st.sampled_from(("", "", "[ ] ", "[x] ", "[~] "))
markers = st.sampled_from(("-", "-", "*", "+", "1.", "2)", "10."))
hidden = st.lists(
    st.sampled_from(("- [ ] hidden", "  - [x] hidden", "# Hidden", "", "    text", "1. hidden")),
    max_size=4,
)
paragraphs = st.lists(words, min_size=1, max_size=2)
fences = st.builds(
    lambda mark, info, lines: [mark + info, *lines, mark],
    st.sampled_from(("```", "~~~", "`````")),
    st.sampled_from(("", "sh", " text")),
    hidden,
)
comments = st.builds(
    lambda lines: ["<!-- gone", *(line for line in lines if line), "-->"], hidden
) | st.just(["<!-- gone -->"])
headings = st.builds(
    lambda marks, title: [f"{marks} {title}"], st.sampled_from(("#", "##", "####")), words
)
underlined = st.builds(lambda title, rule: [title, rule], words, st.sampled_from(("===", "-----")))
rules = st.sampled_from((["***"], ["- - -"], ["___"]))


def items(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    """Lists of one item, whose further blocks are indented like its text."""

    def put(marker: str, box: str, text: str, blocks: list[list[str]], gap: bool) -> list[str]:
        lines = [f"{marker} {box}{text}"]
        indent = " " * (len(marker) + 1)
        for block in blocks:
            # Of numbers only 1 interrupts a paragraph there.
            lines += [""] if gap or block[0].startswith(("2)", "10.")) else []
            lines += [indent + line if line else "" for line in block]
        return lines

    nested = st.lists(inner, max_size=3)
    return st.builds(put, markers, boxes, words, nested, st.booleans())


in_items = st.recursive(fences | comments, items, max_leaves=6)
blocks = st.one_of(paragraphs, fences, comments, headings, underlined, rules, items(in_items))
documents = st.lists(blocks, max_size=8).map(
    lambda found: "\n\n".join("\n".join(block) for block in found) + "\n"
)


@given(documents)
def test_items_and_headings_are_found_where_markdown_it_finds_them(text: str) -> None:
    assert ours(text) == theirs(text)


@given(documents, st.sampled_from(("```\n", "~~~ sh\n", "<!--\n")))
def test_what_is_left_open_hides_the_rest_in_both(text: str, opening: str) -> None:
    text = f"{text}\ntext\n\n{opening}- [ ] hidden\n# Hidden\n- hidden"
    assert ours(text) == theirs(text)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_samples_are_scanned_alike(name: str) -> None:
    text = (PLANS / name).read_bytes().decode("utf-8").replace("\r\n", "\n")
    assert [line for line, _ in ours(text)] == [line for line, _ in theirs(text)]
