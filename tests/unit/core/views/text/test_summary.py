from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from ralph_ls.core.views.text.summary import (
    CSV_HEADER,
    csv_row,
    format_duration,
    frame_foot,
    frame_head,
)
from ralph_ls.protocol.run.report import Usage
from tests.unit.core.views.run_states import (
    NOON,
    iteration_ended,
)

S_FRAME = """\
━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
Iteration: 42
Branch: feature/user-auth
Started: 2026-02-04 16:30:15
━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━

[Full agent output here...]

━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
Completed: 2026-02-04 16:32:47
Duration: 2m 32s
Commit: abc1234
Context: 45000/200000 tokens (22.5%)
Cost: $0.15
━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━
"""
"""S, Log File Format, letter by letter."""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (-3.5, "0s"),
        (0.4, "0s"),
        (0.6, "1s"),
        (59.4, "59s"),
        (59.6, "1m 0s"),
        (152, "2m 32s"),
        (2843, "47m 23s"),
        (3599.5, "1h 0m 0s"),
        (7385, "2h 3m 5s"),
        (90000, "25h 0m 0s"),
    ],
)
def test_durations_are_reported_in_hours_minutes_and_seconds(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words


class TestCsv:
    def test_the_header_is_the_one_of_the_seed(self) -> None:
        assert ",".join(CSV_HEADER) == (
            "iteration,mode,duration_seconds,commit_hash,"
            "stories_complete,stories_total,stuck_count,timestamp"
        )

    def test_a_row_holds_the_short_commit_and_the_end_in_utc(self) -> None:
        elsewhere = NOON.astimezone(timezone(timedelta(hours=9)))
        row = csv_row(iteration_ended(3, seconds=126.6, stuck_count=2, at=elsewhere))
        assert row == ("3", "build", "127", "abc1234", "2", "5", "2", "2026-01-31T12:00:00Z")

    def test_without_a_commit_the_column_is_empty(self) -> None:
        assert csv_row(iteration_ended(commit=None))[3] == ""

    def test_parts_of_a_second_are_cut_not_rounded_into_the_next(self) -> None:
        late = NOON.replace(minute=59, second=59, microsecond=999_999)
        assert csv_row(iteration_ended(at=late))[7] == "2026-01-31T12:59:59Z"


class TestFrame:
    def test_it_is_letter_by_letter_the_one_of_the_seed(self) -> None:
        started = NOON.replace(month=2, day=4, hour=16, minute=30, second=15)
        usage = Usage(context_tokens=45000, context_window=200000, cost_usd=0.15)
        head = frame_head(42, "feature/user-auth", started)
        foot = frame_foot(
            iteration_ended(42, seconds=152.2, usage=usage), started + timedelta(seconds=152)
        )
        assert f"{head}[Full agent output here...]\n{foot}" == f"{S_FRAME}\n"

    @pytest.mark.parametrize(
        "usage",
        [
            None,
            Usage(),
            Usage(context_tokens=45000),
            Usage(context_window=200000),
            Usage(context_tokens=1, context_window=0),
        ],
    )
    def test_what_is_not_known_is_left_out(self, usage: Usage | None) -> None:
        foot = frame_foot(iteration_ended(commit=None, usage=usage), NOON)
        names = [line.partition(":")[0] for line in foot.splitlines() if ":" in line]
        assert names == ["Completed", "Duration"]

    def test_a_detached_head_is_reported(self) -> None:
        assert "\nBranch: (detached)\n" in frame_head(1, None, NOON)
