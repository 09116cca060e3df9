"""Planning when nothing but tasks that were set aside is left (docs/rules.md#attempts)."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.inputs import PlanFacts
from ralph_ls.core.loop.machine.run_flow import mode_of
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, TaskRef
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn, crash, no_progress, turn
from tests.unit.core.loop.simulated_run import SimulatedRun, play

RULES: dict[str, Any] = {
    "attempts_limit": 2,
    "attempts_counts": "not-done",
    "attempts_mark": False,
    "breaker_enabled": False,
    "gate_rule": "queue",
    "plan_when_stuck": True,
}
WORKS = turn(files=1)
PLANS = turn(adds=("undercoat",), reviews=("paint",))
PAINTS = turn(files=1, ticks=("paint", "undercoat"))


def run(*script: Turn, **fields: Any) -> SimulatedRun:
    simulated = SimulatedProject(
        script=list(script), tasks={"paint": "todo"}, afterwards=no_progress
    )
    return play(simulated=simulated, **{**RULES, "max_iterations": 12, **fields})


def modes_of(played: SimulatedRun) -> list[str]:
    return [event.mode.value for event in played.events_of("iterationStarted")]


@pytest.mark.parametrize(
    ("is_on", "is_stuck", "has_planned", "task", "wanted", "found"),
    [
        (True, True, False, None, Mode.BUILD, Mode.PLAN),
        (False, True, False, None, Mode.BUILD, Mode.BUILD),
        (True, False, False, None, Mode.BUILD, Mode.BUILD),
        (True, True, True, None, Mode.BUILD, Mode.BUILD),
        (True, True, False, "bd-1", Mode.BUILD, Mode.BUILD),
        (True, True, False, None, Mode.REVIEW, Mode.REVIEW),
        (True, True, True, None, Mode.PLAN, Mode.PLAN),
    ],
)
def test_when_it_is_due(
    is_on: bool, is_stuck: bool, has_planned: bool, task: str | None, wanted: Mode, found: Mode
) -> None:
    config = Config(plan_when_stuck=is_on, task=task)
    run = RunState(config=config, has_planned=has_planned)
    assert mode_of(run, PlanFacts(is_stuck=is_stuck), wanted) is found


class TestInARun:
    def test_it_comes_when_the_last_task_was_set_aside(self) -> None:
        played = run(WORKS, WORKS, PLANS, PAINTS)
        assert modes_of(played) == ["build", "build", "plan", "build"]
        assert played.exit_code == 0

    def test_what_planning_dealt_with_is_tried_again(self) -> None:
        played = run(WORKS, WORKS, turn(reviews=("paint",)), PAINTS)
        assert modes_of(played) == ["build", "build", "plan", "build"]
        assert [one.attempt for one in played.events_of("attemptCounted")] == [1, 2, 1]

    def test_what_planning_left_alone_ends_the_run(self) -> None:
        played = run(WORKS, WORKS, no_progress)
        assert modes_of(played) == ["build", "build", "plan"]
        assert played.exit_code == 2
        assert played.run.has_planned

    def test_it_comes_no_second_time_without_progress_between(self) -> None:
        again = turn(reviews=("paint",))
        played = run(WORKS, WORKS, again, no_progress, no_progress, again)
        assert modes_of(played) == ["build", "build", "plan", "build", "build"]
        assert played.exit_code == 2

    def test_it_comes_again_after_progress(self) -> None:
        again = turn(reviews=("paint",))
        played = run(WORKS, WORKS, again, WORKS, WORKS, again, PAINTS)
        assert modes_of(played) == ["build", "build", "plan", "build", "build", "plan", "build"]
        assert played.exit_code == 0

    def test_it_comes_never_where_it_is_off(self) -> None:
        played = run(WORKS, WORKS, plan_when_stuck=False)
        assert modes_of(played) == ["build", "build"]
        assert played.exit_code == 2

    def test_one_that_was_cut_short_is_planned_again(self) -> None:
        limited = turn(fields=None, silent=True)
        played = run(WORKS, WORKS, limited, limited, PAINTS)
        assert modes_of(played)[:3] == ["build", "build", "plan"]

    def test_a_budget_that_is_used_up_comes_first(self) -> None:
        played = run(WORKS, WORKS, PLANS, max_iterations=2)
        assert modes_of(played) == ["build", "build"]
        assert played.exit_code == 1

    def test_a_crash_of_the_planner_is_no_planning_that_helped(self) -> None:
        played = run(WORKS, WORKS, crash, crash)
        assert modes_of(played) == ["build", "build", "plan"]
        assert played.exit_code == 2


class TestNotesInThePlan:
    def test_where_there_is_no_mark_a_note_is_left(self) -> None:
        played = run(WORKS, WORKS, plan_when_stuck=False)
        (noted,) = played.simulated.noted
        assert noted.task == TaskRef(id="paint", title="paint")
        assert (noted.attempts, noted.agent_reason) == (2, "")
        assert played.simulated.tasks["paint"] == "todo"

    def test_a_reason_that_the_agent_gave_is_in_it(self) -> None:
        gives_up = turn(STATUS="BLOCKED", RECOMMENDATION="no brush", files=1)
        played = run(gives_up, plan_when_stuck=False, on_blocked="set-aside")
        assert [noted.agent_reason for noted in played.simulated.noted] == ["no brush"]

    def test_the_end_has_the_words_of_the_plan_where_it_has_some(self) -> None:
        class Telling(SimulatedProject):
            def plan(self, *args: Any) -> PlanFacts:
                facts = super().plan(*args)
                return PlanFacts(
                    counts=facts.counts, left="stuck: bd-1", open_tasks=facts.open_tasks
                )

        played = play(simulated=Telling(script=[], tasks={"paint": "todo"}), gate_rule="queue")
        assert played.run.end is not None
        assert (
            played.run.end.message
            == "✓ All work complete or blocked: nothing is ready; stuck: bd-1"
        )
