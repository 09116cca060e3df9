"""Metrics of runs, and their tables (docs/rules.md#metrics)."""

from __future__ import annotations

import csv
import io
from datetime import UTC, timedelta
from typing import Any

import pytest

from ralph_ls.core.views.report.metrics import measure_lanes, measure_run
from ralph_ls.core.views.report.metrics_tables import (
    CSV_COLUMNS,
    ITERATION_HEADINGS,
    MODE_HEADINGS,
    RECEIPT_HEADINGS,
    RUN_HEADINGS,
    iteration_cells,
    mode_rows,
    receipt_cells,
    run_cells,
    to_csv,
    total_lines,
)
from ralph_ls.core.views.report.sums import total_of
from ralph_ls.protocol.json_output import (
    IterationMetrics,
    ModeMetrics,
    ReviewMetrics,
    RunMetrics,
    TotalMetrics,
)
from ralph_ls.protocol.run.events import (
    AgentExited,
    BlockedResolved,
    CommandAccepted,
    Committed,
    Event,
    EvidenceGathered,
    NoteAdded,
    QuestionAnswered,
    RunEnded,
    RunResumed,
    Validated,
    Warned,
)
from ralph_ls.protocol.run.report import AgentFailure, Claims, Usage
from ralph_ls.protocol.run.state import LaneView, TaskReceipt
from ralph_ls.protocol.run.values import (
    Breaker,
    BreakerState,
    CommitSeen,
    EndReason,
    Evidence,
    LaneState,
    LessonRef,
    Mode,
    Outcome,
    Phase,
    ReviewSeen,
    TaskRef,
    Verdict,
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
    run_started,
    state_after,
)

USAGE = Usage(
    input_tokens=1000,
    output_tokens=200,
    cached_tokens=5,
    cost_usd=0.15,
    turns=3,
    context_tokens=45000,
    context_window=200000,
)
COMPLETE = Verdict(reason=EndReason.COMPLETE, message="done")


def ended(reason: EndReason, code: int, **fields: Any) -> RunEnded:
    values: dict[str, Any] = {"message": "over", "seconds": 200.0, **fields}
    return event(RunEnded, reason=reason, exit_code=code, **values)


def resumed() -> RunResumed:
    return event(RunResumed, version="1", pid=1, by="ralph", config=run_started().config)


def measured(*events: Event, is_live: bool = False) -> RunMetrics:
    whole = [run_started(), *events]
    run = measure_run(whole, is_live=is_live, totals=state_after(*whole).totals)
    assert run is not None
    return run


def one_of(*between: Event, **fields: Any) -> IterationMetrics:
    """The only iteration of a run, as it is measured."""
    (one,) = measured(iteration_started(), *between, iteration_ended(**fields)).iterations
    return one


