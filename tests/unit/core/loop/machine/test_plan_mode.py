"""Plan iterations: what they begin with, what ends them, and what does not.

See docs/rules.md#plan-mode.
"""

from __future__ import annotations

import pytest

from ralph_ls.protocol.run.values import Mode
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    claims_all,
    finishes,
    no_progress,
    turn,
)
from tests.unit.core.loop.simulated_run import check_loop


def planning(**tasks: str) -> SimulatedProject:
    return SimulatedProject(script=[], tasks=tasks, mode=Mode.PLAN)


@pytest.mark.parametrize(
    "tasks",
    [
        pytest.param({}, id="there is no plan"),
        pytest.param({"a": "todo"}, id="a task is open"),
        pytest.param({"a": "blocked"}, id="only a blocked task is left"),
        pytest.param({"a": "done"}, id="all is done"),
    ],
)
@pytest.mark.parametrize("rule", ["marker", "dual", "verified", "queue", "status"])
def test_it_begins_whatever_the_plan_says_and_has_no_task(tasks: dict[str, str], rule: str) -> None:
    simulated = planning(**tasks)
    simulated.script = [no_progress]
    played = check_loop([], simulated=simulated, max_iterations=1, gate_rule=rule, attempts_limit=1)
    started = played.events_of("iterationStarted")[0]
    assert (started.mode, started.task, started.confirming) == (Mode.PLAN, None, False)
    assert played.events_of("attemptCounted") == []
    prompt = played.prompts[0]
    assert (prompt.mode, prompt.task, prompt.confirming) == (Mode.PLAN, None, False)


@pytest.mark.parametrize("rule", ["dual", "verified", "queue", "status"])
def test_without_a_plan_nothing_is_complete_whatever_the_agent_says(rule: str) -> None:
    simulated = planning()
    simulated.script = [claims_all]
    played = check_loop(
        [],
        simulated=simulated,
        max_iterations=1,
        gate_rule=rule,
        gate_indicators=1,
        ends=("limit", 1),
    )
    assert played.run.iteration == 1


def test_a_plan_that_turns_out_to_be_done_completes_the_run() -> None:
    simulated = planning(**{"write the letter": "todo"})
    simulated.script = [finishes]
    check_loop([], simulated=simulated, ends=("complete", 0), iterations=1, gate_indicators=1)


def test_a_used_up_budget_ends_the_run_before_it() -> None:
    simulated = planning(a="todo")
    simulated.script = [no_progress]
    played = check_loop([], simulated=simulated, max_iterations=1, ends=("limit", 1), iterations=1)
    played.resume()
    assert played.exit_code == 1
    assert played.run.iteration == 1


def test_status_blocked_sets_nothing_aside() -> None:
    simulated = planning(a="todo")
    simulated.script = [turn(STATUS="BLOCKED", RECOMMENDATION="no words")]
    played = check_loop([], simulated=simulated, max_iterations=1, on_blocked="set-aside")
    assert played.events_of("taskSetAside") == []
