from __future__ import annotations

import pytest

from ralph_ls.core.views.words import claims_of, facts_of, minutes, one_line, several
from ralph_ls.protocol.evidence import Evidence
from ralph_ls.protocol.report import Report, ReportKind


@pytest.mark.parametrize(("count", "expected"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_counts_agree_with_their_noun(count: int, expected: str) -> None:
    assert several(count, "file") == expected


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
    assert minutes(seconds) == expected


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
    assert claims_of(clarity) == "COMPLETE"
    assert claims_of(Report(kind=ReportKind.RALPH_STATUS)) == "IN_PROGRESS"


def test_no_progress_says_why() -> None:
    nothing = Evidence(why="nothing changed")
    assert facts_of(nothing) == "0 commits, 0 files, 0 tasks, no progress: nothing changed"
    assert facts_of(Evidence(files=1, progress=True, why="1 file")) == "0 commits, 1 file, 0 tasks"