class TestAnIteration:
    def test_names_the_lessons_of_its_prompt(self) -> None:
        started = iteration_started(lessons=(LessonRef(id="use-uv", sha256="0" * 64),))
        (one,) = measured(started, iteration_ended()).iterations
        assert one.lessons == ("use-uv",)

    def test_is_reported_with_all_that_was_observed_of_it(self) -> None:
        seen = evidence(
            files=4,
            tasks_done=("a", "b"),
            commits=(
                CommitSeen(hash="1" * 40, subject="One"),
                CommitSeen(hash="2" * 40, subject="Mine", by_person=True),
            ),
        )
        by_loop = event(Committed, iteration=1, commit=COMMIT, subject="ralph: it", files=4)
        late = NOON + timedelta(seconds=152)
        one = one_of(seen, by_loop, at=late, usage=USAGE)
        assert one.model_dump(mode="json", by_alias=True) == {
            "run": "20260131T120000Z-0a1b",
            "iteration": 1,
            "start": 1,
            "counted": True,
            "mode": "build",
            "task": {"id": TASK.id, "title": TASK.title},
            "outcome": "progress",
            "confirmed": False,
            "clean": True,
            "startedAt": "2026-01-31T12:00:00.000Z",
            "endedAt": "2026-01-31T12:02:32.000Z",
            "seconds": 152.0,
            "commit": COMMIT,
            "commits": 2,
            "files": 4,
            "ownFiles": 0,
            "undone": False,
            "tasksDone": 2,
            "inputTokens": 1000,
            "outputTokens": 200,
            "cachedTokens": 5,
            "costUsd": 0.15,
            "estimated": False,
            "failure": None,
            "turns": 3,
            "contextTokens": 45000,
            "contextWindow": 200000,
            "hasProgress": True,
            "isStuck": False,
            "errors": [],
            "completionWords": [],
            "claims": None,
            "review": None,
            "agent": None,
            "model": None,
            "validated": None,
            "breaker": "CLOSED",
            "lessons": [],
        }

    def test_has_the_claims_of_its_agent_apart(self) -> None:
        claims = Claims(
            has_status_block=True,
            summary="=Fixed rounding",
            pr_ready=True,
            clarification_words=("unclear", "which-option"),
            confidence=60,
        )
        run = measured(
            iteration_ended(claims=claims, completion_words=("done",), errors=("error: disk",)),
            iteration_ended(2, claims=Claims(confidence=10)),
        )
        first, second = csv.DictReader(io.StringIO(to_csv([run])))
        known = {name: first[name] for name in CSV_COLUMNS[CSV_COLUMNS.index("has_progress") :]}
        assert known == {
            "has_progress": "false",
            "is_stuck": "false",
            "errors": "1",
            "has_status_block": "true",
            "completion_words": "done",
            "clarification_words": "unclear which-option",
            "claimed_confidence": "60",
            "claimed_summary": "'=Fixed rounding",
            "claimed_pr_ready": "true",
        }
        assert (second["has_status_block"], second["claimed_pr_ready"]) == ("false", "")

    @pytest.mark.parametrize(
        ("breaker", "stuck"),
        [
            (Breaker(consecutive_same_error=2), False),
            (Breaker(consecutive_same_error=3), True),
            (Breaker(state=BreakerState.HALF_OPEN), False),
            (Breaker(state=BreakerState.OPEN), True),
        ],
    )
    def test_is_stuck_where_an_error_repeats_or_the_breaker_opens(
        self, breaker: Breaker, stuck: bool
    ) -> None:
        assert one_of(breaker=breaker).is_stuck is stuck

    @pytest.mark.parametrize(
        ("profile", "mode", "word"),
        [
            ("stories", Mode.BUILD, "implement"),
            ("stories", Mode.REVIEW_FIX, "review-fix"),
            ("fixplan", Mode.BUILD, "build"),
        ],
    )
    def test_has_its_mode_by_the_name_that_the_logs_of_its_profile_use(
        self, profile: str, mode: Mode, word: str
    ) -> None:
        run = measure_run([run_started(profile=profile), iteration_ended(mode=mode)], is_live=False)
        assert run is not None
        assert run.iterations[0].mode == word
        assert iteration_cells(run.iterations[0])[1] == word
        assert next(csv.DictReader(io.StringIO(to_csv([run]))))["mode"] == word

    def test_of_which_nothing_was_reported_has_nothing(self) -> None:
        (one,) = measured(iteration_ended(commit=None)).iterations
        assert one.task is None
        assert one.started_at is None
        assert (one.files, one.commits, one.tasks_done, one.cost_usd) == (0, 0, 0, None)

    @pytest.mark.parametrize(
        ("between", "fields", "clean"),
        [
            pytest.param([], {}, True, id="progress"),
            pytest.param([], {"outcome": Outcome.NO_PROGRESS}, False, id="no-progress"),
            pytest.param(
                [], {"outcome": Outcome.NO_PROGRESS, "verdict": COMPLETE}, True, id="confirms"
            ),
            pytest.param([event(AgentExited, iteration=1)], {}, True, id="came-to-its-end"),
            pytest.param([event(AgentExited, iteration=1, timed_out=True)], {}, False, id="late"),
            pytest.param([event(AgentExited, iteration=1, idle=True)], {}, False, id="idle"),
            pytest.param([event(AgentExited, iteration=1, overspent=True)], {}, False, id="spent"),
            pytest.param([event(Validated, iteration=1, ok=True)], {}, True, id="validated"),
            pytest.param([event(Validated, iteration=1, ok=False)], {}, False, id="not-valid"),
            pytest.param(
                [], {"verdict": Verdict(reason=EndReason.LIMIT, message="")}, True, id="the-last"
            ),
        ],
    )
    def test_is_clean_or_not(
        self, between: list[Event], fields: dict[str, Any], clean: bool
    ) -> None:
        assert one_of(*between, **fields).clean is clean

    def test_what_is_reported_twice_counts_once(self) -> None:
        seen = evidence(files=2, commits=(CommitSeen(hash=COMMIT, subject="One"),))
        assert one_of(seen, seen).commits == 1
        assert one_of(seen, evidence(files=3)).files == 3


