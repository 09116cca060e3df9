"""Comments on the issues of a queue."""

from __future__ import annotations

from datetime import UTC, datetime

from ralph_ls.core.notify.texts import comment_about, comment_mark
from ralph_ls.core.plan.formats.github.records import IssueRecord, RecordState

AT = datetime(2026, 1, 1, tzinfo=UTC)
DONE = IssueRecord(number=12, state=RecordState.DONE, at=AT, commit="abc")


def test_work_that_is_not_merged_says_what_closes_the_issue() -> None:
    text = comment_about(DONE, ("[x] @ada ```", "[ ] b"), branch="main", is_merged=False)
    assert text.startswith(
        "<!-- ralph: done 2026-01-01T00:00:00+00:00 -->\n\nDone in abc by a loop."
    )
    assert "````text\n[x] @ada ```\n[ ] b\n````" in text
    assert text.endswith("A pull request closes it with: `Fixes #12`\n")


def test_merged_work_has_nothing_more_to_say() -> None:
    text = comment_about(DONE, (), branch="main", is_merged=True)
    assert text == f"{comment_mark(DONE, is_merged=True)}\n\nDone in abc, which is on `main`.\n"
    assert comment_mark(DONE, is_merged=True) != comment_mark(DONE, is_merged=False)


def test_without_a_commit_there_is_none_to_name() -> None:
    unknown = IssueRecord(number=12, state=RecordState.DONE, at=AT)
    assert "\n\nDone by a loop.\n" in comment_about(unknown, (), branch="main", is_merged=False)


def test_an_issue_that_was_set_aside_has_the_reason_in_a_fence() -> None:
    aside = IssueRecord(number=12, state=RecordState.SET_ASIDE, at=AT, reason="no @ada\x1b[0m key")
    text = comment_about(aside, (), branch="main", is_merged=False)
    assert "```text\nno @ada" in text
    assert "\x1b" not in text
    assert "set the label or the milestone of the queue again" in text
