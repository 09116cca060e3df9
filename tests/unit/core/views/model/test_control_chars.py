from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.views.model.control_chars import (
    OutputText,
    escape_control_chars,
    escape_json,
    escape_nonprintable,
    escape_program_output,
)


@pytest.mark.parametrize(
    ("text", "tamed"),
    [
        ("plain, 漢字, 👩\u200d💻, é\n\tand more", "plain, 漢字, 👩\u200d💻, é\n\tand more"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\rb\x08c\x00", r"a\x0db\x08c\x00"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("\u202etxt.exe\u2066", r"\u202etxt.exe\u2066"),
        ("a\u200eb\u200fc\u061c", r"a\u200eb\u200fc\u061c"),
        ("\udcff", r"\udcff"),
    ],
    ids=["harmless", "escapes", "controls", "c1", "direction", "marks", "half"],
)
def test_what_steers_a_terminal_is_named_and_all_else_is_kept(text: str, tamed: str) -> None:
    assert escape_control_chars(text) == tamed


@pytest.mark.parametrize(
    ("text", "uncovered"),
    [
        ("plain, 漢字\n\t", "plain, 漢字\n\t"),
        ("a\u200bb\u00a0c", r"a\u200bb\xa0c"),
        ("\U000e0041", r"\U000e0041"),
    ],
    ids=["harmless", "spaces-that-are-none", "tags"],
)
def test_what_has_no_shape_is_named_for_who_decides_by_it(text: str, uncovered: str) -> None:
    assert escape_nonprintable(text) == uncovered


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m 50 %\r60 %", "\x1b[1;31mred\x1b[0m 50 %\r60 %"),
        ("\x1b[2J\x1b]0;title\x07\x9b1m", r"\x1b[2J\x1b]0;title\x07\x9b1m"),
        ("a\u202eb\u2028c\x08", r"a\u202eb\u2028c\x08"),
    ],
    ids=["colours", "escapes", "controls"],
)
def test_colours_of_a_program_stay_and_nothing_else(text: str, shown: str) -> None:
    assert escape_program_output(text) == shown


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
)
def test_json_means_the_same_and_steers_nothing(value: dict[str, str]) -> None:
    escaped = escape_json(json.dumps(value, ensure_ascii=False))
    assert json.loads(escaped) == value
    assert all(unicodedata.category(each) != "Cc" for each in escaped)
    bidirectional = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    assert not bidirectional & set(map(unicodedata.bidirectional, escaped))
    assert not set("\u200e\u200f\u061c\u2028\u2029\ufeff") & set(escaped)


def test_what_json_escapes_reads_as_before() -> None:
    assert escape_json('{"a": "\x9b\u202e\u00e9"}') == '{"a": "\\u009b\\u202eé"}'


@given(st.text(st.characters()))
def test_nothing_gets_through_that_steers(text: str) -> None:
    for shown in (escape_control_chars(text), escape_nonprintable(text)):
        kept = {character for character in shown if character not in "\n\t"}
        assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in kept)
    assert escape_control_chars(escape_control_chars(text)) == escape_control_chars(text)
    assert all(
        character.isprintable() or character in "\n\t" for character in escape_nonprintable(text)
    )


def fed(*pieces: bytes) -> str:
    output = OutputText()
    return "".join([*map(output.feed, pieces), output.feed(b"", final=True)])


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        (b"\x1b[31mred\x1b[0m and \x1b[2K\x1b[1Gplain\n", "red and plain\n"),
        (b"a\r\nb\r50%\r100%", "a\nb\n50%\n100%"),
        (b"\x1b]0;title\x07 \xe2\x80\xae", "\\x1b]0;title\\x07 \\u202e"),
        ("né ".encode() + b"\xff", "né \ufffd"),
        (b"cut \x1b[3", "cut \\x1b[3"),
    ],
    ids=["sequences", "line ends", "controls", "bytes", "unfinished"],
)
def test_output_in_a_log_is_text_wherever_it_was_cut(said: bytes, logged: str) -> None:
    assert fed(said) == logged
    assert fed(*(said[at : at + 1] for at in range(len(said)))) == logged


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_no_output_steers_the_reader_of_a_log(pieces: list[bytes]) -> None:
    text = fed(*pieces)
    assert text == escape_control_chars(text)
    assert "\r" not in text