class TestARun:
    @pytest.mark.parametrize(
        ("events", "is_live", "end", "code"),
        [
            pytest.param([], True, "running", None, id="goes-on"),
            pytest.param([], False, "crashed", None, id="crashed"),
            pytest.param([phase(Phase.PARKED, "decide")], False, "parked", None, id="parked"),
            pytest.param([phase(Phase.PARKED, "decide")], True, "running", None, id="waits"),
            pytest.param([ended(EndReason.LIMIT, 1)], False, "limit", 1, id="over"),
            pytest.param([ended(EndReason.LIMIT, 1), resumed()], True, "running", None, id="again"),
        ],
    )
    def test_says_its_status(
        self, events: list[Event], is_live: bool, end: str, code: int | None
    ) -> None:
        run = measured(*events, is_live=is_live)
        assert (run.end, run.exit_code) == (end, code)

    def test_its_time_is_the_one_that_it_reported_itself(self) -> None:
        assert measured(iteration_ended()).seconds == 152.0
        assert measured(iteration_ended(), ended(EndReason.STOPPED, 130)).seconds == 200.0

    def test_without_a_beginning_is_none(self) -> None:
        assert measure_run([], is_live=False) is None

    @pytest.mark.parametrize(
        ("events", "hands"),
        [
            pytest.param(
                [event(QuestionAnswered, question="a", answer="b", by="me")], (1, 0, 0), id="answer"
            ),
            pytest.param([event(BlockedResolved, by="me")], (1, 0, 0), id="resolved"),
            pytest.param(
                [
                    event(CommandAccepted, command="1" * 8, command_kind=kind, by="me")
                    for kind in ("reset", "resetTask", "pause", "note")
                ],
                (0, 2, 0),
                id="resets",
            ),
            pytest.param([ended(EndReason.STUCK, 4), resumed()], (0, 1, 0), id="stuck-resumed"),
            pytest.param([phase(Phase.PARKED, "stuck"), resumed()], (0, 1, 0), id="parked-stuck"),
            pytest.param(
                [phase(Phase.PARKED, "stuck"), phase(Phase.PREPARING), resumed()],
                (0, 0, 0),
                id="no-more-stuck",
            ),
            pytest.param([ended(EndReason.LIMIT, 1), resumed()], (0, 0, 0), id="resumed"),
            pytest.param(
                [
                    event(Warned, code=code, message="")
                    for code in ("person-edited-plan", "person-committed", "disk-low")
                ],
                (0, 0, 2),
                id="edits",
            ),
            pytest.param([event(NoteAdded, text="a", by="me")], (0, 0, 0), id="a-note-is-none"),
        ],
    )
    def test_counts_the_users_interventions(
        self, events: list[Event], hands: tuple[int, int, int]
    ) -> None:
        run = measured(*events)
        assert (run.answers, run.resets, run.edits) == hands


def two_runs() -> list[RunMetrics]:
    seen = evidence(files=2, paths=("a.py", "b.py"), tasks_done=("a",))
    answered = event(QuestionAnswered, question="a", answer="b", by="me")
    first = measured(
        iteration_started(),
        seen,
        iteration_ended(usage=USAGE),
        answered,
        iteration_started(2, task=TaskRef(id="=1+1", title="=HYPERLINK(1)\x1b")),
        iteration_ended(2, outcome=Outcome.NO_PROGRESS, seconds=48.0, commit=None),
        iteration_started(3, task=None),
        iteration_ended(3, outcome=Outcome.LIMITED, seconds=1000.0, commit=None),
        ended(EndReason.COMPLETE, 0),
    )
    return [first, measured(ended(EndReason.STUCK, 4, seconds=10.0)), measured()]


