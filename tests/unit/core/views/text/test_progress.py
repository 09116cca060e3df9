"""Progress of a run in one line, and its last line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.views.text.status import (
    end_words,
    progress_percentage,
    progress_title,
    progress_words,
)
from ralph_ls.protocol.run.events import BlockedRaised, EventBase, QuestionAsked, RunEnded
from ralph_ls.protocol.run.values import EndReason, Mode, Phase, PlanCountsView
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    RUN,
    begins,
    ends,
    event,
    phase,
    seen,
    seen_by_chance,
    started,
)


def asked(question: str = "SQLite or Postgres?") -> EventBase:
    return event(QuestionAsked, iteration=1, question=question, path="d", asked_at=NOON)


def words(*events: EventBase) -> str:
    sight = seen(started(), *events)
    assert sight.state is not None
    return progress_words(sight.state, sight.phase)


def test_the_title_names_the_run() -> None:
    sight = seen(started())
    assert sight.state is not None
    assert progress_title(sight.state) == f"Ralph: run {RUN}"


@pytest.mark.parametrize(
    ("events", "line"),
    [
        pytest.param((), "starting", id="starting"),
        pytest.param(
            (phase(Phase.RUNNING), begins(3, CHOOSE)),
            "iteration 3 of 20 · Choose the storage engine",
            id="working",
        ),
        pytest.param(
            (phase(Phase.RUNNING), begins(4, None)),
            "iteration 4 of 20 · confirms that nothing is left to do",
            id="confirming",
        ),
        pytest.param(
            (phase(Phase.RUNNING), begins(1, None).model_copy(update={"mode": Mode.PLAN})),
            "iteration 1 of 20 · makes the plan",
            id="planning",
        ),
        pytest.param(
            (begins(3, CHOOSE), ends(3), phase(Phase.PREPARING)),
            "iteration 3 of 20",
            id="between-two",
        ),
        pytest.param(
            (begins(1, CHOOSE), asked(), phase(Phase.PARKED, "decide")),
            "iteration 1 of 20 · waits for an answer to: SQLite or Postgres?",
            id="asks",
        ),
        pytest.param(
            (
                event(BlockedRaised, iteration=None, reason="no keys", path="b"),
                phase(Phase.PARKED, "blocked"),
            ),
            "waits for the blocker to be resolved: no keys",
            id="blocked-before-the-first",
        ),
        pytest.param(
            (begins(1, CHOOSE), ends(1), phase(Phase.PAUSED)),
            "iteration 1 of 20 · paused",
            id="paused",
        ),
        pytest.param(
            (begins(1, CHOOSE), phase(Phase.WAITING, "retry")),
            "iteration 1 of 20 · waits for the overloaded model",
            id="retry",
        ),
        pytest.param(
            (begins(1, CHOOSE), phase(Phase.WAITING)),
            "iteration 1 of 20 · waits: for a moment",
            id="waits",
        ),
        pytest.param(
            (begins(1, CHOOSE), phase(Phase.STOPPING)),
            "iteration 1 of 20 · stops after this iteration",
            id="stopping",
        ),
    ],
)
def test_a_run_in_one_line(events: tuple[EventBase, ...], line: str) -> None:
    assert words(*events) == line


def test_without_a_limit_there_is_none_to_show() -> None:
    sight = seen(started(max_iterations=None), begins(3, CHOOSE), phase(Phase.RUNNING))
    assert sight.state is not None
    assert progress_words(sight.state, sight.phase) == "iteration 3 · Choose the storage engine"


@pytest.mark.parametrize(
    ("events", "shown", "line"),
    [
        pytest.param(
            (event(RunEnded, reason=EndReason.COMPLETE, exit_code=0, message="all is done"),),
            Phase.ENDED,
            "complete: all is done",
            id="complete",
        ),
        pytest.param((phase(Phase.RUNNING),), Phase.CRASHED, "its engine is gone", id="crashed"),
        pytest.param(
            (asked(), phase(Phase.PARKED, "decide")),
            Phase.PARKED,
            "the system stopped its engine; it waits for an answer to: SQLite or Postgres?",
            id="stopped-by-the-system",
        ),
    ],
)
def test_the_line_it_ends_with(events: tuple[EventBase, ...], shown: Phase, line: str) -> None:
    sight = seen(started(), *events)
    assert sight.state is not None
    assert end_words(sight.state, shown) == line


@given(data=st.data())
def test_any_run_has_its_lines(data: st.DataObject) -> None:
    sight = seen_by_chance(data)
    if sight.state is not None:
        lines = (progress_words(sight.state, sight.phase), end_words(sight.state, sight.phase))
        assert all(line and "\n" not in line for line in lines[1:])


@pytest.mark.parametrize(("done", "required", "shown"), [(0, 0, None), (1, 3, 33), (5, 4, 100)])
def test_how_much_is_done_is_of_the_required_tasks(
    done: int, required: int, shown: int | None
) -> None:
    state = seen(started()).state
    assert state is not None
    counts = PlanCountsView(required=required, required_done=done)
    assert progress_percentage(state.model_copy(update={"counts": counts})) == shown
