"""A document that is typed into must stay what the editor has, whatever it contains."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec, TextDocument

from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.editor.lsp.conversion import code_units
from ralph_ls.editor.lsp.workspace import OpenDocument

ENCODINGS = tuple(types.PositionEncodingKind)


def stock(text: str, encoding: types.PositionEncodingKind = ENCODINGS[1]) -> TextDocument:
    return TextDocument("file:///w/p.md", text, 1, position_codec=PositionCodec(encoding))


def ours(text: str, encoding: types.PositionEncodingKind = ENCODINGS[1]) -> OpenDocument:
    return OpenDocument.of(stock(text, encoding))


def change(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(
        range=types.Range(start=types.Position(*start), end=types.Position(*end)), text=text
    )


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_only_line_ends_of_lsp_end_a_line_and_stock_gets_it_wrong(end: str) -> None:
    text, edit = f"- [ ] a{end}b\n- [ ] c\n", change((1, 6), (1, 7), "C")
    documents = ours(text), stock(text)
    for document in documents:
        document.apply_change(edit)
    assert documents[0].source == f"- [ ] a{end}b\n- [ ] C\n"
    assert documents[1].source != documents[0].source


@pytest.mark.parametrize(
    ("text", "edit", "after"),
    [
        pytest.param("ab", change((0, 1), (0, 1), "X"), "aXb", id="insert"),
        pytest.param("ab\ncd\n", change((0, 1), (1, 1), ""), "ad\n", id="delete-over-lines"),
        pytest.param("ab\r\ncd", change((1, 0), (1, 2), "e"), "ab\r\ne", id="crlf"),
        pytest.param("ab\rcd\re", change((2, 0), (2, 1), "f"), "ab\rcd\rf", id="cr"),
        pytest.param("ab\n", change((1, 0), (1, 0), "c"), "ab\nc", id="at-the-end"),
        pytest.param("ab", change((9, 3), (9, 9), "c"), "abc", id="behind-the-last-line"),
        pytest.param("ab\rc", change((9, 3), (9, 9), "d"), "ab\rcd", id="behind-it-with-cr"),
        pytest.param("ab\ncd", change((0, 9), (0, 9), "!"), "ab!\ncd", id="behind-a-line"),
        pytest.param("", change((0, 0), (0, 0), "a"), "a", id="empty"),
        pytest.param("🚀b\n", change((0, 2), (0, 3), "c"), "🚀c\n", id="surrogate-pair"),
        pytest.param("ab", change((0, 2), (0, 1), "c"), "abc", id="reversed"),
    ],
)
def test_a_change_goes_where_the_editor_made_it(
    text: str, edit: types.TextDocumentContentChangePartial, after: str
) -> None:
    document = ours(text)
    document.apply_change(edit)
    assert document.source == after


def test_a_change_of_the_whole_takes_its_place() -> None:
    document = ours("a")
    document.apply_change(types.TextDocumentContentChangeWholeDocument(text="b"))
    assert document.source == "b"


@given(
    text=st.text(st.sampled_from("ab é🚀\r\n\u2028\x0c")),
    new=st.text(st.sampled_from("x🚀\n")),
    cuts=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    encoding=st.sampled_from(ENCODINGS),
)
def test_any_edit_gives_the_editors_text(
    text: str, new: str, cuts: tuple[int, int], encoding: types.PositionEncodingKind
) -> None:
    places = [
        (number, code_units(line[:column], encoding), start + column)
        for number, (start, line) in enumerate(lines_of(text))
        for column in range(len(line) + 1)
    ]
    start, end = sorted(places[cut % len(places)] for cut in cuts)
    document = ours(text, encoding)
    document.apply_change(change(start[:2], end[:2], new))
    assert document.source == text[: start[2]] + new + text[end[2] :]


@given(text=st.text(st.sampled_from("ab\r\n\u2028")))
def test_lines_make_up_the_text(text: str) -> None:
    document = ours(text)
    assert "".join(document.lines) == text
    n_lines = len(list(lines_of(text)))
    assert len(document.lines) == n_lines - (text == "" or text.endswith(("\r", "\n")))