class TestTotals:
    def test_are_those_of_all_runs(self) -> None:
        total = total_of(two_runs())
        assert total == TotalMetrics(
            runs=3,
            iterations=2,
            clean=1,
            seconds=210.0,
            iteration_seconds=200.0,
            commits=0,
            files=2,
            tasks_done=1,
            tokens=1200,
            cost_usd=0.15,
            answers=1,
            iteration_success_rate=0.5,
            run_success_rate=0.5,
            human_intervention_rate=0.5,
            average_iteration_seconds=100.0,
            average_task_seconds=200.0,
            average_task_cost_usd=0.15,
            without_tokens=1,
            without_cost=1,
            average_context=0.225,
            largest_context=0.225,
            ends={"complete": 1, "crashed": 1, "stuck": 1},
            modes=(
                ModeMetrics(mode="build", iterations=2, seconds=1200.0, tokens=1200, cost_usd=0.15),
            ),
        )

    def test_of_nothing_have_no_rates(self) -> None:
        assert total_of([]) == TotalMetrics()

    def test_are_reported_in_lines(self) -> None:
        assert dict(total_lines(total_of(two_runs()))) == {
            "Runs": "3 (complete 1, crashed 1, stuck 1)",
            "Complete": "50 % of finished runs",
            "Iterations": "2, 50 % clean",
            "Interventions": "0.50 an iteration (1 answer, 0 resets, 0 edits)",
            "Work": "1 task done, 0 commits, 2 files changed, each counted once a run",
            "Time": "3m 30s",
            "Avg/task": "3m 20s",
            "Avg/iter": "1m 40s",
            "Tokens": "1200",
            "Cost": "$0.15",
            "Context": "22 % of the window on average, 22 % at most",
        }

    def test_without_any_say_that_nothing_is_known(self) -> None:
        told = dict(total_lines(TotalMetrics()))
        assert told["Runs"] == "0"
        assert told["Interventions"].startswith("- an iteration")
        assert {told[name] for name in ("Cost", "Tokens", "Avg/task", "Context")} == {"-"}


def reviewed(number: int, mode: Mode, *, cost: float | None = 0.1, **review: Any) -> list[Event]:
    """An iteration of the review cycle; with the result of its review, where it gave one."""
    seen = evidence(review=ReviewSeen(task="A", **review) if review else None)
    usage = None if cost is None else Usage(cost_usd=cost, estimated=cost > 0.5)
    end = iteration_ended(number, mode=mode, seconds=100.0, usage=usage)
    return [iteration_started(number, mode=mode), seen, end]


class TestFiles:
    def test_that_several_iterations_changed_count_once(self) -> None:
        total = total_of(
            [
                measured(
                    iteration_started(),
                    evidence(files=1, paths=("a.py",)),
                    iteration_ended(),
                    iteration_started(2),
                    event(
                        EvidenceGathered,
                        iteration=2,
                        evidence=Evidence(progress=True, files=2, paths=("a.py", "b.py")),
                    ),
                    iteration_ended(2),
                )
            ]
        )
        assert (total.files, total.more_files) == (2, False)
        assert dict(total_lines(total))["Work"].endswith("2 files changed")

    def test_that_are_not_all_known_by_path_are_a_minimum(self) -> None:
        total = TotalMetrics(runs=1, files=1, more_files=True)
        assert dict(total_lines(total))["Work"].endswith("at least 1 file changed")


def test_a_confirming_iteration_is_called_so_and_is_clean() -> None:
    one = one_of(outcome=Outcome.NO_PROGRESS, commit=None, confirmed=True)
    assert (one.clean, one.confirmed, one.outcome) == (True, True, Outcome.NO_PROGRESS)
    assert iteration_cells(one)[2] == "confirmed"
    run = RunMetrics(run="r", end="complete", iterations=(one,))
    assert next(csv.DictReader(to_csv([run]).splitlines()))["outcome"] == "confirmed"


def test_an_outcome_names_the_failure_of_its_agent() -> None:
    limited = one_of(outcome=Outcome.LIMITED, failure=AgentFailure.UNREACHABLE, commit=None)
    assert iteration_cells(limited)[2] == "API unreachable"
    crashed = one_of(outcome=Outcome.NO_PROGRESS, failure=AgentFailure.CRASHED, commit=None)
    assert iteration_cells(crashed)[2] == "no progress, crashed"


