from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest

from ralph_ls.core.views.text.summary import (
    CSV_HEADER,
    DISPUTE_STEP,
    NEXT_STEPS,
    STEPS_WITH_BD,
    csv_row,
    format_duration,
    frame_foot,
    frame_head,
    next_step,
    summary_lines,
)
from ralph_ls.protocol.config.config import PathsConfig, ProfileName
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import Blocker, CurrentIteration, End, RunState
from ralph_ls.protocol.run.values import EndReason, PlanCountsView
from tests.unit.core.views.run_states import (
    NOON,
    iteration_ended,
    iteration_started,
    run_started,
    state_after,
)

R_SUMMARY = """\
Ralph Loop Summary
──────────────────
Exit:        COMPLETE (code 0)
Iterations:  12 / 15
Duration:    47m 23s
Stories:     5/5 complete
Avg/iter:    3m 57s
Stuck iters: 1
Log:         ralph/logs/summary.csv"""
"""The resilience loop's summary, letter by letter."""

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


def ended(reason: EndReason, code: int = 0, **changes: Any) -> RunState:
    end = End(reason=reason, exit_code=code, message="so it was", at=NOON)
    return state_after(run_started()).model_copy(update={"end": end, **changes})


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


class TestSummary:
    def test_optional_tasks_that_were_left_alone_are_listed(self) -> None:
        lines = summary_lines(state_after(run_started()), "x.csv", optional=list("abcdefg"))
        assert (
            "Optional:    7 tasks left alone: a, b, c, d, e and 2 more"
            ' (optional = "do" works on them)'
        ) in lines

    def test_it_is_letter_by_letter_the_one_of_the_seed(self) -> None:
        state = ended(
            EndReason.COMPLETE,
            iteration=12,
            counted=12,
            active_seconds=2843.0,
            stuck_iterations=1,
            counts=PlanCountsView(required=5, required_done=5),
        )
        assert "\n".join(summary_lines(state, "ralph/logs/summary.csv")) == R_SUMMARY

    @pytest.mark.parametrize(
        ("reason", "code", "line"),
        [
            (EndReason.LIMIT, 1, "LIMIT (code 1)"),
            (EndReason.BLOCKED, 2, "BLOCKED (code 2)"),
            (EndReason.DECIDE, 3, "DECIDE (code 3)"),
            (EndReason.STUCK, 4, "STUCK (code 4)"),
            (EndReason.FATAL, 5, "FATAL (code 5)"),
            (EndReason.STOPPED, 130, "STOPPED (code 130)"),
            (EndReason.STOPPED, 143, "STOPPED (code 143)"),
        ],
    )
    def test_every_end_has_its_name_and_code(self, reason: EndReason, code: int, line: str) -> None:
        assert f"Exit:        {line}" in summary_lines(ended(reason, code), "x.csv")

    def test_a_run_that_continues_or_never_began_an_iteration_has_one_too(self) -> None:
        lines = summary_lines(state_after(run_started(max_iterations=None)), "x.csv")
        assert lines[2:] == [
            "Exit:        RUNNING",
            "Iterations:  0 / unlimited",
            "Duration:    0s",
            "Stories:     0/0 complete",
            "Avg/iter:    0s",
            "Stuck iters: 0",
            "Log:         x.csv",
        ]


class TestNextStep:
    @pytest.mark.parametrize("reason", [reason for reason in EndReason if reason != "complete"])
    def test_every_end_but_complete_says_what_to_type(self, reason: EndReason) -> None:
        step = next_step(ended(reason, 1))
        assert step is not None
        assert "ralph " in step
        assert not step.endswith(".")
        assert "{" not in step

    @pytest.mark.parametrize("state", [ended(EndReason.COMPLETE), state_after(run_started())])
    def test_a_complete_run_or_one_that_continues_needs_nothing(self, state: RunState) -> None:
        assert next_step(state) is None

    def test_a_complete_run_that_left_a_specification_unplanned_says_how_to_plan(self) -> None:
        state = ended(EndReason.COMPLETE, specs_unplanned=True)
        assert next_step(state) == "ralph replan, for the specifications that no task names"

    def test_the_files_are_named_as_they_are_set(self) -> None:
        paths = PathsConfig(decide="ralph/decide.txt", blocked="ralph/blocked.txt")
        state = ended(EndReason.BLOCKED, 2, blocked=Blocker(reason="no key"))
        state = state.model_copy(
            update={"config": state.config.model_copy(update={"paths": paths})}
        )
        assert "ralph/blocked.txt" in (next_step(state) or "")
        asked = state.model_copy(update={"end": ended(EndReason.DECIDE, 3).end})
        assert "ralph/decide.txt" in (next_step(asked) or "")

    def test_a_plan_in_which_all_is_blocked_is_named(self) -> None:
        assert next_step(ended(EndReason.BLOCKED, 2)) == (
            "unblock a task in @fix_plan.md, then: ralph run --resume"
        )

    def test_a_lost_iteration_with_disputed_changes_is_settled_by_the_user(self) -> None:
        current = CurrentIteration(started=iteration_started(1))
        disputed = ended(EndReason.BLOCKED, 2).model_copy(update={"current": current})
        assert next_step(disputed) == DISPUTE_STEP
        known = disputed.model_copy(update={"blocked": Blocker(reason="no key")})
        assert next_step(known) != DISPUTE_STEP

    @pytest.mark.parametrize(
        "reason", [EndReason.LIMIT, EndReason.BLOCKED, EndReason.STUCK, EndReason.STOPPED]
    )
    def test_where_bd_keeps_the_plan_its_commands_come_first(self, reason: EndReason) -> None:
        state = ended(reason, 1)
        config = state.config.model_copy(update={"profile": ProfileName.BEADS})
        step = next_step(state.model_copy(update={"config": config})) or ""
        assert "bd blocked" in step
        assert "bd list --status in_progress" in step
        assert "ralph " in step

    def test_no_step_is_left_over(self) -> None:
        reasons = {reason.value for reason in EndReason} - {"complete"}
        assert set(STEPS_WITH_BD) < set(NEXT_STEPS)
        assert set(NEXT_STEPS) == reasons | {"plan-blocked"}


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
