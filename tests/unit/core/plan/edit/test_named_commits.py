"""The log of finished tasks names the commit of each, below its entry."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.progress_log import entries_without_commit, name_commits

LOG = (
    "# Progress Log\n\n## 2026-02-04\n"
    "- [x] b\n    - all tests pass\n\n"
    "- [x] a\n"
    "- [x] known\n  - Commit: abc1234\n"
    "```\n- [x] quoted\n```\n"
    "- [ ] open\n"
    "  - [x] nested\n"
    "1. [X] c\n\nText.\n"
)


def test_entries_are_ticked_items_at_the_margin_that_name_no_commit() -> None:
    assert entries_without_commit(LOG, 9) == {3: 6, 6: 7, 14: 16}
    assert entries_without_commit(LOG, 1) == {3: 6}
    assert entries_without_commit("", 9) == {}


def test_the_commit_comes_first_below_its_entry_and_nothing_else_changes() -> None:
    named = name_commits(LOG, {3: "1111111", 14: "3333333", 0: "4444444"})
    assert named == LOG.replace("- [x] b\n", "- [x] b\n    - Commit: 1111111\n").replace(
        "1. [X] c\n", "1. [X] c\n   - Commit: 3333333\n"
    )
    assert name_commits(LOG, {}) == LOG


@pytest.mark.parametrize("log", ["- [x] a", "- [x] a\r\n", "- [x] a\r\n- [ ] b\r\n"])
def test_line_ends_stay(log: str) -> None:
    ending = "\r\n" if "\r\n" in log else "\n"
    named = name_commits(log, {0: "1111111"})
    assert named.replace(f"{ending}  - Commit: 1111111", "") == log
    assert entries_without_commit(named, 9) == {}