class TestTheReviewCycle:
    def test_is_measured_beside_the_rest(self) -> None:
        run = measured(
            *reviewed(1, Mode.BUILD, cost=0.2),
            *reviewed(2, Mode.REVIEW, approved=False, findings=3),
            *reviewed(3, Mode.REVIEW_FIX, cost=None),
            *reviewed(4, Mode.REVIEW, approved=True, at_cap=True, findings=1),
            *reviewed(5, Mode.REVIEW, approved=True),
        )
        total = total_of([run])
        assert total.reviews == ReviewMetrics(
            reviews=3,
            findings=4,
            with_findings=2,
            approved=2,
            approved_at_cap=1,
            seconds=400.0,
            cost_usd=0.3,
            share_of_time=0.8,
            share_of_cost=0.6,
            findings_per_review=1.333333,
        )
        assert [(mode.mode, mode.iterations) for mode in total.modes] == [
            ("build", 1),
            ("review", 3),
            ("review-fix", 1),
        ]
        lines = dict(total_lines(total))
        assert lines["Reviews"] == (
            "4 findings in 3 reviews, 1.3 a review; 2 had findings, 2 approved (1 at the cap)"
        )
        assert lines["Review cost"] == (
            "6m 40s (80 % of the time), $0.30 (60 % of it), fixes included"
        )
        assert [dict(zip(MODE_HEADINGS, row, strict=True)) for row in mode_rows(total)][1:] == [
            {
                "Mode": "review",
                "Iter": "3",
                "Time": "5m 0s",
                "Avg": "1m 40s",
                "Tokens": "-",
                "Cost": "$0.30",
                "Of time": "60 %",
                "Of cost": "60 %",
            },
            {
                "Mode": "review-fix",
                "Iter": "1",
                "Time": "1m 40s",
                "Avg": "1m 40s",
                "Tokens": "-",
                "Cost": "-",
                "Of time": "20 %",
                "Of cost": "-",
            },
        ]

    def test_of_an_earlier_engine_has_a_cost_and_no_findings(self) -> None:
        run = measured(*reviewed(1, Mode.REVIEW, cost=None), *reviewed(2, Mode.BUILD, cost=None))
        lines = dict(total_lines(total_of([run])))
        assert "Reviews" not in lines
        assert lines["Review cost"] == "1m 40s (50 % of the time), fixes included"

    def test_approvals_at_no_cap_are_not_mentioned(self) -> None:
        run = measured(*reviewed(1, Mode.REVIEW, approved=True))
        lines = dict(total_lines(total_of([run])))
        assert lines["Reviews"] == (
            "0 findings in 1 review, 0.0 a review; 0 had findings, 1 approved"
        )

    def test_one_mode_alone_needs_no_table(self) -> None:
        assert mode_rows(total_of([measured(*reviewed(1, Mode.BUILD))])) == []

    def test_modes_without_time_and_iterations_have_no_shares(self) -> None:
        none = TotalMetrics(modes=(ModeMetrics(mode="plan"), ModeMetrics(mode="build")))
        assert mode_rows(none)[0] == ("plan", "0", "0s", "-", "-", "-", "-", "-")


class TestReceipts:
    def test_are_those_of_the_state(self) -> None:
        receipt = TaskReceipt(task=TASK, done=True)
        run = measure_run([run_started()], is_live=False, receipts=[receipt])
        assert run is not None
        assert run.receipts == (receipt,)

    def test_have_a_row(self) -> None:
        receipt = TaskReceipt(
            task=TASK,
            iteration=3,
            commit=COMMIT,
            attempts=2,
            iterations=2,
            seconds=62.0,
            agent_seconds=50.0,
            tokens=31000,
            cost_usd=0.42,
            validations=2,
            failed_validations=1,
        )
        assert dict(zip(RECEIPT_HEADINGS, receipt_cells(receipt), strict=True)) == {
            "Task": TASK.title,
            "#": "3",
            "Iter": "2",
            "Attempts": "2",
            "Retries": "0",
            "Time": "1m 2s",
            "Agent": "50s",
            "Tokens": "31000",
            "Cost": "$0.42",
            "Validations": "2 (1 failed)",
            "Commit": "abc1234",
        }
        unknown = TaskReceipt(task=TASK, iterations=1)
        assert receipt_cells(unknown)[1:] == (*("", "1", "0", "0", "0s", "0s", "-", "-", "0", ""),)

    def test_of_a_task_that_was_finished_along_with_another_have_no_figures(self) -> None:
        along = TaskReceipt(task=TASK, iteration=3, commit=COMMIT, within=TASK)
        row = receipt_cells(along)
        assert (len(row), row[:3], row[-2:]) == (
            len(RECEIPT_HEADINGS),
            (TASK.title, "3", ""),
            ("", "abc1234"),
        )


