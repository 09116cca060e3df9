from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.model.words import evidence_words
from ralph_ls.core.views.panel.rows import (
    IterationRows,
    iteration_rows,
    measured_rows,
    plan_rows,
    with_roll_back,
    with_undone,
)
from ralph_ls.core.views.report.metrics import measure_run
from ralph_ls.protocol.json_output import IterationMetrics, RunMetrics
from ralph_ls.protocol.lsp.panel import IterationRow, PlanRows, TaskRow
from ralph_ls.protocol.plan import PlanProblem
from ralph_ls.protocol.run.events import EventBase, EvidenceGathered, RolledBack, parse_event
from ralph_ls.protocol.run.report import AgentFailure, Claims, Usage
from ralph_ls.protocol.run.values import (
    CommitSeen,
    Evidence,
    Mode,
    Outcome,
    Phase,
    RollbackRecord,
)
from ralph_ls.protocol.task_words import ShownPriority, TaskState
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    LETTER,
    NOON,
    PAY,
    PLAN,
    PRINT,
    READ,
    ROUND,
    begins,
    ends,
    event,
    phase,
    reports,
    run_of,
    seen,
    shows,
    started,
    task,
)
from tests.unit.core.views.run_situations import PARKED_ASKING, PARKED_BLOCKED

URI = "file:///project/%40fix_plan.md"


HISTORIES = sorted((Path(__file__).resolve().parents[4] / "histories").glob("*.jsonl"))

RUN_ID = "20260131T120000Z-abcd"


def tree(*events: EventBase, text: str = PLAN, **fields: Any) -> PlanRows:
    return plan_rows(seen(*events, text=text, **fields), uri=URI, path="@fix_plan.md")


def rows_by_line(*events: EventBase, **fields: Any) -> dict[int, TaskRow]:
    return {row.line - 1: row for row in tree(*events, **fields).tasks}


def test_a_confirming_iteration_is_marked() -> None:
    (row,) = iteration_rows([begins(1, None), ends(1, confirmed=True)]).rows
    assert row.confirmed is True


def test_a_planning_iteration_is_marked() -> None:
    planning = begins(1, None).model_copy(update={"mode": Mode.PLAN})
    assert [row.planning for row in iteration_rows([planning, begins(2, ROUND)]).rows] == [
        None,
        True,
    ]


class TestPlan:
    def test_without_a_plan_there_is_nothing(self) -> None:
        assert plan_rows(seen(text=""), uri=None, path="") == PlanRows()

    def test_each_task_is_there_with_its_place(self) -> None:
        found = tree()
        assert (found.uri, found.path) == (URI, "@fix_plan.md")
        assert [row.line - 1 for row in found.tasks] == [READ, ROUND, CHOOSE, PAY, PRINT, LETTER]
        row = found.tasks[1]
        assert row == TaskRow(
            id=task(ROUND).id,
            title="Round half a cent up",
            state=TaskState.TODO,
            priority=ShownPriority.P0,
            section="High Priority",
            line=ROUND + 1,
            criteria=("every total is right",),
        )

    def test_a_done_one_says_where_and_by_which_commit(self) -> None:
        rows = rows_by_line(
            started(), begins(2, READ), shows(2, files=1, commit=COMMIT, done=(READ,))
        )
        done = rows[READ]
        assert (done.iteration, done.commit, done.attempts) == (2, COMMIT, 1)
        assert done.words == "done in iteration 2 · abc1234"

    def test_one_that_was_done_before_this_run_says_nothing(self) -> None:
        done = rows_by_line()[READ]
        assert (done.iteration, done.commit, done.words) == (None, None, "")

    def test_one_that_was_opened_again_is_only_tried(self) -> None:
        events = (
            started(),
            begins(2, ROUND),
            shows(2, files=1, commit=COMMIT, done=(ROUND,)),
            ends(2),
        )
        row = rows_by_line(*events)[ROUND]
        assert (row.iteration, row.commit, row.words) == (2, None, "1 attempt")

    def test_the_one_in_work_counts_its_attempts(self) -> None:
        row = rows_by_line(started(), begins(1, ROUND), ends(1), begins(2, ROUND))[ROUND]
        assert (row.in_work, row.attempts, row.iteration) == (True, 2, 2)
        assert row.words == "attempt 2"

    def test_the_one_that_is_asked_about_says_so(self) -> None:
        rows = rows_by_line(*PARKED_ASKING)
        assert [line for line, row in rows.items() if row.asks] == [CHOOSE]
        assert rows[CHOOSE].words == "asks · 1 attempt"

    def test_the_one_that_blocks_says_so(self) -> None:
        rows = rows_by_line(*PARKED_BLOCKED)
        assert [line for line, row in rows.items() if row.blocks] == [CHOOSE]
        assert rows[CHOOSE].words == "blocks the run · 1 attempt"
        halt = HaltFiles()
        assert not any(row.blocks for row in rows_by_line(*PARKED_BLOCKED, halt=halt).values())

    def test_a_blocked_one_says_why(self) -> None:
        rows = rows_by_line()
        assert (rows[PAY].blocked_by, rows[PAY].words) == ("no keys", "blocked: no keys")
        assert (rows[PRINT].blocked_by, rows[PRINT].words) == (
            None,
            "blocked: the plan gives no reason",
        )

    def test_what_strangers_wrote_can_do_nothing(self) -> None:
        text = "## \x1b[2J\n- [ ] \x1b[1m\n  - Done when: \x07\n- [ ] [BLOCKED: \u202ex] b\n- [&] c"
        found = tree(text=text)
        first, second, _ = found.tasks
        assert (first.title, first.section) == ("\\x1b[1m", "\\x1b[2J")
        assert first.criteria == ("\\x07",)
        assert second.blocked_by == "\\u202ex"
        (problem,) = found.problems
        assert isinstance(problem, PlanProblem)
        assert problem.line == 5


