from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.views.model.words import (
    OUTCOME_WORDS,
    claim_words,
    claims_words,
    evidence_words,
    minutes_words,
    one_line,
    recent_words,
    some_lines,
    split_text,
)
from ralph_ls.protocol.run.report import Claims, Report, ReportKind
from ralph_ls.protocol.run.state import IterationFacts
from ralph_ls.protocol.run.values import CommitSeen, Evidence, Outcome


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "file", "2 files"),
        (3, "process", "3 processes"),
    ],
)
def test_counts_agree_with_their_noun(number: int, noun: str, expected: str) -> None:
    assert count_of(number, noun) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), ""), (("a",), "a"), (("a", "b"), "a, b"), (("a", "b", "c", "d"), "a, b and 2 more")],
)
def test_of_many_names_the_first_are_reported(names: tuple[str, ...], expected: str) -> None:
    assert some_of(names, 2) == expected


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (None, ""),
        (Claims(has_status_block=True, confidence=60), ""),
        (Claims(confidence=50, pr_ready=False), "not ready for a pull request, confidence 50"),
        (
            Claims(summary="Round\x1b[2J it", pr_ready=True, confidence=60),
            '"Round\\x1b[2J it", ready for a pull request, confidence 60',
        ),
        (
            Claims(clarification_words=("unclear", "which-option")),
            "needs clarification (unclear, which-option), confidence 0",
        ),
    ],
)
def test_claims_are_shown_where_a_report_does_not_show_them(
    claims: Claims | None, expected: str
) -> None:
    assert claims_words(claims) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5.0, "under 1 min"),
        (59.9, "under 1 min"),
        (60.0, "1 min"),
        (3599.0, "59 min"),
        (7500.0, "2 h 5 min"),
    ],
)
def test_times_change_once_a_minute(seconds: float, expected: str) -> None:
    assert minutes_words(seconds) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n b\tc", "a b c"),
        ("1234567890", "1234567890"),
        ("12345678901", "123456789…"),
        ("12345678 01", "12345678…"),
        ("\u202eevil", "\\u202eevil"),
    ],
)
def test_a_stranger_s_text_fits_on_a_line(text: str, expected: str) -> None:
    assert one_line(text, limit=10 if "\u202e" not in text else 20) == expected


def test_a_claim_names_only_what_the_block_has() -> None:
    clarity = Report(kind=ReportKind.CLARITY_STATUS, fields={"STATUS": "complete"})
    assert claim_words(clarity) == "COMPLETE"
    assert claim_words(Report(kind=ReportKind.RALPH_STATUS)) == "IN_PROGRESS"


def test_no_progress_says_why() -> None:
    nothing = Evidence(why="nothing changed")
    assert evidence_words(nothing) == "0 commits, 0 files, 0 tasks, no progress: nothing changed"
    assert (
        evidence_words(Evidence(files=1, progress=True, why="1 file"))
        == "0 commits, 1 file, 0 tasks"
    )


def test_the_users_commits_are_distinguished() -> None:
    commits = tuple(
        CommitSeen(hash=str(number) * 40, subject="work", files=1, by_person=number > 1)
        for number in (1, 2, 3)
    )
    assert evidence_words(Evidence(commits=commits, files=1, progress=True)) == (
        "1 commit, 1 file, 0 tasks, 2 commits of yours"
    )
    theirs = Evidence(commits=commits[1:2], why="nothing changed")
    assert evidence_words(theirs) == (
        "0 commits, 0 files, 0 tasks, 1 commit of yours, no progress: nothing changed"
    )


def test_what_happened_lately_is_reported_newest_first() -> None:
    recent = (
        IterationFacts(iteration=2, start=2, outcome=Outcome.PROGRESS, files=4, commits=1),
        IterationFacts(iteration=3, start=3, outcome=Outcome.LIMITED),
    )
    assert list(recent_words(recent)) == [
        "iteration 3: usage limit, not counted",
        "iteration 2: progress, 4 files, 1 commit",
    ]


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_has_its_words(outcome: Outcome) -> None:
    assert OUTCOME_WORDS[outcome]


def test_lines_stay_and_what_steers_is_named() -> None:
    assert some_lines(" a  \r\n\r\n\tb\x1b[2J\u202e\n") == "a\n\n\tb\\x1b[2J\\u202e"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("short", 5, ("short", ""), id="whole"),
        pytest.param("one two three", 8, ("one two", "three"), id="between-words"),
        pytest.param("one two three", 7, ("one two", "three"), id="right-behind-a-word"),
        pytest.param("a bcdefghijkl", 10, ("a bcdefghi", "jkl"), id="in-a-long-word"),
        pytest.param("日本語日本語", 4, ("日本語日", "本語"), id="without-spaces"),
        pytest.param("abcde\u0301f", 5, ("abcd", "e\u0301f"), id="before-an-accent"),
        pytest.param("ab👩\u200d💻c", 3, ("ab", "👩\u200d💻c"), id="before-a-joiner"),
        pytest.param("ab👩\u200d💻c", 4, ("ab", "👩\u200d💻c"), id="behind-a-joiner"),
        pytest.param("ab👍🏽c", 3, ("ab", "👍🏽c"), id="before-a-skin-tone"),
        pytest.param("ab🇫🇷c", 3, ("ab", "🇫🇷c"), id="in-a-flag"),
        pytest.param("ab🏴\U000e0067c", 3, ("ab", "🏴\U000e0067c"), id="in-a-tagged-flag"),
        pytest.param("a" + "\u0301" * 9, 4, ("a\u0301\u0301\u0301", "\u0301" * 6), id="no-text"),
    ],
)
def test_a_text_is_parted_where_the_user_would(
    text: str, limit: int, expected: tuple[str, str]
) -> None:
    assert split_text(text, limit) == expected


def test_a_cut_line_keeps_its_last_character_whole() -> None:
    assert one_line("abcde\u0301fgh", limit=6) == "abcd…"


@given(st.text(), st.integers(1, 20))
def test_nothing_is_lost_by_a_cut(text: str, limit: int) -> None:
    shown, rest = split_text(text, limit)
    assert len(shown) <= limit
    assert "".join((shown + rest).split()) == "".join(text.split())
