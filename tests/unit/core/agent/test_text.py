"""Cleaning text and finding its fences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.agent.text import (
    LiteralHits,
    clean_text,
    is_inside,
    line_around,
    lower,
    merge_spans,
    without_spans,
)
from ralph_ls.core.markdown_fences import fence_spans

FENCED = "```\nin\n```"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("\x1b[1;31mred\x1b[0m", "red", id="colours"),
        pytest.param("a\x1b[2K\x1b[1Gb", "ab", id="cursor"),
        pytest.param("\x9b31mred", "red", id="one-byte-introducer"),
        pytest.param("\x1b]0;title\x07text", "text", id="title-with-bell"),
        pytest.param("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", id="link"),
        pytest.param("\x1b]0;never ended\ntext", "0;never ended\ntext", id="title-never-ended"),
        pytest.param("\x1b(Bx\x1b", "x", id="charset-and-lone-escape"),
        pytest.param("a\r\nb\r\n", "a\nb\n", id="crlf"),
        pytest.param("a\r\r\nb", "a\nb", id="raw-terminal"),
        pytest.param("10%\r20%\rdone", "10%\n20%\ndone", id="progress-bar"),
        pytest.param("\ufeffa", "a", id="byte-order-mark"),
        pytest.param("a\x00b\ufffd", "a\x00b\ufffd", id="nul-and-replacement-stay"),
    ],
)
def test_clean_shows_what_a_terminal_would(raw: str, text: str) -> None:
    assert clean_text(raw) == text


@given(st.text(alphabet=st.sampled_from("a\x1b\x9b[]0;mP\\\x07\r\n")))
def test_clean_leaves_no_escape_and_no_carriage_return(raw: str) -> None:
    assert not {"\x1b", "\r"} & set(clean_text(raw))


@pytest.mark.parametrize(
    ("text", "outside"),
    [
        pytest.param("a\nb", ["a", "b"], id="none"),
        pytest.param(f"a\n{FENCED}\nb", ["a", "b"], id="backticks"),
        pytest.param("a\n~~~py\nin\n~~~\nb", ["a", "b"], id="tildes"),
        pytest.param("a\n````\n```\nin\n````\nb", ["a", "b"], id="longer-fence-holds-shorter"),
        pytest.param("a\n```\n~~~\nin\n```\nb", ["a", "b"], id="other-mark-does-not-close"),
        pytest.param("- ```\n  in\n  ```\nb", ["b"], id="opened-behind-a-list-mark"),
        pytest.param("      ```\n      in\n      ```\nb", ["b"], id="deeply-indented"),
        pytest.param("```code``` a\nb", ["```code``` a", "b"], id="inline-code-is-no-fence"),
        pytest.param("a\n```\nin\nin", ["a"], id="never-closed"),
        pytest.param("a\n~~~\n```py\nin", ["a"], id="never-closed-nested-neither"),
        pytest.param(
            "```md\nin\n```py\nin\n```\nin\n```\nb", ["b"], id="markdown-file-with-a-block-in-it"
        ),
    ],
)
def test_fences_end_where_a_reader_sees_them_end(text: str, outside: list[str]) -> None:
    kept = without_spans(text, fence_spans(text))
    assert [line for line in kept.split("\n") if line] == outside


def test_an_offset_is_inside_from_the_first_character_to_the_last() -> None:
    spans = ((2, 4), (7, 8))
    assert [offset for offset in range(10) if is_inside(spans, offset)] == [2, 3, 7]


def test_overlapping_spans_are_left_out_once() -> None:
    assert without_spans("abcdef", [(3, 5), (1, 4), (1, 2)]) == "a\n\nf"


@pytest.mark.parametrize(
    ("offset", "line"),
    [(0, "ab"), (2, "ab"), (3, ""), (4, "cd"), (6, "cd")],
    ids=["start", "its-newline", "empty", "last", "end"],
)
def test_the_line_around_an_offset(offset: int, line: str) -> None:
    start, end = line_around("ab\n\ncd", offset)
    assert "ab\n\ncd"[start:end] == line


def test_lower_case_leaves_every_character_in_its_place() -> None:
    letters = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
    assert len(lower(letters)) == len(letters)
    assert lower("\u0130X") == "ix"


def test_spans_that_touch_become_one() -> None:
    assert merge_spans([(5, 7), (0, 2), (2, 3), (1, 2), (9, 9)]) == ((0, 3), (5, 7), (9, 9))


@given(
    st.text(alphabet="ab`"),
    st.lists(st.sampled_from(["a", "b", "ab", "`", "```", "x", "~"]), unique=True),
    st.integers(0, 3),
)
def test_literals_are_met_in_their_order(text: str, literals: list[str], step: int) -> None:
    hits = LiteralHits(text, literals)
    position = 0
    while True:
        found = [text.find(literal, position) for literal in literals]
        nearest = min((hit for hit in found if hit >= 0), default=None)
        assert hits.next_from(position) == nearest
        if nearest is None:
            break
        position = nearest + 1 + step


class _Counted(str):
    """A text that counts how often it is searched, and from how far."""

    __slots__ = ("work",)
    work: int

    def find(self, *given: object) -> int:
        hit = str.find(self, *given)  # type: ignore[arg-type]
        start = given[1] if len(given) > 1 else 0
        assert isinstance(start, int)
        self.work += (len(self) if hit < 0 else hit) - start
        return hit


@pytest.mark.parametrize("unit", ["done ", "x", "done finished "])
def test_each_literal_looks_at_each_character_once(unit: str) -> None:
    text = _Counted(unit * 1_000)
    text.work = 0
    hits = LiteralHits(text, ("done", "finished", "nowhere"))
    position = 0
    while (hit := hits.next_from(position)) is not None:
        position = hit + 1
    assert text.work <= 3 * len(text)
