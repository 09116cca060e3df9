"""Tasks that others may take too are claimed before an agent starts (docs/rules.md#beads)."""

from __future__ import annotations

from typing import Any

from ralph_ls.core.loop.effects import ClaimTask, LaunchAgent
from ralph_ls.core.loop.inputs import TaskClaimed
from ralph_ls.core.loop.state import Awaits
from ralph_ls.protocol.run.values import Mode, Phase, TaskRef
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn, turn
from tests.unit.core.loop.simulated_run import SimulatedRun, command, play, settings

B_RULES: dict[str, Any] = {
    "attempts_limit": 3,
    "attempts_counts": "not-done",
    "attempts_mark": False,
    "breaker_enabled": False,
    "gate_rule": "queue",
}
PAINTS = turn(files=1, ticks=("paint",))
SANDS = turn(files=1, ticks=("sand",))


def shared(*script: Turn, others: tuple[str, ...] = ()) -> SimulatedProject:
    tasks = {"paint": "todo", "sand": "todo"}
    return SimulatedProject(script=list(script), tasks=tasks, is_shared=True, others=list(others))


def held_at_claim() -> SimulatedRun:
    """A run whose first task is being claimed."""
    return SimulatedRun(simulated=shared(PAINTS, SANDS), config=settings(**B_RULES)).until(
        Awaits.CLAIM
    )


class TestClaiming:
    def test_comes_before_the_agent_and_before_anything_is_reported_of_the_iteration(self) -> None:
        held = held_at_claim()
        assert isinstance(held.effects[-1], ClaimTask)
        assert held.effects[-1].task.id == "paint"
        assert "iterationStarted" not in held.kinds()
        assert held.run.phase is Phase.PREPARING

    def test_is_done_for_each_task(self) -> None:
        played = play(simulated=shared(PAINTS, SANDS), **B_RULES)
        kinds = [type(one) for one in played.effects if isinstance(one, ClaimTask | LaunchAgent)]
        assert kinds == [ClaimTask, LaunchAgent] * 2
        assert played.exit_code == 0

    def test_of_a_task_that_another_run_has_makes_room_for_the_next_one(self) -> None:
        played = play(simulated=shared(SANDS, others=("paint",)), **B_RULES)
        assert [one.task.id for one in played.events_of("iterationStarted")] == ["sand"]
        assert played.events_of("warned")[0].code == "claim-refused"
        assert (
            played.events_of("warned")[0].message
            == "paint (paint) was not claimed: assigned to Bob"
        )
        assert played.run.attempts == {}
        assert played.exit_code == 2

    def test_is_not_done_for_a_plan_iteration(self) -> None:
        simulated = shared(turn(files=1))
        simulated.mode = Mode.PLAN
        played = play(simulated=simulated, **B_RULES, max_iterations=1)
        assert not any(isinstance(effect, ClaimTask) for effect in played.effects)

    def test_that_ended_with_a_stop_starts_nothing(self) -> None:
        held = held_at_claim()
        held.send("stop")
        held.go_on()
        assert held.exit_code == 130
        assert "iterationStarted" not in held.kinds()

    def test_of_a_task_that_was_skipped_meanwhile_leads_to_another_look(self) -> None:
        held = held_at_claim()
        held.send("skip", task="paint")
        held.go_on()
        tasks = {one.task.id for one in held.events_of("iterationStarted")}
        assert tasks == {"sand"}

    def test_in_a_run_that_is_to_pause_leads_to_the_pause(self) -> None:
        held = held_at_claim()
        held.send("pause")
        held.go_on()
        assert held.run.phase is Phase.PAUSED
        assert "iterationStarted" not in held.kinds()
        held.go_on(command("resume"))
        assert held.exit_code == 0

    def test_that_nobody_awaits_moves_nothing(self) -> None:
        held = SimulatedRun(simulated=shared(PAINTS), config=settings(**B_RULES)).until(Awaits.EXIT)
        held.feed(TaskClaimed(task=TaskRef(id="paint", title="paint")))
        assert held.ignored == ["the run is waiting for the agent to end"]

    def test_is_done_again_by_an_engine_that_takes_over(self) -> None:
        held = held_at_claim()
        held.resume()
        assert [one.task.id for one in held.events_of("iterationStarted")] == ["paint", "sand"]
        assert held.exit_code == 0
