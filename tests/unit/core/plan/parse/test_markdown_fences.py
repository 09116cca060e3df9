"""Fenced code blocks, line by line and in a whole text, compared with markdown-it-py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ralph_ls.core.markdown_fences import (
    CODE_INDENT,
    fence_spans,
    is_closing,
    leading_run,
    opening_mark,
    opening_run,
)


def lines_by_line(text: str) -> list[tuple[int, int]]:
    """The first line of each fence and the one after its last, found line by line."""
    found: list[tuple[int, int]] = []
    first, run = 0, ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip(" "))
        if run:
            if indent < CODE_INDENT and is_closing(run, line.strip(" \t")):
                found.append((first, number + 1))
                run = ""
        elif leading_run(line):
            first, run = number, opening_run(line, indent)
    return [*found, (first, len(lines))] if run else found


def lines_of_spans(text: str) -> list[tuple[int, int]]:
    """The same of the spans that are found in a whole text."""
    return [
        (text.count("\n", 0, start), text.count("\n", 0, end) + 1)
        for start, end in fence_spans(text)
    ]


def lines_of_markdown_it(text: str) -> list[tuple[int, int]]:
    """The same, as markdown-it-py finds them; an unclosed one extends to the end of the text."""
    found: list[tuple[int, int]] = []
    for token in MarkdownIt().parse(text):
        if token.type == "fence":
            assert token.map is not None
            found.append((token.map[0], token.map[1]))
    return found


TEXTS = {
    "backticks": "```\na\n```\n",
    "tildes": "~~~\na\n~~~\n",
    "with a language": "```sh\na\n```\n",
    "other character does not close": "```\n~~~\n```\n",
    "shorter run does not close": "````\n```\n````\n",
    "longer run closes": "```\na\n`````\n",
    "closing run has no language": "```\n``` sh\n```\n",
    "inline code opens nothing": "```code``` a\n",
    "a backtick in the language opens nothing": "``` a`b\n",
    "a backtick after tildes is allowed": "~~~ a`b\nc\n~~~\n",
    "tildes after tildes are allowed": "~~~ a~~~\nc\n~~~\n",
    "two marks open nothing": "``\na\n~~\n",
    "three spaces in": "   ```\na\n   ```\n",
    "a run four spaces in does not close": "```\n    ```\n```\n",
    "white space after the closing run": "```\na\n``` \t\n",
    "two in a row": "```\n```\n~~~\n~~~\n",
    "never closed": "a\n\n```\nb\n```sh\nc",
    "empty": "",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_fences_found_line_by_line_are_those_of_markdown_it(text: str) -> None:
    assert lines_by_line(text) == lines_of_markdown_it(text)


# Indentation is free in a whole text, and a fence inside an unclosed one is tried as a nested one.
LIBERTIES = {"a run four spaces in does not close"}


@pytest.mark.parametrize("name", sorted(TEXTS.keys() - LIBERTIES))
def test_fences_found_in_a_whole_text_are_those_of_markdown_it(name: str) -> None:
    assert lines_of_spans(TEXTS[name]) == lines_of_markdown_it(TEXTS[name])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("- ```\n  a\n  ```\nb", [(0, 3)], id="behind-a-list-mark"),
        pytest.param("10. ```\na\n```\nb", [(0, 3)], id="behind-a-number"),
        pytest.param("        ```\na\n```\nb", [(0, 3)], id="deeply-indented"),
        pytest.param("```\n    ```\nb\n```\nc", [(0, 2), (3, 5)], id="deep-runs-close"),
        pytest.param("```md\n```sh\na\n```\n```\nb", [(0, 5)], id="nested"),
        pytest.param("```\n```sh\na\n```\nb\n```\nc", [(0, 6)], id="nested-closes-everything"),
    ],
)
def test_a_whole_text_is_read_with_the_liberties_of_prose(
    text: str, lines: list[tuple[int, int]]
) -> None:
    assert lines_of_spans(text) == lines


runs = st.sampled_from(("```", "````", "~~~", "~~~~~", "``", "~~"))
infos = st.sampled_from(("", "", "", " ", "\t", "sh", " text", " a`b", " a~b", "x``` y"))
indents = st.sampled_from(("", "", " ", "   "))
fence_lines = st.builds(lambda indent, run, info: indent + run + info, indents, runs, infos)
deep_lines = st.builds(lambda run: f"    {run}", runs)
# Headings: below a paragraph, a deep line would continue it, and "~~" be more than text.
texts = st.sampled_from(("# a", "# b ``` c", "# ~~~", ""))


@given(st.lists(st.one_of(fence_lines, deep_lines, texts), max_size=12))
def test_lines_of_any_text_are_read_like_markdown_it(lines: list[str]) -> None:
    text = "\n".join([*lines, "# end"])
    assert lines_by_line(text) == lines_of_markdown_it(text)


@given(st.lists(st.one_of(fence_lines, texts), max_size=12))
def test_a_whole_text_whose_fences_are_closed_is_read_like_markdown_it(lines: list[str]) -> None:
    text = "\n".join([*lines, "# end"])
    expected = lines_of_markdown_it(text)
    if not expected or expected[-1][1] < len(lines) + 1:
        assert lines_of_spans(text) == expected


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("```sh", "```"),
        ("~~~~", "~~~~"),
        ("<!-- a", "<!--"),
        ("<!-- a -->", ""),
        ("`a`", ""),
        (" ```", ""),
        ("text", ""),
    ],
)
def test_a_line_opens_a_fence_or_a_comment(line: str, mark: str) -> None:
    assert opening_mark(line) == mark


def test_a_comment_is_closed_anywhere_in_a_line() -> None:
    assert is_closing("<!--", "a --> b")
    assert not is_closing("<!--", "a -- b")


@pytest.mark.parametrize(
    ("line", "run"), [("   ```a`", "```"), ("    ```", ""), ("\t```", ""), ("a ```", "")]
)
def test_a_leading_run_is_at_most_three_spaces_in(line: str, run: str) -> None:
    assert leading_run(line) == run
