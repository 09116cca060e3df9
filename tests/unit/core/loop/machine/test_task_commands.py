"""Commands about one task: skip it for as long as the run lasts, or reset it.

See docs/rules.md#attempts.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph_ls.core.loop.effects import PrepareIteration
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import IterationRead, PendingReset, Resumed
from ralph_ls.core.loop.state import Awaits, LoopState
from ralph_ls.protocol.config.config import OnHalt
from ralph_ls.protocol.run.values import Phase, TaskRef
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    Turn,
    finishes,
    no_progress,
    progress,
)
from tests.unit.core.loop.simulated_run import SimulatedRun, command, facts, settings

TWO = {"first": "todo", "second": "todo"}


def begun(
    *script: Turn, wait: bool = False, tasks: dict[str, str] = TWO, **fields: object
) -> SimulatedRun:
    """A run that has not begun its first step yet."""
    simulated = SimulatedProject(script=list(script), tasks=dict(tasks), afterwards=no_progress)
    return SimulatedRun(simulated=simulated, config=settings(wait=wait, **fields))


def assigned(played: SimulatedRun) -> list[str | None]:
    """The task of each iteration."""
    return [
        None if event.task is None else event.task.id
        for event in played.events_of("iterationStarted")
    ]


class TestSkip:
    def test_the_task_is_not_taken_any_more_and_the_plan_is_not_edited(self) -> None:
        played = begun(progress, progress, max_iterations=2).until(Awaits.EXIT)
        played.send("skip", task="first")
        played.go_on()
        assert assigned(played) == ["first", "second"]
        assert played.run.skipped == ("first",)
        assert played.simulated.tasks["first"] == "todo"

    def test_the_answer_names_when_it_counts(self) -> None:
        played = begun(progress, max_iterations=1).until(Awaits.EXIT)
        for task, words in (
            ("first", "skipped after this iteration for the rest of the run"),
            ("second", "skipped for the rest of the run"),
        ):
            played.send("skip", task=task)
            (*_, accepted) = played.events_of("commandAccepted")
            assert (accepted.command_kind, accepted.task) == ("skip", task)
            assert accepted.text == f"the task is {words}"

    def test_a_second_time_is_refused(self) -> None:
        played = begun(progress, max_iterations=1).until(Awaits.EXIT)
        for _ in range(2):
            played.send("skip", task="second")
        (rejected,) = played.events_of("commandRejected")
        assert (rejected.code, rejected.reason) == ("skipped", "the task is already skipped")
        assert played.run.skipped == ("second",)

    def test_it_counts_for_a_task_that_is_just_being_chosen(self) -> None:
        played = begun(progress, max_iterations=1).until(Awaits.PREPARED)
        played.send("skip", task="first")
        played.go_on()
        assert assigned(played) == ["second"]
        n_looks = sum(isinstance(effect, PrepareIteration) for effect in played.effects)
        assert n_looks == 2

    def test_it_outlives_the_engine(self) -> None:
        played = begun(progress, progress, max_iterations=5).until(Awaits.EXIT)
        played.send("skip", task="first")
        played.simulated.script += [progress, progress]
        played.resume(config=settings(max_iterations=3))
        assert set(assigned(played)[1:]) == {"second"}

    def test_with_nothing_else_left_the_run_says_so(self) -> None:
        played = begun(progress, max_iterations=5).until(Awaits.EXIT)
        for task in TWO:
            played.send("skip", task=task)
        played.go_on()
        assert played.run.end is not None
        assert played.run.end.reason == "blocked"
        assert played.run.end.message.startswith(
            "all 2 open tasks in the plan are blocked, set aside or skipped: first ("
        )

    def test_the_one_task_of_a_run_can_be_skipped_too(self) -> None:
        tasks = {"first": "todo"}
        played = begun(progress, tasks=tasks, task="first").until(Awaits.EXIT)
        played.send("skip", task="first")
        played.go_on()
        assert played.run.end is not None
        assert played.run.end.message == "the task first was skipped by you"

    def test_a_reworded_task_stays_skipped(self) -> None:
        played = begun(progress, max_iterations=5).until(Awaits.EXIT)
        played.send("skip", task="second")
        while played.state.awaits is not Awaits.READ:
            given = played.queue.popleft()
            played.feed(given() if callable(given) else given)
        given = played.queue.popleft()
        assert isinstance(given, IterationRead)
        renamed = {"second": TaskRef(id="third", title="third")}
        played.feed(replace(given, renamed=renamed))
        assert played.run.skipped == ("third",)


class TestResetTask:
    def test_its_attempts_are_counted_from_nothing(self) -> None:
        played = begun(no_progress, attempts_limit=3, breaker_enabled=False)
        played.until(Awaits.EXIT)
        played.person = None
        while played.run.attempts != {"first": 2}:
            given = played.queue.popleft()
            played.feed(given() if callable(given) else given)
        played.send("resetTask", task="first")
        assert played.run.attempts == {}
        (accepted,) = played.events_of("commandAccepted")
        assert (accepted.command_kind, accepted.task) == ("resetTask", "first")

    @pytest.mark.parametrize("is_lost", [False, True], ids=["ended", "lost"])
    def test_the_iteration_that_is_open_remains_an_attempt(self, *, is_lost: bool) -> None:
        played = begun(no_progress, attempts_limit=3, max_iterations=1).until(Awaits.EXIT)
        assert played.run.attempts == {"first": 1}
        played.send("resetTask", task="first")
        assert played.run.attempts == {}
        if is_lost:
            played.resume()
        else:
            played.go_on()
        (ended, *_) = played.events_of("iterationEnded")
        assert (ended.outcome == "lost", ended.attempts) == (is_lost, {"first": 1})

    def test_a_skipped_task_is_taken_again(self) -> None:
        played = begun(progress, progress, progress, max_iterations=2).until(Awaits.EXIT)
        played.send("skip", task="first")
        played.send("skip", task="second")
        played.send("resetTask", task="first")
        assert played.run.skipped == ("second",)
        played.go_on()
        assert assigned(played) == ["first", "first"]

    def test_a_run_that_waits_for_a_task_continues(self) -> None:
        played = begun(progress, finishes, wait=True, max_iterations=2).until(Awaits.EXIT)
        for task in TWO:
            played.send("skip", task=task)
        played.go_on()
        assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "blocked")
        played.send("resetTask", task="second")
        played.go_on()
        assert assigned(played) == ["first", "second"]

    def test_a_run_that_waits_for_something_else_still_waits(self) -> None:
        played = begun(no_progress, wait=True, attempts_limit=0)
        played.start()
        assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "stuck")
        played.send("resetTask", task="first")
        assert played.run.phase is Phase.PARKED

    def test_one_that_was_left_without_an_engine_counts_once_the_run_continues(self) -> None:
        played = begun(no_progress, attempts_limit=5, max_iterations=2).start()
        assert played.run.attempts == {"first": 2}
        left = PendingReset(task="first", by="Ada", command="left-0001")
        config = settings(attempts_limit=5, max_iterations=3)
        played.state = LoopState(run=fold(played.events))
        played.config = config
        played.feed(Resumed(by="Ada", facts=facts(played.simulated, config, resets=(left,))))
        (accepted,) = played.events_of("commandAccepted")
        assert (accepted.command, accepted.task, accepted.by) == ("left-0001", "first", "Ada")
        assert played.run.attempts == {}
        played.go_on()
        assert played.run.attempts == {"first": 1}


def test_a_rejected_command_moves_no_task() -> None:
    played = begun(progress, max_iterations=1, on_halt=OnHalt.EXIT).until(Awaits.EXIT)
    given = command("skip", task="first", run="20250101T000000Z-ffff")
    played.feed(given)
    assert played.run.skipped == ()
