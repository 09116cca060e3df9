"""How failures, waits, full windows and estimates are shown in every view."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.rules.budget import iteration_limit_passed, limit_reached
from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.model.words import outcome_words, recent_words
from ralph_ls.core.views.panel.rows import iteration_rows
from ralph_ls.core.views.report.metrics import measure_run
from ralph_ls.core.views.report.metrics_tables import run_cells, to_csv, total_lines
from ralph_ls.core.views.report.sums import total_of
from ralph_ls.core.views.text.agent_output import message_line
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.status import wait_words
from ralph_ls.core.views.text.summary import budget_words, cost_words, frame_foot
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import IterationEnded, Warned
from ralph_ls.protocol.run.messages import UsageCounts, UsageMessage
from ralph_ls.protocol.run.report import AgentFailure, Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Outcome, Phase
from tests.unit.core.views.document_contexts import (
    NOON,
    begins,
    ends,
    event,
    phase,
    run_of,
    seen,
    started,
)

ESTIMATE = Usage(input_tokens=1, output_tokens=1, cost_usd=0.5, estimated=True)
OVERLOADED = AgentFailure.OVERLOADED


@pytest.mark.parametrize(
    ("outcome", "failure", "words"),
    [
        (Outcome.PROGRESS, None, "progress"),
        (Outcome.LIMITED, None, "usage limit, not counted"),
        (Outcome.LIMITED, AgentFailure.LIMIT, "usage limit, not counted"),
        (Outcome.LIMITED, OVERLOADED, "model overloaded, not counted"),
        (Outcome.PROGRESS, AgentFailure.TIMED_OUT, "progress, timed out"),
    ],
)
def test_how_an_iteration_came_out(
    outcome: Outcome, failure: AgentFailure | None, words: str
) -> None:
    assert outcome_words(outcome, failure) == words
    ended = ends(1, outcome=outcome, failure=failure)
    state = fold([begins(1, None), ended])
    assert list(recent_words(state.history)) == [f"iteration 1: {words}"]


def test_every_failure_has_words() -> None:
    assert all(outcome_words(Outcome.NO_PROGRESS, kind) for kind in AgentFailure)


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (OVERLOADED, "Iteration 2: model overloaded in 2m 32s, no commit; not counted"),
        (AgentFailure.LIMIT, "Iteration 2: at the usage limit in 2m 32s, no commit; not counted"),
        (None, "Iteration 2: at the usage limit in 2m 32s"),
    ],
)
def test_an_iteration_that_does_not_count_says_why(failure: AgentFailure | None, text: str) -> None:
    ended = ends(2, outcome=Outcome.LIMITED, failure=failure, seconds=152.0, commit=None)
    line = event_line(ended)
    assert line is not None
    assert line.text.startswith(text)


def test_a_wait_for_an_overloaded_model_says_until_when() -> None:
    words = wait_words("retry", NOON + timedelta(minutes=5), since=NOON)
    assert words == " for the overloaded model until 12:05 UTC"


def test_the_rows_of_iterations_say_how_their_agents_failed() -> None:
    def failure(kind: AgentFailure | None) -> str | None:
        told = (begins(1, None), ends(1, failure=kind, usage=ESTIMATE))
        (row,) = iteration_rows(run_of(told)).rows
        assert row.estimated
        return row.failure

    kinds = (OVERLOADED, AgentFailure.LIMIT, None)
    assert [failure(kind) for kind in kinds] == ["model overloaded", None, None]


def told(*warnings: Warned) -> list[tuple[str, str]]:
    look = seen(started(), begins(1, None), phase(Phase.RUNNING), *warnings)
    return [(one.code, one.severity.value) for one in diagnostics(look)]


def warned(code: str, iteration: int = 1) -> Warned:
    return event(Warned, iteration=iteration, code=code, message="so it is")


def test_of_a_window_that_fills_the_last_notice_of_the_newest_iteration_is_shown() -> None:
    assert ("context-50", "information") in told(warned("context-50"))
    shown = told(warned("context-50"), warned("context-90"), warned("context-70"))
    assert [one for one in shown if one[0].startswith("context")] == [("context-90", "warning")]
    assert not [one for one in told(warned("context-90", 7)) if one[0].startswith("context")]


@pytest.mark.parametrize("code", ["agent-overloaded", "agent-fallback", "agent-context-full"])
def test_what_keeps_an_agent_from_its_work_is_shown_at_its_task(code: str) -> None:
    assert (code, "information") in told(warned(code))


class TestAnEstimate:
    def test_is_marked_wherever_a_cost_is_shown(self) -> None:
        ended: IterationEnded = ends(1, usage=ESTIMATE, failure=OVERLOADED)
        assert cost_words(0.5, 2.0, estimated=True) == "≈$0.50 of $2.00"
        state = RunState(usage=ESTIMATE, config=Config(max_cost_usd=2.0))
        assert list(budget_words(state)) == ["≈$0.50 of $2.00"]
        assert "Cost: ≈$0.50" in frame_foot(ended, NOON)
        message = UsageMessage(start=1, usage=UsageCounts(**ESTIMATE.model_dump()))
        assert message_line(message) == "∑ 1 tokens in, 1 out, ≈$0.5000"

    def test_counts_for_budgets_and_says_so(self) -> None:
        config = Config(max_cost_usd=0.4, max_cost_per_iteration_usd=0.4)
        used = limit_reached(config, counted=1, seconds=0.0, usage=ESTIMATE)
        assert used == "reached the $0.40 cost limit (≈$0.50 used)"
        assert iteration_limit_passed(config, ESTIMATE) == "≈$0.50 of $0.40"


def test_statistics_count_failures_and_mark_estimates() -> None:

    run = measure_run(
        [started(), begins(1, None), ends(1, usage=ESTIMATE, failure=OVERLOADED)], is_live=False
    )
    assert run is not None
    total = total_of([run])
    assert (total.failures, total.estimated) == ({"overloaded": 1}, True)
    assert run_cells(run, None)[-1] == "≈$0.50"
    lines = dict(total_lines(total))
    assert (lines["Cost"], lines["Failures"]) == ("≈$0.50", "model overloaded 1")
    assert to_csv([run]).splitlines()[1].endswith(",overloaded,true,false,false,0,,,,,,")
