"""Attempts that are kept beyond a run: read before each iteration, and reset by the user."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from ralph_ls.core.loop.effects import ForgetAttempts, PrepareIteration
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import Prepared
from ralph_ls.core.loop.state import Awaits
from ralph_ls.core.replay.journal import simulate_journal
from tests.unit.core.loop.simulated_project import SimulatedProject, Turn, turn
from tests.unit.core.loop.simulated_run import SimulatedRun, settings

B_RULES = {
    "attempts_limit": 3,
    "attempts_counts": "not-done",
    "attempts_mark": False,
    "breaker_enabled": False,
    "gate_rule": "queue",
}
works = turn(files=1, commit=True)


@dataclass(kw_only=True)
class Shared(SimulatedRun):
    """A run beside a file that it reads before each iteration, and others may have changed."""

    kept: dict[str, int] = field(default_factory=dict)

    def _answer(self, effect: object) -> object:  # type: ignore[override]
        answer = super()._answer(effect)  # type: ignore[arg-type]
        if isinstance(effect, PrepareIteration) and isinstance(answer, Prepared):
            out = {task: count for task, count in self.kept.items() if count >= 3}
            return Prepared(
                baseline=answer.baseline,
                plan=self.simulated.plan({**out, **dict.fromkeys(effect.skipped, 0)}),
                left_out=answer.left_out,
                mode=answer.mode,
                attempts=dict(self.kept),
                attempts_before=dict(self.run.attempts),
            )
        return answer


def shared(kept: dict[str, int], *script: Turn, **fields: object) -> Shared:
    simulated = SimulatedProject(
        script=list(script), tasks={"paint": "todo", "sand": "todo"}, afterwards=works
    )
    config = settings(**{**B_RULES, "max_iterations": 3, **fields})  # type: ignore[arg-type]
    return Shared(simulated=simulated, config=config, kept=dict(kept))


def tasks_of(played: SimulatedRun) -> list[str]:
    return [
        event.task.id for event in played.events_of("iterationStarted") if event.task is not None
    ]


def test_a_run_begins_with_the_attempts_of_earlier_ones() -> None:
    played = shared({"paint": 2}, max_iterations=1).start()
    (counted,) = played.events_of("attemptCounted")
    assert (counted.attempt, counted.limit) == (3, 3)
    assert played.events_of("iterationStarted")[0].attempts == {"paint": 2}
    assert played.run.attempts == {"paint": 3}


def test_a_task_that_had_all_its_attempts_is_not_taken() -> None:
    played = shared({"paint": 3}, max_iterations=1).start()
    assert tasks_of(played) == ["sand"]


def test_where_nobody_else_changed_them_nothing_is_reported() -> None:
    played = shared({}, max_iterations=1).start()
    assert played.events_of("iterationStarted")[0].attempts is None
    assert fold(played.events).attempts == {"paint": 1}


def test_the_user_who_removes_a_line_has_the_task_tried_again() -> None:
    played = shared({"paint": 3}, max_iterations=2)
    played.until(Awaits.EXIT)
    assert tasks_of(played) == ["sand"]
    played.kept = {}
    played.go_on()
    assert tasks_of(played) == ["sand", "paint"]
    assert played.events_of("iterationStarted")[1].attempts == {}


def test_with_nothing_left_but_them_the_run_is_blocked() -> None:
    played = shared({"paint": 3, "sand": 4}).start()
    assert played.run.end is not None
    assert played.run.end.exit_code == 2
    assert "set aside after 3 attempts" in played.run.end.message


def test_a_reset_takes_them_out_of_where_they_are_kept() -> None:
    played = shared({"paint": 2}, max_iterations=1).until(Awaits.EXIT)
    played.send("resetTask", task="paint")
    assert ForgetAttempts(task="paint") in played.effects


@pytest.mark.parametrize("rules", [{"attempts_mark": True}, {"attempts_limit": 0}])
def test_what_is_not_kept_beyond_the_run_is_not_taken_out(rules: dict[str, object]) -> None:
    played = shared({}, max_iterations=1, **rules).until(Awaits.EXIT)
    played.send("resetTask", task="paint")
    assert not any(isinstance(effect, ForgetAttempts) for effect in played.effects)


def test_a_reset_while_the_next_task_is_chosen_is_not_lost() -> None:
    played = shared({}, max_iterations=2)
    played.until(Awaits.EXIT)
    played.kept = {"paint": 1}
    while played.state.awaits is not Awaits.PREPARED:
        given = played.queue.popleft()
        played.feed(given() if callable(given) else given)
    assert played.run.attempts == {"paint": 1}
    n_looks = sum(isinstance(effect, PrepareIteration) for effect in played.effects)
    played.send("resetTask", task="paint")
    played.kept = {}
    played.go_on()
    looks = [effect for effect in played.effects if isinstance(effect, PrepareIteration)]
    assert len(looks) == n_looks + 1
    assert [event.attempt for event in played.events_of("attemptCounted")] == [1, 1]


def test_a_run_that_is_judged_again_knows_what_others_changed() -> None:
    played = shared({"paint": 2}, max_iterations=1).start()
    (told,) = simulate_journal(played.events, lambda config: config)
    assert played.run.end is not None
    assert (told.iteration, told.exit_code) == (1, played.run.end.exit_code)
