from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.text_diff import TextChange, find_text_change, text_changes

texts = st.text(alphabet="ab\n", max_size=20)


@given(texts, texts)
@example("aa", "aaa")
@example("", "")
def test_the_change_makes_one_text_of_the_other(before: str, after: str) -> None:
    start, end, piece = find_text_change(before, after)
    assert before[:start] + piece + before[end:] == after
    assert 0 <= start <= end <= len(before)


@given(texts, texts, texts, texts)
def test_only_changes_are_reported(first: str, old: str, new: str, last: str) -> None:
    start, end, piece = find_text_change(first + old + last, first + new + last)
    assert end - start <= len(old)
    assert len(piece) <= len(new)


def test_a_letter_is_found_in_a_long_text() -> None:
    text = "- [ ] Mend a part of it\n" * 40_000
    for at in (0, 1, 1 << 15, (1 << 15) + 1, 500_000, len(text)):
        assert find_text_change(text, f"{text[:at]}!{text[at:]}") == (at, at, "!")
        assert find_text_change(f"{text[:at]}!{text[at:]}", text) == (at, at + 1, "")


def test_each_line_that_differs_is_a_separate_change() -> None:
    assert text_changes("a\nb\n", "a\nb\n") == ()
    assert text_changes("a\nb\nc\n", "ax\nb\n") == (TextChange(1, 1, "x"), TextChange(4, 6, ""))
