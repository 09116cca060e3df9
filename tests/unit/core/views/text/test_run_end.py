from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.text.run_end import (
    DISPUTE_STEP,
    NEXT_STEPS,
    STEPS_WITH_BD,
    agent_claims,
    counter_words,
    last_words,
    next_step,
    summary_lines,
    task_words,
    trouble,
)
from ralph_ls.protocol.config.config import PathsConfig, ProfileName
from ralph_ls.protocol.run.events import Committed, GuardReverted, TaskSetAside, Warned
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.report import AgentFailure, Report, ReportKind, Usage
from ralph_ls.protocol.run.state import Blocker, CurrentIteration, End, RunState
from ralph_ls.protocol.run.values import (
    Breaker,
    BreakerState,
    CommitSeen,
    EndReason,
    Mode,
    Outcome,
    Phase,
    PlanCountsView,
    TaskRef,
)
from tests.unit.core.views.run_states import (
    COMMIT,
    NOON,
    TASK,
    event,
    evidence,
    iteration_ended,
    iteration_started,
    phase,
    report,
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


def ended(reason: EndReason, code: int = 0, **changes: Any) -> RunState:
    end = End(reason=reason, exit_code=code, message="so it was", at=NOON)
    return state_after(run_started()).model_copy(update={"end": end, **changes})


CLEAR = TaskRef(id="c1", title="Clear the desk")
WORK = (
    run_started(),
    iteration_started(1, start=1),
    report(RECOMMENDATION="tidy up next"),
    evidence(
        files=2,
        paths=("a.py", "b.py"),
        commits=(
            CommitSeen(hash=COMMIT, subject="x"),
            CommitSeen(hash=COMMIT, subject="mine", by_person=True),
        ),
        tasks_done=(TASK.id,),
    ),
    event(Committed, iteration=1, start=1, commit=COMMIT, subject="ralph: x", files=2),
    iteration_ended(
        1,
        start=1,
        usage=Usage(input_tokens=30_000, output_tokens=1_000, cost_usd=0.5),
        counts=PlanCountsView(),
    ),
    iteration_started(2, start=2, task=CLEAR, mode=Mode.PLAN),
    event(TaskSetAside, iteration=2, start=2, task=CLEAR, attempts=3, reason="it needs\na key"),
    iteration_ended(2, start=2, seconds=60.0, mode=Mode.PLAN, counts=PlanCountsView()),
)


def worked() -> RunState:
    """A run that finished one task and set another one aside."""
    return state_after(*WORK).model_copy(
        update={"end": ended(EndReason.COMPLETE).end, "active_seconds": 0.0}
    )


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
        config = state.config.model_copy(update={"profile": ProfileName.STORIES})
        state = state.model_copy(update={"config": config})
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
            "Tasks:       none attempted, none open",
            "Avg/iter:    0s",
            "Stuck iters: 0",
            "Log:         x.csv",
        ]

    def test_it_says_what_the_run_did_although_the_plan_does_not_hold_it_any_more(self) -> None:
        lines = summary_lines(worked(), "x.csv")
        assert lines[2:] == [
            "Exit:        COMPLETE (code 0)",
            "Reason:      so it was",
            "Iterations:  2 / 15",
            "Duration:    0s",
            "Tasks:       1 done of 2 attempted, none open",
            "Modes:       build 2m 32s, plan 1m 0s",
            "Commits:     2",
            "Files:       2 changed",
            "Cost:        $0.50, 31k tokens",
            "Avg/iter:    0s",
            "Stuck iters: 0",
            "Set aside:   Clear the desk, in iteration 2 after 3 attempts: it needs a key",
            "Agent says:  IN_PROGRESS, 2 files, tests passing (iteration 1): tidy up next",
            "Log:         x.csv",
        ]

    def test_what_was_restored_and_what_is_in_no_commit_is_on_it(self) -> None:
        restored = event(GuardReverted, iteration=1, path="plan.md", what=Forbidden.DROPPED)
        left = event(Warned, iteration=1, code="left-uncommitted", message="it left 1 file: a.py")
        state = state_after(run_started(), iteration_started(), restored, left, iteration_ended())
        lines = summary_lines(state, "x.csv")
        assert "Restored:    1 forbidden change (see the log)" in lines
        assert "Uncommitted: it left 1 file: a.py" in lines
        later = state_after(
            run_started(), iteration_started(), left, iteration_ended(), iteration_started(2)
        )
        assert not [one for one in summary_lines(later, "x.csv") if "Uncommitted" in one]

    def test_an_agent_that_ran_out_of_time_needs_more_of_it(self) -> None:
        ended_so = iteration_ended(failure=AgentFailure.TIMED_OUT)
        state = state_after(run_started(), iteration_started(), ended_so)
        end = End(reason=EndReason.FATAL, exit_code=5, message="so", at=NOON)
        step = next_step(state.model_copy(update={"end": end}))
        assert step == "set a longer timeout in .ralph/config.toml, then: ralph run --resume"

    def test_more_tasks_that_were_set_aside_are_counted(self) -> None:
        aside = [
            event(TaskSetAside, iteration=1, task=TaskRef(id=f"{n}", title=f"T{n}"), reason="no")
            for n in range(7)
        ]
        state = state_after(run_started(), iteration_started(), *aside, iteration_ended())
        lines = summary_lines(state, "x.csv")
        assert "Set aside:   T0, in iteration 1: no" in lines
        assert "             T4, in iteration 1: no" in lines
        assert "             and 2 more: ralph doctor" in lines

    @pytest.mark.parametrize(
        ("usage", "words"),
        [
            (None, "not reported by the agent"),
            (Usage(input_tokens=900), "not reported by the agent, 900 tokens"),
            (Usage(cost_usd=0.5, estimated=True), "≈$0.50"),
        ],
    )
    def test_a_cost_that_nobody_reported_is_not_shown_as_none(
        self, usage: Usage | None, words: str
    ) -> None:
        state = ended(EndReason.LIMIT, 1, start=1, usage=usage)
        assert f"Cost:        {words}" in summary_lines(state, "x.csv")

    def test_files_that_are_not_known_by_path_are_a_lower_bound(self) -> None:
        wide = evidence(files=70, paths=tuple(f"{n}.py" for n in range(50)))
        state = state_after(run_started(), iteration_started(), wide, iteration_ended())
        assert "Files:       at least 70 changed" in summary_lines(state, "x.csv")

    def test_failed_iterations_are_counted_by_the_kind_of_failure(self) -> None:
        failed = [
            iteration_ended(n, failure=kind)
            for n, kind in enumerate([AgentFailure.TIMED_OUT, None, AgentFailure.TIMED_OUT], 1)
        ]
        state = state_after(run_started(), iteration_started(), *failed)
        assert "Failures:    timed out 2" in summary_lines(state, "x.csv")

    def test_a_limit_below_what_was_used_is_named_beside_it(self) -> None:
        state = state_after(run_started(max_iterations=2)).model_copy(update={"counted": 5})
        assert "Iterations:  5 (limit 2)" in summary_lines(state, "x.csv")

    def test_open_and_blocked_tasks_are_what_is_left(self) -> None:
        counts = PlanCountsView(open_required=3, blocked_required=1)
        assert task_words(RunState(counts=counts)) == "none attempted, 3 open (1 blocked)"

    def test_a_task_that_is_tried_again_is_not_set_aside_any_more(self) -> None:
        assert worked().set_aside != ()
        other = iteration_started(3, start=3, task=CLEAR)
        assert state_after(*WORK, other).set_aside == ()


