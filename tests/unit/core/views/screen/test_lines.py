"""The full screen's lines: tasks, meters, iterations, headline and the running tool."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.core.views.screen.lists import (
    iteration_cells,
    iteration_lines,
    narrow_cells,
    outcome_tone,
    task_lines,
    task_page_lines,
)
from ralph_ls.core.views.screen.status import (
    Activity,
    MeterLine,
    after_message,
    bar,
    headline,
    meter_lines,
)
from ralph_ls.protocol.lsp.panel import IterationRow, PlanRows, TaskRow, Tone
from ralph_ls.protocol.run.events import AgentStarted
from ralph_ls.protocol.run.messages import (
    AgentMessage,
    FileAction,
    FileMessage,
    TextMessage,
    ToolMessage,
    ToolState,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import Outcome, Phase
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    begins,
    ends,
    event,
    phase,
    reports,
    seen,
    shows,
    started,
)
from tests.unit.core.views.panel_states import PAUSE
from tests.unit.core.views.run_situations import PARKED_ASKING, PARKED_OPEN, WORKS


def row(title: str, state: TaskState = TaskState.TODO, **fields: bool) -> TaskRow:
    return TaskRow(id=title, title=title, state=state, line=1, **fields)  # type: ignore[arg-type]


def marked(*tasks: TaskRow, unfolded: bool = False) -> list[str]:
    return [
        f"{line.mark} {line.text}" for line in task_lines(PlanRows(tasks=tasks), unfolded=unfolded)
    ]


class TestTasks:
    def test_the_current_one_is_first_and_done_ones_are_folded(self) -> None:
        tasks = (
            row("done", TaskState.DONE),
            row("open"),
            row("no keys", TaskState.BLOCKED),
            row("left out", TaskState.SKIPPED),
            row("not now", skipped=True),
            row("begun", TaskState.IN_PROGRESS),
            row("asked", asks=True),
            row("blocking", blocks=True),
            row("current", in_work=True),
        )
        left = [
            "▶ current",
            "? asked",
            "! blocking",
            "◐ begun",
            "○ open",
            "! no keys",
            "- left out",
            "- not now",
        ]
        assert marked(*tasks) == [*left, "✓ 1 task done"]
        assert marked(*tasks, unfolded=True) == [*left, "✓ 1 task done", "✓ done"]

    def test_only_the_folded_line_is_no_task(self) -> None:
        lines = task_lines(PlanRows(tasks=(row("a"), row("b", TaskState.DONE))))
        assert [line.task for line in lines] == ["a", None]
        assert lines[-1].words == "Enter lists them"

    def test_a_task_is_shown_whole_with_what_the_plan_says_below_it(self) -> None:
        notes = "\n  Use the bank's form.\n  - [ ] A refund works\n"
        text = f"# Plan\n\n- [ ] Pay by card\n{notes}- [ ] Print\n"
        context = seen(text=text)
        plan = plan_rows(context, uri=None, path="fix_plan.md")
        shown = task_page_lines(plan.tasks[0], plan, context)
        assert shown == (
            ("Task", "Pay by card"),
            ("Id", plan.tasks[0].id),
            ("State", "todo"),
            ("Section", "Plan"),
            ("Plan", "fix_plan.md:3"),
            ("Notes", "Use the bank's form.\n- [ ] A refund works"),
        )
        assert "Notes" not in dict(task_page_lines(plan.tasks[-1], plan, context))

    def test_criteria_of_a_plan_that_is_no_markdown_are_listed(self) -> None:
        task = TaskRow(
            id="a",
            title="Print",
            state=TaskState.TODO,
            line=1,
            criteria=("red", "blue"),
            in_work=True,
        )
        plan = PlanRows(path="prd.json", tasks=(task,))
        shown = dict(task_page_lines(task, plan, seen(kind=PlanKind.STORIES)))
        assert (shown["Criteria"], shown["State"]) == ("- red\n- blue", "in work")
        gone = seen(text="# Plan\n")
        assert "Notes" not in dict(task_page_lines(task, plan, gone))

    def test_a_plan_without_tasks_has_no_lines(self) -> None:
        assert marked() == []


def meters(*events: object, now: int = 0, **fields: object) -> dict[str, MeterLine]:
    context = seen(*events, **fields)  # type: ignore[arg-type]
    at = NOON + timedelta(minutes=now)
    lines = meter_lines(context, panel(context, now=at), at, NOON.tzinfo)
    return {line.heading: line for line in lines}


AGENT = event(
    AgentStarted, iteration=3, agent="command", argv=("x",), pid=1, process_start_time=1.0
)


class TestMeters:
    def test_there_are_none_without_a_run(self) -> None:
        assert meters() == {}

    def test_each_limit_has_its_share(self) -> None:
        usage = Usage(input_tokens=90_000, output_tokens=6_000, cost_usd=1.0)
        found = meters(
            started(max_cost_usd=4.0, max_tokens=100_000, max_duration=7200.0),
            begins(3, CHOOSE),
            ends(3, usage=usage),
        )
        assert found["Iterations"].words == "3 of 20"
        assert found["Iterations"].share == pytest.approx(0.15)
        assert found["Tasks"] == MeterLine(heading="Tasks", words="1 of 6", share=1 / 6)
        assert found["Cost"].words == "$1.00 of $4.00"
        assert found["Cost"].share == 0.25
        assert found["Tokens"].tone is Tone.WARNING
        assert found["Time"].share == pytest.approx(60 / 7200, abs=0.02)

    def test_without_limits_there_are_words_alone(self) -> None:
        found = meters(started(max_iterations=None), begins(3, CHOOSE), text="", now=3)
        assert found["Iterations"] == MeterLine(heading="Iterations", words="3")
        assert found["Time"].share is None
        assert "Tasks" not in found
        assert "Cost" not in found

    def test_a_done_plan_and_a_used_up_limit_differ(self) -> None:
        found = meters(started(max_iterations=3), begins(3, CHOOSE), text="- [x] One\n")
        assert found["Iterations"].tone is Tone.WARNING
        assert found["Tasks"].tone is Tone.GOOD

    def test_the_breaker_comes_first_with_its_reason(self) -> None:
        found = meters(*PARKED_OPEN)
        assert next(iter(found)) == "Breaker"
        assert found["Breaker"].words.startswith("open: 3 iterations without progress")
        assert found["Breaker"].tone is Tone.BAD

    def test_a_wait_says_until_when(self) -> None:
        waiting = phase(Phase.WAITING, "limit").model_copy(
            update={"until": NOON + timedelta(hours=1)}
        )
        found = meters(started(), waiting, now=10)
        assert found["Waits"].words == "for the usage limit until 13:00 UTC, 50m 0s left"

    def test_an_agent_has_a_deadline_while_its_engine_lives(self) -> None:
        events = (started(), begins(3, CHOOSE), phase(Phase.RUNNING), AGENT)
        words = meters(*events, now=4)["Agent"].words
        assert words.startswith("command, ")
        assert words.endswith("UTC")
        assert "Agent" not in meters(*events, pid=None)

    @pytest.mark.parametrize(
        ("share", "shown"), [(0, "░░░░"), (0.5, "██░░"), (1, "████"), (7, "████"), (-1, "░░░░")]
    )
    def test_a_bar(self, share: float, shown: str) -> None:
        assert bar(share, 4) == shown


class TestIterations:
    def test_in_a_small_window_the_outcome_is_where_no_evidence_is(self) -> None:
        running = IterationRow(iteration=1, start=1, files=0)
        assert narrow_cells(running, "●") == ("1", "●", "running", "")
        failed = IterationRow(iteration=1, start=1, outcome=Outcome.LOST, failure="crashed")
        assert narrow_cells(failed, "✗") == ("1", "✗", "crashed", "")

    def test_the_claim_is_beside_the_evidence(self) -> None:
        one = IterationRow(
            iteration=2,
            start=3,
            tries=2,
            task="Write it",
            outcome=Outcome.PROGRESS,
            seconds=62,
            files=2,
            tasks_done=1,
            commit="a1b2c3d" + "0" * 33,
            status="COMPLETE",
            claimed_files=4,
            tests="PASSING",
            cost_usd=0.42,
            why="as it is",
        )
        assert iteration_cells(one) == (
            "2.2",
            "progress",
            "2 files · 1 task · a1b2c3d",
            "COMPLETE · 4 files · tests PASSING",
            "1m 2s",
            "$0.42",
            "Write it",
        )
        narrow = ("2.2", "✓", "2 files · 1 task", "COMPLETE · 4 files · tests PASSING")
        assert narrow_cells(one, "✓") == narrow
        lines = dict(iteration_lines(one))
        assert lines["Iteration"] == "2.2 (start 3)"
        assert "Work" not in lines
        assert dict(iteration_lines(IterationRow(iteration=1, start=1)))["Iteration"] == "1"

    @pytest.mark.parametrize(
        ("fields", "word", "tone"),
        [
            ({}, "running", Tone.ACTIVE),
            ({"outcome": Outcome.NO_PROGRESS}, "no progress", Tone.WARNING),
            ({"outcome": Outcome.LOST}, "engine died", Tone.BAD),
            ({"outcome": Outcome.NO_PROGRESS, "failure": "not logged in"}, "not logged in", None),
            (
                {"outcome": Outcome.NO_PROGRESS, "confirmed": True},
                "confirmed that nothing is left to do",
                Tone.GOOD,
            ),
        ],
    )
    def test_the_outcome_is_a_word_with_a_tone(
        self, fields: dict[str, object], word: str, tone: Tone | None
    ) -> None:
        one = IterationRow(iteration=1, start=1, **fields)  # type: ignore[arg-type]
        assert iteration_cells(one)[1] == word
        assert tone is None or outcome_tone(one) is tone


def heading(*events: object, **fields: object) -> str:
    context = seen(*events, **fields)  # type: ignore[arg-type]
    return " · ".join(headline(context, panel(context), NOON))


class TestHeadline:
    def test_it_says_how_far_the_run_is(self) -> None:
        assert heading() == "No loop has run here"
        assert heading(*WORKS) == "Running · iteration 3/20 · 1/6 tasks · 2m 0s"
        asks = heading(*PARKED_ASKING, shows(3), reports(3))
        assert asks.startswith("Waiting for your answer · iteration 3/20")

    def test_it_says_that_the_run_pauses_after_the_iteration(self) -> None:
        assert " · pauses after this iteration · iteration 3/20" in heading(*WORKS, PAUSE)
        assert "pauses" not in heading(*WORKS, PAUSE, phase(Phase.PAUSED))

    def test_it_names_another_agent_cost_and_branch(self) -> None:
        begun = started(max_iterations=None).model_copy(update={"branch": "work"})
        agent = AGENT.model_copy(update={"agent": "codex"})
        usage = Usage(cost_usd=0.5)
        words = heading(begun, begins(2, CHOOSE), ends(2, usage=usage), begins(3, CHOOSE), agent)
        assert words == "Starting · iteration 3 · 1/6 tasks · 4m 0s · $0.50 · codex · work"
        assert heading(started(), text="") == "Starting · iteration 0/20 · 0s"

    def test_there_is_always_a_plan_or_none(self) -> None:
        assert plan_rows(seen(), uri=None, path="").tasks == ()


def tool(call: str, state: ToolState = ToolState.STARTED, summary: str = "pytest") -> ToolMessage:
    return ToolMessage(start=1, call=call, name="Bash", summary=summary, state=state)


def after(*messages: AgentMessage) -> str:
    activity = Activity()
    for message in messages:
        activity = after_message(activity, message, NOON)
    return activity.words(NOON + timedelta(seconds=12))


class TestActivity:
    def test_the_newest_tool_that_has_not_ended_is_shown_with_its_duration(self) -> None:
        assert after() == ""
        assert after(tool("1")) == "Bash: pytest · 12s"
        assert after(tool("1"), tool("2", summary="")) == "Bash · 12s · 1 more"
        assert after(tool("1"), tool("2"), tool("2", ToolState.DONE)) == "Bash: pytest · 12s"
        assert after(tool("1"), tool("1", ToolState.FAILED)) == ""

    def test_a_call_without_an_id_ends_with_the_next_words(self) -> None:
        read = FileMessage(start=1, path="a", action=FileAction.READ)
        assert after(tool(""), read) == "Bash: pytest · 12s"
        assert after(tool(""), TextMessage(start=1, text="so")) == ""
        assert after(tool("1"), TextMessage(start=1, text="so")) == "Bash: pytest · 12s"
        assert after(tool(""), tool("")) == "Bash: pytest · 12s"
