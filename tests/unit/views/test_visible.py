from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.views.visible import tame, uncover


@pytest.mark.parametrize(
    ("text", "tamed"),
    [
        ("plain, 漢字, 👩\u200d💻, é\n\tand more", "plain, 漢字, 👩\u200d💻, é\n\tand more"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\rb\x08c\x00", r"a\x0db\x08c\x00"),
        ("\x9b2J\x7f", r"\x9b2J\x7f"),
        ("\u202etxt.exe\u2066", r"\u202etxt.exe\u2066"),
        ("\udcff", r"\udcff"),
    ],
    ids=["harmless", "escapes", "controls", "c1", "direction", "half"],
)
def test_what_steers_a_terminal_is_named_and_all_else_is_kept(text: str, tamed: str) -> None:
    assert tame(text) == tamed


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
    assert uncover(text) == uncovered


@given(st.text(st.characters()))
def test_nothing_gets_through_that_steers(text: str) -> None:
    for shown in (tame(text), uncover(text)):
        kept = {character for character in shown if character not in "\n\t"}
        assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in kept)
    assert tame(tame(text)) == tame(text)
    assert all(character.isprintable() or character in "\n\t" for character in uncover(text))