class TestTrouble:
    def test_of_a_stuck_run_is_its_counters_and_errors(self) -> None:
        state = state_after(
            run_started(max_stuck=3),
            iteration_started(),
            iteration_ended(
                outcome=Outcome.NO_PROGRESS, commit=None, errors=("Error: no foo", "failed: x")
            ),
        )
        breaker = Breaker(state=BreakerState.OPEN, consecutive_same_error=5)
        state = state.model_copy(
            update={"end": ended(EndReason.STUCK, 4).end, "breaker": breaker, "stuck_count": 2}
        )
        told = [
            (
                "In a row",
                "5 of 5 iterations with the same error, 2 of 3 iterations without a commit",
            ),
            ("Error", "Error: no foo"),
            ("Error", "failed: x"),
        ]
        assert trouble(state) == told
        assert "Error:       failed: x" in summary_lines(state, "x.csv")

    def test_of_a_run_that_waits_for_a_reset_is_shown_too(self) -> None:
        state = state_after(run_started(), phase(Phase.PARKED, "stuck"))
        assert trouble(state) == []
        breaker = Breaker(consecutive_no_progress=3)
        assert trouble(state.model_copy(update={"breaker": breaker})) != []

    def test_other_runs_have_none(self) -> None:
        breaker = Breaker(consecutive_no_progress=3)
        assert trouble(ended(EndReason.LIMIT, 1, breaker=breaker)) == []
        assert trouble(state_after(run_started()).model_copy(update={"breaker": breaker})) == []

    def test_a_threshold_that_is_off_is_left_out(self) -> None:
        state = state_after(run_started(breaker={"refused_completions_open": 0}))
        breaker = Breaker(consecutive_refusals=2)
        told = [*counter_words(state.model_copy(update={"breaker": breaker}))]
        assert told == ["2 iterations with a refused completion"]

    def test_a_claim_without_words_is_its_figures(self) -> None:
        assert agent_claims(RunState()) == ""
        bare = RunState(report=Report(kind=ReportKind.RALPH_STATUS), report_iteration=3)
        assert agent_claims(bare) == "IN_PROGRESS (iteration 3)"

    def test_the_last_words_are_those_before_the_status_block(self) -> None:
        texts = ["one\ntwo\n", "\nthree\x1b[2J\nfour\n---RALPH_STATUS---\nSTATUS: x\n"]
        assert last_words(texts) == ["two", "three\\x1b[2J", "four"]
        assert last_words([]) == []


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

    def test_a_finished_change_of_openspec_is_archived_by_the_user(self) -> None:
        state = ended(EndReason.COMPLETE, plan="openspec/changes/add-form/tasks.md")
        assert next_step(state) == "check the result, then: openspec archive add-form"

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

    def test_a_repository_that_is_gone_is_restored_and_no_task_unblocked(self) -> None:
        state = ended(EndReason.BLOCKED, 2)
        assert state.end is not None
        message = "the work tree /srv/a was removed; restore it, then: ralph run --resume"
        gone = state.model_copy(update={"end": state.end.model_copy(update={"message": message})})
        assert next_step(gone) == "restore what the message names, then: ralph run --resume"

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
