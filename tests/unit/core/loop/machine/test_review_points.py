"""Review points: where a run holds for the user's review, and what lets it continue.

See docs/rules.md#review-points.
"""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.inputs import Interrupted
from ralph_ls.core.loop.machine.run_flow import BY_TERM
from ralph_ls.core.loop.rules.waits import parked_words, review_due
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.state import LastIteration, RunState
from ralph_ls.protocol.run.values import Evidence, Outcome, Phase
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    asks,
    finishes,
    no_progress,
    progress,
    turn,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, check_loop, play
from tests.unit.core.loop.user_behaviours import during_turn


def ended(
    counted: int,
    *,
    outcome: Outcome = Outcome.PROGRESS,
    done: tuple[str, ...] = (),
    evidence_of: int = 4,
    **points: Any,
) -> RunState:
    """A run whose fourth iteration has just ended."""
    return RunState(
        config=Config.model_validate({"review_points": points}),
        counted=counted,
        last=LastIteration(
            iteration=4, start=4, outcome=outcome, counted=outcome is Outcome.PROGRESS, seconds=1.0
        ),
        evidence=Evidence(tasks_done=done),
        evidence_start=evidence_of,
    )


PAINT = title_id("Paint the door")


@pytest.mark.parametrize(
    ("run", "due"),
    [
        pytest.param(RunState(), None, id="nothing was done yet"),
        pytest.param(ended(4), None, id="none is wanted"),
        pytest.param(ended(4, every=3), None, id="not yet"),
        pytest.param(ended(4, every=2), "4 iterations of this run are done", id="every second"),
        pytest.param(ended(1, every=1), "1 iteration of this run is done", id="each"),
        pytest.param(ended(4, every=2, outcome=Outcome.LIMITED), None, id="one that never was"),
        pytest.param(ended(4, every=2, outcome=Outcome.LOST), None, id="one that was lost"),
        pytest.param(ended(1, after_tasks=["US-1"]), None, id="a task that is open"),
        pytest.param(ended(1, after_tasks=["US-1"], done=("US-1",)), "done: US-1", id="by its id"),
        pytest.param(
            ended(1, after_tasks=["paint **the** door"], done=(PAINT,)),
            "done: paint **the** door",
            id="by its title",
        ),
        pytest.param(
            ended(1, after_tasks=["Paint the door"], done=(f"{PAINT}-2",)),
            "done: Paint the door",
            id="by a title that is there twice",
        ),
        pytest.param(
            ended(1, after_tasks=["US-1"], done=("US-1",), evidence_of=3), None, id="done before"
        ),
        pytest.param(
            ended(2, every=2, after_tasks=["US-1", "US-2"], done=("US-2",), outcome=Outcome.LOST),
            "done: US-2",
            id="a task that was done before its engine died",
        ),
    ],
)
def test_a_review_is_due_at_the_points_of_the_settings(run: RunState, due: str | None) -> None:
    assert review_due(run) == due


def test_nothing_is_due_where_nothing_was_found() -> None:
    run = ended(4, after_tasks=["US-1"]).model_copy(update={"evidence": None})
    assert review_due(run) is None


EVERY: dict[str, Any] = {"review_points": {"every": 1}}


def reviewed(*script: Turn, **fields: Any) -> SimulatedRun:
    return play(*(script or (progress, finishes)), wait=True, **{**EVERY, **fields})


def test_a_run_that_may_wait_parks_until_it_is_approved() -> None:
    played = reviewed()
    assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "review")
    assert parked_words(played.run) == "your review: 1 iteration of this run is done"
    played.send("resume")
    assert played.events_of("commandAccepted")[0].text == "review approved; the run continues"
    played.go_on()
    assert played.exit_code == 0
    assert played.run.iteration == 2


def test_what_was_written_meanwhile_is_reported_to_the_next_agent() -> None:
    played = reviewed()
    played.send("note", text="use tabs")
    assert played.run.phase is Phase.PARKED
    played.send("resume")
    played.go_on()
    assert [prompt.notes for prompt in played.prompts] == [(), ("use tabs",)]


@pytest.mark.parametrize(("kind", "answer"), [("pause", "parked"), ("answer", "no-question")])
def test_what_means_nothing_then_is_refused(kind: str, answer: str) -> None:
    played = reviewed()
    played.send(kind, **({"text": "x"} if kind == "answer" else {}))
    assert played.events_of("commandRejected")[0].code == answer


def test_a_reset_breaker_approves_nothing() -> None:
    played = reviewed(no_progress, finishes)
    played.send("reset")
    assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "review")


def test_a_run_that_is_not_approved_is_stopped() -> None:
    played = reviewed()
    played.send("stop")
    end = played.run.end
    assert end is not None
    assert (end.reason, end.exit_code, end.by) == ("stopped", 130, "Ada")
    played = reviewed()
    played.feed(Interrupted(by=BY_TERM))
    assert played.exit_code == 143


def test_a_run_that_waits_for_nobody_ends_and_continuing_approves() -> None:
    played = check_loop(
        [progress, finishes], ends=("stopped", 130), message="ralph run --resume", **EVERY
    )
    assert played.run.end is not None
    assert played.run.end.by == "a review point"
    played.resume()
    assert played.exit_code == 0
    assert played.run.iteration == 2


def test_an_engine_that_died_while_parked_is_approved_by_the_user_who_takes_up_the_run() -> None:
    played = reviewed().resume()
    assert played.exit_code == 0


def test_the_end_of_the_run_needs_no_review() -> None:
    assert reviewed(finishes).exit_code == 0


def test_a_question_comes_before_it_and_is_no_review() -> None:
    played = reviewed(asks("a or b?"), finishes)
    assert played.run.phase_reason == "decide"
    played.send("answer", text="a")
    played.go_on()
    assert played.exit_code == 0


def test_a_wish_to_pause_is_fulfilled_by_the_review() -> None:
    played = reviewed(person=during_turn(0, "pause"))
    assert played.run.phase_reason == "review"
    played.send("resume")
    played.go_on()
    assert played.exit_code == 0


def test_a_task_that_was_done_at_the_usage_limit_is_looked_at_before_the_wait() -> None:
    said = turn(fields=None, files=1, ticks=("a",), limit=AccountLimit(), failure="at its limit")
    simulated = SimulatedProject(script=[said, finishes], tasks={"a": "todo", "b": "todo"})
    points = {"after_tasks": ["a"]}
    played = play(simulated=simulated, wait=True, review_points=points)
    assert played.run.phase_reason == "review"
    assert parked_words(played.run) == "your review: done: a"
    assert played.state.awaits is Awaits.PERSON


def test_settings_that_changed_meanwhile_leave_a_plain_word() -> None:
    run = reviewed().run.model_copy(update={"config": Config()})
    assert parked_words(run) == "your review"