JOURNAL = run_of(
    (
        started(),
        begins(1, CHOOSE),
        reports(
            1,
            STATUS="in_progress",
            FILES_MODIFIED="5",
            TESTS_STATUS="FAILING",
            WORK_TYPE="testing",
        ),
        shows(1, files=4, commit=COMMIT, done=(READ,)),
        ends(1, usage=Usage(cost_usd=0.25), seconds=66.5, commit=COMMIT),
        begins(2, None),
        reports(2, STATUS="COMPLETE\x07"),
        shows(2),
        ends(2, outcome=Outcome.NO_PROGRESS),
        phase(Phase.PAUSED),
        begins(3, LETTER),
    )
)


class TestIterations:
    def test_each_shows_what_was_claimed_and_what_was_observed(self) -> None:
        third, second, first = iteration_rows(JOURNAL).rows
        assert first == IterationRow(
            iteration=1,
            start=1,
            task="Choose the storage engine",
            outcome=Outcome.PROGRESS,
            started_at=NOON + timedelta(minutes=1),
            seconds=66.5,
            commit=COMMIT,
            files=4,
            claimed_files=5,
            tasks_done=1,
            status="IN_PROGRESS",
            work_type="TESTING",
            tests="FAILING",
            cost_usd=0.25,
            why="progress: 1 commit, 4 files changed, 1 task done",
            changes=True,
        )
        assert second == IterationRow(
            iteration=2,
            start=2,
            outcome=Outcome.NO_PROGRESS,
            started_at=NOON + timedelta(minutes=5),
            seconds=60.0,
            files=0,
            status="COMPLETE",
            why="no progress: nothing changed at all",
            changes=True,
        )
        assert third == IterationRow(
            iteration=3,
            start=3,
            task="Write the letter",
            started_at=NOON + timedelta(minutes=10),
            changes=True,
        )

    def test_a_settled_one_says_what_was_decided_and_what_its_agent_claims(self) -> None:
        claims = Claims(summary="Read it", confidence=50)
        known = iteration_rows([started(), begins(1, READ)])
        (row,) = iteration_rows(
            [ends(1, claims=claims, gate="the agent gave no report")], known
        ).rows
        assert row.why == (
            "progress: no evidence was gathered; not complete: the agent gave no report\nthe "
            'agent claims: "Read it", confidence 50'
        )

    def test_another_run_starts_again(self) -> None:
        assert iteration_rows((*JOURNAL, started(), begins(1, READ))).rows == (
            IterationRow(iteration=1, start=1, task="Read the law", started_at=NOON, changes=True),
        )

    @pytest.mark.parametrize("cut", range(len(JOURNAL)))
    def test_they_continue_from_anywhere_and_leave_what_they_had(self, cut: int) -> None:
        earlier = iteration_rows(JOURNAL[:cut])
        kept = earlier.rows
        assert iteration_rows(JOURNAL[cut:], earlier) == iteration_rows(JOURNAL)
        assert earlier.rows is kept

    def test_a_commit_in_a_nested_repository_is_not_the_workspace_s(self) -> None:
        nested = CommitSeen(hash="2" * 40, subject="b", files=1, repository="nested")
        told = event(EvidenceGathered, iteration=1, evidence=Evidence(commits=(nested,)))
        (row,) = iteration_rows([told]).rows
        assert row.commit is None

    @given(st.lists(st.sampled_from(JOURNAL), max_size=20))
    def test_any_events_in_any_order_are_taken(self, events: list[EventBase]) -> None:
        numbers = [row.start for row in iteration_rows(events).rows]
        assert numbers == sorted(set(numbers), reverse=True)

    def test_nothing_is_a_beginning_too(self) -> None:
        assert iteration_rows(()) == IterationRows()