class TestTables:
    def test_a_run_has_a_row(self) -> None:
        first, _, last = two_runs()
        row = dict(zip(RUN_HEADINGS, run_cells(first, UTC), strict=True))
        assert row == {
            "Run": first.run,
            "Started": "01-31 12:00",
            "End": "complete",
            "Iter": "2",
            "Clean": "1",
            "Done": "1",
            "Time": "3m 20s",
            "Cost": "$0.15",
        }
        unknown = last.model_copy(update={"started_at": None})
        assert run_cells(unknown, UTC)[1:3] == ("-", "crashed")

    def test_an_iteration_has_a_row_in_which_nothing_steers_a_terminal(self) -> None:
        first = two_runs()[0]
        rows = [
            dict(zip(ITERATION_HEADINGS, iteration_cells(one), strict=True))
            for one in first.iterations
        ]
        assert rows[0] == {
            "#": "1",
            "Mode": "build",
            "Outcome": "progress",
            "Task": TASK.title,
            "Done": "1",
            "Files": "2",
            "Tokens": "1200",
            "Context": "22 %",
            "Cost": "$0.15",
            "Time": "2m 32s",
            "Commit": "abc1234",
        }
        assert rows[1]["Task"] == "=HYPERLINK(1)\\x1b"
        assert (rows[1]["Tokens"], rows[1]["Context"], rows[1]["Commit"]) == ("-", "-", "")
        assert rows[2]["Task"] == ""

    def test_a_spreadsheet_gets_every_iteration_and_no_formula(self) -> None:
        text = to_csv(two_runs())
        assert "\r" not in text
        rows = list(csv.DictReader(io.StringIO(text)))
        assert tuple(rows[0]) == CSV_COLUMNS
        assert [row["iteration"] for row in rows] == ["1", "2"]
        assert (rows[0]["task"], rows[0]["cost_usd"], rows[0]["clean"]) == (
            TASK.title,
            "0.15",
            "true",
        )
        assert (rows[1]["task_id"], rows[1]["task"]) == ("'=1+1", "'=HYPERLINK(1)\\x1b")

    def test_a_start_that_did_not_count_is_no_iteration(self) -> None:
        run = measured(iteration_ended(counted=False), iteration_ended())
        assert len(list(csv.DictReader(io.StringIO(to_csv([run]))))) == 1
        assert run_cells(run, UTC)[RUN_HEADINGS.index("Iter")] == "1"

    def test_an_iteration_whose_start_is_not_known_has_an_empty_time(self) -> None:
        (row,) = csv.DictReader(io.StringIO(to_csv([measured(iteration_ended())])))
        assert row["started_at"] == ""


class TestLanes:
    def lane(self, number: int, **fields: Any) -> LaneView:
        task = TaskRef(id=f"T{number}", title=f"Task {number}")
        place = {"branch": "b", "worktree": "/w", "started_at": NOON}
        return LaneView(lane=number, task=task, **{**place, **fields})

    def test_show_what_working_side_by_side_gained(self) -> None:
        state = state_after(run_started(parallel=3)).model_copy(
            update={
                "active_seconds": 100.0,
                "lanes": (
                    self.lane(1, state=LaneState.MERGED, seconds=90.0, ended_at=NOON),
                    self.lane(2, state=LaneState.PARKED, seconds=110.0, conflicts=2),
                ),
            }
        )
        found = measure_lanes(state)
        assert found is not None
        assert (found.lanes, found.merged, found.parked, found.conflicts) == (3, 1, 1, 2)
        assert (found.work_seconds, found.speed_up) == (200.0, 2.0)
        assert [(span.lane, span.ended_at) for span in found.spans] == [(1, NOON), (2, None)]

    def test_have_no_speed_before_there_was_time(self) -> None:
        found = measure_lanes(state_after(run_started(parallel=2)))
        assert found is not None
        assert found.speed_up is None

    def test_are_not_those_of_another_run(self) -> None:
        assert measure_lanes(state_after(run_started())) is None
