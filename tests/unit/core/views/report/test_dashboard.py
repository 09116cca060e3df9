"""The dashboard's document: figures by range, day, agent and task, equal to those of ``runs``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.rules.receipts import finished_receipts
from ralph_ls.core.views.report.dashboard import (
    SHOWN_TASKS,
    FolderRuns,
    dashboard,
    digest_of,
    kept_run,
    with_clean_texts,
)
from ralph_ls.core.views.report.metrics import measure_run
from ralph_ls.core.views.report.sums import context_share, tokens_used, total_of
from ralph_ls.core.views.text.status import run_anywhere
from ralph_ls.protocol.dashboard import Dashboard, DashboardRange, IterationColumns
from ralph_ls.protocol.json_output import (
    IterationMetrics,
    PrunedOutput,
    RunAnywhere,
    RunMetrics,
    Statistics,
)
from ralph_ls.protocol.run.events import Event, parse_event
from ralph_ls.protocol.run.state import TaskReceipt
from ralph_ls.protocol.run.values import BreakerState, Outcome, Phase, ReviewSeen, TaskRef
from tests.unit.core.views.run_states import NOON, RUN, iteration_started, run_started, state_after

HISTORIES = sorted((Path(__file__).resolve().parents[4] / "histories").glob("*.jsonl"))
DAY = timedelta(days=1)


def one(number: int = 1, **fields: Any) -> IterationMetrics:
    values: dict[str, Any] = {
        "run": RUN,
        "iteration": number,
        "start": number,
        "mode": "build",
        "outcome": Outcome.PROGRESS,
        "clean": True,
        "started_at": NOON,
        "ended_at": NOON,
        "seconds": 10.0,
        "agent": "claude",
        **fields,
    }
    return IterationMetrics(**values)


def a_run(*iterations: IterationMetrics, **fields: Any) -> RunMetrics:
    values: dict[str, Any] = {"run": RUN, "started_at": NOON, "end": "limit", **fields}
    return RunMetrics(iterations=iterations, **values)


def folder(*runs: RunMetrics, name: str = "shop", **fields: Any) -> FolderRuns:
    digests = tuple(digest_of(run, UTC) for run in runs)
    values: dict[str, Any] = {"now": None, "stopped": None, **fields}
    return FolderRuns(name=name, workspace=f"/{name}", runs=digests, **values)


FRACTIONS = st.integers(0, 10**7).map(lambda n: n / 2**14)
"""Numbers whose sums are exact in any order."""

ITERATIONS = st.builds(
    one,
    counted=st.booleans(),
    clean=st.booleans(),
    mode=st.sampled_from(["build", "review", "review-fix"]),
    seconds=FRACTIONS,
    files=st.integers(0, 9),
    tasks_done=st.integers(0, 2),
    input_tokens=st.none() | st.integers(0, 10**6),
    cost_usd=st.none() | FRACTIONS,
    context_tokens=st.none() | st.integers(0, 4).map(lambda quarters: quarters * 250),
    context_window=st.just(1000),
    validated=st.none() | st.booleans(),
    review=st.none()
    | st.builds(ReviewSeen, task=st.just("a"), findings=st.integers(0, 3), approved=st.booleans()),
)


def document(*folders: FolderRuns, now: datetime = NOON) -> Dashboard:
    return dashboard(folders, now=now, version="1")


def ranged(found: Dashboard, days: int | None = None, folder: int | None = 0) -> DashboardRange:
    (range_,) = [each for each in found.ranges if (each.folder, each.days) == (folder, days)]
    return range_


def recorded(path: Path) -> tuple[Event, ...]:
    events = (parse_event(line) for line in path.read_bytes().splitlines())
    return tuple(event for event in events if isinstance(event, Event))


class TestFigures:
    @pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
    def test_equal_those_of_runs_to_the_last_digit_in_every_recorded_run(self, path: Path) -> None:
        events = recorded(path)
        state = fold(events)
        run = measure_run(
            events, is_live=False, receipts=finished_receipts(state), totals=state.totals
        )
        assert run is not None
        statistics = Statistics(workspace="/repo", runs=(run,), totals=total_of([run]))
        found = document(folder(run), now=events[-1].at)
        assert ranged(found).totals == statistics.totals
        assert ranged(found, days=1).totals == statistics.totals
        (shown,) = found.folders[0].runs
        total = statistics.totals
        assert shown.model_dump(
            include={
                *("run", "end", "started_at", "ended_at", "seconds", "files", "commits"),
                *("iterations", "clean", "tasks_done", "tokens", "cost_usd", "estimated"),
                *("without_cost", "answers", "resets", "edits"),
            }
        ) == total.model_dump(
            include={
                *("iterations", "clean", "seconds", "files", "commits", "tasks_done", "tokens"),
                *("cost_usd", "estimated", "without_cost", "answers", "resets", "edits"),
            }
        ) | {"end": run.end, "started_at": run.started_at, "ended_at": run.ended_at}
        assert shown.success_rate == total.iteration_success_rate
        assert shown.cost_per_task == total.average_task_cost_usd
        assert shown.largest_context == total.largest_context
        columns = found.folders[0].iterations
        assert columns.seconds == tuple(each.seconds for each in run.iterations)
        assert columns.cost_usd == tuple(each.cost_usd for each in run.iterations)
        assert columns.tokens == tuple(tokens_used(each) for each in run.iterations)
        assert columns.breakers == tuple(each.breaker for each in run.iterations)
        assert columns.validated == tuple(each.validated for each in run.iterations)

    def test_of_iterations_are_columns_with_titles_and_agents_once(self) -> None:
        task = TaskRef(id="a", title="Log in")
        columns = (
            document(
                folder(
                    a_run(
                        one(1, task=task, model="opus", context_tokens=1, context_window=3),
                        one(2, task=task, agent=None),
                    )
                )
            )
            .folders[0]
            .iterations
        )
        assert columns == IterationColumns(
            runs=(0, 0),
            numbers=(1, 2),
            ended_at=(1769860800000, 1769860800000),
            counted=(True, True),
            clean=(True, True),
            outcomes=(Outcome.PROGRESS, Outcome.PROGRESS),
            modes=("build", "build"),
            seconds=(10.0, 10.0),
            files=(0, 0),
            commits=(0, 0),
            tasks_done=(0, 0),
            tokens=(None, None),
            cost_usd=(None, None),
            estimated=(False, False),
            context=(0.333333, None),
            validated=(None, None),
            breakers=(BreakerState.CLOSED, BreakerState.CLOSED),
            tasks=(0, 0),
            agents=(0, None),
            failures=(None, None),
            task_titles=("Log in",),
            agent_names=("claude · opus",),
        )
        assert context_share(one(context_tokens=1, context_window=0)) is None

    def test_of_unknown_cost_are_counted_and_not_taken_for_nothing(self) -> None:
        found = ranged(document(folder(a_run(one(1, cost_usd=0.25, tasks_done=1), one(2)))))
        assert found.totals.cost_usd == 0.25
        assert found.totals.average_task_cost_usd == 0.25
        assert found.totals.without_cost == 1
        assert found.totals.without_tokens == 2
        assert ranged(document(folder(a_run(one())))).totals.average_task_cost_usd is None

    def test_of_an_empty_folder_are_those_of_no_run(self) -> None:
        found = document(folder())
        assert ranged(found).totals == total_of([])
        assert [each.days for each in found.ranges] == [None, 90, 30, 7, 1]

    def test_of_a_run_without_iterations_have_no_end_of_its_iterations(self) -> None:
        (shown,) = document(folder(a_run(started_at=None))).folders[0].runs
        assert (shown.started_at, shown.ended_at, shown.iterations) == (None, None, 0)


class TestRanges:
    def test_hold_the_runs_that_were_active_since_then(self) -> None:
        runs = [
            a_run(one(), ended_at=NOON - days * DAY, started_at=NOON - (days + 1) * DAY).model_copy(
                update={"iterations": (one(ended_at=NOON - days * DAY),)}
            )
            for days in (100, 20, 3)
        ]
        found = document(folder(*runs))
        counts = {each.days: each.totals.runs for each in found.ranges}
        assert counts == {None: 3, 90: 2, 30: 2, 7: 1, 1: 0}
        assert ranged(found, days=7).since == NOON - 7 * DAY

    def test_are_of_each_folder_and_of_all_together(self) -> None:
        found = document(folder(a_run(one())), folder(a_run(one(), one(2)), name="docs"))
        counts = [ranged(found, folder=each).totals.iterations for each in (0, 1, None)]
        assert counts == [1, 2, 3]

    def test_have_days_in_the_zone_of_the_reader(self) -> None:
        run = a_run(one(ended_at=NOON), one(2, ended_at=NOON + timedelta(hours=11.5)))
        digest = digest_of(run, timezone(timedelta(hours=2)))
        shop = FolderRuns(name="shop", workspace="/shop", runs=[digest], now=None, stopped=None)
        found = dashboard([shop], now=NOON + DAY, version="1")
        assert [(day.key, day.iterations) for day in ranged(found).per_day] == [
            ("2026-01-31", 1),
            ("2026-02-01", 1),
        ]


class TestGroups:
    def test_of_agents_have_the_busiest_first_and_leave_out_iterations_without_one(self) -> None:
        found = ranged(
            document(
                folder(
                    a_run(
                        one(1, agent="codex", model="gpt"),
                        one(2),
                        one(3, clean=False),
                        one(4, agent=None),
                    )
                )
            )
        )
        assert [(each.name, each.model, each.success_rate) for each in found.agents] == [
            ("claude", None, 0.5),
            ("codex", "gpt", 1.0),
        ]

    def test_of_a_task_that_a_later_run_works_on_say_that_it_is_open_again(self) -> None:
        task = TaskRef(id="a", title="Log in")
        receipt = TaskReceipt(task=task, start=1)
        completes = a_run(one(1, task=task), receipts=(receipt,))
        works_on = a_run(one(1, task=task))
        (opened,) = ranged(document(folder(completes, works_on))).tasks
        (closed,) = ranged(document(folder(works_on, completes))).tasks
        assert (opened.is_done, closed.is_done) == (False, True)

    def test_of_tasks_have_the_open_one_with_the_most_iterations_however_many_are_done(
        self,
    ) -> None:
        many = [TaskRef(id=f"done-{n}", title=f"Task {n}") for n in range(SHOWN_TASKS + 2)]
        refused = TaskRef(id="open", title="Log in")
        tried = [one(n, task=task) for task in many for n in (1, 2, 3)]
        run = a_run(
            *tried,
            *(one(n, task=refused) for n in (1, 2)),
            receipts=tuple(TaskReceipt(task=task, start=1) for task in many),
        )
        tasks = ranged(document(folder(run))).tasks
        assert len(tasks) == SHOWN_TASKS + 1
        assert [(each.name, each.iterations) for each in tasks if not each.is_done] == [
            ("Log in", 2)
        ]

    def test_of_tasks_have_the_most_tried_first_with_those_done_marked(self) -> None:
        first, second = TaskRef(id="a", title="Log in"), TaskRef(id="b", title="Log out")
        receipt = TaskReceipt(task=first, start=1)
        run = a_run(
            one(1, task=first),
            one(2, task=second),
            one(3, task=second),
            one(4, task=first, counted=False),
            one(5),
            receipts=(receipt,),
        )
        tasks = ranged(document(folder(run))).tasks
        assert [(each.name, each.iterations, each.is_done, each.workspace) for each in tasks] == [
            ("Log out", 2, False, "/shop"),
            ("Log in", 1, True, "/shop"),
        ]

    def test_count_each_opening_of_the_breaker_and_each_validation(self) -> None:
        states = [BreakerState.OPEN, BreakerState.OPEN, BreakerState.CLOSED, BreakerState.OPEN]
        run = a_run(
            *(one(number, breaker=state) for number, state in enumerate(states)),
            one(9, validated=True),
            one(10, validated=False),
        )
        (shown,) = document(folder(run)).folders[0].runs
        assert (shown.opens, shown.validations, shown.failed_validations) == (2, 2, 1)


class TestTexts:
    def test_from_plans_and_agents_are_cleaned_wherever_they_are(self) -> None:
        state = state_after(run_started(), iteration_started())
        now = run_anywhere(state, Phase.RUNNING, workspace="/shop", pid=1, zone=UTC)
        assert now.task is not None
        task = TaskRef(id="a", title="secret task")
        dirty = document(
            folder(
                a_run(one(task=task)),
                now=now.model_copy(
                    update={
                        "activity": "secret work",
                        "needs": "secret need",
                        "task": task,
                    }
                ),
                stopped="secret end",
            ),
            folder(name="docs"),
            folder(name="api", now=idle()),
        )
        clean = with_clean_texts(dirty, lambda text: text.replace("secret", "***"))
        text = clean.model_dump_json()
        assert "secret" not in text
        assert text.count("***") == dirty.model_dump_json().count("secret")


def idle() -> RunAnywhere:
    return run_anywhere(
        state_after(run_started()), Phase.CRASHED, workspace="/api", pid=None, zone=UTC
    ).model_copy(update={"needs": None})


class TestDigests:
    def test_have_the_figures_of_a_run_in_a_list(self) -> None:
        log_in, log_out = TaskRef(id="a", title="Log in"), TaskRef(id="b", title="Log out")
        run = a_run(
            *(one(1, task=log_in, cost_usd=0.1, tasks_done=1), one(2, task=log_out)),
            *(one(3, task=log_in, cost_usd=0.2, counted=False), one(4)),
            seconds=61.5,
            files=7,
            pruned=PrunedOutput(at=NOON, setting="[state] keep_days = 90", files=3, bytes=9),
        )
        kept = kept_run(digest_of(run, UTC), str.upper)
        assert (kept.key, kept.end, kept.seconds, kept.files) == (RUN, "limit", 61.5, 7)
        assert (kept.iterations, kept.tasks_done, kept.cost_usd) == (3, 1, 0.3)
        assert (kept.tasks, kept.pruned) == (("LOG IN", "LOG OUT"), True)
        assert not kept_run(digest_of(a_run(), UTC), str).pruned

    def test_of_several_runs_name_each_task_and_agent_once(self) -> None:
        first, second = TaskRef(id="a", title="Log in"), TaskRef(id="b", title="Log out")
        columns = (
            document(
                folder(
                    a_run(one(1, task=first), one(2, task=None, agent=None)),
                    a_run(one(1, task=second, agent="codex"), one(2, task=first)),
                )
            )
            .folders[0]
            .iterations
        )
        assert columns.runs == (0, 0, 1, 1)
        assert (columns.tasks, columns.task_titles) == ((0, None, 1, 0), ("Log in", "Log out"))
        assert (columns.agents, columns.agent_names) == ((0, None, 1, 0), ("claude", "codex"))

    @given(st.lists(st.lists(ITERATIONS, max_size=4), max_size=4))
    def test_added_up_are_the_figures_of_all_iterations(
        self, parts: list[list[IterationMetrics]]
    ) -> None:
        runs = [a_run(*part) for part in parts]
        everything = [one for part in parts for one in part]
        together = total_of([a_run(*everything)])
        apart = total_of(runs)
        unlike = {"runs", "ends", "run_success_rate"}
        assert apart.model_dump(exclude=unlike) == together.model_dump(exclude=unlike)