class TestUndone:
    BACK = RollbackRecord(run=RUN_ID, start=2, at=NOON + timedelta(minutes=20), commits=(COMMIT,))

    def row(self, start: int, minute: int, commit: str | None = None) -> IterationRow:
        at = NOON + timedelta(minutes=minute)
        return IterationRow(iteration=start, start=start, started_at=at, commit=commit)

    @pytest.mark.parametrize(
        ("start", "minute", "commit", "is_undone"),
        [
            pytest.param(1, 1, COMMIT, True, id="its-commit-is-gone"),
            pytest.param(2, 5, "b" * 40, False, id="its-commit-is-there"),
            pytest.param(2, 5, None, True, id="without-a-commit-behind-the-target"),
            pytest.param(1, 1, None, False, id="before-the-target"),
            pytest.param(3, 30, None, False, id="begun-afterwards"),
        ],
    )
    def test_one_that_was_rolled_back_is_marked(
        self, start: int, minute: int, commit: str | None, is_undone: bool
    ) -> None:
        row = self.row(start, minute, commit)
        (shown,) = with_undone((row,), RUN_ID, [self.BACK])
        assert shown.undone == (True if is_undone else None)

    def test_nothing_changes_without_a_rollback_or_in_another_run(self) -> None:
        rows = (self.row(2, 5),)
        assert with_undone(rows, RUN_ID, []) is rows
        assert with_undone(rows, "20260101T000000Z-0000", [self.BACK]) == rows

    def test_what_is_undone_cannot_be_rolled_back_again(self) -> None:
        done = {"outcome": Outcome.PROGRESS, "changes": True}
        first = self.row(1, 1, "b" * 40).model_copy(update=done)
        second = self.row(2, 5, COMMIT).model_copy(update=done)
        rows = with_roll_back(with_undone((second, first), RUN_ID, [self.BACK]), live=False)
        assert [row.can_roll_back for row in rows] == [False, True]

    @pytest.mark.parametrize("ok", [True, False])
    def test_a_rollback_by_the_loop_itself_is_in_the_journal(self, ok: bool) -> None:
        undone = event(RolledBack, start=1, iteration=1, ok=ok, refused="" if ok else "it is busy")
        (row,) = iteration_rows([started(), begins(1, READ), undone]).rows
        assert row.undone == (True if ok else None)

    def test_files_are_counted_as_a_diff_shows_them(self) -> None:
        evidence = Evidence(files=2, own_files=1, progress=True, why="2 files changed")
        seen_files = event(EvidenceGathered, start=1, iteration=1, evidence=evidence)
        (row,) = iteration_rows([started(), begins(1, READ), seen_files]).rows
        assert row.files == 3
        assert evidence_words(evidence) == "0 commits, 2 files besides the loop's own, 0 tasks"


class TestMeasured:
    """The rows of a run that is kept, from its figures."""

    @pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
    def test_say_the_same_as_those_of_the_journal_in_every_recorded_run(self, path: Path) -> None:
        events = [parse_event(line) for line in path.read_bytes().splitlines()]
        run = measure_run(events, is_live=False)
        assert run is not None
        settled = [row for row in iteration_rows(events).rows if row.outcome is not None]
        told = {"status", "work_type", "tests", "claimed_files", "why"}
        for row, kept in zip(settled, measured_rows(run), strict=True):
            same = kept.model_dump(exclude=told) | {"seconds": row.seconds, "tries": row.tries}
            gone: dict[str, object] = {} if row.files is not None else {"files": None}
            gone |= {"commit": row.commit} if row.undone else {}
            assert same | gone == row.model_dump(exclude=told) | {"estimated": kept.estimated}
            assert kept.seconds == pytest.approx(row.seconds)

    def test_count_the_starts_of_an_iteration_and_say_how_an_agent_failed(self) -> None:
        failed = [AgentFailure.OVERLOADED, AgentFailure.LIMIT, None]
        run = RunMetrics(
            run=RUN_ID,
            end="limit",
            iterations=tuple(
                IterationMetrics(
                    run=RUN_ID,
                    iteration=1,
                    start=start,
                    mode="build",
                    outcome=Outcome.PROGRESS,
                    clean=True,
                    ended_at=NOON,
                    seconds=1.0,
                    failure=failure,
                    files=2,
                    own_files=1,
                )
                for start, failure in enumerate(failed, start=1)
            ),
        )
        rows = measured_rows(run)
        assert [(row.start, row.tries, row.files) for row in rows] == [
            *((3, 3, 3), (2, 2, 3), (1, 1, 3)),
        ]
        assert [row.failure for row in rows] == [None, None, "model overloaded"]
        assert [row.task for row in rows] == [None] * 3
        assert not any(row.changes for row in rows)
