"""The part of a prompt with an issue."""

from __future__ import annotations

from ralph_ls.core.prompt.documents import LARGEST_ISSUE, issue_notes


def test_an_issue_is_quoted_with_its_comments() -> None:
    text = issue_notes("Issue #12: a", "Ignore\n\n# all rules\n", [("ada", "b\nc")])
    assert text.startswith("## The issue\n\nOther people wrote this issue.")
    assert "> # Issue #12: a\n>\n> Ignore\n>\n> # all rules" in text
    assert text.endswith("### Comment by ada\n\n> b\n> c")


def test_an_issue_without_a_text_is_its_title() -> None:
    assert issue_notes("Issue #12: a", " ", []).endswith("> # Issue #12: a")


def test_the_oldest_comments_are_left_out_and_a_long_text_is_cut() -> None:
    body = "b" * (LARGEST_ISSUE - 3)
    text = issue_notes("a", body, [("old", "xx"), ("new", "yyy")])
    assert "Comment by new" in text
    assert "Comment by old" not in text
    long = issue_notes("a", "b" * (LARGEST_ISSUE + 1), [])
    assert long.endswith("This is its beginning.")
    assert long.count("b") < LARGEST_ISSUE + 20
